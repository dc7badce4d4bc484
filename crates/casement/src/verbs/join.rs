//! `casement join ADDRESS`: one Windows host into a cluster that runs, without a
//! cluster file: the cluster says what would be in it.
//!
//! The file that it makes is printed, kept in `.casement/join/`, and applied; the
//! other verbs go on with it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use casement_cluster::{Cluster, ClusterFacts};
use casement_diag::Problem;
use casement_spec::{Named as _, Program};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::apply::{ApplyArgs, apply};
use crate::failure::CommandError;
use crate::{output, signals, told, way, whole_file};

/// Make one Windows host a worker of a cluster that runs.
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// The host's address, or its name
    address: String,
    /// The cluster's kubeconfig
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    kubeconfig: PathBuf,
    /// The Node's name; made from the address otherwise
    #[arg(long)]
    name: Option<String>,
    /// The host's system
    #[arg(long, default_value = "windows-2022")]
    os: String,
    /// Its name in OpenSSH's configuration, where that is not its address
    #[arg(long, value_name = "NAME")]
    ssh_host: Option<String>,
    /// The account to log in as; OpenSSH's configuration or Administrator otherwise
    #[arg(long)]
    user: Option<String>,
    /// The port of the host's SSH server; OpenSSH's configuration or 22 otherwise
    #[arg(long)]
    port: Option<u16>,
    /// The private key; OpenSSH's configuration or ~/.ssh/id_ed25519 otherwise
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// A file with the password, instead of a key
    #[arg(long, conflicts_with = "key", value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// The file of known host keys; OpenSSH's configuration or ~/.ssh/known_hosts otherwise
    #[arg(long, value_name = "FILE")]
    known_hosts: Option<String>,
    /// Where programs are put
    #[arg(long, default_value = r"C:\k", value_name = "FOLDER")]
    base_dir: String,
    /// The network of pods; must be the cluster's
    #[arg(long, value_name = "CIDR")]
    cluster_cidr: Option<String>,
    /// The network of services; must be the cluster's
    #[arg(long, value_name = "CIDR")]
    service_cidr: Option<String>,
    /// The host's adapter, where it has several
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// The version of Kubernetes on the host; the cluster's otherwise
    #[arg(long, value_name = "VERSION")]
    release: Option<String>,
    /// A proxy for what the host fetches
    #[arg(long, value_name = "URL")]
    web_proxy: Option<String>,
    /// A folder with the programs for Windows: kubelet.exe and so on
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    /// A registry that serves all images
    #[arg(long, value_name = "HOST:PORT")]
    registry: Option<String>,
    /// Who signed the registry's certificate
    #[arg(long, value_name = "FILE", requires = "registry")]
    registry_ca: Option<PathBuf>,
    #[command(flatten)]
    pub how: crate::apply::HowArgs,
}

/// Runs the verb.
pub async fn run_join(arguments: JoinArgs) -> Result<(), CommandError> {
    let heed = signals::heed("join");
    let api = Cluster::connect(&arguments.kubeconfig).await;
    let api = api.map_err(|error| told::cluster(&error))?;
    let facts = api.facts().await.map_err(|error| told::cluster(&error))?;
    let name = name(&arguments);
    let spec = spec(&arguments, &name, &facts)?;
    let text = serde_saphyr::to_string(&spec).map_err(|error| {
        Problem::new("CAS-JOIN-022", error.to_string(), "report this as a defect")
    })?;
    output::print(&text)?;
    let folder = Path::new(".casement/join");
    let file = folder.join(format!("{name}.yaml"));
    let kept =
        std::fs::create_dir_all(folder).and_then(|()| whole_file::replace(&file, text.as_bytes()));
    kept.map_err(|error| {
        let what = format!("`{}` cannot be written", file.display());
        Problem::new("CAS-FILE-007", what, "run it in a folder of your own").seen("it says", error)
    })?;
    let kept = format!("Kept in {}, for -f of the other verbs", file.display());
    output::say(&kept);
    apply(ApplyArgs::of(file, arguments.how), &heed).await
}

/// The first part of a name; of an address its last two numbers, because a name on
/// Windows has at most 15 characters.
fn name(arguments: &JoinArgs) -> String {
    if let Some(name) = &arguments.name {
        return name.clone();
    }
    let address = &arguments.address;
    match address.parse::<std::net::Ipv4Addr>() {
        Ok(it) => {
            let [_, _, third, fourth] = it.octets();
            format!("win-{third}-{fourth}")
        }
        Err(_) => address
            .split('.')
            .next()
            .unwrap_or(address)
            .to_ascii_lowercase(),
    }
}

/// The cluster file.
fn spec(arguments: &JoinArgs, name: &str, facts: &ClusterFacts) -> Result<Value, Problem> {
    let pods = agreed(
        "--cluster-cidr",
        arguments.cluster_cidr.as_deref(),
        &facts.pod_cidrs,
    )?;
    let services = &facts.service_cidrs;
    let services = agreed(
        "--service-cidr",
        arguments.service_cidr.as_deref(),
        services,
    )?;
    let version = facts.version.trim_start_matches('v');
    let version = version.split(['+', '-']).next().unwrap_or(version);
    // Its DNS and its domain are asked for when they are needed.
    let kubernetes = json!({
        "version": arguments.release.as_deref().unwrap_or(version),
        "podCidr": pods,
        "serviceCidr": services,
    });
    let mut spec = json!({
        "kubernetes": kubernetes,
        "existing": {"kubeconfig": absolute(&arguments.kubeconfig)},
        "network": {"mode": mode(facts)?},
        "hosts": [host(arguments, name)?],
        "windows": {"baseDir": arguments.base_dir},
    });
    if let Some(proxy) = &arguments.web_proxy {
        put(&mut spec, "proxy", json!({"http": proxy, "https": proxy}));
    }
    if let Some(registry) = &arguments.registry {
        let mut images = json!({"registry": registry});
        if let Some(ca) = &arguments.registry_ca {
            put(&mut images, "ca", json!(absolute(ca)));
        }
        put(&mut spec, "images", images);
    }
    if let Some(folder) = &arguments.programs {
        put(
            &mut spec,
            "artifacts",
            json!({"overrides": programs(folder)}),
        );
    }
    Ok(json!({
        "apiVersion": "casement.dev/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "joined"},
        "spec": spec,
    }))
}

/// The host. What is not said is left to OpenSSH's configuration.
fn host(arguments: &JoinArgs, name: &str) -> Result<Value, Problem> {
    let given = &arguments.address;
    let (address, named) = match given.parse::<IpAddr>() {
        Ok(_) => (given.clone(), None),
        Err(_) => (way::address_of(given)?.to_string(), Some(given)),
    };
    let mut host = json!({
        "name": name,
        "address": address,
        "os": arguments.os,
        "roles": ["worker"],
    });
    if let Some(interface) = &arguments.interface {
        put(&mut host, "interface", json!(interface));
    }
    let known_hosts = arguments.known_hosts.as_deref().map(of_this_folder);
    let password = arguments.password_file.as_deref();
    let ssh = [
        (
            "host",
            arguments.ssh_host.as_ref().or(named).map(|it| json!(it)),
        ),
        ("user", arguments.user.as_ref().map(|it| json!(it))),
        ("port", arguments.port.map(|it| json!(it))),
        (
            "key",
            arguments.key.as_deref().map(|it| json!(of_this_folder(it))),
        ),
        ("password", password.map(|it| json!({"file": absolute(it)}))),
        ("knownHosts", known_hosts.map(|it| json!(it))),
    ];
    let ssh: Map<String, Value> = ssh
        .into_iter()
        .filter_map(|(field, value)| Some((field.to_owned(), value?)))
        .collect();
    if !ssh.is_empty() {
        put(&mut host, "access", json!({"ssh": ssh}));
    }
    Ok(host)
}

fn put(value: &mut Value, field: &str, with: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(field.to_owned(), with);
    }
}

fn absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    absolute.as_deref().unwrap_or(path).display().to_string()
}

/// A path as a person types it here; the file that is kept lies elsewhere.
fn of_this_folder(path: &str) -> String {
    match path.starts_with('~') {
        true => path.to_owned(),
        false => absolute(Path::new(path)),
    }
}

/// What the cluster has; what a person says must be the same.
fn agreed(flag: &str, said: Option<&str>, found: &[String]) -> Result<Value, Problem> {
    let has = found.join(",");
    match said {
        Some(said) if said != has => Err(Problem::new(
            "CAS-JOIN-020",
            format!("`{flag}` is not what the cluster has"),
            format!("leave `{flag}` out: casement asks the cluster"),
        )
        .seen("said", said)
        .seen("found", has)),
        _ if found.is_empty() => Err(Problem::new(
            "CAS-JOIN-023",
            format!("the cluster does not say its networks, which `{flag}` is about"),
            "write a cluster file: `casement init`, then `casement apply`",
        )),
        _ if found.len() == 1 => Ok(json!(found.first())),
        _ => Ok(json!(found)),
    }
}

/// The mode that fits the pod network of the Linux nodes.
fn mode(facts: &ClusterFacts) -> Result<&'static str, Problem> {
    match facts.cni.as_ref().map(|cni| cni.name.as_str()) {
        None => Ok("l3-routes"),
        Some("flannel") => Ok("flannel-overlay"),
        Some("Calico") => Ok("calico-vxlan"),
        Some(other) => Err(Problem::new(
            "CAS-JOIN-021",
            format!("the cluster's pod network is {other}, which casement cannot bring to Windows"),
            "use a cluster with flannel, Calico or routed pods",
        )),
    }
}

/// The programs that lie in a folder.
fn programs(folder: &Path) -> Map<String, Value> {
    let found = Program::ALL.iter().filter_map(|program| {
        let path = folder.join(format!("{program}.exe"));
        path.is_file()
            .then(|| (program.to_string(), json!(absolute(&path))))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        join: JoinArgs,
    }

    fn join(words: &[&str]) -> JoinArgs {
        let words = ["join", "10.3.0.4", "--kubeconfig", "/x/admin.conf"]
            .iter()
            .chain(words);
        Line::parse_from(words).join
    }

    fn facts() -> ClusterFacts {
        let facts = json!({
            "server": "https://10.3.0.1:6443", "version": "v1.36.3", "endpoint": "10.3.0.1:6443",
            "podCidrs": ["10.244.0.0/16"], "serviceCidrs": ["10.96.0.0/12"],
            "dnsDomain": "cluster.local", "clusterDns": ["10.96.0.10"], "caHashes": [],
            "caPem": "", "nodes": [], "daemonSets": [], "cni": null,
        });
        serde_json::from_value(facts).unwrap()
    }

    #[test]
    fn the_file_is_what_the_cluster_says_and_reads_without_a_finding() {
        let arguments = join(&["--interface", "Ethernet 2"]);
        let spec = spec(&arguments, &name(&arguments), &facts()).unwrap();
        let text = serde_saphyr::to_string(&spec).unwrap();
        let loaded = casement_source::load_bytes("joined.yaml", text.as_bytes());
        assert!(
            loaded.diagnostics.is_empty(),
            "{text}\n{:?}",
            loaded.diagnostics
        );
        let cluster = loaded.cluster.unwrap();
        assert_eq!(cluster.spec.kubernetes.version.to_string(), "1.36.3");
        assert_eq!(cluster.spec.hosts[0].name.as_str(), "win-0-4");
        assert_eq!(cluster.login(&cluster.spec.hosts[0]).user, "Administrator");
    }

    #[test]
    fn what_a_person_says_must_be_what_the_cluster_has() {
        let arguments = join(&["--cluster-cidr", "10.200.0.0/16"]);
        let problem = spec(&arguments, "w", &facts()).unwrap_err();
        assert_eq!(problem.code, "CAS-JOIN-020");
        let said = problem.to_string();
        assert!(
            said.contains("10.200.0.0/16") && said.contains("10.244.0.0/16"),
            "{said}"
        );
        let same = join(&[
            "--cluster-cidr",
            "10.244.0.0/16",
            "--service-cidr",
            "10.96.0.0/12",
        ]);
        assert!(spec(&same, "w", &facts()).is_ok());
    }

    #[test]
    fn a_pod_network_without_windows_is_refused_by_name() {
        let mut facts = facts();
        facts.cni = serde_json::from_value(json!({
            "name": "Cilium",
            "daemonSet": {"apiVersion": "apps/v1", "kind": "DaemonSet", "namespace": "kube-system", "name": "cilium"},
        }))
        .unwrap();
        let problem = spec(&join(&[]), "w", &facts).unwrap_err();
        assert!(problem.what.contains("Cilium"), "{problem}");
    }
}
