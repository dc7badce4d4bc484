//! Faults for simulated clusters: each is one of those that users report most, injected
//! without casement's involvement.

use casement_node::sim::World;
use casement_resource::host_paths::windows_kubeadm_flags;
use casement_resource::service_names::{CONTAINERD, KUBELET};
use casement_resource::wire::InterfaceFacts;
use casement_resource::{HostPath, ServiceState};
use serde_json::{Value, json};

use crate::cluster::SimCluster;
use crate::host::{SimHost, disk};
use crate::programs::client::CachedClient;
use crate::programs::kubeadm;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimFault {
    /// After a reboot, HNS has lost the pod network.
    NetworkGone,
    /// containerd's configuration names another CNI directory.
    CniFolder,
    /// A workload's image is built for another Windows version.
    ImageBuild,
    /// The host's address has changed.
    WrongAddress,
    /// The kubelet registers the address of the second adapter.
    WrongAdapter,
    /// The kubelet is started with a flag that its release does not have.
    RemovedFlag,
    /// kube-proxy is configured with another network.
    ProxyNetwork,
    /// A Windows update that breaks pods.
    BadUpdate,
    RuntimeStopped,
    /// The kubelet's certificate renewal is not approved.
    Unapproved,
    /// A Linux host has lost its route to the pods on Windows.
    LostRoute,
    /// The host is unreachable.
    Unreachable,
}

impl SimFault {
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

    /// The name on the command line.
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

    /// One line, to follow "Now ".
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::NetworkGone => "windows1 reboots, with self-repair disabled",
            Self::CniFolder => "someone edits containerd's configuration on windows1",
            Self::ImageBuild => {
                "a web server for Windows Server 2022 is scheduled to windows2, which runs 2025"
            }
            Self::WrongAddress => "windows1 gets another address from DHCP",
            Self::WrongAdapter => "windows1 gets a second adapter, and its kubelet uses that one",
            Self::RemovedFlag => {
                "someone starts the kubelet of windows1 with a flag from an old guide"
            }
            Self::ProxyNetwork => {
                "kube-proxy on windows1 is configured with the network name of another guide"
            }
            Self::BadUpdate => "Windows Update installs a cumulative update on windows1",
            Self::RuntimeStopped => "containerd on windows1 is stopped",
            Self::Unapproved => {
                "the kubelet of windows1 requests a new certificate that nobody approves"
            }
            Self::LostRoute => "someone restarts the network of linux1",
            Self::Unreachable => "the SSH server of windows1 is stopped",
        }
    }

    #[must_use]
    pub fn host(self) -> &'static str {
        match self {
            Self::ImageBuild => "windows2",
            Self::LostRoute => "linux1",
            _ => "windows1",
        }
    }

    /// The number of Windows hosts that the fault needs.
    #[must_use]
    pub fn windows_hosts(self) -> u16 {
        match self {
            Self::ImageBuild => 2,
            _ => 1,
        }
    }

    /// Injects the fault into a cluster whose hosts have joined.
    pub async fn inject(self, cluster: &SimCluster) -> Result<(), String> {
        let host = cluster
            .host(self.host())
            .ok_or("the cluster has no such host")?;
        match self {
            Self::ImageBuild => return deploy_mismatched_image(cluster).await,
            Self::Unapproved => return request_unapproved_certificate(cluster, host).await,
            Self::NetworkGone => {
                host.power_off();
                host.power_on();
            }
            Self::Unreachable => host.unplug(),
            other => host.sim().modify_world(|world| other.apply_to(world)),
        }
        Ok(())
    }

    fn apply_to(self, world: &mut World) {
        match self {
            Self::CniFolder => edit(world, r"C:\k\containerd\config.toml", |text| {
                text.replace(r"C:\etc\cni\net.d", r"C:\Program Files\containerd\cni\conf")
            }),
            Self::ProxyNetwork => edit(world, r"C:\k\kube-proxy.json", |text| {
                let mut file: Value = serde_json::from_str(text).unwrap_or_default();
                file["winkernel"]["networkName"] = json!("vxlan0");
                format!("{file:#}\n")
            }),
            Self::RemovedFlag => edit(world, &windows_kubeadm_flags(), |text| {
                text.replace("ARGS=\"", "ARGS=\"--network-plugin=cni ")
            }),
            Self::WrongAdapter => {
                world.interfaces.push(adapter(7, "Ethernet 2"));
                edit(world, &windows_kubeadm_flags(), |text| {
                    let arguments = text.split_inclusive([' ', '"']);
                    let others = arguments.filter(|argument| !argument.starts_with("--node-ip="));
                    let rest: String = others.collect();
                    rest.replacen('"', "\"--node-ip=10.9.8.7 ", 1)
                });
            }
            Self::WrongAddress => {
                if let Some(first) = world.interfaces.first_mut() {
                    *first = adapter(first.index, "Ethernet");
                }
            }
            Self::BadUpdate => world.revision.0 = 2600,
            Self::RuntimeStopped => {
                for name in [KUBELET, CONTAINERD] {
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

fn edit(world: &mut World, path: &str, change: impl Fn(&str) -> String) {
    let (Some(text), Ok(host_path)) = (disk::text(world, path), path.parse::<HostPath>()) else {
        return;
    };
    disk::write_to(world, &host_path, &change(&text));
}

fn adapter(index: u32, name: &str) -> InterfaceFacts {
    InterfaceFacts {
        index,
        name: name.to_owned(),
        addresses: "10.9.8.7/24".parse().into_iter().collect(),
    }
}

/// A web server pinned to one host, with an image for another Windows version.
async fn deploy_mismatched_image(cluster: &SimCluster) -> Result<(), String> {
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
    // Wait until its pod is scheduled and the host has tried to run it.
    for _ in 0..100 {
        let events = admin.get("/api/v1/namespaces/default/events").await?;
        if events["items"].as_array().is_some_and(|it| !it.is_empty()) {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    Err("the web server pod was not tried within 10 s".to_owned())
}

/// Requests a successor of the kubelet's certificate after removing the auto-approval.
async fn request_unapproved_certificate(
    cluster: &SimCluster,
    host: &SimHost,
) -> Result<(), String> {
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let admin = cluster.admin()?;
    for name in [
        "kubeadm:node-autoapprove-bootstrap",
        "kubeadm:node-autoapprove-certificate-rotation",
    ] {
        let path = format!("{bindings}/{name}");
        admin.request("DELETE", &path, None).await?;
    }
    let identity = crate::programs::node::identity(&host.sim().world());
    let node = CachedClient::default().client(&identity.ok_or("the host has not joined")?)?;
    let (request, _) = kubeadm::certificate_request(&host.spec().name)?;
    node.send("POST", kubeadm::CSR_PATH, &request).await?;
    Ok(())
}
