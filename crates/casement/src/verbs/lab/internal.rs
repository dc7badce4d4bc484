//! Verbs that the lab's own hosts run; nobody types them.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;

use casement_lab::problem::{Problem, Result};
use casement_lab::wine::windows::WindowsRelease;
use clap::Subcommand;

/// Each is the program of one process inside a host.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The first process of a host
    #[command(hide = true)]
    Init {
        /// The lab's folder
        #[arg(long)]
        lab: PathBuf,
        /// The host's name
        #[arg(long)]
        host: String,
    },
    /// Makes the Wine template in namespaces of its own
    #[command(hide = true)]
    Template {
        /// The folder to work in
        #[arg(long)]
        work: PathBuf,
        /// The folder of our own Windows programs
        #[arg(long)]
        windows: PathBuf,
    },
    /// What stands behind a Windows host's network
    #[command(hide = true)]
    Netd {
        /// Which Windows the host is
        #[arg(long)]
        windows: WindowsRelease,
        /// The host's address
        #[arg(long)]
        address: Ipv4Addr,
    },
    /// SFTP with the paths of Windows
    #[command(hide = true)]
    Sftp,
    /// The registry of the lab's images
    #[command(hide = true)]
    Registry,
    /// Keeps the Linux host's Node Ready
    #[command(hide = true)]
    Neighbour {
        /// The Node's name
        #[arg(long)]
        node: String,
        /// The Node's address
        #[arg(long)]
        address: String,
    },
}

/// Runs until the host is off.
pub fn run(verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Init { lab, host } => casement_lab::host::init::run(&lab, &host)?,
        Verb::Template { work, windows } => {
            casement_lab::wine::template::build_inside(&work, &windows)?
        }
        Verb::Netd { windows, address } => casement_lab::network::netd::run(windows, address)?,
        Verb::Sftp => casement_lab::host::windows_host::serve_sftp().map_err(|error| {
            Problem::new("CAS-LAB-036", "SFTP ended", "see sshd's log").seen("it says", error)
        })?,
        Verb::Registry => casement_lab::containers::lab_registry::run()?,
        Verb::Neighbour { node, address } => casement_lab::host::neighbour::run(&node, &address)?,
    }
    Ok(ExitCode::SUCCESS)
}
