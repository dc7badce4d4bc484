//! Copies files to a host over WinRM.
//!
//! The agent is sent as base64 lines to `findstr "^"`, which copies its input to a file;
//! `certutil` decodes and hashes it. Both are part of every Windows, and neither needs
//! PowerShell. Once the agent is there, it receives blobs itself (`casement-node
//! receive`): it resumes interrupted transfers, hashes while it writes, and renames a
//! blob when it is complete.

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
use crate::error::{AgentError, ConnectionError, FileError, RemoteError};
use crate::paths::RemotePath;
use crate::process::{Output, Process, ProcessEvent};
use crate::sftp::TransferProgress;

/// Bytes per base64 line, as in the output of `certutil`.
const LINE_BYTES: usize = 48;
/// Bytes per read: whole base64 lines.
const CHUNK_BYTES: usize = 4096 * LINE_BYTES;

impl WinRmSession {
    /// Copies the agent to `path`. It is renamed to its final name only after its hash
    /// was verified.
    pub(crate) async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        mut progress: impl FnMut(TransferProgress),
    ) -> Result<Delivery, RemoteError> {
        let program = path.native();
        let dir = path.parent().map(|dir| dir.native());
        let dir = dir.unwrap_or_default();
        let existing = self
            .run(&format!("certutil -hashfile \"{program}\" SHA256"))
            .await?;
        if parse_hash(&existing).as_ref() == Some(&agent.hash) {
            return Ok(Delivery::Reused);
        }
        let process = self
            .start(&format!(
                "mkdir \"{dir}\" 2>nul & findstr \"^\" > \"{program}.b64\" && \
                 certutil -f -decode \"{program}.b64\" \"{program}.part\" >nul && \
                 certutil -hashfile \"{program}.part\" SHA256"
            ))
            .await?;
        send_lines(&process, agent, &mut progress).await?;
        process.send_eof().await;
        let output = process.output().await?;
        if parse_hash(&output).as_ref() != Some(&agent.hash) {
            self.run(&format!("del /q \"{program}.b64\" \"{program}.part\""))
                .await?;
            return Err(self.failed("write", &program, output_text(&output)));
        }
        let moved = self
            .run(&format!(
                "del /q \"{program}.b64\" & move /y \"{program}.part\" \"{program}\""
            ))
            .await?;
        match moved.status {
            Some(0) => Ok(Delivery::Sent(agent.size)),
            _ => Err(self.failed("rename", &format!("{program}.part"), output_text(&moved))),
        }
    }

    /// Removes the agent and the parent directories that are empty then.
    pub(crate) async fn remove_agent(&self, path: &RemotePath) -> Result<(), RemoteError> {
        let program = path.native();
        let mut line = format!("del /f /q \"{program}\" 2>nul");
        let mut dir = path.parent();
        // agent\<hash>, agent, casement; `rmdir` keeps directories that are not empty.
        for _ in 0..3 {
            let Some(path) = dir else { break };
            line.push_str(&format!(" & rmdir \"{}\" 2>nul", path.native()));
            dir = path.parent();
        }
        line.push_str(&format!(" & if exist \"{program}\" (exit 5) else (exit 0)"));
        let output = self.run(&line).await?;
        match output.status {
            Some(0) => Ok(()),
            _ => Err(self.failed("remove", &program, output_text(&output))),
        }
    }

    /// Copies a blob to the host's store through the installed agent. Returns the number
    /// of bytes sent.
    pub(crate) async fn put_blob(
        &self,
        home: &AgentHome,
        from: &Path,
        hash: &Sha256,
        mut progress: impl FnMut(TransferProgress),
    ) -> Result<u64, RemoteError> {
        let read_error = |source| {
            RemoteError::File(FileError::Local {
                action: "read",
                path: from.to_owned(),
                source,
            })
        };
        let mut file = File::open(from).await.map_err(read_error)?;
        let total = file.metadata().await.map_err(read_error)?.len();
        let name = home.paths().blob(hash).native();
        let line = home.command_line(&["receive", &hash.to_string(), &total.to_string()]);
        let process = self.start(&line).await?;
        let mut receiver = Receiver::new(self, &name, process);
        let (bytes, received_hash) = match receiver.receive().await? {
            FromReceiver::Done => return Ok(0),
            FromReceiver::Have { bytes, sha256 } => (bytes.min(total), sha256),
            FromReceiver::Failed(failure) => {
                return Err(self.failed("write", &name, failure.to_string()));
            }
        };
        let resumed = match prefix_hash(&mut file, bytes).await.map_err(read_error)? {
            local_hash if local_hash == received_hash => bytes,
            _ => 0,
        };
        let start = std::io::SeekFrom::Start(resumed);
        file.seek(start).await.map_err(read_error)?;
        let mut reading = receiver.send(&ToReceiver::From { bytes: resumed }).await?;
        let mut done = resumed;
        while reading {
            let chunk = read_chunk(&mut file).await.map_err(read_error)?;
            if chunk.is_empty() {
                break;
            }
            done += chunk.len() as u64;
            let data = STANDARD.encode(chunk);
            reading = receiver.send(&ToReceiver::Data(data)).await?;
            progress(TransferProgress {
                done,
                total,
                resumed,
            });
        }
        if reading {
            receiver.send(&ToReceiver::End).await?;
        }
        match receiver.receive().await? {
            FromReceiver::Done => Ok(total - resumed),
            FromReceiver::Failed(failure) => Err(self.failed("write", &name, failure.to_string())),
            FromReceiver::Have { .. } => Err(self.failed(
                "write",
                &name,
                "the agent restarted the transfer".to_owned(),
            )),
        }
    }

    fn failed(&self, action: &'static str, path: &str, reason: String) -> RemoteError {
        RemoteError::File(FileError::Remote {
            host: self.host().clone(),
            action,
            path: path.to_owned(),
            reason,
        })
    }
}

/// A running `casement-node receive`.
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

    /// False if the receiver no longer reads: its last message, or the lost connection,
    /// explains more than this error.
    async fn send(&mut self, message: &ToReceiver) -> Result<bool, RemoteError> {
        let line = encode(message).map_err(|source| self.wire_error(source))?;
        Ok(self.process.write(line).await.is_ok())
    }

    async fn receive(&mut self) -> Result<FromReceiver, RemoteError> {
        loop {
            match self.stdout.next_line() {
                Ok(Some(Line::Message(message))) => return Ok(message),
                Ok(Some(Line::Noise(_))) => continue,
                Ok(None) => {}
                Err(source) => return Err(self.wire_error(source)),
            }
            match self.process.next().await {
                Some(ProcessEvent::Stdout(data)) => self.stdout.push(&data),
                Some(ProcessEvent::Stderr(data)) => self.stderr.extend_from_slice(&data),
                Some(ProcessEvent::End { closed: true, .. }) => {
                    let message = String::from_utf8_lossy(&self.stderr).trim().to_owned();
                    return Err(self.session.failed("write", self.name, message));
                }
                Some(ProcessEvent::End { closed: false, .. }) | None => {
                    return Err(RemoteError::Connection(ConnectionError::Lost {
                        host: self.session.host().clone(),
                        step: "copying files",
                        source: None,
                    }));
                }
            }
        }
    }

    fn wire_error(&self, source: casement_resource::wire::LineError) -> RemoteError {
        RemoteError::Agent(AgentError::Wire {
            host: self.session.host().clone(),
            source,
        })
    }
}

async fn send_lines(
    process: &Process,
    agent: &Agent,
    progress: &mut impl FnMut(TransferProgress),
) -> Result<(), RemoteError> {
    let read_error = |source| {
        RemoteError::File(FileError::Local {
            action: "read",
            path: agent.path.clone(),
            source,
        })
    };
    let mut file = File::open(&agent.path).await.map_err(read_error)?;
    let mut done = 0;
    loop {
        let chunk = read_chunk(&mut file).await.map_err(read_error)?;
        if chunk.is_empty() {
            return Ok(());
        }
        let mut text =
            String::with_capacity(chunk.len() / LINE_BYTES * (LINE_BYTES / 3 * 4 + 2) + 80);
        for line in chunk.chunks(LINE_BYTES) {
            STANDARD.encode_string(line, &mut text);
            text.push_str("\r\n");
        }
        process.write(text).await?;
        done += chunk.len() as u64;
        progress(TransferProgress {
            done,
            total: agent.size,
            resumed: 0,
        });
    }
}

async fn read_chunk(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    file.take(CHUNK_BYTES as u64)
        .read_to_end(&mut chunk)
        .await?;
    Ok(chunk)
}

async fn prefix_hash(file: &mut File, length: u64) -> std::io::Result<Sha256> {
    file.seek(std::io::SeekFrom::Start(0)).await?;
    let mut hasher = sha2::Sha256::new();
    let mut remaining = length;
    while remaining > 0 {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        let mut some = (&mut *file).take(remaining.min(CHUNK_BYTES as u64));
        if some.read_to_end(&mut chunk).await? == 0 {
            break;
        }
        remaining = remaining.saturating_sub(chunk.len() as u64);
        hasher.update(&chunk);
    }
    Ok(Sha256::from_bytes(hasher.finalize().into()))
}

/// The hash in the output of `certutil -hashfile`: the only line of 64 hex digits, in
/// every language. Old versions put spaces between the bytes.
fn parse_hash(output: &Output) -> Option<Sha256> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| {
        let digits: String = line.split_whitespace().collect();
        (digits.len() == 64).then(|| digits.to_lowercase().parse().ok())?
    })
}

fn output_text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let streams = [text(&output.stderr), text(&output.stdout)];
    let texts: Vec<_> = streams
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    match texts.is_empty() {
        true => "the file is incomplete, and the host reported no reason".to_owned(),
        false => texts.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_in(stdout: &str) -> Option<Sha256> {
        parse_hash(&Output {
            status: Some(0),
            stdout: stdout.as_bytes().to_vec(),
            stderr: Vec::new(),
        })
    }

    #[test]
    fn hash_is_found_in_every_language_and_version_of_certutil() {
        let hash = Sha256::of(b"agent");
        let new = format!("SHA256-Hash von C:\\x:\r\n{hash}\r\nCertUtil: Befehl ausgeführt.\r\n");
        assert_eq!(hash_in(&new), Some(hash));
        let text = hash.to_string();
        let bytes: Vec<&str> = (0..32).map(|at| &text[2 * at..2 * at + 2]).collect();
        let old = format!("SHA256 hash of file C:\\x:\r\n{}\r\n", bytes.join(" "));
        assert_eq!(hash_in(&old), Some(hash));
        assert_eq!(
            hash_in("CertUtil: -hashfile command FAILED: 0x80070002\r\n"),
            None
        );
    }
}
