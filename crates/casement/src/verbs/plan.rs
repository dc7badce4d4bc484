//! `casement plan`.

use casement_cluster::ClusterChange;
use casement_diag::Problem;
use casement_resource::Diff;
use clap::Args;
use serde_json::{Value, json};

use crate::controller::{Controller, FleetArgs};
use crate::failure::CommandError;
use crate::read_only::{self, ReadOnly};
use crate::survey::{HostSurvey, survey};
use crate::{changes, offline, output, signals, told};

/// Show what `apply` would change; change nothing.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Also list what is right already, with the reason
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(short, long, value_parser = ["table", "json"], default_value = "table")]
    output: String,
    /// Exit with 4 when something would change
    #[arg(long)]
    exit_code: bool,
    /// Show what the file alone tells, without any host or cluster
    #[arg(long, conflicts_with = "exit_code")]
    offline: bool,
    /// With --offline: give each node a part of the pod network, in the order of
    /// the hosts; the control plane may choose otherwise
    #[arg(long, requires = "offline")]
    assume_pod_cidrs: bool,
}

/// Runs the verb.
pub async fn run_plan(arguments: PlanArgs) -> Result<(), CommandError> {
    if arguments.offline {
        let json = arguments.output == "json";
        return offline::plan(&arguments.fleet.file.file, arguments.assume_pod_cidrs, json);
    }
    let _heed = signals::heed("plan");
    let mut controller = Controller::open(&arguments.fleet).await?;
    let looked = survey(&mut controller).await;
    let looked = looked.map_err(|error| told::problem(&error))?;
    // Reading takes fewer rights than changing: those are `apply`'s to check.
    let builds = controller.windows_builds();
    let changes = controller.kube.changes(&controller.cluster, &builds).await;
    let changes = changes.map_err(|error| told::problem(&error))?;
    let read_only = read_only::look_at(&mut controller).await;
    let (mut hosts, mut failed) = (Vec::new(), Vec::new());
    for (name, result) in looked {
        match result {
            Ok(host) => hosts.push(host),
            Err(error) => failed.push((name, told::problem(&error))),
        }
    }
    let lost = controller.lost.iter();
    failed.extend(lost.map(|(name, error)| (name.clone(), told::problem(error))));
    for (name, problem) in &failed {
        eprint!("{name}\n{}", output::problem(problem));
    }
    if arguments.output == "json" {
        println!("{:#}", document(&hosts, &failed, &read_only, &changes));
    } else {
        show(&hosts, &read_only, &changes, arguments.verbose);
    }
    for link in std::mem::take(&mut controller.links) {
        link.close().await;
    }
    let pending = !changes.is_empty()
        || hosts
            .iter()
            .any(|host| !host.open.is_empty() || !host.steps.iter().all(|step| step.is_right()));
    match (!failed.is_empty(), pending && arguments.exit_code) {
        (true, _) => Err(CommandError::told(1)),
        (false, true) => Err(CommandError::told(4)),
        (false, false) => Ok(()),
    }
}

fn show(hosts: &[HostSurvey], read_only: &[ReadOnly], changes: &[ClusterChange], verbose: bool) {
    let (mut to_do, mut right) = (changes.len(), 0);
    for host in hosts {
        println!("{}", host.name);
        let mut quiet = 0;
        for seen in &host.steps {
            match &seen.step.seen {
                Ok(Diff::Right { reason, .. }) if verbose => {
                    row("=", &seen.what, reason);
                }
                Ok(Diff::Right { .. }) => quiet += 1,
                Ok(Diff::Changes(changes)) => {
                    to_do += 1;
                    for change in changes {
                        row(
                            sign(change.before.is_none()),
                            &seen.what,
                            &change.to_string(),
                        );
                    }
                }
                Err(failure) => {
                    to_do += 1;
                    row("?", &seen.what, &failure.what);
                }
            }
        }
        right += host.steps.iter().filter(|seen| seen.is_right()).count();
        if quiet > 0 {
            println!("  = {quiet} more are right already  (-v lists them with the reason)");
        }
        for stage in &host.open {
            println!("  + stage {stage:?}: known after join");
        }
    }
    for host in read_only {
        print!("{host}");
    }
    print!("{}", changes::shown(changes));
    println!("\n{to_do} to make or change, {right} right. Nothing was changed.");
}

/// One line; on a terminal it is cut to its width, elsewhere it is whole.
fn row(sign: &str, what: &str, value: &str) {
    let line = format!("  {sign} {what:<36} {value}");
    // The last column stays free: a full line makes some terminals wrap.
    let room = terminal_size::terminal_size_of(std::io::stdout());
    let room = room.map_or(usize::MAX, |size| usize::from(size.0.0).saturating_sub(1));
    println!("{}", output::cut(&line, room));
}

fn sign(new: bool) -> &'static str {
    if new { "+" } else { "~" }
}

fn document(
    hosts: &[HostSurvey],
    failed: &[(String, Problem)],
    read_only: &[ReadOnly],
    changes: &[ClusterChange],
) -> Value {
    let failed = failed.iter();
    let failed = failed.map(|(name, it)| json!({"name": name, "code": it.code, "what": it.what}));
    let hosts = hosts.iter().map(|host| {
        json!({
            "name": host.name,
            "system": host.system,
            "steps": host.steps.iter().map(|seen| &seen.step).collect::<Vec<_>>(),
            "knownAfterJoin": host.open,
        })
    });
    json!({
        "hosts": hosts.collect::<Vec<_>>(),
        "failed": failed.collect::<Vec<_>>(),
        "readOnly": read_only,
        "cluster": changes,
    })
}
