//! `casement report`.

use std::fs;
use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_report::{Run, page};
use clap::Args;

use crate::failure::CommandError;
use crate::{output, spec_file, whole_file};

/// Where runs leave their records.
const RUNS: &str = ".casement/runs";

/// Make one page of a run: what happened, when, on which host.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The record of the run; the newest in .casement/runs unless named
    run: Option<PathBuf>,
    /// The cluster file, for the picture of the cluster
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Where to write the page
    #[arg(long, default_value = "casement-report.html")]
    out: PathBuf,
    /// Print the run as JSON instead
    #[arg(short, long, value_parser = ["html", "json"], default_value = "html")]
    output: String,
}

/// Runs the verb.
pub fn run_report(arguments: &ReportArgs) -> Result<(), CommandError> {
    let folder = match &arguments.run {
        Some(folder) => folder.clone(),
        None => newest(Path::new(RUNS))?,
    };
    let run = read(&folder)?;
    if arguments.output == "json" {
        let json = serde_json::to_string_pretty(&run)
            .map_err(|error| Problem::new("CAS-FILE-009", error.to_string(), "report this"))?;
        return output::print(&format!("{json}\n"));
    }
    // A report of a run is worth having without the file that it was about.
    let cluster = match arguments.file.exists() {
        true => Some(spec_file::read(&arguments.file)?.cluster),
        false => None,
    };
    let text = page(&run, cluster.as_ref());
    whole_file::replace(&arguments.out, text.as_bytes()).map_err(|error| {
        let what = format!("`{}` cannot be written", arguments.out.display());
        Problem::new("CAS-FILE-007", what, "name another place with --out").seen("it says", error)
    })?;
    output::print(&format!("{}\n", arguments.out.display()))
}

fn read(folder: &Path) -> Result<Run, CommandError> {
    let text = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| {
            let what = format!("`{}` cannot be read", path.display());
            let remedy = "name the folder of a run, below .casement/runs";
            Problem::new("CAS-FILE-008", what, remedy).seen("it says", error)
        })
    };
    let (plan, events) = (text("plan.json")?, text("events.jsonl")?);
    // One that was killed has left none.
    let summary = match folder.join("summary.json").exists() {
        true => Some(text("summary.json")?),
        false => None,
    };
    let run = Run::read(&plan, &events, summary.as_deref()).map_err(|error| {
        let what = format!("the record `{}` is not whole: {error}", folder.display());
        Problem::new("CAS-FILE-009", what, "use the casement that wrote it")
    })?;
    Ok(run)
}

/// Records sort by their time.
fn newest(runs: &Path) -> Result<PathBuf, CommandError> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let records = entries.map(|entry| entry.path());
    let records = records.filter(|path| path.join("plan.json").is_file());
    records.max().ok_or_else(|| {
        let what = format!("there is no record of a run in `{}`", runs.display());
        Problem::new("CAS-FILE-008", what, "casement apply makes one").into()
    })
}
