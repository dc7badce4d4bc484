//! Files that are replaced at once or not at all, and closed from the first
//! moment.
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

use super::failure::{last, system};
use super::patience::Patience;
use super::security::{Descriptor, FILE_ADMINISTRATORS_ONLY, FOLDER_ADMINISTRATORS_ONLY};
use super::wide::wide;

/// Ends the name of a file that could not be deleted because it is running.
const OLD: &str = ".casement-old";

/// Longer than this nobody reads a file of the agent's.
const HELD_BRIEFLY: Duration = Duration::from_secs(10);

/// Who may use a file or folder that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// As the folder above says; what is replaced keeps what it had.
    AsBefore,
    /// SYSTEM and Administrators only.
    Closed,
}

/// Makes one folder, closed from the start if it should be.
pub fn make_folder(path: &Path, guard: Guard) -> Result<(), Failure> {
    let descriptor = match guard {
        Guard::Closed => Some(Descriptor::parse(FOLDER_ADMINISTRATORS_ONLY)?),
        Guard::AsBefore => None,
    };
    let attributes = descriptor.as_ref().map(attributes);
    let name = wide(path);
    // SAFETY: terminated text, and attributes that outlive the call.
    let made = unsafe {
        CreateDirectoryW(
            name.as_ptr(),
            attributes.as_ref().map_or(ptr::null(), ptr::from_ref),
        )
    };
    match made {
        0 => Err(last(format_args!("make the folder `{}`", path.display()))),
        _ => Ok(()),
    }
}

/// Writes a file: readers see the old content or the new, never a part, and
/// what is closed was never open.
pub fn write(path: &Path, content: &mut dyn Read, guard: Guard) -> Result<(), Failure> {
    let new = being_written(path);
    let written = new_file(&new, path, guard).and_then(|mut file| {
        io::copy(content, &mut file)
            .and_then(|_| file.sync_all())
            .map_err(|error| unwritten(path, &file, &error))
    });
    let outcome = written.and_then(|()| replace(&new, path));
    if outcome.is_err() {
        // The first error is the one that matters.
        let _ = fs::remove_file(&new);
    }
    outcome
}

/// Why a file could not be written to its end.
fn unwritten(path: &Path, file: &File, error: &io::Error) -> Failure {
    let failure = system(format_args!("write `{}`", path.display()), error);
    if error.kind() != io::ErrorKind::StorageFull {
        return failure;
    }
    let written = file.metadata().map_or(0, |seen| seen.len());
    failure.values(
        format!("room for more than {written} bytes"),
        format!("{} bytes free besides those", free(path)),
    )
}

/// What can still be written to the drive; 0 if nobody can say.
fn free(path: &Path) -> u64 {
    let folder = wide(path.parent().unwrap_or(path));
    let mut free = 0;
    // SAFETY: terminated text and one place; the others are not asked for.
    unsafe { GetDiskFreeSpaceExW(folder.as_ptr(), &mut free, ptr::null_mut(), ptr::null_mut()) };
    free
}

/// Moves a finished file into its place, on the same drive.
///
/// A program that is running can be renamed but not replaced: it is moved
/// aside, and deleted as soon as it has ended (at the next replacement of the
/// same file, at the latest).
fn replace(new: &Path, path: &Path) -> Result<(), Failure> {
    sweep(path);
    let flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    if rename(new, path, flags).is_ok() {
        return Ok(());
    }
    let doing = || format!("replace `{}`", path.display());
    let aside = beside(path, OLD);
    rename(path, &aside, MOVEFILE_WRITE_THROUGH).map_err(|error| system(doing(), &error))?;
    if let Err(error) = rename(new, path, MOVEFILE_WRITE_THROUGH) {
        // The old one goes back, so that nothing is missing.
        let _ = rename(&aside, path, MOVEFILE_WRITE_THROUGH);
        return Err(system(doing(), &error));
    }
    let _ = fs::remove_file(&aside);
    Ok(())
}

/// Renames a file, in the place of one that is there. While another program has
/// either open, Windows refuses that; scanners open whatever is new, for a moment, and
/// a second agent may be reading.
pub fn patiently(from: &Path, to: &Path) -> io::Result<()> {
    let mut patience = Patience::new(HELD_BRIEFLY);
    loop {
        let renamed = fs::rename(from, to);
        let Err(error) = &renamed else { return renamed };
        let code = error
            .raw_os_error()
            .and_then(|code| u32::try_from(code).ok());
        let held = matches!(code, Some(ERROR_ACCESS_DENIED | ERROR_SHARING_VIOLATION));
        if !held || !patience.wait() {
            return renamed;
        }
    }
}

/// Removes a file, running or not; what is not there is removed already.
pub fn remove(path: &Path) -> Result<(), Failure> {
    sweep(path);
    let Err(error) = fs::remove_file(path) else {
        return Ok(());
    };
    if error.kind() == io::ErrorKind::NotFound {
        return Ok(());
    }
    let aside = beside(path, OLD);
    rename(path, &aside, MOVEFILE_WRITE_THROUGH)
        .map_err(|_| system(format_args!("delete `{}`", path.display()), &error))?;
    let _ = fs::remove_file(&aside);
    Ok(())
}

/// Deletes what was moved aside from a path before, where it has ended.
fn sweep(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let start = name.to_string_lossy();
    for entry in entries.flatten() {
        let other = entry.file_name();
        let other = other.to_string_lossy();
        if other.starts_with(&*start) && other.ends_with(OLD) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A name of our own in the same folder, so that a move stays on its drive.
/// Always the same name, so that what a kill has left is replaced by the next
/// try: only one at a time may change a host.
fn being_written(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(".casement-new");
    path.with_file_name(name)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(format!(".{}{end}", process::id()));
    path.with_file_name(name)
}

fn rename(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: two terminated strings.
    match unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), flags) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes a file that has its access list from the start.
fn new_file(new: &Path, target: &Path, guard: Guard) -> Result<File, Failure> {
    let descriptor = match guard {
        Guard::Closed => Some(Descriptor::parse(FILE_ADMINISTRATORS_ONLY)?),
        Guard::AsBefore if target.exists() => Some(Descriptor::of(target)?),
        Guard::AsBefore => None,
    };
    let attributes = descriptor.as_ref().map(attributes);
    // One that is there would keep its own access list.
    let _ = fs::remove_file(new);
    let name = wide(new);
    // SAFETY: terminated text; the attributes outlive the call.
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
        return Err(last(format_args!("make `{}`", new.display())));
    }
    // SAFETY: just opened, and closed only by this owner.
    Ok(File::from(unsafe { OwnedHandle::from_raw_handle(handle) }))
}

fn attributes(descriptor: &Descriptor) -> SECURITY_ATTRIBUTES {
    SECURITY_ATTRIBUTES {
        nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or(u32::MAX),
        lpSecurityDescriptor: descriptor.as_ptr(),
        bInheritHandle: 0,
    }
}
