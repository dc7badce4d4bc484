//! What the strings come to: names, addresses, systems, sizes.

use std::net::Ipv4Addr;

use casement_diag::Problem;
use casement_spec::{ByteSize, Cidr};

use super::grammar::{self, Pairs};
use super::{KubeInit, problem};
use crate::import::draft::Notes;

const FORM: &str =
    "write DISTRO-libvirt-CONTROLLERS-COMPUTES-HYPERVISORS, for example k8s-libvirt-1-1-1";
/// KubeInit's own addresses, where `--network` does not say otherwise.
const NETWORK: &str = "10.0.0.0/24";
/// More than one hypervisor of anybody holds.
const MOST_NODES: usize = 500;

/// One machine.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    pub(super) os: &'static str,
    pub(super) role: &'static str,
}

/// A machine that machines run on.
#[derive(Debug)]
pub(super) struct Hypervisor {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) user: Option<String>,
}

/// How large the machines of a group are.
#[derive(Debug, Clone)]
pub(super) struct Size {
    pub(super) cpus: String,
    pub(super) memory: String,
    pub(super) disk: String,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) network: String,
    pub(super) nodes: Vec<Node>,
    pub(super) hypervisors: Vec<Hypervisor>,
    pub(super) controllers: Size,
    pub(super) computes: Size,
    pub(super) notes: Notes,
}

/// What a group of nodes is told.
struct Group {
    os: &'static str,
    size: Size,
}

impl Plan {
    pub(super) fn of(told: &KubeInit<'_>) -> Result<Self, Box<Problem>> {
        let mut notes = Notes::default();
        let [controllers, computes, hypervisors] = counts(told.spec)?;
        let cluster = told
            .cluster
            .map(|text| grammar::map("--cluster", text))
            .transpose()?
            .unwrap_or_default();
        let nodes = told
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
            let seen = ("it says", told.nodes.unwrap_or_default());
            return Err(problem(
                "a controller cannot run Windows",
                seen,
                "name the group: when_group=compute_nodes",
            ));
        }
        if compute_group.os == "windows-2022" && compute_group.size.memory == "8Gi" {
            compute_group.size.memory = "16Gi".to_owned();
            notes.assumed("KubeInit refuses Windows computes below 16 GiB, although its default is 8: 16 are written");
        }
        let network = Addresses::of(told, &mut notes)?;
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
        network.fits(all.len())?;
        all.push(Node {
            name: "service".to_owned(),
            os: "centos-stream-9",
            role: "services",
            address: network.service,
        });
        let hypervisors = hypervisors_of(
            told,
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
            notes.not_carried(
                None,
                format!("--cluster `{key}`: casement has no field for it"),
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
    let wrong = |what: &str, remedy: &str| problem(what, ("it says", spec), remedy);
    let parts: Vec<_> = spec.split('-').collect();
    let &[distro, driver, controllers, computes, hypervisors, ..] = parts.as_slice() else {
        return Err(wrong("a KubeInit spec has five parts", FORM));
    };
    if distro != "k8s" {
        let what = format!("`{distro}` is not what casement makes");
        return Err(wrong(
            &what,
            "casement makes upstream Kubernetes: write `k8s`",
        ));
    }
    if driver != "libvirt" {
        return Err(wrong(
            &format!("`{driver}` is no driver of KubeInit's"),
            "write `libvirt`",
        ));
    }
    let number = |text: &str, what: &str| {
        let number = text
            .parse::<usize>()
            .ok()
            .filter(|number| *number <= MOST_NODES);
        number.ok_or_else(|| wrong(&format!("`{text}` is no number of {what}"), FORM))
    };
    let controllers = number(controllers, "controllers")?;
    if ![1, 3, 5].contains(&controllers) {
        return Err(wrong(
            &format!("there cannot be {controllers} controllers"),
            "KubeInit takes 1, 3 or 5",
        ));
    }
    let hypervisors = number(hypervisors, "hypervisors")?;
    if hypervisors == 0 {
        return Err(wrong("there must be a hypervisor", FORM));
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

/// One entry of `cluster_nodes_spec`: later ones win.
fn apply(
    entry: &Pairs,
    controllers: &mut Group,
    computes: &mut Group,
    notes: &mut Notes,
) -> Result<(), Box<Problem>> {
    let distros = find(entry, "when_distro").unwrap_or("k8s");
    if !distros.split(',').any(|distro| distro.trim() == "k8s") {
        notes.not_carried(
            None,
            format!("an entry of --nodes: it is for `{distros}` only"),
        );
        return Ok(());
    }
    let groups: Vec<&mut Group> = match find(entry, "when_group") {
        Some("controller_nodes") => vec![controllers],
        Some("compute_nodes") => vec![computes],
        None | Some("") => vec![controllers, computes],
        Some(other) => {
            let remedy = "it is `controller_nodes` or `compute_nodes`";
            return Err(problem(
                format!("`{other}` is no group of nodes"),
                ("when_group", other),
                remedy,
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
                other => notes.not_carried(
                    None,
                    format!("--nodes `{other}`: casement has no field for it"),
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
            let remedy = "casement makes machines with centos, debian, ubuntu or windows";
            return Err(problem(
                format!("`{name}` is no system of a node"),
                ("os", name),
                remedy,
            ));
        }
    })
}

/// KubeInit counts memory in KiB.
fn memory(text: &str) -> Result<String, Box<Problem>> {
    let size = format!("{text}Ki").parse::<ByteSize>();
    let size = size.map_err(|error| {
        problem(
            error.to_string(),
            ("ram", text),
            "write KiB: 8388608 is 8 GiB",
        )
    })?;
    Ok(size.to_string())
}

fn disk(text: &str) -> Result<String, Box<Problem>> {
    let size = text.strip_suffix('G').map(|number| format!("{number}Gi"));
    let size = size.filter(|size| size.parse::<ByteSize>().is_ok());
    size.ok_or_else(|| problem("this is no size of a disk", ("disk", text), "write `25G`"))
}

/// `%02d` and `%d` in a name.
fn numbered(pattern: &str, number: usize) -> String {
    pattern
        .replace("%02d", &format!("{number:02}"))
        .replace("%d", &number.to_string())
}

/// Where machines are.
struct Addresses {
    text: String,
    first: u32,
    service: Ipv4Addr,
}

impl Addresses {
    fn of(told: &KubeInit<'_>, notes: &mut Notes) -> Result<Self, Box<Problem>> {
        let given = told
            .network
            .map(|text| grammar::map("--network", text))
            .transpose()?
            .unwrap_or_default();
        let text = find(&given, "network").unwrap_or(NETWORK).to_owned();
        let wrong = |what: String| {
            problem(
                what,
                ("it says", told.network.unwrap_or_default()),
                "write `[network=10.0.0.0/24]`",
            )
        };
        let network: Cidr = text
            .parse()
            .map_err(|error: casement_spec::Invalid| wrong(error.to_string()))?;
        let network = network.net();
        if network.prefix_len() >= 30 {
            return Err(wrong(format!(
                "`{text}` is too small: KubeInit takes prefixes below 30"
            )));
        }
        let offset = |key: &str, default: i64| match find(&given, key) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| wrong(format!("`{key}` is no number"))),
        };
        // As Python counts: from the front, or from the end where negative.
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
        let outside = || wrong("an offset lies outside of the network".to_owned());
        let first = at(start).ok_or_else(outside)?;
        let service = at(end).ok_or_else(outside)?;
        for (key, _) in &given {
            if !["network", "dhcp_start_offset", "dhcp_end_offset"].contains(&key.as_str()) {
                notes.not_carried(
                    None,
                    format!("--network `{key}`: casement has no field for it"),
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
        address.map(Ipv4Addr::from).ok_or_else(|| self.full())
    }

    fn fits(&self, nodes: usize) -> Result<(), Box<Problem>> {
        let room = u32::from(self.service).checked_sub(self.first);
        let fits = room.is_some_and(|room| usize::try_from(room).is_ok_and(|room| nodes <= room));
        fits.then_some(()).ok_or_else(|| self.full())
    }

    fn full(&self) -> Box<Problem> {
        problem(
            "there are more nodes than addresses",
            ("network", &self.text),
            "give a larger network: --network '[network=10.0.0.0/20]'",
        )
    }
}

fn hypervisors_of(
    told: &KubeInit<'_>,
    count: usize,
    pattern: &str,
    notes: &mut Notes,
) -> Result<Vec<Hypervisor>, Box<Problem>> {
    let given = told
        .hypervisors
        .map(|text| grammar::list("--hypervisors", text))
        .transpose()?
        .unwrap_or_default();
    for (index, extra) in given.iter().enumerate().skip(count) {
        let name = find(extra, "ansible_host")
            .or(find(extra, "host"))
            .unwrap_or("without a name");
        notes.not_carried(
            None,
            format!(
                "hypervisor {} of --hypervisors (`{name}`): the spec uses {count}",
                index + 1
            ),
        );
    }
    let hypervisors = (0..count).map(|index| {
        let own = numbered(pattern, index + 1);
        let entry = given.get(index);
        let of = |key: &str| entry.and_then(|entry| find(entry, key)).map(str::to_owned);
        for (key, _) in entry.into_iter().flatten() {
            if !["host", "ansible_host", "ssh_hostname", "ssh_username"].contains(&key.as_str()) {
                notes.not_carried(
                    None,
                    format!("--hypervisors `{key}`: casement has no field for it"),
                );
            }
        }
        let name = of("host").unwrap_or(own);
        let address = of("ansible_host").or_else(|| of("ssh_hostname"));
        if address.is_none() {
            notes.assumed(format!(
                "no address is given for hypervisor {}: its name `{name}` is written",
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
