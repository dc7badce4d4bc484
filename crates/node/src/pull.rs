//! Blobs that the host fetches itself: what `pull` asks for.
//!
//! Nothing that comes is trusted: a download gets its name when its hash is right,
//! and so does each program that is taken out of one.

use std::fs::File;
use std::io::Read;

use casement_resource::wire::Pull;
use casement_resource::{Code, Failure, without_password};
use flate2::read::GzDecoder;

use crate::part::Part;
use crate::platform::{Download, Platform, Result};
use crate::state::{Layout, delete, state_failure};

/// How often a download that breaks off is gone on with, as long as each attempt
/// brings something.
const ATTEMPTS: u32 = 4;
/// How many bytes come before the controller hears of them.
const TELL_EVERY: u64 = 1 << 20;

/// Whoever hears how many bytes of the download are there; one who hears nothing any
/// more ends it.
type Tell<'a> = dyn FnMut(u64) -> Result<()> + 'a;

/// Brings the blobs into the store.
pub fn pull(
    platform: &dyn Platform,
    layout: &Layout,
    pull: &Pull,
    tell: &mut Tell<'_>,
) -> Result<()> {
    layout.prepare(platform)?;
    let _turn = turn(layout)?;
    let wanted = match pull.members.as_slice() {
        [] => std::slice::from_ref(&pull.download),
        members => members,
    };
    if wanted.iter().all(|blob| layout.has(blob)) {
        return Ok(());
    }
    fetch(platform, layout, pull, tell)?;
    if pull.members.is_empty() {
        return Ok(());
    }
    let unpacked = unpack(layout, pull);
    // Hosts need the programs, not what they came in.
    let deleted = delete(&layout.blob(&pull.download.sha256));
    unpacked.and(deleted)
}

/// Waits for the host's turn: two that fetch the same would write to the same place.
fn turn(layout: &Layout) -> Result<File> {
    let path = layout.pull_lock();
    let mut options = File::options();
    let opened = options.write(true).create(true).truncate(false).open(&path);
    let locked = opened.and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| state_failure("locked", &path, &error))
}

/// Brings the download itself into the store.
fn fetch(platform: &dyn Platform, layout: &Layout, pull: &Pull, tell: &mut Tell<'_>) -> Result<()> {
    if layout.has(&pull.download) {
        return Ok(());
    }
    let part = Part::open(layout, &pull.download)?;
    let mut fetching = Fetching {
        pull,
        remnant: part.length() > 0,
        part,
        told: 0,
    };
    match fetching.run(platform, tell) {
        Ok(()) => fetching.part.put_in_place(),
        Err(failure) => {
            fetching.leave(&failure)?;
            Err(failure)
        }
    }
}

/// A download on its way.
struct Fetching<'a> {
    pull: &'a Pull,
    part: Part,
    /// Whether some of it was here before.
    remnant: bool,
    /// How many bytes the controller has heard of.
    told: u64,
}

impl Fetching<'_> {
    /// Goes on until it is whole, or nothing helps.
    fn run(&mut self, platform: &dyn Platform, tell: &mut Tell<'_>) -> Result<()> {
        let mut left = ATTEMPTS;
        while !self.part.is_whole() {
            left -= 1;
            let (came, ended) = self.attempt(platform, tell);
            if self.part.is_whole() {
                break;
            }
            let short = self.part.length() < self.pull.download.size;
            let (goes_on, failure) = match ended {
                Ok(()) => (came && short, self.wrong()),
                Err(failure) => (came && failure.code == Code::NotFetched, failure),
            };
            match failure.code {
                _ if goes_on && left > 0 => {}
                // What was here before may have been something else.
                Code::BlobWrong if self.remnant && left > 0 => self.begin_anew()?,
                _ => return Err(failure),
            }
        }
        Ok(())
    }

    /// What came stays for whoever brings the rest. Nobody brings the rest of an
    /// archive: its programs are sent as they are.
    fn leave(self, failure: &Failure) -> Result<()> {
        let of_use = match failure.code {
            Code::BlobWrong => false,
            Code::NotFetched | Code::NoMirror => self.pull.members.is_empty(),
            _ => true,
        };
        match of_use && self.part.length() > 0 {
            true => Ok(()),
            false => self.part.discard(),
        }
    }

    /// Whether anything came, and how it ended.
    fn attempt(&mut self, platform: &dyn Platform, tell: &mut Tell<'_>) -> (bool, Result<()>) {
        let pull = self.pull;
        let download = Download {
            url: &pull.from,
            proxy: &pull.proxy,
            from: self.part.length(),
        };
        let mut came = false;
        let mut take = |at: u64, bytes: &[u8]| {
            if at == 0 && self.part.length() > 0 {
                self.begin_anew()?;
            }
            came = true;
            if self.part.length() + bytes.len() as u64 > pull.download.size {
                let more = format!("more than {} bytes", pull.download.size);
                return Err(self.wrong().found(more));
            }
            self.part.add(bytes)?;
            let length = self.part.length();
            if length == pull.download.size || length >= self.told + TELL_EVERY {
                self.told = length;
                tell(length)?;
            }
            Ok(())
        };
        let ended = platform.download(&download, &mut take);
        (came, ended)
    }

    fn begin_anew(&mut self) -> Result<()> {
        (self.remnant, self.told) = (false, 0);
        self.part.begin_anew()
    }

    /// What came is not what should have.
    fn wrong(&self) -> Failure {
        let (found, length) = (self.part.hash(), self.part.length());
        let download = &self.pull.download;
        Failure::new(
            Code::BlobWrong,
            format!(
                "{} is not what it should be",
                without_password(self.pull.from.expose())
            ),
            "find out who replaced it; a mirror may hold another file under that name",
        )
        .values(
            format!("sha256 {}, {} bytes", download.sha256, download.size),
            format!("sha256 {found}, {length} bytes"),
        )
    }
}

/// Takes blobs out of a download. They are known by what they hold: names in an
/// archive lead nowhere. What it may unpack to is not limited: the controller vouches
/// for its hash, and has unpacked it before.
fn unpack(layout: &Layout, pull: &Pull) -> Result<()> {
    let path = layout.blob(&pull.download.sha256);
    let broken = |error: std::io::Error| state_failure("unpacked", &path, &error);
    let packed = GzDecoder::new(File::open(&path).map_err(broken)?);
    let mut archive = tar::Archive::new(packed);
    let mut wanted = pull.members.clone();
    wanted.retain(|blob| !layout.has(blob));
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let size = entry.size();
        let Some(alike) = wanted.iter().find(|blob| blob.size == size).copied() else {
            continue;
        };
        let mut part = Part::open(layout, &alike)?;
        part.begin_anew()?;
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match entry.read(&mut buffer).map_err(broken)? {
                0 => break,
                count => part.add(buffer.get(..count).unwrap_or_default())?,
            }
        }
        // Two files of one size: it may be the other.
        let found = part.hash();
        match wanted.iter().position(|blob| blob.sha256 == found) {
            Some(at) => part.put_at(&layout.blob(&wanted.swap_remove(at).sha256))?,
            None => part.discard()?,
        }
    }
    let Some(missing) = wanted.first() else {
        return Ok(());
    };
    Err(Failure::new(
        Code::BlobWrong,
        format!(
            "{} does not hold a program that it should",
            without_password(pull.from.expose())
        ),
        "what a host cannot fetch is sent to it",
    )
    .values(
        format!("sha256 {}, {} bytes", missing.sha256, missing.size),
        "no such file",
    ))
}

#[cfg(test)]
mod tests;
