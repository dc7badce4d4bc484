//! Network links with `ip -json`.

use std::net::IpAddr;

use casement_resource::{LinkName, LinkType, ObservedLink};
use serde::Deserialize;

use super::Linux;
use super::network::parse;
use crate::platform::{Links, Result};

#[derive(Deserialize)]
struct Link {
    ifname: String,
    mtu: u32,
    flags: Vec<String>,
    #[serde(default)]
    linkinfo: Info,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Info {
    info_kind: String,
    /// Parsed only for known kinds: others use the same names for other things.
    info_data: serde_json::Value,
}

#[derive(Deserialize)]
struct Vxlan {
    id: u32,
    port: u16,
    local: Option<IpAddr>,
    local6: Option<IpAddr>,
}

impl Links for Linux {
    /// Lists all: for a missing link, `ip` has only an error text.
    fn link(&self, name: &LinkName) -> Result<Option<ObservedLink>> {
        let text = self
            .root
            .run_tool(&["ip", "-json", "-details", "link", "show"])?;
        let links: Vec<Link> = parse(&text)?;
        let found = links.iter().find(|link| link.ifname == name.as_str());
        Ok(found.map(|link| ObservedLink {
            link: link_type(&link.linkinfo),
            mtu: link.mtu,
            up: link.flags.iter().any(|flag| flag == "UP"),
        }))
    }

    fn add_link(&self, name: &LinkName, link: &LinkType) -> Result<()> {
        let mut arguments = vec!["ip", "link", "add", "name", name.as_str(), "type"];
        let (id, port, local);
        match link {
            LinkType::Bridge => arguments.push("bridge"),
            LinkType::Dummy => arguments.push("dummy"),
            LinkType::Vxlan {
                id: number,
                port: udp,
                local: address,
            } => {
                (id, port) = (number.to_string(), udp.to_string());
                arguments.extend(["vxlan", "id", &id, "dstport", &port]);
                if let Some(address) = address {
                    local = address.to_string();
                    arguments.extend(["local", &local]);
                }
            }
        }
        self.root.run_tool(&arguments).map(drop)
    }

    fn delete_link(&self, name: &LinkName) -> Result<()> {
        let arguments = ["ip", "link", "delete", "dev", name.as_str()];
        self.root.run_tool(&arguments).map(drop)
    }

    fn set_link_mtu(&self, name: &LinkName, mtu: u32) -> Result<()> {
        self.set_link(name, &["mtu", &mtu.to_string()])
    }

    fn set_link_up(&self, name: &LinkName, up: bool) -> Result<()> {
        self.set_link(name, &[if up { "up" } else { "down" }])
    }
}

impl Linux {
    fn set_link(&self, name: &LinkName, setting: &[&str]) -> Result<()> {
        let arguments = ["ip", "link", "set", "dev", name.as_str()];
        self.root
            .run_tool(&[&arguments[..], setting].concat())
            .map(drop)
    }
}

fn link_type(info: &Info) -> Option<LinkType> {
    match info.info_kind.as_str() {
        "bridge" => Some(LinkType::Bridge),
        "dummy" => Some(LinkType::Dummy),
        "vxlan" => {
            let data = Vxlan::deserialize(&info.info_data).ok()?;
            Some(LinkType::Vxlan {
                id: data.id,
                port: data.port,
                local: data.local.or(data.local6),
            })
        }
        _ => None,
    }
}
