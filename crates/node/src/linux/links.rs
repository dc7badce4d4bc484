//! Network links through `ip -json`.

use std::net::IpAddr;

use casement_resource::{LinkName, LinkSeen, LinkType};
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
    /// Read for the kinds that are known only: others have the same names for
    /// other things.
    info_data: serde_json::Value,
}

/// Of a VXLAN link.
#[derive(Deserialize)]
struct Vxlan {
    id: u32,
    port: u16,
    local: Option<IpAddr>,
    local6: Option<IpAddr>,
}

impl Links for Linux {
    /// All are asked for: of one that is not there, `ip` only says so in words.
    fn link(&self, name: &LinkName) -> Result<Option<LinkSeen>> {
        let text = self
            .ground
            .tool(&["ip", "-json", "-details", "link", "show"])?;
        let links: Vec<Link> = parse(&text)?;
        let found = links.iter().find(|link| link.ifname == name.as_str());
        Ok(found.map(|link| LinkSeen {
            link: link_type(&link.linkinfo),
            mtu: link.mtu,
            up: link.flags.iter().any(|flag| flag == "UP"),
        }))
    }

    fn add_link(&self, name: &LinkName, link: &LinkType) -> Result<()> {
        let mut words = vec!["ip", "link", "add", "name", name.as_str(), "type"];
        let (id, port, local);
        match link {
            LinkType::Bridge => words.push("bridge"),
            LinkType::Dummy => words.push("dummy"),
            LinkType::Vxlan {
                id: number,
                port: udp,
                local: address,
            } => {
                (id, port) = (number.to_string(), udp.to_string());
                words.extend(["vxlan", "id", &id, "dstport", &port]);
                if let Some(address) = address {
                    local = address.to_string();
                    words.extend(["local", &local]);
                }
            }
        }
        self.ground.tool(&words).map(drop)
    }

    fn delete_link(&self, name: &LinkName) -> Result<()> {
        let words = ["ip", "link", "delete", "dev", name.as_str()];
        self.ground.tool(&words).map(drop)
    }

    fn set_link_mtu(&self, name: &LinkName, mtu: u32) -> Result<()> {
        self.set_link(name, &["mtu", &mtu.to_string()])
    }

    fn set_link_up(&self, name: &LinkName, up: bool) -> Result<()> {
        self.set_link(name, &[if up { "up" } else { "down" }])
    }
}

impl Linux {
    fn set_link(&self, name: &LinkName, what: &[&str]) -> Result<()> {
        let words = ["ip", "link", "set", "dev", name.as_str()];
        self.ground.tool(&[&words[..], what].concat()).map(drop)
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
