//! The programs that hosts get and nobody named a file for: downloads that
//! `casement.lock` pins, each fetched once into the cache of this machine.
//!
//! Nothing is used that the lock file does not pin, and nothing has its name in the
//! cache before its hash was right. Archives are unpacked here: hosts get programs.

mod cache;
mod download;
mod unpack;

use std::collections::BTreeMap;

use camino::Utf8Path;
use casement_catalog::{Packing, System};
use casement_diag::Problem;
use casement_lock::{Entry, Gap, Lock, Published, Wanted, WantedContent, wanted};
use casement_resource::wire::{Pull, PullProxy};
use casement_resource::{Blob, Secret};
use casement_run::source::{Mirrored, Source};
use casement_spec::{Cluster, Named as _, Program};
use clap::Args;

use crate::failure::CommandError;
use crate::{lock, output};
use cache::Cache;
use download::Download;

/// How downloads are come by.
#[derive(Debug, Default, Args)]
pub struct DownloadArgs {
    /// A mirror (URL or folder) for downloads, in place of the cluster file's
    #[arg(long, value_name = "PLACE")]
    mirror: Option<String>,
    /// Accept the hashes in casement.lock that only the place of a download vouches
    /// for; they are accepted from then on
    #[arg(long)]
    accept_unverified: bool,
}

/// A program that was fetched.
pub struct Fetched {
    /// What it holds.
    pub blob: Blob,
    /// Where it is here, and where on the mirror.
    pub source: Source,
}

/// Programs, by their names.
pub type Programs = BTreeMap<Program, Fetched>;

/// Every program of Windows hosts that is not one of the file's `overrides`.
pub async fn programs(
    cluster: &Cluster,
    arguments: &DownloadArgs,
) -> Result<Programs, CommandError> {
    let needed = needed(cluster)?;
    if needed.is_empty() {
        return Ok(Programs::new());
    }
    let path = &cluster.spec.artifacts.lock;
    let mut pins = lock::file::read(path)?;
    if arguments.accept_unverified {
        pins = accept(pins, path)?;
    }
    refuse_gaps(&pins.gaps(&needed), needed.len(), path)?;
    let mirror = lock::mirror(arguments.mirror.as_deref(), cluster)?;
    let cache = Cache::of(cluster.spec.artifacts.cache.as_deref())?;
    let mut programs = Programs::new();
    for one in &needed {
        let (WantedContent::Published(release), Some(entry)) =
            (&one.content, pins.find(&one.name, one.system))
        else {
            continue;
        };
        let download = Download::new(entry, mirror.as_ref())?;
        let (whole, found) = cache.programs(&download, release).await?;
        // Agents unpack no zip archives: what is in one is sent.
        let pullable = mirror.is_some() && release.artifact.packing != Packing::Zip;
        let web = download.url().filter(|_| pullable);
        programs.extend(found.into_iter().filter_map(|(name, path, blob)| {
            let program = Program::from_name(&name)?;
            let own = cluster.spec.artifacts.overrides.contains_key(&program);
            let mirror = web.map(|url| mirrored(&one.name, url, whole, blob));
            let source = Source { path, mirror };
            (!own).then_some((program, Fetched { blob, source }))
        }));
    }
    Ok(programs)
}

/// A program that hosts can fetch from a web server: by itself, or in a download that
/// holds more than it.
fn mirrored(name: &str, url: &str, download: Blob, program: Blob) -> Mirrored {
    let packed = (program != download).then_some(program);
    Mirrored {
        name: name.to_owned(),
        pull: Pull {
            from: Secret::new(url.to_owned()),
            proxy: PullProxy::HostsOwn,
            download,
            members: packed.into_iter().collect(),
        },
    }
}

/// The releases that Windows hosts need. What is given as a file is not among them,
/// and Linux hosts of a cluster that is there have their programs.
fn needed(cluster: &Cluster) -> Result<Vec<Wanted>, CommandError> {
    let all = wanted(cluster).map_err(|error| lock::told::not_covered(&error))?;
    let windows = all.into_iter().filter(|one| one.system == System::Windows);
    let published =
        windows.filter(|one| matches!(&one.content, WantedContent::Published(Published { .. })));
    Ok(published.collect())
}

/// Nobody has to say it twice: the file remembers.
fn accept(pins: Lock, path: &Utf8Path) -> Result<Lock, Problem> {
    let accepted = Lock::from_iter(pins.entries().cloned().map(|entry| Entry {
        unverified: false,
        ..entry
    }));
    if accepted != pins {
        lock::file::write(path, &accepted.to_string())?;
        output::say(&format!(
            "{path}: accepted what only the place of a download vouches for"
        ));
    }
    Ok(accepted)
}

/// Fails with everything that is not pinned as it should be.
fn refuse_gaps(gaps: &[Gap], of: usize, path: &Utf8Path) -> Result<(), Problem> {
    if gaps.is_empty() {
        return Ok(());
    }
    let unverified = |gap: &Gap| matches!(gap, Gap::Unverified { .. });
    let remedy = match gaps.iter().all(unverified) {
        true => {
            "compare their hashes with those that the publishers show, then --accept-unverified"
        }
        false => {
            "casement lock; or give files of your own: artifacts.overrides: {kubelet: ./kubelet.exe}"
        }
    };
    let lines: Vec<String> = gaps.iter().map(gap).collect();
    let what = format!(
        "the lock file does not vouch for {} of {of} downloads",
        gaps.len()
    );
    Err(Problem::new("CAS-LOCK-012", what, remedy)
        .seen("file", path)
        .seen("downloads", lines.join("\n")))
}

fn gap(gap: &Gap) -> String {
    match gap {
        Gap::Missing { name, .. } => format!("{name}: not pinned"),
        Gap::Other {
            name,
            locked,
            wanted,
            ..
        } => format!("{name}: pinned is {locked}, wanted is {wanted}"),
        Gap::Unverified { name, .. } => format!("{name}: unverified"),
    }
}
