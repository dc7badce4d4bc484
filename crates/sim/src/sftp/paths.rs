//! Maps paths of a host, as SFTP clients write them, to local files.

use std::fs;
use std::path::{Path, PathBuf};

use russh_sftp::protocol::{File, FileAttributes, StatusCode};

/// Local root of the host's files, and the start directory of a session.
pub struct Paths {
    /// Local directory of `C:`, or of `/` on a host without drives.
    drive_c: PathBuf,
    home: String,
    has_drives: bool,
}

/// The root above all drives, or names below `C:`.
enum ResolvedPath {
    Root,
    Below(Vec<String>),
}

impl Paths {
    /// `home` is in display form, for example `/C:/Users/Administrator`.
    pub fn windows(drive_c: &Path, home: &str) -> Self {
        Self {
            drive_c: drive_c.to_owned(),
            home: home.to_owned(),
            has_drives: true,
        }
    }

    /// A host with one root and case-sensitive names.
    pub fn linux(root: &Path, home: &str) -> Self {
        Self {
            has_drives: false,
            ..Self::windows(root, home)
        }
    }

    /// Whether this is the directory that lists the drives.
    pub fn is_root(&self, path: &str) -> bool {
        matches!(self.resolve(path), Ok(ResolvedPath::Root))
    }

    /// An existing file; on Windows, names match in any case.
    pub fn existing(&self, path: &str) -> Result<PathBuf, StatusCode> {
        let ResolvedPath::Below(names) = self.resolve(path)? else {
            return Err(StatusCode::PermissionDenied);
        };
        let start = self.drive_c.clone();
        let found = names
            .iter()
            .try_fold(start, |dir, name| match self.has_drives {
                true => find_ignoring_case(&dir, name),
                false => Some(dir.join(name)).filter(|path| path.exists()),
            });
        found.ok_or(StatusCode::NoSuchFile)
    }

    pub fn new_or_existing(&self, path: &str) -> Result<PathBuf, StatusCode> {
        if let Ok(path) = self.existing(path) {
            return Ok(path);
        }
        let display = self.display(path)?;
        let (dir, name) = display.rsplit_once('/').ok_or(StatusCode::NoSuchFile)?;
        if name.contains([':', '*', '?', '"', '<', '>', '|']) {
            return Err(StatusCode::Failure);
        }
        Ok(self.existing(dir)?.join(name))
    }

    /// The form in which OpenSSH on Windows shows a path.
    pub fn display(&self, path: &str) -> Result<String, StatusCode> {
        Ok(match self.resolve(path)? {
            ResolvedPath::Root => "/".to_owned(),
            ResolvedPath::Below(names) if !self.has_drives => format!("/{}", names.join("/")),
            ResolvedPath::Below(names) if names.is_empty() => "/C:/".to_owned(),
            ResolvedPath::Below(names) => format!("/C:/{}", names.join("/")),
        })
    }

    pub fn list(&self, path: &str) -> Result<Vec<File>, StatusCode> {
        let attributes = |path: &Path| {
            let metadata = fs::metadata(path).ok()?;
            Some(FileAttributes::from(&metadata))
        };
        if self.is_root(path) && self.has_drives {
            let drive = attributes(&self.drive_c).map(|attrs| File::new("C:", attrs));
            return Ok(drive.into_iter().collect());
        }
        let dir = self.existing(path)?;
        let entries = fs::read_dir(dir).map_err(super::status_code)?;
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

    fn resolve(&self, path: &str) -> Result<ResolvedPath, StatusCode> {
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
            return Ok(ResolvedPath::Below(names));
        }
        if names.is_empty() {
            return Ok(ResolvedPath::Root);
        }
        if names[0].eq_ignore_ascii_case("c:") {
            names.remove(0);
            return Ok(ResolvedPath::Below(names));
        }
        Err(StatusCode::NoSuchFile)
    }
}

fn has_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

fn find_ignoring_case(dir: &Path, name: &str) -> Option<PathBuf> {
    let exact = dir.join(name);
    if exact.symlink_metadata().is_ok() {
        return Some(exact);
    }
    let lowercase = name.to_lowercase();
    let entries = fs::read_dir(dir).ok()?.flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().to_lowercase() == lowercase)
        .map(|entry| entry.path())
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> (tempfile::TempDir, Paths) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("users/Administrator")).unwrap();
        fs::create_dir_all(dir.path().join("Program Files")).unwrap();
        let paths = Paths::windows(dir.path(), "/C:/Users/Administrator");
        (dir, paths)
    }

    #[test]
    fn paths_are_displayed_as_on_windows() {
        let (_dir, paths) = fixture();
        for (path, display) in [
            (".", "/C:/Users/Administrator"),
            ("/", "/"),
            ("C:", "/C:/"),
            (r"C:\k\x.exe", "/C:/k/x.exe"),
            ("/c:/k/../etc", "/C:/etc"),
            ("a b.txt", "/C:/Users/Administrator/a b.txt"),
        ] {
            assert_eq!(paths.display(path).unwrap(), display, "{path}");
        }
        assert!(paths.display("/etc/passwd").is_err());
    }

    #[test]
    fn names_match_in_any_case_and_stay_below_the_drive() {
        let (dir, paths) = fixture();
        let found = paths.existing("/C:/PROGRAM files").unwrap();
        assert_eq!(found, dir.path().join("Program Files"));
        assert!(paths.existing("/C:/../../etc").is_err());
        assert!(paths.new_or_existing("/C:/users/new.txt").is_ok());
        assert!(paths.new_or_existing("/C:/none/new.txt").is_err());
        assert!(paths.new_or_existing("/C:/users/a:b").is_err());
    }

    #[test]
    fn root_lists_the_drive() {
        let (_dir, paths) = fixture();
        let names: Vec<String> = paths
            .list("/")
            .unwrap()
            .into_iter()
            .map(|f| f.filename)
            .collect();
        assert_eq!(names, ["C:"]);
    }
}
