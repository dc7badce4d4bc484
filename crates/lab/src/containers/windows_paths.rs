//! Maps Windows paths on drive C to Linux paths.

use std::fs;
use std::path::{Path, PathBuf};

use super::ContainerError;

/// Wine's volume name of drive C (0x43 is `C`), which containerd uses for the sources
/// of mounts.
const VOLUME_C: &str = r"\\?\Volume{00000000-0000-0000-0000-000000000043}";

/// The components of a path on drive C, with either separator.
pub(super) fn components(path: &str) -> Result<Vec<&str>, ContainerError> {
    let invalid = || ContainerError::BadPath(path.to_owned());
    let rest = path
        .strip_prefix(VOLUME_C)
        .or_else(|| path.strip_prefix(r"\\?\"))
        .unwrap_or(path);
    if rest.starts_with(r"\\") || rest.starts_with("//") {
        return Err(invalid());
    }
    let rest = match rest.split_once(':') {
        Some(("C" | "c", rest)) => rest,
        Some(_) => return Err(invalid()),
        None => rest,
    };
    let components: Vec<&str> = rest
        .split(['\\', '/'])
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if components.is_empty() || components.contains(&"..") {
        return Err(invalid());
    }
    Ok(components)
}

/// Case-insensitive lookup; returns the path for a new entry if there is none.
pub(super) fn entry(dir: &Path, name: &str) -> PathBuf {
    let exact = dir.join(name);
    if fs::symlink_metadata(&exact).is_ok() {
        return exact;
    }
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .find(|found| {
            let found = found.file_name();
            found.to_string_lossy().to_lowercase() == name.to_lowercase()
        })
        .map_or(exact, |found| found.path())
}

pub(super) fn on_drive(drive: &Path, path: &str) -> Result<PathBuf, ContainerError> {
    let start = drive.to_owned();
    Ok(components(path)?
        .into_iter()
        .fold(start, |dir, part| entry(&dir, part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_and_drive_prefixes_are_normalized() {
        for path in [
            r"C:\var\lib",
            "c:/var/lib/",
            r"\var\.\lib",
            r"\\?\C:\var\lib",
        ] {
            assert_eq!(components(path).unwrap(), ["var", "lib"], "{path}");
        }
    }

    #[test]
    fn pipes_other_drives_and_parent_paths_are_rejected() {
        for path in [
            r"\\.\pipe\docker_engine",
            r"D:\data",
            r"C:\a\..\..\etc",
            r"C:\",
            "",
        ] {
            assert!(components(path).is_err(), "{path}");
        }
    }

    #[test]
    fn names_are_case_insensitive() {
        let drive = tempfile::tempdir().unwrap();
        fs::create_dir_all(drive.path().join("Windows/System32")).unwrap();
        let found = on_drive(drive.path(), r"c:\WINDOWS\system32\drivers").unwrap();
        assert_eq!(found, drive.path().join("Windows/System32/drivers"));
    }
}
