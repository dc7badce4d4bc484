//! Logging a connection in.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_resource::Secret;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::timeout;

use super::WinRmError;
use super::kerberos;
use super::ntlm::seal::{Sealing, Side};
use super::ntlm::{Account, Challenge, Dice, Login as Ntlm, bound_to, flags};
use super::target::{Login, Protection, WinRmTarget};
use super::wire::{Knocked, Open};
use crate::error::{Place, RemoteError};

/// From 1601, where Windows counts from, to 1970.
const EPOCH_SECONDS: u64 = 11_644_473_600;
/// Domains turn logins down when clocks differ by more.
const SKEW_SECONDS: u64 = 300;

/// Decides for the ways of logging in that leave a choice: a ticket where the domain
/// has one for the host, else the password. Once for all connections of a session.
pub(super) async fn decided(target: &WinRmTarget) -> WinRmTarget {
    let mut decided = target.clone();
    if let Login::Kerberos(ticket) = &target.login
        && let Some(password) = &ticket.otherwise
        && ticket.begin(None, target.connect_timeout).await.is_err()
    {
        decided.login = Login::Ntlm(password.clone());
    }
    decided
}

/// Proves who we are. Over HTTP the connection is sealed from then on.
pub(super) async fn log_in(
    open: &mut Open,
    target: &WinRmTarget,
    place: &Place,
) -> Result<(), RemoteError> {
    let waited = target.connect_timeout;
    let logged_in = match &target.login {
        Login::Ntlm(password) => timeout(waited, ntlm(open, target, place, password)).await,
        Login::Kerberos(ticket) => {
            // A domain controller that does not answer is not the host's fault.
            let begun = ticket.begin(open.binding.clone(), waited).await;
            let begun = begun.map_err(WinRmError::from)?;
            timeout(
                waited,
                kerberos::log_in(open, (target, place), ticket, begun),
            )
            .await
        }
        Login::Basic(password) => {
            // Each request says it; whether it is right shows in the first one.
            open.authorization = Some(basic(&target.user, password));
            return Ok(());
        }
    };
    logged_in.map_err(|_| RemoteError::NoAnswer {
        place: place.clone(),
        waited,
        step: "the login",
    })?
}

fn basic(user: &str, password: &Secret) -> HeaderValue {
    let text = Secret::new(format!("{user}:{}", password.expose()));
    hidden(format!("Basic {}", STANDARD.encode(text.expose())))
}

pub(super) fn negotiate(token: &[u8]) -> HeaderValue {
    hidden(format!("Negotiate {}", STANDARD.encode(token)))
}

/// A header that no log shows.
fn hidden(text: String) -> HeaderValue {
    #[expect(clippy::expect_used, reason = "base64 is made of visible ASCII")]
    let mut value = HeaderValue::try_from(text).expect("base64 is made of visible ASCII");
    value.set_sensitive(true);
    value
}

async fn ntlm(
    open: &mut Open,
    target: &WinRmTarget,
    place: &Place,
    password: &Secret,
) -> Result<(), RemoteError> {
    let account = Account::new(&target.user, password);
    let login = Ntlm::new(account);
    let first = open
        .knock(target, place, &negotiate(login.negotiate()))
        .await?;
    let challenge = challenge(&first, target, place)?;
    if target.protection == Protection::Sealed && challenge.flags & flags::NEEDED != flags::NEEDED {
        let lacking = flags::NEEDED & !challenge.flags;
        return Err(WinRmError::Unencrypted {
            place: place.clone(),
            seen: format!("NTLM without sealing (it lacks {lacking:#010x})"),
        }
        .into());
    }
    let service = format!("HTTP/{}", target.address);
    let binding = open.binding.as_deref().map(bound_to);
    let proven = login.answer(&challenge, binding, &service, &dice(place)?);
    let last = open
        .knock(target, place, &negotiate(&proven.message))
        .await?;
    if last.status == StatusCode::UNAUTHORIZED {
        let ahead = challenge.time().map_or(0, ahead);
        if ahead.unsigned_abs() > SKEW_SECONDS {
            return Err(WinRmError::ClockSkew {
                place: place.clone(),
                user: target.user.clone(),
                ahead,
            }
            .into());
        }
        return Err(refused(target, place, &last.offers.join(", ")));
    }
    if target.protection == Protection::Sealed {
        let sealing = Sealing::new(&proven.session_key, Side::Client);
        open.sealing = Some(Box::new(sealing));
    }
    Ok(())
}

/// The challenge, if the host sent one; else why there is none.
fn challenge(
    first: &Knocked,
    target: &WinRmTarget,
    place: &Place,
) -> Result<Challenge, RemoteError> {
    let not_winrm = |seen: String| {
        RemoteError::from(WinRmError::NotWinRm {
            place: place.clone(),
            seen,
        })
    };
    if first.status != StatusCode::UNAUTHORIZED {
        return Err(not_winrm(format!("HTTP {}", first.status.as_u16())));
    }
    let Some(token) = token(first) else {
        let offered = first.offers.join(", ");
        return Err(match target.protection {
            Protection::Sealed => WinRmError::Unencrypted {
                place: place.clone(),
                seen: format!("it takes no login that could seal, only: {offered}"),
            }
            .into(),
            Protection::Tls(_) => refused(target, place, &offered),
        });
    };
    Challenge::read(&token).map_err(|error| not_winrm(error.to_string()))
}

/// What the host says back to a token.
pub(super) fn token(knocked: &Knocked) -> Option<Vec<u8>> {
    knocked.offers.iter().find_map(|offer| {
        let (method, token) = offer.split_once(' ')?;
        let known = ["negotiate", "ntlm", "kerberos"].contains(&method.to_lowercase().as_str());
        STANDARD.decode(known.then_some(token.trim())?).ok()
    })
}

/// The login is not taken.
pub(super) fn refused(target: &WinRmTarget, place: &Place, offered: &str) -> RemoteError {
    let offered = match offered {
        "" => "nothing else".to_owned(),
        // Tokens say nothing to people, and are long.
        some => some
            .split(", ")
            .filter_map(|offer| offer.split(' ').next())
            .collect::<Vec<_>>()
            .join(", "),
    };
    WinRmError::Refused {
        place: place.clone(),
        user: target.user.clone(),
        method: match target.login {
            Login::Ntlm(_) => "NTLM",
            Login::Basic(_) => "basic",
            Login::Kerberos(_) => "Kerberos",
        },
        offered,
    }
    .into()
}

fn dice(place: &Place) -> Result<Dice, RemoteError> {
    let random = SystemRandom::new();
    let mut dice = Dice {
        client_challenge: [0; 8],
        session_key: [0; 16],
        time: now(),
    };
    let drawn = random.fill(&mut dice.client_challenge);
    drawn
        .and_then(|()| random.fill(&mut dice.session_key))
        .map_err(|_| RemoteError::Lost {
            place: place.clone(),
            step: "drawing random numbers for the login",
            source: None,
        })?;
    Ok(dice)
}

/// The time as Windows counts it, in tenths of a microsecond since 1601.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default();
    (since.as_secs() + EPOCH_SECONDS) * 10_000_000 + u64::from(since.subsec_nanos() / 100)
}

/// By how many seconds the host's clock is ahead of ours.
fn ahead(theirs: u64) -> i64 {
    let ours = i64::try_from(now() / 10_000_000).unwrap_or(i64::MAX);
    let theirs = i64::try_from(theirs / 10_000_000).unwrap_or(i64::MAX);
    theirs.saturating_sub(ours)
}
