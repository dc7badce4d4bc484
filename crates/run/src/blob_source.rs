//! Where the blobs of a plan come from: a local file, or a mirror that hosts can reach.

use std::collections::BTreeMap;
use std::path::PathBuf;

use casement_resource::wire::Pull;
use casement_resource::{Failure, Sha256};

pub type Blobs = BTreeMap<Sha256, BlobSource>;

#[derive(Debug, Clone)]
pub struct BlobSource {
    pub path: PathBuf,
    pub mirror: Option<MirroredBlob>,
}

#[derive(Debug, Clone)]
pub struct MirroredBlob {
    /// The artifact that is, or contains, the blob.
    pub name: String,
    pub pull: Pull,
}

impl From<PathBuf> for BlobSource {
    /// Not on a mirror.
    fn from(path: PathBuf) -> Self {
        Self { path, mirror: None }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum BlobProgress<'a> {
    /// In bytes, over all missing blobs.
    Progress {
        done: u64,
        size: u64,
        /// Whether the host pulls them from the mirror.
        pulled: bool,
    },
    /// These artifacts are sent instead.
    PullFailed {
        names: &'a [&'a str],
        failure: &'a Failure,
    },
    /// In bytes.
    Delivered { pulled: u64, sent: u64 },
}

/// One pull per download, however many of the missing blobs it contains.
pub(crate) fn pulls(missing: &[Sha256], blobs: &Blobs) -> Vec<MirroredBlob> {
    let sources = missing.iter().filter_map(|hash| blobs.get(hash));
    let mut pulls: Vec<MirroredBlob> = Vec::new();
    for mirrored in sources.filter_map(|source| source.mirror.as_ref()) {
        let mut known = pulls.iter_mut();
        match known.find(|it| it.pull.download == mirrored.pull.download) {
            Some(known) => known.pull.members.extend(&mirrored.pull.members),
            None => pulls.push(mirrored.clone()),
        }
    }
    pulls
}

/// The blobs that a download provides.
pub(crate) fn contained_blobs(pull: &Pull) -> impl Iterator<Item = Sha256> {
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

    fn source(download: &str, members: &[&str]) -> BlobSource {
        BlobSource {
            path: PathBuf::new(),
            mirror: Some(MirroredBlob {
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
    fn an_archive_is_pulled_once_for_all_blobs_in_it() {
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
        let contained = |index: usize| contained_blobs(&pulls[index].pull).collect::<Vec<_>>();
        assert_eq!(contained(0), [hash("ctr"), hash("shim")]);
        assert_eq!(contained(1), [hash("kubelet")]);
    }
}
