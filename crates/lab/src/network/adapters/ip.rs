//! The command `ip`.

use std::net::IpAddr;
use std::process::{Command, Output};

use lab_wire::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{exists, general, invalid, not_found};

/// A link, as `ip -j link` shows it.
#[derive(Debug, Deserialize)]
pub struct Link {
    /// Its index.
    pub ifindex: u32,
    /// Its name.
    pub ifname: String,
    /// Largest packet.
    pub mtu: u32,
    /// `UP`, `LOWER_UP` and others.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// The link with an index.
pub fn link(index: u32) -> Result<Link, Failure> {
    let links: Vec<Link> = show(&["link", "show"])?;
    links
        .into_iter()
        .find(|link| link.ifindex == index)
        .ok_or_else(|| not_found(format!("no interface has the index {index}")))
}

/// `-4` or `-6`.
pub fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "-4" } else { "-6" }
}

/// Reads a list; `ip` shows nothing at all for some empty ones.
pub fn show<T: DeserializeOwned>(arguments: &[&str]) -> Result<Vec<T>, Failure> {
    let output = run("-j", arguments)?;
    if !output.status.success() {
        return Err(refusal(&output));
    }
    match output.stdout.trim_ascii() {
        [] => Ok(Vec::new()),
        text => serde_json::from_slice(text).map_err(general),
    }
}

/// Changes something.
pub fn change(arguments: &[&str]) -> Result<(), Failure> {
    let (first, rest) = arguments.split_first().ok_or_else(|| general("nothing"))?;
    let output = run(first, rest)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(refusal(&output)),
    }
}

fn run(first: &str, rest: &[&str]) -> Result<Output, Failure> {
    Command::new("ip")
        .arg(first)
        .args(rest)
        .output()
        .map_err(general)
}

/// What the kernel said, in Windows' terms.
fn refusal(output: &Output) -> Failure {
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if text.contains("File exists") || text.contains("already assigned") {
        exists(text)
    } else if [
        "No such process",
        "Cannot assign",
        "Cannot find device",
        "No such device",
    ]
    .iter()
    .any(|missing| text.contains(missing))
    {
        not_found(text)
    } else {
        invalid(text)
    }
}
