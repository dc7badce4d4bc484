//! Blobs that the host downloads itself, for the request `pull`.
//!
//! Downloads are not trusted: a file gets its name only when its hash matches, and
//! so does each program extracted from an archive.

use std::fs::File;
use std::io::Read;

use casement_resource::wire::Pull;
use casement_resource::{Code, Failure, without_password};
use flate2::read::GzDecoder;

use crate::partial_blob::PartialBlob;
use crate::platform::{Download, Platform, Result};
use crate::state::{Layout, delete, state_failure};

/// How many times an interrupted download is resumed, as long as each attempt makes
/// progress.
const ATTEMPTS: u32 = 4;
/// In bytes.
const PROGRESS_INTERVAL: u64 = 1 << 20;

/// Receives the number of bytes downloaded so far. An error cancels the download.
type OnProgress<'a> = dyn FnMut(u64) -> Result<()> + 'a;

pub fn pull(
    platform: &dyn Platform,
    layout: &Layout,
    pull: &Pull,
    on_progress: &mut OnProgress<'_>,
) -> Result<()> {
    layout.prepare(platform)?;
    let _lock = lock(layout)?;
    let needed = match pull.members.as_slice() {
        [] => std::slice::from_ref(&pull.download),
        members => members,
    };
    if needed.iter().all(|blob| layout.has_blob(blob)) {
        return Ok(());
    }
    fetch(platform, layout, pull, on_progress)?;
    if pull.members.is_empty() {
        return Ok(());
    }
    let unpacked = unpack(layout, pull);
    // The host needs the programs, not the archive.
    let deleted = delete(&layout.blob(&pull.download.sha256));
    unpacked.and(deleted)
}

/// Two downloads of the same blob would write to the same file.
fn lock(layout: &Layout) -> Result<File> {
    let path = layout.pull_lock();
    let mut options = File::options();
    let opened = options.write(true).create(true).truncate(false).open(&path);
    let locked = opened.and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| state_failure("locked", &path, &error))
}

fn fetch(
    platform: &dyn Platform,
    layout: &Layout,
    pull: &Pull,
    on_progress: &mut OnProgress<'_>,
) -> Result<()> {
    if layout.has_blob(&pull.download) {
        return Ok(());
    }
    let part = PartialBlob::open(layout, &pull.download)?;
    let mut job = DownloadJob {
        pull,
        resumed: part.length() > 0,
        part,
        reported: 0,
    };
    match job.run(platform, on_progress) {
        Ok(()) => job.part.commit(),
        Err(failure) => {
            job.clean_up(&failure)?;
            Err(failure)
        }
    }
}

struct DownloadJob<'a> {
    pull: &'a Pull,
    part: PartialBlob,
    /// Whether the file existed before this download.
    resumed: bool,
    /// The last progress that was reported.
    reported: u64,
}

impl DownloadJob<'_> {
    /// Retries until the download is complete or makes no progress.
    fn run(&mut self, platform: &dyn Platform, on_progress: &mut OnProgress<'_>) -> Result<()> {
        let mut attempts = ATTEMPTS;
        while !self.part.is_complete() {
            attempts -= 1;
            let (progressed, result) = self.attempt(platform, on_progress);
            if self.part.is_complete() {
                break;
            }
            let incomplete = self.part.length() < self.pull.download.size;
            let (retry, failure) = match result {
                Ok(()) => (progressed && incomplete, self.mismatch()),
                Err(failure) => (progressed && failure.code == Code::DownloadFailed, failure),
            };
            match failure.code {
                _ if retry && attempts > 0 => {}
                // The existing part may belong to other content.
                Code::BlobMismatch if self.resumed && attempts > 0 => self.restart()?,
                _ => return Err(failure),
            }
        }
        Ok(())
    }

    /// Keeps a partial file that can be resumed. The rest of an archive is never
    /// transferred: its programs are uploaded individually.
    fn clean_up(self, failure: &Failure) -> Result<()> {
        let keep = match failure.code {
            Code::BlobMismatch => false,
            Code::DownloadFailed | Code::MirrorUnreachable => self.pull.members.is_empty(),
            _ => true,
        };
        match keep && self.part.length() > 0 {
            true => Ok(()),
            false => self.part.discard(),
        }
    }

    /// Returns whether any data arrived, and the result.
    fn attempt(
        &mut self,
        platform: &dyn Platform,
        on_progress: &mut OnProgress<'_>,
    ) -> (bool, Result<()>) {
        let pull = self.pull;
        let download = Download {
            url: &pull.from,
            proxy: &pull.proxy,
            from: self.part.length(),
        };
        let mut progressed = false;
        let mut on_data = |at: u64, bytes: &[u8]| {
            if at == 0 && self.part.length() > 0 {
                self.restart()?;
            }
            progressed = true;
            if self.part.length() + bytes.len() as u64 > pull.download.size {
                let found = format!("more than {} bytes", pull.download.size);
                return Err(self.mismatch().found(found));
            }
            self.part.append(bytes)?;
            let length = self.part.length();
            if length == pull.download.size || length >= self.reported + PROGRESS_INTERVAL {
                self.reported = length;
                on_progress(length)?;
            }
            Ok(())
        };
        let result = platform.download(&download, &mut on_data);
        (progressed, result)
    }

    fn restart(&mut self) -> Result<()> {
        (self.resumed, self.reported) = (false, 0);
        self.part.restart()
    }

    fn mismatch(&self) -> Failure {
        let (found, length) = (self.part.hash(), self.part.length());
        let download = &self.pull.download;
        Failure::new(
            Code::BlobMismatch,
            format!(
                "the content of {} does not match its hash",
                without_password(self.pull.from.expose())
            ),
            "check the file on the mirror; it may be a different file with the same name",
        )
        .values(
            format!("sha256 {}, {} bytes", download.sha256, download.size),
            format!("sha256 {found}, {length} bytes"),
        )
    }
}

/// Extracts blobs from an archive. They are identified by their content; names in
/// the archive are ignored. The unpacked size is not limited: the controller
/// knows the hash and has unpacked the archive before.
fn unpack(layout: &Layout, pull: &Pull) -> Result<()> {
    let path = layout.blob(&pull.download.sha256);
    let broken = |error: std::io::Error| state_failure("unpacked", &path, &error);
    let decoder = GzDecoder::new(File::open(&path).map_err(broken)?);
    let mut archive = tar::Archive::new(decoder);
    let mut missing = pull.members.clone();
    missing.retain(|blob| !layout.has_blob(blob));
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let size = entry.size();
        let Some(candidate) = missing.iter().find(|blob| blob.size == size).copied() else {
            continue;
        };
        let mut part = PartialBlob::open(layout, &candidate)?;
        part.restart()?;
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match entry.read(&mut buffer).map_err(broken)? {
                0 => break,
                count => part.append(buffer.get(..count).unwrap_or_default())?,
            }
        }
        // Several blobs may have the same size.
        let found = part.hash();
        match missing.iter().position(|blob| blob.sha256 == found) {
            Some(at) => part.commit_as(&layout.blob(&missing.swap_remove(at).sha256))?,
            None => part.discard()?,
        }
    }
    let Some(blob) = missing.first() else {
        return Ok(());
    };
    Err(Failure::new(
        Code::BlobMismatch,
        format!(
            "a program is missing from the archive {}",
            without_password(pull.from.expose())
        ),
        "check the archive on the mirror; until then, casement uploads the program to the host",
    )
    .values(
        format!("sha256 {}, {} bytes", blob.sha256, blob.size),
        "not in the archive",
    ))
}

#[cfg(test)]
mod tests;
