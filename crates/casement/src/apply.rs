//! `casement apply`.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::Instant;

use casement_resource::Failure;
use casement_resource::wire::What;
use casement_run::apply::{Apply, Happening, HostOutcome};
use clap::Args;

use crate::controller::{Controller, FileArgs};
use crate::failure::CommandError;
use crate::{clock, told};

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
    let changes = kube
        .changes(&controller.windows())
        .await
        .map_err(|error| told::problem(&error))?;
    if !arguments.yes {
        confirm(&controller, changes.len())?;
    }
    for change in &changes {
        clock::line(&format!("cluster: {}", change.object));
        kube.cluster
            .carry_out(change)
            .await
            .map_err(|error| told::cluster(&error))?;
    }
    let failures = Mutex::new(BTreeMap::new());
    let tell = |happening: Happening<'_>| show(&happening, &failures);
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
    let failures = failures.into_inner().unwrap_or_default();
    finish(&controller, &outcomes, changes.len(), &failures, started)
}

type Failures = BTreeMap<String, Failure>;

fn confirm(controller: &Controller, changes: usize) -> Result<(), CommandError> {
    let cluster = &controller.cluster;
    eprintln!(
        "{}: Kubernetes {}, {} hosts; {changes} objects of the cluster change",
        cluster.metadata.name,
        cluster.spec.kubernetes.version,
        cluster.spec.hosts.len(),
    );
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::usage(casement_diag::Problem::new(
            "CAS-CTL-002",
            "nobody is there to be asked",
            "casement apply --yes",
        )));
    }
    eprint!("Apply this? [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let heard = std::io::stdin().read_line(&mut answer);
    match heard.is_ok() && answer.trim().eq_ignore_ascii_case("y") {
        true => Ok(()),
        false => Err(CommandError::told(1)),
    }
}

fn show(happening: &Happening<'_>, failures: &Mutex<Failures>) {
    match happening {
        Happening::Step { host, event, .. } => match &event.what {
            What::StepChanged { id, .. } => clock::line(&format!("{host}: {id}")),
            What::StepFailed { id, failure } => {
                clock::line(&format!("{host}: {id} failed: {}", failure.what));
                if let Ok(mut failures) = failures.lock() {
                    failures.insert((*host).to_owned(), failure.clone());
                }
            }
            _ => {}
        },
        Happening::Waiting { host, reason } => clock::line(&format!("{host}: {reason}")),
        Happening::Ready { host } => clock::line(&format!("{host}: Ready")),
        Happening::Finished { .. } => {}
    }
}

fn finish(
    controller: &Controller,
    outcomes: &[HostOutcome],
    changes: usize,
    failures: &Failures,
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
        match (&outcome.result, failures.get(&outcome.host)) {
            (Ok(count), _) => changed += *count as usize,
            (Err(_), Some(failure)) => {
                failed += 1;
                eprint!("\n{}", told::step(&outcome.host, failure));
            }
            (Err(error), None) => {
                failed += 1;
                eprint!("\n{}\n{}", outcome.host, told::problem(error));
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
