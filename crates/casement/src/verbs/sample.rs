//! `casement sample`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use casement_cluster::{
    ApplyOutcome, ClusterClient, Expose, Sample, SampleService, SampleStatus, sample_objects,
    sample_permissions,
};
use casement_diag::Problem;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::columns::table;
use crate::failure::CommandError;
use crate::fleet::no_control_plane;
use crate::{output, spec_file};

/// Deploy a sample web page on Windows and Linux.
#[derive(Debug, Args)]
pub struct SampleArgs {
    #[command(subcommand)]
    verb: SampleVerb,
}

#[derive(Debug, Subcommand)]
enum SampleVerb {
    /// Deploy the sample, and wait until it is ready
    Deploy(DeployArgs),
    /// Show the pods and URLs of the sample
    Status(StatusArgs),
    /// Delete the sample
    Delete(TargetArgs),
}

#[derive(Debug, Args)]
struct TargetArgs {
    /// Cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Existing namespace
    #[arg(short, long, default_value = "default")]
    namespace: String,
}

#[derive(Debug, Args)]
struct DeployArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Type of the services
    #[arg(long, value_enum, default_value = "node-port")]
    expose: ExposeArg,
    /// Number of pods on Linux, and for each Windows release
    #[arg(long, default_value_t = 1)]
    replicas: u32,
    /// Image for Windows; must match the Windows build of the nodes
    #[arg(long, value_name = "IMAGE")]
    windows_image: Option<String>,
    /// Image for Linux
    #[arg(long, value_name = "IMAGE")]
    linux_image: Option<String>,
    /// Deploy on Windows only
    #[arg(long)]
    no_linux: bool,
    /// Timeout for the pods in seconds; the first pull of Server Core takes minutes
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    wait: u64,
    /// Print the manifests as JSON, without deploying them
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
struct StatusArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Output format
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

pub async fn run_sample(arguments: SampleArgs) -> Result<(), CommandError> {
    match arguments.verb {
        SampleVerb::Deploy(arguments) => deploy(&arguments).await,
        SampleVerb::Status(arguments) => status(&arguments).await,
        SampleVerb::Delete(arguments) => delete(&arguments).await,
    }
}

async fn connect(target: &TargetArgs) -> Result<ClusterClient, CommandError> {
    let spec = spec_file::read_with_paths(&target.file)?;
    let Some(existing) = &spec.spec.existing else {
        return Err(no_control_plane().into());
    };
    let cluster = ClusterClient::connect(existing.kubeconfig.as_std_path()).await;
    let cluster = cluster.map_err(|error| error.problem())?;
    let permissions = sample_permissions(&target.namespace);
    let checked = cluster.check_permission_list(&permissions).await;
    checked.map_err(|error| error.problem())?;
    Ok(cluster)
}

async fn deploy(arguments: &DeployArgs) -> Result<(), CommandError> {
    let target = &arguments.target;
    let cluster = connect(target).await?;
    let facts = cluster.observe().await;
    let facts = facts.map_err(|error| error.problem())?;
    let mut sample = Sample::of(&facts, &target.namespace, arguments.expose.into());
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
    for (object, outcome) in deployed.map_err(|error| error.problem())? {
        let result = match outcome {
            ApplyOutcome::Changed => "configured",
            ApplyOutcome::Already => "unchanged",
        };
        eprintln!("{object}: {result}");
    }
    let timeout = Duration::from_secs(arguments.wait);
    let printed = Mutex::new(BTreeSet::new());
    // Each reason is printed once, not on every poll.
    let waiting = |status: &SampleStatus| {
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        for part in status.parts.iter().filter(|part| !part.reason.is_empty()) {
            if printed.insert((part.name.clone(), part.reason.clone())) {
                eprintln!("{}: {}", part.name, part.reason);
            }
        }
    };
    let status = cluster
        .wait_for_sample(&target.namespace, timeout, &waiting)
        .await;
    let status = status.map_err(|error| error.problem())?;
    output::print(&text(&status))?;
    match status.is_ready() || arguments.wait == 0 {
        true => Ok(()),
        false => Err(not_ready(&status, arguments.wait).into()),
    }
}

async fn status(arguments: &StatusArgs) -> Result<(), CommandError> {
    let target = &arguments.target;
    let cluster = connect(target).await?;
    let status = cluster.sample_status(&target.namespace).await;
    let status = status.map_err(|error| error.problem())?;
    if arguments.output == "json" {
        crate::json::print(&crate::json::Sample { status })
    } else if status.parts.is_empty() {
        output::print("The sample is not deployed. Run `casement sample deploy`.\n")
    } else {
        output::print(&text(&status))
    }
}

async fn delete(target: &TargetArgs) -> Result<(), CommandError> {
    let cluster = connect(target).await?;
    let deleted = cluster.delete_sample(&target.namespace).await;
    let deleted = deleted.map_err(|error| error.problem())?;
    for object in &deleted {
        eprintln!("{object}: deleted");
    }
    match deleted.len() {
        0 => output::print("No changes: the sample is not deployed.\n"),
        count => output::print(&format!("Deleted {}.\n", output::count(count, "object"))),
    }
}

fn text(status: &SampleStatus) -> String {
    let parts = status.parts.iter().map(|part| {
        vec![
            part.name.clone(),
            format!("{}/{}", part.ready, part.wanted),
            part.nodes.join(", "),
            part.reason.clone(),
        ]
    });
    let parts: Vec<Vec<String>> = parts.collect();
    let mut text = table(&["deployment", "ready", "nodes", "details"], &parts);
    let services = status.services.iter();
    let services = services.map(|it| vec![it.name.clone(), it.kind.clone(), url(it)]);
    let services: Vec<Vec<String>> = services.collect();
    text.push('\n');
    text.push_str(&table(&["service", "type", "url"], &services));
    text
}

fn url(service: &SampleService) -> String {
    let inside = format!("http://{}/ inside the cluster", service.cluster_ip);
    match (service.addresses.as_slice(), service.node_port) {
        ([], _) if service.kind == "LoadBalancer" => "(pending)".to_owned(),
        ([], Some(port)) => format!("http://NODE:{port}/ on every node"),
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
        "run `casement apply` to add one",
    )
    .detail("nodes", nodes)
}

fn not_ready(status: &SampleStatus, seconds: u64) -> Problem {
    let pending = status.parts.iter().filter(|part| part.ready < part.wanted);
    let problem = Problem::new(
        "CAS-SMP-002",
        format!("timed out after {seconds} s: the sample is not ready"),
        "run `casement sample status` to check again; an image for another Windows build never starts",
    );
    pending.fold(problem, |problem, part| {
        let status = format!("{} of {} ready; {}", part.ready, part.wanted, part.reason);
        problem.detail(part.name.clone(), status)
    })
}
