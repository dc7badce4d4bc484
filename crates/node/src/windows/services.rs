//! The services that casement makes, and what was there before them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use casement_resource::{
    Code, Failure, RegistryData, ServiceDefinition, ServiceSeen, ServiceState, StartType,
};
use serde::{Deserialize, Serialize};
use windows_service::service::{ServiceStartType, ServiceState as State};

use super::Windows;
use super::command_line::is_agent;
use super::failure::system;
use super::registry;
use super::replace::{self, Guard};
use super::scm::{self, Registered, Registration};
use crate::platform::Services;

/// Ends the description of every service that casement makes.
const MARK: &str = "Made by casement.";
/// Above the time that a service gives to those that it needs.
const START: Duration = Duration::from_secs(30);
const LAST_WORDS: u64 = 2_000;
/// What the manager keeps of a service that casement sets for its own ones.
const MANNERS: [&str; 6] = [
    "DelayedAutostart",
    "FailureActions",
    "FailureActionsOnNonCrashFailures",
    "FailureCommand",
    "PreshutdownTimeout",
    "RebootMessage",
];

/// A service of somebody else's as it was.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Saved {
    display_name: String,
    description: String,
    command_line: String,
    dependencies: Vec<String>,
    start: u32,
    running: bool,
    /// How it recovers and goes down, in the registry's own words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    manners: BTreeMap<String, RegistryData>,
    /// Present for one of casement's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<ServiceDefinition>,
}

impl Services for Windows {
    fn service(&self, name: &str) -> Result<Option<ServiceSeen>, Failure> {
        let Some(found) = scm::query(name)? else {
            return Ok(None);
        };
        let ours = is_agent(&found.command_line, &["host", name]);
        Ok(Some(ServiceSeen {
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
        refuse_account(name, &found)?;
        let saved = Saved {
            running: found.state != State::Stopped,
            manners: manners(name)?,
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
                format!("the service `{name}` cannot be recorded: {error}"),
                "delete the service by hand, then apply again",
            )
        })
    }

    fn install_service(&self, definition: &ServiceDefinition) -> Result<(), Failure> {
        let name = &definition.name;
        if let Some(found) = scm::query(name)? {
            refuse_account(name, &found)?;
        }
        self.write_definition(name, Some(definition))?;
        scm::register(&Registration {
            name: name.clone(),
            display_name: definition.display_name.clone(),
            description: format!("{}. {MARK}", definition.display_name),
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
        let mut within = START;
        for needed in definition.iter().flat_map(|it| &it.depends_on) {
            let seconds = self.definition(needed)?.map_or(30, |it| it.ready_seconds);
            within += Duration::from_secs(seconds.into());
        }
        scm::start(name, within).map_err(|failure| match last_words(definition.as_ref()) {
            Some(words) => failure.found(words),
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
        let wrong = |reason: String| {
            Failure::new(
                Code::Restore,
                format!("the service `{name}` cannot be put back: {reason}"),
                "register it again as it was by hand",
            )
        };
        let saved: Saved =
            serde_json::from_value(saved.clone()).map_err(|error| wrong(error.to_string()))?;
        let start =
            ServiceStartType::from_raw(saved.start).map_err(|error| wrong(error.to_string()))?;
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
        restore_manners(name, &saved.manners)?;
        if saved.running {
            scm::start(name, START)?;
        }
        Ok(())
    }
}

impl Windows {
    fn definition_file(&self, name: &str) -> Result<PathBuf, Failure> {
        self.layout.service_file(name).ok_or_else(|| {
            Failure::new(
                Code::State,
                format!("`{name}` is no name for a service of casement's"),
                "use letters, digits, `-`, `_` and `.`",
            )
        })
    }

    /// What casement has defined under a name.
    fn definition(&self, name: &str) -> Result<Option<ServiceDefinition>, Failure> {
        let Some(path) = self.layout.service_file(name) else {
            return Ok(None);
        };
        match fs::read(&path) {
            // One that cannot be read is as good as none: it is written anew.
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
                format!("the definition of `{name}` cannot be written: {error}"),
                "report this: it is a fault of casement's",
            )
        })?;
        replace::write(&path, &mut text.as_slice(), Guard::Closed)
    }
}

/// The program that this process runs: each version has a folder of its own,
/// so it stays there for the service.
pub fn agent() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| system("find the own program", &error))
}

fn manners(name: &str) -> Result<BTreeMap<String, RegistryData>, Failure> {
    let key = scm::key(name);
    let mut found = BTreeMap::new();
    for value in MANNERS {
        if let Some(data) = registry::read(&key, value)? {
            found.insert(value.to_owned(), data);
        }
    }
    Ok(found)
}

/// The manager reads them at the next boot; until then it knows what it was told
/// last.
fn restore_manners(name: &str, saved: &BTreeMap<String, RegistryData>) -> Result<(), Failure> {
    let key = scm::key(name);
    for value in MANNERS {
        match saved.get(value) {
            Some(data) => registry::write(&key, value, data)?,
            None => registry::delete(&key, value)?,
        }
    }
    Ok(())
}

/// A password cannot be read, so a service with an account of its own could
/// not be put back.
fn refuse_account(name: &str, found: &Registered) -> Result<(), Failure> {
    if found.account.is_empty() || found.account.eq_ignore_ascii_case("LocalSystem") {
        return Ok(());
    }
    Err(Failure::new(
        Code::Foreign,
        format!("the service `{name}` exists and has an account of its own"),
        "delete the service, or give it the account LocalSystem, then apply again",
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

/// The end of a service's log.
fn last_words(definition: Option<&ServiceDefinition>) -> Option<String> {
    let path = definition?.log_file.as_ref()?;
    let mut file = File::open(path.as_str()).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(LAST_WORDS)))
        .ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
