//! `casement apply`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use casement_cluster::ClusterChange;
use casement_diag::Problem;
use casement_plan::ClusterFacts;
use casement_report::RunBuilder;
use casement_report::record::{HostSummary, Summary};
use casement_resource::wire::Outcome;
use casement_run::RunError;
use casement_run::agent_client::AgentClient;
use casement_run::apply::{Apply, ApplyReport, HostOutcome, RunEvent};
use casement_run::cancel::CancelToken;
use casement_run::concurrency::Concurrency;
use casement_run::unavailable::UnavailableLimit;
use casement_spec::Cluster;
use clap::Args;
use serde_json::Value;

use crate::counts::Counts;
use crate::failure::CommandError;
use crate::fetch::DownloadArgs;
use crate::fleet::{self, FileArgs, FleetArgs};
use crate::json::{self, Format, Joined, RunReport};
use crate::progress::{self, ClosedRecord, Progress, ProgressArgs, RunRecord};
use crate::signals::InterruptWatch;
use crate::{changes, clock, confirm, errors, output, read_only, signals};
use casement_run::fleet::{Fleet, refuse_outage};
use casement_run::host_agent::HostAgent as _;
use casement_run::kube::cluster_facts;
use casement_run::read_only::ReadOnlyHost;
use casement_run::run_host::{ObservedDocument, RunHost};
use casement_run::survey::{HostSurvey, SurveyResult, survey};

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
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    pub progress: ProgressArgs,
    /// The file, if `join` generated it
    #[arg(skip)]
    joined: Option<Joined>,
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
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

impl ApplyArgs {
    /// For all hosts of a file that `join` generated.
    pub fn new(file: PathBuf, cluster: Value, run: RunArgs) -> Self {
        let joined = Joined {
            file: file.display().to_string(),
            cluster,
        };
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
            output: run.output,
            progress: run.progress,
            joined: Some(joined),
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
    if !fleet.reaches_a_windows_host() {
        // Nothing would use the changes to the cluster.
        let ending = Ending {
            fleet: &fleet,
            progress: None,
            interrupts,
            document: RunDocument::new(&arguments, Vec::new()),
        };
        return ending.conclude(&[], &ClusterResult::default());
    }
    let plan = plan_cluster(&fleet, arguments.allow_network_outage).await;
    let plan = plan.map_err(|error| errors::problem(&error))?;
    let read_only = fleet::inspect_read_only(&fleet, &mut endpoints).await;
    for host in &read_only {
        output::message(&read_only::text(host));
    }
    let mut surveys = Vec::new();
    if !arguments.yes {
        surveys = survey(&mut fleet, &plan.facts).await;
        confirm_plan(&fleet, &plan.changes, &surveys)?;
    }
    let mut record = RunRecord::begin("apply", &kube.run, arguments.output.is_json());
    record.planned_cluster(plan.changes.iter().map(changes::object_change).collect());
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
    let document = RunDocument::new(&arguments, read_only);
    let report = match executor.run(&mut fleet, &plan, surveys).await {
        Ok(report) => report,
        Err(error) => {
            let problem = errors::problem(&error);
            let record = progress.abandon(Outcome::Failed, &problem);
            document.print(record, Some(&problem))?;
            return Err(CommandError::from(problem).report());
        }
    };
    let cluster = ClusterResult {
        changed: plan.changes.len(),
        pod_cidrs: pod_cidrs(report.facts),
    };
    let ending = Ending {
        fleet: &fleet,
        progress: Some(&progress),
        interrupts,
        document,
    };
    ending.conclude(&report.hosts, &cluster)
}

/// The cluster as it was read before the user confirmed, and what has to change in it.
struct ClusterPlan {
    facts: ClusterFacts,
    changes: Vec<ClusterChange>,
}

/// # Errors
/// Before anything changes: missing permissions, everything that keeps Windows nodes out,
/// and an outage that was not allowed.
async fn plan_cluster(fleet: &Fleet, allow_outage: bool) -> Result<ClusterPlan, RunError> {
    let observed = fleet.kube.observe_permitted(&fleet.cluster).await?;
    let changes = fleet.changes(&observed).await?;
    refuse_outage(&changes, allow_outage)?;
    Ok(ClusterPlan {
        facts: cluster_facts(&observed),
        changes,
    })
}

fn pod_cidrs(facts: ClusterFacts) -> BTreeMap<String, String> {
    let nodes = facts.nodes.into_iter();
    let pods = nodes.filter_map(|node| Some((node.name, node.pods?.to_string())));
    pods.collect()
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
        plan: &ClusterPlan,
        surveys: Vec<SurveyResult>,
    ) -> Result<ApplyReport, RunError> {
        match self.change_cluster(fleet, &plan.changes).await {
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
            facts: &plan.facts,
            run: &fleet.kube.run,
            cancel: self.cancel,
            concurrency: fleet.concurrency,
            unavailable: UnavailableLimit::at_most(self.max_unavailable),
            on_event: &|event: RunEvent<'_>| self.progress.on_run_event(&event),
        };
        let report = apply.run(surveyed_hosts(&mut clients, surveys)).await;
        let closing = clients.into_iter().map(AgentClient::close);
        fleet.concurrency.all(closing).await;
        report
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
}

/// The hosts with what the survey found on them, if there was one and they answered it.
fn surveyed_hosts(
    clients: &mut [AgentClient],
    surveys: Vec<SurveyResult>,
) -> Vec<RunHost<'_, AgentClient>> {
    let mut known: BTreeMap<String, Vec<ObservedDocument>> = surveys
        .into_iter()
        .filter_map(|(name, survey)| Some((name, survey.ok()?.documents)))
        .collect();
    let hosts = clients.iter_mut().map(|client| {
        let documents = known.remove(client.name());
        RunHost::new(client, documents.unwrap_or_default())
    });
    hosts.collect()
}

/// Shows a summary of the plan and prompts for confirmation.
fn confirm_plan(
    fleet: &Fleet,
    changes: &[ClusterChange],
    surveys: &[SurveyResult],
) -> Result<(), CommandError> {
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
    for (name, survey) in surveys {
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
    confirm::ask("Apply?")
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

/// What a run is reported with when it ends.
struct Ending<'a> {
    fleet: &'a Fleet,
    /// None if nothing was changed.
    progress: Option<&'a Progress>,
    interrupts: &'a InterruptWatch,
    document: RunDocument<'a>,
}

impl Ending<'_> {
    /// Reports the result, and closes the record.
    fn conclude(
        self,
        outcomes: &[HostOutcome],
        cluster: &ClusterResult,
    ) -> Result<(), CommandError> {
        let progress = self.progress;
        if let Some(progress) = progress {
            progress.finish();
        }
        let unreachable = self.fleet.unreachable.iter();
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
        let record = self.close(outcome, &results, cluster);
        let dir = record.as_ref().and_then(|record| record.dir.as_ref());
        if let Some(dir) = dir
            && outcome != Outcome::Done
        {
            let dir = dir.display();
            output::message(&format!("\nThe record of this run is in {dir}"));
        }
        let steps = results.iter().map(|(_, it)| it.unwrap_or(0) as usize);
        let changed = cluster.changed + steps.sum::<usize>();
        self.document.print(record, None)?;
        self.print_outcome(&results, outcome, changed)
    }

    fn close(
        &self,
        outcome: Outcome,
        results: &[HostResult<'_>],
        cluster: &ClusterResult,
    ) -> Option<ClosedRecord> {
        let hosts = results.iter();
        let hosts = hosts.map(|(host, it)| summary(host, it, self.progress, cluster));
        let hosts: Vec<HostSummary> = hosts.collect();
        let Some(progress) = self.progress else {
            let summary = Summary {
                head: progress::head("apply"),
                seconds: clock::seconds(self.interrupts.elapsed()),
                outcome,
                hosts,
                write_error: None,
            };
            let run = RunBuilder::default().finish(None, Some(&summary));
            return Some(ClosedRecord {
                dir: None,
                run: Some(run),
            });
        };
        progress.close(outcome, hosts)
    }

    fn print_outcome(
        &self,
        results: &[HostResult<'_>],
        outcome: Outcome,
        changed: usize,
    ) -> Result<(), CommandError> {
        let interrupts = self.interrupts;
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
            Outcome::Done if changed == 0 => self.document.format.print(&format!(
                "No changes: {hosts} and the cluster are in sync ({elapsed}).\n"
            )),
            Outcome::Done => {
                let windows = self.fleet.windows();
                let verb = if windows.len() == 1 { "is" } else { "are" };
                let windows = output::list(&windows);
                let text = format!("Done in {elapsed}: {windows} {verb} Ready.\n");
                self.document.format.print(&text)
            }
        }
    }
}

/// What the document of the run has beside its record.
struct RunDocument<'a> {
    format: Format,
    joined: Option<&'a Joined>,
    read_only: Vec<ReadOnlyHost>,
}

impl<'a> RunDocument<'a> {
    fn new(arguments: &'a ApplyArgs, read_only: Vec<ReadOnlyHost>) -> Self {
        Self {
            format: arguments.output,
            joined: arguments.joined.as_ref(),
            read_only,
        }
    }

    /// Nothing in text, or if an immediate exit has closed the record.
    fn print(
        &self,
        record: Option<ClosedRecord>,
        error: Option<&Problem>,
    ) -> Result<(), CommandError> {
        let Some(report) = RunReport::of(self.format, record, error) else {
            return Ok(());
        };
        let read_only = self.read_only.clone();
        let apply = json::Apply { report, read_only };
        match self.joined.cloned() {
            Some(joined) => json::print(&json::Join { joined, apply }),
            None => json::print(&apply),
        }
    }
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
        seconds: elapsed.map(clock::seconds),
        ..HostSummary::default()
    }
}
