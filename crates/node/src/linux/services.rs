//! Services of Linux: a systemd unit per definition.

use std::fs;
use std::path::{Path, PathBuf};

use casement_resource::{
    Code, Failure, HostPath, ServiceDefinition, ServiceSeen, ServiceState, StartType,
};

use super::Linux;
use super::systemd::unit;
use crate::platform::{Files, Result, Services};
use crate::state::{delete, read, write_durably};

impl Services for Linux {
    fn service(&self, name: &str) -> Result<Option<ServiceSeen>> {
        self.ground.require_systemd(name)?;
        let full = format!("{name}.service");
        if self.ground.property(&full, "LoadState")? == "not-found" {
            return Ok(None);
        }
        let definition = self.definition(name)?;
        let fragment = self.ground.property(&full, "FragmentPath")?;
        let wanted = definition.as_ref().map(unit);
        let ours = fs::read_to_string(&fragment).ok() == wanted && wanted.is_some();
        let start = match self.ground.property(&full, "UnitFileState")?.as_str() {
            "enabled" | "enabled-runtime" => StartType::Automatic,
            "masked" | "masked-runtime" => StartType::Disabled,
            _ => StartType::Manual,
        };
        let depends_on = definition
            .as_ref()
            .map(|it| it.depends_on.clone())
            .unwrap_or_default();
        Ok(Some(ServiceSeen {
            foreign_command: (!ours).then(|| format!("unit {fragment}")),
            display_name: self.ground.property(&full, "Description")?,
            start,
            depends_on,
            state: match self.ground.property(&full, "ActiveState")?.as_str() {
                "active" => ServiceState::Running,
                "inactive" | "failed" => ServiceState::Stopped,
                _ => ServiceState::Changing,
            },
            definition,
        }))
    }

    fn save_service(&self, name: &str) -> Result<Option<serde_json::Value>> {
        let Some(seen) = self.service(name)? else {
            return Ok(None);
        };
        let path = unit_path(name)?;
        let link = self.read_link(&path)?;
        let unit = match link {
            None => read(&unit_file(name))?,
            // A mask is a link to /dev/null.
            Some(_) => None,
        };
        Ok(Some(serde_json::json!({
            "unit": unit.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            "access": self.entry(&path)?.map(|entry| entry.access.descriptor),
            "link": link,
            "running": seen.state == ServiceState::Running,
            "enabled": seen.start == StartType::Automatic,
        })))
    }

    fn install_service(&self, definition: &ServiceDefinition) -> Result<()> {
        let name = &definition.name;
        self.ground.require_systemd(name)?;
        let json = serde_json::to_vec(definition).unwrap_or_default();
        write_durably(&self.definition_file(name)?, &json)?;
        write_durably(&unit_file(name), unit(definition).as_bytes())?;
        self.ground.systemctl(&["daemon-reload"])?;
        let verb = match definition.start {
            StartType::Automatic => "enable",
            StartType::Manual | StartType::Disabled => "disable",
        };
        self.ground
            .systemctl(&[verb, &format!("{name}.service")])
            .map(drop)
    }

    fn start_service(&self, name: &str) -> Result<()> {
        self.ground.require_systemd(name)?;
        self.ground
            .systemctl(&["start", &format!("{name}.service")])
            .map(drop)
            .map_err(|failure| Failure {
                code: Code::ServiceFailed,
                remedy: format!("`journalctl -u {name}` says why it stops"),
                ..failure
            })
    }

    fn stop_service(&self, name: &str) -> Result<Vec<String>> {
        if !self.ground.has_systemd() {
            return Ok(Vec::new());
        }
        let full = format!("{name}.service");
        let dependants: Vec<_> = self
            .ground
            .property(&full, "RequiredBy")?
            .split_whitespace()
            .filter_map(|unit| unit.strip_suffix(".service"))
            .map(str::to_owned)
            .collect();
        let running = |name: &String| {
            self.ground
                .property(&format!("{name}.service"), "ActiveState")
                .is_ok_and(|state| state == "active")
        };
        let dependants = dependants.into_iter().filter(running).collect();
        if self.ground.property(&full, "LoadState")? != "not-found" {
            self.ground.systemctl(&["stop", &full])?;
        }
        Ok(dependants)
    }

    fn delete_service(&self, name: &str) -> Result<()> {
        self.ground.require_systemd(name)?;
        // Not through a mask, which there is once a restore was cut off.
        if fs::symlink_metadata(unit_file(name)).is_ok_and(|found| found.is_file()) {
            self.ground
                .systemctl(&["disable", &format!("{name}.service")])?;
        }
        delete(&unit_file(name))?;
        delete(&self.definition_file(name)?)?;
        self.ground.systemctl(&["daemon-reload"]).map(drop)
    }

    fn restore_service(&self, name: &str, saved: &serde_json::Value) -> Result<()> {
        self.delete_service(name)?;
        let full = format!("{name}.service");
        let text = |key: &str| saved.get(key).and_then(serde_json::Value::as_str);
        let path = unit_path(name)?;
        if let Some(target) = text("link") {
            self.make_link(&path, target)?;
        } else if let Some(unit) = text("unit") {
            write_durably(&unit_file(name), unit.as_bytes())?;
            if let Some(access) = text("access") {
                self.restore_access(&path, access)?;
            }
        }
        self.ground.systemctl(&["daemon-reload"])?;
        let was = |key: &str| saved.get(key).and_then(serde_json::Value::as_bool) == Some(true);
        if was("enabled") {
            self.ground.systemctl(&["enable", &full])?;
        }
        if was("running") {
            self.ground.systemctl(&["start", &full])?;
        }
        Ok(())
    }
}

impl Linux {
    fn definition_file(&self, name: &str) -> Result<PathBuf> {
        self.layout.service_file(name).ok_or_else(|| no_name(name))
    }

    fn definition(&self, name: &str) -> Result<Option<ServiceDefinition>> {
        let bytes = read(&self.definition_file(name)?)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

fn unit_file(name: &str) -> PathBuf {
    Path::new("/etc/systemd/system").join(format!("{name}.service"))
}

/// The same as a path of the host's, to be treated like any other file there.
fn unit_path(name: &str) -> Result<HostPath> {
    let path = unit_file(name).display().to_string();
    path.parse().map_err(|_| no_name(name))
}

fn no_name(name: &str) -> Failure {
    Failure::new(
        Code::Protocol,
        format!("`{name}` is no name for a service"),
        "use letters, digits, `-`, `_` and `.`",
    )
}
