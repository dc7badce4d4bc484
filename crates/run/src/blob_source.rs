//! Where the blobs that hosts lack can be had.

use std::collections::BTreeMap;
use std::path::PathBuf;

use casement_resource::wire::Pull;
use casement_resource::{Failure, Sha256};

/// Files that hosts may need, by their hash.
pub type Blobs = BTreeMap<Sha256, Source>;

/// Where one is.
#[derive(Debug, Clone)]
pub struct Source {
    /// Here; it is sent from here.
    pub path: PathBuf,
    /// On the mirror, where hosts may fetch it themselves.
    pub mirror: Option<Mirrored>,
}

/// A blob on a mirror.
#[derive(Debug, Clone)]
pub struct Mirrored {
    /// What people call the download that it is, or comes in.
    pub name: String,
    /// What a host is told to fetch.
    pub pull: Pull,
}

impl From<PathBuf> for Source {
    /// A file that is nowhere but here.
    fn from(path: PathBuf) -> Self {
        Self { path, mirror: None }
    }
}

/// How blobs come to a host, for whoever shows it.
#[derive(Debug, Clone, Copy)]
pub enum Bringing<'a> {
    /// So many bytes of all that is missing are there.
    Progress {
        /// So many.
        done: u64,
        /// All.
        size: u64,
        /// The host fetches them; else they are sent.
        pulled: bool,
    },
    /// The host could not fetch some downloads, which are sent instead.
    NotPulled {
        /// Their names.
        names: &'a [&'a str],
        /// Why.
        why: &'a Failure,
    },
    /// Everything is there.
    Brought {
        /// How many bytes the host has fetched.
        pulled: u64,
        /// How many were sent to it.
        sent: u64,
    },
}

/// What a host fetches for its missing blobs: one download for all that come in it.
pub(crate) fn pulls(missing: &[Sha256], blobs: &Blobs) -> Vec<Mirrored> {
    let sources = missing.iter().filter_map(|hash| blobs.get(hash));
    let mut pulls: Vec<Mirrored> = Vec::new();
    for wanted in sources.filter_map(|source| source.mirror.as_ref()) {
        let mut known = pulls.iter_mut();
        match known.find(|it| it.pull.download == wanted.pull.download) {
            Some(known) => known.pull.members.extend(&wanted.pull.members),
            None => pulls.push(wanted.clone()),
        }
    }
    pulls
}

/// The blobs that are there when a download is.
pub(crate) fn brought_by(pull: &Pull) -> impl Iterator<Item = Sha256> {
    let itself = pull.members.is_empty().then_some(&pull.download);
    pull.members.iter().chain(itself).map(|blob| blob.sha256)
}

#[cfg(test)]
mod tests {
    use casement_resource::wire::PullProxy;
    use casement_resource::{Blob, Secret};

    use super::*;

    fn blob(text: &str) -> Blob {
        Blob::of(text.as_bytes())
    }

    fn source(download: &str, members: &[&str]) -> Source {
        Source {
            path: PathBuf::new(),
            mirror: Some(Mirrored {
                name: download.to_owned(),
                pull: Pull {
                    from: Secret::new(format!("http://mirror/{download}")),
                    proxy: PullProxy::Direct,
                    download: blob(download),
                    members: members.iter().map(|text| blob(text)).collect(),
                },
            }),
        }
    }

    #[test]
    fn an_archive_is_fetched_once_for_all_that_come_in_it() {
        let hash = |text: &str| blob(text).sha256;
        let blobs = Blobs::from([
            (hash("kubelet"), source("kubelet", &[])),
            (hash("ctr"), source("containerd", &["ctr"])),
            (hash("shim"), source("containerd", &["shim"])),
            (hash("own"), PathBuf::new().into()),
        ]);
        let missing = ["ctr", "kubelet", "own", "shim"].map(hash);
        let pulls = pulls(&missing, &blobs);
        let names: Vec<&str> = pulls.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["containerd", "kubelet"]);
        let brought = |at: usize| brought_by(&pulls[at].pull).collect::<Vec<_>>();
        assert_eq!(brought(0), [hash("ctr"), hash("shim")]);
        assert_eq!(brought(1), [hash("kubelet")]);
    }
}
