//! Services, through the Service Control Manager.
#![allow(unsafe_code, reason = "one change that the service crate cannot make")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use std::{io, ptr};

use casement_resource::{Code, Failure, RegistryData};
use windows_service::service::{
    Service, ServiceAccess, ServiceAction, ServiceActionType, ServiceDependency,
    ServiceErrorControl, ServiceExitCode, ServiceFailureActions, ServiceFailureResetPeriod,
    ServiceInfo, ServiceStartType, ServiceState, ServiceStatus, ServiceType,
};
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};
use windows_sys::Win32::Foundation::{
    ERROR_INVALID_LEVEL, ERROR_SERVICE_ALREADY_RUNNING, ERROR_SERVICE_DOES_NOT_EXIST,
    ERROR_SERVICE_EXISTS, ERROR_SERVICE_MARKED_FOR_DELETE, ERROR_SERVICE_NOT_ACTIVE,
};
use windows_sys::Win32::System::Services::{ChangeServiceConfigW, SERVICE_NO_CHANGE};

use super::failure::{last, system};
use super::patience::Patience;
use super::registry;
use super::wide::wide;
use crate::going_down;

const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
/// How long a service may take to stop, and to vanish.
const STOP: Duration = Duration::from_secs(60);

/// A service as it should be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Its name, without case for Windows.
    pub name: String,
    /// What people see in lists.
    pub display_name: String,
    /// Says whose it is, and marks it as ours.
    pub description: String,
    /// The executable.
    pub program: PathBuf,
    /// What it is called with.
    pub arguments: Vec<OsString>,
    /// Services that must run first.
    pub dependencies: Vec<String>,
    /// When it is started.
    pub start: ServiceStartType,
    /// Whether the system starts it again when it fails.
    pub restart: bool,
}

/// A service as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// What people see in lists.
    pub display_name: String,
    /// Its mark.
    pub description: String,
    /// The executable and its arguments, as they are written.
    pub command_line: String,
    /// Services that must run first.
    pub dependencies: Vec<String>,
    /// When it is started.
    pub start: ServiceStartType,
    /// The account that it runs as.
    pub account: String,
    /// What it does now.
    pub state: ServiceState,
    /// Its process, while there is one.
    pub process: Option<u32>,
    /// How it ended last; 0 while it runs, and when all was well.
    pub exit_code: u32,
}

/// Where the manager keeps what it knows of a service.
pub fn key(name: &str) -> String {
    format!(r"{SERVICES}\{name}")
}

/// Looks a service up; none if there is none, or if it waits to be deleted.
pub fn query(name: &str) -> Result<Option<Registered>, Failure> {
    let access = ServiceAccess::QUERY_CONFIG | ServiceAccess::QUERY_STATUS;
    let Some(service) = open(name, access)? else {
        return Ok(None);
    };
    let doing = || format!("read the service `{name}`");
    let config = service.query_config().map_err(|e| failed(doing(), e))?;
    let status = service.query_status().map_err(|e| failed(doing(), e))?;
    let key = key(name);
    let description = match registry::read(&key, "Description")? {
        Some(RegistryData::Text(text) | RegistryData::ExpandText(text)) => text,
        _ => String::new(),
    };
    let account = config.account_name.unwrap_or_default();
    Ok(Some(Registered {
        display_name: config.display_name.to_string_lossy().into_owned(),
        account: account.to_string_lossy().into_owned(),
        command_line: config.executable_path.to_string_lossy().into_owned(),
        dependencies: dependencies(&key)?,
        start: config.start_type,
        description,
        state: status.current_state,
        process: status.process_id.filter(|&process| process != 0),
        exit_code: exit_code(&status),
    }))
}

/// Registers a service, or changes its registration.
pub fn register(wanted: &Registration) -> Result<(), Failure> {
    let name = &wanted.name;
    let doing = || format!("register the service `{name}`");
    let info = ServiceInfo {
        name: name.into(),
        display_name: (&wanted.display_name).into(),
        service_type: ServiceType::OWN_PROCESS,
        start_type: wanted.start,
        error_control: ServiceErrorControl::Normal,
        executable_path: wanted.program.clone(),
        launch_arguments: wanted.arguments.clone(),
        dependencies: wanted
            .dependencies
            .iter()
            .map(|name| ServiceDependency::Service(name.into()))
            .collect(),
        account_name: None,
        account_password: None,
    };
    // Setting restart actions needs the right to start.
    let access = ServiceAccess::CHANGE_CONFIG | ServiceAccess::START;
    let service = match create(&info, access)? {
        Some(service) => service,
        None => {
            let service = open(name, access)?.ok_or_else(|| gone(name))?;
            service
                .change_config(&info)
                .map_err(|e| failed(doing(), e))?;
            if wanted.dependencies.is_empty() {
                // The crate leaves those alone that were there.
                change(&service, None, &[]).map_err(|e| system(doing(), &e))?;
            }
            service
        }
    };
    service
        .set_description(&wanted.description)
        .and_then(|()| service.update_failure_actions(recovery(wanted.restart)))
        .map_err(|e| failed(doing(), e))?;
    if wanted.restart {
        service
            .set_preshutdown_timeout(going_down::LONGEST)
            .map_err(|e| failed(doing(), e))?;
    }
    match service.set_failure_actions_on_non_crash_failures(wanted.restart) {
        // A manager without this setting acts upon crashes only.
        Err(error) if code(&error) != Some(ERROR_INVALID_LEVEL) => {
            return Err(failed(doing(), error));
        }
        _ => {}
    }
    let key = key(name);
    let delayed = registry::read(&key, "DelayedAutostart")?;
    if matches!(delayed, Some(RegistryData::Number(1..))) {
        service
            .set_delayed_auto_start(false)
            .map_err(|e| failed(doing(), e))?;
    }
    Ok(())
}

/// Gives a service a command line exactly as written: one that is restored
/// need not be quoted as casement would quote it.
pub fn set_command_line(wanted: &Registration, command_line: &str) -> Result<(), Failure> {
    let name = &wanted.name;
    let service = open(name, ServiceAccess::CHANGE_CONFIG)?.ok_or_else(|| gone(name))?;
    change(&service, Some(&wide(command_line)), &wanted.dependencies)
        .map_err(|error| system(format_args!("restore the service `{name}`"), &error))
}

/// Sets when a service is started, and leaves all else alone.
pub fn set_start(name: &str, start: ServiceStartType) -> Result<(), Failure> {
    let service = open(name, ServiceAccess::CHANGE_CONFIG)?.ok_or_else(|| gone(name))?;
    let (same, none) = (SERVICE_NO_CHANGE, ptr::null());
    // SAFETY: an open service; null leaves things alone.
    let changed = unsafe {
        ChangeServiceConfigW(
            service.raw_handle(),
            same,
            start.to_raw(),
            same,
            none,
            none,
            ptr::null_mut(),
            none,
            none,
            none,
            none,
        )
    };
    match changed {
        0 => Err(last(format_args!("set the start of the service `{name}`"))),
        _ => Ok(()),
    }
}

/// Changes these and leaves all else alone. A command line ends with a zero.
fn change(
    service: &Service,
    command_line: Option<&[u16]>,
    dependencies: &[String],
) -> io::Result<()> {
    // Each name with its end, and the end of the list; none at all are two.
    let mut list: Vec<u16> = dependencies.iter().flat_map(wide).chain(Some(0)).collect();
    list.resize(list.len().max(2), 0);
    // SAFETY: an open service and terminated text; null leaves things alone.
    let changed = unsafe {
        ChangeServiceConfigW(
            service.raw_handle(),
            SERVICE_NO_CHANGE,
            SERVICE_NO_CHANGE,
            SERVICE_NO_CHANGE,
            command_line.map_or(ptr::null(), <[u16]>::as_ptr),
            ptr::null(),
            ptr::null_mut(),
            list.as_ptr(),
            ptr::null(),
            ptr::null(),
            ptr::null(),
        )
    };
    match changed {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Starts a service and waits until it runs.
pub fn start(name: &str, within: Duration) -> Result<(), Failure> {
    let doing = || format!("start the service `{name}`");
    let access = ServiceAccess::START | ServiceAccess::QUERY_STATUS;
    let service = open(name, access)?.ok_or_else(|| gone(name))?;
    match service.start::<OsString>(&[]) {
        Ok(()) => {}
        Err(error) if code(&error) == Some(ERROR_SERVICE_ALREADY_RUNNING) => {}
        Err(error) => return Err(failed(doing(), error)),
    }
    let mut patience = Patience::new(within);
    loop {
        let status = service.query_status().map_err(|e| failed(doing(), e))?;
        match status.current_state {
            ServiceState::Running => return Ok(()),
            ServiceState::Stopped => return Err(ended(name, exit_code(&status))),
            // Our own host: the program has ended already.
            ServiceState::Paused => return Err(ended(name, exit_code(&status))),
            state if !patience.wait() => return Err(late(name, "running", state, within)),
            _ => {}
        }
    }
}

/// Stops a service, and before it those that need it; waits until it has
/// stopped. Gives the names of the others that were stopped, in that order.
pub fn stop(name: &str) -> Result<Vec<String>, Failure> {
    let mut stopped = Vec::new();
    for dependant in dependants(name)? {
        if stop_one(&dependant)? {
            stopped.push(dependant);
        }
    }
    stop_one(name)?;
    Ok(stopped)
}

/// Deletes a service, and waits until it is gone; one that is not there is
/// deleted already.
pub fn delete(name: &str) -> Result<(), Failure> {
    let doing = || format!("delete the service `{name}`");
    if let Some(service) = open(name, ServiceAccess::DELETE)? {
        match service.delete() {
            Ok(()) => {}
            Err(error) if code(&error) == Some(ERROR_SERVICE_MARKED_FOR_DELETE) => {}
            Err(error) => return Err(failed(doing(), error)),
        }
    }
    // It stays until the last handle on it is closed: a window of services.msc
    // is enough.
    let mut patience = Patience::new(STOP);
    while open(name, ServiceAccess::QUERY_STATUS)?.is_some() {
        if !patience.wait() {
            return Err(Failure::new(
                Code::TimedOut,
                format!("the service `{name}` is marked for deletion, but stays"),
                "close windows that show services on the host, or restart it",
            ));
        }
    }
    Ok(())
}

/// Whether it ran.
fn stop_one(name: &str) -> Result<bool, Failure> {
    let doing = || format!("stop the service `{name}`");
    let access = ServiceAccess::STOP | ServiceAccess::QUERY_STATUS;
    let Some(service) = open(name, access)? else {
        return Ok(false);
    };
    let state = || service.query_status().map_err(|e| failed(doing(), e));
    if state()?.current_state == ServiceState::Stopped {
        return Ok(false);
    }
    let mut patience = Patience::new(STOP);
    let mut heard = false;
    loop {
        // Asked until it hears, which one that is just starting cannot; and not
        // again: a manager may end one that was asked twice, whatever it is at.
        if !heard {
            match service.stop() {
                Ok(_) => heard = true,
                Err(error) if code(&error) == Some(ERROR_SERVICE_NOT_ACTIVE) => return Ok(true),
                Err(_) => {}
            }
        }
        match state()?.current_state {
            ServiceState::Stopped => return Ok(true),
            state if !patience.wait() => return Err(stuck(name, state, query(name)?)),
            _ => {}
        }
    }
}

/// Services that need this one, those that nothing else needs first.
///
/// From what is registered: the SCM's own list has only those that run by now,
/// and would miss one that is about to start.
fn dependants(name: &str) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for service in registry::keys_below(SERVICES)? {
        let needs = dependencies(&format!(r"{SERVICES}\{service}"))?;
        if !needs.is_empty() {
            all.push((service, needs));
        }
    }
    let mut order: Vec<String> = Vec::new();
    let mut next = vec![name.to_owned()];
    while let Some(needed) = next.pop() {
        for (service, needs) in &all {
            let depends = needs.iter().any(|need| need.eq_ignore_ascii_case(&needed));
            if depends && !service.eq_ignore_ascii_case(name) {
                // Found again further away: it has to stop earlier.
                order.retain(|known| known != service);
                order.insert(0, service.clone());
                if next.len() < all.len() {
                    next.push(service.clone());
                }
            }
        }
    }
    Ok(order)
}

/// Makes the service; none if there is one of that name.
fn create(info: &ServiceInfo, access: ServiceAccess) -> Result<Option<Service>, Failure> {
    let name = info.name.to_string_lossy();
    let manager = manager(ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE)?;
    let mut patience = Patience::new(STOP);
    loop {
        match manager.create_service(info, access) {
            Ok(service) => return Ok(Some(service)),
            Err(error) => match code(&error) {
                Some(ERROR_SERVICE_EXISTS) => return Ok(None),
                Some(ERROR_SERVICE_MARKED_FOR_DELETE) if patience.wait() => {}
                _ => return Err(failed(format_args!("register the service `{name}`"), error)),
            },
        }
    }
}

fn open(name: &str, access: ServiceAccess) -> Result<Option<Service>, Failure> {
    match manager(ServiceManagerAccess::CONNECT)?.open_service(name, access) {
        Ok(service) => Ok(Some(service)),
        Err(error) if code(&error) == Some(ERROR_SERVICE_DOES_NOT_EXIST) => Ok(None),
        Err(error) => Err(failed(format_args!("open the service `{name}`"), error)),
    }
}

fn manager(access: ServiceManagerAccess) -> Result<ServiceManager, Failure> {
    ServiceManager::local_computer(None::<&str>, access)
        .map_err(|error| failed("reach the Service Control Manager", error))
}

fn recovery(restart: bool) -> ServiceFailureActions {
    let again = |seconds| ServiceAction {
        action_type: ServiceActionType::Restart,
        delay: Duration::from_secs(seconds),
    };
    ServiceFailureActions {
        reset_period: ServiceFailureResetPeriod::After(Duration::from_secs(600)),
        reboot_msg: None,
        command: None,
        actions: Some(if restart {
            vec![again(1), again(5), again(30)]
        } else {
            Vec::new()
        }),
    }
}

/// What is registered; what the manager works with may be older.
fn dependencies(key: &str) -> Result<Vec<String>, Failure> {
    Ok(match registry::read(key, "DependOnService")? {
        Some(RegistryData::MultiText(names)) => {
            names.into_iter().filter(|name| !name.is_empty()).collect()
        }
        _ => Vec::new(),
    })
}

/// A state in a word.
pub fn state_name(state: ServiceState) -> &'static str {
    match state {
        ServiceState::Stopped => "stopped",
        ServiceState::StartPending => "starting",
        ServiceState::StopPending => "stopping",
        ServiceState::Running => "running",
        ServiceState::ContinuePending | ServiceState::PausePending => "changing",
        ServiceState::Paused => "waiting to start its program again",
    }
}

fn exit_code(status: &ServiceStatus) -> u32 {
    match status.exit_code {
        ServiceExitCode::Win32(code) | ServiceExitCode::ServiceSpecific(code) => code,
    }
}

fn code(error: &windows_service::Error) -> Option<u32> {
    match error {
        windows_service::Error::Winapi(error) => error.raw_os_error().map(i32::cast_unsigned),
        _ => None,
    }
}

fn failed(doing: impl std::fmt::Display, error: windows_service::Error) -> Failure {
    match error {
        windows_service::Error::Winapi(error) => system(doing, &error),
        other => system(doing, &io::Error::other(other.to_string())),
    }
}

fn gone(name: &str) -> Failure {
    Failure::new(
        Code::ServiceFailed,
        format!("the service `{name}` is not registered"),
        "apply again: it is registered first",
    )
}

fn ended(name: &str, code: u32) -> Failure {
    Failure::new(
        Code::ServiceFailed,
        format!("the service `{name}` ended instead of running"),
        format!(r"read the end of C:\var\log\{name}\{name}.log"),
    )
    .values("running", format!("stopped with exit code {code}"))
}

fn stuck(name: &str, state: ServiceState, found: Option<Registered>) -> Failure {
    let process = found.and_then(|service| service.process);
    let end = match process {
        Some(process) => format!("end its process (`taskkill /f /pid {process}`)"),
        None => "restart the host".to_owned(),
    };
    Failure {
        remedy: format!("{end}, then apply again"),
        ..late(name, "stopped", state, STOP)
    }
}

fn late(name: &str, wanted: &str, state: ServiceState, within: Duration) -> Failure {
    Failure::new(
        Code::TimedOut,
        format!(
            "the service `{name}` is not {wanted} after {} s",
            within.as_secs()
        ),
        format!(r"read the end of C:\var\log\{name}\{name}.log"),
    )
    .values(wanted, state_name(state))
}
