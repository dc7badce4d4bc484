//! The local cache: downloads by hash, and the programs unpacked from archives.

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

/// Name, file and content of a program.
pub type Found = (String, PathBuf, Blob);

pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// The configured directory, or the default of the user.
    pub fn open(configured: Option<&Utf8Path>) -> Result<Self, Problem> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let default = || {
            variable("XDG_CACHE_HOME")
                .or_else(|| variable("LOCALAPPDATA"))
                .or_else(|| Some(variable("HOME")?.join(".cache")))
                .map(|cache| cache.join("casement").join("downloads"))
        };
        let dir = configured.map(|path| path.as_std_path().to_owned());
        let dir = dir.or_else(default).ok_or_else(no_directory)?;
        fs::create_dir_all(&dir).map_err(|error| write_failed(&dir, &error))?;
        Ok(Self { dir })
    }

    /// A download and its programs; downloaded if it is not cached.
    pub async fn programs(
        &self,
        download: &Download<'_>,
        release: &Published,
    ) -> Result<(Blob, Vec<Found>), Problem> {
        let artifact = release.artifact;
        let (file, blob) = self.download(download).await?;
        if artifact.packing == Packing::Plain {
            let names = artifact.programs.iter().take(1);
            let found = names.map(|name| ((*name).to_owned(), file.clone(), blob));
            return Ok((blob, found.collect()));
        }
        let unpacked = self.unpacked(&file, &blob.sha256, artifact);
        let unpacked = unpacked.map_err(|error| {
            Problem::new(
                "CAS-LOCK-015",
                format!("failed to unpack `{}`", artifact.name),
                "check the file: it matches the lock file, but is not an archive of programs",
            )
            .detail("file", file.display())
            .detail("cause", error)
        })?;
        let hashed = unpacked.into_iter().map(|(name, path)| {
            let (sha256, size) = hash_file(&path).map_err(|error| error.problem())?;
            Ok((name, path, Blob { sha256, size }))
        });
        let found: Result<Vec<Found>, Problem> = hashed.collect();
        Ok((blob, found?))
    }

    /// Cached files are hashed again: others may write to the directory.
    async fn download(&self, download: &Download<'_>) -> Result<(PathBuf, Blob), Problem> {
        let sha256 = *download.sha256();
        let path = self.dir.join(sha256.to_string());
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
        let dir = self.dir.join(format!("{hash}.programs"));
        if !dir.exists() {
            let temporary = tempfile::Builder::new()
                .prefix(".casement-")
                .tempdir_in(&self.dir)?;
            unpack(
                archive,
                artifact.packing,
                artifact.programs,
                temporary.path(),
            )?;
            match fs::rename(temporary.path(), &dir) {
                Ok(()) => drop(temporary.keep()),
                // Another process was faster.
                Err(_) if dir.exists() => {}
                Err(error) => return Err(error),
            }
        }
        let paths = artifact
            .programs
            .iter()
            .map(|name| ((*name).to_owned(), dir.join(format!("{name}.exe"))));
        Ok(paths.filter(|(_, path)| path.is_file()).collect())
    }
}

fn no_directory() -> Problem {
    let (what, home) = match cfg!(windows) {
        true => ("LOCALAPPDATA is not set", "LOCALAPPDATA"),
        false => ("HOME and XDG_CACHE_HOME are not set", "HOME"),
    };
    Problem::new(
        "CAS-LOCK-016",
        format!("no directory for downloads: {what}"),
        format!("set {home}, or the directory in the cluster file: `artifacts.cache`"),
    )
}

pub fn write_failed(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        "CAS-LOCK-014",
        format!("failed to write `{}`", path.display()),
        "free disk space, or set another directory: `artifacts.cache`",
    )
    .detail("cause", error)
}

#[cfg(test)]
mod tests {
    use casement_catalog::ARTIFACTS;

    use super::*;
    use crate::fetch::unpack::tests::tar_gz;

    #[test]
    fn programs_are_unpacked_once_without_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("archive");
        fs::write(&path, tar_gz()).unwrap();
        let cache = Cache {
            dir: dir.path().to_owned(),
        };
        let is_containerd = |it: &&Artifact| it.programs.contains(&"containerd");
        let artifact = ARTIFACTS.iter().find(is_containerd).unwrap();
        let hash = Sha256::of(b"archive");
        for _ in 0..2 {
            let found = cache.unpacked(&path, &hash, artifact).unwrap();
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["containerd", "ctr"], "only those in the archive");
            assert_eq!(fs::read_to_string(&found[0].1).unwrap(), "one");
            fs::write(&path, "no longer needed").unwrap();
        }
        let entries = fs::read_dir(dir.path()).unwrap();
        assert_eq!(entries.count(), 2, "no temporary files");
    }
}
