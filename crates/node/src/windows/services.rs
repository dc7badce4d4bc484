//! Services of casement, and saving and restoring the services that they replace.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use casement_resource::{
    Code, Failure, ObservedService, RegistryData, ServiceDefinition, ServiceState, StartType,
};
use serde::{Deserialize, Serialize};
use windows_service::service::{ServiceStartType, ServiceState as State};

use super::Windows;
use super::command_line::is_agent;
use super::failure::system;
use super::registry;
use super::replace::{self, AccessPolicy};
use super::scm::{self, Registered, Registration};
use crate::platform::Services;

/// Suffix of the description of every service of casement.
const DESCRIPTION_SUFFIX: &str = "Managed by casement.";
/// In addition to the readiness timeouts of the dependencies.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const LOG_TAIL_BYTES: u64 = 2_000;
/// Registry values that casement sets for its own services.
const RECOVERY_VALUES: [&str; 6] = [
    "DelayedAutostart",
    "FailureActions",
    "FailureActionsOnNonCrashFailures",
    "FailureCommand",
    "PreshutdownTimeout",
    "RebootMessage",
];

/// The saved state of a service that casement replaces.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Saved {
    display_name: String,
    description: String,
    command_line: String,
    dependencies: Vec<String>,
    start: u32,
    running: bool,
    /// Recovery and shutdown settings, as stored in the registry.
    #[serde(
        rename = "manners",
        default,
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    recovery: BTreeMap<String, RegistryData>,
    /// Set for a service of casement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<ServiceDefinition>,
}

impl Services for Windows {
    fn service(&self, name: &str) -> Result<Option<ObservedService>, Failure> {
        let Some(found) = scm::query(name)? else {
            return Ok(None);
        };
        let ours = is_agent(&found.command_line, &["host", name]);
        Ok(Some(ObservedService {
            definition: if ours { self.definition(name)? } else { None },
            foreign_command: (!ours).then(|| found.command_line.clone()),
            display_name: found.display_name,
            start: start_type(found.start),
            depends_on: found.dependencies,
            state: match found.state {
                State::Running => ServiceState::Running,
                State::Stopped => ServiceState::Stopped,
                _ => ServiceState::Changing,
            },
        }))
    }

    fn save_service(&self, name: &str) -> Result<Option<serde_json::Value>, Failure> {
        let Some(found) = scm::query(name)? else {
            return Ok(None);
        };
        reject_custom_account(name, &found)?;
        let saved = Saved {
            running: found.state != State::Stopped,
            recovery: recovery(name)?,
            definition: self.definition(name)?,
            display_name: found.display_name,
            description: found.description,
            command_line: found.command_line,
            dependencies: found.dependencies,
            start: found.start.to_raw(),
        };
        serde_json::to_value(saved).map(Some).map_err(|error| {
            Failure::new(
                Code::State,
                format!("failed to record the service `{name}`: {error}"),
                "delete the service, then run `casement apply` again",
            )
        })
    }

    fn install_service(&self, definition: &ServiceDefinition) -> Result<(), Failure> {
        let name = &definition.name;
        if let Some(found) = scm::query(name)? {
            reject_custom_account(name, &found)?;
        }
        self.write_definition(name, Some(definition))?;
        scm::register(&Registration {
            name: name.clone(),
            display_name: definition.display_name.clone(),
            description: format!("{}. {DESCRIPTION_SUFFIX}", definition.display_name),
            program: agent()?,
            arguments: vec![
                "--state-dir".into(),
                self.layout.root().into(),
                "host".into(),
                name.into(),
            ],
            dependencies: definition.depends_on.clone(),
            start: to_scm(definition.start),
            restart: true,
        })
    }

    fn start_service(&self, name: &str) -> Result<(), Failure> {
        let definition = self.definition(name)?;
        let mut timeout = START_TIMEOUT;
        for needed in definition.iter().flat_map(|it| &it.depends_on) {
            let seconds = self.definition(needed)?.map_or(30, |it| it.ready_seconds);
            timeout += Duration::from_secs(seconds.into());
        }
        scm::start(name, timeout).map_err(|failure| match log_tail(definition.as_ref()) {
            Some(tail) => failure.found(tail),
            None => failure,
        })
    }

    fn set_service_start(&self, name: &str, start: StartType) -> Result<(), Failure> {
        scm::set_start(name, to_scm(start))
    }

    fn stop_service(&self, name: &str) -> Result<Vec<String>, Failure> {
        scm::stop(name)
    }

    fn delete_service(&self, name: &str) -> Result<(), Failure> {
        scm::delete(name)?;
        self.write_definition(name, None)
    }

    fn restore_service(&self, name: &str, saved: &serde_json::Value) -> Result<(), Failure> {
        let failed = |reason: String| {
            Failure::new(
                Code::Restore,
                format!("failed to restore the service `{name}`: {reason}"),
                "register the service manually as it was before",
            )
        };
        let saved: Saved =
            serde_json::from_value(saved.clone()).map_err(|error| failed(error.to_string()))?;
        let start =
            ServiceStartType::from_raw(saved.start).map_err(|error| failed(error.to_string()))?;
        self.write_definition(name, saved.definition.as_ref())?;
        let registration = Registration {
            name: name.to_owned(),
            display_name: saved.display_name,
            description: saved.description,
            program: agent()?,
            arguments: Vec::new(),
            dependencies: saved.dependencies,
            start,
            restart: saved.definition.is_some(),
        };
        scm::register(&registration)?;
        scm::set_command_line(&registration, &saved.command_line)?;
        restore_recovery(name, &saved.recovery)?;
        if saved.running {
            scm::start(name, START_TIMEOUT)?;
        }
        Ok(())
    }
}

impl Windows {
    fn definition_file(&self, name: &str) -> Result<PathBuf, Failure> {
        self.layout.service_file(name).ok_or_else(|| {
            Failure::new(
                Code::State,
                format!("`{name}` is not a valid service name"),
                "use letters, digits, `-`, `_` and `.`",
            )
        })
    }

    fn definition(&self, name: &str) -> Result<Option<ServiceDefinition>, Failure> {
        let Some(path) = self.layout.service_file(name) else {
            return Ok(None);
        };
        match fs::read(&path) {
            // An unreadable definition counts as missing; it is rewritten.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(system(format_args!("read `{}`", path.display()), &error)),
        }
    }

    fn write_definition(
        &self,
        name: &str,
        definition: Option<&ServiceDefinition>,
    ) -> Result<(), Failure> {
        let path = self.definition_file(name)?;
        let Some(definition) = definition else {
            return replace::remove(&path);
        };
        let text = serde_json::to_vec_pretty(definition).map_err(|error| {
            Failure::new(
                Code::State,
                format!("failed to write the definition of `{name}`: {error}"),
                "report this as a bug",
            )
        })?;
        replace::write(
            &path,
            &mut text.as_slice(),
            AccessPolicy::AdministratorsOnly,
        )
    }
}

/// The executable of this process. Each version has its own directory, so the path
/// stays valid for the service.
pub fn agent() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| system("find the path of this executable", &error))
}

fn recovery(name: &str) -> Result<BTreeMap<String, RegistryData>, Failure> {
    let key = scm::key(name);
    let mut found = BTreeMap::new();
    for value in RECOVERY_VALUES {
        if let Some(data) = registry::read(&key, value)? {
            found.insert(value.to_owned(), data);
        }
    }
    Ok(found)
}

/// The SCM reads these at the next boot and uses its in-memory values until then.
fn restore_recovery(name: &str, saved: &BTreeMap<String, RegistryData>) -> Result<(), Failure> {
    let key = scm::key(name);
    for value in RECOVERY_VALUES {
        match saved.get(value) {
            Some(data) => registry::write(&key, value, data)?,
            None => registry::delete(&key, value)?,
        }
    }
    Ok(())
}

/// The password of a custom account cannot be read, so the service could not be
/// restored.
fn reject_custom_account(name: &str, found: &Registered) -> Result<(), Failure> {
    if found.account.is_empty() || found.account.eq_ignore_ascii_case("LocalSystem") {
        return Ok(());
    }
    Err(Failure::new(
        Code::Foreign,
        format!("the service `{name}` exists and runs as a custom account"),
        "delete the service or change its account to LocalSystem, then run `casement apply` again",
    )
    .values("LocalSystem", &found.account))
}

fn to_scm(start: StartType) -> ServiceStartType {
    match start {
        StartType::Automatic => ServiceStartType::AutoStart,
        StartType::Manual => ServiceStartType::OnDemand,
        StartType::Disabled => ServiceStartType::Disabled,
    }
}

fn start_type(start: ServiceStartType) -> StartType {
    match start {
        ServiceStartType::OnDemand => StartType::Manual,
        ServiceStartType::Disabled => StartType::Disabled,
        _ => StartType::Automatic,
    }
}

fn log_tail(definition: Option<&ServiceDefinition>) -> Option<String> {
    let path = definition?.log_file.as_ref()?;
    let mut file = File::open(path.as_str()).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(LOG_TAIL_BYTES)))
        .ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
