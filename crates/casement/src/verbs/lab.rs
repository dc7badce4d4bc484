//! `casement lab`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use casement_lab::problem::{Problem, Result};
use casement_lab::progress::Progress;
use casement_lab::state::places::{LabName, Places};
use casement_lab::state::record::Record;
use casement_lab::up::Wanted;
use casement_lab::wine::windows::WindowsRelease;
use clap::{Args, Subcommand, ValueEnum};

use crate::output;

#[path = "lab/internal.rs"]
mod inside;
#[path = "lab/print.rs"]
mod show;

/// The verb and what all of its verbs share.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// The lab's name; several can be up side by side
    #[arg(long, global = true, default_value = "default")]
    name: LabName,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Bring a lab up: the first time builds Kubernetes, which takes minutes
    Up(UpArgs),
    /// Show the lab's hosts
    Status {
        /// The form of the answer
        #[arg(short, long, default_value = "table")]
        output: Form,
    },
    /// Run a command on a host
    Exec {
        /// A host's name, or `control-plane`
        host: String,
        /// The command, after `--`
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// Power a host off and on again
    Reboot {
        /// A host's name
        host: String,
        /// How many seconds it is off; by default until the cluster has seen it
        #[arg(long)]
        off: Option<u64>,
    },
    /// Take the lab away; only the build cache stays
    Down,
    #[command(flatten)]
    Inside(inside::Verb),
}

#[derive(Debug, Args)]
struct UpArgs {
    /// What to bring up
    #[arg(long, value_delimiter = ',', default_value = "wine,kube")]
    level: Vec<Level>,
    /// How many Windows hosts
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=50))]
    hosts: u8,
    /// Which Windows Server they are: 2019, 2022 or 2025
    #[arg(long, default_value = "2022")]
    windows: WindowsRelease,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Windows hosts under Wine
    Wine,
    /// A real control plane, and a Linux host beside it; needs Go
    Kube,
    /// A Linux host
    Netns,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// For people
    Table,
    /// For programs
    Json,
}

/// Runs the verb; problems go to standard error and become exit code 1.
pub fn run_lab(arguments: LabArgs) -> ExitCode {
    match run(arguments) {
        Ok(code) => code,
        Err(problem) => {
            eprint!("{}", output::problem(&problem));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: LabArgs) -> Result<ExitCode> {
    let name = arguments.name;
    let progress = Progress::new();
    match arguments.verb {
        Verb::Inside(verb) => return inside::run(verb),
        Verb::Up(wanted) => {
            let up =
                casement_lab::up::up(&Places::of_this_user()?, &name, &wanted.into(), &progress)?;
            show::up(&up);
        }
        Verb::Status { output } => {
            let (folder, record) = lab(&name)?;
            let hosts = casement_lab::status::hosts(&folder, &record)?;
            show::status(&folder, &record, &hosts, matches!(output, Form::Json))?;
        }
        Verb::Exec { host, command } => {
            let (folder, record) = lab(&name)?;
            return exec(&folder, &record, &host, &command);
        }
        Verb::Reboot { host, off } => {
            let (folder, mut record) = lab(&name)?;
            let off = off.map(Duration::from_secs);
            casement_lab::reboot::reboot(&folder, &mut record, &host, off, &progress)?;
        }
        Verb::Down => {
            if casement_lab::down::down(&Places::of_this_user()?, &name)? {
                println!("Lab `{name}` is gone; what was built is kept for the next one.");
            } else {
                println!("There is no lab `{name}`: nothing to do.");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder and the record of a lab that is there.
fn lab(name: &LabName) -> Result<(PathBuf, Record)> {
    let folder = Places::of_this_user()?.lab(name);
    match Record::load(&folder)? {
        Some(record) => Ok((folder, record)),
        None => Err(Problem::new(
            "CAS-LAB-015",
            format!("there is no lab `{name}`"),
            "casement lab up",
        )
        .seen("looked in", folder.display())),
    }
}

fn exec(folder: &Path, record: &Record, host: &str, words: &[String]) -> Result<ExitCode> {
    casement_lab::check::root()?;
    let mut command = casement_lab::exec::command(folder, record, host, words)?;
    let status = command
        .status()
        .map_err(|error| casement_lab::command::not_started(&command, &error))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

impl From<UpArgs> for Wanted {
    fn from(arguments: UpArgs) -> Self {
        let asked = |level| arguments.level.contains(&level);
        Self {
            kube: asked(Level::Kube),
            netns: asked(Level::Netns),
            windows_hosts: if asked(Level::Wine) {
                arguments.hosts
            } else {
                0
            },
            release: arguments.windows,
        }
    }
}
