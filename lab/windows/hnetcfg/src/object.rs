//! `IUnknown` for all COM objects: a vtable and a reference count.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use windows_sys::Win32::Foundation::{E_NOINTERFACE, E_NOTIMPL, E_POINTER, S_OK};
use windows_sys::core::{GUID, HRESULT};

#[repr(transparent)]
pub struct Vtable<const N: usize>(pub [*const c_void; N]);

// SAFETY: addresses of functions, which are immutable.
unsafe impl<const N: usize> Sync for Vtable<N> {}

/// A class of COM objects; the value is the state of one object.
pub trait Class: Sized + 'static {
    /// Supported interfaces besides `IUnknown`.
    const INTERFACES: &'static [GUID];
    fn vtable() -> *const c_void;
    /// A separate object that implements this interface.
    fn delegate(_interface: &GUID) -> Option<*mut c_void> {
        None
    }
}

/// `IUnknown`.
const UNKNOWN: GUID = GUID::from_u128(0x00000000_0000_0000_c000_000000000046);
/// `IDispatch`.
pub const DISPATCH: GUID = GUID::from_u128(0x00020400_0000_0000_c000_000000000046);

/// The memory layout that COM callers expect: the vtable pointer comes first.
#[repr(C)]
pub struct Object<K> {
    vtable: *const c_void,
    count: AtomicU32,
    pub state: K,
}

impl<K: Class> Object<K> {
    /// The reference count of the new object is 1.
    pub fn create(state: K) -> *mut c_void {
        let object = Self {
            vtable: K::vtable(),
            count: AtomicU32::new(1),
            state,
        };
        Box::into_raw(Box::new(object)).cast()
    }

    /// # Safety
    /// `this` came from [`Self::create`] and has not been released.
    pub unsafe fn from_raw<'a>(this: *mut c_void) -> &'a K {
        // SAFETY: guaranteed by the caller.
        unsafe { &(*this.cast::<Self>()).state }
    }
}

/// Creates an object and returns it as `interface`.
///
/// # Safety
/// The pointers are valid as the C API requires.
pub unsafe fn create_as<K: Class>(
    state: K,
    interface: *const GUID,
    to: *mut *mut c_void,
) -> HRESULT {
    let object = Object::create(state);
    // SAFETY: guaranteed by the caller; this function owns the first reference.
    unsafe {
        let code = query_interface::<K>(object, interface, to);
        release::<K>(object);
        code
    }
}

pub unsafe extern "system" fn query_interface<K: Class>(
    this: *mut c_void,
    interface: *const GUID,
    to: *mut *mut c_void,
) -> HRESULT {
    if to.is_null() || interface.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, and valid as the C API requires.
    unsafe {
        let is_requested = matches_guid(&*interface);
        if is_requested(&UNKNOWN) || K::INTERFACES.iter().any(is_requested) {
            add_ref::<K>(this);
            *to = this;
            return S_OK;
        }
        if let Some(delegate) = K::delegate(&*interface) {
            *to = delegate;
            return S_OK;
        }
        *to = core::ptr::null_mut();
    }
    E_NOINTERFACE
}

pub fn matches_guid(id: &GUID) -> impl Fn(&GUID) -> bool {
    let parts = |id: &GUID| (id.data1, id.data2, id.data3, id.data4);
    let expected = parts(id);
    move |other| parts(other) == expected
}

pub unsafe extern "system" fn add_ref<K: Class>(this: *mut c_void) -> u32 {
    // SAFETY: a live object.
    unsafe {
        (*this.cast::<Object<K>>())
            .count
            .fetch_add(1, Ordering::SeqCst)
            + 1
    }
}

pub unsafe extern "system" fn release<K: Class>(this: *mut c_void) -> u32 {
    let object = this.cast::<Object<K>>();
    // SAFETY: a live object; dropped with its last reference.
    unsafe {
        let left = (*object).count.fetch_sub(1, Ordering::SeqCst) - 1;
        if left == 0 {
            drop(Box::from_raw(object));
        }
        left
    }
}

/// For every vtable entry that is not implemented, whatever its arguments.
pub extern "system" fn not_implemented() -> HRESULT {
    E_NOTIMPL
}
