//! The cluster that the options describe: names, addresses, operating systems, sizes.

use std::net::Ipv4Addr;

use casement_diag::Problem;
use casement_spec::{ByteSize, Cidr};

use super::grammar::{self, Pairs};
use super::{KubeInit, problem};
use crate::import::draft::Notes;

const FORM: &str =
    "write DISTRO-libvirt-CONTROLLERS-COMPUTES-HYPERVISORS, for example `k8s-libvirt-1-1-1`";
/// KubeInit default without `--network`.
const NETWORK: &str = "10.0.0.0/24";
const MAX_NODES: usize = 500;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    pub(super) os: &'static str,
    pub(super) role: &'static str,
}

#[derive(Debug)]
pub(super) struct Hypervisor {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) user: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Size {
    pub(super) cpus: String,
    pub(super) memory: String,
    pub(super) disk: String,
}

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) name: String,
    pub(super) network: String,
    pub(super) nodes: Vec<Node>,
    pub(super) hypervisors: Vec<Hypervisor>,
    pub(super) controllers: Size,
    pub(super) computes: Size,
    pub(super) notes: Notes,
}

struct Group {
    os: &'static str,
    size: Size,
}

impl Layout {
    pub(super) fn new(options: &KubeInit<'_>) -> Result<Self, Box<Problem>> {
        let mut notes = Notes::default();
        let [controllers, computes, hypervisors] = counts(options.spec)?;
        let cluster = options
            .cluster
            .map(|text| grammar::map("--cluster", text))
            .transpose()?
            .unwrap_or_default();
        let nodes = options
            .nodes
            .map(|text| grammar::list("--nodes", text))
            .transpose()?
            .unwrap_or_default();
        // KubeInit's defaults: 24 GiB for controllers, 8 for computes.
        let mut controller_group = group("24Gi", "25Gi");
        let mut compute_group = group("8Gi", "30Gi");
        for entry in &nodes {
            apply(entry, &mut controller_group, &mut compute_group, &mut notes)?;
        }
        if controller_group.os == "windows-2022" {
            let detail = ("nodes", options.nodes.unwrap_or_default());
            return Err(problem(
                "a controller cannot run Windows",
                detail,
                "set the group: `when_group=compute_nodes`",
            ));
        }
        if compute_group.os == "windows-2022" && compute_group.size.memory == "8Gi" {
            compute_group.size.memory = "16Gi".to_owned();
            notes.assumed("KubeInit requires 16 GiB of memory for Windows computes, but its default is 8 GiB: set to 16 GiB");
        }
        let network = Addresses::new(options, &mut notes)?;
        let pattern = |key: &str, default: &str| find(&cluster, key).unwrap_or(default).to_owned();
        let names = (
            pattern("controller_name_pattern", "controller-%02d"),
            pattern("compute_name_pattern", "compute-%02d"),
        );
        let mut all = Vec::new();
        for number in 1..=controllers {
            let (name, os) = (numbered(&names.0, number), controller_group.os);
            all.push(Node {
                name,
                os,
                role: "control-plane",
                address: network.node(all.len())?,
            });
        }
        for number in 1..=computes {
            let (name, os) = (numbered(&names.1, number), compute_group.os);
            all.push(Node {
                name,
                os,
                role: "worker",
                address: network.node(all.len())?,
            });
        }
        network.check_size(all.len())?;
        all.push(Node {
            name: "service".to_owned(),
            os: "centos-stream-9",
            role: "services",
            address: network.service,
        });
        let hypervisors = read_hypervisors(
            options,
            hypervisors,
            &pattern("hypervisor_name_pattern", "hypervisor-%02d"),
            &mut notes,
        )?;
        let known = [
            "cluster_name",
            "controller_name_pattern",
            "compute_name_pattern",
            "hypervisor_name_pattern",
        ];
        for (key, _) in cluster
            .iter()
            .filter(|(key, _)| !known.contains(&key.as_str()))
        {
            notes.not_imported(
                None,
                format!("--cluster `{key}`: casement has no such setting"),
            );
        }
        Ok(Self {
            name: pattern("cluster_name", "k8scluster"),
            network: network.text,
            nodes: all,
            hypervisors,
            controllers: controller_group.size,
            computes: compute_group.size,
            notes,
        })
    }
}

/// The three numbers of a spec.
fn counts(spec: &str) -> Result<[usize; 3], Box<Problem>> {
    let error = |what: &str, help: &str| problem(what, ("spec", spec), help);
    let parts: Vec<_> = spec.split('-').collect();
    let &[distro, driver, controllers, computes, hypervisors, ..] = parts.as_slice() else {
        return Err(error("a KubeInit spec must have five parts", FORM));
    };
    if distro != "k8s" {
        let what = format!("the distribution `{distro}` is not supported");
        return Err(error(
            &what,
            "use `k8s`; casement supports only upstream Kubernetes",
        ));
    }
    if driver != "libvirt" {
        return Err(error(
            &format!("`{driver}` is not a valid KubeInit driver"),
            "use `libvirt`",
        ));
    }
    let number = |text: &str, what: &str| {
        let number = text
            .parse::<usize>()
            .ok()
            .filter(|number| *number <= MAX_NODES);
        number.ok_or_else(|| error(&format!("`{text}` is not a valid number of {what}"), FORM))
    };
    let controllers = number(controllers, "controllers")?;
    if ![1, 3, 5].contains(&controllers) {
        return Err(error(
            &format!("{controllers} controllers are not supported"),
            "use 1, 3 or 5 controllers",
        ));
    }
    let hypervisors = number(hypervisors, "hypervisors")?;
    if hypervisors == 0 {
        return Err(error("at least one hypervisor is required", FORM));
    }
    Ok([controllers, number(computes, "computes")?, hypervisors])
}

fn group(memory: &str, disk: &str) -> Group {
    Group {
        os: "centos-stream-9",
        size: Size {
            cpus: "8".to_owned(),
            memory: memory.to_owned(),
            disk: disk.to_owned(),
        },
    }
}

fn find<'p>(pairs: &'p Pairs, key: &str) -> Option<&'p str> {
    let mut pairs = pairs.iter().rev();
    pairs
        .find(|(known, _)| known == key)
        .map(|(_, value)| value.as_str())
}

/// Applies an entry of `cluster_nodes_spec`: later entries win.
fn apply(
    entry: &Pairs,
    controllers: &mut Group,
    computes: &mut Group,
    notes: &mut Notes,
) -> Result<(), Box<Problem>> {
    let distros = find(entry, "when_distro").unwrap_or("k8s");
    if !distros.split(',').any(|distro| distro.trim() == "k8s") {
        notes.not_imported(
            None,
            format!("an entry of --nodes: it applies only to `{distros}`"),
        );
        return Ok(());
    }
    let groups: Vec<&mut Group> = match find(entry, "when_group") {
        Some("controller_nodes") => vec![controllers],
        Some("compute_nodes") => vec![computes],
        None | Some("") => vec![controllers, computes],
        Some(other) => {
            let help = "use `controller_nodes` or `compute_nodes`";
            return Err(problem(
                format!("`{other}` is not a valid node group"),
                ("when_group", other),
                help,
            ));
        }
    };
    for group in groups {
        for (key, value) in entry {
            match key.as_str() {
                "when_group" | "when_distro" | "when_type" => {}
                "os" => group.os = system(value)?,
                "vcpus" if value.parse::<u16>().is_ok_and(|cpus| cpus > 0) => {
                    group.size.cpus = value.clone()
                }
                "ram" => group.size.memory = memory(value)?,
                "disk" => group.size.disk = disk(value)?,
                other => notes.not_imported(
                    None,
                    format!("--nodes `{other}`: casement has no such setting"),
                ),
            }
        }
    }
    Ok(())
}

fn system(name: &str) -> Result<&'static str, Box<Problem>> {
    Ok(match name {
        "centos" => "centos-stream-9",
        "debian" => "debian-12",
        "ubuntu" => "ubuntu-24.04",
        "windows" => "windows-2022",
        _ => {
            let help = "use `centos`, `debian`, `ubuntu` or `windows`";
            return Err(problem(
                format!("`{name}` is not a supported operating system"),
                ("os", name),
                help,
            ));
        }
    })
}

/// KubeInit uses KiB.
fn memory(text: &str) -> Result<String, Box<Problem>> {
    let size = format!("{text}Ki").parse::<ByteSize>();
    let size = size.map_err(|error| {
        problem(
            error.to_string(),
            ("ram", text),
            "write the size in KiB; 8 GiB is `8388608`",
        )
    })?;
    Ok(size.to_string())
}

fn disk(text: &str) -> Result<String, Box<Problem>> {
    let size = text.strip_suffix('G').map(|number| format!("{number}Gi"));
    let size = size.filter(|size| size.parse::<ByteSize>().is_ok());
    size.ok_or_else(|| {
        problem(
            "invalid disk size",
            ("disk", text),
            "use a value such as `25G`",
        )
    })
}

/// Replaces `%02d` and `%d`.
fn numbered(pattern: &str, number: usize) -> String {
    pattern
        .replace("%02d", &format!("{number:02}"))
        .replace("%d", &number.to_string())
}

struct Addresses {
    text: String,
    first: u32,
    service: Ipv4Addr,
}

impl Addresses {
    fn new(options: &KubeInit<'_>, notes: &mut Notes) -> Result<Self, Box<Problem>> {
        let given = options
            .network
            .map(|text| grammar::map("--network", text))
            .transpose()?
            .unwrap_or_default();
        let text = find(&given, "network").unwrap_or(NETWORK).to_owned();
        let error = |what: String| {
            problem(
                what,
                ("network", options.network.unwrap_or_default()),
                "use a value such as `[network=10.0.0.0/24]`",
            )
        };
        let network: Cidr = text
            .parse()
            .map_err(|invalid: casement_spec::Invalid| error(invalid.to_string()))?;
        let network = network.net();
        if network.prefix_len() >= 30 {
            return Err(error(format!(
                "`{text}` is too small: the prefix length must be below 30"
            )));
        }
        let offset = |key: &str, default: i64| match find(&given, key) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| error(format!("`{key}` must be a number"))),
        };
        // Negative offsets count from the end, as in Python.
        let at = |offset: i64| {
            let base = if offset < 0 {
                i64::from(u32::from(network.broadcast())) + 1
            } else {
                i64::from(u32::from(network.network()))
            };
            let address = u32::try_from(base.checked_add(offset)?)
                .ok()
                .map(Ipv4Addr::from);
            address.filter(|address| network.contains(address))
        };
        let (start, end) = (
            offset("dhcp_start_offset", 1)?,
            offset("dhcp_end_offset", -3)?,
        );
        let outside = || error("an offset is outside of the network".to_owned());
        let first = at(start).ok_or_else(outside)?;
        let service = at(end).ok_or_else(outside)?;
        for (key, _) in &given {
            if !["network", "dhcp_start_offset", "dhcp_end_offset"].contains(&key.as_str()) {
                notes.not_imported(
                    None,
                    format!("--network `{key}`: casement has no such setting"),
                );
            }
        }
        Ok(Self {
            text,
            first: u32::from(first),
            service,
        })
    }

    fn node(&self, index: usize) -> Result<Ipv4Addr, Box<Problem>> {
        let address = u32::try_from(index)
            .ok()
            .and_then(|index| self.first.checked_add(index));
        address
            .map(Ipv4Addr::from)
            .ok_or_else(|| self.too_many_nodes())
    }

    fn check_size(&self, nodes: usize) -> Result<(), Box<Problem>> {
        let room = u32::from(self.service).checked_sub(self.first);
        let fits = room.is_some_and(|room| usize::try_from(room).is_ok_and(|room| nodes <= room));
        fits.then_some(()).ok_or_else(|| self.too_many_nodes())
    }

    fn too_many_nodes(&self) -> Box<Problem> {
        problem(
            "there are more nodes than addresses",
            ("network", &self.text),
            "use a larger network: `--network '[network=10.0.0.0/20]'`",
        )
    }
}

fn read_hypervisors(
    options: &KubeInit<'_>,
    count: usize,
    pattern: &str,
    notes: &mut Notes,
) -> Result<Vec<Hypervisor>, Box<Problem>> {
    let given = options
        .hypervisors
        .map(|text| grammar::list("--hypervisors", text))
        .transpose()?
        .unwrap_or_default();
    for (index, extra) in given.iter().enumerate().skip(count) {
        let name = find(extra, "ansible_host")
            .or(find(extra, "host"))
            .unwrap_or("unnamed");
        notes.not_imported(
            None,
            format!(
                "hypervisor {} of --hypervisors (`{name}`): the spec uses only {count}",
                index + 1
            ),
        );
    }
    let hypervisors = (0..count).map(|index| {
        let default_name = numbered(pattern, index + 1);
        let entry = given.get(index);
        let of = |key: &str| entry.and_then(|entry| find(entry, key)).map(str::to_owned);
        for (key, _) in entry.into_iter().flatten() {
            if !["host", "ansible_host", "ssh_hostname", "ssh_username"].contains(&key.as_str()) {
                notes.not_imported(
                    None,
                    format!("--hypervisors `{key}`: casement has no such setting"),
                );
            }
        }
        let name = of("host").unwrap_or(default_name);
        let address = of("ansible_host").or_else(|| of("ssh_hostname"));
        if address.is_none() {
            notes.assumed(format!(
                "hypervisor {} has no address: set to its name `{name}`",
                index + 1
            ));
        }
        Hypervisor {
            address: address.unwrap_or_else(|| name.clone()),
            name,
            user: of("ssh_username"),
        }
    });
    Ok(hypervisors.collect())
}
