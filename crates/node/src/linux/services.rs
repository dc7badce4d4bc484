//! Services on Linux: one systemd unit per definition.

use std::fs;
use std::path::{Path, PathBuf};

use casement_resource::{
    Code, Failure, HostPath, ObservedService, ServiceDefinition, ServiceState, StartType,
};

use super::Linux;
use super::systemd::unit;
use crate::platform::{Files, Result, Services};
use crate::state::{delete, read, write_durably};

impl Services for Linux {
    fn service(&self, name: &str) -> Result<Option<ObservedService>> {
        self.root.require_systemd(name)?;
        let unit_name = format!("{name}.service");
        if self.root.property(&unit_name, "LoadState")? == "not-found" {
            return Ok(None);
        }
        let definition = self.definition(name)?;
        let fragment = self.root.property(&unit_name, "FragmentPath")?;
        let expected = definition.as_ref().map(unit);
        let from_casement = fs::read_to_string(&fragment).ok() == expected && expected.is_some();
        let start = match self.root.property(&unit_name, "UnitFileState")?.as_str() {
            "enabled" | "enabled-runtime" => StartType::Automatic,
            "masked" | "masked-runtime" => StartType::Disabled,
            _ => StartType::Manual,
        };
        let depends_on = definition
            .as_ref()
            .map(|it| it.depends_on.clone())
            .unwrap_or_default();
        Ok(Some(ObservedService {
            foreign_command: (!from_casement).then(|| format!("unit {fragment}")),
            display_name: self.root.property(&unit_name, "Description")?,
            start,
            depends_on,
            state: match self.root.property(&unit_name, "ActiveState")?.as_str() {
                "active" => ServiceState::Running,
                "inactive" | "failed" => ServiceState::Stopped,
                _ => ServiceState::Changing,
            },
            definition,
        }))
    }

    fn save_service(&self, name: &str) -> Result<Option<serde_json::Value>> {
        let Some(observed) = self.service(name)? else {
            return Ok(None);
        };
        let path = unit_path(name)?;
        let link = self.read_link(&path)?;
        let unit = match link {
            None => read(&unit_file(name))?,
            // A mask is a symlink to /dev/null.
            Some(_) => None,
        };
        Ok(Some(serde_json::json!({
            "unit": unit.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            "access": self.entry(&path)?.map(|entry| entry.access.descriptor),
            "link": link,
            "running": observed.state == ServiceState::Running,
            "enabled": observed.start == StartType::Automatic,
        })))
    }

    fn install_service(&self, definition: &ServiceDefinition) -> Result<()> {
        let name = &definition.name;
        self.root.require_systemd(name)?;
        let json = serde_json::to_vec(definition).unwrap_or_default();
        write_durably(&self.definition_file(name)?, &json)?;
        write_durably(&unit_file(name), unit(definition).as_bytes())?;
        self.root.systemctl(&["daemon-reload"])?;
        let verb = match definition.start {
            StartType::Automatic => "enable",
            StartType::Manual | StartType::Disabled => "disable",
        };
        self.root
            .systemctl(&[verb, &format!("{name}.service")])
            .map(drop)
    }

    fn start_service(&self, name: &str) -> Result<()> {
        self.root.require_systemd(name)?;
        self.root
            .systemctl(&["start", &format!("{name}.service")])
            .map(drop)
            .map_err(|failure| Failure {
                code: Code::ServiceFailed,
                help: format!("run `journalctl -u {name}` to see why it stops"),
                ..failure
            })
    }

    fn stop_service(&self, name: &str) -> Result<Vec<String>> {
        if !self.root.has_systemd() {
            return Ok(Vec::new());
        }
        let unit_name = format!("{name}.service");
        let dependents: Vec<_> = self
            .root
            .property(&unit_name, "RequiredBy")?
            .split_whitespace()
            .filter_map(|unit| unit.strip_suffix(".service"))
            .map(str::to_owned)
            .collect();
        let running = |name: &String| {
            self.root
                .property(&format!("{name}.service"), "ActiveState")
                .is_ok_and(|state| state == "active")
        };
        let dependents = dependents.into_iter().filter(running).collect();
        if self.root.property(&unit_name, "LoadState")? != "not-found" {
            self.root.systemctl(&["stop", &unit_name])?;
        }
        Ok(dependents)
    }

    fn delete_service(&self, name: &str) -> Result<()> {
        self.root.require_systemd(name)?;
        // An interrupted restore may have left a mask.
        if fs::symlink_metadata(unit_file(name)).is_ok_and(|found| found.is_file()) {
            self.root
                .systemctl(&["disable", &format!("{name}.service")])?;
        }
        delete(&unit_file(name))?;
        delete(&self.definition_file(name)?)?;
        self.root.systemctl(&["daemon-reload"]).map(drop)
    }

    fn restore_service(&self, name: &str, saved: &serde_json::Value) -> Result<()> {
        self.delete_service(name)?;
        let unit_name = format!("{name}.service");
        let text = |key: &str| saved.get(key).and_then(serde_json::Value::as_str);
        let path = unit_path(name)?;
        if let Some(target) = text("link") {
            self.create_symlink(&path, target)?;
        } else if let Some(unit) = text("unit") {
            write_durably(&unit_file(name), unit.as_bytes())?;
            if let Some(access) = text("access") {
                self.restore_access(&path, access)?;
            }
        }
        self.root.systemctl(&["daemon-reload"])?;
        let was = |key: &str| saved.get(key).and_then(serde_json::Value::as_bool) == Some(true);
        if was("enabled") {
            self.root.systemctl(&["enable", &unit_name])?;
        }
        if was("running") {
            self.root.systemctl(&["start", &unit_name])?;
        }
        Ok(())
    }
}

impl Linux {
    fn definition_file(&self, name: &str) -> Result<PathBuf> {
        self.layout
            .service_file(name)
            .ok_or_else(|| invalid_name(name))
    }

    fn definition(&self, name: &str) -> Result<Option<ServiceDefinition>> {
        let bytes = read(&self.definition_file(name)?)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

fn unit_file(name: &str) -> PathBuf {
    Path::new("/etc/systemd/system").join(format!("{name}.service"))
}

/// The unit file as a path for the file operations.
fn unit_path(name: &str) -> Result<HostPath> {
    let path = unit_file(name).display().to_string();
    path.parse().map_err(|_| invalid_name(name))
}

fn invalid_name(name: &str) -> Failure {
    Failure::new(
        Code::Protocol,
        format!("`{name}` is not a valid service name"),
        "use letters, digits, `-`, `_` and `.`",
    )
}
