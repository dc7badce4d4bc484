//! `casement join ADDRESS`: joins one Windows host to a running cluster. The cluster file
//! is generated from the cluster.
//!
//! The file is printed, saved in `.casement/join/` for other verbs, and applied.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use casement_cluster::{ClusterClient, ObservedCluster};
use casement_diag::Problem;
use casement_spec::{Named as _, NetworkMode, Program, WindowsComponents};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::failure::CommandError;
use crate::verbs::apply::{ApplyArgs, apply};
use crate::{atomic_file, endpoints, output, signals};

/// Join one Windows host to a running cluster, without a cluster file.
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// Address or name of the host
    address: String,
    /// Kubeconfig of the cluster
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    kubeconfig: PathBuf,
    /// Node name; derived from the address by default
    #[arg(long)]
    name: Option<String>,
    /// Operating system of the host
    #[arg(long, default_value = "windows-2022")]
    os: String,
    /// Host name in the OpenSSH configuration, if it is not the address
    #[arg(long, value_name = "NAME")]
    ssh_host: Option<String>,
    /// SSH user; from the OpenSSH configuration, or Administrator, by default
    #[arg(long)]
    user: Option<String>,
    /// SSH port; from the OpenSSH configuration, or 22, by default
    #[arg(long)]
    port: Option<u16>,
    /// Private key; from the OpenSSH configuration, or ~/.ssh/id_ed25519, by default
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// File with the password, instead of a key
    #[arg(long, conflicts_with = "key", value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Known hosts file; from the OpenSSH configuration, or ~/.ssh/known_hosts, by default
    #[arg(long, value_name = "FILE")]
    known_hosts: Option<String>,
    /// Directory for programs on the host
    #[arg(long, default_value = casement_spec::defaults::BASE_DIR, value_name = "DIR")]
    base_dir: String,
    /// Pod network; must match the cluster
    #[arg(long, value_name = "CIDR")]
    cluster_cidr: Option<String>,
    /// Service network; must match the cluster
    #[arg(long, value_name = "CIDR")]
    service_cidr: Option<String>,
    /// Network adapter, if the host has several
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Kubernetes version on the host; the version of the cluster by default
    #[arg(long, value_name = "VERSION")]
    release: Option<String>,
    /// HTTP proxy for downloads of the host
    #[arg(long, value_name = "URL")]
    web_proxy: Option<String>,
    /// Directory with programs for Windows: kubelet.exe and others
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Registry for all images
    #[arg(long, value_name = "HOST:PORT")]
    registry: Option<String>,
    /// CA certificate of the registry
    #[arg(long, value_name = "FILE", requires = "registry")]
    registry_ca: Option<PathBuf>,
    #[command(flatten)]
    pub run: crate::verbs::apply::RunArgs,
}

pub async fn run_join(arguments: JoinArgs) -> Result<(), CommandError> {
    let interrupts = signals::watch("join");
    let api = ClusterClient::connect(&arguments.kubeconfig).await;
    let api = api.map_err(|error| error.problem())?;
    let facts = api.observe().await.map_err(|error| error.problem())?;
    let name = name(&arguments);
    let spec = spec(&arguments, &name, &facts)?;
    let text = serde_saphyr::to_string(&spec)
        .map_err(|error| Problem::new("CAS-JOIN-022", error.to_string(), "report this as a bug"))?;
    if !arguments.run.output.is_json() {
        output::print(&text)?;
    }
    let dir = Path::new(".casement/join");
    let file = dir.join(format!("{name}.yaml"));
    let saved =
        std::fs::create_dir_all(dir).and_then(|()| atomic_file::replace(&file, text.as_bytes()));
    saved.map_err(|error| {
        let what = format!("failed to write `{}`", file.display());
        let help = "run the command in a writable directory";
        Problem::new("CAS-FILE-007", what, help).detail("cause", error)
    })?;
    let file_name = file.display();
    output::message(&format!(
        "Saved as {file_name}. Use `-f {file_name}` with other commands."
    ));
    apply(ApplyArgs::new(file, spec, arguments.run), &interrupts).await
}

/// The first label of a host name, or the last two numbers of an address: a Windows
/// computer name has at most 15 characters.
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

fn spec(arguments: &JoinArgs, name: &str, facts: &ObservedCluster) -> Result<Value, Problem> {
    let pods = cidrs(
        "--cluster-cidr",
        arguments.cluster_cidr.as_deref(),
        &facts.pod_cidrs,
    )?;
    let services = &facts.service_cidrs;
    let services = cidrs(
        "--service-cidr",
        arguments.service_cidr.as_deref(),
        services,
    )?;
    let version = facts.version.trim_start_matches('v');
    let version = version.split(['+', '-']).next().unwrap_or(version);
    let mode = mode(facts)?;
    // DNS address and domain are read from the cluster when needed.
    let kubernetes = json!({
        "version": arguments.release.as_deref().unwrap_or(version),
        "podCidr": pods,
        "serviceCidr": services,
    });
    let mut spec = json!({
        "kubernetes": kubernetes,
        "existing": {"kubeconfig": absolute(&arguments.kubeconfig)},
        "network": {"mode": mode.to_string()},
        "hosts": [host(arguments, name)?],
        "windows": {"baseDir": arguments.base_dir},
    });
    if mode == NetworkMode::CalicoVxlan {
        // `apply` supports this mode only with Calico's own containers.
        set(
            &mut spec["windows"],
            "components",
            json!(WindowsComponents::HostProcess),
        );
    }
    if let Some(proxy) = &arguments.web_proxy {
        set(&mut spec, "proxy", json!({"http": proxy, "https": proxy}));
    }
    if let Some(registry) = &arguments.registry {
        let mut images = json!({"registry": registry});
        if let Some(ca) = &arguments.registry_ca {
            set(&mut images, "ca", json!(absolute(ca)));
        }
        set(&mut spec, "images", images);
    }
    if let Some(dir) = &arguments.programs {
        set(&mut spec, "artifacts", json!({"overrides": programs(dir)}));
    }
    Ok(json!({
        "apiVersion": "casement.dev/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "joined"},
        "spec": spec,
    }))
}

/// Fields without arguments are left to the OpenSSH configuration.
fn host(arguments: &JoinArgs, name: &str) -> Result<Value, Problem> {
    let given = &arguments.address;
    let (address, named) = match given.parse::<IpAddr>() {
        Ok(_) => (given.clone(), None),
        Err(_) => (endpoints::resolve_address(given)?.to_string(), Some(given)),
    };
    let mut host = json!({
        "name": name,
        "address": address,
        "os": arguments.os,
        "roles": ["worker"],
    });
    if let Some(interface) = &arguments.interface {
        set(&mut host, "interface", json!(interface));
    }
    let known_hosts = arguments.known_hosts.as_deref().map(resolved);
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
            arguments.key.as_deref().map(|it| json!(resolved(it))),
        ),
        ("password", password.map(|it| json!({"file": absolute(it)}))),
        ("knownHosts", known_hosts.map(|it| json!(it))),
    ];
    let ssh: Map<String, Value> = ssh
        .into_iter()
        .filter_map(|(field, value)| Some((field.to_owned(), value?)))
        .collect();
    if !ssh.is_empty() {
        set(&mut host, "access", json!({"ssh": ssh}));
    }
    Ok(host)
}

fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

fn absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    absolute.as_deref().unwrap_or(path).display().to_string()
}

/// Absolute, because the saved file is in another directory; `~` is kept.
fn resolved(path: &str) -> String {
    match path.starts_with('~') {
        true => path.to_owned(),
        false => absolute(Path::new(path)),
    }
}

/// The networks of the cluster; an argument must match them.
fn cidrs(flag: &str, given: Option<&str>, found: &[String]) -> Result<Value, Problem> {
    let actual = found.join(",");
    match given {
        Some(given) if given != actual => Err(Problem::new(
            "CAS-JOIN-020",
            format!("`{flag}` does not match the cluster"),
            format!("omit `{flag}`: casement reads it from the cluster"),
        )
        .detail("given", given)
        .detail("cluster", actual)),
        _ if found.is_empty() => Err(Problem::new(
            "CAS-JOIN-023",
            format!("failed to detect the cluster's network for `{flag}`"),
            "create a cluster file with `casement init`, then run `casement apply`",
        )),
        _ if found.len() == 1 => Ok(json!(found.first())),
        _ => Ok(json!(found)),
    }
}

/// The network mode for the pod network of the Linux nodes.
fn mode(facts: &ObservedCluster) -> Result<NetworkMode, Problem> {
    match facts.cni.as_ref().map(|cni| cni.name.as_str()) {
        None => Ok(NetworkMode::L3Routes),
        Some("flannel") => Ok(NetworkMode::FlannelOverlay),
        Some("Calico") => Ok(NetworkMode::CalicoVxlan),
        Some(other) => Err(Problem::new(
            "CAS-JOIN-021",
            format!("the pod network {other} is not supported on Windows"),
            "use a cluster with flannel, Calico or routed pods",
        )),
    }
}

/// The programs that exist in a directory.
fn programs(dir: &Path) -> Map<String, Value> {
    let found = Program::ALL.iter().filter_map(|program| {
        let path = dir.join(format!("{program}.exe"));
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

    fn join(arguments: &[&str]) -> JoinArgs {
        let arguments = ["join", "10.3.0.4", "--kubeconfig", "/x/admin.conf"]
            .iter()
            .chain(arguments);
        Line::parse_from(arguments).join
    }

    fn facts() -> ObservedCluster {
        let facts = json!({
            "server": "https://10.3.0.1:6443", "version": "v1.36.3", "endpoint": "10.3.0.1:6443",
            "podCidrs": ["10.244.0.0/16"], "serviceCidrs": ["10.96.0.0/12"],
            "dnsDomain": "cluster.local", "clusterDns": ["10.96.0.10"], "caHashes": [],
            "caPem": "", "nodes": [], "daemonSets": [], "cni": null,
        });
        serde_json::from_value(facts).unwrap()
    }

    #[test]
    fn generated_file_is_valid() {
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

    fn cni(name: &str) -> ObservedCluster {
        let mut facts = facts();
        facts.cni = serde_json::from_value(json!({
            "name": name,
            "daemonSet": {"apiVersion": "apps/v1", "kind": "DaemonSet", "namespace": "kube-system", "name": "x"},
        }))
        .unwrap();
        facts
    }

    #[test]
    fn apply_supports_the_generated_file() {
        let arguments = join(&[]);
        for facts in [facts(), cni("flannel"), cni("Calico")] {
            let spec = spec(&arguments, "win1", &facts).unwrap();
            let text = serde_saphyr::to_string(&spec).unwrap();
            let loaded = casement_source::load_bytes("joined.yaml", text.as_bytes());
            let cluster = loaded.cluster.unwrap();
            let findings = casement_plan::unsupported(&cluster, &|field| loaded.map.has(field));
            assert!(findings.is_empty(), "{text}\n{findings:?}");
        }
    }

    #[test]
    fn networks_must_match_the_cluster() {
        let arguments = join(&["--cluster-cidr", "10.200.0.0/16"]);
        let problem = spec(&arguments, "w", &facts()).unwrap_err();
        assert_eq!(problem.code, "CAS-JOIN-020");
        let text = problem.to_string();
        assert!(
            text.contains("10.200.0.0/16") && text.contains("10.244.0.0/16"),
            "{text}"
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
    fn unsupported_pod_networks_are_rejected() {
        let problem = spec(&join(&[]), "w", &cni("Cilium")).unwrap_err();
        assert!(problem.what.contains("Cilium"), "{problem}");
    }
}
