//! Hidden verbs: the processes inside the hosts of a lab.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;

use casement_lab::problem::{Problem, Result};
use casement_lab::wine::windows::WindowsRelease;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The first process of a host
    #[command(hide = true)]
    Init {
        /// Directory of the lab
        #[arg(long)]
        lab: PathBuf,
        /// Host name
        #[arg(long)]
        host: String,
    },
    /// Builds the Wine template in its own namespaces
    #[command(hide = true)]
    Template {
        /// Working directory
        #[arg(long)]
        work: PathBuf,
        /// Directory of the lab's Windows programs
        #[arg(long)]
        windows: PathBuf,
    },
    /// Implements the network of a Windows host
    #[command(hide = true)]
    Netd {
        /// Windows Server release
        #[arg(long)]
        windows: WindowsRelease,
        /// Host address
        #[arg(long)]
        address: Ipv4Addr,
    },
    /// SFTP server with Windows paths
    #[command(hide = true)]
    Sftp,
    /// Registry of the lab's images
    #[command(hide = true)]
    Registry,
    /// Keeps the Linux host's Node Ready
    #[command(hide = true, name = "neighbour")]
    LinuxNode {
        /// Node name
        #[arg(long)]
        node: String,
        /// Node address
        #[arg(long)]
        address: String,
    },
}

/// Runs until the host shuts down. `name` is the name of the lab.
pub fn run(verb: Verb, name: &str) -> Result<ExitCode> {
    match verb {
        Verb::Init { lab, host } => casement_lab::host::init::run(&lab, &host)?,
        Verb::Template { work, windows } => {
            casement_lab::wine::template::build_inside(&work, &windows)?
        }
        Verb::Netd { windows, address } => {
            casement_lab::network::netd::run(name, windows, address)?
        }
        Verb::Sftp => casement_lab::host::windows_host::serve_sftp().map_err(|error| {
            Problem::new("CAS-LAB-036", "SFTP failed", "see the log of sshd").detail("cause", error)
        })?,
        Verb::Registry => casement_lab::containers::lab_registry::run(name)?,
        Verb::LinuxNode { node, address } => casement_lab::host::linux_node::run(&node, &address)?,
    }
    Ok(ExitCode::SUCCESS)
}
