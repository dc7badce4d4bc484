//! `casement lab`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use casement_lab::problem::{Problem, Result};
use casement_lab::progress::LabProgress;
use casement_lab::state::paths::{DEFAULT_NAME, LabName, LabPaths, lab_command};
use casement_lab::state::record::Record;
use casement_lab::up::LabOptions;
use casement_lab::wine::windows::WindowsRelease;
use clap::{Args, Subcommand, ValueEnum};

use crate::output;

mod internal;
mod print;

/// Run a real control plane and Windows hosts on this Linux computer.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// Lab name; several labs can run side by side
    #[arg(long, global = true, default_value = DEFAULT_NAME)]
    name: LabName,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a lab; the first time builds Kubernetes, which takes minutes
    Up(UpArgs),
    /// Show the hosts of the lab
    Status {
        /// Output format
        #[arg(short, long, default_value = "table")]
        output: Format,
    },
    /// Run a command on a host
    Exec {
        /// Host name, or `control-plane`
        host: String,
        /// Command, after `--`
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// Power a host off and on again
    Reboot {
        /// Host name
        host: String,
        /// Seconds that the host stays off; by default until the cluster has noticed
        #[arg(long, value_name = "SECONDS")]
        off: Option<u64>,
    },
    /// Remove the lab; only the build cache is kept
    Down,
    #[command(flatten)]
    Internal(internal::Verb),
}

#[derive(Debug, Args)]
struct UpArgs {
    /// Parts to start
    #[arg(long, value_delimiter = ',', default_value = "wine,kube")]
    level: Vec<Level>,
    /// Number of Windows hosts
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=50))]
    hosts: u8,
    /// Windows Server release: 2019, 2022 or 2025
    #[arg(long, default_value = "2022")]
    windows: WindowsRelease,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Windows hosts under Wine
    Wine,
    /// Control plane and a Linux host; needs Go
    Kube,
    /// Linux host
    Netns,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
}

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
    let progress = LabProgress::new();
    match arguments.verb {
        Verb::Internal(verb) => return internal::run(verb, name.as_str()),
        Verb::Up(options) => {
            let up =
                casement_lab::up::up(&LabPaths::from_env()?, &name, &options.into(), &progress)?;
            print::up(&up);
        }
        Verb::Status { output } => {
            let (dir, record) = load(&name)?;
            let hosts = casement_lab::status::hosts(&dir, &record)?;
            print::status(&dir, &record, hosts, matches!(output, Format::Json));
        }
        Verb::Exec { host, command } => {
            let (dir, record) = load(&name)?;
            return exec(&dir, &record, &host, &command);
        }
        Verb::Reboot { host, off } => {
            let (dir, mut record) = load(&name)?;
            let off = off.map(Duration::from_secs);
            casement_lab::reboot::reboot(&dir, &mut record, &host, off, &progress)?;
        }
        Verb::Down => {
            if casement_lab::down::down(&LabPaths::from_env()?, &name)? {
                println!("Lab `{name}` is removed; the build cache is kept.");
            } else {
                println!("No changes: there is no lab `{name}`.");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The directory and the record of a running lab.
fn load(name: &LabName) -> Result<(PathBuf, Record)> {
    let dir = LabPaths::from_env()?.lab(name);
    match Record::load(&dir)? {
        Some(record) => Ok((dir, record)),
        None => Err(Problem::new(
            "CAS-LAB-015",
            format!("lab `{name}` is not running"),
            format!("run `{}`", lab_command(name.as_str(), "up")),
        )
        .detail("searched", dir.display())),
    }
}

fn exec(dir: &Path, record: &Record, host: &str, arguments: &[String]) -> Result<ExitCode> {
    casement_lab::check::root()?;
    let mut command = casement_lab::exec::command(dir, record, host, arguments)?;
    let status = command
        .status()
        .map_err(|error| casement_lab::command::spawn_problem(&command, &error))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

impl From<UpArgs> for LabOptions {
    fn from(arguments: UpArgs) -> Self {
        let includes = |level| arguments.level.contains(&level);
        Self {
            kube: includes(Level::Kube),
            netns: includes(Level::Netns),
            windows_hosts: if includes(Level::Wine) {
                arguments.hosts
            } else {
                0
            },
            release: arguments.windows,
        }
    }
}
