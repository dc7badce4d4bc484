//! `casement apply`.

use std::time::Instant;

use casement_run::apply::{Apply, Happening, HostOutcome};
use clap::Args;

use crate::controller::{Controller, FileArgs};
use crate::failure::CommandError;
use crate::shown::Shown;
use crate::{clock, confirm, told};

/// Make the hosts and the cluster what the file says.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the verb.
pub async fn run_apply(arguments: ApplyArgs) -> Result<(), CommandError> {
    let started = Instant::now();
    let mut controller = Controller::open(&arguments.file).await?;
    let kube = controller.kube.clone();
    kube.cluster
        .check_rights()
        .await
        .map_err(|error| told::cluster(&error))?;
    if !controller.reaches_a_windows_host() {
        // Nobody would use what is made for them in the cluster.
        return finish(&controller, &[], 0, &Shown::default(), started);
    }
    let changes = kube
        .changes(&controller.windows())
        .await
        .map_err(|error| told::problem(&error))?;
    if !arguments.yes {
        ask(&controller, changes.len())?;
    }
    for change in &changes {
        clock::line(&format!("cluster: {}", change.object));
        kube.cluster
            .carry_out(change)
            .await
            .map_err(|error| told::cluster(&error))?;
    }
    let shown = Shown::default();
    let tell = |happening: Happening<'_>| show(&happening, &shown);
    let mut links = std::mem::take(&mut controller.links);
    let apply = Apply {
        cluster: &controller.cluster,
        inputs: &controller.inputs,
        blobs: &controller.blobs,
        api: &kube,
        run: &kube.run,
        tell: &tell,
    };
    let outcomes = apply.carry_out(&mut links).await;
    let outcomes = outcomes.map_err(|error| told::problem(&error))?;
    for link in links {
        link.close().await;
    }
    finish(&controller, &outcomes, changes.len(), &shown, started)
}

fn ask(controller: &Controller, changes: usize) -> Result<(), CommandError> {
    let cluster = &controller.cluster;
    eprintln!(
        "{}: Kubernetes {}, {} hosts; {changes} objects of the cluster change",
        cluster.metadata.name,
        cluster.spec.kubernetes.version,
        cluster.spec.hosts.len(),
    );
    confirm::ask("Apply this?", "casement apply --yes")
}

fn show(happening: &Happening<'_>, shown: &Shown) {
    match happening {
        Happening::Step { host, event, .. } => shown.event(host, event),
        Happening::Waiting { host, reason } => clock::line(&format!("{host}: {reason}")),
        Happening::Ready { host } => clock::line(&format!("{host}: Ready")),
        Happening::Finished { .. } => {}
    }
}

fn finish(
    controller: &Controller,
    outcomes: &[HostOutcome],
    changes: usize,
    shown: &Shown,
    started: Instant,
) -> Result<(), CommandError> {
    let took = clock::duration(started.elapsed());
    let mut failed = 0;
    for (host, error) in &controller.lost {
        failed += 1;
        eprint!("\n{host}\n{}", told::problem(error));
    }
    let mut changed = changes;
    for outcome in outcomes {
        match &outcome.result {
            Ok(count) => changed += *count as usize,
            Err(error) => {
                failed += 1;
                let problem = shown.problem(&outcome.host, error);
                eprint!("\n{}\n{problem}", outcome.host);
            }
        }
    }
    let hosts = outcomes.len() + controller.lost.len();
    if failed > 0 {
        eprintln!(
            "\n{failed} of {hosts} hosts failed after {took}; `casement apply` goes on from there"
        );
        return Err(CommandError::told(1));
    }
    if changed == 0 {
        println!("Nothing to do: {hosts} hosts and the cluster are as the file says ({took}).");
    } else {
        let windows = controller.windows();
        let verb = if windows.len() == 1 { "is" } else { "are" };
        println!("Done in {took}: {} {verb} Ready.", windows.join(" and "));
    }
    Ok(())
}
