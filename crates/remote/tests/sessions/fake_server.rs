//! An SSH server in this process: it takes one key, runs made-up commands, serves
//! a folder by SFTP, and can be cut off.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use casement_remote::{PrivateKey, Target};
use russh::keys::PublicKey;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::server::{
    Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey, run_stream,
};
use russh::{Channel, ChannelId};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::files_double::Files;

/// A key made from a number: tests must not depend on chance.
pub fn key(seed: u8) -> PrivateKey {
    let pair = Ed25519Keypair::from_seed(&[seed; 32]);
    PrivateKey::new(KeypairData::from(pair), "").unwrap()
}

/// The server, and everything that a test may look at.
pub struct Double {
    pub folder: tempfile::TempDir,
    pub port: u16,
    pub shared: Arc<Shared>,
    server: JoinHandle<()>,
}

/// What becomes of SFTP when it is asked for.
#[derive(Default, Clone, Copy)]
pub enum Subsystem {
    #[default]
    Served,
    /// There is no such subsystem.
    Refused,
    /// Its program ends at once.
    Ends,
    /// The connection is cut before it says a word.
    Cut,
}

pub struct Shared {
    pub root: PathBuf,
    accepted: PublicKey,
    /// The command lines that were run.
    pub commands: Mutex<Vec<String>>,
    /// The lines that the channel process was sent.
    pub said: Mutex<Vec<String>>,
    /// After so many bytes written by SFTP the connection is cut, once.
    pub cut_after: AtomicU64,
    pub written: AtomicU64,
    /// Programs on Windows run only if they are there.
    pub needs_agent: AtomicBool,
    /// No program runs.
    pub broken: AtomicBool,
    /// Git's bash reads the command lines.
    pub git_bash: AtomicBool,
    /// The processor that cmd says the host has.
    pub processor: Mutex<&'static str>,
    /// What becomes of SFTP.
    pub subsystem: Mutex<Subsystem>,
    wires: Mutex<Vec<JoinHandle<()>>>,
}

impl Shared {
    /// Whether the program of a command line would run.
    fn runs(&self, line: &str) -> bool {
        let path = line
            .split('"')
            .nth(1)
            .unwrap_or_default()
            .replace('\\', "/");
        let there = !self.needs_agent.load(Ordering::SeqCst) || self.root.join(path).is_file();
        there && !self.broken.load(Ordering::SeqCst)
    }

    /// Drops every connection on the floor.
    pub fn cut(&self) {
        for wire in self.wires.lock().unwrap().drain(..) {
            wire.abort();
        }
    }
}

impl Double {
    pub async fn start() -> Self {
        Self::on("127.0.0.1:0").await
    }

    /// Listens on a given address, for hosts that come back.
    pub async fn on(address: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("C:")).unwrap();
        let shared = Arc::new(Shared {
            root,
            accepted: key(1).public_key().clone(),
            commands: Mutex::default(),
            said: Mutex::default(),
            cut_after: AtomicU64::new(u64::MAX),
            written: AtomicU64::new(0),
            needs_agent: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            git_bash: AtomicBool::new(false),
            processor: Mutex::new("AMD64"),
            subsystem: Mutex::default(),
            wires: Mutex::default(),
        });
        let server = tokio::spawn(serve(listener, Arc::clone(&shared)));
        let double = Self {
            folder,
            port,
            shared,
            server,
        };
        double.write_known_hosts(&key(2));
        double
    }

    pub fn known_hosts(&self) -> PathBuf {
        self.folder.path().join("known_hosts")
    }

    /// Says that the host has this key (it has number 2).
    pub fn write_known_hosts(&self, key: &PrivateKey) {
        let public = key.public_key().to_openssh().unwrap();
        let line = format!("# hosts of the test\n[127.0.0.1]:{} {public}\n", self.port);
        std::fs::write(self.known_hosts(), line).unwrap();
    }

    pub fn target(&self) -> Target {
        let mut target = Target::new("win1", "127.0.0.1", "admin", key(1), self.known_hosts());
        target.port = self.port;
        target
    }

    /// A file here, with content that does not repeat.
    pub fn local_file(&self, name: &str, size: usize) -> PathBuf {
        let path = self.folder.path().join(name);
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let content: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .take(size.div_ceil(8))
        .flatten()
        .take(size)
        .collect();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Where a path of the host is here.
    pub fn there(&self, path: &str) -> PathBuf {
        self.shared.root.join(path.trim_start_matches('/'))
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.server.abort();
        self.shared.cut();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let config = Arc::new(Config {
        keys: vec![key(2)],
        auth_rejection_time: std::time::Duration::ZERO,
        ..Config::default()
    });
    while let Ok((mut stream, _)) = listener.accept().await {
        let (mut outside, inside) = tokio::io::duplex(256 * 1024);
        let login = Login {
            shared: Arc::clone(&shared),
            channels: HashMap::new(),
        };
        let config = Arc::clone(&config);
        let wire = tokio::spawn(async move {
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut outside).await;
        });
        shared.wires.lock().unwrap().push(wire);
        tokio::spawn(async move {
            if let Ok(session) = run_stream(config, inside, login).await {
                let _ = session.await;
            }
        });
    }
}

struct Login {
    shared: Arc<Shared>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl Handler for Login {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        let right = user == "admin" && key.public_key.key_data() == self.shared.accepted.key_data();
        Ok(if right { Auth::Accept } else { Auth::reject() })
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
        _: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let channel = self.channels.remove(&id).unwrap();
        let subsystem = *self.shared.subsystem.lock().unwrap();
        if let Subsystem::Refused = subsystem {
            return session.channel_failure(id);
        }
        session.channel_success(id)?;
        match subsystem {
            Subsystem::Ends => return session.close(id),
            Subsystem::Cut => {
                self.shared.cut();
                return Ok(());
            }
            Subsystem::Served | Subsystem::Refused => {}
        }
        let files = Files::new(Arc::clone(&self.shared));
        tokio::spawn(russh_sftp::server::run(channel.into_stream(), files));
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        line: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let line = String::from_utf8_lossy(line).into_owned();
        let channel = self.channels.remove(&id).unwrap();
        if line == "refuse" {
            session.channel_failure(id)?;
            return Ok(());
        }
        session.channel_success(id)?;
        self.shared.commands.lock().unwrap().push(line.clone());
        tokio::spawn(command(line, channel, Arc::clone(&self.shared)));
        Ok(())
    }
}

/// The commands that this host knows.
async fn command(line: String, channel: Channel<Msg>, shared: Arc<Shared>) {
    let (mut reader, writer) = channel.split();
    let (mut stdout, mut stderr) = (writer.make_writer(), writer.make_writer_ext(Some(1)));
    let mut status = 0;
    if line.starts_with("echo casement-cmd") {
        let processor = *shared.processor.lock().unwrap();
        let said = line
            .trim_start_matches("echo ")
            .replace("%OS%", "Windows_NT");
        let said = said.replace("%PROCESSOR_ARCHITECTURE%", processor);
        stdout
            .write_all(format!("{said}\r\n").as_bytes())
            .await
            .unwrap();
    } else if line.starts_with("cmd /c ") && shared.git_bash.load(Ordering::SeqCst) {
        // What cmd gets is `cmd C:/ …`: no command, so it reads some.
        read_commands(reader.make_reader(), &mut stdout).await;
    } else if line.ends_with(" channel") && shared.runs(&line) {
        converse(reader.make_reader(), &mut stdout, &shared).await;
    } else if line == "other protocol" {
        let hello = b"casement2 {\"hello\":{}}\r\n";
        stdout.write_all(hello).await.unwrap();
    } else if line == "both" {
        stdout.write_all(b"out").await.unwrap();
        stderr.write_all(b"err").await.unwrap();
        status = 7;
    } else {
        stderr.write_all(b"not recognized\r\n").await.unwrap();
        status = 1;
    }
    // The status may come before the last output, and the close after both.
    let _ = writer.exit_status(status).await;
    if line == "both" {
        let _ = stdout.write_all(b" late").await;
    }
    let _ = writer.eof().await;
    let _ = writer.close().await;
}

/// What cmd does with what it is sent instead of a command.
async fn read_commands(
    reader: impl tokio::io::AsyncRead + Unpin,
    stdout: &mut (impl tokio::io::AsyncWrite + Unpin),
) {
    let banner = b"Microsoft Windows [Version 10.0.20348]\r\n\r\nC:\\Users\\admin>";
    stdout.write_all(banner).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let word = line.split(' ').next().unwrap_or_default();
        let said = format!("{line}\r\n'{word}' is not recognized\r\n\r\nC:\\Users\\admin>");
        stdout.write_all(said.as_bytes()).await.unwrap();
    }
}

/// Some noise, then an answer to each line: the connection is cut at `retire`.
async fn converse(
    reader: impl tokio::io::AsyncRead + Unpin,
    stdout: &mut (impl tokio::io::AsyncWrite + Unpin),
    shared: &Shared,
) {
    let noise = b"Microsoft Windows [Version 10.0.20348]\r\n";
    stdout.write_all(noise).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        shared.said.lock().unwrap().push(line.clone());
        if line == "casement1 \"retire\"" {
            return shared.cut();
        }
        let bye = line == "casement1 \"bye\"";
        let answer = if bye { "bye" } else { "retired" };
        let answer = format!("casement1 \"{answer}\"\r\n");
        stdout.write_all(answer.as_bytes()).await.unwrap();
        if bye {
            return;
        }
    }
}

/// Counts what was written, and cuts the connection when it is enough.
pub fn count(shared: &Shared, bytes: usize) {
    let written = shared.written.fetch_add(bytes as u64, Ordering::SeqCst) + bytes as u64;
    if written >= shared.cut_after.load(Ordering::SeqCst) {
        shared.cut_after.store(u64::MAX, Ordering::SeqCst);
        shared.cut();
    }
}

/// The names in a folder here, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
