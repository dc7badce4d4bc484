//! Files and directories.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::windows::fs::MetadataExt;
use std::path::Path;

use casement_resource::{Access, Failure, HostPath};
use windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_REPARSE_POINT;

use super::Windows;
use super::failure::system;
use super::replace::{self, AccessPolicy};
use super::security::{
    DIR_ADMINISTRATORS_ONLY, FILE_ADMINISTRATORS_ONLY, access_facts, set_access,
};
use crate::platform::{Entry, EntryKind, Files, WriteOptions, unsupported};

fn native_path(path: &HostPath) -> &Path {
    Path::new(path.as_str())
}

fn policy(access: Access) -> Result<AccessPolicy, Failure> {
    match access {
        Access::Inherited => Ok(AccessPolicy::Inherited),
        Access::AdministratorsOnly => Ok(AccessPolicy::AdministratorsOnly),
        Access::Mode(mode) => Err(unsupported(&format!("mode {mode}"))),
    }
}

/// Does not follow links.
fn kind(path: &HostPath) -> Result<Option<EntryKind>, Failure> {
    match fs::symlink_metadata(native_path(path)) {
        Ok(metadata) if metadata.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 => {
            Ok(Some(EntryKind::Other))
        }
        Ok(metadata) if metadata.is_dir() => Ok(Some(EntryKind::Directory)),
        Ok(metadata) if metadata.is_file() => Ok(Some(EntryKind::File)),
        Ok(_) => Ok(Some(EntryKind::Other)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(system(
            format_args!("read the attributes of `{path}`"),
            &error,
        )),
    }
}

/// A path below a file does not exist either.
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
            access: access_facts(native_path(path))?,
        }))
    }

    fn open(&self, path: &HostPath) -> Result<Box<dyn Read>, Failure> {
        let file = File::open(native_path(path))
            .map_err(|error| system(format_args!("read `{path}`"), &error))?;
        Ok(Box::new(file))
    }

    fn list(&self, path: &HostPath) -> Result<Vec<String>, Failure> {
        let action = || format!("list `{path}`");
        let mut names = fs::read_dir(native_path(path))
            .and_then(|entries| {
                entries
                    .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                    .collect::<io::Result<Vec<_>>>()
            })
            .map_err(|error| system(action(), &error))?;
        names.sort();
        Ok(names)
    }

    fn create_directory(&self, path: &HostPath, access: Access) -> Result<(), Failure> {
        replace::create_dir(native_path(path), policy(access)?)
    }

    fn write(
        &self,
        path: &HostPath,
        content: &mut dyn Read,
        options: WriteOptions,
    ) -> Result<(), Failure> {
        replace::write(native_path(path), content, policy(options.access)?)
    }

    fn set_access(&self, path: &HostPath, access: Access) -> Result<(), Failure> {
        if policy(access)? == AccessPolicy::Inherited {
            return Ok(());
        }
        let sddl = match kind(path)? {
            Some(EntryKind::Directory) => DIR_ADMINISTRATORS_ONLY,
            _ => FILE_ADMINISTRATORS_ONLY,
        };
        set_access(native_path(path), sddl)
    }

    fn restore_access(&self, path: &HostPath, descriptor: &str) -> Result<(), Failure> {
        set_access(native_path(path), descriptor)
    }

    fn remove_file(&self, path: &HostPath) -> Result<(), Failure> {
        // To Windows, a link to a directory is a directory.
        if let Ok(metadata) = fs::symlink_metadata(native_path(path))
            && metadata.is_symlink()
            && fs::remove_dir(native_path(path)).is_ok()
        {
            return Ok(());
        }
        replace::remove(native_path(path))
    }

    fn remove_empty_directory(&self, path: &HostPath) -> Result<bool, Failure> {
        match fs::remove_dir(native_path(path)) {
            Ok(()) => Ok(true),
            Err(error) if is_absent(&error) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(system(
                format_args!("delete the directory `{path}`"),
                &error,
            )),
        }
    }

    fn remove_tree(&self, path: &HostPath) -> Result<(), Failure> {
        match fs::remove_dir_all(native_path(path)) {
            Err(error) if !is_absent(&error) => Err(system(
                format_args!("delete the directory `{path}`"),
                &error,
            )),
            _ => Ok(()),
        }
    }
}
