//! Authentication of a WinRM connection.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_resource::Secret;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::timeout;

use super::WinRmError;
use super::http::{HttpConnection, TokenResponse};
use super::kerberos;
use super::ntlm::seal::{Sealing, Side};
use super::ntlm::{Account, Challenge, Login as Ntlm, Nonces, channel_binding_hash, flags};
use super::target::{Login, Protection, WinRmTarget};
use crate::error::{ConnectionError, HostLabel, RemoteError};

/// From 1601, the epoch of Windows, to 1970.
const EPOCH_SECONDS: u64 = 11_644_473_600;
/// Domains reject logins if the clocks differ by more.
const SKEW_SECONDS: u64 = 300;

/// Chooses the method once for all connections of a session: Kerberos if the domain has
/// a ticket for the host, otherwise NTLM if there is a password.
pub(super) async fn choose_login(target: &WinRmTarget) -> WinRmTarget {
    let mut choose_login = target.clone();
    if let Login::Kerberos(ticket) = &target.login
        && let Some(password) = &ticket.fallback_password
        && ticket.start(None, target.connect_timeout).await.is_err()
    {
        choose_login.login = Login::Ntlm(password.clone());
    }
    choose_login
}

/// Authenticates the connection. Over HTTP, messages are sealed from then on.
pub(super) async fn log_in(
    connection: &mut HttpConnection,
    target: &WinRmTarget,
    host: &HostLabel,
) -> Result<(), RemoteError> {
    let limit = target.connect_timeout;
    let result = match &target.login {
        Login::Ntlm(password) => timeout(limit, ntlm(connection, target, host, password)).await,
        Login::Kerberos(ticket) => {
            // A separate timeout: an unreachable domain controller is not the fault of
            // the host.
            let pending = ticket.start(connection.binding.clone(), limit).await;
            let pending = pending.map_err(WinRmError::from)?;
            timeout(
                limit,
                kerberos::log_in(connection, (target, host), ticket, pending),
            )
            .await
        }
        Login::Basic(password) => {
            // Sent with each request; the first one shows whether it is accepted.
            connection.authorization = Some(basic(&target.user, password));
            return Ok(());
        }
    };
    result.map_err(|_| {
        RemoteError::Connection(ConnectionError::TimedOut {
            host: host.clone(),
            timeout: limit,
            step: "authentication",
        })
    })?
}

fn basic(user: &str, password: &Secret) -> HeaderValue {
    let text = Secret::new(format!("{user}:{}", password.expose()));
    sensitive(format!("Basic {}", STANDARD.encode(text.expose())))
}

pub(super) fn negotiate(token: &[u8]) -> HeaderValue {
    sensitive(format!("Negotiate {}", STANDARD.encode(token)))
}

/// Marked sensitive, so that it is not logged.
fn sensitive(text: String) -> HeaderValue {
    #[expect(clippy::expect_used, reason = "base64 is made of visible ASCII")]
    let mut value = HeaderValue::try_from(text).expect("base64 is made of visible ASCII");
    value.set_sensitive(true);
    value
}

async fn ntlm(
    connection: &mut HttpConnection,
    target: &WinRmTarget,
    host: &HostLabel,
    password: &Secret,
) -> Result<(), RemoteError> {
    let account = Account::new(&target.user, password);
    let login = Ntlm::new(account);
    let first = connection
        .send_token(target, host, &negotiate(login.negotiate()))
        .await?;
    let challenge = challenge(&first, target, host)?;
    if target.protection == Protection::Sealed && challenge.flags & flags::NEEDED != flags::NEEDED {
        let missing = flags::NEEDED & !challenge.flags;
        return Err(WinRmError::Unencrypted {
            host: host.clone(),
            reason: format!("NTLM without sealing (missing flags {missing:#010x})"),
        }
        .into());
    }
    let service = format!("HTTP/{}", target.address);
    let binding = connection.binding.as_deref().map(channel_binding_hash);
    let authenticate = login.authenticate(&challenge, binding, &service, &nonces(host)?);
    let last = connection
        .send_token(target, host, &negotiate(&authenticate.message))
        .await?;
    if last.status == StatusCode::UNAUTHORIZED {
        let clock_ahead = challenge.time().map_or(0, clock_ahead);
        if clock_ahead.unsigned_abs() > SKEW_SECONDS {
            return Err(WinRmError::ClockSkew {
                host: host.clone(),
                user: target.user.clone(),
                ahead: clock_ahead,
            }
            .into());
        }
        return Err(authentication_failed(target, host, &last.offers.join(", ")));
    }
    if target.protection == Protection::Sealed {
        let sealing = Sealing::new(&authenticate.session_key, Side::Client);
        connection.sealing = Some(Box::new(sealing));
    }
    Ok(())
}

/// The host's NTLM challenge, or the reason why there is none.
fn challenge(
    first: &TokenResponse,
    target: &WinRmTarget,
    host: &HostLabel,
) -> Result<Challenge, RemoteError> {
    let not_winrm = |response: String| {
        RemoteError::from(WinRmError::NotWinRm {
            host: host.clone(),
            response,
        })
    };
    if first.status != StatusCode::UNAUTHORIZED {
        return Err(not_winrm(format!("HTTP {}", first.status.as_u16())));
    }
    let Some(token) = token(first) else {
        let offered = first.offers.join(", ");
        return Err(match target.protection {
            Protection::Sealed => WinRmError::Unencrypted {
                host: host.clone(),
                reason: format!("no accepted authentication method supports encryption: {offered}"),
            }
            .into(),
            Protection::Tls(_) => authentication_failed(target, host, &offered),
        });
    };
    Challenge::read(&token).map_err(|error| not_winrm(error.to_string()))
}

/// The token in the host's response.
pub(super) fn token(response: &TokenResponse) -> Option<Vec<u8>> {
    response.offers.iter().find_map(|offer| {
        let (method, token) = offer.split_once(' ')?;
        let known = ["negotiate", "ntlm", "kerberos"].contains(&method.to_lowercase().as_str());
        STANDARD.decode(known.then_some(token.trim())?).ok()
    })
}

pub(super) fn authentication_failed(
    target: &WinRmTarget,
    host: &HostLabel,
    offered: &str,
) -> RemoteError {
    let offered = match offered {
        "" => "no other method".to_owned(),
        // Without the tokens.
        some => some
            .split(", ")
            .filter_map(|offer| offer.split(' ').next())
            .collect::<Vec<_>>()
            .join(", "),
    };
    WinRmError::AuthenticationFailed {
        host: host.clone(),
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

fn nonces(host: &HostLabel) -> Result<Nonces, RemoteError> {
    let random = SystemRandom::new();
    let mut nonces = Nonces {
        client_challenge: [0; 8],
        session_key: [0; 16],
        time: now(),
    };
    let filled = random.fill(&mut nonces.client_challenge);
    filled
        .and_then(|()| random.fill(&mut nonces.session_key))
        .map_err(|_| {
            RemoteError::Connection(ConnectionError::Lost {
                host: host.clone(),
                step: "generating random numbers",
                source: None,
            })
        })?;
    Ok(nonces)
}

/// In units of 100 ns since 1601.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default();
    (since.as_secs() + EPOCH_SECONDS) * 10_000_000 + u64::from(since.subsec_nanos() / 100)
}

/// Seconds by which the host's clock is ahead.
fn clock_ahead(theirs: u64) -> i64 {
    let ours = i64::try_from(now() / 10_000_000).unwrap_or(i64::MAX);
    let theirs = i64::try_from(theirs / 10_000_000).unwrap_or(i64::MAX);
    theirs.saturating_sub(ours)
}
