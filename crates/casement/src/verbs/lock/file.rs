//! Reads and writes the lock file.

use std::fs;
use std::io::{ErrorKind, Read};

use camino::Utf8Path;
use casement_diag::Problem;
use casement_lock::Lock;

use crate::atomic_file;

/// How the user sets the path of the lock file: `casement lock` has an option, other
/// commands do not.
pub const OPTION: &str = "`--out FILE`";
pub const FIELD: &str = "`artifacts.lock` in the cluster file";

/// Far above the size of any lock file.
const MAX_BYTES: u64 = 4 << 20;

/// An empty lock if the file does not exist.
pub fn read(path: &Utf8Path, set_by: &str) -> Result<Lock, Problem> {
    let text = match read_limited(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lock::default()),
        Err(error) => {
            return Err(Problem::new(
                "CAS-LOCK-007",
                format!("failed to read the lock file `{path}`"),
                format!("make it readable, or choose another file with {set_by}"),
            )
            .detail("cause", error));
        }
    };
    text.parse()
        .map_err(|error: casement_lock::LockError| error.problem().detail("file", path))
}

fn read_limited(path: &Utf8Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(std::io::Error::other("larger than 4 MiB")),
        false => Ok(text),
    }
}

pub fn write(path: &Utf8Path, text: &str, set_by: &str) -> Result<(), Problem> {
    atomic_file::replace(path.as_std_path(), text.as_bytes()).map_err(|error| {
        Problem::new(
            "CAS-LOCK-008",
            format!("failed to write the lock file `{path}`"),
            format!("make its directory writable, or choose another file with {set_by}"),
        )
        .detail("cause", error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_file_is_replaced_atomically() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let path = dir.join("casement.lock");
        write(&path, "one", OPTION).unwrap();
        write(&path, "two", OPTION).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(dir).unwrap().count(), 1, "no temporary files");
        let missing = dir.join("no/such/casement.lock");
        for set_by in [OPTION, FIELD] {
            let problem = write(&missing, "x", set_by).unwrap_err();
            assert_eq!(problem.code, "CAS-LOCK-008");
            assert!(problem.help.contains(set_by), "{problem}");
        }
        // A directory cannot be replaced by a file; the temporary file is removed.
        fs::create_dir(dir.join("taken")).unwrap();
        assert!(write(&dir.join("taken"), "x", OPTION).is_err());
        assert_eq!(fs::read_dir(dir).unwrap().count(), 2);
    }

    #[test]
    fn missing_lock_file_is_empty_and_invalid_ones_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path())
            .unwrap()
            .join("casement.lock");
        assert_eq!(read(&path, FIELD), Ok(Lock::default()));
        fs::write(&path, "version = 7").unwrap();
        assert_eq!(read(&path, FIELD).unwrap_err().code, "CAS-LOCK-002");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(read(&path, FIELD).unwrap_err().code, "CAS-LOCK-007");
        fs::write(&path, vec![b'#'; 5 << 20]).unwrap();
        for set_by in [OPTION, FIELD] {
            let problem = read(&path, set_by).unwrap_err();
            assert_eq!(problem.code, "CAS-LOCK-007");
            assert!(problem.help.contains(set_by), "{problem}");
        }
    }
}
