//! `casement plan`.

pub mod offline;

use casement_cluster::ClusterChange;
use casement_diag::Problem;
use casement_report::{Action, Step};
use casement_resource::Diff;
use clap::Args;

use crate::changes;
use crate::counts::Counts;
use crate::errors;
use crate::failure::CommandError;
use crate::fleet::{self, FleetArgs};
use crate::json::{self, HostStep, PlanHost, PlannedObject};
use crate::output;
use crate::read_only;
use crate::signals;
use casement_run::kube::cluster_facts;
use casement_run::read_only::ReadOnlyHost;
use casement_run::survey::{HostSurvey, survey};

/// Show what `apply` would change, without changing it.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Also list unchanged steps, with the reason
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(short, long, value_parser = ["table", "json"], default_value = "table")]
    output: String,
    /// Exit with code 4 if there are changes
    #[arg(long)]
    exit_code: bool,
    /// Plan from the cluster file alone, without connecting to hosts or cluster
    #[arg(long, conflicts_with = "exit_code")]
    offline: bool,
    /// With --offline: assume pod networks for the nodes, in the order of the hosts; the
    /// control plane may assign others
    #[arg(long, requires = "offline")]
    assume_pod_cidrs: bool,
}

pub async fn run_plan(arguments: PlanArgs) -> Result<(), CommandError> {
    if arguments.offline {
        let json = arguments.output == "json";
        return offline::plan(&arguments.fleet.file.file, arguments.assume_pod_cidrs, json);
    }
    let _interrupts = signals::watch("plan");
    let (mut fleet, mut endpoints) = fleet::open(&arguments.fleet).await?;
    // Reading needs fewer permissions than changing; `apply` checks them all.
    let observed = fleet.kube.cluster.observe().await;
    let observed = observed.map_err(|error| error.problem())?;
    let surveys = survey(&mut fleet, &cluster_facts(&observed)).await;
    let changes = fleet.changes(&observed).await;
    let changes = changes.map_err(|error| errors::problem(&error))?;
    let read_only = fleet::inspect_read_only(&fleet, &mut endpoints).await;
    let (mut hosts, mut failed) = (Vec::new(), Vec::new());
    for (name, result) in surveys {
        match result {
            Ok(host) => hosts.push(host),
            Err(error) => failed.push((name, errors::problem(&error))),
        }
    }
    let unreachable = fleet.unreachable.iter();
    failed.extend(unreachable.map(|(name, error)| (name.clone(), errors::problem(error))));
    for (name, problem) in &failed {
        output::report(&format!("{name} failed\n"), problem);
    }
    if arguments.output == "json" {
        json::print(&document(&hosts, failed.clone(), read_only, &changes))?;
    } else {
        let text = text(&hosts, &read_only, &changes, arguments.verbose);
        output::print(&output::encode(&text))?;
    }
    for client in std::mem::take(&mut fleet.clients) {
        client.close().await;
    }
    let pending = !changes.is_empty() || !hosts.iter().all(HostSurvey::in_sync);
    match (!failed.is_empty(), pending && arguments.exit_code) {
        (true, _) => Err(CommandError::reported(1)),
        (false, true) => Err(CommandError::reported(4)),
        (false, false) => Ok(()),
    }
}

fn text(
    hosts: &[HostSurvey],
    read_only: &[ReadOnlyHost],
    changes: &[ClusterChange],
    verbose: bool,
) -> String {
    let mut text = String::new();
    for host in hosts {
        text += &format!("{}\n", host.name);
        let mut unchanged = 0;
        for surveyed in &host.steps {
            match &surveyed.step.result {
                Ok(Diff::InSync { reason, .. }) if verbose => {
                    text += &row("=", &surveyed.name, reason);
                }
                Ok(Diff::InSync { .. }) => unchanged += 1,
                Ok(Diff::Changes(changes)) => {
                    for change in changes {
                        let sign = Action::of(change).sign();
                        text += &row(sign, &surveyed.name, &change.to_string());
                    }
                }
                Err(failure) => text += &row("?", &surveyed.name, &failure.message),
            }
        }
        if unchanged > 0 {
            text += &format!("  = {unchanged} unchanged  (-v lists them with the reason)\n");
        }
        for stage in &host.after_join {
            text += &format!("  + stage {stage:?}: known after join\n");
        }
    }
    for host in read_only {
        text += &read_only::text(host);
    }
    let counts = counts(hosts, changes);
    text + &format!("{}\n{}\n", changes::section(changes), counts.plan())
}

/// One line, cut to the width of the terminal.
fn row(sign: &str, name: &str, value: &str) -> String {
    let line = format!("  {sign} {name:<36} {value}");
    let line = output::cut(
        &output::encode(&line),
        output::stdout_width(),
        output::symbols(),
    );
    format!("{line}\n")
}

fn counts(hosts: &[HostSurvey], changes: &[ClusterChange]) -> Counts {
    let mut counts = Counts::default();
    let steps = hosts.iter().flat_map(|host| &host.steps);
    steps.for_each(|step| counts.add_step(step));
    changes
        .iter()
        .for_each(|change| counts.add_cluster_change(change));
    counts
}

fn document(
    hosts: &[HostSurvey],
    failed: Vec<(String, Problem)>,
    read_only: Vec<ReadOnlyHost>,
    changes: &[ClusterChange],
) -> json::Plan {
    let failed = failed.into_iter().map(|(name, problem)| PlanHost {
        name,
        error: Some(problem),
        ..PlanHost::default()
    });
    let surveyed = hosts.iter().map(|host| PlanHost {
        name: host.name.clone(),
        system: Some(host.system.clone()),
        steps: steps(host).collect(),
        known_after_join: host.after_join.clone(),
        ..PlanHost::default()
    });
    let objects = changes.iter().map(|change| PlannedObject {
        change: changes::object_change(change),
        before: change.before.clone(),
        after: change.after.clone(),
    });
    json::Plan {
        offline: false,
        hosts: surveyed.chain(failed).collect(),
        read_only,
        cluster: objects.collect(),
        summary: counts(hosts, changes),
    }
}

/// The steps of a host in a document.
pub fn steps(host: &HostSurvey) -> impl Iterator<Item = HostStep> {
    host.steps.iter().map(|surveyed| HostStep {
        host: host.name.clone(),
        stage: surveyed.stage,
        step: Step::observed(&surveyed.step.id, &surveyed.name, &surveyed.step.result),
        disruptive: false,
    })
}
