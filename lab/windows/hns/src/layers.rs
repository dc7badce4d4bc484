//! Container layers, which are plain directories on lab hosts.
//!
//! Anything that is not a directory is left alone.
#![allow(unsafe_code, reason = "an exported C function")]
#![allow(non_snake_case, reason = "a name that callers look up")]

use std::ffi::c_void;
use std::io::ErrorKind;
use std::path::Path;
use std::{fs, io};

use crate::calls::Code;
use crate::memory::{WideText, read_text};

const OK: Code = 0;
const FAILED: Code = 0x8000_4005;
const INVALID: Code = 0x8007_0057;

/// Deletes a layer; its id is its full path.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DestroyLayer(_driver: *const c_void, id: WideText) -> Code {
    lab_call_counter::record();
    // SAFETY: the pointer is valid as the C API requires.
    let path = unsafe { read_text(id) };
    let path = Path::new(&path);
    if !path.is_absolute() {
        return INVALID;
    }
    match remove(path) {
        Ok(()) => OK,
        Err(error) if error.kind() == ErrorKind::NotFound => OK,
        Err(_) => FAILED,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        Err(io::Error::other("not a directory"))
    }
}
