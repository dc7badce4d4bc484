//! The lock file on the disk.

use std::fs;
use std::io::{ErrorKind, Read};

use camino::Utf8Path;
use casement_diag::Problem;
use casement_lock::Lock;

use crate::whole_file;

/// More than any lock file has.
const MOST_BYTES: u64 = 4 << 20;

/// Reads a lock file; an empty lock where there is none yet.
pub fn read(path: &Utf8Path) -> Result<Lock, Problem> {
    let text = match limited(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lock::default()),
        Err(error) => {
            return Err(Problem::new(
                "CAS-LOCK-007",
                format!("the lock file `{path}` cannot be read"),
                "mend it, or write another one with --out",
            )
            .seen("it says", error));
        }
    };
    text.parse().map_err(|error: casement_lock::LockError| {
        Problem::new(error.code(), error.to_string(), error.remedy()).seen("file", path)
    })
}

fn limited(path: &Utf8Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MOST_BYTES {
        true => Err(std::io::Error::other("it has more than 4 MiB")),
        false => Ok(text),
    }
}

/// Puts the text in place of what was there, all at once.
pub fn write(path: &Utf8Path, text: &str) -> Result<(), Problem> {
    whole_file::replace(path.as_std_path(), text.as_bytes()).map_err(|error| {
        Problem::new(
            "CAS-LOCK-008",
            format!("the lock file `{path}` cannot be written"),
            "make its folder writable, or name another place with --out",
        )
        .seen("it says", error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let path = folder.join("casement.lock");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(
            fs::read_dir(folder).unwrap().count(),
            1,
            "nothing is left over"
        );
        let nowhere = folder.join("no/such/casement.lock");
        assert_eq!(write(&nowhere, "x").unwrap_err().code, "CAS-LOCK-008");
        // A folder cannot be replaced by a file: the temporary file goes again.
        fs::create_dir(folder.join("taken")).unwrap();
        assert!(write(&folder.join("taken"), "x").is_err());
        assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
    }

    #[test]
    fn no_lock_file_is_an_empty_one_and_a_broken_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path())
            .unwrap()
            .join("casement.lock");
        assert_eq!(read(&path), Ok(Lock::default()));
        fs::write(&path, "version = 7").unwrap();
        assert_eq!(read(&path).unwrap_err().code, "CAS-LOCK-002");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(read(&path).unwrap_err().code, "CAS-LOCK-007");
        fs::write(&path, vec![b'#'; 5 << 20]).unwrap();
        assert_eq!(read(&path).unwrap_err().code, "CAS-LOCK-007");
    }
}
