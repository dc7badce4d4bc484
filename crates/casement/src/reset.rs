//! `casement reset`.

use std::time::Instant;

use casement_cluster::{RestoredHow, runtime_class_ref};
use casement_diag::Problem;
use casement_resource::RunId;
use casement_resource::wire::Event;
use casement_run::RunError;
use casement_run::link::Link;
use casement_run::reset::take_back;
use clap::Args;
use futures_util::future::join_all;

use crate::controller::{Controller, FileArgs};
use crate::failure::CommandError;
use crate::shown::Shown;
use crate::{clock, confirm, told};

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
    /// Do not ask
    #[arg(long)]
    yes: bool,
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
    let run = format!("{}-remove", controller.kube.run);
    let run: RunId = run.parse().map_err(|error: casement_resource::NameError| {
        Problem::new("CAS-CTL-003", error.to_string(), "try again")
    })?;
    let shown = Shown::default();
    let lost = std::mem::take(&mut controller.lost).into_iter();
    let resets = chosen.into_iter();
    let resets = resets.map(|link| reset_one(link, &controller, &run, &shown));
    let mut failed = 0;
    let lost = lost.filter(|(name, _)| arguments.means(name));
    let lost = lost.map(|(name, error)| (name, Err(error)));
    for (name, result) in join_all(resets).await.into_iter().chain(lost) {
        match result {
            Ok(()) => println!("{name}: nothing of casement's is left."),
            Err(error) => {
                failed += 1;
                eprint!("\n{name}\n{}", shown.problem(&name, &error));
            }
        }
    }
    if failed > 0 {
        eprintln!("\n{failed} hosts failed; `casement reset` again goes on from there");
        return Err(CommandError::told(1));
    }
    if arguments.cluster {
        restore(&controller).await?;
    }
    println!("Done in {}.", clock::duration(started.elapsed()));
    Ok(())
}

fn refuse_unknown(arguments: &ResetArgs, controller: &Controller) -> Result<(), CommandError> {
    let hosts = &controller.cluster.spec.hosts;
    let known: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    match arguments
        .hosts
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        Some(name) => Err(CommandError::usage(
            Problem::new(
                "CAS-CTL-004",
                format!("`{name}` is not one of the hosts in the file"),
                "name hosts as the file does, or use --all",
            )
            .seen("hosts", known.join(", ")),
        )),
        None => Ok(()),
    }
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
    shown: &Shown,
) -> (String, Result<(), RunError>) {
    let name = link.name().to_owned();
    let is_node = controller.windows().contains(&name.as_str());
    let tell = |event: &Event| shown.event(&name, event);
    let waiting = |reason| clock::line(&format!("{name}: {reason}"));
    let result = take_back(link, &controller.kube, run, is_node, &tell, &waiting).await;
    (name, result)
}

async fn restore(controller: &Controller) -> Result<(), CommandError> {
    let cluster = &controller.kube.cluster;
    let told = |error: &casement_cluster::ClusterError| CommandError::from(told::cluster(error));
    let class = runtime_class_ref("windows-2022");
    let removal = cluster.plan_removal(&class).await.map_err(|e| told(&e))?;
    if let Some(change) = removal {
        cluster.carry_out(&change).await.map_err(|e| told(&e))?;
    }
    for restored in cluster.restore().await.map_err(|e| told(&e))? {
        if let RestoredHow::Kept { .. } = restored.how {
            println!(
                "{} {}: somebody else has changed it since; their value stays",
                restored.object, restored.field
            );
        }
    }
    println!("The cluster's objects are as they were.");
    Ok(())
}
