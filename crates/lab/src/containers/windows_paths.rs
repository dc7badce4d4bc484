//! Windows paths on a drive C that is a Linux folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::ContainerError;

/// Drive C as Wine names its volume: the last two digits are the letter. It is
/// how containerd writes the sources of mounts.
const VOLUME_C: &str = r"\\?\Volume{00000000-0000-0000-0000-000000000043}";

/// The parts of a path on drive C, in either spelling of the separator.
pub(super) fn parts(path: &str) -> Result<Vec<&str>, ContainerError> {
    let bad = || ContainerError::BadPath(path.to_owned());
    let rest = path
        .strip_prefix(VOLUME_C)
        .or_else(|| path.strip_prefix(r"\\?\"))
        .unwrap_or(path);
    if rest.starts_with(r"\\") || rest.starts_with("//") {
        return Err(bad());
    }
    let rest = match rest.split_once(':') {
        Some(("C" | "c", rest)) => rest,
        Some(_) => return Err(bad()),
        None => rest,
    };
    let parts: Vec<&str> = rest
        .split(['\\', '/'])
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.is_empty() || parts.contains(&"..") {
        return Err(bad());
    }
    Ok(parts)
}

/// The entry of that name in a folder, whatever its case, else where it would be.
pub(super) fn entry(folder: &Path, name: &str) -> PathBuf {
    let exact = folder.join(name);
    if fs::symlink_metadata(&exact).is_ok() {
        return exact;
    }
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .find(|found| {
            let found = found.file_name();
            found.to_string_lossy().to_lowercase() == name.to_lowercase()
        })
        .map_or(exact, |found| found.path())
}

/// The Linux path of a path on the drive.
pub(super) fn on_drive(drive: &Path, path: &str) -> Result<PathBuf, ContainerError> {
    let place = drive.to_owned();
    Ok(parts(path)?
        .into_iter()
        .fold(place, |place, part| entry(&place, part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_and_no_drive_are_the_same_place() {
        for path in [
            r"C:\var\lib",
            "c:/var/lib/",
            r"\var\.\lib",
            r"\\?\C:\var\lib",
        ] {
            assert_eq!(parts(path).unwrap(), ["var", "lib"], "{path}");
        }
    }

    #[test]
    fn pipes_other_drives_and_ways_out_are_no_paths() {
        for path in [
            r"\\.\pipe\docker_engine",
            r"D:\data",
            r"C:\a\..\..\etc",
            r"C:\",
            "",
        ] {
            assert!(parts(path).is_err(), "{path}");
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        let drive = tempfile::tempdir().unwrap();
        fs::create_dir_all(drive.path().join("Windows/System32")).unwrap();
        let found = on_drive(drive.path(), r"c:\WINDOWS\system32\drivers").unwrap();
        assert_eq!(found, drive.path().join("Windows/System32/drivers"));
    }
}
