//! `casement reset`.

mod proof;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use casement_cluster::RestoredHow;
use casement_diag::Problem;
use casement_resource::RunId;
use casement_resource::wire::Event;
use casement_run::RunError;
use casement_run::link::Link;
use casement_run::many::at_once;
use casement_run::reset::{Drain, take_back};
use clap::Args;
use serde_json::json;

use crate::controller::{Controller, FileArgs, refuse_outage};
use crate::failure::CommandError;
use crate::progress::{Progress, ProgressArgs, REMOVE, RunRecord};
use crate::{changes, clock, confirm, output, signals, spec_file, told};
use proof::Proof;

/// Take hosts out of the cluster and remove what casement put there.
#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = true, args = ["hosts", "all"])]
pub struct ResetArgs {
    #[command(flatten)]
    file: FileArgs,
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
    progress: ProgressArgs,
}

impl ResetArgs {
    fn means(&self, host: &str) -> bool {
        self.all || self.hosts.iter().any(|name| name == host)
    }
}

/// Runs the verb.
pub async fn run_reset(arguments: ResetArgs) -> Result<(), CommandError> {
    let started = Instant::now();
    let mut controller = Controller::open_to_remove(&arguments.file).await?;
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
    for link in others {
        link.close().await;
    }
    let names: Vec<String> = chosen.iter().map(|link| link.name().to_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let record = RunRecord::begin("reset", &controller.kube.run);
    let progress = Progress::begin(&arguments.progress, &names, record)?;
    let results = take_all_back(&controller, chosen, &arguments, &progress).await?;
    let record = progress.finish();
    let lost = std::mem::take(&mut controller.lost).into_iter();
    let lost = lost.filter(|(name, _)| arguments.means(name));
    let lost = lost.map(|(name, error)| (name, Err(error)));
    let results: Vec<(String, Result<Proof, RunError>)> = results.into_iter().chain(lost).collect();
    say(&results, &progress, record)?;
    if arguments.cluster {
        restore(&controller).await?;
    }
    println!("Done in {}.", clock::duration(started.elapsed()));
    Ok(())
}

async fn take_all_back(
    controller: &Controller,
    links: Vec<Link>,
    arguments: &ResetArgs,
    progress: &Progress,
) -> Result<Vec<(String, Result<Proof, RunError>)>, CommandError> {
    let run = format!("{}-remove", controller.kube.run);
    let run: RunId = run.parse().map_err(|error: casement_resource::NameError| {
        Problem::new("CAS-CTL-003", error.to_string(), "try again")
    })?;
    let stop = signals::heed("reset", progress);
    let resets = links.into_iter().map(|mut link| {
        link.heed(stop.clone());
        let drain = match arguments.no_drain {
            true => Drain::Not,
            false => Drain::First,
        };
        reset_one(link, controller, &run, drain, progress)
    });
    Ok(at_once(resets).await)
}

/// Each host's proof, or why there is none; fails if there is one without.
fn say(
    results: &[(String, Result<Proof, RunError>)],
    progress: &Progress,
    record: Option<RunRecord>,
) -> Result<(), CommandError> {
    let mut failed = 0;
    let mut hosts = Vec::new();
    for (names, proof) in alike(results) {
        println!("{}: {proof}", output::listed(&names));
    }
    for (name, result) in results {
        match result {
            Ok(proof) => {
                hosts.push(json!({"name": name, "removed": proof.removed}));
            }
            Err(error) => {
                failed += 1;
                hosts.push(json!({"name": name, "error": error.to_string()}));
                eprint!(
                    "\n{name}\n{}",
                    output::problem(&progress.problem(name, error))
                );
            }
        }
    }
    let outcome = if failed > 0 { "failed" } else { "done" };
    if let Some(record) = record {
        record.close(outcome, &hosts);
    }
    if failed > 0 {
        let verb = if failed == 1 { "host" } else { "hosts" };
        eprintln!("\n{failed} {verb} failed; `casement reset` again goes on from there");
        return Err(CommandError::told(1));
    }
    Ok(())
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
    eprintln!("{}: taken out of the cluster{cluster}", chosen.join(", "));
    confirm::ask("Reset this?", "casement reset --yes …")
}

async fn reset_one(
    link: Link,
    controller: &Controller,
    run: &RunId,
    drain: Drain,
    progress: &Progress,
) -> (String, Result<Proof, RunError>) {
    let name = link.name().to_owned();
    let node = controller
        .windows()
        .contains(&name.as_str())
        .then_some(drain);
    let proof = Mutex::new(Proof::default());
    let tell = |event: &Event| {
        let mut proof = proof.lock().unwrap_or_else(PoisonError::into_inner);
        proof.take(&event.what);
        progress.event(&name, REMOVE, event);
    };
    let waiting = |reason: String| progress.waiting(&name, &reason);
    let result = take_back(link, &controller.kube, run, node, &tell, &waiting).await;
    let proof = proof.into_inner().unwrap_or_else(PoisonError::into_inner);
    let count = u32::try_from(proof.removed.len()).unwrap_or(u32::MAX);
    let result = result.map(|()| count);
    progress.ended(&name, result.as_ref().copied());
    (name, result.map(|_| proof))
}

async fn restore(controller: &Controller) -> Result<(), CommandError> {
    let tell = |text: String| eprintln!("cluster: {text}");
    let restored = controller.kube.restore(&tell).await;
    let mut kept = 0;
    for field in restored.map_err(|error| told::problem(&error))? {
        if let RestoredHow::Kept { ours, found } = &field.how {
            kept += 1;
            println!(
                "{} {}: somebody else has changed it since; their value stays\n  \
                 casement's  {}\n  theirs      {}",
                field.object,
                field.field,
                changes::value(ours.as_ref()),
                changes::value(found.as_ref()),
            );
        }
    }
    match kept {
        0 => println!("The cluster's objects are as they were."),
        _ => println!("All else of the cluster's objects is as it was."),
    }
    Ok(())
}
