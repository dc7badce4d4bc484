//! A host's paths, as SFTP clients write them, to files here.

use std::fs;
use std::path::{Path, PathBuf};

use russh_sftp::protocol::{File, FileAttributes, StatusCode};

/// Where the host's files are, and where a session begins.
pub struct Paths {
    /// `C:`, or the root of a host without drives.
    drive_c: PathBuf,
    home: String,
    has_drives: bool,
}

/// A path taken apart: the root above all drives, or names below `C:`.
enum Place {
    Root,
    Below(Vec<String>),
}

impl Paths {
    /// `home` is shown form, for example `/C:/Users/Administrator`.
    pub fn new(drive_c: &Path, home: &str) -> Self {
        Self {
            drive_c: drive_c.to_owned(),
            home: home.to_owned(),
            has_drives: true,
        }
    }

    /// A host with one root, and names that differ by case.
    pub fn rooted(root: &Path, home: &str) -> Self {
        Self {
            has_drives: false,
            ..Self::new(root, home)
        }
    }

    /// Whether this is the folder that lists the drives.
    pub fn is_root(&self, path: &str) -> bool {
        matches!(self.place(path), Ok(Place::Root))
    }

    /// A file that exists, whatever the case of its name.
    pub fn existing(&self, path: &str) -> Result<PathBuf, StatusCode> {
        let Place::Below(names) = self.place(path)? else {
            return Err(StatusCode::PermissionDenied);
        };
        let start = self.drive_c.clone();
        let found = names
            .iter()
            .try_fold(start, |folder, name| match self.has_drives {
                true => find(&folder, name),
                false => Some(folder.join(name)).filter(|path| path.exists()),
            });
        found.ok_or(StatusCode::NoSuchFile)
    }

    /// A file in a folder that exists.
    pub fn new_or_existing(&self, path: &str) -> Result<PathBuf, StatusCode> {
        if let Ok(path) = self.existing(path) {
            return Ok(path);
        }
        let shown = self.shown(path)?;
        let (folder, name) = shown.rsplit_once('/').ok_or(StatusCode::NoSuchFile)?;
        if name.contains([':', '*', '?', '"', '<', '>', '|']) {
            return Err(StatusCode::Failure);
        }
        Ok(self.existing(folder)?.join(name))
    }

    /// The form in which Windows' OpenSSH shows a path.
    pub fn shown(&self, path: &str) -> Result<String, StatusCode> {
        Ok(match self.place(path)? {
            Place::Root => "/".to_owned(),
            Place::Below(names) if !self.has_drives => format!("/{}", names.join("/")),
            Place::Below(names) if names.is_empty() => "/C:/".to_owned(),
            Place::Below(names) => format!("/C:/{}", names.join("/")),
        })
    }

    /// What a folder holds.
    pub fn list(&self, path: &str) -> Result<Vec<File>, StatusCode> {
        let attributes = |path: &Path| {
            let metadata = fs::metadata(path).ok()?;
            Some(FileAttributes::from(&metadata))
        };
        if self.is_root(path) && self.has_drives {
            let drive = attributes(&self.drive_c).map(|attrs| File::new("C:", attrs));
            return Ok(drive.into_iter().collect());
        }
        let folder = self.existing(path)?;
        let entries = fs::read_dir(folder).map_err(super::code)?;
        let mut files: Vec<File> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some(File::new(name, attributes(&entry.path())?))
            })
            .collect();
        files.sort_by(|a, b| a.filename.cmp(&b.filename));
        Ok(files)
    }

    fn place(&self, path: &str) -> Result<Place, StatusCode> {
        let path = path.replace('\\', "/");
        let absolute = if path.starts_with('/') || has_drive(&path) {
            path
        } else {
            format!("{}/{path}", self.home)
        };
        let mut names: Vec<String> = Vec::new();
        for name in absolute.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop()),
                _ => names.push(name.to_owned()),
            }
        }
        if !self.has_drives {
            return Ok(Place::Below(names));
        }
        if names.is_empty() {
            return Ok(Place::Root);
        }
        if names[0].eq_ignore_ascii_case("c:") {
            names.remove(0);
            return Ok(Place::Below(names));
        }
        Err(StatusCode::NoSuchFile)
    }
}

fn has_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let exact = folder.join(name);
    if exact.symlink_metadata().is_ok() {
        return Some(exact);
    }
    let wanted = name.to_lowercase();
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().to_lowercase() == wanted)
        .map(|entry| entry.path())
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix() -> (tempfile::TempDir, Paths) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("users/Administrator")).unwrap();
        fs::create_dir_all(folder.path().join("Program Files")).unwrap();
        let paths = Paths::new(folder.path(), "/C:/Users/Administrator");
        (folder, paths)
    }

    #[test]
    fn paths_are_shown_as_windows_shows_them() {
        let (_folder, paths) = prefix();
        for (asked, shown) in [
            (".", "/C:/Users/Administrator"),
            ("/", "/"),
            ("C:", "/C:/"),
            (r"C:\k\x.exe", "/C:/k/x.exe"),
            ("/c:/k/../etc", "/C:/etc"),
            ("a b.txt", "/C:/Users/Administrator/a b.txt"),
        ] {
            assert_eq!(paths.shown(asked).unwrap(), shown, "{asked}");
        }
        assert!(paths.shown("/etc/passwd").is_err());
    }

    #[test]
    fn names_match_in_any_case_and_never_leave_the_drive() {
        let (folder, paths) = prefix();
        let found = paths.existing("/C:/PROGRAM files").unwrap();
        assert_eq!(found, folder.path().join("Program Files"));
        assert!(paths.existing("/C:/../../etc").is_err());
        assert!(paths.new_or_existing("/C:/users/new.txt").is_ok());
        assert!(paths.new_or_existing("/C:/none/new.txt").is_err());
        assert!(paths.new_or_existing("/C:/users/a:b").is_err());
    }

    #[test]
    fn the_root_lists_the_drive() {
        let (_folder, paths) = prefix();
        let names: Vec<String> = paths
            .list("/")
            .unwrap()
            .into_iter()
            .map(|f| f.filename)
            .collect();
        assert_eq!(names, ["C:"]);
    }
}
