//! `casement reset`.

mod removal;

use std::sync::{Mutex, PoisonError};

use casement_cluster::{RestoreOutcome, RestoredField};
use casement_diag::Problem;
use casement_report::record::HostSummary;
use casement_resource::RunId;
use casement_resource::wire::{Event, Outcome};
use casement_run::RunError;
use casement_run::agent_client::AgentClient;
use casement_run::cancel::CancelToken;
use casement_run::host_agent::HostAgent as _;
use casement_run::kube::KubeApi;
use casement_run::reset::{Drain, Reset};
use clap::Args;

use crate::failure::CommandError;
use crate::fleet::{self, FleetArgs};
use crate::json::{self, Format, RestoreResult, RunReport};
use crate::progress::{ClosedRecord, Progress, ProgressArgs, REMOVE, RunRecord};
use crate::signals::InterruptWatch;
use crate::{changes, clock, confirm, errors, output, signals, spec_file};
use casement_run::fleet::{Fleet, refuse_outage};
use removal::Removal;

/// Remove hosts from the cluster, and everything that casement created on them.
#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = true, args = ["hosts", "all"])]
pub struct ResetArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Hosts to reset
    hosts: Vec<String>,
    /// Reset all hosts in the cluster file
    #[arg(long, conflicts_with = "hosts")]
    all: bool,
    /// Also restore the cluster's objects to their prior state
    #[arg(long, requires = "all")]
    cluster: bool,
    /// With --cluster: allow changes that interrupt the network of all pods for about a
    /// minute
    #[arg(long, requires = "cluster")]
    allow_network_outage: bool,
    /// Skip draining the Nodes
    #[arg(long)]
    no_drain: bool,
    /// Skip the confirmation prompt
    #[arg(long)]
    yes: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

impl ResetArgs {
    fn selects(&self, host: &str) -> bool {
        self.all || self.hosts.iter().any(|name| name == host)
    }

    /// How to drain the Node; None if casement did not join the host.
    fn drain(&self, fleet: &Fleet, host: &str) -> Option<Drain> {
        let drain = match self.no_drain {
            true => Drain::Skip,
            false => Drain::First,
        };
        fleet.windows().contains(&host).then_some(drain)
    }
}

pub async fn run_reset(arguments: ResetArgs) -> Result<(), CommandError> {
    let interrupts = signals::watch("reset");
    let (mut fleet, _) = fleet::open_to_remove(&arguments.fleet).await?;
    check_hosts(&arguments, &fleet)?;
    let mut objects = Vec::new();
    if arguments.cluster {
        let changes = fleet.kube.restore_changes().await;
        let changes = changes.map_err(|error| errors::problem(&error))?;
        objects.extend(changes.iter().map(changes::object_change));
        let allowed = arguments.allow_network_outage;
        refuse_outage(&changes, allowed).map_err(|error| errors::problem(&error))?;
    }
    if !arguments.yes {
        confirm_reset(&arguments, &fleet)?;
    }
    let clients = std::mem::take(&mut fleet.clients);
    let (selected, others): (Vec<_>, Vec<_>) = clients
        .into_iter()
        .partition(|client| arguments.selects(client.name()));
    let closing = others.into_iter().map(AgentClient::close);
    fleet.concurrency.all(closing).await;
    let names = selected.iter().map(|client| client.name().to_owned());
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = run_id(&fleet)?;
    let record = RunRecord::begin("reset", &fleet.kube.run, arguments.output.is_json());
    let progress = Progress::begin(&arguments.progress, &names, record);
    let cancel = interrupts.begin_changes(&progress);
    let reset = Reset {
        api: &fleet.kube,
        run: &run,
        cancel: &cancel,
    };
    let resets = selected.into_iter().map(|mut client| {
        client.set_cancel_token(cancel.clone());
        let drain = arguments.drain(&fleet, client.name());
        reset_host(client, &reset, drain, &progress)
    });
    let results = fleet.concurrency.all(resets).await;
    progress.finish();
    let unreachable = std::mem::take(&mut fleet.unreachable).into_iter();
    let unreachable = unreachable.filter(|(name, _)| arguments.selects(name));
    let unreachable = unreachable.map(|(name, error)| (name, Err(error)));
    let results: Vec<HostResult> = results.into_iter().chain(unreachable).collect();
    let mut outcome = print_results(&results, &progress, &interrupts, arguments.output);
    let mut restored = None;
    if outcome.is_ok() && arguments.cluster {
        progress.planned_cluster(objects);
        let fields = restore(&fleet, &cancel, &interrupts).await;
        outcome = fields.map(|fields| restored = Some(fields));
    }
    if let Some(fields) = &restored {
        print_restored(fields, arguments.output)?;
    }
    let record = close(&progress, &results, &outcome);
    let error = outcome.as_ref().err().and_then(CommandError::problem);
    if let Some(report) = RunReport::of(arguments.output, record, error) {
        let restored = restored.map(|fields| fields.into_iter().map(restored_field).collect());
        json::print(&json::Reset { report, restored })?;
    }
    outcome.map_err(CommandError::report)?;
    let elapsed = clock::duration(interrupts.elapsed());
    arguments.output.print(&format!("Done in {elapsed}.\n"))
}

type HostResult = (String, Result<Removal, RunError>);

fn run_id(fleet: &Fleet) -> Result<RunId, Problem> {
    let run = format!("{}-remove", fleet.kube.run);
    run.parse().map_err(|error: casement_resource::NameError| {
        Problem::new("CAS-CTL-003", error.to_string(), "run the command again")
    })
}

/// Fails if a host failed or was canceled.
fn print_results(
    results: &[HostResult],
    progress: &Progress,
    interrupts: &InterruptWatch,
    format: Format,
) -> Result<(), CommandError> {
    for (names, removal) in grouped(results) {
        format.print(&format!("{}: {removal}\n", output::list(&names)))?;
    }
    let errors = results.iter();
    let errors = errors.filter_map(|(name, result)| Some((name, result.as_ref().err()?)));
    let is_canceled = |error: &RunError| matches!(error, RunError::Canceled { .. });
    let (canceled, failed): (Vec<_>, Vec<_>) = errors.partition(|(_, error)| is_canceled(error));
    for (name, error) in &failed {
        progress.report_failure(name, error);
    }
    if !canceled.is_empty() {
        return Err(interrupts.stopped());
    }
    if !failed.is_empty() {
        let hosts = output::count(results.len(), "host");
        output::message(&format!(
            "\n{} of {hosts} failed. Run `casement reset` again to resume.",
            failed.len()
        ));
        return Err(CommandError::reported(1));
    }
    Ok(())
}

/// Closes the record.
fn close(
    progress: &Progress,
    results: &[HostResult],
    outcome: &Result<(), CommandError>,
) -> Option<ClosedRecord> {
    let outcome = match outcome {
        Ok(()) => Outcome::Done,
        Err(error) if error.exit_code() == signals::INTERRUPTED => Outcome::Stopped,
        Err(_) => Outcome::Failed,
    };
    let hosts = results.iter().map(|(name, result)| {
        let elapsed = progress.elapsed(name);
        let summary = HostSummary {
            name: name.clone(),
            seconds: elapsed.map(clock::seconds),
            ..HostSummary::default()
        };
        match result {
            Ok(removal) => HostSummary {
                removed: removal.removed.clone(),
                ..summary
            },
            Err(error) => HostSummary {
                error: Some(progress.problem(name, error)),
                ..summary
            },
        }
    });
    progress.close(outcome, hosts.collect())
}

/// Hosts with the same result share a line.
fn grouped(results: &[HostResult]) -> Vec<(Vec<&str>, String)> {
    let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
    for (name, result) in results {
        let Ok(removal) = result else { continue };
        let removal = removal.to_string();
        match groups.iter_mut().find(|(_, known)| *known == removal) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], removal)),
        }
    }
    groups
}

fn check_hosts(arguments: &ResetArgs, fleet: &Fleet) -> Result<(), CommandError> {
    let help = "use host names from the cluster file, or `--all`";
    for name in &arguments.hosts {
        spec_file::host(&fleet.cluster, name, help)?;
    }
    Ok(())
}

fn confirm_reset(arguments: &ResetArgs, fleet: &Fleet) -> Result<(), CommandError> {
    let hosts = fleet.cluster.spec.hosts.iter();
    let hosts = hosts
        .filter(|host| host.managed)
        .map(|host| host.name.as_str());
    let selected: Vec<&str> = hosts.filter(|name| arguments.selects(name)).collect();
    let names = selected.join(", ");
    output::message(&format!(
        "{names} will be removed from the cluster, with everything that casement created there."
    ));
    if arguments.cluster {
        output::message("The cluster's objects will be restored to their prior state.");
    }
    let question = format!("Reset {}?", output::list(&selected));
    confirm::ask(&question)
}

async fn reset_host(
    client: AgentClient,
    reset: &Reset<'_, KubeApi>,
    drain: Option<Drain>,
    progress: &Progress,
) -> HostResult {
    let name = client.name().to_owned();
    let removal = Mutex::new(Removal::default());
    let on_event = |event: &Event| {
        let mut removal = removal.lock().unwrap_or_else(PoisonError::into_inner);
        removal.on_event(&event.kind);
        progress.on_agent_event(&name, REMOVE, event);
    };
    let waiting = |reason: String| progress.waiting(&name, &reason);
    let result = reset.reset_host(client, drain, &on_event, &waiting).await;
    let removal = removal.into_inner().unwrap_or_else(PoisonError::into_inner);
    let count = u32::try_from(removal.removed.len()).unwrap_or(u32::MAX);
    let result = result.map(|()| count);
    progress.host_ended(&name, result.as_ref().copied());
    (name, result.map(|_| removal))
}

async fn restore(
    fleet: &Fleet,
    cancel: &CancelToken,
    interrupts: &InterruptWatch,
) -> Result<Vec<RestoredField>, CommandError> {
    let print = |text: String| output::message(&format!("cluster: {text}"));
    let restore = fleet.kube.restore(&print);
    match cancel.run("the cluster", restore).await {
        Err(RunError::Canceled { .. }) => Err(interrupts.stopped()),
        restored => Ok(restored.map_err(|error| errors::problem(&error))?),
    }
}

fn print_restored(restored: &[RestoredField], format: Format) -> Result<(), CommandError> {
    let mut kept = 0;
    for field in restored {
        if let RestoreOutcome::Kept { ours, found } = &field.outcome {
            kept += 1;
            let text = format!(
                "{} {}: kept, because it was changed by someone else\n  \
                 set by casement  {}\n  found            {}\n",
                field.object,
                field.field,
                changes::value(ours.as_ref()),
                changes::value(found.as_ref()),
            );
            format.print(&output::encode(&text))?;
        }
    }
    format.print(match kept {
        0 => "The cluster's objects are restored.\n",
        _ => "All other cluster objects are restored.\n",
    })
}

fn restored_field(restored: RestoredField) -> json::RestoredField {
    let (result, expected, found) = match restored.outcome {
        RestoreOutcome::Restored => (RestoreResult::Restored, None, None),
        RestoreOutcome::Already => (RestoreResult::Unchanged, None, None),
        RestoreOutcome::Gone => (RestoreResult::ObjectMissing, None, None),
        RestoreOutcome::Kept { ours, found } => (RestoreResult::Kept, ours, found),
    };
    json::RestoredField {
        object: restored.object,
        field: restored.field,
        result,
        expected,
        found,
    }
}
