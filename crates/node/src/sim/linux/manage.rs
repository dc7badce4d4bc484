//! Packages and units of a simulated Linux host.

use casement_resource::{Enablement, ObservedUnit, PackageName, PackageVersion, UnitName};

use super::super::{Sim, refused};
use super::Unit;
use crate::platform::{Packages, Result, Units};

/// Installed unless a version is requested.
const NEWEST: &str = "2.0-1";

impl Packages for Sim {
    fn package(&self, name: &PackageName) -> Result<Option<PackageVersion>> {
        self.linux(|linux| linux.packages.get(name).cloned())
    }

    fn install_package(&self, name: &PackageName, version: Option<&PackageVersion>) -> Result<()> {
        let newest = NEWEST
            .parse()
            .map_err(|_| refused("install_package", "invalid version"))?;
        self.change_linux(&format!("install_package {name}"), |linux| {
            let version = version.unwrap_or(&newest).clone();
            linux.packages.insert(name.clone(), version);
            Ok(())
        })
    }

    fn remove_package(&self, name: &PackageName) -> Result<()> {
        self.change_linux(&format!("remove_package {name}"), |linux| {
            linux.packages.remove(name);
            Ok(())
        })
    }
}

impl Units for Sim {
    fn unit(&self, name: &UnitName) -> Result<Option<ObservedUnit>> {
        self.linux(|linux| {
            linux.units.get(name).map(|unit| ObservedUnit {
                enablement: match unit.file {
                    Some(file) if !unit.masked => file,
                    _ => Enablement::Masked,
                },
                running: unit.running,
            })
        })
    }

    fn set_unit_enablement(&self, name: &UnitName, wanted: Enablement) -> Result<()> {
        let what = format!("set_unit_enablement {name}");
        self.change_linux(&what, |linux| {
            let unit = linux.units.entry(name.clone()).or_insert(Unit {
                file: None,
                masked: false,
                running: false,
            });
            unit.masked = wanted == Enablement::Masked;
            match (wanted, &mut unit.file) {
                (Enablement::Enabled | Enablement::Disabled, Some(Enablement::Fixed)) => {}
                (Enablement::Enabled | Enablement::Disabled, Some(file)) => *file = wanted,
                (Enablement::Enabled | Enablement::Disabled, None) => {
                    return Err(refused(&what, "no such unit"));
                }
                (Enablement::Masked | Enablement::Fixed, _) => {}
            }
            if unit.file.is_none() && !unit.masked {
                linux.units.remove(name);
            }
            Ok(())
        })
    }

    fn set_unit_running(&self, name: &UnitName, running: bool) -> Result<()> {
        let what = format!("set_unit_running {name}");
        self.change_linux(&what, |linux| match linux.units.get_mut(name) {
            Some(unit) if unit.masked && running => Err(refused(&what, "it is masked")),
            Some(unit) => {
                unit.running = running;
                Ok(())
            }
            None => Err(refused(&what, "no such unit")),
        })
    }
}
