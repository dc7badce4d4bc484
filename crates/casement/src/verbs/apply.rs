//! `casement apply`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use casement_cluster::ClusterChange;
use casement_run::RunError;
use casement_run::apply::{Apply, Happening, HostOutcome};
use casement_run::link::Link;
use casement_run::many::AtOnce;
use casement_run::stop::Stop;
use casement_run::unavailable::Unavailable;
use clap::Args;
use serde_json::{Value, json};

use crate::controller::{Controller, FileArgs, FleetArgs};
use crate::failure::CommandError;
use crate::fetch::DownloadArgs;
use crate::progress::{Progress, ProgressArgs, RunRecord};
use crate::signals::Heed;
use crate::survey::{HostSurvey, survey};
use crate::{changes, clock, confirm, output, read_only, signals, told};

/// Make the hosts and the cluster what the file says.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Only this host of the file; may be given again
    #[arg(long, value_name = "HOST")]
    only: Vec<String>,
    /// How many hosts may be cut off or reboot at once, each until its Node is Ready
    /// again; otherwise all of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    max_unavailable: Option<u16>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Agree to changes that stop the network of all pods for about a minute
    #[arg(long)]
    allow_network_outage: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// What `join` takes of it.
#[derive(Debug, Args)]
pub struct HowArgs {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Agree to changes that stop the network of all pods for about a minute
    #[arg(long)]
    allow_network_outage: bool,
    /// The folder with casement-node.exe
    #[arg(long)]
    agent_dir: Option<PathBuf>,
    /// Trust a host whose SSH key is not known yet, and write it down
    #[arg(long)]
    accept_new_host_keys: bool,
    #[command(flatten)]
    downloads: DownloadArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

impl ApplyArgs {
    /// All hosts of a file.
    pub fn of(file: PathBuf, how: HowArgs) -> Self {
        Self {
            fleet: FleetArgs {
                file: FileArgs {
                    file,
                    agent_dir: how.agent_dir,
                    accept_new_host_keys: how.accept_new_host_keys,
                },
                parallel: AtOnce::default(),
                downloads: how.downloads,
            },
            only: Vec::new(),
            max_unavailable: None,
            yes: how.yes,
            allow_network_outage: how.allow_network_outage,
            progress: how.progress,
        }
    }
}

/// Runs the verb.
pub async fn run_apply(arguments: ApplyArgs) -> Result<(), CommandError> {
    apply(arguments, &signals::heed("apply")).await
}

/// The same for whichever verb a person has typed.
pub async fn apply(arguments: ApplyArgs, heed: &Heed) -> Result<(), CommandError> {
    let mut controller = Controller::open_some(&arguments.fleet, &arguments.only).await?;
    let kube = controller.kube.clone();
    let changes = if controller.reaches_a_windows_host() {
        let changes = controller.changes(arguments.allow_network_outage).await;
        changes.map_err(|error| told::problem(&error))?
    } else {
        // Nobody would use what is made for them in the cluster.
        return conclude(&controller, None, &[], &Made::default(), heed);
    };
    for look in read_only::look_at(&mut controller).await {
        output::say(&look.to_string());
    }
    if !arguments.yes {
        ask(&mut controller, &changes).await?;
    }
    let mut record = RunRecord::begin("apply", &kube.run);
    let objects: Vec<String> = changes.iter().map(|it| it.object.to_string()).collect();
    if let Some(record) = &mut record {
        record.planned_cluster(&objects);
    }
    let progress = Progress::begin(&arguments.progress, &controller.met(), record);
    for (host, error) in &controller.lost {
        progress.ended(host, Err(error));
    }
    let stop = heed.working(&progress);
    let work = Work {
        progress: &progress,
        stop: &stop,
        max_unavailable: arguments.max_unavailable,
    };
    let outcomes = work.carry_out(&mut controller, &changes).await;
    let outcomes = outcomes.map_err(|error| {
        let problem = told::problem(&error);
        progress.give_up("failed", &problem.what);
        problem
    })?;
    let made = Made {
        objects: changes.len(),
        pods: work.pods(&controller).await,
    };
    conclude(&controller, Some(&progress), &outcomes, &made, heed)
}

/// What there is in the cluster at the end, for the record.
#[derive(Default)]
struct Made {
    /// How many objects were changed.
    objects: usize,
    /// The network of each Node's pods.
    pods: BTreeMap<String, String>,
}

/// How it is carried out.
struct Work<'a> {
    progress: &'a Progress,
    stop: &'a Stop,
    max_unavailable: Option<u16>,
}

impl Work<'_> {
    /// First the cluster, then the hosts.
    async fn carry_out(
        &self,
        controller: &mut Controller,
        changes: &[ClusterChange],
    ) -> Result<Vec<HostOutcome>, RunError> {
        match self.change_cluster(controller, changes).await {
            // The hosts say that they were stopped.
            Err(RunError::Stopped { .. }) => {}
            changed => changed?,
        }
        let mut links = std::mem::take(&mut controller.links);
        for link in &mut links {
            link.heed(self.stop.clone());
        }
        let apply = Apply {
            cluster: &controller.cluster,
            inputs: &controller.inputs,
            blobs: &controller.blobs,
            api: &controller.kube,
            run: &controller.kube.run,
            stop: self.stop,
            at_once: controller.at_once,
            unavailable: Unavailable::at_most(self.max_unavailable),
            tell: &|happening: Happening<'_>| self.progress.hear(&happening),
        };
        let outcomes = apply.carry_out(&mut links).await;
        let good_byes = links.into_iter().map(Link::close);
        controller.at_once.all(good_byes).await;
        outcomes
    }

    /// Each change is whole or is made by the next run: what is due is written down in
    /// the cluster before it.
    async fn change_cluster(
        &self,
        controller: &Controller,
        changes: &[ClusterChange],
    ) -> Result<(), RunError> {
        let tell = |text: String| self.progress.line(&format!("cluster: {text}"));
        for change in changes {
            tell(change.object.to_string());
            let cluster = &controller.kube.cluster;
            let change = async { Ok(cluster.carry_out_telling(change, &tell).await?) };
            self.stop.heeded("the cluster", change).await?;
        }
        Ok(())
    }

    /// A record is worth having without them.
    async fn pods(&self, controller: &Controller) -> BTreeMap<String, String> {
        let facts = self.stop.heeded("the cluster", controller.facts()).await;
        let nodes = facts.map(|facts| facts.nodes);
        let nodes = nodes.unwrap_or_default().into_iter();
        let pods = nodes.filter_map(|node| Some((node.name, node.pods?.to_string())));
        pods.collect()
    }
}

/// Shows what would change, and asks.
async fn ask(controller: &mut Controller, changes: &[ClusterChange]) -> Result<(), CommandError> {
    let surveys = survey(controller).await;
    let surveys = surveys.map_err(|error| told::problem(&error))?;
    let cluster = &controller.cluster;
    let hosts = cluster.spec.hosts.len();
    output::say(&format!(
        "{}: Kubernetes {}, {hosts} hosts\n\n  {:<20}  {} objects change",
        cluster.metadata.name,
        cluster.spec.kubernetes.version,
        "cluster",
        changes.len(),
    ));
    for change in changes.iter().filter(|change| change.outage.is_some()) {
        output::say(&format!("  {:<20}  {}", "", changes::line(change)));
    }
    for (name, answer) in &surveys {
        let told = match answer {
            Ok(answer) => format!("{:<24} {}", to_do(answer), answer.system),
            Err(error) => error.to_string(),
        };
        output::say(&format!("  {name:<20}  {told}"));
    }
    for (name, error) in &controller.lost {
        output::say(&format!("  {name:<20}  {error}"));
    }
    output::say("\n");
    confirm::ask("Apply this?", "casement apply --yes")
}

fn to_do(host: &HostSurvey) -> String {
    let pending = host.steps.iter().filter(|step| !step.is_right()).count();
    match (pending, host.open.is_empty()) {
        (0, true) => "nothing to do".to_owned(),
        (pending, true) => format!("{pending} to change"),
        // What the network needs is known when the Node is there.
        (pending, false) => format!("{pending} and the network"),
    }
}

/// Says how it ended, and leaves the record.
fn conclude(
    controller: &Controller,
    progress: Option<&Progress>,
    outcomes: &[HostOutcome],
    made: &Made,
    heed: &Heed,
) -> Result<(), CommandError> {
    if let Some(progress) = progress {
        progress.finish();
    }
    let problem = |host: &str, error: &RunError| match progress {
        Some(progress) => progress.problem(host, error),
        None => told::problem(error),
    };
    let lost = controller.lost.iter();
    let lost = lost.map(|(host, error)| (host.as_str(), Err(error)));
    let results = outcomes.iter();
    let results = results.map(|it| (it.host.as_str(), it.result.as_ref().map(|count| *count)));
    let results: Vec<_> = lost.chain(results).collect();
    for (host, result) in &results {
        match result {
            Err(RunError::Stopped { .. }) => {}
            Err(error) => output::say_problem(&format!("\n{host}\n"), &problem(host, error)),
            Ok(_) => {}
        }
    }
    let end = End::of(&results);
    let hosts = results.iter();
    let took = |host: &str| progress.and_then(|progress| progress.took(host));
    let hosts = hosts.map(|(host, it)| summary(host, it, took(host), made.pods.get(*host)));
    let hosts: Vec<Value> = hosts.collect();
    let folder = progress.and_then(|progress| progress.close(end.word(), &hosts));
    if let Some(folder) = folder
        && end != End::Done
    {
        let folder = folder.display();
        output::say(&format!("\nThe record of this run is in {folder}"));
    }
    let changed = made.objects
        + results
            .iter()
            .map(|(_, it)| it.unwrap_or(0) as usize)
            .sum::<usize>();
    say_end(controller, &results, end, changed, heed)
}

/// How a run ended as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Stopped,
    Failed,
}

type HostResult<'a> = (&'a str, Result<u32, &'a RunError>);

impl End {
    /// Who was stopped is not said to have failed, whatever failed before.
    fn of(results: &[HostResult<'_>]) -> Self {
        let stopped = |it: &HostResult<'_>| matches!(it.1, Err(RunError::Stopped { .. }));
        if results.iter().any(stopped) {
            Self::Stopped
        } else if results.iter().any(|it| it.1.is_err()) {
            Self::Failed
        } else {
            Self::Done
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

fn summary(
    host: &str,
    result: &Result<u32, &RunError>,
    took: Option<Duration>,
    pods: Option<&String>,
) -> Value {
    let seconds = took.map(|took| took.as_secs_f64());
    match result {
        Ok(changed) => json!({"name": host, "changed": changed, "seconds": seconds, "pods": pods}),
        Err(error) => {
            let error = error.to_string();
            json!({"name": host, "error": error, "seconds": seconds, "pods": pods})
        }
    }
}

fn say_end(
    controller: &Controller,
    results: &[HostResult<'_>],
    end: End,
    changed: usize,
    heed: &Heed,
) -> Result<(), CommandError> {
    let (took, verb) = (clock::duration(heed.elapsed()), heed.verb());
    let hosts = results.len();
    match end {
        End::Failed => {
            let failed = results.iter().filter(|it| it.1.is_err()).count();
            output::say(&format!(
                "{failed} of {hosts} hosts failed after {took}; `casement {verb}` goes on from there"
            ));
            Err(CommandError::told(1))
        }
        End::Stopped => Err(heed.stopped()),
        End::Done if changed == 0 => output::print(&format!(
            "Nothing to do: {hosts} hosts and the cluster are as the file says ({took}).\n"
        )),
        End::Done => {
            let windows = controller.windows();
            let verb = if windows.len() == 1 { "is" } else { "are" };
            let windows = output::listed(&windows);
            output::print(&format!("Done in {took}: {windows} {verb} Ready.\n"))
        }
    }
}
