//! One download: from its own address or a mirror, checked, and gone on with after a
//! break.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_lock::{Content, Entry, Mirror, Place};
use casement_remote::hash_file;
use casement_resource::Sha256;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use super::cache::unwritable;
use crate::lock::world::{World, chain};
use crate::output::{self, amount};
use crate::told;

/// What is fetched, and from where.
pub struct Download<'a> {
    entry: &'a Entry,
    place: Place,
}

impl<'a> Download<'a> {
    /// At the mirror, where there is one.
    pub fn new(entry: &'a Entry, mirror: Option<&Mirror>) -> Result<Self, Problem> {
        let Content::Published { url, .. } = &entry.content else {
            let what = format!("the lock file pins a file of one's own as `{}`", entry.name);
            return Err(Problem::new("CAS-LOCK-012", what, "casement lock"));
        };
        let place = match mirror {
            Some(mirror) => mirror.place(url),
            None => Place::Url(url.clone()),
        };
        Ok(Self { entry, place })
    }

    /// The hash that is pinned.
    pub fn sha256(&self) -> &Sha256 {
        &self.entry.sha256
    }

    /// Where it is, if that is on the web.
    pub fn url(&self) -> Option<&str> {
        match &self.place {
            Place::Url(url) => Some(url),
            Place::File(_) => None,
        }
    }

    /// Brings it to `path`: beside it first, and in place when its hash is right.
    /// Gives its size.
    pub async fn fetch(&self, path: &Path) -> Result<u64, Problem> {
        let part = PathBuf::from(format!("{}.part", path.display()));
        match &self.place {
            Place::Url(url) => self.over_the_web(url, &part).await?,
            Place::File(from) => {
                let copied = tokio::fs::copy(from, &part).await;
                copied.map_err(|error| self.unanswered(&error.to_string()))?;
            }
        }
        let (found, size) = hash_file(&part).map_err(|error| told::remote(&error))?;
        if found != *self.sha256() {
            // The next attempt begins anew.
            let _ = std::fs::remove_file(&part);
            return Err(self.changed(&found));
        }
        std::fs::rename(&part, path).map_err(|error| unwritable(path, &error))?;
        Ok(size)
    }

    async fn over_the_web(&self, url: &str, part: &Path) -> Result<(), Problem> {
        let world = World::new()?;
        let had = std::fs::metadata(part).map_or(0, |meta| meta.len());
        let answer = world.get_from(url, had).await;
        let answer = answer.map_err(|said| self.unanswered(&said))?;
        let (mut answer, begun) = answer.ok_or_else(|| self.missing())?;
        let mut file = open(part, begun)
            .await
            .map_err(|error| unwritable(part, &error))?;
        let total = answer.content_length().map(|rest| rest + begun);
        let mut shown = Shown::begin(&self.entry.name, &self.place, total);
        let mut done = begun;
        loop {
            let chunk = answer.chunk().await;
            let chunk = chunk.map_err(|error| self.unanswered(&chain(&error)))?;
            let Some(chunk) = chunk else { break };
            let written = file.write_all(&chunk).await;
            written.map_err(|error| unwritable(part, &error))?;
            done += chunk.len() as u64;
            shown.progress(done);
        }
        file.flush()
            .await
            .map_err(|error| unwritable(part, &error))?;
        shown.end(done);
        Ok(())
    }

    fn changed(&self, found: &Sha256) -> Problem {
        Problem::new(
            "CAS-LOCK-013",
            format!("`{}` is not what the lock file pins", self.entry.name),
            "find out who replaced it; a mirror may hold another file under that name",
        )
        .seen("at", &self.place)
        .seen("pinned", self.sha256())
        .seen("it has", found)
    }

    fn missing(&self) -> Problem {
        let what = format!("there is no `{}` at {}", self.entry.name, self.place);
        let remedy = "put it there (a mirror holds each download below the name of its host), or \
                      leave the mirror out";
        Problem::new("CAS-LOCK-003", what, remedy)
    }

    fn unanswered(&self, said: &str) -> Problem {
        let what = format!(
            "`{}` cannot be fetched from {}",
            self.entry.name, self.place
        );
        let remedy = "check the way there (HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE are honoured), \
                      or name a mirror that can be reached: --mirror URL-or-folder";
        Problem::new("CAS-LOCK-006", what, remedy).seen("it says", said)
    }
}

/// The file from where it is gone on with.
async fn open(part: &Path, begun: u64) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    match begun {
        0 => options.write(true).create(true).truncate(true),
        _ => options.append(true),
    };
    options.open(part).await
}

/// How far it is, for people: a line that grows on a terminal, two lines elsewhere.
struct Shown<'a> {
    name: &'a str,
    total: Option<u64>,
    terminal: bool,
    last: u64,
}

impl<'a> Shown<'a> {
    fn begin(name: &'a str, place: &Place, total: Option<u64>) -> Self {
        let size = total.map_or_else(|| "of unknown size".to_owned(), amount);
        output::say(&format!("fetching {name} ({size}) from {place}"));
        Self {
            name,
            total,
            terminal: std::io::stderr().is_terminal(),
            last: 0,
        }
    }

    fn progress(&mut self, done: u64) {
        // A few times a second at most, whatever the line carries.
        if !self.terminal || done - self.last < 4_000_000 {
            return;
        }
        self.last = done;
        let total = self.total.map(amount).unwrap_or_default();
        eprint!("\r  {} of {total} ", amount(done));
        let _ = std::io::stderr().flush();
    }

    fn end(&self, done: u64) {
        if self.terminal {
            eprint!("\r");
        }
        output::say(&format!("fetched {} ({})", self.name, amount(done)));
    }
}
