//! Units of systemd that somebody else made.

use std::collections::BTreeMap;

use casement_resource::{Code, Enablement, Failure, UnitName, UnitSeen};

use super::Linux;
use crate::platform::{Result, Units};

impl Units for Linux {
    fn unit(&self, name: &UnitName) -> Result<Option<UnitSeen>> {
        self.ground.require_systemd(name.as_str())?;
        let properties = "--property=LoadState,UnitFileState,ActiveState";
        let text = self
            .ground
            .systemctl(&["show", properties, "--", name.as_str()])?;
        Ok(seen(&text))
    }

    fn set_unit_enablement(&self, name: &UnitName, wanted: Enablement) -> Result<()> {
        let look = || Ok(self.unit(name)?.map(|seen| seen.enablement));
        let mut now = look()?;
        if now == Some(Enablement::Masked) && wanted != Enablement::Masked {
            self.tell("unmask", name)?;
            now = look()?;
        }
        match wanted {
            // Below the mask was a unit that cannot be enabled: systemd refuses.
            Enablement::Enabled | Enablement::Disabled if now == Some(Enablement::Fixed) => Ok(()),
            Enablement::Enabled => self.tell("enable", name),
            Enablement::Disabled => self.tell("disable", name),
            Enablement::Masked => {
                self.require_maskable(name)?;
                self.tell("mask", name)
            }
            Enablement::Fixed => Ok(()),
        }
    }

    fn set_unit_running(&self, name: &UnitName, running: bool) -> Result<()> {
        self.tell(if running { "start" } else { "stop" }, name)
    }
}

impl Linux {
    /// A mask is a link where an administrator's own units are, so one of those
    /// cannot be masked.
    fn require_maskable(&self, name: &UnitName) -> Result<()> {
        let place = format!("etc/systemd/system/{name}");
        let path = self.ground.path(place);
        if !path.is_file() {
            return Ok(());
        }
        let path = path.display();
        Err(Failure::new(
            Code::Foreign,
            format!("the unit `{name}` cannot be masked: its file is where the mask would be"),
            "let it be `off`, or move its file to /usr/local/lib/systemd/system",
        )
        .values("no file there", path.to_string()))
    }

    fn tell(&self, verb: &str, name: &UnitName) -> Result<()> {
        self.ground.require_systemd(name.as_str())?;
        self.ground
            .systemctl(&[verb, "--", name.as_str()])
            .map(drop)
    }
}

/// What `systemctl show` says; none if there is no such unit. One that is on its
/// way up or down counts as running: it has a process, or is about to.
fn seen(text: &str) -> Option<UnitSeen> {
    let properties: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let property = |name: &str| properties.get(name).copied().unwrap_or_default();
    if property("LoadState") == "not-found" {
        return None;
    }
    Some(UnitSeen {
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
    fn properties_are_read_in_any_order() {
        let text = "ActiveState=active\nLoadState=loaded\nUnitFileState=enabled\n";
        let found = seen(text).unwrap();
        assert_eq!(
            (found.enablement, found.running),
            (Enablement::Enabled, true)
        );
        let found = seen("LoadState=masked\nUnitFileState=masked\nActiveState=inactive\n");
        assert_eq!(found.unwrap().enablement, Enablement::Masked);
        let found = seen("LoadState=loaded\nUnitFileState=generated\nActiveState=failed\n");
        assert_eq!(found.unwrap().enablement, Enablement::Fixed);
        let gone = "LoadState=not-found\nUnitFileState=\nActiveState=inactive\n";
        assert_eq!(seen(gone), None);
    }
}
