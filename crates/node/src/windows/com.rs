//! The part of the Component Object Model (COM) that is needed here: create objects
//! by class, call methods by vtable index, release them.
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

use super::failure::from_code;

pub type ComResult<T> = Result<T, HRESULT>;

pub fn failure(action: impl std::fmt::Display, code: HRESULT) -> Failure {
    const WIN32: u32 = 0x8007_0000;
    let code = code.cast_unsigned();
    // An HRESULT can contain a Win32 error code.
    let inner = if code & 0xFFFF_0000 == WIN32 {
        code & 0xFFFF
    } else {
        code
    };
    from_code(action, inner)
}

pub fn check(code: HRESULT) -> ComResult<()> {
    if code < 0 { Err(code) } else { Ok(()) }
}

/// COM initialization of a thread. Multithreaded: the objects may be called from any
/// thread.
pub struct Apartment {
    initialized: bool,
    not_send: PhantomData<*const ()>,
}

impl Apartment {
    pub fn enter() -> ComResult<Self> {
        // SAFETY: no pointers; undone in drop.
        let code = unsafe { CoInitializeEx(ptr::null(), COINIT_MULTITHREADED.cast_unsigned()) };
        match code {
            S_OK | S_FALSE => Ok(true),
            // The thread is initialized with the other model, which works too.
            RPC_E_CHANGED_MODE => Ok(false),
            code => Err(code),
        }
        .map(|initialized| Self {
            initialized,
            not_send: PhantomData,
        })
    }
}

impl Drop for Apartment {
    fn drop(&mut self) {
        if self.initialized {
            // SAFETY: initialized on this thread.
            unsafe { CoUninitialize() };
        }
    }
}

/// Vtable indexes of `IUnknown`.
const QUERY: usize = 0;
const RELEASE: usize = 2;
/// The first vtable index after `IDispatch`.
pub const FIRST: usize = 7;

/// An interface pointer.
pub struct Object(NonNull<c_void>);

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: every object has this method; we own the reference.
        unsafe {
            let release: unsafe extern "system" fn(*mut c_void) -> u32 =
                transmute(self.function(RELEASE));
            release(self.0.as_ptr());
        }
    }
}

/// Calls the method at this index: `fn(self, arguments)`.
macro_rules! call {
    ($object:expr, $index:expr $(, $argument:expr => $type:ty)* $(,)?) => {{
        let function: unsafe extern "system" fn(
            *mut core::ffi::c_void
            $(, $type)*
        ) -> windows_sys::core::HRESULT = core::mem::transmute($object.function($index));
        $crate::windows::com::check(function($object.as_ptr() $(, $argument)*))
    }};
}
pub(super) use call;

impl Object {
    pub fn new(class: &GUID, interface: &GUID) -> ComResult<Self> {
        let mut created = ptr::null_mut();
        let context = CLSCTX_INPROC_SERVER;
        // SAFETY: two GUIDs and a writable pointer.
        check(unsafe {
            CoCreateInstance(class, ptr::null_mut(), context, interface, &mut created)
        })?;
        Self::from_raw(created)
    }

    pub fn query(&self, interface: &GUID) -> ComResult<Self> {
        let mut found = ptr::null_mut();
        // SAFETY: every object has this method: a GUID and a writable pointer.
        unsafe { call!(self, QUERY, interface => *const GUID, &mut found => *mut *mut c_void) }?;
        Self::from_raw(found)
    }

    /// Takes ownership of a reference.
    pub fn from_raw(object: *mut c_void) -> ComResult<Self> {
        const NO_OBJECT: HRESULT = 0x8000_4003_u32.cast_signed();
        NonNull::new(object).map(Self).ok_or(NO_OBJECT)
    }

    pub fn as_ptr(&self) -> *mut c_void {
        self.0.as_ptr()
    }

    /// # Safety
    /// The vtable has this index.
    pub unsafe fn function(&self, index: usize) -> *const c_void {
        // SAFETY: an object starts with the pointer to its vtable.
        unsafe { *(*self.0.as_ptr().cast::<*const *const c_void>()).add(index) }
    }

    /// # Safety
    /// The method at this index is `fn(self, *mut object)`.
    pub unsafe fn object(&self, index: usize) -> ComResult<Self> {
        let mut found = ptr::null_mut();
        // SAFETY: the caller guarantees the index.
        unsafe { call!(self, index, &mut found => *mut *mut c_void) }?;
        Self::from_raw(found)
    }

    /// # Safety
    /// The method at this index is `fn(self, object)`.
    pub unsafe fn put_object(&self, index: usize, object: &Self) -> ComResult<()> {
        // SAFETY: the caller guarantees the index.
        unsafe { call!(self, index, object.0.as_ptr() => *mut c_void) }
    }

    /// # Safety
    /// The method at this index is `fn(self, *mut BSTR)`.
    pub unsafe fn text(&self, index: usize) -> ComResult<String> {
        let mut text = BStr(ptr::null());
        // SAFETY: the caller guarantees the index; we own the returned string.
        unsafe { call!(self, index, &mut text.0 => *mut BSTR) }?;
        Ok(text.read())
    }

    /// # Safety
    /// The method at this index is `fn(self, BSTR)`.
    pub unsafe fn put_text(&self, index: usize, text: &str) -> ComResult<()> {
        let text = BStr::new(text);
        // SAFETY: the caller guarantees the index.
        unsafe { call!(self, index, text.0 => BSTR) }
    }

    /// # Safety
    /// The method at this index is `fn(self, *mut LONG)`.
    pub unsafe fn number(&self, index: usize) -> ComResult<i32> {
        let mut number = 0;
        // SAFETY: the caller guarantees the index.
        unsafe { call!(self, index, &mut number => *mut i32) }?;
        Ok(number)
    }

    /// # Safety
    /// The method at this index is `fn(self, LONG)`.
    pub unsafe fn put_number(&self, index: usize, number: i32) -> ComResult<()> {
        // SAFETY: the caller guarantees the index.
        unsafe { call!(self, index, number => i32) }
    }

    /// # Safety
    /// The method at this index is `fn(self, *mut VARIANT_BOOL)`.
    pub unsafe fn flag(&self, index: usize) -> ComResult<bool> {
        let mut flag = VARIANT_FALSE;
        // SAFETY: the caller guarantees the index.
        unsafe { call!(self, index, &mut flag => *mut VARIANT_BOOL) }?;
        Ok(flag != VARIANT_FALSE)
    }

    /// # Safety
    /// The method at this index is `fn(self, VARIANT_BOOL)`.
    pub unsafe fn put_flag(&self, index: usize, flag: bool) -> ComResult<()> {
        let flag = if flag { VARIANT_TRUE } else { VARIANT_FALSE };
        // SAFETY: the caller guarantees the index.
        unsafe { call!(self, index, flag => VARIANT_BOOL) }
    }

    /// Whether a VARIANT is not empty.
    ///
    /// # Safety
    /// The method at this index is `fn(self, *mut VARIANT)`.
    pub unsafe fn has_value(&self, index: usize) -> ComResult<bool> {
        let mut value = Variant::default();
        // SAFETY: the caller guarantees the index.
        unsafe { call!(self, index, &mut value.0 => *mut VARIANT) }?;
        Ok(value.kind() != 0)
    }

    /// Collects the objects of an `IEnumVARIANT`.
    ///
    /// # Safety
    /// The object must be an `IEnumVARIANT`.
    pub unsafe fn iterate(&self) -> ComResult<Vec<Self>> {
        const NEXT: usize = 3;
        let mut found = Vec::new();
        loop {
            let (mut value, mut count) = (Variant::default(), 0);
            // SAFETY: the caller guarantees the interface: capacity, output and the
            // returned count.
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

/// A string allocated by COM.
pub struct BStr(pub BSTR);

impl BStr {
    pub fn new(text: &str) -> Self {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = u32::try_from(units.len()).unwrap_or_default();
        // SAFETY: the length matches the buffer.
        Self(unsafe { SysAllocStringLen(units.as_ptr(), length) })
    }

    fn read(&self) -> String {
        if self.0.is_null() {
            return String::new();
        }
        // SAFETY: a BSTR with its length.
        let units = unsafe { std::slice::from_raw_parts(self.0, SysStringLen(self.0) as usize) };
        String::from_utf16_lossy(units)
    }
}

impl Drop for BStr {
    fn drop(&mut self) {
        // SAFETY: null, or a BSTR that we own.
        unsafe { SysFreeString(self.0) };
    }
}

#[derive(Default)]
pub struct Variant(pub VARIANT);

impl Variant {
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
        // SAFETY: the type tag says that it is a number.
        Some(unsafe { self.0.Anonymous.Anonymous.Anonymous.lVal })
    }

    fn kind(&self) -> u16 {
        // SAFETY: every VARIANT has its type tag here.
        unsafe { self.0.Anonymous.Anonymous.vt }
    }

    fn into_object(mut self) -> Option<Object> {
        if self.kind() != VT_DISPATCH {
            return None;
        }
        // SAFETY: the type tag says that it is an object; we take over its
        // reference, and an empty VARIANT has nothing to clear.
        unsafe {
            let object = NonNull::new(self.0.Anonymous.Anonymous.Anonymous.pdispVal);
            self.0 = VARIANT::default();
            object.map(Object)
        }
    }
}

impl Drop for Variant {
    fn drop(&mut self) {
        // SAFETY: empty, or filled by Windows.
        unsafe { VariantClear(&mut self.0) };
    }
}
