//! Objects of the Component Object Model, as far as they are needed here: made
//! by class, called by a function's place in their table, released in the end.
#![allow(unsafe_code, reason = "objects of the Windows API")]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::transmute;
use std::ptr::{self, NonNull};

use casement_resource::Failure;
use windows_sys::Win32::Foundation::{
    RPC_E_CHANGED_MODE, S_FALSE, S_OK, SysAllocStringLen, SysFreeString, SysStringLen,
    VARIANT_BOOL, VARIANT_FALSE, VARIANT_TRUE,
};
use windows_sys::Win32::System::Com::{
    CLSCTX_INPROC_SERVER, COINIT_MULTITHREADED, CoCreateInstance, CoInitializeEx, CoUninitialize,
};
use windows_sys::Win32::System::Variant::{VARIANT, VT_DISPATCH, VT_I4, VariantClear};
use windows_sys::core::{BSTR, GUID, HRESULT};

use super::failure::refused;

/// What an object answers: the value, or its code.
pub type Answer<T> = Result<T, HRESULT>;

/// A failure with an object's code.
pub fn failure(doing: impl std::fmt::Display, code: HRESULT) -> Failure {
    const WIN32: u32 = 0x8007_0000;
    let code = code.cast_unsigned();
    // Codes of Windows' functions travel inside of those of objects.
    let inner = if code & 0xFFFF_0000 == WIN32 {
        code & 0xFFFF
    } else {
        code
    };
    refused(doing, inner)
}

/// What a code says.
pub fn done(code: HRESULT) -> Answer<()> {
    if code < 0 { Err(code) } else { Ok(()) }
}

/// A thread's stay where objects may be used. No window and no messages: the
/// objects may be called from any thread.
pub struct Apartment {
    entered: bool,
    stays_here: PhantomData<*const ()>,
}

impl Apartment {
    pub fn enter() -> Answer<Self> {
        // SAFETY: no pointers; left again in drop.
        let code = unsafe { CoInitializeEx(ptr::null(), COINIT_MULTITHREADED.cast_unsigned()) };
        match code {
            S_OK | S_FALSE => Ok(true),
            // The thread is in an apartment of the other kind, which serves too.
            RPC_E_CHANGED_MODE => Ok(false),
            code => Err(code),
        }
        .map(|entered| Self {
            entered,
            stays_here: PhantomData,
        })
    }
}

impl Drop for Apartment {
    fn drop(&mut self) {
        if self.entered {
            // SAFETY: entered, on this thread.
            unsafe { CoUninitialize() };
        }
    }
}

/// Places in every object's table.
const QUERY: usize = 0;
const RELEASE: usize = 2;
/// The first place after those of every object that scripts can use.
pub const FIRST: usize = 7;

/// An object, as the interface that it was asked for.
pub struct Object(NonNull<c_void>);

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: every object has this function; the reference is ours.
        unsafe {
            let release: unsafe extern "system" fn(*mut c_void) -> u32 =
                transmute(self.function(RELEASE));
            release(self.0.as_ptr());
        }
    }
}

/// Calls the function in this place: `fn(self, arguments)`.
macro_rules! call {
    ($object:expr, $place:expr $(, $argument:expr => $type:ty)* $(,)?) => {{
        let function: unsafe extern "system" fn(
            *mut core::ffi::c_void
            $(, $type)*
        ) -> windows_sys::core::HRESULT = core::mem::transmute($object.function($place));
        $crate::windows::com::done(function($object.pointer() $(, $argument)*))
    }};
}
pub(super) use call;

impl Object {
    /// Makes an object of a class.
    pub fn new(class: &GUID, interface: &GUID) -> Answer<Self> {
        let mut made = ptr::null_mut();
        let context = CLSCTX_INPROC_SERVER;
        // SAFETY: two ids and a place.
        done(unsafe { CoCreateInstance(class, ptr::null_mut(), context, interface, &mut made) })?;
        Self::given(made)
    }

    /// The same object as another interface.
    pub fn query(&self, interface: &GUID) -> Answer<Self> {
        let mut found = ptr::null_mut();
        // SAFETY: every object has this function: an id and a place.
        unsafe { call!(self, QUERY, interface => *const GUID, &mut found => *mut *mut c_void) }?;
        Self::given(found)
    }

    /// Takes over an object that a function has given.
    pub fn given(object: *mut c_void) -> Answer<Self> {
        const NO_OBJECT: HRESULT = 0x8000_4003_u32.cast_signed();
        NonNull::new(object).map(Self).ok_or(NO_OBJECT)
    }

    /// The object's address, for calls.
    pub fn pointer(&self) -> *mut c_void {
        self.0.as_ptr()
    }

    /// # Safety
    /// The object's table has this place.
    pub unsafe fn function(&self, place: usize) -> *const c_void {
        // SAFETY: an object begins with the address of its table.
        unsafe { *(*self.0.as_ptr().cast::<*const *const c_void>()).add(place) }
    }

    /// An object that belongs to this one.
    ///
    /// # Safety
    /// The function in this place is `fn(self, *mut object)`.
    pub unsafe fn object(&self, place: usize) -> Answer<Self> {
        let mut found = ptr::null_mut();
        // SAFETY: the caller vouches for the place.
        unsafe { call!(self, place, &mut found => *mut *mut c_void) }?;
        Self::given(found)
    }

    /// Hands an object over.
    ///
    /// # Safety
    /// The function in this place is `fn(self, object)`.
    pub unsafe fn hand(&self, place: usize, object: &Self) -> Answer<()> {
        // SAFETY: the caller vouches for the place.
        unsafe { call!(self, place, object.0.as_ptr() => *mut c_void) }
    }

    /// # Safety
    /// The function in this place is `fn(self, *mut BSTR)`.
    pub unsafe fn text(&self, place: usize) -> Answer<String> {
        let mut text = Text(ptr::null());
        // SAFETY: the caller vouches for the place; the text is ours then.
        unsafe { call!(self, place, &mut text.0 => *mut BSTR) }?;
        Ok(text.read())
    }

    /// # Safety
    /// The function in this place is `fn(self, BSTR)`.
    pub unsafe fn put_text(&self, place: usize, text: &str) -> Answer<()> {
        let text = Text::new(text);
        // SAFETY: the caller vouches for the place.
        unsafe { call!(self, place, text.0 => BSTR) }
    }

    /// # Safety
    /// The function in this place is `fn(self, *mut LONG)`.
    pub unsafe fn number(&self, place: usize) -> Answer<i32> {
        let mut number = 0;
        // SAFETY: the caller vouches for the place.
        unsafe { call!(self, place, &mut number => *mut i32) }?;
        Ok(number)
    }

    /// # Safety
    /// The function in this place is `fn(self, LONG)`.
    pub unsafe fn put_number(&self, place: usize, number: i32) -> Answer<()> {
        // SAFETY: the caller vouches for the place.
        unsafe { call!(self, place, number => i32) }
    }

    /// # Safety
    /// The function in this place is `fn(self, *mut VARIANT_BOOL)`.
    pub unsafe fn flag(&self, place: usize) -> Answer<bool> {
        let mut flag = VARIANT_FALSE;
        // SAFETY: the caller vouches for the place.
        unsafe { call!(self, place, &mut flag => *mut VARIANT_BOOL) }?;
        Ok(flag != VARIANT_FALSE)
    }

    /// # Safety
    /// The function in this place is `fn(self, VARIANT_BOOL)`.
    pub unsafe fn put_flag(&self, place: usize, flag: bool) -> Answer<()> {
        let flag = if flag { VARIANT_TRUE } else { VARIANT_FALSE };
        // SAFETY: the caller vouches for the place.
        unsafe { call!(self, place, flag => VARIANT_BOOL) }
    }

    /// Whether a value of any type is something at all.
    ///
    /// # Safety
    /// The function in this place is `fn(self, *mut VARIANT)`.
    pub unsafe fn has_value(&self, place: usize) -> Answer<bool> {
        let mut value = Value::default();
        // SAFETY: the caller vouches for the place.
        unsafe { call!(self, place, &mut value.0 => *mut VARIANT) }?;
        Ok(value.kind() != 0)
    }

    /// The objects that an object of `IEnumVARIANT` goes through.
    ///
    /// # Safety
    /// It is one.
    pub unsafe fn each(&self) -> Answer<Vec<Self>> {
        const NEXT: usize = 3;
        let mut found = Vec::new();
        loop {
            let (mut value, mut count) = (Value::default(), 0);
            // SAFETY: the caller vouches for the interface: how many, where
            // they go, and how many they were.
            unsafe {
                call!(self, NEXT, 1 => u32, &mut value.0 => *mut VARIANT, &mut count => *mut u32)
            }?;
            if count == 0 {
                return Ok(found);
            }
            found.extend(value.into_object());
        }
    }
}

/// Text that Windows may free.
pub struct Text(pub BSTR);

impl Text {
    pub fn new(text: &str) -> Self {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = u32::try_from(units.len()).unwrap_or_default();
        // SAFETY: as many units as are said.
        Self(unsafe { SysAllocStringLen(units.as_ptr(), length) })
    }

    fn read(&self) -> String {
        if self.0.is_null() {
            return String::new();
        }
        // SAFETY: text of Windows', with its length.
        let units = unsafe { std::slice::from_raw_parts(self.0, SysStringLen(self.0) as usize) };
        String::from_utf16_lossy(units)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        // SAFETY: null, or a text that is ours.
        unsafe { SysFreeString(self.0) };
    }
}

/// A value of any type.
#[derive(Default)]
pub struct Value(pub VARIANT);

impl Value {
    pub fn number(number: i32) -> Self {
        let mut value = Self::default();
        value.0.Anonymous.Anonymous.vt = VT_I4;
        value.0.Anonymous.Anonymous.Anonymous.lVal = number;
        value
    }

    pub fn as_number(&self) -> Option<i32> {
        if self.kind() != VT_I4 {
            return None;
        }
        // SAFETY: the type says that it is a number.
        Some(unsafe { self.0.Anonymous.Anonymous.Anonymous.lVal })
    }

    fn kind(&self) -> u16 {
        // SAFETY: every value says its type in this place.
        unsafe { self.0.Anonymous.Anonymous.vt }
    }

    fn into_object(mut self) -> Option<Object> {
        if self.kind() != VT_DISPATCH {
            return None;
        }
        // SAFETY: the type says that there is an object; its reference becomes
        // ours, and an empty value has nothing to clear.
        unsafe {
            let object = NonNull::new(self.0.Anonymous.Anonymous.Anonymous.pdispVal);
            self.0 = VARIANT::default();
            object.map(Object)
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: empty, or filled by Windows.
        unsafe { VariantClear(&mut self.0) };
    }
}
