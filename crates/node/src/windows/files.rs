//! Files and folders.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::windows::fs::MetadataExt;
use std::path::Path;

use casement_resource::{Access, Failure, HostPath};
use windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_REPARSE_POINT;

use super::Windows;
use super::failure::system;
use super::replace::{self, Guard};
use super::security::{FILE_ADMINISTRATORS_ONLY, FOLDER_ADMINISTRATORS_ONLY, judge, set_access};
use crate::platform::{Entry, EntryKind, Files, Form, unsupported};

fn native(path: &HostPath) -> &Path {
    Path::new(path.as_str())
}

fn guard(access: Access) -> Result<Guard, Failure> {
    match access {
        Access::Inherited => Ok(Guard::AsBefore),
        Access::AdministratorsOnly => Ok(Guard::Closed),
        Access::Mode(mode) => Err(unsupported(&format!("mode {mode}"))),
    }
}

/// What a path is, without following it.
fn kind(path: &HostPath) -> Result<Option<EntryKind>, Failure> {
    match fs::symlink_metadata(native(path)) {
        Ok(seen) if seen.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 => {
            Ok(Some(EntryKind::Other))
        }
        Ok(seen) if seen.is_dir() => Ok(Some(EntryKind::Directory)),
        Ok(seen) if seen.is_file() => Ok(Some(EntryKind::File)),
        Ok(_) => Ok(Some(EntryKind::Other)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(system(format_args!("look at `{path}`"), &error)),
    }
}

/// A file on the way to it is absence too.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

impl Files for Windows {
    fn entry(&self, path: &HostPath) -> Result<Option<Entry>, Failure> {
        let Some(kind) = kind(path)? else {
            return Ok(None);
        };
        Ok(Some(Entry {
            kind,
            access: judge(native(path))?,
        }))
    }

    fn open(&self, path: &HostPath) -> Result<Box<dyn Read>, Failure> {
        let file = File::open(native(path))
            .map_err(|error| system(format_args!("read `{path}`"), &error))?;
        Ok(Box::new(file))
    }

    fn list(&self, path: &HostPath) -> Result<Vec<String>, Failure> {
        let doing = || format!("list `{path}`");
        let mut names = fs::read_dir(native(path))
            .and_then(|entries| {
                entries
                    .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                    .collect::<io::Result<Vec<_>>>()
            })
            .map_err(|error| system(doing(), &error))?;
        names.sort();
        Ok(names)
    }

    fn make_directory(&self, path: &HostPath, access: Access) -> Result<(), Failure> {
        replace::make_folder(native(path), guard(access)?)
    }

    fn write(&self, path: &HostPath, content: &mut dyn Read, form: Form) -> Result<(), Failure> {
        replace::write(native(path), content, guard(form.access)?)
    }

    fn set_access(&self, path: &HostPath, access: Access) -> Result<(), Failure> {
        if guard(access)? == Guard::AsBefore {
            return Ok(());
        }
        let sddl = match kind(path)? {
            Some(EntryKind::Directory) => FOLDER_ADMINISTRATORS_ONLY,
            _ => FILE_ADMINISTRATORS_ONLY,
        };
        set_access(native(path), sddl)
    }

    fn restore_access(&self, path: &HostPath, descriptor: &str) -> Result<(), Failure> {
        set_access(native(path), descriptor)
    }

    fn remove_file(&self, path: &HostPath) -> Result<(), Failure> {
        // A link to a folder is a folder to Windows' functions.
        if let Ok(seen) = fs::symlink_metadata(native(path))
            && seen.is_symlink()
            && fs::remove_dir(native(path)).is_ok()
        {
            return Ok(());
        }
        replace::remove(native(path))
    }

    fn remove_empty_directory(&self, path: &HostPath) -> Result<bool, Failure> {
        match fs::remove_dir(native(path)) {
            Ok(()) => Ok(true),
            Err(error) if is_absent(&error) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(system(format_args!("delete the folder `{path}`"), &error)),
        }
    }

    fn remove_tree(&self, path: &HostPath) -> Result<(), Failure> {
        match fs::remove_dir_all(native(path)) {
            Err(error) if !is_absent(&error) => {
                Err(system(format_args!("delete the folder `{path}`"), &error))
            }
            _ => Ok(()),
        }
    }
}
