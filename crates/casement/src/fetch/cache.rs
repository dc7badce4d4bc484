//! The cache on this machine: downloads by their hash, and the programs out of those
//! that are packed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use casement_catalog::{Artifact, Packing};
use casement_diag::Problem;
use casement_lock::Published;
use casement_remote::hash_file;
use casement_resource::{Blob, Sha256};

use super::download::Download;
use super::unpack::unpack;
use crate::told;

/// A program: its name, its file, and what that holds.
pub type Found = (String, PathBuf, Blob);

/// A folder of this user's.
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The one that the file names, or the usual one.
    pub fn of(given: Option<&Utf8Path>) -> Result<Self, Problem> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let usual = || {
            variable("XDG_CACHE_HOME")
                .or_else(|| variable("LOCALAPPDATA"))
                .or_else(|| Some(variable("HOME")?.join(".cache")))
                .map(|cache| cache.join("casement").join("downloads"))
        };
        let folder = given.map(|path| path.as_std_path().to_owned());
        let folder = folder.or_else(usual).ok_or_else(|| {
            let what = "there is no place to keep downloads";
            Problem::new(
                "CAS-LOCK-014",
                what,
                "name one: artifacts.cache, or set HOME",
            )
        })?;
        fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        Ok(Self { folder })
    }

    /// A release, and the programs in it by their names; fetched where it is not
    /// there.
    pub async fn programs(
        &self,
        download: &Download<'_>,
        release: &Published,
    ) -> Result<(Blob, Vec<Found>), Problem> {
        let artifact = release.artifact;
        let (whole, blob) = self.download(download).await?;
        if artifact.packing == Packing::Plain {
            let names = artifact.programs.iter().take(1);
            let found = names.map(|name| ((*name).to_owned(), whole.clone(), blob));
            return Ok((blob, found.collect()));
        }
        let unpacked = self.unpacked(&whole, &blob.sha256, artifact);
        let unpacked = unpacked.map_err(|error| {
            Problem::new(
                "CAS-LOCK-015",
                format!("`{}` cannot be unpacked", artifact.name),
                "look at the file: it is what the lock file pins, but no archive of programs",
            )
            .seen("file", whole.display())
            .seen("it says", error)
        })?;
        let hashed = unpacked.into_iter().map(|(name, path)| {
            let (sha256, size) = hash_file(&path).map_err(|error| told::remote(&error))?;
            Ok((name, path, Blob { sha256, size }))
        });
        let found: Result<Vec<Found>, Problem> = hashed.collect();
        Ok((blob, found?))
    }

    /// The download itself. One that is there is hashed again: a cache is a folder
    /// like any other.
    async fn download(&self, download: &Download<'_>) -> Result<(PathBuf, Blob), Problem> {
        let sha256 = *download.sha256();
        let path = self.folder.join(sha256.to_string());
        let size = match hash_file(&path) {
            Ok((hash, size)) if hash == sha256 => size,
            _ => download.fetch(&path).await?,
        };
        Ok((path, Blob { sha256, size }))
    }

    fn unpacked(
        &self,
        archive: &Path,
        hash: &Sha256,
        artifact: &Artifact,
    ) -> io::Result<Vec<(String, PathBuf)>> {
        let folder = self.folder.join(format!("{hash}.programs"));
        if !folder.exists() {
            let beside = tempfile::Builder::new()
                .prefix(".casement-")
                .tempdir_in(&self.folder)?;
            unpack(archive, artifact.packing, artifact.programs, beside.path())?;
            match fs::rename(beside.path(), &folder) {
                Ok(()) => drop(beside.keep()),
                // Somebody else did the same meanwhile.
                Err(_) if folder.exists() => {}
                Err(error) => return Err(error),
            }
        }
        let places = artifact
            .programs
            .iter()
            .map(|name| ((*name).to_owned(), folder.join(format!("{name}.exe"))));
        Ok(places.filter(|(_, path)| path.is_file()).collect())
    }
}

/// What is told when the cache cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        "CAS-LOCK-014",
        format!("`{}` cannot be written", path.display()),
        "make room or name another place: artifacts.cache",
    )
    .seen("it says", error)
}

#[cfg(test)]
mod tests {
    use casement_catalog::ARTIFACTS;

    use super::*;
    use crate::fetch::unpack::tests::tar_gz;

    #[test]
    fn programs_are_unpacked_once_and_nothing_is_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        fs::write(&path, tar_gz()).unwrap();
        let cache = Cache {
            folder: folder.path().to_owned(),
        };
        let of_name = |it: &&Artifact| it.programs.contains(&"containerd");
        let artifact = ARTIFACTS.iter().find(of_name).unwrap();
        let hash = Sha256::of(b"archive");
        for _ in 0..2 {
            let found = cache.unpacked(&path, &hash, artifact).unwrap();
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["containerd", "ctr"], "those that are in it");
            assert_eq!(fs::read_to_string(&found[0].1).unwrap(), "one");
            fs::write(&path, "no longer needed").unwrap();
        }
        let folders = fs::read_dir(folder.path()).unwrap();
        assert_eq!(folders.count(), 2, "nothing is left over");
    }
}
