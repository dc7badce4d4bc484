//! The pods of a simulated host: they run if their images support this Windows build and
//! their network exists, and report the reason if not.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use casement_node::sim::{RegistryImage, Sim, World};
use serde_json::{Value, json};

use super::client::Client;
use super::cni::{self, Cni};
use super::kubelet::Runtime;
use super::pull;
use crate::api_server::now;

pub(crate) struct PodEnvironment {
    cni: Option<Cni>,
    pods: Option<ipnet::Ipv4Net>,
    host: String,
    /// Why no pod can be attached to a network.
    no_network: Option<String>,
    pause: String,
    build: Option<String>,
    registry: BTreeMap<String, RegistryImage>,
    /// Pull errors by image.
    pull_errors: BTreeMap<String, String>,
}

/// Addresses of the pods, and what was reported about them.
#[derive(Default)]
pub(crate) struct PodRecords {
    addresses: BTreeMap<String, IpAddr>,
    events: BTreeSet<(String, String)>,
    status: BTreeMap<String, Value>,
    pulled: BTreeMap<String, RegistryImage>,
}

struct PodFailure {
    /// Waiting reason of the container, as `kubectl get pods` shows it.
    reason: &'static str,
    event: &'static str,
    message: String,
}

impl PodEnvironment {
    pub(crate) fn new(world: &World, pods: &Value, runtime: &Result<Runtime, String>) -> Self {
        let first = world.interfaces.first().and_then(|it| it.addresses.first());
        let network = runtime.as_ref().map(|it| it.cni.attach_error(world));
        let node_subnet = pods.as_str().and_then(|text| text.parse().ok());
        let cni = runtime.as_ref().ok().map(|it| it.cni.clone());
        Self {
            pods: cni
                .as_ref()
                .and_then(|cni| cni.pod_subnet(world, node_subnet)),
            cni,
            host: first.map(|it| it.addr().to_string()).unwrap_or_default(),
            no_network: network.unwrap_or_else(|error| Some(error.clone())),
            pause: runtime
                .as_ref()
                .map_or(String::new(), |it| it.pause.clone()),
            build: world.linux.is_none().then(|| world.build().to_string()),
            registry: world.registry.clone(),
            pull_errors: BTreeMap::new(),
        }
    }

    /// Pulls images that the pods need and the host does not have.
    async fn pull(&mut self, sim: &Sim, pods: &[Value], records: &mut PodRecords) {
        self.registry.extend(records.pulled.clone());
        let images = pods.iter().flat_map(images);
        let images = images.chain(pods.first().map(|_| self.pause.as_str()));
        let missing_images = images.filter(|image| !self.registry.contains_key(*image));
        let missing_images: BTreeSet<String> = missing_images.map(str::to_owned).collect();
        if self.build.is_none() || missing_images.is_empty() {
            return;
        }
        let world = sim.world();
        for image in missing_images {
            match pull::pull(&world, &image).await {
                Ok(found) => {
                    self.registry.insert(image.clone(), found.clone());
                    records.pulled.insert(image, found);
                }
                Err(error) => {
                    self.pull_errors.insert(image, error);
                }
            }
        }
    }

    fn failure(&self, pod: &Value) -> Option<PodFailure> {
        if let Some(error) = &self.no_network {
            return Some(PodFailure {
                reason: "ContainerCreating",
                event: "FailedCreatePodSandBox",
                message: format!("Failed to create pod sandbox: {error}"),
            });
        }
        if let Some(error) = self.image_error(&self.pause) {
            return Some(PodFailure {
                reason: "ContainerCreating",
                event: "FailedCreatePodSandBox",
                message: format!("Failed to create pod sandbox: {error}"),
            });
        }
        let error = images(pod).find_map(|it| self.image_error(it))?;
        Some(PodFailure {
            reason: "ErrImagePull",
            event: "Failed",
            message: error,
        })
    }

    /// Why this host cannot run an image.
    fn image_error(&self, name: &str) -> Option<String> {
        let build = self.build.as_ref()?;
        let Some(image) = self.registry.get(name) else {
            let error = self.pull_errors.get(name);
            let error = error.map_or(pull::NOT_FOUND, String::as_str);
            return Some(format!(
                "failed to pull and unpack image \"{name}\": {error}"
            ));
        };
        let is_supported = image
            .versions
            .iter()
            .any(|version| version.split('.').nth(2) == Some(build.as_str()));
        (!is_supported).then(|| {
            format!(
                "failed to pull and unpack image \"{name}\": no match for platform in manifest: \
                 not found"
            )
        })
    }
}

/// Syncs every pod of the node.
pub(crate) async fn sync_pods(
    client: &Client,
    sim: &Sim,
    node: &str,
    mut environment: PodEnvironment,
    records: &mut PodRecords,
) -> Result<(), String> {
    let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
    let list = client.get(&path).await?;
    let pods = list["items"].as_array().cloned().unwrap_or_default();
    let existing: BTreeSet<String> = pods.iter().map(key).collect();
    for pod in records
        .addresses
        .keys()
        .filter(|pod| !existing.contains(*pod))
    {
        if let Some(cni) = &environment.cni {
            cni::detach(sim, &cni.network, pod);
        }
    }
    records.addresses.retain(|pod, _| existing.contains(pod));
    records.status.retain(|pod, _| existing.contains(pod));
    environment.pull(sim, &pods, records).await;
    for pod in &pods {
        sync_pod(client, node, &environment, records, pod).await?;
        let terminating = pod["metadata"]["deletionTimestamp"].is_string();
        let (address, cni) = (records.addresses.get(&key(pod)), environment.cni.as_ref());
        if let (Some(address), Some(cni), false) = (address, cni, terminating) {
            cni::attach(sim, &cni.network, &key(pod), *address);
        }
    }
    Ok(())
}

async fn sync_pod(
    client: &Client,
    node: &str,
    environment: &PodEnvironment,
    records: &mut PodRecords,
    pod: &Value,
) -> Result<(), String> {
    let (namespace, name) = names(pod);
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    if pod["metadata"]["deletionTimestamp"].is_string() {
        let now = json!({"gracePeriodSeconds": 0});
        client.request("DELETE", &path, Some(&now)).await?;
        return Ok(());
    }
    let failure = environment.failure(pod);
    if let Some(failure) = &failure {
        let key_and_message = (key(pod), failure.message.clone());
        if records.events.insert(key_and_message) {
            let path = format!("/api/v1/namespaces/{namespace}/events");
            client
                .send("POST", &path, &event(pod, node, failure))
                .await?;
        }
    }
    let address = match failure {
        Some(_) => None,
        None => records.address(environment, &key(pod)),
    };
    let status = status(pod, environment, address, failure.as_ref());
    if records.status.get(&key(pod)) == Some(&status) {
        return Ok(());
    }
    let mut stamped = status.clone();
    stamped["startTime"] = json!(now());
    let patch = json!({ "status": stamped });
    client
        .send("PATCH", &format!("{path}/status"), &patch)
        .await?;
    records.status.insert(key(pod), status);
    Ok(())
}

impl PodRecords {
    /// The first three addresses of a subnet belong to the network, its gateway and the host.
    fn address(&mut self, environment: &PodEnvironment, pod: &str) -> Option<IpAddr> {
        if let Some(address) = self.addresses.get(pod) {
            return Some(*address);
        }
        let mut free = environment.pods?.hosts().skip(2).map(IpAddr::from);
        let address = free.find(|it| !self.addresses.values().any(|used| used == it))?;
        self.addresses.insert(pod.to_owned(), address);
        Some(address)
    }
}

fn images(pod: &Value) -> impl Iterator<Item = &str> {
    let containers = pod["spec"]["containers"].as_array();
    let containers = containers.into_iter().flatten();
    containers.map(|it| it["image"].as_str().unwrap_or_default())
}

fn names(pod: &Value) -> (&str, &str) {
    let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}

fn key(pod: &Value) -> String {
    pod["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// A pod's `status`.
fn status(
    pod: &Value,
    environment: &PodEnvironment,
    address: Option<IpAddr>,
    failure: Option<&PodFailure>,
) -> Value {
    let state = match failure {
        None => json!({"running": {}}),
        Some(failure) => json!({"waiting": {"reason": failure.reason, "message": failure.message}}),
    };
    pod_status(pod, &environment.host, address, failure.is_none(), &state)
}

/// The status of a pod whose containers are all in one state.
pub(crate) fn pod_status(
    pod: &Value,
    host: &str,
    address: Option<IpAddr>,
    runs: bool,
    state: &Value,
) -> Value {
    let containers = pod["spec"]["containers"].as_array();
    let containers = containers.into_iter().flatten().map(|it| {
        json!({
            "name": it["name"], "image": it["image"], "imageID": "", "ready": runs,
            "restartCount": 0, "started": runs, "state": state,
        })
    });
    let ready = if runs { "True" } else { "False" };
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
    let conditions = conditions.map(|kind| {
        let always = kind == "PodScheduled";
        json!({"type": kind, "status": if always { "True" } else { ready }})
    });
    json!({
        "phase": if runs { "Running" } else { "Pending" },
        "hostIP": host,
        "podIP": address.map(|it| it.to_string()),
        "podIPs": address.map(|it| vec![json!({"ip": it.to_string()})]),
        "conditions": conditions,
        "containerStatuses": containers.collect::<Vec<_>>(),
    })
}

fn event(pod: &Value, node: &str, failure: &PodFailure) -> Value {
    let (namespace, name) = names(pod);
    let time = now();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": format!("{name}."), "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name,
            "uid": pod["metadata"]["uid"],
        },
        "reason": failure.event, "message": failure.message, "type": "Warning", "count": 1,
        "firstTimestamp": time, "lastTimestamp": time,
        "source": {"component": "kubelet", "host": node},
    })
}
