//! Logins at a real OpenSSH server: keys with passphrases, agents, certificates,
//! passwords, bastions, and their errors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use casement_remote::{
    AgentHome, AgentPaths, Credential, Hop, HostEndpoint, HostKeyPolicy, HostOs, RemoteError,
    Session, Target, load_certificate, load_encrypted_key, load_key, load_public_key,
};
use casement_resource::Secret;

use crate::sshd::{PASSWORD, Server, USER, make_key, run};

const PASSPHRASE: &str = "open sesame";

async fn assert_logs_in(target: &Target) {
    let session = match Session::connect(target).await {
        Ok(session) => session,
        Err(error) => panic!("{error}: {:?}", error.problem().detail),
    };
    let output = session.run("id -un").await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), USER);
    session.close().await;
}

async fn login_error(target: &Target) -> RemoteError {
    match Session::connect(target).await {
        Ok(_) => panic!("the login succeeded"),
        Err(error) => error,
    }
}

fn values(error: &RemoteError) -> String {
    let details = error.problem().detail;
    let details: Vec<_> = details.iter().map(|(a, b)| format!("{a} {b}")).collect();
    details.join("; ")
}

#[tokio::test]
#[ignore = "needs root and OpenSSH"]
async fn encrypted_key_needs_its_passphrase() {
    let server = Server::start("");
    let locked = server.at("locked");
    make_key(&locked, PASSPHRASE);
    fs::copy(server.at("locked.pub"), server.at("authorized")).unwrap();
    assert_eq!(load_key(&locked).unwrap_err().problem().code, "CAS-SSH-011");
    let wrong = load_encrypted_key(&locked, &Secret::new("close sesame".to_owned()));
    let wrong = wrong.unwrap_err();
    assert_eq!(wrong.problem().code, "CAS-SSH-024");
    assert!(!format!("{wrong} {wrong:?}").contains("close sesame"));
    let key = load_encrypted_key(&locked, &Secret::new(PASSPHRASE.to_owned())).unwrap();
    assert_logs_in(&server.target(key)).await;
    assert_eq!(login_error(&server.plain()).await.code(), "CAS-SSH-003");
}

#[tokio::test]
#[ignore = "needs root and OpenSSH"]
async fn wrong_password_differs_from_a_server_without_passwords() {
    let password = |text: &str| Credential::Password(Secret::new(text.to_owned()));
    let server = Server::start("PasswordAuthentication yes");
    assert_logs_in(&server.target(password(PASSWORD))).await;
    let wrong = login_error(&server.target(password("hunter2"))).await;
    assert_eq!(wrong.code(), "CAS-SSH-022");
    assert!(
        wrong.problem().help.contains("access.ssh.password"),
        "{}",
        wrong.problem().help
    );
    let text = format!(
        "{wrong} {wrong:?} {} {}",
        values(&wrong),
        wrong.problem().help
    );
    assert!(!text.contains("hunter2"), "{text}");
    let server = Server::start("PasswordAuthentication no");
    let never = login_error(&server.target(password(PASSWORD))).await;
    assert_eq!(never.code(), "CAS-SSH-022");
    assert_eq!(
        values(&never),
        format!("user {USER}; host accepts publickey")
    );
    assert!(
        never.problem().help.contains("does not accept passwords"),
        "{}",
        never.problem().help
    );
}

/// `ssh-agent`, stopped on drop.
struct Agent {
    socket: PathBuf,
    process: Child,
}

impl Agent {
    fn start(folder: &Path) -> Self {
        let socket = folder.join("agent");
        let process = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while !socket.exists() {
            assert!(Instant::now() < end, "ssh-agent does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { socket, process }
    }

    fn add(&self, key: &Path) {
        let added = Command::new("ssh-add")
            .arg("-q")
            .arg(key)
            .env("SSH_AUTH_SOCK", &self.socket)
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(added.success());
    }

    fn credential(&self, only: Option<&Path>) -> Credential {
        Credential::Agent {
            socket: self.socket.clone(),
            only: only.map(|path| load_public_key(path).unwrap().into()),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
#[ignore = "needs root and OpenSSH"]
async fn agent_logs_in_with_its_keys() {
    let server = Server::start("");
    let agent = Agent::start(&server.at(""));
    let empty = login_error(&server.target(agent.credential(None))).await;
    assert_eq!(empty.code(), "CAS-SSH-023");
    assert_eq!(values(&empty), "reason the agent has no keys");
    make_key(&server.at("other"), "");
    agent.add(&server.at("other"));
    let unknown = login_error(&server.target(agent.credential(None))).await;
    assert_eq!(unknown.code(), "CAS-SSH-003");
    agent.add(&server.at("id"));
    assert_logs_in(&server.target(agent.credential(None))).await;
    assert_logs_in(&server.target(agent.credential(Some(&server.at("id"))))).await;
    make_key(&server.at("absent"), "");
    let absent = login_error(&server.target(agent.credential(Some(&server.at("absent"))))).await;
    assert!(values(&absent).contains("the agent has no key with the fingerprint SHA256:"));
    let missing = Credential::Agent {
        socket: server.at("nowhere"),
        only: None,
    };
    assert_eq!(
        login_error(&server.target(missing)).await.code(),
        "CAS-SSH-023"
    );
}

#[tokio::test]
#[ignore = "needs root and OpenSSH"]
async fn certificate_authorizes_an_unknown_key() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca");
    make_key(&ca, "");
    let trusted = format!("TrustedUserCAKeys {}.pub", ca.display());
    let server = Server::start(&trusted);
    let key = server.at("signed");
    make_key(&key, "");
    let credential = || Credential::Key {
        key: load_key(&key).unwrap().into(),
        certificate: load_certificate(&key).unwrap(),
    };
    assert!(load_certificate(&key).unwrap().is_none());
    assert_eq!(
        login_error(&server.target(credential())).await.code(),
        "CAS-SSH-003"
    );
    let sign = |validity: &str| {
        let (ca, key) = (ca.to_str().unwrap(), key.to_str().unwrap());
        let public = format!("{key}.pub");
        run(
            "ssh-keygen",
            &[
                "-q", "-s", ca, "-I", "test", "-n", USER, "-V", validity, &public,
            ],
        );
    };
    sign("-5m:+1h");
    assert_logs_in(&server.target(credential())).await;
    let agent = Agent::start(&server.at(""));
    agent.add(&key);
    assert_logs_in(&server.target(agent.credential(Some(&key)))).await;
    sign("-2d:-1d");
    let old = load_certificate(&key).unwrap_err();
    assert_eq!(old.code(), "CAS-SSH-025");
    assert!(values(&old).contains("valid from"), "{}", values(&old));
}

#[tokio::test]
#[ignore = "needs root and OpenSSH"]
async fn hosts_behind_a_bastion_share_its_connection() {
    let host = Server::start("");
    let bastion = Server::start("LogLevel VERBOSE");
    let hop = Hop::new(bastion.plain());
    let through = |hop: &Hop, port| {
        let mut target = host.plain();
        target.via = Some(hop.clone());
        target.port = port;
        target
    };
    let one = through(&hop, host.port);
    let (first, second) = tokio::join!(Session::connect(&one), Session::connect(&one));
    let (first, second) = (first.unwrap(), second.unwrap());
    let connection = first.run("echo $SSH_CONNECTION").await.unwrap();
    assert!(!connection.stdout.is_empty());
    drop((first, second));
    assert_logs_in(&one).await;
    let log = fs::read_to_string(bastion.at("log")).unwrap();
    assert_eq!(log.matches("Accepted publickey").count(), 1, "{log}");

    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = free.local_addr().unwrap().port();
    drop(free);
    let error = login_error(&through(&hop, closed)).await;
    assert_eq!(error.code(), "CAS-SSH-026");
    assert!(
        values(&error).contains("the bastion cannot connect to the host"),
        "{}",
        values(&error)
    );

    let strict = Server::start("AllowTcpForwarding no");
    let error = login_error(&through(&Hop::new(strict.plain()), host.port)).await;
    assert_eq!(error.code(), "CAS-SSH-026");
    assert!(
        values(&error).contains("does not allow forwarding"),
        "{}",
        values(&error)
    );

    let mut unknown = bastion.plain();
    unknown.known_hosts = bastion.at("nothing");
    let error = login_error(&through(&Hop::new(unknown), host.port)).await;
    assert_eq!(
        error.code(),
        "CAS-SSH-001",
        "the host key of the bastion is checked too"
    );
}

#[tokio::test]
#[ignore = "needs root and OpenSSH"]
async fn new_host_key_is_recorded_once_and_reported() {
    let server = Server::start("");
    fs::remove_file(server.at("known_hosts")).unwrap();
    let mut target = server.plain();
    target.host_keys = HostKeyPolicy::AcceptNew;
    assert_logs_in(&target).await;
    let new = target.new_keys.take();
    let lines = run(
        "ssh-keygen",
        &["-l", "-f", server.at("host_key.pub").to_str().unwrap()],
    );
    let fingerprint = lines.split(' ').nth(1).unwrap();
    assert_eq!(new.len(), 1);
    assert_eq!(new[0].fingerprint, format!("{fingerprint} (ED25519)"));
    assert_eq!(new[0].known_hosts, server.at("known_hosts"));
    assert_logs_in(&target).await;
    assert!(target.new_keys.take().is_empty());
    // A second name, as with `HostKeyAlias`.
    target.host_key_alias = Some("the-host".to_owned());
    assert_logs_in(&target).await;
    let text = fs::read_to_string(server.at("known_hosts")).unwrap();
    assert!(
        text.lines().any(|line| line.starts_with("the-host ")),
        "{text}"
    );
}

#[tokio::test]
#[ignore = "needs root and OpenSSH"]
async fn other_architecture_or_os_is_reported_before_any_upload() {
    use std::os::unix::fs::PermissionsExt as _;
    let programs = tempfile::tempdir().unwrap();
    let uname = programs.path().join("uname");
    fs::write(&uname, "#!/bin/sh\necho Linux sparc64\n").unwrap();
    for path in [uname.as_path(), programs.path()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let first = format!("SetEnv PATH={}:/usr/bin:/bin", programs.path().display());
    let server = Server::start(&first);
    let endpoint = HostEndpoint::from(server.plain());
    let session = endpoint.connect().await.unwrap();
    let before = fs::read_dir(server.at("")).unwrap().count();
    let ours = std::env::consts::ARCH;
    for (os, remedy) in [(HostOs::Linux, "--agent-dir"), (HostOs::Windows, "`os`")] {
        let agent = casement_remote::Agent::load(&std::env::current_exe().unwrap(), os).unwrap();
        let state = server.at("state").display().to_string();
        let home = AgentHome::with_paths(agent, AgentPaths::below(os, &state));
        let error = home.open(&session, "me", |_| {}).await.err().unwrap();
        assert_eq!(error.code(), "CAS-SSH-027", "{error:?}");
        let expected = format!("host Linux, sparc64; agent {os}, {ours}");
        assert_eq!(values(&error), expected);
        assert!(
            error.problem().help.contains(remedy),
            "{}",
            error.problem().help
        );
    }
    assert!(!server.at("state").exists());
    assert_eq!(fs::read_dir(server.at("")).unwrap().count(), before);
}
