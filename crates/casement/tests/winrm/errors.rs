//! What goes wrong with WinRM, as people see it: each with its own screen.

use casement_resource::Sha256;

use crate::ground::Ground;
use crate::kdc;
use crate::server::PASSWORD;

pub const WRONG: &str = "another-Password-Of-The-Test";

fn same(file: &str) -> String {
    file.to_owned()
}

/// One screen with these words, and no password.
pub fn assert_words(said: &str, words: &[&str]) {
    println!("{said}");
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    for secret in [WRONG, PASSWORD, kdc::PASSWORD] {
        assert!(!said.contains(secret), "a password is in: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_each_failure_has_its_own_screen() {
    let ground = Ground::start(&[true]).await;
    let server = &ground.servers[0];
    let address = ground.cluster.host("windows1").unwrap().spec().address;
    let place = format!("windows1 ({address} port {})", server.port);

    std::fs::write(ground.at("wrong"), WRONG).unwrap();
    let wrong = |file: &str| file.replace("./password", "./wrong");
    let said = ground.refused(wrong).await;
    assert_words(
        &said,
        &["CAS-REM-001", "Administrator", &address.to_string()],
    );

    server.change(|settings| settings.clock_ahead = 7230);
    let said = ground.refused(wrong).await;
    assert_words(&said, &["CAS-REM-002", "its clock 120 min ", "w32tm"]);
    server.change(|settings| settings.clock_ahead = 0);

    let free = std::net::TcpListener::bind((address, 0)).unwrap();
    let closed = free.local_addr().unwrap().port().to_string();
    drop(free);
    let port = server.port.to_string();
    let said = ground.refused(|file| file.replace(&port, &closed)).await;
    assert_words(&said, &["CAS-REM-003", &closed, "winrm quickconfig"]);

    let real = Sha256::of(server.shared.certificate.as_ref().unwrap()).to_string();
    let other = Sha256::of(b"another certificate").to_string();
    let said = ground.refused(|file| file.replace(&real, &other)).await;
    assert_words(&said, &["CAS-REM-006", &real, &other]);

    let pin = format!(", fingerprint: {real}");
    let said = ground.refused(|file| file.replace(&pin, "")).await;
    assert_words(&said, &["CAS-REM-005", &real, "access.winrm.fingerprint"]);

    server.change(|settings| settings.allowed = false);
    let said = ground.refused(same).await;
    assert_words(
        &said,
        &["CAS-REM-010", "Access is denied.", "administrator"],
    );
    assert!(said.contains(&place), "{place}: {said}");
    for host in ground.windows() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "nothing was changed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_nothing_is_said_in_clear() {
    let ground = Ground::start(&[false]).await;
    let server = &ground.servers[0];
    server.change(|settings| (settings.basic, settings.negotiate) = (true, false));
    let said = ground.refused(same).await;
    assert_words(&said, &["CAS-REM-004", "Basic", "transport: https"]);

    server.change(|settings| (settings.negotiate, settings.seals) = (true, false));
    let said = ground.refused(same).await;
    assert_words(&said, &["CAS-REM-004", "AllowUnencrypted"]);
    assert!(server.actions().is_empty(), "no envelope went out");

    let pin = format!(", fingerprint: {}", Sha256::of(b"a certificate"));
    let said = ground
        .refused(|file| file.replace(", transport: http", &pin))
        .await;
    assert_words(&said, &["CAS-REM-009", "transport: https", "5985"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_nobody_can_be_asked_for_is_told() {
    let ground = Ground::start(&[true]).await;
    let said = ground
        .refused(|file| file.replace("{file: ./password}", "{prompt: true}"))
        .await;
    assert_words(&said, &["CAS-CTL-013", "access.winrm.password"]);
}
