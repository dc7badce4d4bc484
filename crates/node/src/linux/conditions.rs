//! Conditions on Linux.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use casement_resource::{Condition, ConditionFacts, HostPath, ServiceState};

use super::Linux;
use crate::platform::{Conditions, Files, Network, Result, Services, unsupported};

impl Conditions for Linux {
    fn condition(&self, condition: &Condition) -> Result<ConditionFacts> {
        match condition {
            Condition::TcpPort(address) => Ok(port(*address)),
            Condition::FileExists(path) => file(self, path),
            Condition::ServiceRunning(name) => Ok(match self.service(name)? {
                None => ConditionFacts::NotYet("no such service".to_owned()),
                Some(service) if service.state == ServiceState::Running => ConditionFacts::Holds,
                Some(service) => ConditionFacts::NotYet(service.state.to_string()),
            }),
            Condition::Address(address) => {
                let interfaces = self.interfaces()?;
                Ok(
                    if interfaces.iter().any(|interface| interface.has(*address)) {
                        ConditionFacts::Holds
                    } else {
                        ConditionFacts::NotYet("no interface has this address".to_owned())
                    },
                )
            }
            Condition::NamedPipe(_) | Condition::HnsNetwork(_) => {
                Err(unsupported(&condition.to_string()))
            }
        }
    }
}

fn port(address: SocketAddr) -> ConditionFacts {
    match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
        Ok(_) => ConditionFacts::Holds,
        Err(error) => ConditionFacts::NotYet(error.to_string()),
    }
}

fn file(linux: &Linux, path: &HostPath) -> Result<ConditionFacts> {
    Ok(match linux.entry(path)? {
        Some(_) => ConditionFacts::Holds,
        None => ConditionFacts::NotYet("no such file".to_owned()),
    })
}
