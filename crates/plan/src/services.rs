//! The services of a node and their steps.

use std::collections::BTreeMap;

use casement_resource::host_paths::KUBEADM_FLAGS;
use casement_resource::service_names::{CONTAINERD, CRI_DOCKERD, DOCKER, KUBE_PROXY, KUBELET};
use casement_resource::step_ids;
use casement_resource::{
    Access, Condition, ContainerStore, Directory, File, Resource, Run, Service, ServiceDefinition,
    StartType,
};

use crate::accounts::{self, secret_file};
use crate::containerd::{self, Containerd};
use crate::facts::Inputs;
use crate::host_environment;
use crate::kubelet::Kubelet;
use crate::node_paths::{self, NodePaths};
use crate::release::Runtime;
use crate::steps::{PlanError, Steps, path};

/// Proxy variables with a password, beside containerd's configuration.
const PROXY_FILE: &str = "proxy.env";

pub(crate) fn definition(paths: &NodePaths, name: &str) -> Result<ServiceDefinition, PlanError> {
    Ok(ServiceDefinition {
        name: name.to_owned(),
        display_name: format!("{name} (casement)"),
        program: Vec::new(),
        environment: BTreeMap::new(),
        environment_file: None,
        flags_file: None,
        depends_on: Vec::new(),
        log_file: Some(path(&paths.log(name))?),
        ready: None,
        ready_seconds: 60,
        start: StartType::Automatic,
    })
}

/// Ready when its socket exists.
pub(crate) fn containerd(kubelet: &Kubelet<'_>) -> Result<ServiceDefinition, PlanError> {
    let paths = kubelet.paths;
    let (program, ready) = if kubelet.host.os.is_windows() {
        let pipe = Condition::NamedPipe(node_paths::CONTAINERD_PIPE.to_owned());
        (paths.below(&paths.containerd, &["containerd.exe"]), pipe)
    } else {
        let socket = path(node_paths::CONTAINERD_SOCKET)?;
        (paths.program("containerd"), Condition::FileExists(socket))
    };
    let configuration = paths.below(&paths.containerd, &["config.toml"]);
    let environment_file = accounts::proxy_text(kubelet.cluster)?
        .map(|_| path(&paths.below(&paths.containerd, &[PROXY_FILE])))
        .transpose()?;
    Ok(ServiceDefinition {
        program: vec![program, "--config".to_owned(), configuration],
        environment: host_environment::proxy(kubelet.cluster),
        environment_file,
        ready: Some(ready),
        ..definition(paths, CONTAINERD)?
    })
}

/// Writes containerd's files. Returns the steps whose change restarts it.
pub(crate) fn containerd_files(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    containerd: &Containerd<'_>,
    inputs: &Inputs,
) -> Result<Vec<&'static str>, PlanError> {
    let (paths, cluster) = (kubelet.paths, kubelet.cluster);
    let after = ["dir-containerd"];
    let below = |name: &str| paths.below(containerd.folder, &[name]);
    let (id, configuration) = (step_ids::CONTAINERD_CONFIG, below("config.toml"));
    let mut restart_on = vec![id];
    match accounts::registry(cluster) {
        None => {
            let text = containerd.configuration();
            file(steps, id, &after, &configuration, text)?;
        }
        Some(account) => {
            let text = accounts::containerd_text(containerd, account)?;
            secret_file(steps, id, &after, &configuration, text, inputs)?;
        }
    }
    if let Some(text) = accounts::proxy_text(cluster)? {
        let (id, file_path) = ("containerd-proxy", below(PROXY_FILE));
        secret_file(steps, id, &after, &file_path, text, inputs)?;
        restart_on.push(id);
    }
    let registry = cluster.spec.images.registry.as_ref();
    if let (Some(registry), Some(ca)) = (registry, &inputs.registry_ca) {
        let ca_file = below("registry-ca.crt");
        file(steps, "registry-ca", &after, &ca_file, ca.clone())?;
        let registry_folder = containerd.registry_folder(registry.host());
        let directory = Directory {
            path: path(&registry_folder)?,
            access: Access::Inherited,
        };
        steps.add("dir-registry", &after, Resource::Directory(directory))?;
        let hosts = paths.below(&registry_folder, &["hosts.toml"]);
        let text = containerd::registry_hosts(registry.host(), &ca_file);
        file(steps, "registry-hosts", &["dir-registry"], &hosts, text)?;
        // containerd reads these at each pull; they only have to exist when it starts.
        restart_on.push("registry-ca");
    }
    Ok(restart_on)
}

/// containerd's data folder.
pub(crate) fn container_store(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    const TIMEOUT_SECONDS: u32 = 120;
    let Some(containerd) = Containerd::of(kubelet) else {
        return Ok(());
    };
    let paths = kubelet.paths;
    let data = paths.containerd_data;
    let Some(ready) = self::containerd(kubelet)?.ready else {
        return Ok(());
    };
    let (ctr, address, layers) = if kubelet.host.os.is_windows() {
        // Of containerd's snapshotter for Windows.
        let parts = ["root", "io.containerd.snapshotter.v1.windows", "snapshots"];
        (
            paths.below(containerd.folder, &["ctr.exe"]),
            node_paths::CONTAINERD_PIPE,
            Some(path(&paths.below(data, &parts))?),
        )
    } else {
        (paths.program("ctr"), node_paths::CONTAINERD_SOCKET, None)
    };
    let store = ContainerStore {
        path: path(data)?,
        ctr: path(&ctr)?,
        address: address.to_owned(),
        ready,
        layers,
        timeout_seconds: TIMEOUT_SECONDS,
    };
    let id = "dir-containerd-data";
    steps.add(id, &[], Resource::ContainerStore(store))
}

pub(crate) fn kubelet(kubelet: &Kubelet<'_>) -> Result<ServiceDefinition, PlanError> {
    let paths = kubelet.paths;
    let runtime = match kubelet.release.runtime() {
        Runtime::Containerd(_) => CONTAINERD,
        Runtime::Dockershim => DOCKER,
        Runtime::CriDockerd => CRI_DOCKERD,
    };
    let flags_file = path(&paths.in_kubelet(&[KUBEADM_FLAGS]))?;
    let program = std::iter::once(paths.program("kubelet")).chain(kubelet.flags());
    Ok(ServiceDefinition {
        program: program.collect(),
        flags_file: (!kubelet.is_standalone()).then_some(flags_file),
        depends_on: vec![runtime.to_owned()],
        ..definition(paths, KUBELET)?
    })
}

/// The kubelet's standalone configuration, if kubeadm does not write it.
pub(crate) fn kubelet_file(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
) -> Result<Option<&'static str>, PlanError> {
    if !kubelet.is_standalone() {
        return Ok(None);
    }
    let file_path = kubelet.paths.in_kubelet(&["config.yaml"]);
    let text = casement_net::text(&kubelet.configuration());
    file(steps, "kubelet-config", &["dir-kubelet"], &file_path, text)?;
    Ok(Some("kubelet-config"))
}

/// The CRI server for Docker; `None` with another runtime.
pub(crate) fn cri_dockerd(kubelet: &Kubelet<'_>) -> Result<Option<ServiceDefinition>, PlanError> {
    if kubelet.release.runtime() != Runtime::CriDockerd {
        return Ok(None);
    }
    let paths = kubelet.paths;
    let pipe = Condition::NamedPipe(r"\\.\pipe\cri-dockerd".to_owned());
    Ok(Some(ServiceDefinition {
        program: vec![
            paths.program("cri-dockerd"),
            format!("--container-runtime-endpoint={}", paths.cri_socket),
            "--network-plugin=cni".to_owned(),
            format!("--cni-bin-dir={}", paths.cni_programs),
            format!("--cni-conf-dir={}", paths.cni_configuration),
            format!("--pod-infra-container-image={}", kubelet.pause()),
        ],
        depends_on: vec![DOCKER.to_owned()],
        ready: Some(pipe),
        ..definition(paths, CRI_DOCKERD)?
    }))
}

/// The network daemon; ready when its HNS network exists. Gets the Node's name from its
/// environment.
pub(crate) fn overlay_daemon(
    kubelet: &Kubelet<'_>,
) -> Result<Option<ServiceDefinition>, PlanError> {
    let paths = kubelet.paths;
    let Some(name) = host_environment::daemon(kubelet.cluster) else {
        return Ok(None);
    };
    let node = kubelet.host.name.to_string();
    let network = kubelet.cluster.spec.network.hns_network.to_string();
    Ok(Some(ServiceDefinition {
        program: vec![
            paths.program(name),
            "--kube-subnet-mgr".to_owned(),
            format!(
                "--kubeconfig-file={}",
                paths.below(&paths.programs, &["flannel.kubeconfig"])
            ),
            format!("--iface={}", kubelet.host.address),
            "--ip-masq".to_owned(),
            format!(
                r"--net-config-path={}\net-conf.json",
                node_paths::WINDOWS_FLANNEL
            ),
            "--iptables-forward-rules=false".to_owned(),
        ],
        environment: BTreeMap::from([("NODE_NAME".to_owned(), node)]),
        ready: Some(Condition::HnsNetwork(network)),
        ..definition(paths, name)?
    }))
}

/// Depends on the network daemon, if there is one: kube-proxy exits when its network is
/// deleted.
pub(crate) fn kube_proxy(kubelet: &Kubelet<'_>) -> Result<ServiceDefinition, PlanError> {
    let paths = kubelet.paths;
    let configuration = paths.below(&paths.programs, &["kube-proxy.json"]);
    let daemon = host_environment::daemon(kubelet.cluster);
    Ok(ServiceDefinition {
        program: vec![
            paths.program("kube-proxy"),
            format!("--config={configuration}"),
        ],
        depends_on: daemon.into_iter().map(str::to_owned).collect(),
        ..definition(paths, KUBE_PROXY)?
    })
}

/// A step for a service that is restarted when one of `restart_on` changes.
pub(crate) fn service(
    steps: &mut Steps,
    after: &[&str],
    definition: ServiceDefinition,
    run: Run,
    restart_on: &[&str],
) -> Result<(), PlanError> {
    let id = step_ids::service(&definition.name);
    let restart_on = steps.present(restart_on);
    let restart_on = restart_on.iter().map(|id| id.parse());
    let service = Service {
        definition,
        run,
        restart_on: restart_on.collect::<Result<_, _>>()?,
    };
    steps.add(&id, after, Resource::Service(service))
}

pub(crate) fn file(
    steps: &mut Steps,
    id: &str,
    after: &[&str],
    file_path: &str,
    text: String,
) -> Result<(), PlanError> {
    let file = File {
        path: path(file_path)?,
        content: text.into(),
        access: Access::Inherited,
    };
    steps.add(id, after, Resource::File(file))
}
