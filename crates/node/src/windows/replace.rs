//! Atomic replacement of files, with the final access list from the start.
#![allow(unsafe_code, reason = "file functions of the Windows API")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::windows::io::{FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{process, ptr};

use casement_resource::Failure;
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, GENERIC_WRITE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateDirectoryW, CreateFileW, FILE_ATTRIBUTE_NORMAL, FILE_FLAG_WRITE_THROUGH,
    GetDiskFreeSpaceExW, MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH, MoveFileExW,
};

use super::failure::{last_error, system};
use super::retry_timer::RetryTimer;
use super::security::{DIR_ADMINISTRATORS_ONLY, Descriptor, FILE_ADMINISTRATORS_ONLY};
use super::wide::wide;

/// Suffix of a file that cannot be deleted because it is running.
const OLD_SUFFIX: &str = ".casement-old";

/// No reader keeps a file of the agent open for longer.
const RENAME_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessPolicy {
    /// Inherited; a replaced file keeps its access list.
    Inherited,
    AdministratorsOnly,
}

pub fn create_dir(path: &Path, policy: AccessPolicy) -> Result<(), Failure> {
    let descriptor = match policy {
        AccessPolicy::AdministratorsOnly => Some(Descriptor::parse(DIR_ADMINISTRATORS_ONLY)?),
        AccessPolicy::Inherited => None,
    };
    let attributes = descriptor.as_ref().map(attributes);
    let name = wide(path);
    // SAFETY: NUL-terminated text, and attributes that outlive the call.
    let created = unsafe {
        CreateDirectoryW(
            name.as_ptr(),
            attributes.as_ref().map_or(ptr::null(), ptr::from_ref),
        )
    };
    match created {
        0 => Err(last_error(format_args!(
            "create the directory `{}`",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Readers see the old or the new content, never a part of it, and the access list
/// is never open. Watchers of the directory get a notification when the new content can
/// be read.
pub fn write(path: &Path, content: &mut dyn Read, policy: AccessPolicy) -> Result<(), Failure> {
    let new = temporary_path(path);
    let written = create_file(&new, path, policy).and_then(|mut file| {
        io::copy(content, &mut file)
            .and_then(|_| file.sync_all())
            .map_err(|error| write_failure(path, &file, &error))
    });
    let outcome = written.and_then(|()| replace(&new, path));
    match outcome {
        Ok(()) => notify_watchers(&new),
        // The first error matters.
        Err(_) => _ = fs::remove_file(&new),
    }
    outcome
}

/// Creates and deletes a file next to the one that was just renamed.
///
/// `MoveFileExW` holds a handle with `DELETE` access until it returns, and Windows notifies
/// watchers before that. A program that reads the file on this notification and does not
/// share deletion, as every Go program (`syscall.Open`), gets a sharing violation; containerd
/// then stays without its CNI configuration until the directory changes again
/// (containerd:internal/cri/server/cni_conf_syncer.go, which ignores created files, but not
/// removed ones).
fn notify_watchers(temporary: &Path) {
    // The content is in place: a failure here is not one of the write.
    if File::create_new(temporary).is_ok() {
        let _ = fs::remove_file(temporary);
    }
}

fn write_failure(path: &Path, file: &File, error: &io::Error) -> Failure {
    let failure = system(format_args!("write `{}`", path.display()), error);
    if error.kind() != io::ErrorKind::StorageFull {
        return failure;
    }
    let written = file.metadata().map_or(0, |metadata| metadata.len());
    failure.values(
        format!("space for more than {written} bytes"),
        format!("{} more bytes free", free_bytes(path)),
    )
}

/// 0 if unknown.
fn free_bytes(path: &Path) -> u64 {
    let dir = wide(path.parent().unwrap_or(path));
    let mut free_bytes = 0;
    // SAFETY: NUL-terminated text and one writable pointer; the others are optional.
    unsafe {
        GetDiskFreeSpaceExW(
            dir.as_ptr(),
            &mut free_bytes,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    free_bytes
}

/// Renames a complete file to its target on the same drive.
///
/// The executable of a running program can be renamed but not replaced: it is moved
/// aside and deleted after it has exited (at the latest when the same file is
/// replaced again).
fn replace(new: &Path, path: &Path) -> Result<(), Failure> {
    delete_old(path);
    let flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    if rename(new, path, flags).is_ok() {
        return Ok(());
    }
    let action = || format!("replace `{}`", path.display());
    let aside = aside_path(path, OLD_SUFFIX);
    rename(path, &aside, MOVEFILE_WRITE_THROUGH).map_err(|error| system(action(), &error))?;
    if let Err(error) = rename(new, path, MOVEFILE_WRITE_THROUGH) {
        // Restore the old file, so that nothing is missing.
        let _ = rename(&aside, path, MOVEFILE_WRITE_THROUGH);
        return Err(system(action(), &error));
    }
    let _ = fs::remove_file(&aside);
    Ok(())
}

/// Windows refuses this while another process has either file open. Virus scanners
/// open new files for a moment, and a second agent may be reading.
pub fn rename_with_retry(from: &Path, to: &Path) -> io::Result<()> {
    let mut retry_timer = RetryTimer::new(RENAME_TIMEOUT);
    loop {
        let renamed = fs::rename(from, to);
        let Err(error) = &renamed else { return renamed };
        let code = error
            .raw_os_error()
            .and_then(|code| u32::try_from(code).ok());
        let in_use = matches!(code, Some(ERROR_ACCESS_DENIED | ERROR_SHARING_VIOLATION));
        if !in_use || !retry_timer.wait() {
            return renamed;
        }
    }
}

/// Also removes the executable of a running program; succeeds if the file is absent.
pub fn remove(path: &Path) -> Result<(), Failure> {
    delete_old(path);
    let Err(error) = fs::remove_file(path) else {
        return Ok(());
    };
    if error.kind() == io::ErrorKind::NotFound {
        return Ok(());
    }
    let aside = aside_path(path, OLD_SUFFIX);
    rename(path, &aside, MOVEFILE_WRITE_THROUGH)
        .map_err(|_| system(format_args!("delete `{}`", path.display()), &error))?;
    let _ = fs::remove_file(&aside);
    Ok(())
}

/// Deletes files that were moved aside earlier, if their programs have exited.
fn delete_old(path: &Path) {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    let start = name.to_string_lossy();
    for entry in entries.flatten() {
        let other = entry.file_name();
        let other = other.to_string_lossy();
        if other.starts_with(&*start) && other.ends_with(OLD_SUFFIX) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// In the same directory, so that the rename stays on the drive. Always the same
/// name, so that a leftover of a killed process is overwritten: only one process at
/// a time changes a host.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(".casement-new");
    path.with_file_name(name)
}

fn aside_path(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(format!(".{}{end}", process::id()));
    path.with_file_name(name)
}

fn rename(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: two NUL-terminated strings.
    match unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), flags) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn create_file(new: &Path, target: &Path, policy: AccessPolicy) -> Result<File, Failure> {
    let descriptor = match policy {
        AccessPolicy::AdministratorsOnly => Some(Descriptor::parse(FILE_ADMINISTRATORS_ONLY)?),
        AccessPolicy::Inherited if target.exists() => Some(Descriptor::of(target)?),
        AccessPolicy::Inherited => None,
    };
    let attributes = descriptor.as_ref().map(attributes);
    // An existing file would keep its access list.
    let _ = fs::remove_file(new);
    let name = wide(new);
    // SAFETY: NUL-terminated text; the attributes outlive the call.
    let handle = unsafe {
        CreateFileW(
            name.as_ptr(),
            GENERIC_WRITE,
            0,
            attributes.as_ref().map_or(ptr::null(), ptr::from_ref),
            CREATE_NEW,
            FILE_ATTRIBUTE_NORMAL | FILE_FLAG_WRITE_THROUGH,
            ptr::null_mut(),
        )
    };
    if handle == INVALID_HANDLE_VALUE {
        return Err(last_error(format_args!("create `{}`", new.display())));
    }
    // SAFETY: just opened, and owned by nobody else.
    Ok(File::from(unsafe { OwnedHandle::from_raw_handle(handle) }))
}

fn attributes(descriptor: &Descriptor) -> SECURITY_ATTRIBUTES {
    SECURITY_ATTRIBUTES {
        nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or(u32::MAX),
        lpSecurityDescriptor: descriptor.as_ptr(),
        bInheritHandle: 0,
    }
}
