//! Creates networks, namespaces, endpoints and routes to the pods of other hosts.

use ipnet::IpNet;

use super::super::fabric::{Attachment, FabricError, NetworkPlan, RemoteSubnet, Vxlan};
use super::{LinuxFabric, VIRTUAL_ADAPTER};

/// Device names are limited to 15 characters, so ids are truncated.
fn device(prefix: &str, id: &str) -> String {
    let short: String = id.chars().filter(char::is_ascii_hexdigit).take(8).collect();
    format!("{prefix}{short}")
}

/// A fixed MAC address for a network's bridge. Otherwise the bridge would change its
/// address when a port is added, while pods still have the old one in their caches.
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
    pub(super) fn create_network(&self, plan: &NetworkPlan) -> Result<(), FabricError> {
        let created = self.try_create_network(plan);
        created.inspect_err(|_| drop(self.remove_network(plan)))
    }

    fn try_create_network(&self, plan: &NetworkPlan) -> Result<(), FabricError> {
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
            Some(vxlan) => self.create_tunnel(&plan.id, vxlan),
            None => Ok(()),
        }
    }

    /// The bridge has the router's MAC address, so packets from other hosts leave the
    /// tunnel into this host's routing and from there reach the pods.
    fn create_tunnel(&self, network: &str, vxlan: &Vxlan) -> Result<(), FabricError> {
        let (bridge, tunnel) = (bridge_of(network), tunnel_of(network));
        let (vni, port) = (vxlan.vni.to_string(), vxlan.port.to_string());
        let local = vxlan.local.to_string();
        let add = ["link", "add", "name", &tunnel, "type", "vxlan", "id", &vni];
        let underlay = ["dstport", &port, "local", &local, "dev", VIRTUAL_ADAPTER];
        let commands = &self.commands;
        commands.ip(&[&add[..], &underlay, &["nolearning"]].concat())?;
        commands.ip(&["link", "set", "dev", &tunnel, "master", &bridge])?;
        commands.ip(&["link", "set", "dev", &tunnel, "up"])
    }

    pub(super) fn remove_network(&self, plan: &NetworkPlan) -> Result<(), FabricError> {
        self.commands.delete_device(&tunnel_of(&plan.id))?;
        self.commands.delete_device(&bridge_of(&plan.id))
    }

    pub(super) fn create_namespace(&self, id: &str) -> Result<(), FabricError> {
        self.commands.ip(&["netns", "add", id])?;
        self.commands
            .ip(&["-n", id, "link", "set", "dev", "lo", "up"])
    }

    pub(super) fn attach(&self, attachment: &Attachment) -> Result<(), FabricError> {
        match &attachment.namespace {
            None => self.change_host_addresses("add", attachment),
            Some(namespace) => self
                .create_veth(attachment, namespace)
                .inspect_err(|_| drop(self.detach(attachment))),
        }
    }

    pub(super) fn detach(&self, attachment: &Attachment) -> Result<(), FabricError> {
        match &attachment.namespace {
            None => self.change_host_addresses("del", attachment),
            Some(_) => self.commands.delete_device(&port_of(&attachment.endpoint)),
        }
    }

    fn change_host_addresses(
        &self,
        verb: &str,
        attachment: &Attachment,
    ) -> Result<(), FabricError> {
        let bridge = bridge_of(&attachment.network);
        for address in &attachment.addresses {
            let address = address.to_string();
            self.commands
                .ip(&["addr", verb, &address, "dev", &bridge])?;
        }
        Ok(())
    }

    /// Uses the MTU of the bridge, which accounts for the tunnel overhead.
    fn create_veth(&self, attachment: &Attachment, namespace: &str) -> Result<(), FabricError> {
        let commands = &self.commands;
        let (bridge, port) = (
            bridge_of(&attachment.network),
            port_of(&attachment.endpoint),
        );
        let inner = format!("eth{}", attachment.index);
        let mac = attachment.mac.with_colons();
        let output = commands.ip_list(&["link", "show", "dev", &bridge])?;
        let mtu = output.first().and_then(|it| it["mtu"].as_u64());
        let mtu = mtu.unwrap_or(1500).to_string();
        let outer = ["link", "add", "name", &port, "mtu", &mtu, "type", "veth"];
        let peer = ["peer", "name", &inner, "netns", namespace];
        let peer_settings = ["mtu", &mtu, "address", &mac];
        commands.ip(&[&outer[..], &peer, &peer_settings].concat())?;
        commands.ip(&["link", "set", "dev", &port, "master", &bridge, "up"])?;
        let inside = |arguments: &[&str]| commands.ip(&[&["-n", namespace], arguments].concat());
        for address in &attachment.addresses {
            inside(&["addr", "add", &address.to_string(), "dev", &inner])?;
        }
        inside(&["link", "set", "dev", &inner, "up"])?;
        for (to, gateway) in &attachment.routes {
            let (to, gateway) = (to.trunc().to_string(), gateway.to_string());
            inside(&[
                "route", "replace", &to, "via", &gateway, "dev", &inner, "onlink",
            ])?;
        }
        Ok(())
    }

    /// Adds the route to the other host's router, the router's MAC address, and the
    /// forwarding entry for that address.
    pub(super) fn add_remote(&self, subnet: &RemoteSubnet) -> Result<(), FabricError> {
        let commands = &self.commands;
        let (bridge, tunnel) = (bridge_of(&subnet.network), tunnel_of(&subnet.network));
        if !commands.has_device(&tunnel) {
            return Ok(());
        }
        let (to, router, mac) = route_arguments(subnet);
        let (host, vni) = (subnet.provider.to_string(), subnet.vni.to_string());
        let fdb = ["fdb", "replace", &mac, "dev", &tunnel];
        let remote = ["self", "permanent", "dst", &host, "vni", &vni];
        commands.run("bridge", &[&fdb[..], &remote].concat())?;
        commands.run("bridge", &[&fdb[..], &["master", "static"]].concat())?;
        let neighbor = ["neigh", "replace", &router, "lladdr", &mac, "dev", &bridge];
        commands.ip(&[&neighbor[..], &["nud", "permanent"]].concat())?;
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
        let (to, router, mac) = route_arguments(subnet);
        commands.ip(&["route", "del", &to, "dev", &bridge])?;
        commands.ip(&["neigh", "del", &router, "dev", &bridge])?;
        if subnet.only_prefix {
            let fdb = ["fdb", "del", &mac, "dev", &tunnel];
            commands.run("bridge", &[&fdb[..], &["self"]].concat())?;
            commands.run("bridge", &[&fdb[..], &["master"]].concat())?;
        }
        Ok(())
    }
}

/// Prefix, router address and router MAC. As in flannel, the router's address is the
/// network address of the subnet, which is always unused.
fn route_arguments(subnet: &RemoteSubnet) -> (String, String, String) {
    let net: IpNet = subnet.prefix.trunc();
    let mac = subnet.router_mac.with_colons();
    (net.to_string(), net.network().to_string(), mac)
}
