//! Logins and their failures.

use std::time::Duration;

use casement_remote::winrm::{Login, Protection, Trust, WinRmSession, WinRmTarget};
use casement_remote::{Reconnect, RemoteError, Sha256};
use casement_resource::Secret;

use crate::server::{PASSWORD, Server};

async fn connect_error(target: &WinRmTarget) -> RemoteError {
    match WinRmSession::connect(target).await {
        Ok(_) => panic!("the login succeeded"),
        Err(error) => error,
    }
}

fn wrong_password() -> Secret {
    Secret::new("another".to_owned())
}

fn detail(error: &RemoteError, label: &str) -> String {
    let details = error.problem().detail;
    let found = details.into_iter().find(|(name, _)| name == label);
    found.unwrap_or_else(|| panic!("{error:?}")).1
}

async fn assert_runs_commands(target: &WinRmTarget) {
    let session = WinRmSession::connect(target).await.unwrap();
    let output = session.run("echo hello").await.unwrap();
    assert_eq!(output.stdout, b"hello\r\n");
    assert_eq!(output.status, Some(0));
    session.close().await;
}

#[tokio::test]
async fn everything_after_the_login_is_sealed_over_http() {
    let server = Server::http().await;
    assert_runs_commands(&server.target()).await;
    let actions = server.actions();
    assert_eq!(actions[..2], ["Create", "Command"]);
    assert!(actions.contains(&"Receive".to_owned()));
    assert_eq!(actions.last().unwrap(), "Delete");
    server.wait_until_no_shells().await;
    let bodies = server.shared.bodies.lock().unwrap();
    assert!(!bodies.is_empty());
    for body in bodies.iter() {
        let text = String::from_utf8_lossy(body);
        assert!(text.starts_with("--Encrypted Boundary\r\n"), "{text}");
        for text_part in ["Envelope", "hello", "ShellId", PASSWORD] {
            assert!(!text.contains(text_part), "{text_part}");
        }
    }
}

#[tokio::test]
async fn login_over_tls_is_bound_to_the_certificate() {
    let server = Server::https().await;
    // The server rejects logins without the channel binding.
    assert_runs_commands(&server.target()).await;
    let mut target = server.target();
    target.protection = Protection::Tls(Trust::Signed(server.ca()));
    assert_runs_commands(&target).await;
    server.change(|settings| (settings.basic, settings.negotiate) = (true, false));
    target.login = Login::Basic(Secret::new(PASSWORD.to_owned()));
    assert_runs_commands(&target).await;
}

#[tokio::test]
async fn wrong_password_is_reported() {
    for server in [Server::http().await, Server::https().await] {
        let mut target = server.target();
        target.login = Login::Ntlm(wrong_password());
        let error = connect_error(&target).await;
        assert_eq!(error.code(), "CAS-REM-001", "{error:?}");
        assert!(!error.is_transient());
        assert_eq!(detail(&error, "user"), "Administrator");
        let shown = format!(
            "{error:?} {error} {:?} {}",
            error.problem().detail,
            error.problem().help
        );
        assert!(!shown.contains("another"), "{shown}");
        server.change(|settings| (settings.basic, settings.negotiate) = (true, false));
        if matches!(target.protection, Protection::Tls(_)) {
            target.login = Login::Basic(wrong_password());
            assert_eq!(connect_error(&target).await.code(), "CAS-REM-001");
        }
    }
}

#[tokio::test]
async fn wrong_clock_is_reported_when_the_login_fails() {
    let server = Server::http().await;
    for (ahead, direction) in [(7230, "ahead"), (-7230, "behind")] {
        server.change(|settings| settings.clock_ahead = ahead);
        // A wrong clock alone does not matter: NTLM uses the time of the host.
        assert_runs_commands(&server.target()).await;
        let mut target = server.target();
        target.login = Login::Ntlm(wrong_password());
        let error = connect_error(&target).await;
        assert_eq!(error.code(), "CAS-REM-002", "{error:?}");
        let clock = detail(&error, "host clock");
        assert!(
            clock.starts_with("120 min") && clock.ends_with(direction),
            "{clock}"
        );
    }
}

#[tokio::test]
async fn closed_and_silent_ports_have_different_errors() {
    let mut target = Server::http().await.target();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    target.port = free.local_addr().unwrap().port();
    drop(free);
    let error = connect_error(&target).await;
    assert_eq!(error.code(), "CAS-REM-003", "{error:?}");
    assert!(error.is_transient());
    assert!(
        error.problem().help.contains("winrm"),
        "{}",
        error.problem().help
    );

    let server = Server::http().await;
    server.change(|settings| settings.hangs = true);
    target.port = server.port;
    target.connect_timeout = Duration::from_millis(200);
    let error = connect_error(&target).await;
    assert_eq!(error.code(), "CAS-REM-007", "{error:?}");
    assert_eq!(detail(&error, "during"), "authentication");
}

#[tokio::test]
async fn nothing_is_sent_unencrypted() {
    let server = Server::http().await;
    let mut basic = server.target();
    basic.login = Login::Basic(Secret::new(PASSWORD.to_owned()));
    let error = connect_error(&basic).await;
    assert_eq!(error.code(), "CAS-REM-004", "before the login: {error:?}");

    server.change(|settings| (settings.basic, settings.negotiate) = (true, false));
    let error = connect_error(&server.target()).await;
    assert_eq!(error.code(), "CAS-REM-004");
    assert!(detail(&error, "reason").contains("Basic"), "{error:?}");

    server.change(|settings| (settings.negotiate, settings.seals) = (true, false));
    let error = connect_error(&server.target()).await;
    assert_eq!(error.code(), "CAS-REM-004");
    assert!(server.actions().is_empty(), "no envelope was sent");

    server.change(|settings| (settings.seals, settings.seals_responses) = (true, false));
    let error = connect_error(&server.target()).await;
    assert_eq!(
        error.code(),
        "CAS-REM-004",
        "an unencrypted response is rejected"
    );
    assert!(
        detail(&error, "reason").contains("not encrypted"),
        "{error:?}"
    );
}

#[tokio::test]
async fn certificate_errors_show_the_fingerprints() {
    let server = Server::https().await;
    let fingerprint = Sha256::of(server.shared.certificate.as_ref().unwrap()).to_string();
    let mut target = server.target();
    target.protection = Protection::Tls(Trust::System);
    let error = connect_error(&target).await;
    assert_eq!(error.code(), "CAS-REM-005", "{error:?}");
    assert_eq!(detail(&error, "host presents"), fingerprint);
    assert!(error.problem().help.contains("access.winrm.fingerprint"));

    let pin = Sha256::of(b"another certificate");
    target.protection = Protection::Tls(Trust::Pinned(pin));
    let error = connect_error(&target).await;
    assert_eq!(error.code(), "CAS-REM-006", "{error:?}");
    assert_eq!(detail(&error, "pinned"), pin.to_string());
    assert_eq!(detail(&error, "host presents"), fingerprint);

    let empty = server.folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for path in [empty, "/nowhere/ca.pem".into()] {
        target.protection = Protection::Tls(Trust::Signed(path));
        assert_eq!(connect_error(&target).await.code(), "CAS-REM-008");
    }
    assert!(server.actions().is_empty(), "no login succeeded");
}

#[tokio::test]
async fn certificate_for_another_name_is_rejected() {
    let server = Server::https().await;
    let mut target = server.target();
    target.protection = Protection::Tls(Trust::Signed(server.ca()));
    target.address = "127.0.0.2".to_owned();
    // Either nothing listens there, or the name does not match.
    let error = connect_error(&target).await;
    assert!(
        ["CAS-REM-003", "CAS-REM-005"].contains(&error.code().as_ref()),
        "{error:?}"
    );
    target.address = "localhost".to_owned();
    assert_runs_commands(&target).await;
}

#[tokio::test]
async fn tls_and_http_mismatch_is_reported() {
    let (http, https) = (Server::http().await, Server::https().await);
    let mut target = https.target();
    target.port = http.port;
    let error = connect_error(&target).await;
    assert_eq!(error.code(), "CAS-REM-009", "{error:?}");
    let mut target = http.target();
    target.port = https.port;
    let error = connect_error(&target).await;
    assert!(
        ["CAS-REM-009", "CAS-SSH-014"].contains(&error.code().as_ref()),
        "{error:?}"
    );
}

#[tokio::test]
async fn account_without_permission_is_not_reported_as_wrong_password() {
    let server = Server::http().await;
    server.change(|settings| settings.allowed = false);
    let error = connect_error(&server.target()).await;
    assert_eq!(error.code(), "CAS-REM-010", "{error:?}");
    assert_eq!(detail(&error, "response"), "Access is denied.");
}

#[tokio::test]
async fn reconnect_retries_timeouts_but_not_failed_logins() {
    let server = Server::http().await;
    let mut target = server.target();
    target.connect_timeout = Duration::from_millis(200);
    server.change(|settings| settings.hangs = true);
    let reconnect = Reconnect {
        timeout: Duration::from_secs(60),
        initial_delay: Duration::from_millis(10),
        max_delay: Duration::from_millis(20),
    };
    let mut failed = 0;
    let session = reconnect
        .connect(&target.clone().into(), |attempt| {
            assert_eq!(attempt.error.code(), "CAS-REM-007");
            failed += 1;
            if failed == 2 {
                server.change(|settings| settings.hangs = false);
            }
        })
        .await;
    assert!(session.is_ok());
    assert_eq!(failed, 2);
    target.login = Login::Ntlm(wrong_password());
    let result = reconnect
        .connect(&target.into(), |_| {
            panic!("a failed login must not be retried")
        })
        .await;
    assert_eq!(result.err().unwrap().code(), "CAS-REM-001");
}
