//! `casement reset`.

use casement_cluster::{RestoredHow, runtime_class_ref};
use casement_resource::RunId;
use casement_resource::wire::{Event, What};
use casement_run::api::Api;
use clap::Args;
use futures_util::future::join_all;

use crate::controller::{Controller, FileArgs};
use crate::failure::CommandError;
use crate::{clock, told};

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
    #[arg(long, required = true)]
    yes: bool,
}

/// Runs the verb.
pub async fn run_reset(arguments: ResetArgs) -> Result<(), CommandError> {
    let mut controller = Controller::open(&arguments.file).await?;
    let wanted = |name: &str| arguments.all || arguments.hosts.iter().any(|host| host == name);
    let links = std::mem::take(&mut controller.links);
    let lost = std::mem::take(&mut controller.lost);
    let (chosen, others): (Vec<_>, Vec<_>) =
        links.into_iter().partition(|link| wanted(link.name()));
    for link in others {
        link.close().await;
    }
    let run = format!("{}-remove", controller.kube.run);
    let run: RunId = run.parse().map_err(|error: casement_resource::NameError| {
        casement_diag::Problem::new("CAS-CTL-003", error.to_string(), "try again")
    })?;
    let kube = &controller.kube;
    let windows = controller.windows();
    let resets = chosen.into_iter().map(|mut link| {
        let (run, windows) = (&run, &windows);
        async move {
            let name = link.name().to_owned();
            let said = name.clone();
            let tell = move |event: &Event| {
                if let What::StepRemoved { id } = &event.what {
                    clock::line(&format!("{said}: {id} removed"));
                }
            };
            let result = async {
                link.remove(run, tell).await?;
                link.leave().await?;
                if windows.contains(&name.as_str()) {
                    kube.forget(&name).await?;
                }
                Ok(())
            };
            (name.clone(), result.await)
        }
    });
    let mut failed = 0;
    let lost = lost.into_iter().filter(|(name, _)| wanted(name));
    let lost = lost.map(|(name, error)| (name, Err(error)));
    for (name, result) in join_all(resets).await.into_iter().chain(lost) {
        match result {
            Ok(()) => println!("{name}: nothing of casement's is left."),
            Err(error) => {
                failed += 1;
                eprint!("{name}\n{}", told::problem(&error));
            }
        }
    }
    if failed > 0 {
        return Err(CommandError::told(1));
    }
    if arguments.cluster {
        restore(&controller).await?;
    }
    Ok(())
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
