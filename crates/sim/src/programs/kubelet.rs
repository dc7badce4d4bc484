//! A model of the kubelet and of what it depends on: containerd and its configuration, CNI,
//! and the pod network.
//!
//! It depends only on the state of the host: an unknown flag ends it, a runtime without a
//! network leaves the node NotReady.

use casement_catalog::{Known, Minor, Program, System, flag};
use casement_node::sim::{Service, Sim, World};
use casement_resource::service_names::{CONTAINERD, KUBELET};
use casement_resource::{HostPath, ServiceDefinition, ServiceState};

use super::cni::Cni;
use crate::host::disk;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KubeletState {
    Stopped,
    /// It exits right after its start, with this error.
    Exits(String),
    /// It runs; an error is the reason of NotReady.
    Runs(Result<Runtime, String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    pub cni: Cni,
    pub pause: String,
}

#[must_use]
pub fn evaluate(world: &World) -> KubeletState {
    let Some(service) = world.services.get(KUBELET) else {
        return KubeletState::Stopped;
    };
    if service.state != ServiceState::Running {
        return KubeletState::Stopped;
    }
    match check_flags(world, service) {
        Err(error) => KubeletState::Exits(error),
        Ok(()) => KubeletState::Runs(runtime(world)),
    }
}

/// The version of the kubelet that a host has, with its `v`.
pub(crate) fn version(world: &World) -> Option<String> {
    let definition = world.services.get(KUBELET)?.definition.as_ref()?;
    disk::version_of(world, definition.program.first()?)
}

fn check_flags(world: &World, service: &Service) -> Result<(), String> {
    let Some(definition) = &service.definition else {
        return Err("the service is not managed by casement".to_owned());
    };
    let program = definition.program.first().map_or("", String::as_str);
    let version = disk::version_of(world, program);
    let version = version.ok_or_else(|| format!("`{program}` is not a valid application"))?;
    let minor = minor(&version).ok_or_else(|| format!("`{version}` is not a valid version"))?;
    let system = match world.linux {
        Some(_) => System::Linux,
        None => System::Windows,
    };
    for (name, _) in flags(world, definition) {
        let known = flag(Program::Kubelet, &name).map(|flag| flag.known(minor, system));
        if known != Some(Known::Yes) {
            return Err(format!("unknown flag: --{name}"));
        }
    }
    Ok(())
}

/// The service's own flags, then kubeadm's.
fn flags(world: &World, definition: &ServiceDefinition) -> Vec<(String, String)> {
    let file = definition.flags_file.as_ref().map(HostPath::as_str);
    let file = file.and_then(|path| disk::text(world, path));
    let from_file = file.as_deref().and_then(quoted).unwrap_or_default();
    let own = definition.program.iter().skip(1).map(String::as_str);
    let arguments = own.chain(from_file.split_whitespace());
    let flags = arguments.filter_map(|argument| argument.strip_prefix("--"));
    flags
        .map(|flag| match flag.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (flag.to_owned(), String::new()),
        })
        .collect()
}

/// The value of a flag; the last one counts.
pub(crate) fn flag_value(world: &World, name: &str) -> Option<String> {
    let definition = world.services.get(KUBELET)?.definition.as_ref()?;
    let mut flags = flags(world, definition).into_iter();
    flags.rfind(|flag| flag.0 == name).map(|flag| flag.1)
}

/// The part between the quotes of `KUBELET_KUBEADM_ARGS="…"`.
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

/// The runtime, if it can attach pods to a network.
fn runtime(world: &World) -> Result<Runtime, String> {
    let down = |error: &str| Err(format!("container runtime is down: {error}"));
    let Some(service) = world.services.get(CONTAINERD) else {
        return down("service containerd not found");
    };
    if service.state != ServiceState::Running {
        return down("service containerd is stopped");
    }
    let definition = service.definition.as_ref();
    let configuration = definition.and_then(|it| containerd_configuration(world, it));
    let Some(configuration) = configuration else {
        return down("failed to read its configuration");
    };
    let cri = CriConfig::read(&configuration);
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

/// containerd's parsed configuration file.
pub(crate) fn containerd_configuration(
    world: &World,
    definition: &ServiceDefinition,
) -> Option<toml::Table> {
    let mut arguments = definition.program.iter();
    arguments.find(|argument| *argument == "--config")?;
    disk::text(world, arguments.next()?)?.parse().ok()
}

/// The parts of containerd's configuration that pods depend on.
#[derive(Debug, Default)]
struct CriConfig {
    conf_dir: String,
    bin_dirs: Vec<String>,
    pause: String,
}

impl CriConfig {
    fn read(configuration: &toml::Table) -> Self {
        let plugins = configuration.get("plugins").and_then(toml::Value::as_table);
        let mut cri = Self::default();
        for plugin in plugins.into_iter().flat_map(|plugins| plugins.values()) {
            if let Some(cni) = plugin.get("cni") {
                cri.conf_dir = text(cni.get("conf_dir")).unwrap_or_default().to_owned();
                cri.bin_dirs
                    .extend(text(cni.get("bin_dir")).map(str::to_owned));
                let list = cni.get("bin_dirs").and_then(toml::Value::as_array);
                let list = list.into_iter().flatten().filter_map(toml::Value::as_str);
                cri.bin_dirs.extend(list.map(str::to_owned));
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

/// Stops it, as its service host does when the program exits.
pub(crate) fn stop(sim: &Sim, error: &str) {
    sim.modify_world(|world| {
        let Some(service) = world.services.get_mut(KUBELET) else {
            return;
        };
        service.state = ServiceState::Stopped;
        let log = service
            .definition
            .as_ref()
            .and_then(|it| it.log_file.clone());
        if let Some(path) = log {
            let before = disk::text(world, path.as_str()).unwrap_or_default();
            let line = format!("{before}Error: {error}\n");
            disk::write_to(world, &path, &line);
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
            (
                r"C:\k\kubelet.exe",
                disk::placeholder_program("kubelet", "v1.36.3"),
            ),
            (r"C:\config.toml", CONTAINERD.to_owned()),
            (r"C:\opt\cni\bin\win-bridge.exe", "plugin".to_owned()),
            (
                r"C:\etc\cni\net.d\10-casement.conflist",
                r#"{"name": "cbr0", "plugins": [{"type": "win-bridge"}]}"#.to_owned(),
            ),
        ] {
            disk::write_to(&mut world, &path.parse().unwrap(), &text);
        }
        world
    }

    #[test]
    fn complete_host_can_run_pods() {
        let runtime = Runtime {
            cni: Cni {
                network: "cbr0".to_owned(),
                plugin: "win-bridge".to_owned(),
                delegate: None,
            },
            pause: "registry/pause:3.10.2".to_owned(),
        };
        assert_eq!(evaluate(&host()), KubeletState::Runs(Ok(runtime)));
    }

    #[test]
    fn removed_flag_stops_the_kubelet() {
        let mut world = host();
        let flags = "KUBELET_KUBEADM_ARGS=\"--network-plugin=cni\"\n";
        disk::write_to(&mut world, &r"C:\flags.env".parse().unwrap(), flags);
        let error = "unknown flag: --network-plugin".to_owned();
        assert_eq!(evaluate(&world), KubeletState::Exits(error.clone()));
        let sim = Sim::new(world);
        stop(&sim, &error);
        assert_eq!(evaluate(&sim.world()), KubeletState::Stopped);
        let log = disk::text(&sim.world(), r"C:\var\log\kubelet\kubelet.log");
        assert_eq!(
            log.as_deref(),
            Some("Error: unknown flag: --network-plugin\n")
        );
    }

    #[test]
    fn stopped_or_misconfigured_runtime_leaves_the_node_not_ready() {
        let not_ready = |world: &World| match evaluate(world) {
            KubeletState::Runs(Err(error)) => error,
            other => panic!("{other:?}"),
        };
        let mut world = host();
        let other_dir = CONTAINERD.replace("net.d", "elsewhere");
        disk::write_to(&mut world, &r"C:\config.toml".parse().unwrap(), &other_dir);
        assert!(not_ready(&world).contains("cni plugin not initialized"));
        world.services.get_mut("containerd").unwrap().state = ServiceState::Stopped;
        assert!(not_ready(&world).contains("containerd is stopped"));
    }

    #[test]
    fn pods_need_the_configured_network() {
        let world = host();
        let KubeletState::Runs(Ok(runtime)) = evaluate(&world) else {
            panic!("the kubelet does not run");
        };
        let error = runtime.cni.attach_error(&world).unwrap();
        assert!(error.contains("cbr0 not found"), "{error}");
    }
}
