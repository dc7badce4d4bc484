//! The command line: one file per verb.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod lab;

/// Kubernetes clusters with Linux and Windows workers, from one file
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// A real control plane and Windows hosts on this Linux machine
    Lab(lab::LabArgs),
}

fn main() -> ExitCode {
    match Arguments::parse().verb {
        Verb::Lab(arguments) => lab::run_lab(arguments),
    }
}
