//! From a cluster file to open conversations with its hosts and its cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use casement_cluster::{Cluster as KubeCluster, ClusterChange};
use casement_diag::Problem;
use casement_plan::{ClusterFacts, Inputs, PROXY_PASSWORD, REGISTRY_PASSWORD, pull_proxy};
use casement_remote::{HostKeyPolicy, HostOs, NewKeys, hash_file};
use casement_resource::Blob;
use casement_run::RunError;
use casement_run::api::Api as _;
use casement_run::kube::{Kube, builds_of};
use casement_run::link::{Agents, Link};
use casement_run::many::AtOnce;
use casement_run::source::Blobs;
use casement_spec::{Cluster, Host, WindowsUpdate};
use clap::Args;

use crate::failure::CommandError;
use crate::fetch::{self, DownloadArgs, Fetched, Programs};
use crate::way::Ways;
use crate::{agents, changes, output, secret, spec_file, told};

/// What all verbs that look at hosts take.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// The cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    pub file: PathBuf,
    /// The folder with casement-node.exe and casement-node
    #[arg(long)]
    pub agent_dir: Option<PathBuf>,
    /// Trust hosts whose SSH key is not known yet, and write it down; a key that
    /// has changed stays an error
    #[arg(long)]
    pub accept_new_host_keys: bool,
}

impl FileArgs {
    /// What to do with host keys that are not known.
    pub fn host_keys(&self) -> HostKeyPolicy {
        match self.accept_new_host_keys {
            true => HostKeyPolicy::AcceptNew,
            false => HostKeyPolicy::Strict,
        }
    }
}

/// What verbs take that look at all of them.
#[derive(Debug, Args)]
pub struct FleetArgs {
    #[command(flatten)]
    pub file: FileArgs,
    /// How many hosts are worked on at once
    #[arg(long, value_name = "N", default_value_t)]
    pub parallel: AtOnce,
    #[command(flatten)]
    pub downloads: DownloadArgs,
}

/// Everything that a run needs.
pub struct Controller {
    /// What the user wants.
    pub cluster: Cluster,
    /// The cluster's side.
    pub kube: Kube,
    /// What was read for the plan.
    pub inputs: Inputs,
    /// The files behind it.
    pub blobs: Blobs,
    /// The hosts that answered, in the file's order.
    pub links: Vec<Link>,
    /// The hosts that did not, and why.
    pub lost: Vec<(String, RunError)>,
    /// Makes ways to further hosts, with what was asked for the others.
    pub ways: Ways,
    /// How many of them are worked on at once.
    pub at_once: AtOnce,
}

impl Controller {
    /// Reads the file, asks the cluster, and calls every host that casement may
    /// change.
    pub async fn open(arguments: &FleetArgs) -> Result<Self, CommandError> {
        Self::open_some(arguments, &[]).await
    }

    /// The same for some of the hosts; all of them if none is named.
    pub async fn open_some(arguments: &FleetArgs, only: &[String]) -> Result<Self, CommandError> {
        let cluster = spec_file::read_to_act(&arguments.file.file)?;
        for name in only {
            let host = spec_file::host(&cluster, name, "name hosts as the file does")?;
            check_managed(host)?;
        }
        let fetched = fetch::programs(&cluster, &arguments.downloads).await?;
        let inputs = read_inputs(&cluster, &fetched)?;
        Self::call(arguments, cluster, inputs, only).await
    }

    /// The same for who only takes away: the programs that hosts have got are
    /// not needed for that, and may be gone.
    pub async fn open_to_remove(arguments: &FleetArgs) -> Result<Self, CommandError> {
        let cluster = spec_file::read_to_act(&arguments.file.file)?;
        Self::call(arguments, cluster, Default::default(), &[]).await
    }

    async fn call(
        arguments: &FleetArgs,
        cluster: Cluster,
        (inputs, blobs): (Inputs, Blobs),
        only: &[String],
    ) -> Result<Self, CommandError> {
        let agents = agents::find(arguments.file.agent_dir.as_deref())?;
        let run = run_name();
        let Some(existing) = &cluster.spec.existing else {
            return Err(not_yet(
                "making a control plane is not supported yet",
                "existing: {kubeconfig: ./admin.conf}",
            )
            .into());
        };
        let api = KubeCluster::connect(existing.kubeconfig.as_std_path())
            .await
            .map_err(|error| told::cluster(&error))?;
        let mut ways = Ways::with_host_keys(arguments.file.host_keys());
        let named =
            |host: &&Host| only.is_empty() || only.iter().any(|it| it == host.name.as_str());
        let hosts = cluster.spec.hosts.iter();
        let hosts: Vec<&Host> = hosts.filter(|host| host.managed).filter(named).collect();
        let at_once = arguments.parallel;
        let (links, lost) = call(&cluster, &hosts, &agents, &mut ways, at_once).await?;
        Ok(Self {
            cluster,
            kube: Kube { cluster: api, run },
            inputs,
            blobs,
            links,
            lost,
            ways,
            at_once,
        })
    }

    /// What the cluster is now.
    pub async fn facts(&self) -> Result<ClusterFacts, RunError> {
        self.kube.facts().await
    }

    /// Whether at least one Windows host answered.
    pub fn reaches_a_windows_host(&self) -> bool {
        let windows = self.windows();
        self.links.iter().any(|link| windows.contains(&link.name()))
    }

    /// The builds of Windows: those that the file names, and those that hosts say.
    pub fn windows_builds(&self) -> BTreeSet<u32> {
        let mut builds = builds_of(&self.cluster);
        let windows = self.windows();
        let links = self.links.iter();
        let links = links.filter(|link| windows.contains(&link.name()));
        let said =
            links.filter_map(|link| link.facts().version.split('.').nth(2)?.parse::<u32>().ok());
        builds.extend(said);
        builds
    }

    /// What has to change in the cluster; told before anything is: what is in the
    /// way, rights that are missing, and an outage that nobody has agreed to.
    pub async fn changes(&self, may_stop_pods: bool) -> Result<Vec<ClusterChange>, RunError> {
        self.kube.check_rights(&self.cluster).await?;
        let builds = self.windows_builds();
        let changes = self.kube.changes(&self.cluster, &builds).await?;
        refuse_outage(&changes, may_stop_pods)?;
        Ok(changes)
    }

    /// The names of the hosts that answered.
    pub fn answering(&self) -> impl Iterator<Item = &str> {
        self.links.iter().map(Link::name)
    }

    /// The names of the hosts that were called, in the order of the file.
    pub fn met(&self) -> Vec<&str> {
        let lost = |name: &str| self.lost.iter().any(|(lost, _)| lost == name);
        let hosts = self.cluster.spec.hosts.iter();
        let names = hosts.map(|host| host.name.as_str());
        let met = |name: &&str| lost(name) || self.answering().any(|it| it == *name);
        names.filter(met).collect()
    }

    /// The names of the Windows hosts.
    pub fn windows(&self) -> Vec<&str> {
        let hosts = self.cluster.windows_hosts();
        hosts.map(|host| host.name.as_str()).collect()
    }
}

/// Fails where a change stops pods, and nobody has agreed to that.
pub fn refuse_outage(changes: &[ClusterChange], agreed: bool) -> Result<(), RunError> {
    let cuts = changes.iter().filter(|change| change.outage.is_some());
    let cuts: Vec<String> = cuts.map(changes::line).collect();
    match cuts.is_empty() || agreed {
        true => Ok(()),
        false => Err(RunError::Outage(cuts)),
    }
}

/// Distinct for each call, and readable: the time, and this process.
pub fn run_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |time| time.as_secs());
    format!("r{seconds}-{}", std::process::id())
}

/// Whether casement may bring its agent to a host.
pub fn check_managed(host: &Host) -> Result<(), CommandError> {
    if host.managed {
        return Ok(());
    }
    let what = format!(
        "`{}` is only looked at: casement does not change it",
        host.name
    );
    let remedy = "say `managed: true` of it in the file, or name another host";
    Err(CommandError::usage(Problem::new(
        "CAS-CTL-024",
        what,
        remedy,
    )))
}

/// Who this is, to hosts and to whoever asks them later.
pub fn own_name() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("USERNAME"));
    let user = user.unwrap_or_else(|_| "somebody".to_owned());
    format!("{user}, process {}", std::process::id())
}

/// The programs that hosts get, hashed, and the registry's CA. What was fetched has
/// the hash that the lock file pins.
pub fn read_inputs(cluster: &Cluster, fetched: &Programs) -> Result<(Inputs, Blobs), Problem> {
    let mut programs = BTreeMap::new();
    let mut blobs = Blobs::new();
    for (program, Fetched { blob, source }) in fetched {
        blobs.insert(blob.sha256, source.clone());
        programs.insert(*program, *blob);
    }
    for (program, path) in &cluster.spec.artifacts.overrides {
        let (sha256, size) = hash_file(path.as_std_path()).map_err(|error| {
            told::remote(&error).seen("set in", format!("spec.artifacts.overrides.{program}"))
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
            .map_err(|error| told::remote(&error).seen("set in", "spec.windows.updates"))?;
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
    give_passwords(cluster, &mut inputs)?;
    for mirrored in blobs.values_mut().filter_map(|it| it.mirror.as_mut()) {
        let url = mirrored.pull.from.expose();
        mirrored.pull.proxy = pull_proxy(cluster, &inputs, url);
    }
    Ok((inputs, blobs))
}

/// The passwords of the accounts that hosts use.
fn give_passwords(cluster: &Cluster, inputs: &mut Inputs) -> Result<(), Problem> {
    let spec = &cluster.spec;
    for (name, field, account) in [
        (REGISTRY_PASSWORD, "images", &spec.images.credentials),
        (PROXY_PASSWORD, "proxy", &spec.proxy.credentials),
    ] {
        let (Some(account), Ok(name)) = (account, name.parse()) else {
            continue;
        };
        let field = format!("{field}.credentials.password");
        let question = format!("{field} of `{}`", account.user);
        let value = secret::read(&account.password, &field, &question)?;
        inputs.give(cluster, name, value);
    }
    Ok(())
}

fn read_text(path: &Path, field: &str) -> Result<String, Problem> {
    std::fs::read_to_string(path).map_err(|error| {
        Problem::new(
            "CAS-FILE-004",
            format!("`{}` cannot be read", path.display()),
            "mend the path in the cluster file; it begins in the file's own folder",
        )
        .seen("set in", field)
        .seen("it says", error)
    })
}

type Called = (Vec<Link>, Vec<(String, RunError)>);

async fn call(
    cluster: &Cluster,
    hosts: &[&Host],
    agents: &Agents,
    ways: &mut Ways,
    at_once: AtOnce,
) -> Result<Called, Problem> {
    let controller = own_name();
    let targets = ways.all(cluster, hosts)?;
    let opened = targets.iter().zip(hosts);
    let opened = opened.map(|(way, host)| Link::open(way, system(host), agents, &controller));
    let opened = at_once.all(opened);
    let (mut links, mut lost) = (Vec::new(), Vec::new());
    let opened = opened.await;
    say_new_keys(&ways.new_keys());
    for (way, opened) in targets.iter().zip(opened) {
        match opened {
            Ok(link) => links.push(link),
            Err(error) => lost.push((way.name().to_owned(), error)),
        }
    }
    Ok((links, lost))
}

/// Says which host keys were written down.
pub fn say_new_keys(new_keys: &NewKeys) {
    for key in new_keys.take() {
        let file = key.known_hosts.display();
        output::say(&format!(
            "{}: its key was not known; {} is in {file} from now on",
            key.host, key.fingerprint
        ));
    }
}

/// The system that the file says a host runs.
pub fn system(host: &Host) -> HostOs {
    if host.os.is_windows() {
        HostOs::Windows
    } else {
        HostOs::Linux
    }
}

/// What is planned, and not there.
pub fn not_yet(what: &str, remedy: &str) -> Problem {
    Problem::new("CAS-SPEC-101", what, remedy)
}
