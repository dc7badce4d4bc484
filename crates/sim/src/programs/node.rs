//! Runs the programs of a simulated host, and reports its Node and pods to the API server as
//! its kubelet would.

use std::sync::Weak;
use std::time::{Duration, Instant};

use casement_node::sim::{Sim, World};
use casement_resource::service_names::{FLANNELD, KUBE_PROXY, KUBELET};
use serde_json::{Value, json};

use super::client::{CachedClient, Client, Identity};
use super::flanneld::Flanneld;
use super::kube_proxy::KubeProxy;
use super::kubelet::{self, KubeletState, Runtime};
use super::pace::Pace;
use super::pods;
use super::pods::{PodEnvironment, PodRecords};
use crate::api_server::now;
use crate::host::{Inner, disk};

const INTERVAL: Duration = Duration::from_millis(150);
/// For the Node and its pods while nothing changes on the host.
const IDLE_INTERVAL: Duration = Duration::from_millis(400);
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// A Node whose lease is older becomes NotReady: 40 s in a real cluster.
const LEASE_DURATION: Duration = Duration::from_secs(4);

pub(crate) async fn run(host: Weak<Inner>, pace: Pace) {
    let mut programs = Programs::default();
    loop {
        tokio::time::sleep(pace.scale(INTERVAL)).await;
        let Some(host) = host.upgrade() else {
            return;
        };
        // Most hosts of a large fleet run no kubelet, and `world()` makes a copy.
        let services = [KUBELET, FLANNELD, KUBE_PROXY];
        if !services.iter().any(|service| host.sim.is_running(service)) {
            programs = Programs::default();
            continue;
        }
        let world = host.sim.world();
        programs.flanneld.tick(&host.sim, &world, pace).await;
        programs.tick_kubelet(&host.sim, &world, pace).await;
        programs.proxy.tick(&host.sim, &world, pace).await;
    }
}

#[derive(Default)]
struct Programs {
    reporter: NodeReporter,
    flanneld: Flanneld,
    proxy: KubeProxy,
}

impl Programs {
    async fn tick_kubelet(&mut self, sim: &Sim, world: &World, pace: Pace) {
        let evaluate = kubelet::evaluate(world);
        if let KubeletState::Exits(error) = &evaluate {
            kubelet::stop(sim, error);
        }
        let KubeletState::Runs(runtime) = evaluate else {
            self.reporter = NodeReporter::default();
            return;
        };
        // Errors are retried, also for a host that has not joined yet.
        let _ = self.reporter.report(sim, world, &runtime, pace).await;
    }
}

#[derive(Default)]
struct NodeReporter {
    client: CachedClient,
    reported: Option<Value>,
    heartbeat: Option<Instant>,
    last_report: Option<Instant>,
    pods: PodRecords,
}

impl NodeReporter {
    async fn report(
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
        let same = self.reported.as_ref() == Some(&status);
        let idle_interval = pace.scale(IDLE_INTERVAL);
        if same
            && self
                .last_report
                .is_some_and(|last| last.elapsed() < idle_interval)
        {
            return Ok(());
        }
        self.last_report = Some(Instant::now());
        let client = self.client.client(&identity)?;
        let path = format!("/api/v1/nodes/{node}");
        let (code, node_object) = client.request("GET", &path, None).await?;
        if code == 404 {
            self.reported = None;
            client
                .send("POST", "/api/v1/nodes", &registration(world, &node))
                .await?;
        }
        let has_status = node_object["status"]["conditions"].is_array();
        if self.reported.as_ref() != Some(&status) || !has_status {
            let patch = json!({ "status": with_timestamps(&status) });
            let path = format!("{path}/status");
            client.strategic_patch(&path, &patch).await?;
            self.reported = Some(status);
        }
        let interval = pace.scale(HEARTBEAT_INTERVAL);
        if self.heartbeat.is_none_or(|last| last.elapsed() > interval) {
            renew_lease(&client, &node, pace.scale(LEASE_DURATION)).await?;
            self.heartbeat = Some(Instant::now());
        }
        let environment = PodEnvironment::new(world, &node_object["spec"]["podCIDR"], runtime);
        pods::sync_pods(&client, sim, &node, environment, &mut self.pods).await
    }
}

/// The kubelet's identity, once it has joined.
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
        ca: disk::decode_base64(value("certificate-authority-data:")?)?,
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
        Err(error) => ("False", "KubeletNotReady", error.as_str()),
    };
    let no_pressure =
        |kind: &str, reason: &str| json!({"type": kind, "status": "False", "reason": reason});
    json!({
        "conditions": [
            no_pressure("MemoryPressure", "KubeletHasSufficientMemory"),
            no_pressure("DiskPressure", "KubeletHasNoDiskPressure"),
            {"type": "Ready", "status": ready, "reason": reason, "message": message},
        ],
        "addresses": addresses(world),
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "15Gi", "pods": "110"},
        "nodeInfo": node_info(world),
    })
}

fn addresses(world: &World) -> Value {
    // The kubelet uses `--node-ip`, or the first adapter without it.
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

fn node_info(world: &World) -> Value {
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

/// Adds timestamps to the conditions.
fn with_timestamps(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(conditions) = status["conditions"].as_array_mut() {
        for condition in conditions {
            condition["lastHeartbeatTime"] = json!(now());
            condition["lastTransitionTime"] = json!(now());
        }
    }
    status
}

async fn renew_lease(client: &Client, node: &str, duration: Duration) -> Result<(), String> {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let renewed = crate::api_server::now_with_micros();
    let spec = json!({
        "holderIdentity": node, "leaseDurationSeconds": duration.as_secs(), "renewTime": renewed,
    });
    let path = format!("{LEASES}/{node}");
    let (code, _) = client
        .request("PATCH", &path, Some(&json!({ "spec": spec })))
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
