//! systemd units that casement did not create.

use std::collections::BTreeMap;

use casement_resource::{Code, Enablement, Failure, ObservedUnit, UnitName};

use super::Linux;
use crate::platform::{Result, Units};

impl Units for Linux {
    fn unit(&self, name: &UnitName) -> Result<Option<ObservedUnit>> {
        self.root.require_systemd(name.as_str())?;
        let properties = "--property=LoadState,UnitFileState,ActiveState";
        let text = self
            .root
            .systemctl(&["show", properties, "--", name.as_str()])?;
        Ok(parse_unit(&text))
    }

    fn set_unit_enablement(&self, name: &UnitName, wanted: Enablement) -> Result<()> {
        let current = || Ok(self.unit(name)?.map(|unit| unit.enablement));
        let mut enablement = current()?;
        if enablement == Some(Enablement::Masked) && wanted != Enablement::Masked {
            self.systemctl("unmask", name)?;
            enablement = current()?;
        }
        match wanted {
            // The unit below the mask cannot be enabled: systemd would refuse.
            Enablement::Enabled | Enablement::Disabled if enablement == Some(Enablement::Fixed) => {
                Ok(())
            }
            Enablement::Enabled => self.systemctl("enable", name),
            Enablement::Disabled => self.systemctl("disable", name),
            Enablement::Masked => {
                self.require_maskable(name)?;
                self.systemctl("mask", name)
            }
            Enablement::Fixed => Ok(()),
        }
    }

    fn set_unit_running(&self, name: &UnitName, running: bool) -> Result<()> {
        self.systemctl(if running { "start" } else { "stop" }, name)
    }
}

impl Linux {
    /// A mask is a symlink in the directory of administrators' units, so a unit file
    /// there cannot be masked.
    fn require_maskable(&self, name: &UnitName) -> Result<()> {
        let file = format!("etc/systemd/system/{name}");
        let path = self.root.path(file);
        if !path.is_file() {
            return Ok(());
        }
        let path = path.display();
        Err(Failure::new(
            Code::Foreign,
            format!(
                "the unit `{name}` cannot be masked: its unit file is where the mask would be created"
            ),
            "set it to `off`, or move its file to /usr/local/lib/systemd/system",
        )
        .values("no unit file", path.to_string()))
    }

    fn systemctl(&self, verb: &str, name: &UnitName) -> Result<()> {
        self.root.require_systemd(name.as_str())?;
        self.root.systemctl(&[verb, "--", name.as_str()]).map(drop)
    }
}

/// Parses `systemctl show`; `None` if there is no such unit. A unit that is starting or
/// stopping counts as running.
fn parse_unit(text: &str) -> Option<ObservedUnit> {
    let properties: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let property = |name: &str| properties.get(name).copied().unwrap_or_default();
    if property("LoadState") == "not-found" {
        return None;
    }
    Some(ObservedUnit {
        enablement: match property("UnitFileState") {
            "enabled" | "enabled-runtime" => Enablement::Enabled,
            "disabled" => Enablement::Disabled,
            "masked" | "masked-runtime" => Enablement::Masked,
            _ => Enablement::Fixed,
        },
        running: !matches!(property("ActiveState"), "inactive" | "failed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_parsed_in_any_order() {
        let text = "ActiveState=active\nLoadState=loaded\nUnitFileState=enabled\n";
        let found = parse_unit(text).unwrap();
        assert_eq!(
            (found.enablement, found.running),
            (Enablement::Enabled, true)
        );
        let found = parse_unit("LoadState=masked\nUnitFileState=masked\nActiveState=inactive\n");
        assert_eq!(found.unwrap().enablement, Enablement::Masked);
        let found = parse_unit("LoadState=loaded\nUnitFileState=generated\nActiveState=failed\n");
        assert_eq!(found.unwrap().enablement, Enablement::Fixed);
        let missing = "LoadState=not-found\nUnitFileState=\nActiveState=inactive\n";
        assert_eq!(parse_unit(missing), None);
    }
}
