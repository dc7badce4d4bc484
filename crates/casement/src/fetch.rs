//! Downloads of programs for hosts, pinned by `casement.lock` and cached locally.
//!
//! Only pinned downloads are used, and a file gets its name in the cache after its hash was
//! verified. Archives are unpacked here: hosts get programs.

mod cache;
mod download;
mod unpack;

use std::collections::BTreeMap;

use camino::Utf8Path;
use casement_catalog::{Packing, System};
use casement_diag::Problem;
use casement_lock::{Entry, Gap, Lock, Published, RequiredContent, Requirement, requirements};
use casement_resource::wire::{Pull, PullProxy};
use casement_resource::{Blob, Secret};
use casement_run::blob_source::{BlobSource, MirroredBlob};
use casement_spec::{Cluster, Named as _, Program};
use clap::Args;

use crate::failure::CommandError;
use crate::output;
use crate::verbs::lock;
use cache::Cache;
use download::Download;

#[derive(Debug, Default, Args)]
pub struct DownloadArgs {
    /// Mirror for downloads (URL or directory); from the cluster file by default
    #[arg(long, value_name = "LOCATION")]
    mirror: Option<String>,
    /// Accept unverified hashes in casement.lock, now and in later runs
    #[arg(long)]
    accept_unverified: bool,
}

pub struct Fetched {
    pub blob: Blob,
    /// The cached file, and its URL on the mirror.
    pub source: BlobSource,
}

pub type Programs = BTreeMap<Program, Fetched>;

/// All programs for Windows hosts, except those in `overrides`.
pub async fn programs(
    cluster: &Cluster,
    arguments: &DownloadArgs,
) -> Result<Programs, CommandError> {
    let needed = needed(cluster)?;
    if needed.is_empty() {
        return Ok(Programs::new());
    }
    let path = &cluster.spec.artifacts.lock;
    let mut pins = lock::file::read(path, lock::file::FIELD)?;
    if arguments.accept_unverified {
        pins = accept(pins, path)?;
    }
    check_gaps(&pins.gaps(&needed), needed.len(), path)?;
    let mirror = lock::mirror(arguments.mirror.as_deref(), cluster)?;
    let cache = Cache::open(cluster.spec.artifacts.cache.as_deref())?;
    let mut programs = Programs::new();
    for one in &needed {
        let (RequiredContent::Published(release), Some(entry)) =
            (&one.content, pins.find(&one.name, one.system))
        else {
            continue;
        };
        let download = Download::new(entry, mirror.as_ref())?;
        let (archive, found) = cache.programs(&download, release).await?;
        // Agents cannot unpack zip archives: their programs are uploaded.
        let pullable = mirror.is_some() && release.artifact.packing != Packing::Zip;
        let url = download.url().filter(|_| pullable);
        programs.extend(found.into_iter().filter_map(|(name, path, blob)| {
            let program = Program::from_name(&name)?;
            let overridden = cluster.spec.artifacts.overrides.contains_key(&program);
            let mirror = url.map(|url| mirrored(&one.name, url, archive, blob));
            let source = BlobSource { path, mirror };
            (!overridden).then_some((program, Fetched { blob, source }))
        }));
    }
    Ok(programs)
}

/// A program that hosts can pull from a mirror, as a file or inside an archive.
fn mirrored(name: &str, url: &str, download: Blob, program: Blob) -> MirroredBlob {
    let member = (program != download).then_some(program);
    MirroredBlob {
        name: name.to_owned(),
        pull: Pull {
            from: Secret::new(url.to_owned()),
            proxy: PullProxy::HostDefault,
            download,
            members: member.into_iter().collect(),
        },
    }
}

/// The releases for Windows hosts, without those given as files. Linux hosts of an existing
/// cluster have their programs.
fn needed(cluster: &Cluster) -> Result<Vec<Requirement>, CommandError> {
    let all = requirements(cluster).map_err(|error| lock::errors::not_covered(&error))?;
    let windows = all.into_iter().filter(|one| one.system == System::Windows);
    let published =
        windows.filter(|one| matches!(&one.content, RequiredContent::Published(Published { .. })));
    Ok(published.collect())
}

/// Saves the acceptance in the lock file.
fn accept(pins: Lock, path: &Utf8Path) -> Result<Lock, Problem> {
    let accepted = Lock::from_iter(pins.entries().cloned().map(|entry| Entry {
        unverified: false,
        ..entry
    }));
    if accepted != pins {
        lock::file::write(path, &accepted.to_string(), lock::file::FIELD)?;
        output::message(&format!("{path}: accepted the unverified hashes"));
    }
    Ok(accepted)
}

/// Fails with all downloads that are not pinned correctly.
fn check_gaps(gaps: &[Gap], total: usize, path: &Utf8Path) -> Result<(), Problem> {
    if gaps.is_empty() {
        return Ok(());
    }
    let unverified = |gap: &Gap| matches!(gap, Gap::Unverified { .. });
    let help = match gaps.iter().all(unverified) {
        true => "compare their hashes with those of the publishers, then use `--accept-unverified`",
        false => {
            "run `casement lock`, or use local files: `artifacts.overrides: {kubelet: ./kubelet.exe}`"
        }
    };
    let lines: Vec<String> = gaps.iter().map(describe).collect();
    let what = format!(
        "{} of {} not pinned by the lock file",
        gaps.len(),
        output::count(total, "download")
    );
    Err(Problem::new("CAS-LOCK-012", what, help)
        .detail("file", path)
        .detail("downloads", lines.join("\n")))
}

fn describe(gap: &Gap) -> String {
    match gap {
        Gap::Missing { name, .. } => format!("{name}: not pinned"),
        Gap::Mismatch {
            name,
            locked,
            required,
            ..
        } => format!("{name}: pinned {locked}, required {required}"),
        Gap::Unverified { name, .. } => format!("{name}: unverified"),
    }
}
