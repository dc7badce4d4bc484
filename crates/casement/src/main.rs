//! The command line: one file per verb.

use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

mod agents;
mod atomic_file;
mod changes;
mod clock;
mod columns;
mod confirm;
mod counts;
mod endpoints;
mod errors;
mod failure;
mod fetch;
mod fleet;
mod json;
mod log_file;
mod mask;
mod output;
mod progress;
mod read_only;
mod secret;
mod signals;
mod spec_file;
mod verbs;

#[cfg(all(unix, feature = "sim"))]
use verbs::demo;
#[cfg(all(unix, feature = "lab"))]
use verbs::lab;
#[cfg(not(unix))]
use verbs::linux_only;
use verbs::{
    access, apply, catalog, converge, doctor, explain, init, join, lint, lock, logs, plan, render,
    report, reset, sample, spec, status,
};

/// Kubernetes clusters with Linux and Windows workers, from one file
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a cluster file, new or from the configuration of another tool
    Init(init::InitArgs),
    /// Apply the cluster file to the hosts and the cluster
    Apply(apply::ApplyArgs),
    /// Join one Windows host to a running cluster, without a cluster file
    Join(Box<join::JoinArgs>),
    /// Show what `apply` would change, without changing it
    Plan(plan::PlanArgs),
    /// Show the files, flags and network documents that hosts would get
    Render(render::RenderArgs),
    /// Show the hosts, their Nodes, and whether they are in sync with the file
    Status(status::StatusArgs),
    /// Diagnose problems with the hosts and the cluster
    Doctor(doctor::DoctorArgs),
    /// Remove hosts from the cluster, and everything that casement created on them
    Reset(reset::ResetArgs),
    /// Show the log of a service on a host, or collect a support bundle
    Logs(logs::LogsArgs),
    /// Deploy a sample web page on Windows and Linux
    Sample(sample::SampleArgs),
    /// Create an HTML report of a run
    Report(report::ReportArgs),
    /// Print the command that connects to a host: shell, desktop or console
    Access(access::AccessArgs),
    /// Show compatible versions, with their sources
    Catalog(catalog::CatalogArgs),
    /// Pin every download of a cluster by its hash
    Lock(lock::LockArgs),
    /// Check the cluster file and related files for errors
    Lint(lint::LintArgs),
    /// Explain an error code
    Explain(explain::ExplainArgs),
    /// Validate a cluster file and print it normalized
    Spec(spec::SpecArgs),
    /// Apply a node document to hosts, without a cluster
    Converge(converge::ConvergeArgs),
    /// Demonstrate plan, apply, repair and reset on simulated hosts
    #[cfg(all(unix, feature = "sim"))]
    Demo(demo::DemoArgs),
    /// Run a real control plane and Windows hosts on this Linux computer
    #[cfg(all(unix, feature = "lab"))]
    Lab(lab::LabArgs),
    /// Demonstrate casement on simulated hosts; needs Linux
    #[cfg(not(unix))]
    Demo(linux_only::LinuxOnlyArgs),
    /// Run a real control plane and Windows hosts on one computer; needs Linux
    #[cfg(not(unix))]
    Lab(linux_only::LinuxOnlyArgs),
}

impl Verb {
    fn log_file(&self) -> Option<&Path> {
        let progress = match self {
            Self::Apply(arguments) => &arguments.progress,
            Self::Join(arguments) => &arguments.run.progress,
            Self::Reset(arguments) => &arguments.progress,
            Self::Converge(arguments) => &arguments.progress,
            _ => return None,
        };
        progress.log_file()
    }
}

fn main() -> ExitCode {
    let matches = Arguments::command().get_matches();
    let json = wants_json(&matches);
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match arguments.verb {
        // Starts its own threads and processes.
        #[cfg(all(unix, feature = "lab"))]
        Verb::Lab(arguments) => lab::run_lab(arguments),
        verb => block_on(async {
            let result = run(verb).await;
            // A verb that failed before it had a document.
            if json
                && let Err(error) = &result
                && let Some(error) = error.problem()
            {
                json::print(&json::Failed { error })?;
            }
            result
        }),
    }
}

/// Whether the verb, at any depth, was called with `-o json`.
fn wants_json(matches: &ArgMatches) -> bool {
    if let Some((_, matches)) = matches.subcommand() {
        return wants_json(matches);
    }
    let output = matches.try_get_raw("output").ok().flatten();
    output.is_some_and(|mut values| values.any(|value| value == "json"))
}

/// Also used by `demo`.
async fn run(verb: Verb) -> Result<(), failure::CommandError> {
    log_file::open(verb.log_file())?;
    match verb {
        Verb::Init(arguments) => init::run_init(&arguments),
        Verb::Apply(arguments) => apply::run_apply(arguments).await,
        Verb::Join(arguments) => join::run_join(*arguments).await,
        Verb::Plan(arguments) => plan::run_plan(arguments).await,
        Verb::Render(arguments) => render::run_render(&arguments),
        Verb::Status(arguments) => status::run_status(arguments).await,
        Verb::Doctor(arguments) => doctor::run_doctor(arguments).await,
        Verb::Reset(arguments) => reset::run_reset(arguments).await,
        Verb::Sample(arguments) => sample::run_sample(arguments).await,
        Verb::Logs(arguments) => logs::run_logs(arguments).await,
        Verb::Report(arguments) => report::run_report(&arguments),
        Verb::Access(arguments) => access::run_access(&arguments),
        Verb::Catalog(arguments) => catalog::run_catalog(&arguments),
        Verb::Lock(arguments) => lock::run_lock(arguments).await,
        Verb::Lint(arguments) => lint::run_lint(&arguments),
        Verb::Explain(arguments) => explain::run_explain(&arguments),
        Verb::Spec(arguments) => spec::run_spec(&arguments),
        Verb::Converge(arguments) => converge::run_converge(arguments).await,
        #[cfg(all(unix, feature = "sim"))]
        Verb::Demo(arguments) => demo::run_demo(arguments).await,
        // Handled in `main`.
        #[cfg(all(unix, feature = "lab"))]
        Verb::Lab(_) => Ok(()),
        #[cfg(not(unix))]
        Verb::Demo(_) => Err(linux_only::unsupported("demo")),
        #[cfg(not(unix))]
        Verb::Lab(_) => Err(linux_only::unsupported("lab")),
    }
}

fn block_on(verb: impl Future<Output = Result<(), failure::CommandError>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => match runtime.block_on(verb) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => error.finish(),
        },
        Err(error) => {
            eprintln!("error: failed to start threads: {error}");
            ExitCode::FAILURE
        }
    }
}
