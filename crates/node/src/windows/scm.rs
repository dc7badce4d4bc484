//! The Service Control Manager (SCM).
#![allow(
    unsafe_code,
    reason = "one change that the service crate does not support"
)]

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use std::{io, ptr};

use casement_resource::host_paths::windows_log;
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

use super::failure::{last_error, system};
use super::registry;
use super::retry_timer::RetryTimer;
use super::wide::wide;
use crate::shutdown;

const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
/// To stop, and to disappear after deletion.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Case-insensitive.
    pub name: String,
    pub display_name: String,
    pub description: String,
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub dependencies: Vec<String>,
    pub start: ServiceStartType,
    /// Whether the SCM restarts it after a failure.
    pub restart: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    pub display_name: String,
    pub description: String,
    /// Executable and arguments, exactly as registered.
    pub command_line: String,
    pub dependencies: Vec<String>,
    pub start: ServiceStartType,
    pub account: String,
    pub state: ServiceState,
    pub process: Option<u32>,
    /// Of the last exit; 0 while it runs and after success.
    pub exit_code: u32,
}

/// The registry key of a service.
pub fn key(name: &str) -> String {
    format!(r"{SERVICES}\{name}")
}

/// `None` if the service does not exist or is marked for deletion.
pub fn query(name: &str) -> Result<Option<Registered>, Failure> {
    let access = ServiceAccess::QUERY_CONFIG | ServiceAccess::QUERY_STATUS;
    let Some(service) = open(name, access)? else {
        return Ok(None);
    };
    let action = || format!("read the service `{name}`");
    let config = service.query_config().map_err(|e| failed(action(), e))?;
    let status = service.query_status().map_err(|e| failed(action(), e))?;
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

/// Creates or updates a registration.
pub fn register(registration: &Registration) -> Result<(), Failure> {
    let name = &registration.name;
    let action = || format!("register the service `{name}`");
    let info = ServiceInfo {
        name: name.into(),
        display_name: (&registration.display_name).into(),
        service_type: ServiceType::OWN_PROCESS,
        start_type: registration.start,
        error_control: ServiceErrorControl::Normal,
        executable_path: registration.program.clone(),
        launch_arguments: registration.arguments.clone(),
        dependencies: registration
            .dependencies
            .iter()
            .map(|name| ServiceDependency::Service(name.into()))
            .collect(),
        account_name: None,
        account_password: None,
    };
    // Setting recovery actions needs the right to start.
    let access = ServiceAccess::CHANGE_CONFIG | ServiceAccess::START;
    let service = match create(&info, access)? {
        Some(service) => service,
        None => {
            let service = open(name, access)?.ok_or_else(|| not_registered(name))?;
            service
                .change_config(&info)
                .map_err(|e| failed(action(), e))?;
            if registration.dependencies.is_empty() {
                // The crate does not clear existing dependencies.
                change(&service, None, &[]).map_err(|e| system(action(), &e))?;
            }
            service
        }
    };
    service
        .set_description(&registration.description)
        .and_then(|()| service.update_failure_actions(recovery(registration.restart)))
        .map_err(|e| failed(action(), e))?;
    if registration.restart {
        service
            .set_preshutdown_timeout(shutdown::PRESHUTDOWN_TIMEOUT)
            .map_err(|e| failed(action(), e))?;
    }
    match service.set_failure_actions_on_non_crash_failures(registration.restart) {
        // Without this setting the SCM acts on crashes only.
        Err(error) if code(&error) != Some(ERROR_INVALID_LEVEL) => {
            return Err(failed(action(), error));
        }
        _ => {}
    }
    let key = key(name);
    let delayed = registry::read(&key, "DelayedAutostart")?;
    if matches!(delayed, Some(RegistryData::Number(1..))) {
        service
            .set_delayed_auto_start(false)
            .map_err(|e| failed(action(), e))?;
    }
    Ok(())
}

/// Sets the command line verbatim: a restored one may be quoted differently.
pub fn set_command_line(registration: &Registration, command_line: &str) -> Result<(), Failure> {
    let name = &registration.name;
    let service = open(name, ServiceAccess::CHANGE_CONFIG)?.ok_or_else(|| not_registered(name))?;
    change(
        &service,
        Some(&wide(command_line)),
        &registration.dependencies,
    )
    .map_err(|error| system(format_args!("restore the service `{name}`"), &error))
}

/// Changes only the start type.
pub fn set_start(name: &str, start: ServiceStartType) -> Result<(), Failure> {
    let service = open(name, ServiceAccess::CHANGE_CONFIG)?.ok_or_else(|| not_registered(name))?;
    let (same, none) = (SERVICE_NO_CHANGE, ptr::null());
    // SAFETY: an open service; null means no change.
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
        0 => Err(last_error(format_args!(
            "set the start type of the service `{name}`"
        ))),
        _ => Ok(()),
    }
}

/// Changes only these settings. The command line is NUL-terminated.
fn change(
    service: &Service,
    command_line: Option<&[u16]>,
    dependencies: &[String],
) -> io::Result<()> {
    // Each name is NUL-terminated, and so is the list; an empty list has two NULs.
    let mut list: Vec<u16> = dependencies.iter().flat_map(wide).chain(Some(0)).collect();
    list.resize(list.len().max(2), 0);
    // SAFETY: an open service and NUL-terminated text; null means no change.
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

/// Waits until the service runs.
pub fn start(name: &str, timeout: Duration) -> Result<(), Failure> {
    let action = || format!("start the service `{name}`");
    let access = ServiceAccess::START | ServiceAccess::QUERY_STATUS;
    let service = open(name, access)?.ok_or_else(|| not_registered(name))?;
    match service.start::<OsString>(&[]) {
        Ok(()) => {}
        Err(error) if code(&error) == Some(ERROR_SERVICE_ALREADY_RUNNING) => {}
        Err(error) => return Err(failed(action(), error)),
    }
    let mut retry_timer = RetryTimer::new(timeout);
    loop {
        let status = service.query_status().map_err(|e| failed(action(), e))?;
        match status.current_state {
            ServiceState::Running => return Ok(()),
            ServiceState::Stopped => return Err(start_failed(name, exit_code(&status))),
            // The service host: the program has exited already.
            ServiceState::Paused => return Err(start_failed(name, exit_code(&status))),
            state if !retry_timer.wait() => return Err(timed_out(name, "running", state, timeout)),
            _ => {}
        }
    }
}

/// Stops the dependents first and waits until the service has stopped. Returns the
/// stopped dependents in order.
pub fn stop(name: &str) -> Result<Vec<String>, Failure> {
    let mut stopped = Vec::new();
    for dependent in dependents(name)? {
        if stop_one(&dependent)? {
            stopped.push(dependent);
        }
    }
    stop_one(name)?;
    Ok(stopped)
}

/// Waits until the service is gone; succeeds if it is absent.
pub fn delete(name: &str) -> Result<(), Failure> {
    let action = || format!("delete the service `{name}`");
    if let Some(service) = open(name, ServiceAccess::DELETE)? {
        match service.delete() {
            Ok(()) => {}
            Err(error) if code(&error) == Some(ERROR_SERVICE_MARKED_FOR_DELETE) => {}
            Err(error) => return Err(failed(action(), error)),
        }
    }
    // It remains until the last handle is closed: an open services.msc is enough.
    let mut retry_timer = RetryTimer::new(STOP_TIMEOUT);
    while open(name, ServiceAccess::QUERY_STATUS)?.is_some() {
        if !retry_timer.wait() {
            return Err(Failure::new(
                Code::TimedOut,
                format!("the service `{name}` is marked for deletion but still exists"),
                "close services.msc and other service tools on the host, or reboot the host",
            ));
        }
    }
    Ok(())
}

/// Returns whether the service was running.
fn stop_one(name: &str) -> Result<bool, Failure> {
    let action = || format!("stop the service `{name}`");
    let access = ServiceAccess::STOP | ServiceAccess::QUERY_STATUS;
    let Some(service) = open(name, access)? else {
        return Ok(false);
    };
    let state = || service.query_status().map_err(|e| failed(action(), e));
    if state()?.current_state == ServiceState::Stopped {
        return Ok(false);
    }
    let mut retry_timer = RetryTimer::new(STOP_TIMEOUT);
    let mut accepted = false;
    loop {
        // Retried until accepted, because a starting service does not accept
        // controls; not repeated after that, because the SCM may kill a service that
        // gets a second stop.
        if !accepted {
            match service.stop() {
                Ok(_) => accepted = true,
                Err(error) if code(&error) == Some(ERROR_SERVICE_NOT_ACTIVE) => return Ok(true),
                Err(_) => {}
            }
        }
        match state()?.current_state {
            ServiceState::Stopped => return Ok(true),
            state if !retry_timer.wait() => return Err(stop_timed_out(name, state, query(name)?)),
            _ => {}
        }
    }
}

/// Dependents in the order in which they must stop.
///
/// Read from the registry: the list of the SCM has only running services and would
/// miss one that is about to start.
fn dependents(name: &str) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for service in registry::subkeys(SERVICES)? {
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
                // Also depends on a later one, so it has to stop earlier.
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

/// `None` if a service with this name exists.
fn create(info: &ServiceInfo, access: ServiceAccess) -> Result<Option<Service>, Failure> {
    let name = info.name.to_string_lossy();
    let manager = manager(ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE)?;
    let mut retry_timer = RetryTimer::new(STOP_TIMEOUT);
    loop {
        match manager.create_service(info, access) {
            Ok(service) => return Ok(Some(service)),
            Err(error) => match code(&error) {
                Some(ERROR_SERVICE_EXISTS) => return Ok(None),
                Some(ERROR_SERVICE_MARKED_FOR_DELETE) if retry_timer.wait() => {}
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
        .map_err(|error| failed("connect to the Service Control Manager", error))
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

/// The registered ones; the SCM may still use older ones.
fn dependencies(key: &str) -> Result<Vec<String>, Failure> {
    Ok(match registry::read(key, "DependOnService")? {
        Some(RegistryData::MultiText(names)) => {
            names.into_iter().filter(|name| !name.is_empty()).collect()
        }
        _ => Vec::new(),
    })
}

pub fn state_name(state: ServiceState) -> &'static str {
    match state {
        ServiceState::Stopped => "stopped",
        ServiceState::StartPending => "starting",
        ServiceState::StopPending => "stopping",
        ServiceState::Running => "running",
        ServiceState::ContinuePending | ServiceState::PausePending => "changing",
        ServiceState::Paused => "waiting to restart its program",
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

fn failed(action: impl std::fmt::Display, error: windows_service::Error) -> Failure {
    match error {
        windows_service::Error::Winapi(error) => system(action, &error),
        other => system(action, &io::Error::other(other.to_string())),
    }
}

fn not_registered(name: &str) -> Failure {
    Failure::new(
        Code::ServiceFailed,
        format!("the service `{name}` is not registered"),
        "run `casement apply` again to register it",
    )
}

fn start_failed(name: &str, code: u32) -> Failure {
    Failure::new(
        Code::ServiceFailed,
        format!("the service `{name}` stopped instead of running"),
        format!("read the end of {}", windows_log(name)),
    )
    .values("running", format!("stopped with exit code {code}"))
}

fn stop_timed_out(name: &str, state: ServiceState, found: Option<Registered>) -> Failure {
    let process = found.and_then(|service| service.process);
    let kill = match process {
        Some(process) => format!("kill its process (`taskkill /f /pid {process}`)"),
        None => "reboot the host".to_owned(),
    };
    Failure {
        help: format!("{kill}, then run `casement apply` again"),
        ..timed_out(name, "stopped", state, STOP_TIMEOUT)
    }
}

fn timed_out(name: &str, expected: &str, state: ServiceState, timeout: Duration) -> Failure {
    Failure::new(
        Code::TimedOut,
        format!(
            "the service `{name}` is not {expected} after {} s",
            timeout.as_secs()
        ),
        format!("read the end of {}", windows_log(name)),
    )
    .values(expected, state_name(state))
}
