//! What goes wrong in real clusters, done to simulated ones: each is one of the
//! faults that people report most, from outside and behind casement's back.

use casement_node::sim::World;
use casement_resource::wire::InterfaceFacts;
use casement_resource::{HostPath, ServiceState};
use serde_json::{Value, json};

use crate::cluster::SimCluster;
use crate::host::{SimHost, disk};
use crate::programs::client::Kept;
use crate::programs::kubeadm;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mishap {
    /// A reboot: HNS has forgotten the pods' network.
    NetworkGone,
    /// Somebody has pointed containerd at another CNI folder.
    CniFolder,
    /// A workload's image is made for another Windows.
    ImageBuild,
    /// The host has got another address.
    WrongAddress,
    /// The kubelet speaks for the second adapter.
    WrongAdapter,
    /// The kubelet is given a flag that its release has not.
    RemovedFlag,
    /// kube-proxy is told of another network.
    ProxyNetwork,
    /// An update of Windows that breaks pods.
    BadUpdate,
    /// containerd is stopped.
    RuntimeStopped,
    /// Nobody approves the kubelet's next certificate.
    Unapproved,
    /// A Linux host has lost its way to the pods on Windows.
    LostRoute,
    /// The host does not answer.
    Unreachable,
}

impl Mishap {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::NetworkGone,
        Self::CniFolder,
        Self::ImageBuild,
        Self::WrongAddress,
        Self::WrongAdapter,
        Self::RemovedFlag,
        Self::ProxyNetwork,
        Self::BadUpdate,
        Self::RuntimeStopped,
        Self::Unapproved,
        Self::LostRoute,
        Self::Unreachable,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NetworkGone => "network-gone",
            Self::CniFolder => "cni-folder",
            Self::ImageBuild => "image-build",
            Self::WrongAddress => "wrong-address",
            Self::WrongAdapter => "wrong-adapter",
            Self::RemovedFlag => "removed-flag",
            Self::ProxyNetwork => "proxy-network",
            Self::BadUpdate => "bad-update",
            Self::RuntimeStopped => "runtime-stopped",
            Self::Unapproved => "unapproved",
            Self::LostRoute => "lost-route",
            Self::Unreachable => "unreachable",
        }
    }

    /// What is done, in a line.
    #[must_use]
    pub fn story(self) -> &'static str {
        match self {
            Self::NetworkGone => "windows1 is booted, and nothing on it may repair by itself",
            Self::CniFolder => "somebody edits containerd's configuration on windows1",
            Self::ImageBuild => "a web server for Windows Server 2022 is given to windows2, a 2025",
            Self::WrongAddress => "windows1 gets another address from DHCP",
            Self::WrongAdapter => "windows1 has a second adapter, and its kubelet takes that one",
            Self::RemovedFlag => "somebody gives the kubelet of windows1 a flag from an old guide",
            Self::ProxyNetwork => "kube-proxy on windows1 is told of the network of another guide",
            Self::BadUpdate => "Windows Update installs a cumulative update on windows1",
            Self::RuntimeStopped => "containerd on windows1 is stopped",
            Self::Unapproved => "the kubelet of windows1 asks for its next certificate in vain",
            Self::LostRoute => "somebody restarts the network of linux1",
            Self::Unreachable => "the SSH server of windows1 is stopped",
        }
    }

    /// The host that it is about.
    #[must_use]
    pub fn host(self) -> &'static str {
        match self {
            Self::ImageBuild => "windows2",
            Self::LostRoute => "linux1",
            _ => "windows1",
        }
    }

    /// Lets it happen to a cluster whose hosts have joined.
    pub async fn strike(self, cluster: &SimCluster) -> Result<(), String> {
        let host = cluster.host(self.host()).ok_or("there is no such host")?;
        match self {
            Self::ImageBuild => return deploy(cluster).await,
            Self::Unapproved => return ask_in_vain(cluster, host).await,
            Self::NetworkGone => {
                host.power_off();
                host.power_on();
            }
            Self::Unreachable => host.unplug(),
            other => host.sim().meddle(|world| other.meddle(world)),
        }
        Ok(())
    }

    /// What is done inside a host.
    fn meddle(self, world: &mut World) {
        match self {
            Self::CniFolder => edit(world, r"C:\k\containerd\config.toml", |text| {
                text.replace(r"C:\etc\cni\net.d", r"C:\Program Files\containerd\cni\conf")
            }),
            Self::ProxyNetwork => edit(world, r"C:\k\kube-proxy.json", |text| {
                let mut file: Value = serde_json::from_str(text).unwrap_or_default();
                file["winkernel"]["networkName"] = json!("vxlan0");
                format!("{file:#}\n")
            }),
            Self::RemovedFlag => edit(world, FLAGS, |text| {
                text.replace("ARGS=\"", "ARGS=\"--network-plugin=cni ")
            }),
            Self::WrongAdapter => {
                world.interfaces.push(card(7, "Ethernet 2"));
                edit(world, FLAGS, |text| {
                    let words = text.split_inclusive([' ', '"']);
                    let others = words.filter(|word| !word.starts_with("--node-ip="));
                    let rest: String = others.collect();
                    rest.replacen('"', "\"--node-ip=10.9.8.7 ", 1)
                });
            }
            Self::WrongAddress => {
                if let Some(first) = world.interfaces.first_mut() {
                    *first = card(first.index, "Ethernet");
                }
            }
            Self::BadUpdate => world.revision.0 = 2600,
            Self::RuntimeStopped => {
                for name in ["kubelet", "containerd"] {
                    if let Some(service) = world.services.get_mut(name) {
                        service.state = ServiceState::Stopped;
                    }
                }
            }
            Self::LostRoute => world.routes.clear(),
            Self::NetworkGone | Self::ImageBuild | Self::Unapproved | Self::Unreachable => {}
        }
    }
}

const FLAGS: &str = r"C:\var\lib\kubelet\kubeadm-flags.env";

fn edit(world: &mut World, path: &str, change: impl Fn(&str) -> String) {
    let (Some(text), Ok(place)) = (disk::text(world, path), path.parse::<HostPath>()) else {
        return;
    };
    disk::put_in(world, &place, &change(&text));
}

fn card(index: u32, name: &str) -> InterfaceFacts {
    InterfaceFacts {
        index,
        name: name.to_owned(),
        addresses: "10.9.8.7/24".parse().into_iter().collect(),
    }
}

/// A web server that names one host and an image for another Windows.
async fn deploy(cluster: &SimCluster) -> Result<(), String> {
    let image = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022";
    let labels = json!({"app": "shop"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {"kubernetes.io/hostname": "windows2"},
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "web", "image": image}],
                },
            },
        },
    });
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let admin = cluster.admin()?;
    admin.send("POST", path, &deployment).await?;
    // Its pod has to be given to the host, and the host to have tried.
    for _ in 0..100 {
        let events = admin.get("/api/v1/namespaces/default/events").await?;
        if events["items"].as_array().is_some_and(|it| !it.is_empty()) {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    Err("nobody has tried to run the web server for 10 s".to_owned())
}

/// A certificate that is to follow the one that the kubelet has.
async fn ask_in_vain(cluster: &SimCluster, host: &SimHost) -> Result<(), String> {
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let admin = cluster.admin()?;
    for name in [
        "kubeadm:node-autoapprove-bootstrap",
        "kubeadm:node-autoapprove-certificate-rotation",
    ] {
        let path = format!("{bindings}/{name}");
        admin.ask("DELETE", &path, None).await?;
    }
    let identity = crate::programs::node::identity(&host.sim().world());
    let node = Kept::default().client(&identity.ok_or("it has not joined")?)?;
    let (request, _) = kubeadm::request(&host.spec().name)?;
    node.send("POST", kubeadm::REQUESTS, &request).await?;
    Ok(())
}
