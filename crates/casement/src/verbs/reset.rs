//! `casement reset`.

#[path = "reset/removal.rs"]
mod proof;

use std::sync::{Mutex, PoisonError};

use casement_cluster::RestoredHow;
use casement_diag::Problem;
use casement_resource::RunId;
use casement_resource::wire::Event;
use casement_run::RunError;
use casement_run::kube::Kube;
use casement_run::link::Link;
use casement_run::reset::{Drain, Reset};
use casement_run::stop::Stop;
use clap::Args;
use serde_json::json;

use crate::controller::{Controller, FleetArgs, refuse_outage};
use crate::failure::CommandError;
use crate::progress::{Progress, ProgressArgs, REMOVE, RunRecord};
use crate::signals::Heed;
use crate::{changes, clock, confirm, output, signals, spec_file, told};
use proof::Proof;

/// Take hosts out of the cluster and remove what casement put there.
#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = true, args = ["hosts", "all"])]
pub struct ResetArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// The hosts
    hosts: Vec<String>,
    /// All hosts of the file
    #[arg(long, conflicts_with = "hosts")]
    all: bool,
    /// Also put the cluster's objects back as they were
    #[arg(long, requires = "all")]
    cluster: bool,
    /// With --cluster: agree to changes that stop the network of all pods for about
    /// a minute
    #[arg(long, requires = "cluster")]
    allow_network_outage: bool,
    /// Leave the pods of a host to their controllers, instead of moving them first
    #[arg(long)]
    no_drain: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

impl ResetArgs {
    fn means(&self, host: &str) -> bool {
        self.all || self.hosts.iter().any(|name| name == host)
    }

    /// What becomes of the pods of a host; none if it is no node of casement's making.
    fn node(&self, controller: &Controller, host: &str) -> Option<Drain> {
        let drain = match self.no_drain {
            true => Drain::Not,
            false => Drain::First,
        };
        controller.windows().contains(&host).then_some(drain)
    }
}

/// Runs the verb.
pub async fn run_reset(arguments: ResetArgs) -> Result<(), CommandError> {
    let heed = signals::heed("reset");
    let mut controller = Controller::open_to_remove(&arguments.fleet).await?;
    refuse_unknown(&arguments, &controller)?;
    if arguments.cluster {
        let back = controller.kube.changes_back().await;
        let back = back.map_err(|error| told::problem(&error))?;
        let agreed = arguments.allow_network_outage;
        refuse_outage(&back, agreed).map_err(|error| told::problem(&error))?;
    }
    if !arguments.yes {
        ask(&arguments, &controller)?;
    }
    let links = std::mem::take(&mut controller.links);
    let (chosen, others): (Vec<_>, Vec<_>) = links
        .into_iter()
        .partition(|link| arguments.means(link.name()));
    let good_byes = others.into_iter().map(Link::close);
    controller.at_once.all(good_byes).await;
    let names: Vec<String> = chosen.iter().map(|link| link.name().to_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = run_id(&controller)?;
    let record = RunRecord::begin("reset", &controller.kube.run);
    let progress = Progress::begin(&arguments.progress, &names, record);
    let stop = heed.working(&progress);
    let reset = Reset {
        api: &controller.kube,
        run: &run,
        stop: &stop,
    };
    let resets = chosen.into_iter().map(|mut link| {
        link.heed(stop.clone());
        let node = arguments.node(&controller, link.name());
        reset_one(link, &reset, node, &progress)
    });
    let results = controller.at_once.all(resets).await;
    progress.finish();
    let lost = std::mem::take(&mut controller.lost).into_iter();
    let lost = lost.filter(|(name, _)| arguments.means(name));
    let lost = lost.map(|(name, error)| (name, Err(error)));
    let results: Vec<(String, Result<Proof, RunError>)> = results.into_iter().chain(lost).collect();
    let mut ended = say(&results, &progress, &heed);
    if ended.is_ok() && arguments.cluster {
        ended = restore(&controller, &stop, &heed).await;
    }
    close(&progress, &results, &ended);
    ended?;
    output::print(&format!("Done in {}.\n", clock::duration(heed.elapsed())))
}

fn run_id(controller: &Controller) -> Result<RunId, Problem> {
    let run = format!("{}-remove", controller.kube.run);
    run.parse().map_err(|error: casement_resource::NameError| {
        Problem::new("CAS-CTL-003", error.to_string(), "try again")
    })
}

/// Each host's proof, or why there is none; fails if there is one without.
fn say(
    results: &[(String, Result<Proof, RunError>)],
    progress: &Progress,
    heed: &Heed,
) -> Result<(), CommandError> {
    let stopped = |error: &RunError| matches!(error, RunError::Stopped { .. });
    for (names, proof) in alike(results) {
        output::print(&format!("{}: {proof}\n", output::listed(&names)))?;
    }
    let unproved = results.iter();
    let unproved = unproved.filter_map(|(name, result)| Some((name, result.as_ref().err()?)));
    let (halted, failed): (Vec<_>, Vec<_>) = unproved.partition(|(_, error)| stopped(error));
    for (name, error) in &failed {
        output::say_problem(&format!("\n{name}\n"), &progress.problem(name, error));
    }
    if !halted.is_empty() {
        return Err(heed.stopped());
    }
    if !failed.is_empty() {
        let failed = failed.len();
        let verb = if failed == 1 { "host" } else { "hosts" };
        output::say(&format!(
            "\n{failed} {verb} failed; `casement reset` again goes on from there"
        ));
        return Err(CommandError::told(1));
    }
    Ok(())
}

/// Leaves the record.
fn close(
    progress: &Progress,
    results: &[(String, Result<Proof, RunError>)],
    ended: &Result<(), CommandError>,
) {
    let outcome = match ended {
        Ok(()) => "done",
        Err(error) if error.exit() == signals::INTERRUPTED => "stopped",
        Err(_) => "failed",
    };
    let hosts = results.iter().map(|(name, result)| match result {
        Ok(proof) => json!({"name": name, "removed": proof.removed}),
        Err(error) => json!({"name": name, "error": error.to_string()}),
    });
    progress.close(outcome, &hosts.collect::<Vec<_>>());
}

/// What was proved, and of which hosts: ten that are alike need not be told ten
/// times.
fn alike(results: &[(String, Result<Proof, RunError>)]) -> Vec<(Vec<&str>, String)> {
    let mut told: Vec<(Vec<&str>, String)> = Vec::new();
    for (name, result) in results {
        let Ok(proof) = result else { continue };
        let proof = proof.to_string();
        match told.iter_mut().find(|(_, known)| *known == proof) {
            Some((names, _)) => names.push(name),
            None => told.push((vec![name], proof)),
        }
    }
    told
}

fn refuse_unknown(arguments: &ResetArgs, controller: &Controller) -> Result<(), CommandError> {
    let remedy = "name hosts as the file does, or use --all";
    for name in &arguments.hosts {
        spec_file::host(&controller.cluster, name, remedy)?;
    }
    Ok(())
}

fn ask(arguments: &ResetArgs, controller: &Controller) -> Result<(), CommandError> {
    let hosts = controller.cluster.spec.hosts.iter();
    let hosts = hosts
        .filter(|host| host.managed)
        .map(|host| host.name.as_str());
    let chosen: Vec<&str> = hosts.filter(|name| arguments.means(name)).collect();
    let cluster = if arguments.cluster {
        ", and the cluster's objects are put back"
    } else {
        ""
    };
    let chosen = chosen.join(", ");
    output::say(&format!("{chosen}: taken out of the cluster{cluster}"));
    confirm::ask("Reset this?", "casement reset --yes …")
}

async fn reset_one(
    link: Link,
    reset: &Reset<'_, Kube>,
    node: Option<Drain>,
    progress: &Progress,
) -> (String, Result<Proof, RunError>) {
    let name = link.name().to_owned();
    let proof = Mutex::new(Proof::default());
    let tell = |event: &Event| {
        let mut proof = proof.lock().unwrap_or_else(PoisonError::into_inner);
        proof.take(&event.what);
        progress.event(&name, REMOVE, event);
    };
    let waiting = |reason: String| progress.waiting(&name, &reason);
    let result = reset.take_back(link, node, &tell, &waiting).await;
    let proof = proof.into_inner().unwrap_or_else(PoisonError::into_inner);
    let count = u32::try_from(proof.removed.len()).unwrap_or(u32::MAX);
    let result = result.map(|()| count);
    progress.ended(&name, result.as_ref().copied());
    (name, result.map(|_| proof))
}

async fn restore(controller: &Controller, stop: &Stop, heed: &Heed) -> Result<(), CommandError> {
    let tell = |text: String| output::say(&format!("cluster: {text}"));
    let restore = controller.kube.restore(&tell);
    let restored = match stop.heeded("the cluster", restore).await {
        Err(RunError::Stopped { .. }) => return Err(heed.stopped()),
        restored => restored.map_err(|error| told::problem(&error))?,
    };
    let mut kept = 0;
    for field in restored {
        if let RestoredHow::Kept { ours, found } = &field.how {
            kept += 1;
            output::print(&format!(
                "{} {}: somebody else has changed it since; their value stays\n  \
                 casement's  {}\n  theirs      {}\n",
                field.object,
                field.field,
                changes::value(ours.as_ref()),
                changes::value(found.as_ref()),
            ))?;
        }
    }
    output::print(match kept {
        0 => "The cluster's objects are as they were.\n",
        _ => "All else of the cluster's objects is as it was.\n",
    })
}
