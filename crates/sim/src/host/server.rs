//! The SSH server of a simulated host: one key or one password, a few shell commands,
//! SFTP.

use std::collections::HashMap;
use std::sync::Arc;

use russh::server::{
    Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey, run_stream,
};
use russh::{Channel, ChannelId};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::{Inner, SimSystem, agent, shell};
use crate::sftp;

/// Exit code for an unknown command.
const COMMAND_NOT_FOUND: u32 = 1;

/// Accepts sessions until the host is dropped.
pub async fn listen(listener: TcpListener, host: Arc<Inner>) {
    let config = Arc::new(Config {
        keys: vec![host.host_key.clone()],
        auth_rejection_time: std::time::Duration::ZERO,
        ..Config::default()
    });
    while let Ok((mut stream, _)) = listener.accept().await {
        if host.power.is_down() {
            continue;
        }
        // A pipe between socket and session, so that the connection can be cut.
        let (mut network_end, session_end) = tokio::io::duplex(256 * 1024);
        let handler = SshHandler {
            host: Arc::clone(&host),
            channels: HashMap::new(),
        };
        let config = Arc::clone(&config);
        let connection = tokio::spawn(async move {
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut network_end).await;
        });
        host.track_connection(connection.abort_handle());
        tokio::spawn(async move {
            if let Ok(session) = run_stream(config, session_end, handler).await {
                let _ = session.await;
            }
        });
    }
}

struct SshHandler {
    host: Arc<Inner>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl SshHandler {
    fn user(&self) -> &'static str {
        match self.host.spec.system {
            SimSystem::Windows => "Administrator",
            SimSystem::Linux => "root",
        }
    }

    fn auth_result(&self, user: &str, authenticated: bool) -> Auth {
        match authenticated && user.eq_ignore_ascii_case(self.user()) {
            true => Auth::Accept,
            false => Auth::reject(),
        }
    }
}

impl Handler for SshHandler {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        let accepted = key.public_key.key_data() == self.host.accepted_key.key_data();
        Ok(self.auth_result(user, accepted && self.host.password().is_none()))
    }

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        let accepted = self.host.password();
        Ok(self.auth_result(user, accepted.is_some_and(|accepted| accepted == password)))
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        id: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let Some(channel) = self.channels.remove(&id).filter(|_| name == "sftp") else {
            session.channel_failure(id)?;
            return Ok(());
        };
        session.channel_success(id)?;
        let files = match self.host.spec.system {
            SimSystem::Windows => sftp::windows(&self.host.disk, "/C:/Users/Administrator"),
            SimSystem::Linux => sftp::linux(&self.host.disk, "/root"),
        };
        tokio::spawn(russh_sftp::server::run(channel.into_stream(), files));
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        line: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let Some(channel) = self.channels.remove(&id) else {
            session.channel_failure(id)?;
            return Ok(());
        };
        session.channel_success(id)?;
        let line = String::from_utf8_lossy(line).into_owned();
        let processor = self.host.processor.get();
        if let Some(result) = processor.and_then(|it| shell::run_without_agent(it, &line)) {
            tokio::spawn(send_result(line, Some(result), channel));
        } else if let Some(hash) = agent::agent_hash(&line) {
            agent::serve_channel(&self.host, hash, channel, id, session.handle());
        } else {
            let result = shell::run_line(&self.host.sim.world(), &line);
            tokio::spawn(send_result(line, result, channel));
        }
        Ok(())
    }
}

/// Sends the output of a command, or an error for an unknown command.
async fn send_result(line: String, result: Option<(u32, String)>, channel: Channel<Msg>) {
    let (_, writer) = channel.split();
    let (code, text, stream) = match result {
        Some((0, text)) => (0, text, None),
        Some((code, text)) => (code, text, Some(1)),
        None => {
            let message = format!("'{line}' is not recognized: this host is simulated\r\n");
            (COMMAND_NOT_FOUND, message, Some(1))
        }
    };
    let mut output = writer.make_writer_ext(stream);
    // The client may have disconnected.
    let _ = output.write_all(text.as_bytes()).await;
    let _ = writer.exit_status(code).await;
    let _ = writer.eof().await;
    let _ = writer.close().await;
}
