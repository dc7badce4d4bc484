//! `timeSync`: the Windows time service.
//!
//! The service reads its settings when it starts. It is stopped before they change,
//! so that it never runs with outdated ones.

use casement_resource::{
    Code, Diff, Failure, NTP, ObservedService, Prior, RegistryData, Resource, ServiceState,
    StartType, TimeSync, TimeSyncFacts,
};

use super::registry::{delete_created_keys, missing_keys, restore_value};
use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

const SERVICE: &str = "W32Time";
const KEY: &str = r"SYSTEM\CurrentControlSet\Services\W32Time\Parameters";
const SERVERS: &str = "NtpServer";
const SOURCE: &str = "Type";

impl Kind for TimeSync {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let service = service(context)?;
        let text = |name| match context.platform.registry_value(KEY, name)? {
            Some(RegistryData::Text(text)) => Ok(Some(text)),
            other => Ok(other.map(|data| data.to_string())),
        };
        Ok(self.diff(&TimeSyncFacts {
            domain: context.platform.hostname()?.domain,
            servers: text(SERVERS)?,
            source: text(SOURCE)?,
            start: service.start,
            state: service.state,
        }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let service = service(context)?;
        Ok(Prior::TimeSync {
            missing_keys: missing_keys(context, KEY)?,
            servers: context.platform.registry_value(KEY, SERVERS)?,
            source: context.platform.registry_value(KEY, SOURCE)?,
            start: service.start,
            running: service.state != ServiceState::Stopped,
        })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context.platform.stop_service(SERVICE)?;
        for (name, text) in [(SERVERS, self.ntp_servers()), (SOURCE, NTP.to_owned())] {
            context
                .platform
                .set_registry_value(KEY, name, &RegistryData::Text(text))?;
        }
        context
            .platform
            .set_service_start(SERVICE, StartType::Automatic)?;
        context.platform.start_service(SERVICE)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
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
        context.platform.stop_service(SERVICE)?;
        restore_value(context, KEY, SERVERS, servers.as_ref())?;
        restore_value(context, KEY, SOURCE, source.as_ref())?;
        delete_created_keys(context, missing_keys)?;
        context.platform.set_service_start(SERVICE, *start)?;
        if *running {
            context.platform.start_service(SERVICE)?;
        }
        Ok(())
    }
}

fn service(context: &KindContext<'_>) -> Result<ObservedService> {
    context.platform.service(SERVICE)?.ok_or_else(|| {
        Failure::new(
            Code::Unsupported,
            format!("the Windows time service `{SERVICE}` was not found"),
            "register it with `w32tm /register`, or remove the time servers from the cluster file",
        )
    })
}
