//! The command line: one file per verb.

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[path = "verbs/access.rs"]
mod access;
mod agents;
#[path = "verbs/apply.rs"]
mod apply;
#[path = "verbs/catalog.rs"]
mod catalog;
mod changes;
mod clock;
mod columns;
mod confirm;
#[path = "fleet.rs"]
mod controller;
#[path = "verbs/converge.rs"]
mod converge;
#[cfg(unix)]
#[path = "verbs/demo.rs"]
mod demo;
#[path = "verbs/doctor.rs"]
mod doctor;
#[cfg(not(unix))]
#[path = "verbs/linux_only.rs"]
mod elsewhere;
#[path = "verbs/explain.rs"]
mod explain;
mod failure;
mod fetch;
#[path = "verbs/init.rs"]
mod init;
#[path = "verbs/join.rs"]
mod join;
#[cfg(unix)]
#[path = "verbs/lab.rs"]
mod lab;
#[path = "verbs/lint.rs"]
mod lint;
#[path = "verbs/lock.rs"]
mod lock;
mod log_file;
#[path = "verbs/logs.rs"]
mod logs;
mod mask;
#[path = "verbs/plan/offline.rs"]
mod offline;
mod output;
#[path = "verbs/plan.rs"]
mod plan;
mod progress;
mod read_only;
#[path = "verbs/render.rs"]
mod render;
#[path = "verbs/report.rs"]
mod report;
#[path = "verbs/reset.rs"]
mod reset;
#[path = "verbs/sample.rs"]
mod sample;
mod secret;
mod signals;
#[path = "verbs/spec.rs"]
mod spec;
mod spec_file;
#[path = "verbs/status.rs"]
mod status;
#[path = "../../run/src/survey.rs"]
mod survey;
#[path = "errors.rs"]
mod told;
#[path = "endpoints.rs"]
mod way;
#[path = "atomic_file.rs"]
mod whole_file;

/// Kubernetes clusters with Linux and Windows workers, from one file
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write a cluster file, from nothing or from what another tool was told
    Init(init::InitArgs),
    /// Make the hosts and the cluster what the file says
    Apply(apply::ApplyArgs),
    /// Make one Windows host a worker of a cluster that runs; needs no file
    Join(Box<join::JoinArgs>),
    /// Show what `apply` would change; change nothing
    Plan(plan::PlanArgs),
    /// Show every file, flag and network document that hosts would get
    Render(render::RenderArgs),
    /// Show the hosts: their Nodes, and whether they are as the file says
    Status(status::StatusArgs),
    /// Say what is wrong with hosts and cluster, and why
    Doctor(doctor::DoctorArgs),
    /// Take hosts out of the cluster and remove what casement put there
    Reset(reset::ResetArgs),
    /// Show the log of a service on a host, or collect what is known about it
    Logs(logs::LogsArgs),
    /// A web page served from Windows, and one from Linux
    Sample(sample::SampleArgs),
    /// Make one page of a run: what happened, when, on which host
    Report(report::ReportArgs),
    /// Print the command that opens a host: a shell, its desktop, its console
    Access(access::AccessArgs),
    /// Show which versions go together, and where it says so
    Catalog(catalog::CatalogArgs),
    /// Pin every download of a cluster by its hash
    Lock(lock::LockArgs),
    /// Say everything that is wrong with the file, and with files beside it
    Lint(lint::LintArgs),
    /// Say what a code means and what to do about it
    Explain(explain::ExplainArgs),
    /// Check a cluster file and print it in its usual form
    Spec(spec::SpecArgs),
    /// Make hosts what a bare node document says, without a cluster
    Converge(converge::ConvergeArgs),
    /// The whole job on simulated hosts: plan, apply, break, repair, take back
    #[cfg(unix)]
    Demo(demo::DemoArgs),
    /// A real control plane and Windows hosts on this Linux machine
    #[cfg(unix)]
    Lab(lab::LabArgs),
    /// The whole job on simulated hosts; needs Linux
    #[cfg(not(unix))]
    Demo(elsewhere::ElsewhereArgs),
    /// A real control plane and Windows hosts on one machine; needs Linux
    #[cfg(not(unix))]
    Lab(elsewhere::ElsewhereArgs),
}

impl Verb {
    /// The file that everything goes into, where one is named.
    fn log_file(&self) -> Option<&Path> {
        let progress = match self {
            Self::Apply(arguments) => &arguments.progress,
            Self::Join(arguments) => &arguments.how.progress,
            Self::Reset(arguments) => &arguments.progress,
            Self::Converge(arguments) => &arguments.progress,
            _ => return None,
        };
        progress.log_file()
    }
}

fn main() -> ExitCode {
    match Arguments::parse().verb {
        // It starts threads and processes of its own.
        #[cfg(unix)]
        Verb::Lab(arguments) => lab::run_lab(arguments),
        verb => conduct(carry_out(verb)),
    }
}

/// Carries a verb out; the demo shows them too.
async fn carry_out(verb: Verb) -> Result<(), failure::CommandError> {
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
        #[cfg(unix)]
        Verb::Demo(arguments) => demo::run_demo(arguments).await,
        // `main` has it.
        #[cfg(unix)]
        Verb::Lab(_) => Ok(()),
        #[cfg(not(unix))]
        Verb::Demo(_) => Err(elsewhere::refuse("demo")),
        #[cfg(not(unix))]
        Verb::Lab(_) => Err(elsewhere::refuse("lab")),
    }
}

/// Runs a verb.
fn conduct(verb: impl Future<Output = Result<(), failure::CommandError>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => end(runtime.block_on(verb)),
        Err(error) => {
            eprintln!("error: no threads could be started: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The exit code of a verb, its failure told.
fn end(result: Result<(), failure::CommandError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.finish(),
    }
}
