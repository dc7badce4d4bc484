//! `timeSync`: Windows' time service.
//!
//! The service reads its settings when it starts. It is stopped before they
//! change, so that one that runs always runs with what is written.

use casement_resource::{
    Code, Diff, Failure, NTP, Prior, RegistryData, Resource, ServiceSeen, ServiceState, StartType,
    TimeSync, TimeSyncFacts,
};

use super::registry::{delete_made_keys, missing_keys, put_back};
use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

const SERVICE: &str = "W32Time";
const KEY: &str = r"SYSTEM\CurrentControlSet\Services\W32Time\Parameters";
const SERVERS: &str = "NtpServer";
const SOURCE: &str = "Type";

impl Kind for TimeSync {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let service = service(at)?;
        let text = |name| match at.platform.registry_value(KEY, name)? {
            Some(RegistryData::Text(text)) => Ok(Some(text)),
            other => Ok(other.map(|data| data.to_string())),
        };
        Ok(self.diff(&TimeSyncFacts {
            domain: at.platform.hostname()?.domain,
            servers: text(SERVERS)?,
            source: text(SOURCE)?,
            start: service.start,
            state: service.state,
        }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let service = service(at)?;
        Ok(Prior::TimeSync {
            missing_keys: missing_keys(at, KEY)?,
            servers: at.platform.registry_value(KEY, SERVERS)?,
            source: at.platform.registry_value(KEY, SOURCE)?,
            start: service.start,
            running: service.state != ServiceState::Stopped,
        })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform.stop_service(SERVICE)?;
        for (name, text) in [(SERVERS, self.written()), (SOURCE, NTP.to_owned())] {
            at.platform
                .set_registry_value(KEY, name, &RegistryData::Text(text))?;
        }
        at.platform
            .set_service_start(SERVICE, StartType::Automatic)?;
        at.platform.start_service(SERVICE)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::TimeSync {
            missing_keys,
            servers,
            source,
            start,
            running,
        } = prior
        else {
            return Err(wrong_prior("the time service", prior));
        };
        at.platform.stop_service(SERVICE)?;
        put_back(at, KEY, SERVERS, servers.as_ref())?;
        put_back(at, KEY, SOURCE, source.as_ref())?;
        delete_made_keys(at, missing_keys)?;
        at.platform.set_service_start(SERVICE, *start)?;
        if *running {
            at.platform.start_service(SERVICE)?;
        }
        Ok(())
    }
}

fn service(at: &Place<'_>) -> Result<ServiceSeen> {
    at.platform.service(SERVICE)?.ok_or_else(|| {
        Failure::new(
            Code::Unsupported,
            format!("the host has no service `{SERVICE}`, Windows' time service"),
            "register it with `w32tm /register`, or take the time servers out of the file",
        )
    })
}
