//! The first instance of a named pipe.
//!
//! go-winio, which containerd and hcsshim use, reserves the name of a pipe with
//! an instance that it opens with neither read nor write access. Windows keeps
//! such an instance disconnected; Wine lets the first client connect to it, and
//! that client (the kubelet, when containerd has just started) never gets a
//! response. This hook disconnects the instance right after its creation. Wine
//! only disconnects connected instances, so the hook connects a client first.

use core::mem::zeroed;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{FILE_SYNCHRONOUS_IO_NONALERT, NtOpenFile};
use windows_sys::Win32::Foundation::{CloseHandle, GENERIC_READ, GENERIC_WRITE, HANDLE, NTSTATUS};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_READ_DATA, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_DATA, SYNCHRONIZE,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
use windows_sys::Win32::System::Pipes::DisconnectNamedPipe;

use crate::hooks::Hook;

// Absent from windows-sys.
#[link(name = "ntdll", kind = "raw-dylib")]
unsafe extern "system" {
    fn NtCreateNamedPipeFile(
        handle: *mut HANDLE,
        access: u32,
        object: *const OBJECT_ATTRIBUTES,
        status: *mut IO_STATUS_BLOCK,
        share: u32,
        disposition: u32,
        options: u32,
        kind: u32,
        read_mode: u32,
        completion_mode: u32,
        instances: u32,
        inbound: u32,
        outbound: u32,
        timeout: *const i64,
    ) -> NTSTATUS;
}

pub fn hooks() -> [Hook; 1] {
    [(c"NtCreateNamedPipeFile", create as *const ())]
}

unsafe extern "system" fn create(
    handle: *mut HANDLE,
    access: u32,
    object: *const OBJECT_ATTRIBUTES,
    status: *mut IO_STATUS_BLOCK,
    share: u32,
    disposition: u32,
    options: u32,
    kind: u32,
    read_mode: u32,
    completion_mode: u32,
    instances: u32,
    inbound: u32,
    outbound: u32,
    timeout: *const i64,
) -> NTSTATUS {
    const DATA: u32 = GENERIC_READ | GENERIC_WRITE | FILE_READ_DATA | FILE_WRITE_DATA;
    // SAFETY: the caller's arguments.
    unsafe {
        let result = NtCreateNamedPipeFile(
            handle,
            access,
            object,
            status,
            share,
            disposition,
            options,
            kind,
            read_mode,
            completion_mode,
            instances,
            inbound,
            outbound,
            timeout,
        );
        if result >= 0 && access & DATA == 0 {
            disconnect(*handle, object);
        }
        result
    }
}

unsafe fn disconnect(server: HANDLE, object: *const OBJECT_ATTRIBUTES) {
    // SAFETY: the pipe was created with these attributes.
    unsafe {
        let mut status: IO_STATUS_BLOCK = zeroed();
        let mut client: HANDLE = zeroed();
        let opened = NtOpenFile(
            &mut client,
            GENERIC_READ | SYNCHRONIZE,
            object,
            &mut status,
            FILE_SHARE_READ | FILE_SHARE_WRITE,
            FILE_SYNCHRONOUS_IO_NONALERT,
        );
        // If another client connected first, this disconnects that one.
        DisconnectNamedPipe(server);
        if opened >= 0 {
            CloseHandle(client);
        }
    }
}
