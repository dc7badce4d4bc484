//! `casement lock`.

use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};
use casement_diag::Problem;
use casement_lock::{Lock, Mirror, Requirement, Resolved, Resolver, requirements};
use casement_spec::Cluster;
use clap::Args;
use futures_util::{StreamExt, stream};

use crate::failure::CommandError;
use crate::{output, spec_file};

pub mod errors;
pub mod file;
pub mod print;
pub mod reader;

use reader::LocationReader;

/// The number of parallel requests.
const CONCURRENCY: usize = 4;

/// Pin every download of a cluster by its hash.
#[derive(Debug, Args)]
pub struct LockArgs {
    /// Cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Update downloads that are already pinned
    #[arg(long)]
    update: bool,
    /// Lock file; from the cluster file by default
    #[arg(long)]
    out: Option<Utf8PathBuf>,
    /// Mirror (URL or directory); from the cluster file by default
    #[arg(long)]
    mirror: Option<String>,
    /// Output format
    #[arg(short, long, value_parser = ["table", "json", "yaml"], default_value = "table")]
    output: String,
}

/// The file is written only if everything could be pinned.
pub async fn run_lock(arguments: LockArgs) -> Result<(), CommandError> {
    let cluster = spec_file::read_with_paths(&arguments.file)?;
    let out = arguments
        .out
        .as_ref()
        .unwrap_or(&cluster.spec.artifacts.lock);
    let requirements = requirements(&cluster).map_err(|error| errors::not_covered(&error))?;
    let mirror = mirror(arguments.mirror.as_deref(), &cluster)?;
    let old = file::read(out, file::OPTION)?;
    // Paths in the lock file are relative to this directory.
    let dir = spec_file::parent_dir(out.as_std_path(), "choose another file with `--out FILE`")?;
    let resolver = Resolver {
        old: &old,
        update: arguments.update,
        mirror: mirror.as_ref(),
        folder: &dir,
    };
    let resolved = resolve_all(&resolver, &requirements).await?;
    let lock = Lock::from_iter(resolved.iter().map(|one| one.entry.clone()));
    let written = lock != old || !out.exists();
    if written {
        file::write(out, &lock.to_string(), file::OPTION)?;
    }
    let outcome = print::Outcome {
        path: relative(out),
        written,
        resolved: &resolved,
        dropped: print::dropped(&old, &lock),
    };
    print::print(&outcome, &arguments.output)
}

/// Relative to the current directory, if it is below.
fn relative(path: &Utf8Path) -> &Utf8Path {
    let dir = std::env::current_dir().ok();
    let relative = dir.and_then(|dir| path.strip_prefix(Utf8Path::from_path(&dir)?).ok());
    relative.unwrap_or(path)
}

/// The mirror of the argument; else of the cluster file.
pub fn mirror(given: Option<&str>, cluster: &Cluster) -> Result<Option<Mirror>, CommandError> {
    let parse = |text: &str| text.parse::<Mirror>();
    let given = given.map(parse);
    let configured = cluster.spec.artifacts.mirror.as_ref();
    let mirror = given.or_else(|| configured.map(|url| parse(url.as_str())));
    let mirror = mirror.transpose().map_err(|error| {
        CommandError::usage(Problem::new(
            "CAS-LOCK-010",
            error.to_string(),
            "use a URL or a directory: `--mirror https://mirror.example/casement`",
        ))
    })?;
    Ok(mirror)
}

/// Reports every failure, not only the first.
async fn resolve_all(
    resolver: &Resolver<'_>,
    requirements: &[Requirement],
) -> Result<Vec<Resolved>, CommandError> {
    let reader = LocationReader::new()?;
    let requests = requirements
        .iter()
        .map(|one| resolver.resolve(one, &reader));
    let results: Vec<_> = stream::iter(requests).buffered(CONCURRENCY).collect().await;
    let (mut resolved, mut failed) = (Vec::new(), 0);
    for (result, requirement) in results.into_iter().zip(requirements) {
        match result {
            Ok(one) => resolved.push(one),
            Err(error) => {
                failed += 1;
                eprint!(
                    "{}",
                    output::problem(&errors::unresolved(&error, requirement))
                );
            }
        }
    }
    if failed > 0 {
        let count = requirements.len();
        eprintln!("\nFailed to pin {failed} of {count} artifacts. No file was written.");
        return Err(CommandError::reported(1));
    }
    Ok(resolved)
}
