//! WinRM failures as users see them: each has its own error.

use casement_resource::Sha256;

use crate::fixture::Fixture;
use crate::kdc;
use crate::server::PASSWORD;

pub const WRONG_PASSWORD: &str = "another-Password-Of-The-Test";

fn unchanged(file: &str) -> String {
    file.to_owned()
}

/// Asserts that the output has these parts and no password.
pub fn assert_contains(printed: &str, parts: &[&str]) {
    println!("{printed}");
    for part in parts {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
    for secret in [WRONG_PASSWORD, PASSWORD, kdc::PASSWORD] {
        assert!(!printed.contains(secret), "a password is in: {printed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_failure_over_tls_has_its_own_error() {
    let fixture = Fixture::start(&[true]).await;
    let server = &fixture.servers[0];
    let address = fixture.cluster.host("windows1").unwrap().spec().address;
    let target = format!("windows1 ({address}:{})", server.port);

    std::fs::write(fixture.path("wrong"), WRONG_PASSWORD).unwrap();
    let wrong = |file: &str| file.replace("./password", "./wrong");
    let printed = fixture.apply_edited_fails(wrong).await;
    assert_contains(
        &printed,
        &["CAS-REM-001", "Administrator", &address.to_string()],
    );

    server.change(|settings| settings.clock_ahead = 7230);
    let printed = fixture.apply_edited_fails(wrong).await;
    assert_contains(&printed, &["CAS-REM-002", "host clock 120 min ", "w32tm"]);
    server.change(|settings| settings.clock_ahead = 0);

    let free = std::net::TcpListener::bind((address, 0)).unwrap();
    let closed = free.local_addr().unwrap().port().to_string();
    drop(free);
    let port = server.port.to_string();
    let printed = fixture
        .apply_edited_fails(|file| file.replace(&port, &closed))
        .await;
    assert_contains(&printed, &["CAS-REM-003", &closed, "winrm quickconfig"]);

    let actual = Sha256::of(server.shared.certificate.as_ref().unwrap()).to_string();
    let other = Sha256::of(b"another certificate").to_string();
    let printed = fixture
        .apply_edited_fails(|file| file.replace(&actual, &other))
        .await;
    assert_contains(&printed, &["CAS-REM-006", &actual, &other]);

    let pin = format!(", fingerprint: {actual}");
    let printed = fixture
        .apply_edited_fails(|file| file.replace(&pin, ""))
        .await;
    assert_contains(
        &printed,
        &["CAS-REM-005", &actual, "access.winrm.fingerprint"],
    );

    server.change(|settings| settings.allowed = false);
    let printed = fixture.apply_edited_fails(unchanged).await;
    assert_contains(
        &printed,
        &["CAS-REM-010", "Access is denied.", "administrator"],
    );
    assert!(printed.contains(&target), "{target}: {printed}");
    for host in fixture.windows() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "nothing was changed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_unencrypted_over_http() {
    let fixture = Fixture::start(&[false]).await;
    let server = &fixture.servers[0];
    server.change(|settings| (settings.basic, settings.negotiate) = (true, false));
    let printed = fixture.apply_edited_fails(unchanged).await;
    assert_contains(&printed, &["CAS-REM-004", "Basic", "transport: https"]);

    server.change(|settings| (settings.negotiate, settings.seals) = (true, false));
    let printed = fixture.apply_edited_fails(unchanged).await;
    assert_contains(&printed, &["CAS-REM-004", "AllowUnencrypted"]);
    assert!(server.actions().is_empty(), "no envelope was sent");

    let pin = format!(", fingerprint: {}", Sha256::of(b"a certificate"));
    let printed = fixture
        .apply_edited_fails(|file| file.replace(", transport: http", &pin))
        .await;
    assert_contains(&printed, &["CAS-REM-009", "transport: https", "5985"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn password_prompt_without_a_terminal_fails() {
    let fixture = Fixture::start(&[true]).await;
    let printed = fixture
        .apply_edited_fails(|file| file.replace("{file: ./password}", "{prompt: true}"))
        .await;
    assert_contains(&printed, &["CAS-CTL-013", "access.winrm.password"]);
}
