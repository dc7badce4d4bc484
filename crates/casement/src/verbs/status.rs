//! `casement status`.

use casement_diag::Problem;
use casement_report::Action;
use clap::Args;

use crate::failure::CommandError;
use crate::fleet::{self, FleetArgs};
use crate::json::{self, HostStatus, SyncStatus};
use crate::verbs::plan::steps;
use crate::{columns, errors, output, signals};
use casement_run::kube::cluster_facts;
use casement_run::survey::{HostSurvey, survey};

/// Show the hosts, their Nodes, and whether they are in sync with the file.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Output format
    #[arg(short, long, value_parser = ["table", "json"], default_value = "table")]
    output: String,
}

/// Exit code 4 if a host has drifted, 1 if a host cannot be observed.
pub async fn run_status(arguments: StatusArgs) -> Result<(), CommandError> {
    let _interrupts = signals::watch("status");
    let (mut fleet, _) = fleet::open(&arguments.fleet).await?;
    let facts = fleet.kube.cluster.observe().await;
    let facts = facts.map_err(|error| error.problem())?;
    let surveys = survey(&mut fleet, &cluster_facts(&facts)).await;
    let node = |name: &str| match facts.node(name) {
        Some(node) if node.ready => "Ready",
        Some(_) => "NotReady",
        None => "none",
    };
    let mut hosts = Vec::new();
    for (name, result) in &surveys {
        hosts.push(match result {
            Ok(host) => observed(host, node(name)),
            Err(error) => unknown(name, node(name), errors::problem(error)),
        });
    }
    for (name, error) in &fleet.unreachable {
        hosts.push(unknown(name, node(name), errors::problem(error)));
    }
    let read_only = fleet.cluster.spec.hosts.iter().filter(|host| !host.managed);
    hosts.extend(read_only.map(|host| HostStatus {
        system: host.os.to_string(),
        status: SyncStatus::ReadOnly,
        ..without_details(host.name.as_str(), node(host.name.as_str()))
    }));
    for client in std::mem::take(&mut fleet.clients) {
        client.close().await;
    }
    let has = |status: SyncStatus| hosts.iter().any(|host| host.status == status);
    let exit = match (has(SyncStatus::Unknown), has(SyncStatus::Drifted)) {
        (true, _) => Err(CommandError::reported(1)),
        (false, true) => Err(CommandError::reported(4)),
        (false, false) => Ok(()),
    };
    match arguments.output.as_str() {
        "json" => json::print(&json::Status { hosts })?,
        _ => output::print(&text(&hosts))?,
    }
    exit
}

fn without_details(host: &str, node: &'static str) -> HostStatus {
    HostStatus {
        name: host.to_owned(),
        system: String::new(),
        node,
        status: SyncStatus::Unknown,
        drift: Vec::new(),
        known_after_join: Vec::new(),
        error: None,
    }
}

fn observed(host: &HostSurvey, node: &'static str) -> HostStatus {
    let drift = steps(host).filter(|step| step.step.action != Action::None);
    HostStatus {
        system: host.system.clone(),
        status: match host.in_sync() {
            true => SyncStatus::InSync,
            false => SyncStatus::Drifted,
        },
        drift: drift.collect(),
        known_after_join: host.after_join.clone(),
        ..without_details(&host.name, node)
    }
}

fn unknown(host: &str, node: &'static str, problem: Problem) -> HostStatus {
    HostStatus {
        error: Some(problem),
        ..without_details(host, node)
    }
}

/// The first difference, and how many there are besides.
fn details(host: &HostStatus) -> String {
    if let Some(error) = &host.error {
        return error.what.clone();
    }
    let Some((first, rest)) = host.drift.split_first() else {
        return String::new();
    };
    let difference = match (&first.step.error, first.step.changes.first()) {
        (Some(error), _) => error.what.clone(),
        (None, change) => change.map(ToString::to_string).unwrap_or_default(),
    };
    let text = format!("{}: {difference}", first.step.identity());
    match rest.len() {
        0 => text,
        more => format!("{text} (+{more} more)"),
    }
}

fn text(hosts: &[HostStatus]) -> String {
    let cells = hosts.iter().map(|host| {
        let details = details(host);
        let details = output::encode(&details);
        let status = match host.status {
            SyncStatus::InSync => "in sync",
            SyncStatus::Drifted => "drifted",
            SyncStatus::Unknown => "unknown",
            SyncStatus::ReadOnly => "read only",
        };
        let cells = [&host.name, &host.system, host.node, status, &details];
        cells.map(str::to_owned).to_vec()
    });
    let cells: Vec<_> = cells.collect();
    let table = columns::table(&["host", "os", "node", "status", "details"], &cells);
    let (width, symbols) = (output::stdout_width(), output::symbols());
    let mut text = String::new();
    for line in table.lines() {
        text += &format!("{}\n", output::cut(line, width, symbols));
    }
    let is_drifted = |host: &&HostStatus| host.status == SyncStatus::Drifted;
    let drifted = hosts.iter().filter(is_drifted).count();
    if drifted > 0 {
        let hosts = output::count(hosts.len(), "host");
        let them = if drifted == 1 { "it" } else { "them" };
        text += &format!("{drifted} of {hosts} drifted. Run `casement apply` to fix {them}.\n");
    }
    text
}
