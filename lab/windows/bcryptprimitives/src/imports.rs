//! Patches the import table of the main program.

use alloc::vec::Vec;
use core::ffi::{CStr, c_void};
use core::ptr::null;

use windows_sys::Win32::System::Diagnostics::Debug::{
    IMAGE_DIRECTORY_ENTRY_IMPORT, IMAGE_NT_HEADERS64, IMAGE_SCN_CNT_INITIALIZED_DATA,
    IMAGE_SCN_MEM_WRITE, IMAGE_SECTION_HEADER,
};
use windows_sys::Win32::System::LibraryLoader::{
    GetModuleHandleA, GetModuleHandleW, GetProcAddress,
};
use windows_sys::Win32::System::Memory::{PAGE_READWRITE, VirtualProtect};
use windows_sys::Win32::System::SystemServices::{IMAGE_DOS_HEADER, IMAGE_IMPORT_DESCRIPTOR};

use crate::hooks::Hook;

/// Marks the build information at the start of a Go program's data; `go version
/// FILE` searches for it too.
const GO_BUILD_INFO: &[u8] = b"\xff Go buildinf:";

/// Search range in the data section, in bytes.
const GO_BUILD_INFO_RANGE: usize = 64 * 1024;

/// Redirects imports of the main program: `go_hooks` for a Go program, which
/// resolves its other functions at run time; `other_hooks` for other programs,
/// which import the functions that they call.
pub fn replace(go_hooks: &[Hook], other_hooks: impl FnOnce() -> Vec<Hook>) {
    // SAFETY: the loader has mapped the main program and filled its imports.
    unsafe {
        let program = GetModuleHandleW(null()).cast::<u8>();
        if program.is_null() {
            return;
        }
        if is_go(program) {
            for &(name, hook) in go_hooks {
                replace_import(program, name, hook as usize);
            }
            return;
        }
        for (name, hook) in other_hooks() {
            replace_import(program, name, hook as usize);
        }
    }
}

/// Overwrites every import of a function of kernel32 or ntdll; Go's runtime and
/// its syscall package each have their own.
///
/// The loader has written the address of the function into the import table, so
/// addresses are compared, not names.
unsafe fn replace_import(program: *mut u8, name: &CStr, hook: usize) {
    // SAFETY: `program` is a mapped image with valid headers, and each table
    // within it ends with a zero entry.
    unsafe {
        let libraries = [c"kernel32.dll", c"ntdll.dll"];
        let mut found = libraries.iter().filter_map(|library| {
            let library = GetModuleHandleA(library.as_ptr().cast());
            GetProcAddress(library, name.as_ptr().cast())
        });
        let Some(original) = found.next() else {
            return;
        };
        let imports =
            (*headers(program)).OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT as usize];
        if imports.VirtualAddress == 0 {
            return;
        }
        let mut library = program
            .add(imports.VirtualAddress as usize)
            .cast::<IMAGE_IMPORT_DESCRIPTOR>();
        while (*library).Name != 0 {
            let mut slot = program.add((*library).FirstThunk as usize).cast::<usize>();
            while *slot != 0 {
                if *slot == original as usize {
                    write(slot, hook);
                }
                slot = slot.add(1);
            }
            library = library.add(1);
        }
    }
}

unsafe fn write(slot: *mut usize, value: usize) {
    let size = size_of::<usize>();
    let mut before = 0;
    // SAFETY: the slot lies in the mapped program.
    unsafe {
        if VirtualProtect(slot.cast::<c_void>(), size, PAGE_READWRITE, &mut before) != 0 {
            *slot = value;
            VirtualProtect(slot.cast::<c_void>(), size, before, &mut before);
        }
    }
}

unsafe fn is_go(program: *mut u8) -> bool {
    // SAFETY: as in `replace_import`; section headers follow the optional header.
    unsafe {
        let headers = headers(program);
        let sections = (&raw const (*headers).OptionalHeader)
            .cast::<u8>()
            .add(usize::from((*headers).FileHeader.SizeOfOptionalHeader))
            .cast::<IMAGE_SECTION_HEADER>();
        let count = usize::from((*headers).FileHeader.NumberOfSections);
        core::slice::from_raw_parts(sections, count)
            .iter()
            .filter(|section| {
                let data = IMAGE_SCN_CNT_INITIALIZED_DATA | IMAGE_SCN_MEM_WRITE;
                section.Characteristics & data == data
            })
            .any(|section| {
                let size = (section.Misc.VirtualSize as usize).min(GO_BUILD_INFO_RANGE);
                let start = program.add(section.VirtualAddress as usize);
                core::slice::from_raw_parts(start, size)
                    .windows(GO_BUILD_INFO.len())
                    .step_by(16)
                    .any(|bytes| bytes == GO_BUILD_INFO)
            })
    }
}

unsafe fn headers(program: *mut u8) -> *const IMAGE_NT_HEADERS64 {
    // SAFETY: every mapped image begins with a DOS header.
    unsafe {
        let dos = program.cast::<IMAGE_DOS_HEADER>();
        program.add((*dos).e_lfanew as usize).cast()
    }
}
