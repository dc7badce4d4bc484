//! `casement lock`.

use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use casement_diag::Problem;
use casement_lock::{Lock, Mirror, Resolved, Resolver, Wanted, wanted};
use casement_spec::Cluster;
use clap::Args;
use futures_util::{StreamExt, stream};

use crate::failure::CommandError;
use crate::{output, spec_file};

#[path = "lock/file.rs"]
pub mod file;
#[path = "lock/print.rs"]
mod show;
#[path = "lock/errors.rs"]
pub mod told;
#[path = "lock/reader.rs"]
pub mod world;

use world::World;

/// How many places are asked at a time.
const AT_ONCE: usize = 4;

/// Pin every download of a cluster by its hash.
#[derive(Debug, Args)]
pub struct LockArgs {
    /// The cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Ask anew for what is pinned already
    #[arg(long)]
    update: bool,
    /// Where to write; without it, what the cluster file says
    #[arg(long)]
    out: Option<Utf8PathBuf>,
    /// A mirror (URL or folder) in place of the cluster file's
    #[arg(long)]
    mirror: Option<String>,
    /// The form of what is printed
    #[arg(short, long, value_parser = ["table", "json", "yaml"], default_value = "table")]
    output: String,
}

/// Runs the verb; nothing is written unless everything could be pinned.
pub async fn run_lock(arguments: LockArgs) -> Result<(), CommandError> {
    let cluster = spec_file::read_with_paths(&arguments.file)?;
    let out = arguments
        .out
        .as_ref()
        .unwrap_or(&cluster.spec.artifacts.lock);
    let wanted = wanted(&cluster).map_err(|error| told::not_covered(&error))?;
    let mirror = mirror(arguments.mirror.as_deref(), &cluster)?;
    let old = file::read(out)?;
    let folder = folder(out.as_std_path())?;
    let resolver = Resolver {
        old: &old,
        update: arguments.update,
        mirror: mirror.as_ref(),
        folder: &folder,
    };
    let resolved = resolve_all(&resolver, &wanted).await?;
    let lock = Lock::from_iter(resolved.iter().map(|one| one.entry.clone()));
    let written = lock != old || !out.exists();
    if written {
        file::write(out, &lock.to_string())?;
    }
    let outcome = show::Outcome {
        path: shorter(out),
        written,
        resolved: &resolved,
        dropped: show::dropped(&old, &lock),
    };
    show::show(&outcome, &arguments.output)
}

/// As seen from here, where it is below here.
fn shorter(path: &Utf8Path) -> &Utf8Path {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(Utf8Path::from_path(&here)?).ok());
    below.unwrap_or(path)
}

/// The mirror that the command names, from here; else the cluster file's.
pub fn mirror(given: Option<&str>, cluster: &Cluster) -> Result<Option<Mirror>, CommandError> {
    let parse = |text: &str| text.parse::<Mirror>();
    let given = given.map(parse);
    let said = cluster.spec.artifacts.mirror.as_ref();
    let mirror = given.or_else(|| said.map(|url| parse(url.as_str())));
    let mirror = mirror.transpose().map_err(|error| {
        CommandError::usage(Problem::new(
            "CAS-LOCK-010",
            error.to_string(),
            "casement lock --mirror https://mirror.example/casement",
        ))
    })?;
    Ok(mirror)
}

/// The folder that paths in the lock file begin in.
fn folder(out: &Path) -> Result<Utf8PathBuf, Problem> {
    let absolute = std::path::absolute(out).ok();
    let folder = absolute.as_deref().and_then(Path::parent);
    let folder = folder.and_then(Utf8Path::from_path);
    folder.map(Utf8Path::to_owned).ok_or_else(|| {
        Problem::new(
            "CAS-FILE-002",
            format!(
                "the folder of `{}` has a name that is no text",
                out.display()
            ),
            "name another place with --out",
        )
    })
}

/// Asks for all of them; every failure is told, not only the first.
async fn resolve_all(
    resolver: &Resolver<'_>,
    wanted: &[Wanted],
) -> Result<Vec<Resolved>, CommandError> {
    let world = World::new()?;
    let asked = wanted.iter().map(|one| resolver.resolve(one, &world));
    let answers: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let (mut resolved, mut failed) = (Vec::new(), 0);
    for (answer, wanted) in answers.into_iter().zip(wanted) {
        match answer {
            Ok(one) => resolved.push(one),
            Err(error) => {
                failed += 1;
                eprint!("{}", output::problem(&told::unresolved(&error, wanted)));
            }
        }
    }
    if failed > 0 {
        let count = wanted.len();
        eprintln!("\n{failed} of {count} artifacts could not be pinned; nothing was written");
        return Err(CommandError::told(1));
    }
    Ok(resolved)
}
