//! `casement apply`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use casement_cluster::ClusterChange;
use casement_report::record::HostSummary;
use casement_resource::wire::Outcome;
use casement_run::RunError;
use casement_run::agent_client::AgentClient;
use casement_run::apply::{Apply, HostOutcome, RunEvent};
use casement_run::cancel::CancelToken;
use casement_run::concurrency::Concurrency;
use casement_run::unavailable::UnavailableLimit;
use casement_spec::Cluster;
use clap::Args;

use crate::counts::Counts;
use crate::failure::CommandError;
use crate::fetch::DownloadArgs;
use crate::fleet::{self, FileArgs, FleetArgs};
use crate::progress::{Progress, ProgressArgs, RunRecord};
use crate::signals::InterruptWatch;
use crate::{changes, clock, confirm, errors, output, read_only, signals};
use casement_run::fleet::Fleet;
use casement_run::survey::{HostSurvey, survey};

/// Apply the cluster file to the hosts and the cluster.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Apply to this host only; can be repeated
    #[arg(long, value_name = "HOST")]
    only: Vec<String>,
    /// How many hosts may lose their connection or reboot at the same time, each until its
    /// Node is Ready again; unlimited by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    max_unavailable: Option<u16>,
    /// Skip the confirmation prompt
    #[arg(long)]
    yes: bool,
    /// Allow changes that interrupt the network of all pods for about a minute
    #[arg(long)]
    allow_network_outage: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// The arguments that `join` shares.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Skip the confirmation prompt
    #[arg(long)]
    yes: bool,
    /// Allow changes that interrupt the network of all pods for about a minute
    #[arg(long)]
    allow_network_outage: bool,
    /// Directory with casement-node.exe
    #[arg(long)]
    agent_dir: Option<PathBuf>,
    /// Accept an unknown SSH host key, and add it to known_hosts
    #[arg(long)]
    accept_new_host_keys: bool,
    #[command(flatten)]
    downloads: DownloadArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

impl ApplyArgs {
    /// For all hosts of a file.
    pub fn new(file: PathBuf, run: RunArgs) -> Self {
        Self {
            fleet: FleetArgs {
                file: FileArgs {
                    file,
                    agent_dir: run.agent_dir,
                    accept_new_host_keys: run.accept_new_host_keys,
                },
                parallel: Concurrency::default(),
                downloads: run.downloads,
            },
            only: Vec::new(),
            max_unavailable: None,
            yes: run.yes,
            allow_network_outage: run.allow_network_outage,
            progress: run.progress,
        }
    }
}

pub async fn run_apply(arguments: ApplyArgs) -> Result<(), CommandError> {
    apply(arguments, &signals::watch("apply")).await
}

/// Also used by `join`.
pub async fn apply(arguments: ApplyArgs, interrupts: &InterruptWatch) -> Result<(), CommandError> {
    let (mut fleet, mut endpoints) = fleet::open_only(&arguments.fleet, &arguments.only).await?;
    let kube = fleet.kube.clone();
    let changes = if fleet.reaches_a_windows_host() {
        let changes = fleet.changes(arguments.allow_network_outage).await;
        changes.map_err(|error| errors::problem(&error))?
    } else {
        // No Windows host is reachable: nothing would use the changes to the cluster.
        return conclude(&fleet, None, &[], &ClusterResult::default(), interrupts);
    };
    for host in fleet::inspect_read_only(&fleet, &mut endpoints).await {
        output::message(&read_only::text(&host));
    }
    if !arguments.yes {
        confirm_plan(&mut fleet, &changes).await?;
    }
    let mut record = RunRecord::begin("apply", &kube.run, false);
    record.planned_cluster(changes.iter().map(changes::object_change).collect());
    let progress = Progress::begin(&arguments.progress, &fleet.names(), record);
    for (host, error) in &fleet.unreachable {
        progress.host_ended(host, Err(error));
    }
    let cancel = interrupts.begin_changes(&progress);
    let executor = Executor {
        progress: &progress,
        cancel: &cancel,
        max_unavailable: arguments.max_unavailable,
    };
    let outcomes = executor.run(&mut fleet, &changes).await;
    let outcomes = outcomes.map_err(|error| {
        let problem = errors::problem(&error);
        progress.abandon(Outcome::Failed, &problem);
        problem
    })?;
    let cluster = ClusterResult {
        changed: changes.len(),
        pod_cidrs: executor.pod_cidrs(&fleet).await,
    };
    conclude(&fleet, Some(&progress), &outcomes, &cluster, interrupts)
}

#[derive(Default)]
struct ClusterResult {
    /// How many objects were changed.
    changed: usize,
    /// The pod network of each Node, for the record.
    pod_cidrs: BTreeMap<String, String>,
}

struct Executor<'a> {
    progress: &'a Progress,
    cancel: &'a CancelToken,
    max_unavailable: Option<u16>,
}

impl Executor<'_> {
    /// First the cluster, then the hosts.
    async fn run(
        &self,
        fleet: &mut Fleet,
        changes: &[ClusterChange],
    ) -> Result<Vec<HostOutcome>, RunError> {
        match self.change_cluster(fleet, changes).await {
            // Each host reports the cancellation.
            Err(RunError::Canceled { .. }) => {}
            changed => changed?,
        }
        let mut clients = std::mem::take(&mut fleet.clients);
        for client in &mut clients {
            client.set_cancel_token(self.cancel.clone());
        }
        let apply = Apply {
            cluster: &fleet.cluster,
            inputs: &fleet.inputs,
            blobs: &fleet.blobs,
            api: &fleet.kube,
            run: &fleet.kube.run,
            cancel: self.cancel,
            concurrency: fleet.concurrency,
            unavailable: UnavailableLimit::at_most(self.max_unavailable),
            on_event: &|event: RunEvent<'_>| self.progress.on_run_event(&event),
        };
        let outcomes = apply.run(&mut clients).await;
        let closing = clients.into_iter().map(AgentClient::close);
        fleet.concurrency.all(closing).await;
        outcomes
    }

    /// A change that is interrupted is completed by the next run: pending changes are
    /// recorded in the cluster first.
    async fn change_cluster(
        &self,
        fleet: &Fleet,
        changes: &[ClusterChange],
    ) -> Result<(), RunError> {
        let print = |text: String| self.progress.line(&format!("cluster: {text}"));
        for change in changes {
            print(change.object.to_string());
            let cluster = &fleet.kube.cluster;
            let change = async { Ok(cluster.apply_with_progress(change, &print).await?) };
            self.cancel.run("the cluster", change).await?;
        }
        Ok(())
    }

    /// Empty on errors: the record is useful without them.
    async fn pod_cidrs(&self, fleet: &Fleet) -> BTreeMap<String, String> {
        let facts = self.cancel.run("the cluster", fleet.facts()).await;
        let nodes = facts.map(|facts| facts.nodes);
        let nodes = nodes.unwrap_or_default().into_iter();
        let pods = nodes.filter_map(|node| Some((node.name, node.pods?.to_string())));
        pods.collect()
    }
}

/// Shows a summary of the plan and prompts for confirmation.
async fn confirm_plan(fleet: &mut Fleet, changes: &[ClusterChange]) -> Result<(), CommandError> {
    let surveys = survey(fleet).await;
    let surveys = surveys.map_err(|error| errors::problem(&error))?;
    let names = surveys.iter().map(|(name, _)| name);
    let names = names.chain(fleet.unreachable.iter().map(|(name, _)| name));
    let width = names
        .map(|name| name.chars().count())
        .chain(["cluster".len()]);
    let width = width.max().unwrap_or_default();
    let mut cluster = Counts::default();
    changes
        .iter()
        .for_each(|change| cluster.add_cluster_change(change));
    output::message(&format!(
        "{}\n\n  {:<width$}  {}",
        heading(&fleet.cluster),
        "cluster",
        cluster.pending(),
    ));
    for change in changes.iter().filter(|change| change.outage.is_some()) {
        output::message(&format!("  {:<width$}  {}", "", changes::line(change)));
    }
    for (name, survey) in &surveys {
        let text = match survey {
            Ok(survey) => format!("{:<26}  {}", host_summary(survey), survey.system),
            Err(error) => error.to_string(),
        };
        output::message(&format!("  {name:<width$}  {text}"));
    }
    for (name, error) in &fleet.unreachable {
        output::message(&format!("  {name:<width$}  {error}"));
    }
    output::message("\n");
    confirm::ask("Apply?", "casement apply --yes")
}

/// `shop: Kubernetes 1.36.3, flannel-overlay, 1 Linux and 2 Windows hosts`.
fn heading(cluster: &Cluster) -> String {
    let hosts = &cluster.spec.hosts;
    let windows = hosts.iter().filter(|host| host.os.is_windows()).count();
    let linux = hosts.len() - windows;
    let hosts = match linux {
        0 => output::count(windows, "Windows host"),
        linux => format!(
            "{linux} Linux and {}",
            output::count(windows, "Windows host")
        ),
    };
    let (name, version) = (&cluster.metadata.name, &cluster.spec.kubernetes.version);
    let mode = cluster.spec.network.mode();
    format!("{name}: Kubernetes {version}, {mode}, {hosts}")
}

fn host_summary(host: &HostSurvey) -> String {
    let mut counts = Counts::default();
    host.steps.iter().for_each(|step| counts.add_step(step));
    match host.after_join.is_empty() {
        true => counts.pending(),
        // The network stage is planned when the Node exists.
        false => format!("{}, network known after join", counts.pending()),
    }
}

/// Reports the result, and closes the record.
fn conclude(
    fleet: &Fleet,
    progress: Option<&Progress>,
    outcomes: &[HostOutcome],
    cluster: &ClusterResult,
    interrupts: &InterruptWatch,
) -> Result<(), CommandError> {
    if let Some(progress) = progress {
        progress.finish();
    }
    let unreachable = fleet.unreachable.iter();
    let unreachable = unreachable.map(|(host, error)| (host.as_str(), Err(error)));
    let results = outcomes.iter();
    let results = results.map(|it| (it.host.as_str(), it.result.as_ref().map(|count| *count)));
    let results: Vec<_> = unreachable.chain(results).collect();
    for (host, result) in &results {
        match (result, progress) {
            (Ok(_) | Err(RunError::Canceled { .. }), _) => {}
            (Err(error), Some(progress)) => progress.report_failure(host, error),
            (Err(error), None) => {
                output::report(&format!("\n{host} failed\n"), &errors::problem(error));
            }
        }
    }
    let outcome = outcome(&results);
    let hosts = results
        .iter()
        .map(|(host, result)| summary(host, result, progress, cluster));
    let hosts: Vec<HostSummary> = hosts.collect();
    let record = progress.and_then(|progress| progress.close(outcome, hosts));
    if let Some(dir) = record.and_then(|record| record.dir)
        && outcome != Outcome::Done
    {
        let dir = dir.display();
        output::message(&format!("\nThe record of this run is in {dir}"));
    }
    let steps = results.iter().map(|(_, it)| it.unwrap_or(0) as usize);
    let changed = cluster.changed + steps.sum::<usize>();
    print_outcome(fleet, &results, outcome, changed, interrupts)
}

type HostResult<'a> = (&'a str, Result<u32, &'a RunError>);

/// A canceled run is not reported as failed, even if a host failed before.
fn outcome(results: &[HostResult<'_>]) -> Outcome {
    let canceled = |it: &HostResult<'_>| matches!(it.1, Err(RunError::Canceled { .. }));
    if results.iter().any(canceled) {
        Outcome::Stopped
    } else if results.iter().any(|it| it.1.is_err()) {
        Outcome::Failed
    } else {
        Outcome::Done
    }
}

fn summary(
    host: &str,
    result: &Result<u32, &RunError>,
    progress: Option<&Progress>,
    cluster: &ClusterResult,
) -> HostSummary {
    let problem = |error: &&RunError| match progress {
        Some(progress) => progress.problem(host, error),
        None => errors::problem(error),
    };
    let elapsed = progress.and_then(|progress| progress.elapsed(host));
    HostSummary {
        name: host.to_owned(),
        changed: *result.as_ref().unwrap_or(&0),
        error: result.as_ref().err().map(problem),
        pods: cluster.pod_cidrs.get(host).cloned(),
        seconds: elapsed.map(|elapsed| elapsed.as_secs_f64()),
        ..HostSummary::default()
    }
}

fn print_outcome(
    fleet: &Fleet,
    results: &[HostResult<'_>],
    outcome: Outcome,
    changed: usize,
    interrupts: &InterruptWatch,
) -> Result<(), CommandError> {
    let (elapsed, verb) = (clock::duration(interrupts.elapsed()), interrupts.verb());
    let hosts = output::count(results.len(), "host");
    match outcome {
        Outcome::Failed => {
            let failed = results.iter().filter(|it| it.1.is_err()).count();
            output::message(&format!(
                "{failed} of {hosts} failed after {elapsed}. Run `casement {verb}` to resume."
            ));
            Err(CommandError::reported(1))
        }
        Outcome::Stopped => Err(interrupts.stopped()),
        Outcome::Done if changed == 0 => output::print(&format!(
            "No changes: {hosts} and the cluster are in sync ({elapsed}).\n"
        )),
        Outcome::Done => {
            let windows = fleet.windows();
            let verb = if windows.len() == 1 { "is" } else { "are" };
            let windows = output::list(&windows);
            output::print(&format!("Done in {elapsed}: {windows} {verb} Ready.\n"))
        }
    }
}
