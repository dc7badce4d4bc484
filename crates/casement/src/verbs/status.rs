//! `casement status`.

use casement_resource::Diff;
use clap::Args;
use serde_json::json;

use crate::controller::{Controller, FleetArgs};
use crate::failure::CommandError;
use crate::survey::{HostSurvey, survey};
use crate::{columns, output, signals, told};

/// Show the hosts: their Nodes, and whether they are as the file says.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Print JSON
    #[arg(short, long, value_parser = ["table", "json"], default_value = "table")]
    output: String,
}

struct Row {
    host: String,
    system: String,
    node: String,
    state: &'static str,
    what: String,
}

/// Runs the verb; exit code 4 where something has drifted, 1 where a host could
/// not be asked.
pub async fn run_status(arguments: StatusArgs) -> Result<(), CommandError> {
    let _heed = signals::heed("status");
    let mut controller = Controller::open(&arguments.fleet).await?;
    let looked = survey(&mut controller).await;
    let looked = looked.map_err(|error| told::problem(&error))?;
    let facts = controller.kube.cluster.facts().await;
    let facts = facts.map_err(|error| told::cluster(&error))?;
    let node = |name: &str| match facts.node(name) {
        Some(node) if node.ready => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "none".to_owned(),
    };
    let mut rows = Vec::new();
    for (name, result) in &looked {
        rows.push(match result {
            Ok(host) => row(host, node(name)),
            Err(error) => unknown(name, node(name), &told::problem(error).what),
        });
    }
    for (name, error) in &controller.lost {
        rows.push(unknown(name, node(name), &told::problem(error).what));
    }
    let read_only = controller
        .cluster
        .spec
        .hosts
        .iter()
        .filter(|host| !host.managed);
    rows.extend(read_only.map(|host| Row {
        host: host.name.to_string(),
        system: host.os.to_string(),
        node: node(host.name.as_str()),
        state: "read only",
        what: String::new(),
    }));
    for link in std::mem::take(&mut controller.links) {
        link.close().await;
    }
    print(&rows, &arguments.output);
    let has = |state: &str| rows.iter().any(|row| row.state == state);
    match (has("unknown"), has("drifted")) {
        (true, _) => Err(CommandError::told(1)),
        (false, true) => Err(CommandError::told(4)),
        (false, false) => Ok(()),
    }
}

fn row(host: &HostSurvey, node: String) -> Row {
    let wrong: Vec<String> = host
        .steps
        .iter()
        .filter_map(|seen| match &seen.step.seen {
            Ok(Diff::Right { .. }) => None,
            Ok(Diff::Changes(changes)) => {
                let first = changes.first().map(ToString::to_string);
                Some(format!("{}: {}", seen.what, first.unwrap_or_default()))
            }
            Err(failure) => Some(format!("{}: {}", seen.what, failure.what)),
        })
        .collect();
    let what = match wrong.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} (+{} more)", rest.len()),
    };
    Row {
        host: host.name.clone(),
        system: host.system.clone(),
        node,
        state: if wrong.is_empty() && host.open.is_empty() {
            "right"
        } else {
            "drifted"
        },
        what,
    }
}

fn unknown(host: &str, node: String, what: &str) -> Row {
    Row {
        host: host.to_owned(),
        system: String::new(),
        node,
        state: "unknown",
        what: what.to_owned(),
    }
}

fn print(rows: &[Row], form: &str) {
    if form == "json" {
        let hosts = rows.iter().map(|row| {
            json!({
                "host": row.host,
                "system": row.system,
                "node": row.node,
                "state": row.state,
                "what": row.what,
            })
        });
        println!("{:#}", json!({"hosts": hosts.collect::<Vec<_>>()}));
        return;
    }
    // The last column stays free: a full line makes some terminals wrap.
    let room = terminal_size::terminal_size_of(std::io::stdout());
    let room = room.map_or(usize::MAX, |size| usize::from(size.0.0).saturating_sub(1));
    let cells = rows.iter().map(|row| {
        let cells = [&row.host, &row.system, &row.node, row.state, &row.what];
        cells.map(str::to_owned).to_vec()
    });
    let cells: Vec<_> = cells.collect();
    let table = columns::table(&["host", "system", "node", "state", "what"], &cells);
    for line in table.lines() {
        println!("{}", output::cut(line, room));
    }
    let drifted = rows.iter().filter(|row| row.state == "drifted").count();
    if drifted > 0 {
        println!(
            "{drifted} of {} drifted. `casement apply` mends it.",
            rows.len()
        );
    }
}
