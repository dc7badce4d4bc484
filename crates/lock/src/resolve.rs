//! Resolves requirements to pinned hashes.

use std::future::Future;

use camino::Utf8Path;
use casement_catalog::known_hash;
use casement_resource::Sha256;

use crate::entry::{Content, Entry, Origin};
use crate::file::Lock;
use crate::mirror::{FileLocation, Mirror};
use crate::requirements::{Published, RequiredContent, Requirement};
use crate::sums::sum_of;

/// Access to the network and the file system.
pub trait ArtifactSource {
    type Error;

    /// `None` if there is no such file.
    fn text(
        &self,
        location: &FileLocation,
    ) -> impl Future<Output = Result<Option<String>, Self::Error>>;

    /// `None` if there is no such file.
    fn hash(
        &self,
        location: &FileLocation,
    ) -> impl Future<Output = Result<Option<Sha256>, Self::Error>>;
}

#[derive(Debug, thiserror::Error)]
pub enum ResolveError<E> {
    #[error("`{name}` not found at {location}")]
    Missing {
        name: String,
        location: FileLocation,
    },
    #[error("{location} has no SHA-256 hash of `{file}`")]
    Sums {
        location: FileLocation,
        file: String,
    },
    /// The hash of a release differs from before, which must never happen.
    #[error("the hash of `{name}` {version} has changed although the version is the same")]
    Changed {
        name: String,
        version: String,
        before: (Sha256, Origin),
        now: (Sha256, Origin),
    },
    #[error("failed to query the download server")]
    Source(E),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    New,
    Kept,
    Changed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub entry: Entry,
    pub change: Change,
}

#[derive(Debug, Clone, Copy)]
pub struct Resolver<'a> {
    pub old: &'a Lock,
    /// Whether to look up hashes that are pinned already.
    pub update: bool,
    /// `None`: the original URLs.
    pub mirror: Option<&'a Mirror>,
    /// The directory of the lock file.
    pub folder: &'a Utf8Path,
}

impl Resolver<'_> {
    /// Finds the hash of one artifact, in this order: catalog, lock file, checksum
    /// file, download.
    ///
    /// # Errors
    /// No hash was found, or it differs from the pinned one.
    pub async fn resolve<S: ArtifactSource>(
        &self,
        requirement: &Requirement,
        sources: &S,
    ) -> Result<Resolved, ResolveError<S::Error>> {
        let entry = match &requirement.content {
            RequiredContent::Own(path) => self.own(requirement, path, sources).await?,
            RequiredContent::Published(release) => {
                self.release(requirement, release, sources).await?
            }
        };
        let before = self.old.find(&requirement.name, requirement.system);
        let change = match before {
            None => Change::New,
            Some(before) if *before == entry => Change::Kept,
            Some(_) => Change::Changed,
        };
        Ok(Resolved { entry, change })
    }

    async fn own<S: ArtifactSource>(
        &self,
        requirement: &Requirement,
        path: &Utf8Path,
        sources: &S,
    ) -> Result<Entry, ResolveError<S::Error>> {
        let location = FileLocation::File(path.to_owned());
        let hash = sources
            .hash(&location)
            .await
            .map_err(ResolveError::Source)?;
        let shown = path.strip_prefix(self.folder).unwrap_or(path);
        Ok(Entry {
            name: requirement.name.clone(),
            system: requirement.system,
            content: Content::Own {
                path: shown.to_owned(),
            },
            sha256: hash.ok_or_else(|| ResolveError::Missing {
                name: requirement.name.clone(),
                location,
            })?,
            from: Origin::File,
            source: "artifacts.overrides".to_owned(),
            unverified: false,
        })
    }

    async fn release<S: ArtifactSource>(
        &self,
        requirement: &Requirement,
        release: &Published,
        sources: &S,
    ) -> Result<Entry, ResolveError<S::Error>> {
        let url = release.artifact.url_of(&release.version);
        let content = Content::Published {
            version: release.version.clone(),
            url,
        };
        let pinned = self.old.find(&requirement.name, requirement.system);
        let pinned = pinned.filter(|entry| entry.content == content);
        let known = known_hash(&requirement.name, requirement.system, &release.version);
        let (sha256, from, source) = match (known, pinned) {
            (Some(known), _) => {
                let source = known.source.to_owned();
                (known.sha256.parse().ok(), Origin::Catalog, source)
            }
            (None, Some(pinned)) if !self.update => return Ok(pinned.clone()),
            _ => {
                let (sha256, from, source) = self.look_up(release, sources).await?;
                (sha256, from, source.to_string())
            }
        };
        let location = || self.locate(&release.artifact.url_of(&release.version));
        let sha256 = sha256.ok_or_else(|| ResolveError::Missing {
            name: requirement.name.clone(),
            location: location(),
        })?;
        if let Some(pinned) = pinned.filter(|pinned| pinned.sha256 != sha256) {
            return Err(ResolveError::Changed {
                name: requirement.name.clone(),
                version: release.version.clone(),
                before: (pinned.sha256, pinned.from),
                now: (sha256, from),
            });
        }
        // An accepted hash stays accepted as long as it is the same.
        let accepted = pinned.is_some_and(|pinned| !pinned.unverified);
        Ok(Entry {
            name: requirement.name.clone(),
            system: requirement.system,
            content,
            sha256,
            from,
            source,
            unverified: from.is_unverified() && !accepted,
        })
    }

    /// The hash according to the server of the download.
    async fn look_up<S: ArtifactSource>(
        &self,
        release: &Published,
        sources: &S,
    ) -> Result<(Option<Sha256>, Origin, FileLocation), ResolveError<S::Error>> {
        let url = release.artifact.url_of(&release.version);
        if let Some(sums) = release.artifact.sums_url(&release.version) {
            let location = self.locate(&sums);
            let text = sources
                .text(&location)
                .await
                .map_err(ResolveError::Source)?;
            if let Some(text) = text {
                let file = url.rsplit('/').next().unwrap_or(&url).to_owned();
                return match sum_of(&file, &text) {
                    Some(sha256) => Ok((Some(sha256), Origin::Mirror, location)),
                    None => Err(ResolveError::Sums { location, file }),
                };
            }
        }
        let location = self.locate(&url);
        let sha256 = sources
            .hash(&location)
            .await
            .map_err(ResolveError::Source)?;
        Ok((sha256, Origin::Download, location))
    }

    fn locate(&self, url: &str) -> FileLocation {
        match self.mirror {
            Some(mirror) => mirror.locate(url),
            None => FileLocation::Url(url.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
