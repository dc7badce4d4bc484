//! A model of the kubelet, and of what it hangs on: containerd with its
//! configuration, CNI, and the network that pods are put in.
//!
//! It judges what is on the host, and nothing else: a flag that its release does
//! not know ends it, a runtime without a network leaves the node not Ready.

use casement_catalog::{Known, Minor, Program, System, flag};
use casement_node::sim::{Service, Sim, World};
use casement_resource::{HostPath, ServiceDefinition, ServiceState};

use super::cni::Cni;
use crate::host::disk;

/// What a kubelet makes of its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kubelet {
    /// It is not started.
    Stopped,
    /// It ends right after its start, and says why.
    Exits(String),
    /// It runs; pods can have a network, or why they cannot.
    Runs(Result<Runtime, String>),
}

/// A runtime that can run pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// How pods are put in their network.
    pub cni: Cni,
    /// The image that holds a pod together.
    pub pause: String,
}

/// What the kubelet of this host does.
#[must_use]
pub fn verdict(world: &World) -> Kubelet {
    let Some(service) = world.services.get("kubelet") else {
        return Kubelet::Stopped;
    };
    if service.state != ServiceState::Running {
        return Kubelet::Stopped;
    }
    match flags(world, service) {
        Err(why) => Kubelet::Exits(why),
        Ok(()) => Kubelet::Runs(runtime(world)),
    }
}

/// The version of the kubelet that a host has, with its `v`.
pub(crate) fn version(world: &World) -> Option<String> {
    let definition = world.services.get("kubelet")?.definition.as_ref()?;
    disk::version_of(world, definition.program.first()?)
}

fn flags(world: &World, service: &Service) -> Result<(), String> {
    let Some(definition) = &service.definition else {
        return Err("it is somebody else's".to_owned());
    };
    let program = definition.program.first().map_or("", String::as_str);
    let version = disk::version_of(world, program);
    let version = version.ok_or_else(|| format!("`{program}` is not a valid application"))?;
    let minor = minor(&version).ok_or_else(|| format!("`{version}` is no version"))?;
    let system = match world.linux {
        Some(_) => System::Linux,
        None => System::Windows,
    };
    for (name, _) in words(world, definition) {
        let known = flag(Program::Kubelet, &name).map(|flag| flag.known(minor, system));
        if known != Some(Known::Yes) {
            return Err(format!("unknown flag: --{name}"));
        }
    }
    Ok(())
}

/// The flags that it is started with: the service's own, and then kubeadm's.
fn words(world: &World, definition: &ServiceDefinition) -> Vec<(String, String)> {
    let file = definition.flags_file.as_ref().map(HostPath::as_str);
    let file = file.and_then(|path| disk::text(world, path));
    let from_file = file.as_deref().and_then(quoted).unwrap_or_default();
    let own = definition.program.iter().skip(1).map(String::as_str);
    let words = own.chain(from_file.split_whitespace());
    let flags = words.filter_map(|word| word.strip_prefix("--"));
    flags
        .map(|flag| match flag.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (flag.to_owned(), String::new()),
        })
        .collect()
}

/// The value of a flag; the last one counts.
pub(crate) fn flag_value(world: &World, name: &str) -> Option<String> {
    let definition = world.services.get("kubelet")?.definition.as_ref()?;
    let mut flags = words(world, definition).into_iter();
    flags.rfind(|flag| flag.0 == name).map(|flag| flag.1)
}

/// What stands between the quotes of `KUBELET_KUBEADM_ARGS="…"`.
fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

fn minor(version: &str) -> Option<Minor> {
    let mut parts = version.trim_start_matches('v').split('.');
    let (Some("1"), Some(minor)) = (parts.next(), parts.next()) else {
        return None;
    };
    Some(Minor::new(minor.parse().ok()?))
}

/// The runtime, if pods can have a network from it.
fn runtime(world: &World) -> Result<Runtime, String> {
    let down = |why: &str| Err(format!("container runtime is down: {why}"));
    let Some(service) = world.services.get("containerd") else {
        return down("there is no service containerd");
    };
    if service.state != ServiceState::Running {
        return down("the service containerd is stopped");
    }
    let definition = service.definition.as_ref();
    let configuration = definition.and_then(|it| containerd_configuration(world, it));
    let Some(configuration) = configuration else {
        return down("its configuration cannot be read");
    };
    let cri = Cri::of(&configuration);
    let cni = Cni::read(world, &cri.conf_dir, &cri.bin_dirs).ok_or(
        "container runtime network not ready: NetworkReady=false \
         reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not \
         initialized",
    )?;
    Ok(Runtime {
        cni,
        pause: cri.pause,
    })
}

/// What containerd was told, if that can be read.
pub(crate) fn containerd_configuration(
    world: &World,
    definition: &ServiceDefinition,
) -> Option<toml::Table> {
    let mut words = definition.program.iter();
    words.find(|word| *word == "--config")?;
    disk::text(world, words.next()?)?.parse().ok()
}

/// What containerd's configuration says that pods hang on.
#[derive(Debug, Default)]
struct Cri {
    conf_dir: String,
    bin_dirs: Vec<String>,
    pause: String,
}

impl Cri {
    fn of(configuration: &toml::Table) -> Self {
        let plugins = configuration.get("plugins").and_then(toml::Value::as_table);
        let mut cri = Self::default();
        for plugin in plugins.into_iter().flat_map(|plugins| plugins.values()) {
            if let Some(cni) = plugin.get("cni") {
                cri.conf_dir = text(cni.get("conf_dir")).unwrap_or_default().to_owned();
                cri.bin_dirs
                    .extend(text(cni.get("bin_dir")).map(str::to_owned));
                let many = cni.get("bin_dirs").and_then(toml::Value::as_array);
                let many = many.into_iter().flatten().filter_map(toml::Value::as_str);
                cri.bin_dirs.extend(many.map(str::to_owned));
            }
            let pinned = plugin.get("pinned_images");
            let pause = pinned.and_then(|images| images.get("sandbox"));
            if let Some(pause) = text(pause.or_else(|| plugin.get("sandbox_image"))) {
                cri.pause = pause.to_owned();
            }
        }
        cri
    }
}

fn text(value: Option<&toml::Value>) -> Option<&str> {
    value.and_then(toml::Value::as_str)
}

/// Ends it, as its service host does when its program has gone.
pub(crate) fn end(sim: &Sim, why: &str) {
    sim.meddle(|world| {
        let Some(service) = world.services.get_mut("kubelet") else {
            return;
        };
        service.state = ServiceState::Stopped;
        let log = service
            .definition
            .as_ref()
            .and_then(|it| it.log_file.clone());
        if let Some(path) = log {
            let before = disk::text(world, path.as_str()).unwrap_or_default();
            let line = format!("{before}Error: {why}\n");
            disk::put_in(world, &path, &line);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare_windows;
    use crate::fixture::service;

    const CONTAINERD: &str = r#"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "registry/pause:3.10.2"
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ['C:\opt\cni\bin']
conf_dir = 'C:\etc\cni\net.d'
"#;

    fn host() -> World {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        world.services.extend([
            service("kubelet", &[r"C:\k\kubelet.exe", "--node-ip=127.18.0.11"]),
            service("containerd", &["containerd", "--config", r"C:\config.toml"]),
        ]);
        for (path, text) in [
            (r"C:\k\kubelet.exe", disk::stand_in("kubelet", "v1.36.3")),
            (r"C:\config.toml", CONTAINERD.to_owned()),
            (r"C:\opt\cni\bin\win-bridge.exe", "plugin".to_owned()),
            (
                r"C:\etc\cni\net.d\10-casement.conflist",
                r#"{"name": "cbr0", "plugins": [{"type": "win-bridge"}]}"#.to_owned(),
            ),
        ] {
            disk::put_in(&mut world, &path.parse().unwrap(), &text);
        }
        world
    }

    #[test]
    fn a_host_with_everything_in_its_place_can_run_pods() {
        let runtime = Runtime {
            cni: Cni {
                network: "cbr0".to_owned(),
                plugin: "win-bridge".to_owned(),
                delegate: None,
            },
            pause: "registry/pause:3.10.2".to_owned(),
        };
        assert_eq!(verdict(&host()), Kubelet::Runs(Ok(runtime)));
    }

    #[test]
    fn a_flag_that_the_release_has_removed_ends_it() {
        let mut world = host();
        let flags = "KUBELET_KUBEADM_ARGS=\"--network-plugin=cni\"\n";
        disk::put_in(&mut world, &r"C:\flags.env".parse().unwrap(), flags);
        let why = "unknown flag: --network-plugin".to_owned();
        assert_eq!(verdict(&world), Kubelet::Exits(why.clone()));
        let sim = Sim::new(world);
        end(&sim, &why);
        assert_eq!(verdict(&sim.world()), Kubelet::Stopped);
        let log = disk::text(&sim.world(), r"C:\var\log\kubelet\kubelet.log");
        assert_eq!(
            log.as_deref(),
            Some("Error: unknown flag: --network-plugin\n")
        );
    }

    #[test]
    fn a_runtime_that_is_down_or_looks_elsewhere_leaves_the_node_not_ready() {
        let not_ready = |world: &World| match verdict(world) {
            Kubelet::Runs(Err(why)) => why,
            other => panic!("{other:?}"),
        };
        let mut world = host();
        let elsewhere = CONTAINERD.replace("net.d", "elsewhere");
        disk::put_in(&mut world, &r"C:\config.toml".parse().unwrap(), &elsewhere);
        assert!(not_ready(&world).contains("cni plugin not initialized"));
        world.services.get_mut("containerd").unwrap().state = ServiceState::Stopped;
        assert!(not_ready(&world).contains("containerd is stopped"));
    }

    #[test]
    fn pods_need_the_network_that_their_configuration_names() {
        let world = host();
        let Kubelet::Runs(Ok(runtime)) = verdict(&world) else {
            panic!("it runs");
        };
        let why = runtime.cni.why_not(&world).unwrap();
        assert!(why.contains("cbr0 not found"), "{why}");
    }
}
