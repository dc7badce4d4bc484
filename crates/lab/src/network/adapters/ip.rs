//! Runs the `ip` command.

use std::net::IpAddr;
use std::process::{Command, Output};

use lab_wire::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{exists, general, invalid, not_found};

/// An entry of `ip -j link`.
#[derive(Debug, Deserialize)]
pub struct Link {
    pub ifindex: u32,
    pub ifname: String,
    pub mtu: u32,
    /// For example `UP` and `LOWER_UP`.
    #[serde(default)]
    pub flags: Vec<String>,
}

pub fn link(index: u32) -> Result<Link, Failure> {
    let links: Vec<Link> = show(&["link", "show"])?;
    links
        .into_iter()
        .find(|link| link.ifindex == index)
        .ok_or_else(|| not_found(format!("no interface has index {index}")))
}

/// The family option of `ip`.
pub fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "-4" } else { "-6" }
}

/// `ip` prints nothing instead of `[]` for some empty lists.
pub fn show<T: DeserializeOwned>(arguments: &[&str]) -> Result<Vec<T>, Failure> {
    let output = run("-j", arguments)?;
    if !output.status.success() {
        return Err(win32_failure(&output));
    }
    match output.stdout.trim_ascii() {
        [] => Ok(Vec::new()),
        text => serde_json::from_slice(text).map_err(general),
    }
}

pub fn change(arguments: &[&str]) -> Result<(), Failure> {
    let (first, rest) = arguments
        .split_first()
        .ok_or_else(|| general("no arguments for ip"))?;
    let output = run(first, rest)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(win32_failure(&output)),
    }
}

fn run(first: &str, rest: &[&str]) -> Result<Output, Failure> {
    Command::new("ip")
        .arg(first)
        .args(rest)
        .output()
        .map_err(general)
}

/// Maps an error message of `ip` to a Win32 error.
fn win32_failure(output: &Output) -> Failure {
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
