//! Opens the fleet of a cluster file: reads its secrets and downloads, and connects to the
//! cluster and to every managed host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use casement_cluster::ClusterClient;
use casement_diag::Problem;
use casement_plan::{Inputs, PROXY_PASSWORD, REGISTRY_PASSWORD, pull_proxy};
use casement_remote::{HostKeyPolicy, HostOs, NewKeys, hash_file};
use casement_resource::Blob;
use casement_run::blob_source::Blobs;
use casement_run::concurrency::Concurrency;
use casement_run::fleet::Fleet;
use casement_run::kube::KubeApi;
use casement_run::read_only::{ReadOnlyHost, inspect, read_only_hosts};
use casement_spec::{Cluster, Host, WindowsUpdate};
use clap::Args;

use crate::endpoints::HostEndpoints;
use crate::failure::CommandError;
use crate::fetch::{self, DownloadArgs, Fetched, Programs};
use crate::{agents, output, secret, spec_file};

/// The arguments of all verbs that connect to a host.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// Cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    pub file: PathBuf,
    /// Directory with casement-node.exe and casement-node
    #[arg(long)]
    pub agent_dir: Option<PathBuf>,
    /// Accept unknown SSH host keys, and add them to known_hosts; a changed key is still
    /// an error
    #[arg(long)]
    pub accept_new_host_keys: bool,
}

impl FileArgs {
    pub fn host_keys(&self) -> HostKeyPolicy {
        match self.accept_new_host_keys {
            true => HostKeyPolicy::AcceptNew,
            false => HostKeyPolicy::Strict,
        }
    }
}

/// The arguments of all verbs that connect to all hosts.
#[derive(Debug, Args)]
pub struct FleetArgs {
    #[command(flatten)]
    pub file: FileArgs,
    /// Number of hosts to process at the same time
    #[arg(long, value_name = "N", default_value_t)]
    pub parallel: Concurrency,
    #[command(flatten)]
    pub downloads: DownloadArgs,
}

pub async fn open(arguments: &FleetArgs) -> Result<(Fleet, HostEndpoints), CommandError> {
    open_only(arguments, &[]).await
}

/// For some of the hosts; for all if `only` is empty.
pub async fn open_only(
    arguments: &FleetArgs,
    only: &[String],
) -> Result<(Fleet, HostEndpoints), CommandError> {
    let cluster = spec_file::read_to_act(&arguments.file.file)?;
    for name in only {
        let host = spec_file::host(&cluster, name, "use a host name from the cluster file")?;
        check_managed(host)?;
    }
    let fetched = fetch::programs(&cluster, &arguments.downloads).await?;
    let inputs = read_inputs(&cluster, &fetched)?;
    connect(arguments, cluster, inputs, only).await
}

/// For `reset`: downloads are not needed, and may no longer exist.
pub async fn open_to_remove(arguments: &FleetArgs) -> Result<(Fleet, HostEndpoints), CommandError> {
    let cluster = spec_file::read_to_act(&arguments.file.file)?;
    connect(arguments, cluster, Default::default(), &[]).await
}

async fn connect(
    arguments: &FleetArgs,
    cluster: Cluster,
    inputs: (Inputs, Blobs),
    only: &[String],
) -> Result<(Fleet, HostEndpoints), CommandError> {
    let selected = |host: &&Host| only.is_empty() || only.iter().any(|it| it == host.name.as_str());
    let hosts = cluster.spec.hosts.iter();
    let hosts: Vec<&Host> = hosts.filter(|host| host.managed).filter(selected).collect();
    let systems: Vec<HostOs> = hosts.iter().map(|host| system(host)).collect();
    let agents = agents::find(arguments.file.agent_dir.as_deref(), &systems)?;
    let run = run_name();
    let Some(existing) = &cluster.spec.existing else {
        return Err(no_control_plane().into());
    };
    let client = ClusterClient::connect(existing.kubeconfig.as_std_path())
        .await
        .map_err(|error| error.problem())?;
    let kube = KubeApi {
        cluster: client,
        run,
    };
    let mut endpoints = HostEndpoints::with_host_keys(arguments.file.host_keys());
    let targets = endpoints.all(&cluster, &hosts)?;
    let targets: Vec<_> = targets.into_iter().zip(systems).collect();
    let mut fleet = Fleet::new(cluster, kube, inputs, arguments.parallel);
    fleet.connect(&targets, &agents, &controller_name()).await;
    report_new_keys(&endpoints.new_keys());
    Ok((fleet, endpoints))
}

/// Inspects every host with `managed: false`.
pub async fn inspect_read_only(fleet: &Fleet, endpoints: &mut HostEndpoints) -> Vec<ReadOnlyHost> {
    let cluster = &fleet.cluster;
    let hosts = read_only_hosts(cluster).map(|host| {
        let endpoint = endpoints.to(cluster, host);
        (host.name.to_string(), endpoint)
    });
    let hosts = hosts.collect();
    let inspected = inspect(cluster, hosts, fleet.concurrency).await;
    report_new_keys(&endpoints.new_keys());
    inspected
}

/// Unique and readable: the time and the process id.
pub fn run_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |time| time.as_secs());
    format!("r{seconds}-{}", std::process::id())
}

/// Only managed hosts get an agent.
pub fn check_managed(host: &Host) -> Result<(), CommandError> {
    if host.managed {
        return Ok(());
    }
    let what = format!("`{}` is read only (`managed: false`)", host.name);
    let help = "set `managed: true` for it in the cluster file, or use another host";
    Err(CommandError::usage(Problem::new("CAS-CTL-024", what, help)))
}

/// Identifies this process in the locks and journals of hosts.
pub fn controller_name() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("USERNAME"));
    let user = user.unwrap_or_else(|_| "unknown user".to_owned());
    format!("{user}, process {}", std::process::id())
}

/// The programs for hosts with their hashes, the registry's CA, and the passwords that
/// hosts use.
pub fn read_inputs(cluster: &Cluster, fetched: &Programs) -> Result<(Inputs, Blobs), Problem> {
    let mut programs = BTreeMap::new();
    let mut blobs = Blobs::new();
    for (program, Fetched { blob, source }) in fetched {
        blobs.insert(blob.sha256, source.clone());
        programs.insert(*program, *blob);
    }
    for (program, path) in &cluster.spec.artifacts.overrides {
        let (sha256, size) = hash_file(path.as_std_path()).map_err(|error| {
            error
                .problem()
                .detail("set in", format!("spec.artifacts.overrides.{program}"))
        })?;
        blobs.insert(sha256, path.as_std_path().to_owned().into());
        programs.insert(*program, Blob { sha256, size });
    }
    let mut updates = BTreeMap::new();
    for update in &cluster.spec.windows.updates {
        let WindowsUpdate::Package(path) = update else {
            continue;
        };
        let (sha256, size) = hash_file(path.as_std_path())
            .map_err(|error| error.problem().detail("set in", "spec.windows.updates"))?;
        blobs.insert(sha256, path.as_std_path().to_owned().into());
        updates.insert(path.to_string(), Blob { sha256, size });
    }
    let registry_ca = match &cluster.spec.images.ca {
        Some(path) => Some(read_text(path.as_std_path(), "spec.images.ca")?),
        None => None,
    };
    let mut inputs = Inputs {
        programs,
        updates,
        registry_ca,
        ..Inputs::default()
    };
    read_passwords(cluster, &mut inputs)?;
    for mirrored in blobs.values_mut().filter_map(|it| it.mirror.as_mut()) {
        let url = mirrored.pull.from.expose();
        mirrored.pull.proxy = pull_proxy(cluster, &inputs, url);
    }
    Ok((inputs, blobs))
}

/// The passwords of the accounts that hosts use.
fn read_passwords(cluster: &Cluster, inputs: &mut Inputs) -> Result<(), Problem> {
    let spec = &cluster.spec;
    for (name, field, account) in [
        (REGISTRY_PASSWORD, "images", &spec.images.credentials),
        (PROXY_PASSWORD, "proxy", &spec.proxy.credentials),
    ] {
        let (Some(account), Ok(name)) = (account, name.parse()) else {
            continue;
        };
        let field = format!("{field}.credentials.password");
        let prompt = format!("{field} of `{}`: ", account.user);
        let value = secret::read(&account.password, &field, &prompt)?;
        inputs.add_secret(cluster, name, value);
    }
    Ok(())
}

fn read_text(path: &Path, field: &str) -> Result<String, Problem> {
    std::fs::read_to_string(path).map_err(|error| {
        Problem::new(
            "CAS-FILE-004",
            format!("failed to read `{}`", path.display()),
            "fix the path in the cluster file; it is relative to the directory of the file",
        )
        .detail("set in", field)
        .detail("cause", error)
    })
}

/// Reports host keys that were added to known_hosts.
pub fn report_new_keys(new_keys: &NewKeys) {
    for key in new_keys.take() {
        let file = key.known_hosts.display();
        output::message(&format!(
            "{}: accepted the unknown host key {}, added to {file}",
            key.host, key.fingerprint
        ));
    }
}

pub fn system(host: &Host) -> HostOs {
    if host.os.is_windows() {
        HostOs::Windows
    } else {
        HostOs::Linux
    }
}

pub fn unsupported(what: &str, help: &str) -> Problem {
    Problem::new("CAS-SPEC-101", what, help)
}

pub fn no_control_plane() -> Problem {
    unsupported(
        "creating a control plane is not supported yet",
        "set `existing: {kubeconfig: ./admin.conf}` in the cluster file",
    )
}
