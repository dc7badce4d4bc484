//! The SSH server of a simulated host: one key or one password, the shell's few
//! commands, SFTP.

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

/// What a shell says of a command that it does not have.
const NOT_FOUND: u32 = 1;

/// Lets sessions in until the host is gone.
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
        // Between the socket and the session there is a wire that can be cut.
        let (mut outside, inside) = tokio::io::duplex(256 * 1024);
        let login = Login {
            host: Arc::clone(&host),
            channels: HashMap::new(),
        };
        let config = Arc::clone(&config);
        let wire = tokio::spawn(async move {
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut outside).await;
        });
        host.carry(wire.abort_handle());
        tokio::spawn(async move {
            if let Ok(session) = run_stream(config, inside, login).await {
                let _ = session.await;
            }
        });
    }
}

struct Login {
    host: Arc<Inner>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl Login {
    fn user(&self) -> &'static str {
        match self.host.spec.system {
            SimSystem::Windows => "Administrator",
            SimSystem::Linux => "root",
        }
    }

    fn verdict(&self, user: &str, proved: bool) -> Auth {
        match proved && user.eq_ignore_ascii_case(self.user()) {
            true => Auth::Accept,
            false => Auth::reject(),
        }
    }
}

impl Handler for Login {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        let known = key.public_key.key_data() == self.host.accepted.key_data();
        Ok(self.verdict(user, known && self.host.password().is_none()))
    }

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        let known = self.host.password();
        Ok(self.verdict(user, known.is_some_and(|known| known == password)))
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
        if let Some(said) = processor.and_then(|it| shell::said_on(it, &line)) {
            tokio::spawn(answer(line, Some(said), channel));
        } else if let Some(hash) = agent::named_in(&line) {
            agent::converse(&self.host, hash, channel, id, session.handle());
        } else {
            let said = shell::said(&self.host.sim.world(), &line);
            tokio::spawn(answer(line, said, channel));
        }
        Ok(())
    }
}

/// What the shell says, or that it does not know such a command.
async fn answer(line: String, said: Option<(u32, String)>, channel: Channel<Msg>) {
    let (_, writer) = channel.split();
    let (code, text, stream) = match said {
        Some((0, text)) => (0, text, None),
        Some((code, text)) => (code, text, Some(1)),
        None => {
            let said = format!("'{line}' is not recognized: this host is simulated\r\n");
            (NOT_FOUND, said, Some(1))
        }
    };
    let mut output = writer.make_writer_ext(stream);
    // Whoever has hung up does not need the answer.
    let _ = output.write_all(text.as_bytes()).await;
    let _ = writer.exit_status(code).await;
    let _ = writer.eof().await;
    let _ = writer.close().await;
}
