//! `casement sample`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use casement_cluster::{
    CarriedOut, Cluster, Expose, Sample, SampleService, SampleStatus, sample_objects, sample_rights,
};
use casement_diag::Problem;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::columns::table;
use crate::controller::not_yet;
use crate::failure::CommandError;
use crate::{output, spec_file, told};

/// A web page served from Windows, and one from Linux.
#[derive(Debug, Args)]
pub struct SampleArgs {
    #[command(subcommand)]
    verb: SampleVerb,
}

#[derive(Debug, Subcommand)]
enum SampleVerb {
    /// Deploy it, and wait until it answers
    Deploy(DeployArgs),
    /// Show its pods, and where it answers
    Status(StatusArgs),
    /// Delete it
    Delete(PlaceArgs),
}

#[derive(Debug, Args)]
struct PlaceArgs {
    /// The cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// The namespace, which is there already
    #[arg(short, long, default_value = "default")]
    namespace: String,
}

#[derive(Debug, Args)]
struct DeployArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// How it is reached
    #[arg(long, value_enum, default_value = "node-port")]
    expose: ExposeArg,
    /// Pods on Linux, and pods for each Windows release
    #[arg(long, default_value_t = 1)]
    replicas: u32,
    /// Another image for Windows; it has to fit the nodes' builds
    #[arg(long, value_name = "IMAGE")]
    windows_image: Option<String>,
    /// Another image for Linux
    #[arg(long, value_name = "IMAGE")]
    linux_image: Option<String>,
    /// Windows only
    #[arg(long)]
    no_linux: bool,
    /// Wait so many seconds for its pods; a first pull of Server Core takes minutes
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    wait: u64,
    /// Print the manifests as JSON; change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
struct StatusArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Print JSON
    #[arg(short, long, value_parser = ["table", "json"], default_value = "table")]
    output: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExposeArg {
    ClusterIp,
    NodePort,
    LoadBalancer,
}

impl From<ExposeArg> for Expose {
    fn from(argument: ExposeArg) -> Self {
        match argument {
            ExposeArg::ClusterIp => Self::ClusterIp,
            ExposeArg::NodePort => Self::NodePort,
            ExposeArg::LoadBalancer => Self::LoadBalancer,
        }
    }
}

/// Runs the verb.
pub async fn run_sample(arguments: SampleArgs) -> Result<(), CommandError> {
    match arguments.verb {
        SampleVerb::Deploy(arguments) => deploy(&arguments).await,
        SampleVerb::Status(arguments) => status(&arguments).await,
        SampleVerb::Delete(arguments) => delete(&arguments).await,
    }
}

async fn connect(place: &PlaceArgs) -> Result<Cluster, CommandError> {
    let spec = spec_file::read_with_paths(&place.file)?;
    let Some(existing) = &spec.spec.existing else {
        let what = "making a control plane is not supported yet";
        return Err(not_yet(what, "existing: {kubeconfig: ./admin.conf}").into());
    };
    let cluster = Cluster::connect(existing.kubeconfig.as_std_path()).await;
    let cluster = cluster.map_err(|error| told::cluster(&error))?;
    let rights = sample_rights(&place.namespace);
    let checked = cluster.check_these_rights(&rights).await;
    checked.map_err(|error| told::cluster(&error))?;
    Ok(cluster)
}

async fn deploy(arguments: &DeployArgs) -> Result<(), CommandError> {
    let place = &arguments.place;
    let cluster = connect(place).await?;
    let facts = cluster.facts().await;
    let facts = facts.map_err(|error| told::cluster(&error))?;
    let mut sample = Sample::of(&facts, &place.namespace, arguments.expose.into());
    if sample.windows.is_empty() {
        return Err(no_windows(facts.nodes.len()).into());
    }
    sample.replicas = arguments.replicas;
    sample.linux &= !arguments.no_linux;
    sample.windows_image.clone_from(&arguments.windows_image);
    sample.linux_image.clone_from(&arguments.linux_image);
    if arguments.dry_run {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": sample_objects(&sample)});
        return output::print(&format!("{list:#}\n"));
    }
    let deployed = cluster.deploy_sample(&sample).await;
    for (object, done) in deployed.map_err(|error| told::cluster(&error))? {
        let word = match done {
            CarriedOut::Changed => "made",
            CarriedOut::Already => "right already",
        };
        eprintln!("{object}: {word}");
    }
    let limit = Duration::from_secs(arguments.wait);
    let told = Mutex::new(BTreeSet::new());
    // Each reason once: many looks see the same.
    let waiting = |status: &SampleStatus| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        for part in status.parts.iter().filter(|part| !part.reason.is_empty()) {
            if told.insert((part.name.clone(), part.reason.clone())) {
                eprintln!("{}: {}", part.name, part.reason);
            }
        }
    };
    let status = cluster
        .wait_for_sample(&place.namespace, limit, &waiting)
        .await;
    let status = status.map_err(|error| told::cluster(&error))?;
    print!("{}", shown(&status));
    match status.is_ready() || arguments.wait == 0 {
        true => Ok(()),
        false => Err(not_ready(&status, arguments.wait).into()),
    }
}

async fn status(arguments: &StatusArgs) -> Result<(), CommandError> {
    let place = &arguments.place;
    let cluster = connect(place).await?;
    let status = cluster.sample_status(&place.namespace).await;
    let status = status.map_err(|error| told::cluster(&error))?;
    if arguments.output == "json" {
        println!("{:#}", json!(status));
    } else if status.parts.is_empty() {
        println!("The sample is not deployed. `casement sample deploy` does that.");
    } else {
        print!("{}", shown(&status));
    }
    Ok(())
}

async fn delete(place: &PlaceArgs) -> Result<(), CommandError> {
    let cluster = connect(place).await?;
    let deleted = cluster.delete_sample(&place.namespace).await;
    let deleted = deleted.map_err(|error| told::cluster(&error))?;
    for object in &deleted {
        eprintln!("{object}: deleted");
    }
    match deleted.len() {
        0 => println!("Nothing to do: the sample is not deployed."),
        count => println!("Done: {count} objects are deleted."),
    }
    Ok(())
}

fn shown(status: &SampleStatus) -> String {
    let parts = status.parts.iter().map(|part| {
        vec![
            part.name.clone(),
            format!("{}/{}", part.ready, part.wanted),
            part.nodes.join(", "),
            part.reason.clone(),
        ]
    });
    let parts: Vec<Vec<String>> = parts.collect();
    let mut text = table(&["deployment", "ready", "nodes", "what"], &parts);
    let services = status.services.iter();
    let services = services.map(|it| vec![it.name.clone(), it.kind.clone(), answers_at(it)]);
    let services: Vec<Vec<String>> = services.collect();
    text.push('\n');
    text.push_str(&table(&["service", "kind", "answers at"], &services));
    text
}

fn answers_at(service: &SampleService) -> String {
    let inside = format!("http://{}/ inside the cluster", service.cluster_ip);
    match (service.addresses.as_slice(), service.node_port) {
        ([], _) if service.kind == "LoadBalancer" => "no address is given yet".to_owned(),
        ([], Some(port)) => format!("http://NODE:{port}/ of every node"),
        ([], None) => inside,
        (addresses, _) => {
            let urls = addresses.iter().map(|address| format!("http://{address}/"));
            urls.collect::<Vec<_>>().join(", ")
        }
    }
}

fn no_windows(nodes: usize) -> Problem {
    Problem::new(
        "CAS-SMP-001",
        "the cluster has no Windows node to deploy to",
        "`casement apply` makes one",
    )
    .seen("nodes", nodes)
}

fn not_ready(status: &SampleStatus, seconds: u64) -> Problem {
    let behind = status.parts.iter().filter(|part| part.ready < part.wanted);
    let problem = Problem::new(
        "CAS-SMP-002",
        format!("the sample does not answer after {seconds} s"),
        "`casement sample status` shows it again; an image for another Windows build never runs",
    );
    behind.fold(problem, |problem, part| {
        let seen = format!("{} of {} ready; {}", part.ready, part.wanted, part.reason);
        problem.seen(part.name.clone(), seen)
    })
}
