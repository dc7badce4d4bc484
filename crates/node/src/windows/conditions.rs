//! Evaluation of conditions.
#![allow(unsafe_code, reason = "a pipe function of the Windows API")]

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use casement_resource::{Condition, ConditionFacts, Failure};
use windows_service::service::ServiceState;
use windows_sys::Win32::Foundation::{ERROR_PIPE_BUSY, ERROR_SEM_TIMEOUT};
use windows_sys::Win32::System::Pipes::WaitNamedPipeW;

use super::wide::wide;
use super::{Windows, adapters, hns, scm};
use crate::platform::Conditions;

impl Conditions for Windows {
    fn condition(&self, condition: &Condition) -> Result<ConditionFacts, Failure> {
        evaluate(condition)
    }
}

pub fn evaluate(condition: &Condition) -> Result<ConditionFacts, Failure> {
    Ok(match condition {
        Condition::NamedPipe(name) => pipe(name),
        Condition::TcpPort(address) => port(*address),
        Condition::FileExists(path) => holds(Path::new(path.as_str()).exists(), || {
            "file not found".to_owned()
        }),
        Condition::ServiceRunning(name) => match scm::query(name)? {
            Some(service) => holds(service.state == ServiceState::Running, || {
                format!("the service is {}", scm::state_name(service.state))
            }),
            None => ConditionFacts::NotYet("service not found".to_owned()),
        },
        Condition::Address(address) => self::address(*address)?,
        Condition::HnsNetwork(name) => {
            let networks = hns::networks()?;
            let has = networks
                .iter()
                .any(|network| network.name.eq_ignore_ascii_case(name));
            holds(has, || "network not found".to_owned())
        }
    })
}

fn holds(condition: bool, otherwise: impl FnOnce() -> String) -> ConditionFacts {
    if condition {
        ConditionFacts::Holds
    } else {
        ConditionFacts::NotYet(otherwise())
    }
}

/// A pipe with all instances busy has a server.
fn pipe(name: &str) -> ConditionFacts {
    let wide = wide(name);
    // SAFETY: NUL-terminated text. 1 ms is the shortest possible wait.
    if unsafe { WaitNamedPipeW(wide.as_ptr(), 1) } != 0 {
        return ConditionFacts::Holds;
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error().map(i32::cast_unsigned) {
        Some(ERROR_SEM_TIMEOUT | ERROR_PIPE_BUSY) => ConditionFacts::Holds,
        _ => ConditionFacts::NotYet(error.to_string()),
    }
}

fn port(address: SocketAddr) -> ConditionFacts {
    match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
        Ok(_) => ConditionFacts::Holds,
        Err(error) => ConditionFacts::NotYet(error.to_string()),
    }
}

fn address(expected: IpAddr) -> Result<ConditionFacts, Failure> {
    let Some(adapter) = adapters::with_address(expected)? else {
        return Ok(ConditionFacts::NotYet(
            "no adapter has this address".to_owned(),
        ));
    };
    let usable = adapter
        .addresses
        .iter()
        .any(|bound| bound.address == expected && bound.usable);
    Ok(holds(adapter.up && usable, || {
        format!(
            "adapter {} has this address, but it is not usable yet",
            adapter.index
        )
    }))
}
