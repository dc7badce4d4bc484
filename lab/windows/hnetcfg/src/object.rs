//! What all objects have in common: a table of functions, and a count of those
//! who use them.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use windows_sys::Win32::Foundation::{E_NOINTERFACE, E_NOTIMPL, E_POINTER, S_OK};
use windows_sys::core::{GUID, HRESULT};

/// A table of functions.
#[repr(transparent)]
pub struct Table<const N: usize>(pub [*const c_void; N]);

// SAFETY: addresses of functions, which anybody may read.
unsafe impl<const N: usize> Sync for Table<N> {}

/// What an object is made of besides its table.
pub trait Kind: Sized + 'static {
    /// The interfaces that it can be asked for, besides `IUnknown`.
    const INTERFACES: &'static [GUID];
    /// Its functions.
    fn table() -> *const c_void;
    /// Another object that stands for it where it is asked for this interface.
    fn other(_interface: &GUID) -> Option<*mut c_void> {
        None
    }
}

/// `IUnknown`.
const UNKNOWN: GUID = GUID::from_u128(0x00000000_0000_0000_c000_000000000046);
/// `IDispatch`.
pub const DISPATCH: GUID = GUID::from_u128(0x00020400_0000_0000_c000_000000000046);

/// An object as its users see it.
#[repr(C)]
pub struct Object<K> {
    table: *const c_void,
    count: AtomicU32,
    pub kind: K,
}

impl<K: Kind> Object<K> {
    /// Makes an object that has one user.
    pub fn give(kind: K) -> *mut c_void {
        let object = Self {
            table: K::table(),
            count: AtomicU32::new(1),
            kind,
        };
        Box::into_raw(Box::new(object)).cast()
    }

    /// What a user's pointer stands for.
    ///
    /// # Safety
    /// `this` came from [`Self::give`] and is still in use.
    pub unsafe fn of<'a>(this: *mut c_void) -> &'a K {
        // SAFETY: the caller vouches for it.
        unsafe { &(*this.cast::<Self>()).kind }
    }
}

/// Gives an object to a user who asked for one of its interfaces.
///
/// # Safety
/// The pointers are as the C API says.
pub unsafe fn give<K: Kind>(kind: K, interface: *const GUID, to: *mut *mut c_void) -> HRESULT {
    let object = Object::give(kind);
    // SAFETY: as the caller promises; the first user is this function.
    unsafe {
        let code = query::<K>(object, interface, to);
        release::<K>(object);
        code
    }
}

pub unsafe extern "system" fn query<K: Kind>(
    this: *mut c_void,
    interface: *const GUID,
    to: *mut *mut c_void,
) -> HRESULT {
    if to.is_null() || interface.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, and as the C API says.
    unsafe {
        let wanted = same_as(&*interface);
        if wanted(&UNKNOWN) || K::INTERFACES.iter().any(wanted) {
            add::<K>(this);
            *to = this;
            return S_OK;
        }
        if let Some(other) = K::other(&*interface) {
            *to = other;
            return S_OK;
        }
        *to = core::ptr::null_mut();
    }
    E_NOINTERFACE
}

pub fn same_as(id: &GUID) -> impl Fn(&GUID) -> bool {
    let parts = |id: &GUID| (id.data1, id.data2, id.data3, id.data4);
    let wanted = parts(id);
    move |other| parts(other) == wanted
}

pub unsafe extern "system" fn add<K: Kind>(this: *mut c_void) -> u32 {
    // SAFETY: an object in use.
    unsafe {
        (*this.cast::<Object<K>>())
            .count
            .fetch_add(1, Ordering::SeqCst)
            + 1
    }
}

pub unsafe extern "system" fn release<K: Kind>(this: *mut c_void) -> u32 {
    let object = this.cast::<Object<K>>();
    // SAFETY: an object in use; after its last user, nobody has it.
    unsafe {
        let left = (*object).count.fetch_sub(1, Ordering::SeqCst) - 1;
        if left == 0 {
            drop(Box::from_raw(object));
        }
        left
    }
}

/// Whatever a function of Windows' takes, here it is not there.
pub extern "system" fn missing() -> HRESULT {
    E_NOTIMPL
}
