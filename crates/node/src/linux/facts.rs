//! Facts about a Linux host.

use std::fs;

use casement_resource::wire::{HostFacts, OperatingSystem};

use super::Linux;
use crate::platform::{Network, Result};

pub(super) fn facts(linux: &Linux) -> Result<HostFacts> {
    let system = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    Ok(HostFacts {
        os: OperatingSystem::Linux,
        product: product(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        version: text(system.release()),
        architecture: std::env::consts::ARCH.to_owned(),
        hostname: text(system.nodename()),
        service_manager: linux.root.has_systemd().then(|| "systemd".to_owned()),
        interfaces: linux.interfaces()?,
    })
}

/// `PRETTY_NAME` of os-release(5).
fn product(release: &str) -> String {
    let mut values = release
        .lines()
        .filter_map(|line| line.strip_prefix("PRETTY_NAME="));
    let value = values.next().map(|value| value.trim_matches(['"', '\'']));
    value.unwrap_or("Linux").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_is_the_pretty_name() {
        assert_eq!(
            product("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            "Debian GNU/Linux 12"
        );
        assert_eq!(product(""), "Linux");
    }
}
