//! An SSH server in this process: accepts one key, runs fake commands, serves a folder
//! over SFTP, and can drop its connections.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use casement_remote::{HostEndpoint, PrivateKey, Target};
use russh::keys::PublicKey;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::server::{
    Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey, run_stream,
};
use russh::{Channel, ChannelId};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::fake_sftp::FakeSftp;

/// Deterministic.
pub fn key(seed: u8) -> PrivateKey {
    let pair = Ed25519Keypair::from_seed(&[seed; 32]);
    PrivateKey::new(KeypairData::from(pair), "").unwrap()
}

pub struct FakeServer {
    pub folder: tempfile::TempDir,
    pub port: u16,
    pub shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// The response to an SFTP request.
#[derive(Default, Clone, Copy)]
pub enum Subsystem {
    #[default]
    Served,
    Unsupported,
    /// The SFTP program exits at once.
    Exits,
    /// The connection drops before the first response.
    Drops,
}

pub struct Shared {
    pub root: PathBuf,
    accepted: PublicKey,
    /// The command lines that clients ran.
    pub commands: Mutex<Vec<String>>,
    /// The lines sent to the channel process.
    pub received: Mutex<Vec<String>>,
    /// Drops the connection once after this many bytes written over SFTP.
    pub drop_after: AtomicU64,
    pub written: AtomicU64,
    /// Programs run only if their file exists.
    pub needs_agent: AtomicBool,
    /// Programs do not run at all.
    pub broken: AtomicBool,
    /// Command lines go through the bash of Git for Windows.
    pub git_bash: AtomicBool,
    /// The value of `PROCESSOR_ARCHITECTURE`.
    pub processor: Mutex<&'static str>,
    pub subsystem: Mutex<Subsystem>,
    connections: Mutex<Vec<JoinHandle<()>>>,
}

impl Shared {
    /// Whether the program of a command line runs.
    fn runs(&self, line: &str) -> bool {
        let path = line
            .split('"')
            .nth(1)
            .unwrap_or_default()
            .replace('\\', "/");
        let exists = !self.needs_agent.load(Ordering::SeqCst) || self.root.join(path).is_file();
        exists && !self.broken.load(Ordering::SeqCst)
    }

    /// Aborts all connections.
    pub fn drop_connections(&self) {
        for connection in self.connections.lock().unwrap().drain(..) {
            connection.abort();
        }
    }
}

impl FakeServer {
    pub async fn start() -> Self {
        Self::start_on("127.0.0.1:0").await
    }

    /// Listens on a given address, for hosts that return.
    pub async fn start_on(address: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("C:")).unwrap();
        let shared = Arc::new(Shared {
            root,
            accepted: key(1).public_key().clone(),
            commands: Mutex::default(),
            received: Mutex::default(),
            drop_after: AtomicU64::new(u64::MAX),
            written: AtomicU64::new(0),
            needs_agent: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            git_bash: AtomicBool::new(false),
            processor: Mutex::new("AMD64"),
            subsystem: Mutex::default(),
            connections: Mutex::default(),
        });
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        let server = Self {
            folder,
            port,
            shared,
            task,
        };
        server.write_known_hosts(&key(2));
        server
    }

    pub fn known_hosts(&self) -> PathBuf {
        self.folder.path().join("known_hosts")
    }

    /// Records a host key; the actual key is `key(2)`.
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

    pub async fn connect(&self) -> casement_remote::Connection {
        HostEndpoint::from(self.target()).connect().await.unwrap()
    }

    /// A local file with incompressible content.
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

    /// The local path of a path on the host.
    pub fn local_path(&self, path: &str) -> PathBuf {
        self.shared.root.join(path.trim_start_matches('/'))
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.drop_connections();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let config = Arc::new(Config {
        keys: vec![key(2)],
        auth_rejection_time: std::time::Duration::ZERO,
        ..Config::default()
    });
    while let Ok((mut stream, _)) = listener.accept().await {
        let (mut outer, inner) = tokio::io::duplex(256 * 1024);
        let handler = Connection {
            shared: Arc::clone(&shared),
            channels: HashMap::new(),
        };
        let config = Arc::clone(&config);
        let connection = tokio::spawn(async move {
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut outer).await;
        });
        shared.connections.lock().unwrap().push(connection);
        tokio::spawn(async move {
            if let Ok(session) = run_stream(config, inner, handler).await {
                let _ = session.await;
            }
        });
    }
}

struct Connection {
    shared: Arc<Shared>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        let accepted =
            user == "admin" && key.public_key.key_data() == self.shared.accepted.key_data();
        Ok(if accepted {
            Auth::Accept
        } else {
            Auth::reject()
        })
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
        if let Subsystem::Unsupported = subsystem {
            return session.channel_failure(id);
        }
        session.channel_success(id)?;
        match subsystem {
            Subsystem::Exits => return session.close(id),
            Subsystem::Drops => {
                self.shared.drop_connections();
                return Ok(());
            }
            Subsystem::Served | Subsystem::Unsupported => {}
        }
        let files = FakeSftp::new(Arc::clone(&self.shared));
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

async fn command(line: String, channel: Channel<Msg>, shared: Arc<Shared>) {
    let (mut reader, writer) = channel.split();
    let (mut stdout, mut stderr) = (writer.make_writer(), writer.make_writer_ext(Some(1)));
    let mut status = 0;
    if line.starts_with("echo casement-cmd") {
        let processor = *shared.processor.lock().unwrap();
        let text = line
            .trim_start_matches("echo ")
            .replace("%OS%", "Windows_NT");
        let text = text.replace("%PROCESSOR_ARCHITECTURE%", processor);
        stdout
            .write_all(format!("{text}\r\n").as_bytes())
            .await
            .unwrap();
    } else if line.starts_with("cmd /c ") && shared.git_bash.load(Ordering::SeqCst) {
        // Git's bash turns `/c` into `C:/`, so cmd gets no command and reads stdin.
        read_commands(reader.make_reader(), &mut stdout).await;
    } else if line.ends_with(" channel") && shared.runs(&line) {
        run_channel(reader.make_reader(), &mut stdout, &shared).await;
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
    // The exit status may precede the last output; the close follows both.
    let _ = writer.exit_status(status).await;
    if line == "both" {
        let _ = stdout.write_all(b" late").await;
    }
    let _ = writer.eof().await;
    let _ = writer.close().await;
}

/// An interactive cmd.
async fn read_commands(
    reader: impl tokio::io::AsyncRead + Unpin,
    stdout: &mut (impl tokio::io::AsyncWrite + Unpin),
) {
    let banner = b"Microsoft Windows [Version 10.0.20348]\r\n\r\nC:\\Users\\admin>";
    stdout.write_all(banner).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let name = line.split(' ').next().unwrap_or_default();
        let text = format!("{line}\r\n'{name}' is not recognized\r\n\r\nC:\\Users\\admin>");
        stdout.write_all(text.as_bytes()).await.unwrap();
    }
}

/// Prints a banner and responds to each line; `retire` drops the connection.
async fn run_channel(
    reader: impl tokio::io::AsyncRead + Unpin,
    stdout: &mut (impl tokio::io::AsyncWrite + Unpin),
    shared: &Shared,
) {
    let noise = b"Microsoft Windows [Version 10.0.20348]\r\n";
    stdout.write_all(noise).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        shared.received.lock().unwrap().push(line.clone());
        if line == "casement1 \"retire\"" {
            return shared.drop_connections();
        }
        let bye = line == "casement1 \"bye\"";
        let response = if bye { "bye" } else { "retired" };
        let response = format!("casement1 \"{response}\"\r\n");
        stdout.write_all(response.as_bytes()).await.unwrap();
        if bye {
            return;
        }
    }
}

/// Drops the connections after `drop_after` bytes.
pub fn count_written(shared: &Shared, bytes: usize) {
    let written = shared.written.fetch_add(bytes as u64, Ordering::SeqCst) + bytes as u64;
    if written >= shared.drop_after.load(Ordering::SeqCst) {
        shared.drop_after.store(u64::MAX, Ordering::SeqCst);
        shared.drop_connections();
    }
}

/// The names in a local folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
