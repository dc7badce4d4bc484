//! A WinRM shell on a host: its commands, their input and their output.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::{Mutex, mpsc, watch};

use super::envelope::{Request, SEND_OVERHEAD};
use super::http::HttpClient;
use super::response::{self, Fault, Received, ResponseError};
use super::target::WinRmTarget;
use super::{WinRmError, login};
use crate::error::{ConnectionError, HostLabel, RemoteError};
use crate::process::ProcessEvent;

/// How long the host waits for output before it reports a timeout. A dead connection is
/// noticed shortly after.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// For all other requests.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(60);
/// Added to the host's own timeout for the network.
const NETWORK_MARGIN: Duration = Duration::from_secs(15);
/// The host deletes a shell that is idle for this long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(180);
/// Accepted by every host: the limit cannot be set lower.
const MIN_ENVELOPE: usize = 32 * 1024;
/// If a host does not report its limit: the default of old versions.
const DEFAULT_ENVELOPE: usize = 150 * 1024;
/// Larger envelopes are not faster.
const MAX_ENVELOPE: usize = 500 * 1024;

/// Shared by its commands.
pub(crate) struct Shell {
    target: Arc<WinRmTarget>,
    host: HostLabel,
    id: String,
    /// For all requests except `Receive`, in order.
    control: Mutex<HttpClient>,
    /// Idle connections of finished `Receive` loops.
    idle: Mutex<Vec<HttpClient>>,
    /// In bytes; 0 until the host was asked.
    envelope: AtomicUsize,
}

/// The response, or a fault.
type FaultResult = Result<String, Fault>;

async fn send(
    client: &mut HttpClient,
    target: &WinRmTarget,
    host: &HostLabel,
    request: &Request<'_>,
) -> Result<FaultResult, RemoteError> {
    let timeout = match request {
        Request::Receive { .. } => RECEIVE_TIMEOUT,
        _ => OPERATION_TIMEOUT,
    };
    let envelope = request.envelope(&target.endpoint(), &message_id(), timeout);
    let reply = client.send(&envelope, timeout + NETWORK_MARGIN).await?;
    if reply.status.is_success() {
        return Ok(Ok(reply.text));
    }
    if let Some(fault) = response::parse_fault(&reply.text) {
        return Ok(Err(fault));
    }
    let status = reply.status.as_u16();
    if status == 413 {
        return Ok(Err(Fault {
            kind: "EncodingLimit".to_owned(),
            ..Fault::default()
        }));
    }
    Err(WinRmError::NotWinRm {
        host: host.clone(),
        response: format!("HTTP {status} without a fault"),
    }
    .into())
}

impl Shell {
    pub(crate) async fn open(target: &WinRmTarget, host: HostLabel) -> Result<Self, RemoteError> {
        let target = Arc::new(login::choose_login(target).await);
        let mut client = HttpClient::new(Arc::clone(&target), host.clone());
        let create = Request::Create { idle: IDLE_TIMEOUT };
        let created = send(&mut client, &target, &host, &create).await?;
        let created =
            created.map_err(|fault| fault_error(&target, &host, "open a shell", &fault))?;
        let id =
            response::shell_id(&created).map_err(|error| unexpected_response(&host, &error))?;
        Ok(Self {
            target,
            host,
            id,
            control: Mutex::new(client),
            idle: Mutex::default(),
            envelope: AtomicUsize::new(0),
        })
    }

    pub(crate) fn host(&self) -> &HostLabel {
        &self.host
    }

    async fn control(&self, request: &Request<'_>) -> Result<FaultResult, RemoteError> {
        let mut client = self.control.lock().await;
        send(&mut client, &self.target, &self.host, request).await
    }

    /// cmd interprets `line`.
    pub(crate) async fn command(&self, line: &str) -> Result<String, RemoteError> {
        let shell = &self.id;
        let started = self.control(&Request::Command { shell, line }).await?;
        let started = started.map_err(|fault| {
            if fault.is_closed() {
                return self.connection_lost("starting a command");
            }
            fault_error(&self.target, &self.host, "start a command", &fault)
        })?;
        response::command_id(&started)
            .map_err(|error| unexpected_response(&self.host, &error).into())
    }

    /// Writes to the standard input of a command, in chunks that fit an envelope, and
    /// closes it if `end` is set.
    pub(crate) async fn write(
        &self,
        command: &str,
        data: &[u8],
        end: bool,
    ) -> Result<(), RemoteError> {
        let mut rest = data;
        loop {
            let limit = self.max_chunk(rest.len()).await?;
            let (data, after) = rest.split_at_checked(limit).unwrap_or((rest, &[]));
            let request = Request::Send {
                shell: &self.id,
                command,
                data,
                end: end && after.is_empty(),
            };
            match self.control(&request).await? {
                Ok(_) if after.is_empty() => return Ok(()),
                Ok(_) => rest = after,
                Err(fault) if fault.is_too_large() && self.shrink() => {}
                Err(fault) if fault.is_closed() => {
                    return Err(self.connection_lost("writing to a command"));
                }
                Err(fault) => {
                    return Err(fault_error(
                        &self.target,
                        &self.host,
                        "accept the input of a command",
                        &fault,
                    ));
                }
            }
        }
    }

    /// How many bytes fit one envelope. The host is asked only if there is much to send.
    async fn max_chunk(&self, length: usize) -> Result<usize, RemoteError> {
        let payload = |envelope: usize| envelope.saturating_sub(SEND_OVERHEAD) / 4 * 3;
        if length <= payload(MIN_ENVELOPE) {
            return Ok(length);
        }
        let mut envelope = self.envelope.load(Ordering::Relaxed);
        if envelope == 0 {
            let settings = self.control(&Request::Settings).await?;
            let limit = settings
                .ok()
                .and_then(|text| response::envelope_limit(&text));
            envelope = limit
                .unwrap_or(DEFAULT_ENVELOPE)
                .clamp(MIN_ENVELOPE, MAX_ENVELOPE);
            self.envelope.store(envelope, Ordering::Relaxed);
        }
        Ok(payload(envelope))
    }

    /// Halves the envelope size; false if it is already the smallest.
    fn shrink(&self) -> bool {
        let envelope = self.envelope.load(Ordering::Relaxed);
        let smaller = (envelope / 2).max(MIN_ENVELOPE);
        self.envelope.store(smaller, Ordering::Relaxed);
        smaller < envelope
    }

    /// Forwards the output of a command until it ends or the receiver is dropped.
    pub(crate) async fn follow(
        self: Arc<Self>,
        command: String,
        events: mpsc::UnboundedSender<ProcessEvent>,
        end: watch::Sender<bool>,
    ) {
        let idle = self.idle.lock().await.pop();
        let connect = || HttpClient::new(Arc::clone(&self.target), self.host.clone());
        let mut client = idle.unwrap_or_else(connect);
        let (status, closed) = loop {
            let received = tokio::select! {
                received = self.receive(&mut client, &command) => received,
                () = events.closed() => break (None, false),
            };
            let received = match received {
                Ok(received) => received,
                Err(error) => {
                    let message = format!("{error}\n");
                    let _ = events.send(ProcessEvent::Stderr(Bytes::from(message)));
                    break (None, false);
                }
            };
            for (data, event) in [
                (received.stdout, ProcessEvent::Stdout as fn(Bytes) -> _),
                (received.stderr, ProcessEvent::Stderr),
            ] {
                if !data.is_empty() {
                    let _ = events.send(event(Bytes::from(data)));
                }
            }
            if let Some(status) = received.ended {
                self.idle.lock().await.push(client);
                break (status, true);
            }
        };
        end.send_replace(true);
        // The receiver may be gone.
        drop(events.send(ProcessEvent::End { status, closed }));
        // Until then, the host keeps an ended command.
        let terminate = Request::Terminate {
            shell: &self.id,
            command: &command,
        };
        let _ = self.control(&terminate).await;
    }

    async fn receive(
        &self,
        client: &mut HttpClient,
        command: &str,
    ) -> Result<Received, RemoteError> {
        let shell = &self.id;
        let request = Request::Receive { shell, command };
        match send(client, &self.target, &self.host, &request).await? {
            Ok(text) => response::parse_received(&text)
                .map_err(|error| unexpected_response(&self.host, &error).into()),
            Err(fault) if fault.is_timeout() => Ok(Received::default()),
            Err(fault) if fault.is_closed() => Err(self.connection_lost("waiting for a command")),
            Err(fault) => Err(fault_error(
                &self.target,
                &self.host,
                "return the output of a command",
                &fault,
            )),
        }
    }

    /// Deletes the shell and terminates its commands.
    pub(crate) async fn delete(&self) {
        let shell = &self.id;
        // The host may be unreachable.
        let _ = self.control(&Request::Delete { shell }).await;
    }

    fn connection_lost(&self, step: &'static str) -> RemoteError {
        RemoteError::Connection(ConnectionError::Lost {
            host: self.host.clone(),
            step,
            source: None,
        })
    }
}

fn fault_error(
    target: &WinRmTarget,
    host: &HostLabel,
    action: &'static str,
    fault: &Fault,
) -> RemoteError {
    if fault.is_denied() {
        return WinRmError::Denied {
            host: host.clone(),
            user: target.user.clone(),
            reason: fault.reason.clone(),
        }
        .into();
    }
    let code = fault
        .code
        .map_or_else(String::new, |code| format!(" ({code})"));
    WinRmError::Fault {
        host: host.clone(),
        action,
        reason: format!("{}{code}", fault.reason),
    }
    .into()
}

fn unexpected_response(host: &HostLabel, error: &ResponseError) -> WinRmError {
    WinRmError::NotWinRm {
        host: host.clone(),
        response: error.to_string(),
    }
}

/// A random UUID, used only in logs of the host.
fn message_id() -> String {
    let mut bytes = [0; 16];
    // Hosts accept a constant too.
    let _ = SystemRandom::new().fill(&mut bytes);
    let number = u128::from_be_bytes(bytes);
    let number = number & !(0xf000 << 64) | (0x4000 << 64);
    let number = number & !(0xc000 << 48) | (0x8000 << 48);
    format!(
        "{:08X}-{:04X}-{:04X}-{:04X}-{:012X}",
        number >> 96,
        (number >> 80) & 0xffff,
        (number >> 64) & 0xffff,
        (number >> 48) & 0xffff,
        number & 0xffff_ffff_ffff
    )
}
