//! From what is wanted to what is pinned.

use std::future::Future;

use camino::Utf8Path;
use casement_catalog::known_hash;
use casement_resource::Sha256;

use crate::entry::{Content, Entry, Origin};
use crate::file::Lock;
use crate::mirror::{Mirror, Place};
use crate::sums::sum_of;
use crate::wanted::{Published, Wanted, WantedContent};

/// What has to be asked of the world.
pub trait Sources {
    /// Why it does not answer.
    type Error;

    /// A short text; none where there is none.
    fn text(&self, place: &Place) -> impl Future<Output = Result<Option<String>, Self::Error>>;

    /// The hash of a file, however long; none where there is none.
    fn hash(&self, place: &Place) -> impl Future<Output = Result<Option<Sha256>, Self::Error>>;
}

/// Why something could not be pinned.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError<E> {
    /// It is not where it should be.
    #[error("`{name}` is not at {place}")]
    Missing {
        /// What.
        name: String,
        /// Where.
        place: Place,
    },
    /// The file of sums holds no SHA-256 for it.
    #[error("{place} holds no SHA-256 of `{file}`")]
    Sums {
        /// The file of sums.
        place: Place,
        /// The file whose hash was looked for.
        file: String,
    },
    /// A release has another hash than before, which releases never have.
    #[error("the hash of `{name}` {version} has changed, though its version has not")]
    Changed {
        /// What.
        name: String,
        /// Its version.
        version: String,
        /// What the lock file says, and who said so.
        before: (Sha256, Origin),
        /// What is said now, and by whom.
        now: (Sha256, Origin),
    },
    /// It could not be asked.
    #[error("the place that serves it does not answer")]
    Source(E),
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was not in the lock file.
    New,
    /// It is as it was.
    Kept,
    /// It is another one than before.
    Changed,
}

/// One resolved artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What is pinned.
    pub entry: Entry,
    /// What became of it.
    pub change: Change,
}

/// What decides how hashes are found.
#[derive(Debug, Clone, Copy)]
pub struct Resolver<'a> {
    /// The lock file as it is.
    pub old: &'a Lock,
    /// Whether to ask anew for what is pinned already.
    pub update: bool,
    /// Where downloads are, if not at their own address.
    pub mirror: Option<&'a Mirror>,
    /// The lock file's folder.
    pub folder: &'a Utf8Path,
}

impl Resolver<'_> {
    /// Finds the hash of one artifact: the catalog's, else the pinned one, else the
    /// mirror's, else that of the download itself.
    ///
    /// # Errors
    /// When it cannot be found, or is not what it was.
    pub async fn resolve<S: Sources>(
        &self,
        wanted: &Wanted,
        sources: &S,
    ) -> Result<Resolved, ResolveError<S::Error>> {
        let entry = match &wanted.content {
            WantedContent::Own(path) => self.own(wanted, path, sources).await?,
            WantedContent::Published(release) => self.release(wanted, release, sources).await?,
        };
        let before = self.old.find(&wanted.name, wanted.system);
        let change = match before {
            None => Change::New,
            Some(before) if *before == entry => Change::Kept,
            Some(_) => Change::Changed,
        };
        Ok(Resolved { entry, change })
    }

    async fn own<S: Sources>(
        &self,
        wanted: &Wanted,
        path: &Utf8Path,
        sources: &S,
    ) -> Result<Entry, ResolveError<S::Error>> {
        let place = Place::File(path.to_owned());
        let hash = sources.hash(&place).await.map_err(ResolveError::Source)?;
        let shown = path.strip_prefix(self.folder).unwrap_or(path);
        Ok(Entry {
            name: wanted.name.clone(),
            system: wanted.system,
            content: Content::Own {
                path: shown.to_owned(),
            },
            sha256: hash.ok_or_else(|| ResolveError::Missing {
                name: wanted.name.clone(),
                place,
            })?,
            from: Origin::File,
            source: "artifacts.overrides".to_owned(),
            unverified: false,
        })
    }

    async fn release<S: Sources>(
        &self,
        wanted: &Wanted,
        release: &Published,
        sources: &S,
    ) -> Result<Entry, ResolveError<S::Error>> {
        let url = release.artifact.url_of(&release.version);
        let content = Content::Published {
            version: release.version.clone(),
            url,
        };
        let pinned = self.old.find(&wanted.name, wanted.system);
        let pinned = pinned.filter(|entry| entry.content == content);
        let known = known_hash(&wanted.name, wanted.system, &release.version);
        let (sha256, from, source) = match (known, pinned) {
            (Some(known), _) => {
                let source = known.source.to_owned();
                (known.sha256.parse().ok(), Origin::Catalog, source)
            }
            (None, Some(pinned)) if !self.update => return Ok(pinned.clone()),
            _ => {
                let (sha256, from, source) = self.ask(release, sources).await?;
                (sha256, from, source.to_string())
            }
        };
        let place = || self.place(&release.artifact.url_of(&release.version));
        let sha256 = sha256.ok_or_else(|| ResolveError::Missing {
            name: wanted.name.clone(),
            place: place(),
        })?;
        if let Some(pinned) = pinned.filter(|pinned| pinned.sha256 != sha256) {
            return Err(ResolveError::Changed {
                name: wanted.name.clone(),
                version: release.version.clone(),
                before: (pinned.sha256, pinned.from),
                now: (sha256, from),
            });
        }
        // What a person accepted once stays accepted, the hash being the same.
        let accepted = pinned.is_some_and(|pinned| !pinned.unverified);
        Ok(Entry {
            name: wanted.name.clone(),
            system: wanted.system,
            content,
            sha256,
            from,
            source,
            unverified: from.is_unverified() && !accepted,
        })
    }

    /// What the place that serves a release says of its hash.
    async fn ask<S: Sources>(
        &self,
        release: &Published,
        sources: &S,
    ) -> Result<(Option<Sha256>, Origin, Place), ResolveError<S::Error>> {
        let url = release.artifact.url_of(&release.version);
        if let Some(sums) = release.artifact.sums_url(&release.version) {
            let place = self.place(&sums);
            let text = sources.text(&place).await.map_err(ResolveError::Source)?;
            if let Some(text) = text {
                let file = url.rsplit('/').next().unwrap_or(&url).to_owned();
                return match sum_of(&file, &text) {
                    Some(sha256) => Ok((Some(sha256), Origin::Mirror, place)),
                    None => Err(ResolveError::Sums { place, file }),
                };
            }
        }
        let place = self.place(&url);
        let sha256 = sources.hash(&place).await.map_err(ResolveError::Source)?;
        Ok((sha256, Origin::Download, place))
    }

    fn place(&self, url: &str) -> Place {
        match self.mirror {
            Some(mirror) => mirror.place(url),
            None => Place::Url(url.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
