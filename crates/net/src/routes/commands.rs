//! Route tables as shell commands.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::{Carrier, RouteTable, System, TableRoute};
use crate::Deferred;

/// Commands that create the routes of a node.
///
/// Unknown values are comments. Windows has two variants: `route` finds the interface
/// by the next hop, `netsh` needs its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commands {
    IpRoute,
    RouteAdd,
    Netsh,
}

impl Commands {
    pub fn of(system: System) -> &'static [Self] {
        match system {
            System::Linux => &[Self::IpRoute],
            System::Windows => &[Self::RouteAdd, Self::Netsh],
        }
    }

    pub fn file_name(self) -> &'static str {
        match self {
            Self::IpRoute => "routes.sh",
            Self::RouteAdd => "routes.cmd",
            Self::Netsh => "routes-netsh.cmd",
        }
    }

    /// `interface` is the adapter with the address of the node, if known.
    pub fn lines(self, table: &RouteTable, interface: Option<&str>) -> Vec<String> {
        let mut lines = self.header(table, interface);
        lines.extend(table.routes.iter().map(|route| self.line(route)));
        lines
    }

    fn header(self, table: &RouteTable, interface: Option<&str>) -> Vec<String> {
        let mut lines = Vec::new();
        if table.carrier != Carrier::Routes {
            let maker = match table.carrier {
                Carrier::CalicoVxlan { .. } => "Calico",
                _ => "flannel",
            };
            lines.push(self.comment(&format!("created by {maker}")));
        }
        let policies = |route: &TableRoute| route.via.is_none();
        if table.routes.iter().all(policies) {
            return lines;
        }
        match self {
            Self::IpRoute => lines.push("sysctl -w net.ipv4.ip_forward=1".to_owned()),
            Self::RouteAdd => {}
            Self::Netsh => {
                let named = interface.map_or_else(
                    || {
                        format!(
                            "rem set INTERFACE=name of the adapter with the address {}",
                            table.address
                        )
                    },
                    |name| format!("set INTERFACE={name}"),
                );
                lines.push(named);
                lines.push(
                    "netsh interface ipv4 set interface \"%INTERFACE%\" forwarding=enabled"
                        .to_owned(),
                );
            }
        }
        lines
    }

    fn line(self, route: &TableRoute) -> String {
        let node = format!("{} ({})", route.node, route.address);
        let Deferred::Known(destination) = route.destination else {
            return self.comment(&format!("{node}: {}", route.destination));
        };
        match route.via {
            Some(Deferred::Known(via)) => self.command(destination, via, route.device.as_deref()),
            Some(unknown) => self.comment(&format!("{destination} on {node}: {unknown}")),
            None => self.comment(&format!(
                "{destination} on {node}: handled by the HNS network policy"
            )),
        }
    }

    fn command(self, destination: Ipv4Net, via: Ipv4Addr, device: Option<&str>) -> String {
        match self {
            Self::IpRoute => match device {
                Some(device) => {
                    format!("ip route replace {destination} via {via} dev {device} onlink")
                }
                None => format!("ip route replace {destination} via {via}"),
            },
            Self::RouteAdd => format!(
                "route add {} mask {} {via} -p",
                destination.network(),
                destination.netmask()
            ),
            Self::Netsh => format!(
                "netsh interface ipv4 add route prefix={destination} interface=\"%INTERFACE%\" nexthop={via} store=persistent"
            ),
        }
    }

    fn comment(self, text: &str) -> String {
        match self {
            Self::IpRoute => format!("# {text}"),
            Self::RouteAdd | Self::Netsh => format!("rem {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Neighbor;
    use super::*;

    fn nodes() -> Vec<Neighbor> {
        let node = |name: &str, last: u8, pods: Option<u8>| Neighbor {
            name: name.to_owned(),
            address: Ipv4Addr::new(10, 3, 0, last),
            pods: pods
                .map(|third| Ipv4Net::new_assert(Ipv4Addr::new(192, 168, third, 0), 24))
                .into(),
        };
        vec![
            node("win02", 3, Some(2)),
            node("lin01", 1, Some(0)),
            node("win01", 2, Some(1)),
            node("later", 4, None),
        ]
    }

    fn lines(own: &str, system: System, carrier: Carrier, by: Commands) -> Vec<String> {
        let nodes = nodes();
        let own = nodes.iter().find(|node| node.name == own).unwrap();
        by.lines(&RouteTable::new(own, system, carrier, &nodes), None)
    }

    #[test]
    fn node_has_routes_to_all_others() {
        let linux = lines("lin01", System::Linux, Carrier::Routes, Commands::IpRoute);
        assert_eq!(
            linux,
            [
                "sysctl -w net.ipv4.ip_forward=1",
                "# later (10.3.0.4): known after join",
                "ip route replace 192.168.1.0/24 via 10.3.0.2",
                "ip route replace 192.168.2.0/24 via 10.3.0.3",
            ]
        );
        let windows = lines(
            "win01",
            System::Windows,
            Carrier::Routes,
            Commands::RouteAdd,
        );
        assert_eq!(
            windows,
            [
                "rem later (10.3.0.4): known after join",
                "route add 192.168.0.0 mask 255.255.255.0 10.3.0.1 -p",
                "route add 192.168.2.0 mask 255.255.255.0 10.3.0.3 -p",
            ]
        );
        let netsh = lines("win01", System::Windows, Carrier::Routes, Commands::Netsh);
        assert_eq!(
            netsh.last().unwrap(),
            "netsh interface ipv4 add route prefix=192.168.2.0/24 interface=\"%INTERFACE%\" nexthop=10.3.0.3 store=persistent"
        );
    }

    #[test]
    fn overlay_uses_a_device_on_linux_and_hns_on_windows() {
        let carrier = Carrier::FlannelVxlan { vni: 4096 };
        let linux = lines("lin01", System::Linux, carrier, Commands::IpRoute);
        assert_eq!(
            linux.last().unwrap(),
            "ip route replace 192.168.2.0/24 via 192.168.2.0 dev flannel.4096 onlink"
        );
        let windows = lines("win01", System::Windows, carrier, Commands::RouteAdd);
        assert!(
            windows.iter().all(|line| line.starts_with("rem ")),
            "{windows:?}"
        );
    }
}
