//! The life of a simulated host's programs, and its Node: what its kubelet would
//! tell the API server, and the pods that were given to it.

use std::sync::Weak;
use std::time::{Duration, Instant};

use casement_node::sim::{Sim, World};
use serde_json::{Value, json};

use super::client::{Client, Identity, Kept};
use super::flanneld::Flanneld;
use super::kube_proxy::KubeProxy;
use super::kubelet::{self, Kubelet, Runtime};
use super::pace::Pace;
use super::pods;
use super::pods::{Carries, Told};
use crate::api_server::now;
use crate::host::{Inner, disk};

/// Between two looks at the host.
const EVERY: Duration = Duration::from_millis(150);
/// Between two looks at a Node and its pods while nothing changes on the host.
const CALM: Duration = Duration::from_millis(400);
/// Between two words that the host is still there.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// A Node that is not heard of for this long is not Ready: 40 s in a real cluster.
const LEASE: Duration = Duration::from_secs(4);

/// Lives as long as the host does.
pub(crate) async fn live(host: Weak<Inner>, pace: Pace) {
    let mut programs = Programs::default();
    loop {
        tokio::time::sleep(pace.apart(EVERY)).await;
        let Some(host) = host.upgrade() else {
            return;
        };
        // Most hosts of a large fleet have no kubelet, and a look is a copy.
        let modelled = ["kubelet", "flanneld", "kube-proxy"];
        if !modelled.iter().any(|service| host.sim.runs(service)) {
            programs = Programs::default();
            continue;
        }
        let world = host.sim.world();
        programs.flanneld.tend(&host.sim, &world, pace).await;
        programs.tend_kubelet(&host.sim, &world, pace).await;
        programs.proxy.tend(&host.sim, &world, pace).await;
    }
}

/// The programs of a node.
#[derive(Default)]
struct Programs {
    known: Known,
    flanneld: Flanneld,
    proxy: KubeProxy,
}

impl Programs {
    async fn tend_kubelet(&mut self, sim: &Sim, world: &World, pace: Pace) {
        let verdict = kubelet::verdict(world);
        if let Kubelet::Exits(why) = &verdict {
            kubelet::end(sim, why);
        }
        let Kubelet::Runs(runtime) = verdict else {
            self.known = Known::default();
            return;
        };
        // A server that is away is tried again; so is a host that has not joined.
        let _ = self.known.tell(sim, world, &runtime, pace).await;
    }
}

/// What the API server was told last.
#[derive(Default)]
struct Known {
    client: Kept,
    said: Option<Value>,
    heartbeat: Option<Instant>,
    looked: Option<Instant>,
    pods: Told,
}

impl Known {
    async fn tell(
        &mut self,
        sim: &Sim,
        world: &World,
        runtime: &Result<Runtime, String>,
        pace: Pace,
    ) -> Result<(), String> {
        let node = kubelet::flag_value(world, "hostname-override");
        let node = node
            .unwrap_or_else(|| world.hostname.clone())
            .to_lowercase();
        let Some(identity) = identity(world) else {
            return Ok(());
        };
        let status = status(world, runtime);
        let same = self.said.as_ref() == Some(&status);
        let calm = pace.apart(CALM);
        if same && self.looked.is_some_and(|last| last.elapsed() < calm) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let client = self.client.client(&identity)?;
        let path = format!("/api/v1/nodes/{node}");
        let (code, seen) = client.ask("GET", &path, None).await?;
        if code == 404 {
            self.said = None;
            client
                .send("POST", "/api/v1/nodes", &registration(world, &node))
                .await?;
        }
        let heard = seen["status"]["conditions"].is_array();
        if self.said.as_ref() != Some(&status) || !heard {
            let patch = json!({ "status": stamped(&status) });
            let path = format!("{path}/status");
            client.lay_over(&path, &patch).await?;
            self.said = Some(status);
        }
        let beat = pace.apart(HEARTBEAT);
        if self.heartbeat.is_none_or(|last| last.elapsed() > beat) {
            lease(&client, &node, pace.apart(LEASE)).await?;
            self.heartbeat = Some(Instant::now());
        }
        let carries = Carries::of(world, &seen["spec"]["podCIDR"], runtime);
        pods::run(&client, sim, &node, carries, &mut self.pods).await
    }
}

/// Who the kubelet is, once it has joined.
pub(crate) fn identity(world: &World) -> Option<Identity> {
    let (conf, pem) = match world.linux {
        Some(_) => (
            "/etc/kubernetes/kubelet.conf",
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
        ),
        None => (
            r"C:\etc\kubernetes\kubelet.conf",
            r"C:\var\lib\kubelet\pki\kubelet-client-current.pem",
        ),
    };
    let conf = disk::text(world, conf)?;
    let value = |key: &str| {
        let mut lines = conf.lines();
        lines.find_map(|line| line.trim().strip_prefix(key).map(str::trim))
    };
    Some(Identity {
        server: value("server: https://")?.to_owned(),
        ca: disk::decoded(value("certificate-authority-data:")?)?,
        pem: disk::text(world, pem)?,
    })
}

fn registration(world: &World, node: &str) -> Value {
    let os = match world.linux {
        Some(_) => "linux",
        None => "windows",
    };
    let mut labels = json!({
        "kubernetes.io/os": os, "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": node,
    });
    if world.linux.is_none() {
        labels["node.kubernetes.io/windows-build"] = json!(format!("10.0.{}", world.build()));
    }
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": node, "labels": labels},
        "spec": {"taints": taints(world)},
    })
}

/// What kubeadm was told by casement's patch.
fn taints(world: &World) -> Value {
    let config = disk::text(world, r"C:\var\lib\kubelet\config.yaml").unwrap_or_default();
    let line = config
        .lines()
        .find_map(|line| line.strip_prefix("registerWithTaints: "));
    let taints = line.and_then(|text| serde_json::from_str(text).ok());
    taints.unwrap_or_else(|| json!([]))
}

fn status(world: &World, runtime: &Result<Runtime, String>) -> Value {
    let (ready, reason, message) = match runtime {
        Ok(_) => ("True", "KubeletReady", "kubelet is posting ready status"),
        Err(why) => ("False", "KubeletNotReady", why.as_str()),
    };
    let healthy =
        |kind: &str, reason: &str| json!({"type": kind, "status": "False", "reason": reason});
    json!({
        "conditions": [
            healthy("MemoryPressure", "KubeletHasSufficientMemory"),
            healthy("DiskPressure", "KubeletHasNoDiskPressure"),
            {"type": "Ready", "status": ready, "reason": reason, "message": message},
        ],
        "addresses": addresses(world),
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "15Gi", "pods": "110"},
        "nodeInfo": information(world),
    })
}

fn addresses(world: &World) -> Value {
    // The kubelet believes `--node-ip`, and takes the first adapter without it.
    let own = kubelet::flag_value(world, "node-ip");
    let first = || {
        let first = world.interfaces.first()?.addresses.first()?;
        Some(first.addr().to_string())
    };
    let address = own.or_else(first).unwrap_or_default();
    json!([
        {"type": "InternalIP", "address": address},
        {"type": "Hostname", "address": world.hostname.to_lowercase()},
    ])
}

fn information(world: &World) -> Value {
    let (os, image, kernel) = match world.linux {
        Some(_) => (
            "linux",
            "Debian GNU/Linux 12".to_owned(),
            "6.12.0".to_owned(),
        ),
        None => ("windows", world.product(), world.version()),
    };
    json!({
        "architecture": "amd64", "operatingSystem": os, "osImage": image,
        "kernelVersion": kernel, "containerRuntimeVersion": "containerd://2.1.4",
        "kubeletVersion": kubelet::version(world).unwrap_or_default(),
        "kubeProxyVersion": "", "machineID": "", "systemUUID": "", "bootID": world.boot.to_string(),
    })
}

/// The same with the time of each condition.
fn stamped(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(conditions) = status["conditions"].as_array_mut() {
        for condition in conditions {
            condition["lastHeartbeatTime"] = json!(now());
            condition["lastTransitionTime"] = json!(now());
        }
    }
    status
}

async fn lease(client: &Client, node: &str, lasts: Duration) -> Result<(), String> {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let renewed = crate::api_server::now_exactly();
    let spec = json!({
        "holderIdentity": node, "leaseDurationSeconds": lasts.as_secs(), "renewTime": renewed,
    });
    let path = format!("{LEASES}/{node}");
    let (code, _) = client
        .ask("PATCH", &path, Some(&json!({ "spec": spec })))
        .await?;
    if code == 404 {
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": node, "namespace": "kube-node-lease"}, "spec": spec,
        });
        client.send("POST", LEASES, &object).await?;
    }
    Ok(())
}
