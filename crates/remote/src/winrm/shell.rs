//! A shell on a host: its commands, what they are told and what they say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::{Mutex, mpsc, watch};

use super::answer::{self, AnswerError, Fault, Received};
use super::envelope::{Request, SEND_OVERHEAD};
use super::target::WinRmTarget;
use super::wire::Wire;
use super::{WinRmError, login};
use crate::error::{Place, RemoteError};
use crate::process::ProcessEvent;

/// For how long the host waits for output before it says that there is none. A
/// connection that died in silence is noticed not much later.
const RECEIVE: Duration = Duration::from_secs(10);
/// For how long everything else may take the host.
const OPERATION: Duration = Duration::from_secs(60);
/// So much longer than the host the answer may be on its way.
const TRAVEL: Duration = Duration::from_secs(15);
/// After so long in which nobody speaks to it, the host deletes the shell.
const IDLE: Duration = Duration::from_secs(180);
/// What every host takes: its limit cannot be set lower.
const SMALLEST_ENVELOPE: usize = 32 * 1024;
/// Where a host does not tell its limit: what old ones have.
const ASSUMED_ENVELOPE: usize = 150 * 1024;
/// More at once gains nothing.
const LARGEST_ENVELOPE: usize = 500 * 1024;

/// An open shell, shared by its commands.
pub(crate) struct Shell {
    target: Arc<WinRmTarget>,
    place: Place,
    id: String,
    /// Everything but waiting for output goes here, in order.
    control: Mutex<Wire>,
    /// Connections that waited for output and are free again.
    spare: Mutex<Vec<Wire>>,
    /// The largest envelope; nothing until it was asked for.
    envelope: AtomicUsize,
}

/// What the host says: what was asked for, or no.
type Said = Result<String, Fault>;

async fn ask(
    wire: &mut Wire,
    target: &WinRmTarget,
    place: &Place,
    request: &Request<'_>,
) -> Result<Said, RemoteError> {
    let operation = match request {
        Request::Receive { .. } => RECEIVE,
        _ => OPERATION,
    };
    let envelope = request.envelope(&target.endpoint(), &message_id(), operation);
    let reply = wire.ask(&envelope, operation + TRAVEL).await?;
    if reply.status.is_success() {
        return Ok(Ok(reply.text));
    }
    if let Some(fault) = answer::fault(&reply.text) {
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
        place: place.clone(),
        seen: format!("HTTP {status} without a reason"),
    }
    .into())
}

impl Shell {
    /// Connects, logs in, and opens a shell.
    pub(crate) async fn open(target: &WinRmTarget, place: Place) -> Result<Self, RemoteError> {
        let target = Arc::new(login::decided(target).await);
        let mut wire = Wire::new(Arc::clone(&target), place.clone());
        let create = Request::Create { idle: IDLE };
        let made = ask(&mut wire, &target, &place, &create).await?;
        let made = made.map_err(|fault| fault_error(&target, &place, "open a shell", &fault))?;
        let id = answer::shell(&made).map_err(|error| not_understood(&place, &error))?;
        Ok(Self {
            target,
            place,
            id,
            control: Mutex::new(wire),
            spare: Mutex::default(),
            envelope: AtomicUsize::new(0),
        })
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    async fn control(&self, request: &Request<'_>) -> Result<Said, RemoteError> {
        let mut wire = self.control.lock().await;
        ask(&mut wire, &self.target, &self.place, request).await
    }

    /// Starts a command line; cmd reads it.
    pub(crate) async fn command(&self, line: &str) -> Result<String, RemoteError> {
        let shell = &self.id;
        let started = self.control(&Request::Command { shell, line }).await?;
        let started = started.map_err(|fault| {
            if fault.is_gone() {
                return self.lost("starting a command");
            }
            fault_error(&self.target, &self.place, "start a command", &fault)
        })?;
        answer::command(&started).map_err(|error| not_understood(&self.place, &error).into())
    }

    /// Writes to a command, in pieces that fit; ends its input if told so.
    pub(crate) async fn write(
        &self,
        command: &str,
        data: &[u8],
        end: bool,
    ) -> Result<(), RemoteError> {
        let mut rest = data;
        loop {
            let most = self.piece(rest.len()).await?;
            let (data, after) = rest.split_at_checked(most).unwrap_or((rest, &[]));
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
                Err(fault) if fault.is_gone() => return Err(self.lost("writing to a command")),
                Err(fault) => {
                    return Err(fault_error(
                        &self.target,
                        &self.place,
                        "take what a command is told",
                        &fault,
                    ));
                }
            }
        }
    }

    /// How much fits one envelope. The host is asked only by who has much to say.
    async fn piece(&self, wanted: usize) -> Result<usize, RemoteError> {
        let fits = |envelope: usize| envelope.saturating_sub(SEND_OVERHEAD) / 4 * 3;
        if wanted <= fits(SMALLEST_ENVELOPE) {
            return Ok(wanted);
        }
        let mut envelope = self.envelope.load(Ordering::Relaxed);
        if envelope == 0 {
            let settings = self.control(&Request::Settings).await?;
            let told = settings.ok().and_then(|text| answer::envelope_limit(&text));
            envelope = told
                .unwrap_or(ASSUMED_ENVELOPE)
                .clamp(SMALLEST_ENVELOPE, LARGEST_ENVELOPE);
            self.envelope.store(envelope, Ordering::Relaxed);
        }
        Ok(fits(envelope))
    }

    /// Smaller pieces from now on; false where there are none.
    fn shrink(&self) -> bool {
        let envelope = self.envelope.load(Ordering::Relaxed);
        let smaller = (envelope / 2).max(SMALLEST_ENVELOPE);
        self.envelope.store(smaller, Ordering::Relaxed);
        smaller < envelope
    }

    /// Passes on what a command says until it ends, or nobody listens.
    pub(crate) async fn follow(
        self: Arc<Self>,
        command: String,
        events: mpsc::UnboundedSender<ProcessEvent>,
        end: watch::Sender<bool>,
    ) {
        let spare = self.spare.lock().await.pop();
        let fresh = || Wire::new(Arc::clone(&self.target), self.place.clone());
        let mut wire = spare.unwrap_or_else(fresh);
        let (status, closed) = loop {
            let received = tokio::select! {
                received = self.receive(&mut wire, &command) => received,
                () = events.closed() => break (None, false),
            };
            let received = match received {
                Ok(received) => received,
                Err(error) => {
                    let said = format!("{error}\n");
                    let _ = events.send(ProcessEvent::Stderr(Bytes::from(said)));
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
                self.spare.lock().await.push(wire);
                break (status, true);
            }
        };
        end.send_replace(true);
        // Nobody listens any more: nobody is to be told.
        drop(events.send(ProcessEvent::End { status, closed }));
        // A command that has ended still has a place on the host until this.
        let terminate = Request::Terminate {
            shell: &self.id,
            command: &command,
        };
        let _ = self.control(&terminate).await;
    }

    async fn receive(&self, wire: &mut Wire, command: &str) -> Result<Received, RemoteError> {
        let shell = &self.id;
        let request = Request::Receive { shell, command };
        match ask(wire, &self.target, &self.place, &request).await? {
            Ok(text) => {
                answer::received(&text).map_err(|error| not_understood(&self.place, &error).into())
            }
            Err(fault) if fault.is_time_out() => Ok(Received::default()),
            Err(fault) if fault.is_gone() => Err(self.lost("waiting for a command")),
            Err(fault) => Err(fault_error(
                &self.target,
                &self.place,
                "tell what a command says",
                &fault,
            )),
        }
    }

    /// Deletes the shell, and with it what runs in it.
    pub(crate) async fn delete(&self) {
        let shell = &self.id;
        // The host may be gone already, which is what was wanted.
        let _ = self.control(&Request::Delete { shell }).await;
    }

    fn lost(&self, step: &'static str) -> RemoteError {
        RemoteError::Lost {
            place: self.place.clone(),
            step,
            source: None,
        }
    }
}

fn fault_error(
    target: &WinRmTarget,
    place: &Place,
    action: &'static str,
    fault: &Fault,
) -> RemoteError {
    if fault.is_denied() {
        return WinRmError::Denied {
            place: place.clone(),
            user: target.user.clone(),
            reason: fault.reason.clone(),
        }
        .into();
    }
    let code = fault
        .code
        .map_or_else(String::new, |code| format!(" ({code})"));
    WinRmError::Fault {
        place: place.clone(),
        action,
        reason: format!("{}{code}", fault.reason),
    }
    .into()
}

fn not_understood(place: &Place, error: &AnswerError) -> WinRmError {
    WinRmError::NotWinRm {
        place: place.clone(),
        seen: error.to_string(),
    }
}

/// A random UUID. Nothing depends on it but the host's logs.
fn message_id() -> String {
    let mut bytes = [0; 16];
    // Without chance it is a constant, which hosts take as well.
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
