//! Logging in, and the ways in which that goes wrong.

use std::time::Duration;

use casement_remote::winrm::{Login, Protection, Trust, WinRmSession, WinRmTarget};
use casement_remote::{Reconnect, RemoteError, Sha256};
use casement_resource::Secret;

use crate::server::{PASSWORD, Server};

async fn refused(target: &WinRmTarget) -> RemoteError {
    match WinRmSession::connect(target).await {
        Ok(_) => panic!("it is let in"),
        Err(error) => error,
    }
}

fn another() -> Secret {
    Secret::new("another".to_owned())
}

fn detail(error: &RemoteError, label: &str) -> String {
    let details = error.details();
    let found = details.into_iter().find(|(name, _)| name == label);
    found.unwrap_or_else(|| panic!("{error:?}")).1
}

async fn says_hello(target: &WinRmTarget) {
    let session = WinRmSession::connect(target).await.unwrap();
    let output = session.run("echo hello").await.unwrap();
    assert_eq!(output.stdout, b"hello\r\n");
    assert_eq!(output.status, Some(0));
    session.close().await;
}

#[tokio::test]
async fn over_http_everything_after_the_login_is_sealed() {
    let server = Server::http().await;
    says_hello(&server.target()).await;
    let actions = server.actions();
    assert_eq!(actions[..2], ["Create", "Command"]);
    assert!(actions.contains(&"Receive".to_owned()));
    assert_eq!(actions.last().unwrap(), "Delete");
    server.no_shell_is_left().await;
    let bodies = server.shared.bodies.lock().unwrap();
    assert!(!bodies.is_empty());
    for body in bodies.iter() {
        let text = String::from_utf8_lossy(body);
        assert!(text.starts_with("--Encrypted Boundary\r\n"), "{text}");
        for clear in ["Envelope", "hello", "ShellId", PASSWORD] {
            assert!(!text.contains(clear), "{clear}");
        }
    }
}

#[tokio::test]
async fn over_tls_a_login_is_bound_to_the_certificate() {
    let server = Server::https().await;
    // The server checks the binding: without it nobody gets in.
    says_hello(&server.target()).await;
    let mut target = server.target();
    target.protection = Protection::Tls(Trust::Signed(server.ca()));
    says_hello(&target).await;
    server.change(|settings| (settings.basic, settings.negotiate) = (true, false));
    target.login = Login::Basic(Secret::new(PASSWORD.to_owned()));
    says_hello(&target).await;
}

#[tokio::test]
async fn a_wrong_password_is_told_as_that() {
    for server in [Server::http().await, Server::https().await] {
        let mut target = server.target();
        target.login = Login::Ntlm(another());
        let error = refused(&target).await;
        assert_eq!(error.code(), "CAS-REM-001", "{error:?}");
        assert!(!error.is_transient());
        assert_eq!(detail(&error, "user"), "Administrator");
        let shown = format!("{error:?} {error} {:?} {}", error.details(), error.remedy());
        assert!(!shown.contains("another"), "{shown}");
        server.change(|settings| (settings.basic, settings.negotiate) = (true, false));
        if matches!(target.protection, Protection::Tls(_)) {
            target.login = Login::Basic(another());
            assert_eq!(refused(&target).await.code(), "CAS-REM-001");
        }
    }
}

#[tokio::test]
async fn a_clock_that_is_wrong_is_named_when_the_login_fails() {
    let server = Server::http().await;
    for (ahead, told) in [(7230, "ahead"), (-7230, "behind")] {
        server.change(|settings| settings.clock_ahead = ahead);
        // The clock alone is no reason: NTLM takes the host's.
        says_hello(&server.target()).await;
        let mut target = server.target();
        target.login = Login::Ntlm(another());
        let error = refused(&target).await;
        assert_eq!(error.code(), "CAS-REM-002", "{error:?}");
        let clock = detail(&error, "its clock");
        assert!(
            clock.starts_with("120 min") && clock.ends_with(told),
            "{clock}"
        );
    }
}

#[tokio::test]
async fn a_closed_port_and_a_silent_one_differ() {
    let mut target = Server::http().await.target();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    target.port = free.local_addr().unwrap().port();
    drop(free);
    let error = refused(&target).await;
    assert_eq!(error.code(), "CAS-REM-003", "{error:?}");
    assert!(error.is_transient());
    assert!(error.remedy().contains("winrm"), "{}", error.remedy());

    let server = Server::http().await;
    server.change(|settings| settings.hangs = true);
    target.port = server.port;
    target.connect_timeout = Duration::from_millis(200);
    let error = refused(&target).await;
    assert_eq!(error.code(), "CAS-REM-007", "{error:?}");
    assert_eq!(detail(&error, "for"), "the login");
}

#[tokio::test]
async fn nothing_is_said_in_clear() {
    let server = Server::http().await;
    let mut basic = server.target();
    basic.login = Login::Basic(Secret::new(PASSWORD.to_owned()));
    let error = refused(&basic).await;
    assert_eq!(error.code(), "CAS-REM-004", "before it is tried: {error:?}");

    server.change(|settings| (settings.basic, settings.negotiate) = (true, false));
    let error = refused(&server.target()).await;
    assert_eq!(error.code(), "CAS-REM-004");
    assert!(detail(&error, "it says").contains("Basic"), "{error:?}");

    server.change(|settings| (settings.negotiate, settings.seals) = (true, false));
    let error = refused(&server.target()).await;
    assert_eq!(error.code(), "CAS-REM-004");
    assert!(server.actions().is_empty(), "no envelope went out");

    server.change(|settings| (settings.seals, settings.seals_answers) = (true, false));
    let error = refused(&server.target()).await;
    assert_eq!(
        error.code(),
        "CAS-REM-004",
        "an answer in clear is not read"
    );
    assert!(
        detail(&error, "it says").contains("not sealed"),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_unknown_certificate_shows_its_fingerprint_and_a_changed_one_both() {
    let server = Server::https().await;
    let shown = Sha256::of(server.shared.certificate.as_ref().unwrap()).to_string();
    let mut target = server.target();
    target.protection = Protection::Tls(Trust::System);
    let error = refused(&target).await;
    assert_eq!(error.code(), "CAS-REM-005", "{error:?}");
    assert_eq!(detail(&error, "it offers"), shown);
    assert!(error.remedy().contains("access.winrm.fingerprint"));

    let pin = Sha256::of(b"another certificate");
    target.protection = Protection::Tls(Trust::Pinned(pin));
    let error = refused(&target).await;
    assert_eq!(error.code(), "CAS-REM-006", "{error:?}");
    assert_eq!(detail(&error, "pinned"), pin.to_string());
    assert_eq!(detail(&error, "it offers"), shown);

    let empty = server.folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for path in [empty, "/nowhere/ca.pem".into()] {
        target.protection = Protection::Tls(Trust::Signed(path));
        assert_eq!(refused(&target).await.code(), "CAS-REM-008");
    }
    assert!(server.actions().is_empty(), "nobody logged in");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_known() {
    let server = Server::https().await;
    let mut target = server.target();
    target.protection = Protection::Tls(Trust::Signed(server.ca()));
    target.address = "127.0.0.2".to_owned();
    // Nothing listens there unless loopback is one: then the name is wrong.
    let error = refused(&target).await;
    assert!(
        ["CAS-REM-003", "CAS-REM-005"].contains(&error.code()),
        "{error:?}"
    );
    target.address = "localhost".to_owned();
    says_hello(&target).await;
}

#[tokio::test]
async fn tls_and_http_are_told_apart() {
    let (http, https) = (Server::http().await, Server::https().await);
    let mut target = https.target();
    target.port = http.port;
    let error = refused(&target).await;
    assert_eq!(error.code(), "CAS-REM-009", "{error:?}");
    let mut target = http.target();
    target.port = https.port;
    let error = refused(&target).await;
    assert!(
        ["CAS-REM-009", "CAS-SSH-014"].contains(&error.code()),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_account_that_may_not_is_no_wrong_password() {
    let server = Server::http().await;
    server.change(|settings| settings.allowed = false);
    let error = refused(&server.target()).await;
    assert_eq!(error.code(), "CAS-REM-010", "{error:?}");
    assert_eq!(detail(&error, "it says"), "Access is denied.");
}

#[tokio::test]
async fn a_host_that_comes_back_is_reached_again_and_a_wrong_login_not_repeated() {
    let server = Server::http().await;
    let mut target = server.target();
    target.connect_timeout = Duration::from_millis(200);
    server.change(|settings| settings.hangs = true);
    let patience = Reconnect {
        deadline: Duration::from_secs(60),
        first_pause: Duration::from_millis(10),
        longest_pause: Duration::from_millis(20),
    };
    let mut failed = 0;
    let session = patience
        .connect(&target, |attempt| {
            assert_eq!(attempt.error.code(), "CAS-REM-007");
            failed += 1;
            if failed == 2 {
                server.change(|settings| settings.hangs = false);
            }
        })
        .await;
    assert!(session.is_ok());
    assert_eq!(failed, 2);
    target.login = Login::Ntlm(another());
    let result = patience
        .connect(&target, |_| panic!("no reason to wait"))
        .await;
    assert_eq!(result.err().unwrap().code(), "CAS-REM-001");
}
