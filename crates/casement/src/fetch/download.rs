//! One download: from its URL or a mirror, verified, and resumed after an interruption.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_lock::{Content, Entry, FileLocation, Mirror};
use casement_remote::hash_file;
use casement_resource::Sha256;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use super::cache::write_failed;
use crate::output;
use crate::verbs::lock::reader::{LocationReader, chain};

pub struct Download<'a> {
    entry: &'a Entry,
    location: FileLocation,
}

impl<'a> Download<'a> {
    /// From the mirror, if there is one.
    pub fn new(entry: &'a Entry, mirror: Option<&Mirror>) -> Result<Self, Problem> {
        let Content::Published { url, .. } = &entry.content else {
            let what = format!("the lock file pins a local file as `{}`", entry.name);
            return Err(Problem::new("CAS-LOCK-012", what, "run `casement lock`"));
        };
        let location = match mirror {
            Some(mirror) => mirror.locate(url),
            None => FileLocation::Url(url.clone()),
        };
        Ok(Self { entry, location })
    }

    pub fn sha256(&self) -> &Sha256 {
        &self.entry.sha256
    }

    /// None for a local mirror.
    pub fn url(&self) -> Option<&str> {
        match &self.location {
            FileLocation::Url(url) => Some(url),
            FileLocation::File(_) => None,
        }
    }

    /// Downloads to `path` by way of a `.part` file, which is renamed after verification.
    /// Returns the size.
    pub async fn fetch(&self, path: &Path) -> Result<u64, Problem> {
        let part = PathBuf::from(format!("{}.part", path.display()));
        match &self.location {
            FileLocation::Url(url) => self.fetch_http(url, &part).await?,
            FileLocation::File(from) => {
                let copied = tokio::fs::copy(from, &part).await;
                copied.map_err(|error| self.failed(&error.to_string()))?;
            }
        }
        let (found, size) = hash_file(&part).map_err(|error| error.problem())?;
        if found != *self.sha256() {
            // The next attempt starts from the beginning.
            let _ = std::fs::remove_file(&part);
            return Err(self.mismatch(&found));
        }
        std::fs::rename(&part, path).map_err(|error| write_failed(path, &error))?;
        Ok(size)
    }

    async fn fetch_http(&self, url: &str, part: &Path) -> Result<(), Problem> {
        let reader = LocationReader::new()?;
        let partial = std::fs::metadata(part).map_or(0, |metadata| metadata.len());
        let response = reader.get_from(url, partial).await;
        let response = response.map_err(|reason| self.failed(&reason))?;
        let (mut response, offset) = response.ok_or_else(|| self.missing())?;
        let mut file = open(part, offset)
            .await
            .map_err(|error| write_failed(part, &error))?;
        let total = response.content_length().map(|rest| rest + offset);
        let mut progress = DownloadProgress::begin(&self.entry.name, &self.location, total);
        let mut done = offset;
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|error| self.failed(&chain(&error)))?;
            let Some(chunk) = chunk else { break };
            let written = file.write_all(&chunk).await;
            written.map_err(|error| write_failed(part, &error))?;
            done += chunk.len() as u64;
            progress.update(done);
        }
        file.flush()
            .await
            .map_err(|error| write_failed(part, &error))?;
        progress.end(done);
        Ok(())
    }

    fn mismatch(&self, found: &Sha256) -> Problem {
        Problem::new(
            "CAS-LOCK-013",
            format!(
                "the hash of `{}` does not match the lock file",
                self.entry.name
            ),
            "check the source of the file; a mirror may serve a different file with this name",
        )
        .detail("location", &self.location)
        .detail("pinned", self.sha256())
        .detail("found", found)
    }

    fn missing(&self) -> Problem {
        let what = format!("`{}` not found at {}", self.entry.name, self.location);
        let help = "add it to the mirror (in a directory with the host name of the download), \
                    or do not use the mirror";
        Problem::new("CAS-LOCK-003", what, help)
    }

    fn failed(&self, reason: &str) -> Problem {
        let what = format!(
            "failed to download `{}` from {}",
            self.entry.name, self.location
        );
        let help = "check the connection (HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE are \
                    supported), or use a mirror: `--mirror URL-or-directory`";
        Problem::new("CAS-LOCK-006", what, help).detail("cause", reason)
    }
}

/// Appends to the partial file if the download resumes.
async fn open(part: &Path, offset: u64) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    match offset {
        0 => options.write(true).create(true).truncate(true),
        _ => options.append(true),
    };
    options.open(part).await
}

/// A line that is updated on a terminal; two lines elsewhere.
struct DownloadProgress<'a> {
    name: &'a str,
    total: Option<u64>,
    terminal: bool,
    /// Bytes at the last update.
    last: u64,
}

impl<'a> DownloadProgress<'a> {
    fn begin(name: &'a str, location: &FileLocation, total: Option<u64>) -> Self {
        let size = total.map_or_else(|| "unknown size".to_owned(), output::bytes);
        output::message(&format!("downloading {name} ({size}) from {location}"));
        Self {
            name,
            total,
            terminal: std::io::stderr().is_terminal(),
            last: 0,
        }
    }

    fn update(&mut self, done: u64) {
        // A few times a second at most, even on a fast network.
        if !self.terminal || done - self.last < 4_000_000 {
            return;
        }
        self.last = done;
        let total = self.total.map_or_else(|| "?".to_owned(), output::bytes);
        eprint!("\r  {} of {total} ", output::bytes(done));
        let _ = std::io::stderr().flush();
    }

    fn end(&self, done: u64) {
        if self.terminal {
            eprint!("\r");
        }
        output::message(&format!(
            "downloaded {} ({})",
            self.name,
            output::bytes(done)
        ));
    }
}
