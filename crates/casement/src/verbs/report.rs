//! `casement report`.

use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_report::record::{self, ReadError, Record};
use casement_report::{Run, page};
use clap::Args;

use crate::failure::CommandError;
use crate::json::{self, RunReport};
use crate::{atomic_file, output, spec_file};

const RUNS: &str = ".casement/runs";

/// Create an HTML report of a run.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Directory of the run; the newest in .casement/runs by default
    run: Option<PathBuf>,
    /// Cluster file, for the topology
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Output file
    #[arg(long, default_value = "casement-report.html")]
    out: PathBuf,
    /// Output format; JSON is printed
    #[arg(short, long, value_parser = ["html", "json"], default_value = "html")]
    output: String,
}

pub fn run_report(arguments: &ReportArgs) -> Result<(), CommandError> {
    let dir = match &arguments.run {
        Some(dir) => dir.clone(),
        None => newest(Path::new(RUNS))?,
    };
    let run = read(&dir)?;
    if arguments.output == "json" {
        return json::print(&json::Report {
            report: RunReport {
                run,
                record: Some(dir.display().to_string()),
                error: None,
            },
        });
    }
    // The cluster file is optional.
    let cluster = match arguments.file.exists() {
        true => Some(spec_file::read(&arguments.file)?.cluster),
        false => None,
    };
    let text = page(&run, cluster.as_ref());
    atomic_file::replace(&arguments.out, text.as_bytes()).map_err(|error| {
        let what = format!("failed to write `{}`", arguments.out.display());
        let help = "choose another file with `--out FILE`";
        Problem::new("CAS-FILE-007", what, help).detail("cause", error)
    })?;
    output::print(&format!("{}\n", arguments.out.display()))
}

fn read(dir: &Path) -> Result<Run, CommandError> {
    let bytes = |name: &str| {
        let path = dir.join(name);
        fs::read(&path).map_err(|error| {
            let what = format!("failed to read `{}`", path.display());
            let help = "use the directory of a run in .casement/runs";
            Problem::new("CAS-FILE-008", what, help).detail("cause", error)
        })
    };
    if dir.join(record::UNVERSIONED_PLAN).is_file() {
        return Err(invalid(dir, &ReadError::Unversioned).into());
    }
    let (plan, events) = (bytes(record::PLAN)?, bytes(record::EVENTS)?);
    // A run that was killed has none.
    let summary = match dir.join(record::SUMMARY).exists() {
        true => Some(bytes(record::SUMMARY)?),
        false => None,
    };
    let record = Record::parse(&plan, &events, summary.as_deref());
    let record = record.map_err(|error| invalid(dir, &error))?;
    Ok(Run::of(&record))
}

fn invalid(dir: &Path, error: &ReadError) -> Problem {
    let what = format!("invalid record `{}`: {error}", dir.display());
    let help = match error {
        ReadError::Newer { .. } => "install a newer version of casement",
        ReadError::Unversioned | ReadError::Syntax { .. } => {
            "use the version of casement that wrote it"
        }
    };
    Problem::new("CAS-FILE-009", what, help)
}

/// Records sort by time.
fn newest(runs: &Path) -> Result<PathBuf, CommandError> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let records = entries.map(|entry| entry.path());
    let plans = [record::PLAN, record::UNVERSIONED_PLAN];
    let records = records.filter(|path| plans.iter().any(|plan| path.join(plan).is_file()));
    records.max().ok_or_else(|| {
        let what = format!("no record of a run in `{}`", runs.display());
        Problem::new("CAS-FILE-008", what, "run `casement apply` first").into()
    })
}
