//! Host keys, logins and unreachable hosts.

use std::time::Duration;

use casement_remote::{
    HostEndpoint, HostKeyPolicy, HostOs, Reconnect, RemoteError, Session, Shell, load_key,
};
use tokio::net::TcpListener;

use crate::fake_server::{FakeServer, key};

async fn connect_error(target: &casement_remote::Target) -> RemoteError {
    match Session::connect(target).await {
        Ok(_) => panic!("the connection succeeded"),
        Err(error) => error,
    }
}

fn values(error: &RemoteError) -> String {
    let details = error.problem().detail;
    let details: Vec<_> = details
        .iter()
        .map(|(label, value)| format!("{label} {value}"))
        .collect();
    details.join("; ")
}

#[tokio::test]
async fn known_host_is_connected_and_probed() {
    let server = FakeServer::start().await;
    let connection = HostEndpoint::from(server.target()).connect().await.unwrap();
    let system = connection.system().await.unwrap().unwrap();
    assert_eq!((system.os, system.shell), (HostOs::Windows, Shell::Cmd));
    assert_eq!(system.architecture.as_deref(), Some("x86_64"));
    connection.close().await;
    let session = Session::connect(&server.target()).await.unwrap();
    let output = session.run("both").await.unwrap();
    assert_eq!(output.status, Some(7));
    assert_eq!(output.stdout, b"out late");
    assert_eq!(output.stderr, b"err");
    let refused = session.run("refuse").await.unwrap_err();
    assert_eq!(refused.code(), "CAS-SSH-016");
    session.close().await;
}

#[tokio::test]
async fn unknown_key_is_reported_with_its_fingerprint() {
    let server = FakeServer::start().await;
    std::fs::remove_file(server.known_hosts()).unwrap();
    let error = connect_error(&server.target()).await;
    assert_eq!(error.code(), "CAS-SSH-001");
    let fingerprint = key(2).fingerprint(russh::keys::HashAlg::Sha256).to_string();
    assert!(values(&error).contains(&fingerprint), "{}", values(&error));
    assert!(
        error.problem().help.contains("ssh-keyscan"),
        "{}",
        error.problem().help
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn accept_new_records_the_key() {
    let server = FakeServer::start().await;
    std::fs::write(server.known_hosts(), "# no end of line").unwrap();
    let mut target = server.target();
    target.host_keys = HostKeyPolicy::AcceptNew;
    Session::connect(&target).await.unwrap();
    target.host_keys = HostKeyPolicy::Strict;
    Session::connect(&target).await.unwrap();
    let text = std::fs::read_to_string(server.known_hosts()).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[tokio::test]
async fn changed_key_is_reported_with_both_fingerprints_and_the_line() {
    let server = FakeServer::start().await;
    server.write_known_hosts(&key(9));
    let mut target = server.target();
    target.host_keys = HostKeyPolicy::AcceptNew;
    let error = connect_error(&target).await;
    assert_eq!(error.code(), "CAS-SSH-002");
    let text = values(&error);
    assert!(text.starts_with("known_hosts:2 SHA256:"), "{text}");
    for seed in [2, 9] {
        let fingerprint = key(seed).fingerprint(russh::keys::HashAlg::Sha256);
        assert!(text.contains(&fingerprint.to_string()), "{text}");
    }
    assert!(error.problem().help.contains("-R '[127.0.0.1]:"));
}

#[tokio::test]
async fn failed_login_reports_what_was_tried() {
    let server = FakeServer::start().await;
    let mut target = server.target();
    target.credential = key(7).into();
    let text = connect_error(&target).await;
    assert_eq!(text.code(), "CAS-SSH-003");
    assert!(values(&text).contains("user admin; key SHA256:"));
    assert!(values(&text).contains("(ED25519); host accepts "));
    let mut target = server.target();
    target.user = "guest".to_owned();
    assert_eq!(connect_error(&target).await.code(), "CAS-SSH-003");
}

#[tokio::test]
async fn each_connection_failure_has_its_own_error() {
    let server = FakeServer::start().await;
    let mut target = server.target();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    target.port = free.local_addr().unwrap().port();
    drop(free);
    assert_eq!(connect_error(&target).await.code(), "CAS-SSH-005");

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    target.port = silent.local_addr().unwrap().port();
    target.connect_timeout = Duration::from_millis(50);
    let timed_out = connect_error(&target).await;
    assert_eq!(timed_out.code(), "CAS-SSH-004");
    assert!(values(&timed_out).contains("during the SSH handshake"));

    target.address = "no-such-host.invalid".to_owned();
    // Longer than the timeout of the resolver.
    target.connect_timeout = Duration::from_secs(120);
    assert_eq!(connect_error(&target).await.code(), "CAS-SSH-007");
}

#[tokio::test]
async fn other_server_than_ssh_is_reported() {
    use tokio::io::AsyncWriteExt as _;
    let server = FakeServer::start().await;
    let web = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut target = server.target();
    target.port = web.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = web.accept().await.unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    assert_eq!(connect_error(&target).await.code(), "CAS-SSH-013");
}

#[tokio::test]
async fn reconnect_finds_a_returning_host_and_gives_up_at_the_deadline() {
    let server = FakeServer::start().await;
    let mut target = server.target();
    let port = server.port;
    let known_hosts = std::fs::read(server.known_hosts()).unwrap();
    drop(server);
    let short = Reconnect {
        timeout: Duration::from_millis(40),
        initial_delay: Duration::from_millis(10),
        max_delay: Duration::from_millis(10),
    };
    let folder = tempfile::tempdir().unwrap();
    target.known_hosts = folder.path().join("known_hosts");
    std::fs::write(&target.known_hosts, known_hosts).unwrap();
    let endpoint = HostEndpoint::from(target);
    let Err(failed) = short.connect(&endpoint, |_| {}).await else {
        panic!("the host is down");
    };
    assert_eq!(failed.code(), "CAS-SSH-015");

    let reconnect = Reconnect::default();
    let (tried, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let back = reconnect.connect(&endpoint, |attempt| {
        let _ = tried.send(attempt.number);
    });
    let returns = async {
        assert_eq!(seen.recv().await, Some(1));
        FakeServer::start_on(&format!("127.0.0.1:{port}")).await
    };
    let (session, _double) = tokio::join!(back, returns);
    session.unwrap();
}

#[test]
fn each_unusable_key_has_its_own_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("id");
    let problem = load_key(&path).unwrap_err().problem();
    assert_eq!(problem.code, "CAS-SSH-010");
    let missing = std::fs::read(&path).unwrap_err().to_string();
    assert_eq!(problem.detail, [("reason".to_owned(), missing)]);
    std::fs::write(&path, "hello").unwrap();
    assert_eq!(load_key(&path).unwrap_err().problem().code, "CAS-SSH-012");
    let public = key(1).public_key().to_openssh().unwrap();
    std::fs::write(&path, public).unwrap();
    let error = load_key(&path).unwrap_err();
    assert!(error.to_string().contains("public key"), "{error}");
    std::fs::write(&path, include_str!("encrypted_key")).unwrap();
    assert_eq!(load_key(&path).unwrap_err().problem().code, "CAS-SSH-011");
    let plain = key(1).to_openssh(Default::default()).unwrap();
    std::fs::write(&path, plain.as_str()).unwrap();
    assert_eq!(load_key(&path).unwrap().public_key(), key(1).public_key());
}
