//! Authenticates a connection with a Kerberos ticket.

use hyper::StatusCode;

use super::super::WinRmError;
use super::super::http::{HttpConnection, TokenResponse};
use super::super::login::{negotiate, token};
use super::super::target::{Protection, WinRmTarget};
use super::cause::{Cause, cause};
use super::gss::Failure;
use super::{KerberosError, PendingLogin, Ticket};
use crate::error::{HostLabel, RemoteError};

/// Sends the ticket and verifies that the host could decrypt it. Over HTTP, messages are
/// sealed from then on.
pub(in super::super) async fn log_in(
    connection: &mut HttpConnection,
    (target, host): (&WinRmTarget, &HostLabel),
    ticket: &Ticket,
    pending: PendingLogin,
) -> Result<(), RemoteError> {
    let PendingLogin {
        mut initiator,
        token: first,
    } = pending;
    let response = connection
        .send_token(target, host, &negotiate(&first))
        .await?;
    let rejected = |reason| rejected(host, ticket, reason);
    let Some(received) = token(&response) else {
        return Err(match response.status {
            StatusCode::UNAUTHORIZED => rejected(offers(&response)),
            status if status.is_success() => not_authenticated(host, "the response has no token"),
            status => WinRmError::NotWinRm {
                host: host.clone(),
                response: format!("HTTP {}", status.as_u16()),
            }
            .into(),
        });
    };
    match initiator.step(&received) {
        Ok(step) if step.done && response.status.is_success() => {
            if target.protection == Protection::Sealed {
                connection.sealing = Some(Box::new(initiator.context()));
            }
            Ok(())
        }
        Ok(_) => Err(rejected(offers(&response))),
        Err(Failure::Gss {
            major,
            minor,
            message,
        }) => Err(match cause(major, minor) {
            Cause::ClockSkew => WinRmError::from(KerberosError::ClockSkew {
                other: host.to_string(),
                reason: message,
            })
            .into(),
            _ if response.status.is_success() => not_authenticated(host, &message),
            _ => rejected(message),
        }),
        Err(Failure::NotInstalled(reason)) => {
            Err(WinRmError::from(KerberosError::NotInstalled { reason }).into())
        }
    }
}

fn offers(response: &TokenResponse) -> String {
    let offers = response.offers.iter();
    let methods: Vec<&str> = offers.filter_map(|offer| offer.split(' ').next()).collect();
    match methods.as_slice() {
        [] => "the host reported no reason".to_owned(),
        some => format!("the host accepts {}", some.join(", ")),
    }
}

fn rejected(host: &HostLabel, ticket: &Ticket, reason: String) -> RemoteError {
    WinRmError::from(KerberosError::TicketRejected {
        host: host.clone(),
        principal: ticket.identity.principal.clone(),
        service: ticket.service(),
        reason,
    })
    .into()
}

/// The peer cannot decrypt the ticket, so it is not the host.
fn not_authenticated(host: &HostLabel, reason: &str) -> RemoteError {
    WinRmError::Tampered {
        host: host.clone(),
        reason: format!("the host did not prove its identity: {reason}"),
    }
    .into()
}
