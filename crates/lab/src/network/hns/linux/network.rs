//! Networks, namespaces, endpoints, and the ways to other hosts' pods.

use ipnet::IpNet;

use super::super::fabric::{Attachment, FabricError, NetworkPlan, RemoteSubnet, Vxlan};
use super::{LinuxFabric, VIRTUAL_ADAPTER};

/// Device names hold 15 characters, so ids are cut short.
fn device(prefix: &str, id: &str) -> String {
    let short: String = id.chars().filter(char::is_ascii_hexdigit).take(8).collect();
    format!("{prefix}{short}")
}

/// A MAC for a network's bridge, so that it does not take on that of whichever
/// port comes next while pods remember the old one.
fn mac_of(id: &str) -> String {
    let digits: Vec<char> = id
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(10)
        .collect();
    let bytes = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    ["02".to_owned()]
        .into_iter()
        .chain(bytes)
        .collect::<Vec<_>>()
        .join(":")
}

fn bridge_of(network: &str) -> String {
    device("hns", network)
}

fn tunnel_of(network: &str) -> String {
    device("vxl", network)
}

fn port_of(endpoint: &str) -> String {
    device("ep", endpoint)
}

impl LinuxFabric {
    pub(super) fn make_network(&self, plan: &NetworkPlan) -> Result<(), FabricError> {
        let made = self.try_network(plan);
        made.inspect_err(|_| drop(self.remove_network(plan)))
    }

    fn try_network(&self, plan: &NetworkPlan) -> Result<(), FabricError> {
        let commands = &self.commands;
        let bridge = bridge_of(&plan.id);
        let router = plan.vxlan.as_ref().map(|it| it.router_mac.with_colons());
        let mac = router.unwrap_or_else(|| mac_of(&plan.id));
        let add = ["link", "add", "name", &bridge, "address", &mac];
        commands.ip(&[&add[..], &["type", "bridge"]].concat())?;
        for (net, gateway) in &plan.subnets {
            if let Some(gateway) = gateway {
                let address = format!("{gateway}/{}", net.prefix_len());
                commands.ip(&["addr", "add", &address, "dev", &bridge])?;
            }
        }
        commands.ip(&["link", "set", "dev", &bridge, "up"])?;
        commands.run("sysctl", &["-qw", "net.ipv4.ip_forward=1"])?;
        match &plan.vxlan {
            Some(vxlan) => self.make_tunnel(&plan.id, vxlan),
            None => Ok(()),
        }
    }

    /// The bridge has the router's MAC, so what other hosts send to it comes
    /// out of the tunnel into this host's routing, and from there to the pods.
    fn make_tunnel(&self, network: &str, vxlan: &Vxlan) -> Result<(), FabricError> {
        let (bridge, tunnel) = (bridge_of(network), tunnel_of(network));
        let (vni, port) = (vxlan.vni.to_string(), vxlan.port.to_string());
        let local = vxlan.local.to_string();
        let add = ["link", "add", "name", &tunnel, "type", "vxlan", "id", &vni];
        let way = ["dstport", &port, "local", &local, "dev", VIRTUAL_ADAPTER];
        let commands = &self.commands;
        commands.ip(&[&add[..], &way, &["nolearning"]].concat())?;
        commands.ip(&["link", "set", "dev", &tunnel, "master", &bridge])?;
        commands.ip(&["link", "set", "dev", &tunnel, "up"])
    }

    pub(super) fn remove_network(&self, plan: &NetworkPlan) -> Result<(), FabricError> {
        self.commands.delete_device(&tunnel_of(&plan.id))?;
        self.commands.delete_device(&bridge_of(&plan.id))
    }

    pub(super) fn make_namespace(&self, id: &str) -> Result<(), FabricError> {
        self.commands.ip(&["netns", "add", id])?;
        self.commands
            .ip(&["-n", id, "link", "set", "dev", "lo", "up"])
    }

    pub(super) fn attach(&self, place: &Attachment) -> Result<(), FabricError> {
        match &place.namespace {
            None => self.change_host_addresses("add", place),
            Some(namespace) => self
                .plug(place, namespace)
                .inspect_err(|_| drop(self.detach(place))),
        }
    }

    pub(super) fn detach(&self, place: &Attachment) -> Result<(), FabricError> {
        match &place.namespace {
            None => self.change_host_addresses("del", place),
            Some(_) => self.commands.delete_device(&port_of(&place.endpoint)),
        }
    }

    fn change_host_addresses(&self, verb: &str, place: &Attachment) -> Result<(), FabricError> {
        let bridge = bridge_of(&place.network);
        for address in &place.addresses {
            let address = address.to_string();
            self.commands
                .ip(&["addr", verb, &address, "dev", &bridge])?;
        }
        Ok(())
    }

    /// The bridge knows how much room a tunnel leaves in a packet.
    fn plug(&self, place: &Attachment, namespace: &str) -> Result<(), FabricError> {
        let commands = &self.commands;
        let (bridge, port) = (bridge_of(&place.network), port_of(&place.endpoint));
        let inner = format!("eth{}", place.index);
        let mac = place.mac.with_colons();
        let shown = commands.ip_list(&["link", "show", "dev", &bridge])?;
        let mtu = shown.first().and_then(|it| it["mtu"].as_u64());
        let mtu = mtu.unwrap_or(1500).to_string();
        let outer = ["link", "add", "name", &port, "mtu", &mtu, "type", "veth"];
        let peer = ["peer", "name", &inner, "netns", namespace];
        let peer_is = ["mtu", &mtu, "address", &mac];
        commands.ip(&[&outer[..], &peer, &peer_is].concat())?;
        commands.ip(&["link", "set", "dev", &port, "master", &bridge, "up"])?;
        let inside = |arguments: &[&str]| commands.ip(&[&["-n", namespace], arguments].concat());
        for address in &place.addresses {
            inside(&["addr", "add", &address.to_string(), "dev", &inner])?;
        }
        inside(&["link", "set", "dev", &inner, "up"])?;
        for (to, gateway) in &place.routes {
            let (to, gateway) = (to.trunc().to_string(), gateway.to_string());
            inside(&[
                "route", "replace", &to, "via", &gateway, "dev", &inner, "onlink",
            ])?;
        }
        Ok(())
    }

    /// Route to the other router, its MAC, and the host behind that MAC.
    pub(super) fn add_remote(&self, subnet: &RemoteSubnet) -> Result<(), FabricError> {
        let commands = &self.commands;
        let (bridge, tunnel) = (bridge_of(&subnet.network), tunnel_of(&subnet.network));
        if !commands.has_device(&tunnel) {
            return Ok(());
        }
        let (to, router, mac) = wire_names(subnet);
        let (host, vni) = (subnet.provider.to_string(), subnet.vni.to_string());
        let fdb = ["fdb", "replace", &mac, "dev", &tunnel];
        let far = ["self", "permanent", "dst", &host, "vni", &vni];
        commands.run("bridge", &[&fdb[..], &far].concat())?;
        commands.run("bridge", &[&fdb[..], &["master", "static"]].concat())?;
        let neighbour = ["neigh", "replace", &router, "lladdr", &mac, "dev", &bridge];
        commands.ip(&[&neighbour[..], &["nud", "permanent"]].concat())?;
        commands.ip(&[
            "route", "replace", &to, "via", &router, "dev", &bridge, "onlink",
        ])
    }

    pub(super) fn remove_remote(&self, subnet: &RemoteSubnet) -> Result<(), FabricError> {
        let commands = &self.commands;
        let (bridge, tunnel) = (bridge_of(&subnet.network), tunnel_of(&subnet.network));
        if !commands.has_device(&tunnel) {
            return Ok(());
        }
        let (to, router, mac) = wire_names(subnet);
        commands.ip(&["route", "del", &to, "dev", &bridge])?;
        commands.ip(&["neigh", "del", &router, "dev", &bridge])?;
        if subnet.sole {
            let fdb = ["fdb", "del", &mac, "dev", &tunnel];
            commands.run("bridge", &[&fdb[..], &["self"]].concat())?;
            commands.run("bridge", &[&fdb[..], &["master"]].concat())?;
        }
        Ok(())
    }
}

/// Prefix, router and the router's MAC. The router's address is the subnet's
/// own, as flannel does it: nobody else has it.
fn wire_names(subnet: &RemoteSubnet) -> (String, String, String) {
    let net: IpNet = subnet.prefix.trunc();
    let mac = subnet.router_mac.with_colons();
    (net.to_string(), net.network().to_string(), mac)
}
