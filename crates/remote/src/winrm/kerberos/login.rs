//! A connection is logged in with a ticket.

use hyper::StatusCode;

use super::super::WinRmError;
use super::super::login::{negotiate, token};
use super::super::target::{Protection, WinRmTarget};
use super::super::wire::{Knocked, Open};
use super::cause::{Cause, cause};
use super::gss::Failure;
use super::{Begun, KerberosError, Ticket};
use crate::error::{Place, RemoteError};

/// Shows the ticket, and has the host prove in turn that it could read it. Over HTTP
/// the connection is sealed from then on.
pub(in super::super) async fn log_in(
    open: &mut Open,
    (target, place): (&WinRmTarget, &Place),
    ticket: &Ticket,
    begun: Begun,
) -> Result<(), RemoteError> {
    let Begun {
        mut initiator,
        token: first,
    } = begun;
    let knocked = open.knock(target, place, &negotiate(&first)).await?;
    let turned_down = |reason| turned_down(place, ticket, reason);
    let Some(answer) = token(&knocked) else {
        return Err(match knocked.status {
            StatusCode::UNAUTHORIZED => turned_down(offers(&knocked)),
            status if status.is_success() => unproven(place, "it does not say that it is"),
            status => WinRmError::NotWinRm {
                place: place.clone(),
                seen: format!("HTTP {}", status.as_u16()),
            }
            .into(),
        });
    };
    match initiator.step(&answer) {
        Ok(step) if step.done && knocked.status.is_success() => {
            if target.protection == Protection::Sealed {
                open.sealing = Some(Box::new(initiator.context()));
            }
            Ok(())
        }
        Ok(_) => Err(turned_down(offers(&knocked))),
        Err(Failure::Said {
            major,
            minor,
            words,
        }) => Err(match cause(major, minor) {
            Cause::Skew => WinRmError::from(KerberosError::ClockSkew {
                other: place.to_string(),
                reason: words,
            })
            .into(),
            _ if knocked.status.is_success() => unproven(place, &words),
            _ => turned_down(words),
        }),
        Err(Failure::Absent(reason)) => {
            Err(WinRmError::from(KerberosError::Absent { reason }).into())
        }
    }
}

fn offers(knocked: &Knocked) -> String {
    let offers = knocked.offers.iter();
    let methods: Vec<&str> = offers.filter_map(|offer| offer.split(' ').next()).collect();
    match methods.as_slice() {
        [] => "no".to_owned(),
        some => format!("no; it takes {}", some.join(", ")),
    }
}

fn turned_down(place: &Place, ticket: &Ticket, reason: String) -> RemoteError {
    WinRmError::from(KerberosError::TurnedDown {
        place: place.clone(),
        principal: ticket.identity.principal.clone(),
        service: ticket.service(),
        reason,
    })
    .into()
}

/// Whoever answers cannot read the ticket, and is not the host.
fn unproven(place: &Place, reason: &str) -> RemoteError {
    WinRmError::Forged {
        place: place.clone(),
        reason: format!("it does not prove that it is the host: {reason}"),
    }
    .into()
}
