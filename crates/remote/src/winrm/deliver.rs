//! Bringing files to a host over WinRM.
//!
//! The agent goes as base64 lines into `findstr "^"`, which writes what it reads,
//! and `certutil` makes a program of them and hashes it: both are part of every
//! Windows, and neither needs PowerShell. Once the agent is there, it takes blobs
//! itself (`casement-node receive`): it goes on where an earlier attempt was cut,
//! hashes while it writes, and gives a blob its name when it is whole.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_resource::Sha256;
use casement_resource::wire::{Decoder, FromReceiver, Line, ToReceiver, encode};
use sha2::Digest as _;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::session::WinRmSession;
use crate::agent::{Agent, AgentHome, Delivery};
use crate::error::RemoteError;
use crate::places::RemotePath;
use crate::process::{Output, Process, ProcessEvent};
use crate::sftp::Progress;

/// Bytes in one line of base64, as `certutil` writes them.
const LINE: usize = 48;
/// Bytes of a file that are read at once; whole lines of base64.
const PIECE: usize = 4096 * LINE;

impl WinRmSession {
    /// Brings the agent to `path`. Nothing has its name before its hash was
    /// looked at.
    pub(crate) async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        mut progress: impl FnMut(Progress),
    ) -> Result<Delivery, RemoteError> {
        let program = path.native();
        let folder = path.parent().map(|folder| folder.native());
        let folder = folder.unwrap_or_default();
        let there = self
            .run(&format!("certutil -hashfile \"{program}\" SHA256"))
            .await?;
        if printed_hash(&there).as_ref() == Some(&agent.hash) {
            return Ok(Delivery::Reused);
        }
        let process = self
            .start(&format!(
                "mkdir \"{folder}\" 2>nul & findstr \"^\" > \"{program}.b64\" && \
                 certutil -f -decode \"{program}.b64\" \"{program}.part\" >nul && \
                 certutil -hashfile \"{program}.part\" SHA256"
            ))
            .await?;
        send_lines(&process, agent, &mut progress).await?;
        process.send_eof().await;
        let output = process.output().await?;
        if printed_hash(&output).as_ref() != Some(&agent.hash) {
            self.run(&format!("del /q \"{program}.b64\" \"{program}.part\""))
                .await?;
            return Err(self.failed("write", &program, said(&output)));
        }
        let moved = self
            .run(&format!(
                "del /q \"{program}.b64\" & move /y \"{program}.part\" \"{program}\""
            ))
            .await?;
        match moved.status {
            Some(0) => Ok(Delivery::Sent(agent.size)),
            _ => Err(self.failed("rename", &format!("{program}.part"), said(&moved))),
        }
    }

    /// Takes the agent away, and the folders above it that are empty then.
    pub(crate) async fn take_away(&self, path: &RemotePath) -> Result<(), RemoteError> {
        let program = path.native();
        let mut line = format!("del /f /q \"{program}\" 2>nul");
        let mut folder = path.parent();
        // agent\<hash>, agent, casement; `rmdir` leaves what is not empty.
        for _ in 0..3 {
            let Some(path) = folder else { break };
            line.push_str(&format!(" & rmdir \"{}\" 2>nul", path.native()));
            folder = path.parent();
        }
        line.push_str(&format!(" & if exist \"{program}\" (exit 5) else (exit 0)"));
        let output = self.run(&line).await?;
        match output.status {
            Some(0) => Ok(()),
            _ => Err(self.failed("remove", &program, said(&output))),
        }
    }

    /// Brings a blob into the host's store, through the agent that is there.
    /// Returns the bytes that were sent.
    pub(crate) async fn put_blob(
        &self,
        home: &AgentHome,
        from: &Path,
        hash: &Sha256,
        mut progress: impl FnMut(Progress),
    ) -> Result<u64, RemoteError> {
        let unreadable = |source| RemoteError::LocalFile {
            action: "read",
            path: from.to_owned(),
            source,
        };
        let mut file = File::open(from).await.map_err(unreadable)?;
        let total = file.metadata().await.map_err(unreadable)?.len();
        let name = home.places().blob(hash).native();
        let line = home.line(&["receive", &hash.to_string(), &total.to_string()]);
        let process = self.start(&line).await?;
        let mut receiver = Receiver::new(self, &name, process);
        let (bytes, theirs) = match receiver.hear().await? {
            FromReceiver::Done => return Ok(0),
            FromReceiver::Have { bytes, sha256 } => (bytes.min(total), sha256),
            FromReceiver::Failed(failure) => {
                return Err(self.failed("write", &name, failure.to_string()));
            }
        };
        let resumed = match prefix_hash(&mut file, bytes).await.map_err(unreadable)? {
            ours if ours == theirs => bytes,
            _ => 0,
        };
        let start = std::io::SeekFrom::Start(resumed);
        file.seek(start).await.map_err(unreadable)?;
        let mut listens = receiver.say(&ToReceiver::From { bytes: resumed }).await?;
        let mut done = resumed;
        while listens {
            let piece = read_piece(&mut file).await.map_err(unreadable)?;
            if piece.is_empty() {
                break;
            }
            done += piece.len() as u64;
            let data = STANDARD.encode(piece);
            listens = receiver.say(&ToReceiver::Data(data)).await?;
            progress(Progress {
                done,
                total,
                resumed,
            });
        }
        if listens {
            receiver.say(&ToReceiver::End).await?;
        }
        match receiver.hear().await? {
            FromReceiver::Done => Ok(total - resumed),
            FromReceiver::Failed(failure) => Err(self.failed("write", &name, failure.to_string())),
            FromReceiver::Have { .. } => {
                Err(self.failed("write", &name, "the agent began anew".to_owned()))
            }
        }
    }

    fn failed(&self, action: &'static str, path: &str, reason: String) -> RemoteError {
        RemoteError::File {
            place: self.place().clone(),
            action,
            path: path.to_owned(),
            reason,
        }
    }
}

/// The conversation with `casement-node receive`.
struct Receiver<'a> {
    session: &'a WinRmSession,
    name: &'a str,
    process: Process,
    stdout: Decoder,
    stderr: Vec<u8>,
}

impl<'a> Receiver<'a> {
    fn new(session: &'a WinRmSession, name: &'a str, process: Process) -> Self {
        Self {
            session,
            name,
            process,
            stdout: Decoder::new(),
            stderr: Vec::new(),
        }
    }

    /// False when it does not listen any more: what it said last, or the cut,
    /// is still to be heard, and says more than this failure.
    async fn say(&mut self, message: &ToReceiver) -> Result<bool, RemoteError> {
        let line = encode(message).map_err(|source| self.wire(source))?;
        Ok(self.process.write(line).await.is_ok())
    }

    async fn hear(&mut self) -> Result<FromReceiver, RemoteError> {
        loop {
            match self.stdout.next_line() {
                Ok(Some(Line::Message(message))) => return Ok(message),
                Ok(Some(Line::Noise(_))) => continue,
                Ok(None) => {}
                Err(source) => return Err(self.wire(source)),
            }
            match self.process.next().await {
                Some(ProcessEvent::Stdout(data)) => self.stdout.push(&data),
                Some(ProcessEvent::Stderr(data)) => self.stderr.extend_from_slice(&data),
                Some(ProcessEvent::End { closed: true, .. }) => {
                    let said = String::from_utf8_lossy(&self.stderr).trim().to_owned();
                    return Err(self.session.failed("write", self.name, said));
                }
                Some(ProcessEvent::End { closed: false, .. }) | None => {
                    return Err(RemoteError::Lost {
                        place: self.session.place().clone(),
                        step: "copying files",
                        source: None,
                    });
                }
            }
        }
    }

    fn wire(&self, source: casement_resource::wire::LineError) -> RemoteError {
        RemoteError::Wire {
            place: self.session.place().clone(),
            source,
        }
    }
}

async fn send_lines(
    process: &Process,
    agent: &Agent,
    progress: &mut impl FnMut(Progress),
) -> Result<(), RemoteError> {
    let unreadable = |source| RemoteError::LocalFile {
        action: "read",
        path: agent.path.clone(),
        source,
    };
    let mut file = File::open(&agent.path).await.map_err(unreadable)?;
    let mut done = 0;
    loop {
        let piece = read_piece(&mut file).await.map_err(unreadable)?;
        if piece.is_empty() {
            return Ok(());
        }
        let mut text = String::with_capacity(piece.len() / LINE * (LINE / 3 * 4 + 2) + 80);
        for line in piece.chunks(LINE) {
            STANDARD.encode_string(line, &mut text);
            text.push_str("\r\n");
        }
        process.write(text).await?;
        done += piece.len() as u64;
        progress(Progress {
            done,
            total: agent.size,
            resumed: 0,
        });
    }
}

async fn read_piece(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(PIECE);
    file.take(PIECE as u64).read_to_end(&mut piece).await?;
    Ok(piece)
}

/// The hash of the first bytes of a file.
async fn prefix_hash(file: &mut File, length: u64) -> std::io::Result<Sha256> {
    file.seek(std::io::SeekFrom::Start(0)).await?;
    let mut hasher = sha2::Sha256::new();
    let mut left = length;
    while left > 0 {
        let mut piece = Vec::with_capacity(PIECE);
        let mut some = (&mut *file).take(left.min(PIECE as u64));
        if some.read_to_end(&mut piece).await? == 0 {
            break;
        }
        left = left.saturating_sub(piece.len() as u64);
        hasher.update(&piece);
    }
    Ok(Sha256::from_bytes(hasher.finalize().into()))
}

/// The hash in what `certutil -hashfile` printed: the line that is nothing else,
/// whatever the language around it. Old ones put blanks between the bytes.
fn printed_hash(output: &Output) -> Option<Sha256> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| {
        let digits: String = line.split_whitespace().collect();
        (digits.len() == 64).then(|| digits.to_lowercase().parse().ok())?
    })
}

/// What a command said, for people.
fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let both = [text(&output.stderr), text(&output.stdout)];
    let said: Vec<_> = both.into_iter().filter(|text| !text.is_empty()).collect();
    match said.is_empty() {
        true => "it did not arrive whole, and the host does not say why".to_owned(),
        false => said.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(stdout: &str) -> Option<Sha256> {
        printed_hash(&Output {
            status: Some(0),
            stdout: stdout.as_bytes().to_vec(),
            stderr: Vec::new(),
        })
    }

    #[test]
    fn the_hash_is_found_in_every_language_and_age_of_certutil() {
        let hash = Sha256::of(b"agent");
        let new = format!("SHA256-Hash von C:\\x:\r\n{hash}\r\nCertUtil: Befehl ausgeführt.\r\n");
        assert_eq!(printed(&new), Some(hash));
        let text = hash.to_string();
        let bytes: Vec<&str> = (0..32).map(|at| &text[2 * at..2 * at + 2]).collect();
        let old = format!("SHA256 hash of file C:\\x:\r\n{}\r\n", bytes.join(" "));
        assert_eq!(printed(&old), Some(hash));
        assert_eq!(
            printed("CertUtil: -hashfile command FAILED: 0x80070002\r\n"),
            None
        );
    }
}
