//! The pods of a simulated host: they run if their images are made for this
//! Windows and their network is there, and say why if not.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use casement_node::sim::{RegistryImage, Sim, World};
use serde_json::{Value, json};

use super::client::Client;
use super::cni::{self, Cni};
use super::kubelet::Runtime;
use super::pull;
use crate::api_server::now;

/// What a host can do for pods.
pub(crate) struct Carries {
    cni: Option<Cni>,
    pods: Option<ipnet::Ipv4Net>,
    host: String,
    /// Why no pod can be given a network, if that is so.
    no_network: Option<String>,
    pause: String,
    build: Option<String>,
    registry: BTreeMap<String, RegistryImage>,
    /// Why images do not come.
    missing: BTreeMap<String, String>,
}

/// The addresses that pods have, and what was said of them.
#[derive(Default)]
pub(crate) struct Told {
    addresses: BTreeMap<String, IpAddr>,
    events: BTreeSet<(String, String)>,
    status: BTreeMap<String, Value>,
    pulled: BTreeMap<String, RegistryImage>,
}

/// Why a pod does not run.
struct Stuck {
    /// What its container waits for, as `kubectl get pods` shows it.
    reason: &'static str,
    /// What the event about it is called.
    event: &'static str,
    message: String,
}

impl Carries {
    pub(crate) fn of(world: &World, pods: &Value, runtime: &Result<Runtime, String>) -> Self {
        let first = world.interfaces.first().and_then(|it| it.addresses.first());
        let network = runtime.as_ref().map(|it| it.cni.why_not(world));
        let of_node = pods.as_str().and_then(|text| text.parse().ok());
        let cni = runtime.as_ref().ok().map(|it| it.cni.clone());
        Self {
            pods: cni.as_ref().and_then(|cni| cni.pods(world, of_node)),
            cni,
            host: first.map(|it| it.addr().to_string()).unwrap_or_default(),
            no_network: network.unwrap_or_else(|why| Some(why.clone())),
            pause: runtime
                .as_ref()
                .map_or(String::new(), |it| it.pause.clone()),
            build: world.linux.is_none().then(|| world.build().to_string()),
            registry: world.registry.clone(),
            missing: BTreeMap::new(),
        }
    }

    /// Asks registries for what the pods take and the host was not given.
    async fn pull(&mut self, sim: &Sim, pods: &[Value], told: &mut Told) {
        self.registry.extend(told.pulled.clone());
        let images = pods.iter().flat_map(images);
        let images = images.chain(pods.first().map(|_| self.pause.as_str()));
        let wanted = images.filter(|image| !self.registry.contains_key(*image));
        let wanted: BTreeSet<String> = wanted.map(str::to_owned).collect();
        if self.build.is_none() || wanted.is_empty() {
            return;
        }
        let world = sim.world();
        for image in wanted {
            match pull::pull(&world, &image).await {
                Ok(found) => {
                    self.registry.insert(image.clone(), found.clone());
                    told.pulled.insert(image, found);
                }
                Err(why) => {
                    self.missing.insert(image, why);
                }
            }
        }
    }

    fn stuck(&self, pod: &Value) -> Option<Stuck> {
        if let Some(why) = &self.no_network {
            return Some(Stuck {
                reason: "ContainerCreating",
                event: "FailedCreatePodSandBox",
                message: format!("Failed to create pod sandbox: {why}"),
            });
        }
        if let Some(why) = self.image(&self.pause) {
            return Some(Stuck {
                reason: "ContainerCreating",
                event: "FailedCreatePodSandBox",
                message: format!("Failed to create pod sandbox: {why}"),
            });
        }
        let why = images(pod).find_map(|it| self.image(it))?;
        Some(Stuck {
            reason: "ErrImagePull",
            event: "Failed",
            message: why,
        })
    }

    /// Why this host cannot run an image, if it cannot.
    fn image(&self, name: &str) -> Option<String> {
        let build = self.build.as_ref()?;
        let Some(image) = self.registry.get(name) else {
            let why = self.missing.get(name);
            let why = why.map_or(pull::NOT_FOUND, String::as_str);
            return Some(format!("failed to pull and unpack image \"{name}\": {why}"));
        };
        let fits = image
            .versions
            .iter()
            .any(|version| version.split('.').nth(2) == Some(build.as_str()));
        (!fits).then(|| {
            format!(
                "failed to pull and unpack image \"{name}\": no match for platform in manifest: \
                 not found"
            )
        })
    }
}

/// Looks after every pod that was given to the node.
pub(crate) async fn run(
    client: &Client,
    sim: &Sim,
    node: &str,
    mut carries: Carries,
    told: &mut Told,
) -> Result<(), String> {
    let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
    let list = client.get(&path).await?;
    let pods = list["items"].as_array().cloned().unwrap_or_default();
    let there: BTreeSet<String> = pods.iter().map(key).collect();
    for pod in told.addresses.keys().filter(|pod| !there.contains(*pod)) {
        if let Some(cni) = &carries.cni {
            cni::detach(sim, &cni.network, pod);
        }
    }
    told.addresses.retain(|pod, _| there.contains(pod));
    told.status.retain(|pod, _| there.contains(pod));
    carries.pull(sim, &pods, told).await;
    for pod in &pods {
        tend(client, node, &carries, told, pod).await?;
        let goes = pod["metadata"]["deletionTimestamp"].is_string();
        let (address, cni) = (told.addresses.get(&key(pod)), carries.cni.as_ref());
        if let (Some(address), Some(cni), false) = (address, cni, goes) {
            cni::attach(sim, &cni.network, &key(pod), *address);
        }
    }
    Ok(())
}

async fn tend(
    client: &Client,
    node: &str,
    carries: &Carries,
    told: &mut Told,
    pod: &Value,
) -> Result<(), String> {
    let (namespace, name) = names(pod);
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    if pod["metadata"]["deletionTimestamp"].is_string() {
        let now = json!({"gracePeriodSeconds": 0});
        client.ask("DELETE", &path, Some(&now)).await?;
        return Ok(());
    }
    let stuck = carries.stuck(pod);
    if let Some(stuck) = &stuck {
        let once = (key(pod), stuck.message.clone());
        if told.events.insert(once) {
            let path = format!("/api/v1/namespaces/{namespace}/events");
            client.send("POST", &path, &event(pod, node, stuck)).await?;
        }
    }
    let address = match stuck {
        Some(_) => None,
        None => told.address(carries, &key(pod)),
    };
    let status = status(pod, carries, address, stuck.as_ref());
    if told.status.get(&key(pod)) == Some(&status) {
        return Ok(());
    }
    let mut stamped = status.clone();
    stamped["startTime"] = json!(now());
    let patch = json!({ "status": stamped });
    client
        .send("PATCH", &format!("{path}/status"), &patch)
        .await?;
    told.status.insert(key(pod), status);
    Ok(())
}

impl Told {
    /// The first three belong to the network, its gateway and the host.
    fn address(&mut self, carries: &Carries, pod: &str) -> Option<IpAddr> {
        if let Some(address) = self.addresses.get(pod) {
            return Some(*address);
        }
        let mut free = carries.pods?.hosts().skip(2).map(IpAddr::from);
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

/// What a pod's `status` is; the same for the pods of Linux nodes, which always
/// run.
fn status(pod: &Value, carries: &Carries, address: Option<IpAddr>, stuck: Option<&Stuck>) -> Value {
    let state = match stuck {
        None => json!({"running": {}}),
        Some(stuck) => json!({"waiting": {"reason": stuck.reason, "message": stuck.message}}),
    };
    running(pod, &carries.host, address, stuck.is_none(), &state)
}

/// The status of a pod whose containers are all in one state.
pub(crate) fn running(
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
    let word = if runs { "True" } else { "False" };
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
    let conditions = conditions.map(|kind| {
        let always = kind == "PodScheduled";
        json!({"type": kind, "status": if always { "True" } else { word }})
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

fn event(pod: &Value, node: &str, stuck: &Stuck) -> Value {
    let (namespace, name) = names(pod);
    let time = now();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": format!("{name}."), "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name,
            "uid": pod["metadata"]["uid"],
        },
        "reason": stuck.event, "message": stuck.message, "type": "Warning", "count": 1,
        "firstTimestamp": time, "lastTimestamp": time,
        "source": {"component": "kubelet", "host": node},
    })
}
