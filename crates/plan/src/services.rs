//! The services of a node, on either system, and the steps that make them.

use std::collections::BTreeMap;

use casement_resource::{
    Access, Condition, ContainerStore, Directory, File, Resource, Run, Service, ServiceDefinition,
    StartType,
};

use crate::accounts::{self, secret_file};
use crate::containerd::{self, Containerd};
use crate::facts::Inputs;
use crate::kubelet::Kubelet;
use crate::places::{self, Places};
use crate::release::Runtime;
use crate::steps::{PlanError, Steps, path};
use crate::surroundings;

/// Docker's own service, which its makers give that name.
pub(crate) const DOCKER: &str = "docker";

/// Variables of containerd's that no document may hold, beside its configuration.
const PROXY_FILE: &str = "proxy.env";

/// What all services of a node have in common.
pub(crate) fn definition(places: &Places, name: &str) -> Result<ServiceDefinition, PlanError> {
    Ok(ServiceDefinition {
        name: name.to_owned(),
        display_name: format!("{name} (casement)"),
        program: Vec::new(),
        environment: BTreeMap::new(),
        environment_file: None,
        flags_file: None,
        depends_on: Vec::new(),
        log_file: Some(path(&places.log(name))?),
        ready: None,
        ready_seconds: 60,
        start: StartType::Automatic,
    })
}

/// containerd, which is ready when its socket answers.
pub(crate) fn containerd(kubelet: &Kubelet<'_>) -> Result<ServiceDefinition, PlanError> {
    let places = kubelet.places;
    let (program, ready) = if kubelet.host.os.is_windows() {
        let pipe = Condition::NamedPipe(places::CONTAINERD_PIPE.to_owned());
        (places.below(&places.containerd, &["containerd.exe"]), pipe)
    } else {
        let socket = path(places::CONTAINERD_SOCKET)?;
        (places.program("containerd"), Condition::FileExists(socket))
    };
    let configuration = places.below(&places.containerd, &["config.toml"]);
    let environment_file = accounts::proxy_text(kubelet.cluster)?
        .map(|_| path(&places.below(&places.containerd, &[PROXY_FILE])))
        .transpose()?;
    Ok(ServiceDefinition {
        program: vec![program, "--config".to_owned(), configuration],
        environment: surroundings::proxy(kubelet.cluster),
        environment_file,
        ready: Some(ready),
        ..definition(places, "containerd")?
    })
}

/// The steps that write what containerd reads, after its folder; gives those after
/// whose change it is started anew.
pub(crate) fn containerd_files(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    containerd: &Containerd<'_>,
    inputs: &Inputs,
) -> Result<Vec<&'static str>, PlanError> {
    let (places, cluster) = (kubelet.places, kubelet.cluster);
    let after = ["dir-containerd"];
    let below = |name: &str| places.below(containerd.folder, &[name]);
    let (id, configuration) = ("containerd-config", below("config.toml"));
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
        let (id, place) = ("containerd-proxy", below(PROXY_FILE));
        secret_file(steps, id, &after, &place, text, inputs)?;
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
        let hosts = places.below(&registry_folder, &["hosts.toml"]);
        let text = containerd::registry_hosts(registry.host(), &ca_file);
        file(steps, "registry-hosts", &["dir-registry"], &hosts, text)?;
        // containerd reads these at each pull; only its start needs the order.
        restart_on.push("registry-ca");
    }
    Ok(restart_on)
}

/// The step that makes the folder in which containerd keeps everything.
pub(crate) fn container_store(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    const LONGEST_SECONDS: u32 = 120;
    let Some(containerd) = Containerd::of(kubelet) else {
        return Ok(());
    };
    let places = kubelet.places;
    let data = places.containerd_data;
    let Some(ready) = self::containerd(kubelet)?.ready else {
        return Ok(());
    };
    let (ctr, address, layers) = if kubelet.host.os.is_windows() {
        // Where containerd's snapshotter for Windows has them.
        let parts = ["root", "io.containerd.snapshotter.v1.windows", "snapshots"];
        (
            places.below(containerd.folder, &["ctr.exe"]),
            places::CONTAINERD_PIPE,
            Some(path(&places.below(data, &parts))?),
        )
    } else {
        (places.program("ctr"), places::CONTAINERD_SOCKET, None)
    };
    let store = ContainerStore {
        path: path(data)?,
        ctr: path(&ctr)?,
        address: address.to_owned(),
        ready,
        layers,
        timeout_seconds: LONGEST_SECONDS,
    };
    let id = "dir-containerd-data";
    steps.add(id, &[], Resource::ContainerStore(store))
}

/// The kubelet, after what runs its containers.
pub(crate) fn kubelet(kubelet: &Kubelet<'_>) -> Result<ServiceDefinition, PlanError> {
    let places = kubelet.places;
    let runtime = match kubelet.release.runtime() {
        Runtime::Containerd(_) => "containerd",
        Runtime::Dockershim => DOCKER,
        Runtime::CriDockerd => "cri-dockerd",
    };
    let flags_file = path(&places.in_kubelet(&["kubeadm-flags.env"]))?;
    let program = std::iter::once(places.program("kubelet")).chain(kubelet.flags());
    Ok(ServiceDefinition {
        program: program.collect(),
        flags_file: (!kubelet.stands_alone()).then_some(flags_file),
        depends_on: vec![runtime.to_owned()],
        ..definition(places, "kubelet")?
    })
}

/// The kubelet's whole configuration, where no kubeadm writes it.
pub(crate) fn kubelet_file(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
) -> Result<Option<&'static str>, PlanError> {
    if !kubelet.stands_alone() {
        return Ok(None);
    }
    let place = kubelet.places.in_kubelet(&["config.yaml"]);
    let text = casement_net::text(&kubelet.configuration());
    file(steps, "kubelet-config", &["dir-kubelet"], &place, text)?;
    Ok(Some("kubelet-config"))
}

/// What stands between Docker and a kubelet that does not speak to it.
pub(crate) fn cri_dockerd(kubelet: &Kubelet<'_>) -> Result<Option<ServiceDefinition>, PlanError> {
    if kubelet.release.runtime() != Runtime::CriDockerd {
        return Ok(None);
    }
    let places = kubelet.places;
    let pipe = Condition::NamedPipe(r"\\.\pipe\cri-dockerd".to_owned());
    Ok(Some(ServiceDefinition {
        program: vec![
            places.program("cri-dockerd"),
            format!("--container-runtime-endpoint={}", places.cri_socket),
            "--network-plugin=cni".to_owned(),
            format!("--cni-bin-dir={}", places.cni_programs),
            format!("--cni-conf-dir={}", places.cni_configuration),
            format!("--pod-infra-container-image={}", kubelet.pause()),
        ],
        depends_on: vec![DOCKER.to_owned()],
        ready: Some(pipe),
        ..definition(places, "cri-dockerd")?
    }))
}

/// The daemon that keeps flannel's contract; it is ready when its network is
/// there. It asks no one for its Node's name.
pub(crate) fn overlay_daemon(
    kubelet: &Kubelet<'_>,
) -> Result<Option<ServiceDefinition>, PlanError> {
    let places = kubelet.places;
    let Some(name) = surroundings::daemon(kubelet.cluster) else {
        return Ok(None);
    };
    let node = kubelet.host.name.to_string();
    let network = kubelet.cluster.spec.network.hns_network.to_string();
    Ok(Some(ServiceDefinition {
        program: vec![
            places.program(name),
            "--kube-subnet-mgr".to_owned(),
            format!(
                "--kubeconfig-file={}",
                places.below(&places.programs, &["flannel.kubeconfig"])
            ),
            format!("--iface={}", kubelet.host.address),
            "--ip-masq".to_owned(),
            format!(
                r"--net-config-path={}\net-conf.json",
                places::WINDOWS_FLANNEL
            ),
            "--iptables-forward-rules=false".to_owned(),
        ],
        environment: BTreeMap::from([("NODE_NAME".to_owned(), node)]),
        ready: Some(Condition::HnsNetwork(network)),
        ..definition(places, name)?
    }))
}

/// kube-proxy on Windows: after the daemon that makes the network, where there
/// is one, because it deletes what it finds when its network goes.
pub(crate) fn kube_proxy(kubelet: &Kubelet<'_>) -> Result<ServiceDefinition, PlanError> {
    let places = kubelet.places;
    let configuration = places.below(&places.programs, &["kube-proxy.json"]);
    let daemon = surroundings::daemon(kubelet.cluster);
    Ok(ServiceDefinition {
        program: vec![
            places.program("kube-proxy"),
            format!("--config={configuration}"),
        ],
        depends_on: daemon.into_iter().map(str::to_owned).collect(),
        ..definition(places, "kube-proxy")?
    })
}

/// A step that makes a service, after others and again after some of them.
pub(crate) fn service(
    steps: &mut Steps,
    after: &[&str],
    definition: ServiceDefinition,
    run: Run,
    restart_on: &[&str],
) -> Result<(), PlanError> {
    let id = format!("service-{}", definition.name);
    let restart_on = steps.present(restart_on);
    let restart_on = restart_on.iter().map(|id| id.parse());
    let service = Service {
        definition,
        run,
        restart_on: restart_on.collect::<Result<_, _>>()?,
    };
    steps.add(&id, after, Resource::Service(service))
}

/// A step that writes a file.
pub(crate) fn file(
    steps: &mut Steps,
    id: &str,
    after: &[&str],
    place: &str,
    text: String,
) -> Result<(), PlanError> {
    let file = File {
        path: path(place)?,
        content: text.into(),
        access: Access::Inherited,
    };
    steps.add(id, after, Resource::File(file))
}
