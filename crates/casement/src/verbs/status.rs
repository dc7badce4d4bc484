//! `casement status`.

use casement_resource::Diff;
use clap::Args;
use serde_json::json;

use crate::failure::CommandError;
use crate::fleet::{self, FleetArgs};
use crate::{columns, errors, output, signals};
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

struct Row {
    host: String,
    system: String,
    node: String,
    status: &'static str,
    details: String,
}

/// Exit code 4 if a host has drifted, 1 if a host cannot be observed.
pub async fn run_status(arguments: StatusArgs) -> Result<(), CommandError> {
    let _interrupts = signals::watch("status");
    let (mut fleet, _) = fleet::open(&arguments.fleet).await?;
    let surveys = survey(&mut fleet).await;
    let surveys = surveys.map_err(|error| errors::problem(&error))?;
    let facts = fleet.kube.cluster.observe().await;
    let facts = facts.map_err(|error| error.problem())?;
    let node = |name: &str| match facts.node(name) {
        Some(node) if node.ready => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "none".to_owned(),
    };
    let mut rows = Vec::new();
    for (name, result) in &surveys {
        rows.push(match result {
            Ok(host) => row(host, node(name)),
            Err(error) => unknown(name, node(name), &errors::problem(error).what),
        });
    }
    for (name, error) in &fleet.unreachable {
        rows.push(unknown(name, node(name), &errors::problem(error).what));
    }
    let read_only = fleet.cluster.spec.hosts.iter().filter(|host| !host.managed);
    rows.extend(read_only.map(|host| Row {
        host: host.name.to_string(),
        system: host.os.to_string(),
        node: node(host.name.as_str()),
        status: "read only",
        details: String::new(),
    }));
    for client in std::mem::take(&mut fleet.clients) {
        client.close().await;
    }
    print(&rows, &arguments.output)?;
    let has = |status: &str| rows.iter().any(|row| row.status == status);
    match (has("unknown"), has("drifted")) {
        (true, _) => Err(CommandError::reported(1)),
        (false, true) => Err(CommandError::reported(4)),
        (false, false) => Ok(()),
    }
}

fn row(host: &HostSurvey, node: String) -> Row {
    let drifted: Vec<String> = host
        .steps
        .iter()
        .filter_map(|surveyed| match &surveyed.step.result {
            Ok(Diff::InSync { .. }) => None,
            Ok(Diff::Changes(changes)) => {
                let first = changes.first().map(ToString::to_string);
                Some(format!("{}: {}", surveyed.name, first.unwrap_or_default()))
            }
            Err(failure) => Some(format!("{}: {}", surveyed.name, failure.message)),
        })
        .collect();
    let details = match drifted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} (+{} more)", rest.len()),
    };
    Row {
        host: host.name.clone(),
        system: host.system.clone(),
        node,
        status: match host.in_sync() {
            true => "in sync",
            false => "drifted",
        },
        details,
    }
}

fn unknown(host: &str, node: String, details: &str) -> Row {
    Row {
        host: host.to_owned(),
        system: String::new(),
        node,
        status: "unknown",
        details: details.to_owned(),
    }
}

fn print(rows: &[Row], format: &str) -> Result<(), CommandError> {
    if format == "json" {
        let hosts = rows.iter().map(|row| {
            json!({
                "host": row.host,
                "system": row.system,
                "node": row.node,
                "state": row.status,
                "what": row.details,
            })
        });
        let document = json!({"hosts": hosts.collect::<Vec<_>>()});
        return output::print(&format!("{document:#}\n"));
    }
    let cells = rows.iter().map(|row| {
        let details = output::encode(&row.details);
        let cells = [&row.host, &row.system, &row.node, row.status, &details];
        cells.map(str::to_owned).to_vec()
    });
    let cells: Vec<_> = cells.collect();
    let table = columns::table(&["host", "os", "node", "status", "details"], &cells);
    let (width, symbols) = (output::stdout_width(), output::symbols());
    let mut text = String::new();
    for line in table.lines() {
        text += &format!("{}\n", output::cut(line, width, symbols));
    }
    let drifted = rows.iter().filter(|row| row.status == "drifted").count();
    if drifted > 0 {
        let hosts = output::count(rows.len(), "host");
        let them = if drifted == 1 { "it" } else { "them" };
        text += &format!("{drifted} of {hosts} drifted. Run `casement apply` to fix {them}.\n");
    }
    output::print(&text)
}
