//! Kerberos logins, in a realm with its own domain controller.

use std::time::{Duration, Instant};

use crate::errors::{WRONG_PASSWORD, assert_contains};
use crate::fixture::Fixture;
use crate::kdc::{DOMAIN, Kdc, PASSWORD, REALM};

const PASSWORD_FILE: &str = "password: {file: ./password}";

/// Hosts in a domain without NTLM, with `access` as login in the cluster file.
async fn start(tls: &[bool], kdc: &Kdc, access: &str) -> Fixture {
    let mut fixture = Fixture::start(tls).await;
    fixture.environment = kdc.environment();
    for (host, server) in fixture.windows().zip(&fixture.servers) {
        let keytab = kdc.add_host(&format!("{}.{DOMAIN}", host.spec().name));
        server.change(|settings| (settings.ntlm, settings.keytab) = (false, Some(keytab)));
    }
    std::fs::write(fixture.path("password"), PASSWORD).unwrap();
    let file = std::fs::read_to_string(fixture.path("cluster.yaml")).unwrap();
    assert!(file.contains(PASSWORD_FILE), "{file}");
    std::fs::write(
        fixture.path("cluster.yaml"),
        file.replace(PASSWORD_FILE, access),
    )
    .unwrap();
    fixture
}

fn anna(more: &str) -> String {
    format!("user: anna, domain: {DOMAIN}{more}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a domain controller: krb5-kdc, krb5-admin-server and krb5-user"]
async fn apply_and_reset_work_with_a_ticket_and_without_ntlm() {
    let kdc = Kdc::start(&["anna"]);
    let fixture = start(&[true, false], &kdc, &anna("")).await;
    kdc.kinit(&["anna"]);
    // No password is configured, and none is prompted for.
    let printed = fixture.succeed(&["apply", "--yes"]).await;
    assert!(
        printed.contains("windows1 and windows2 are Ready"),
        "{printed}"
    );
    let printed = fixture.succeed(&["apply", "--yes"]).await;
    assert!(printed.contains("No changes: "), "{printed}");
    for body in fixture.servers[1].shared.bodies.lock().unwrap().iter() {
        let text = String::from_utf8_lossy(body);
        assert!(text.starts_with("--Encrypted Boundary\r\n"), "{text}");
        assert!(!text.contains("Envelope"), "{text}");
    }
    let reset = ["reset", "--all", "--cluster", "--yes"];
    fixture.succeed(&reset).await;
    for (host, server) in fixture.windows().zip(&fixture.servers) {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
        let logins = server.logins();
        let login = format!("Kerberos anna@{REALM}");
        assert!(
            !logins.is_empty() && logins.iter().all(|it| *it == login),
            "{logins:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a domain controller: krb5-kdc, krb5-admin-server and krb5-user"]
async fn ticket_is_preferred_to_a_password() {
    let kdc = Kdc::start(&["Administrator", "anna"]);
    let fixture = start(&[false], &kdc, PASSWORD_FILE).await;
    let server = &fixture.servers[0];
    // Without a domain in the file, the service name has the plain host name.
    let keytab = kdc.add_host("windows1");
    server.change(|settings| {
        (settings.ntlm, settings.keytab) = (true, Some(keytab));
        settings.password = PASSWORD.to_owned();
    });
    let first_login = async || {
        fixture.succeed(&["plan"]).await;
        server.logins().swap_remove(0)
    };
    assert_eq!(first_login().await, "NTLM Administrator", "no ticket");
    kdc.kinit(&["anna"]);
    assert_eq!(
        first_login().await,
        "NTLM Administrator",
        "another user's ticket"
    );
    kdc.kinit(&["Administrator"]);
    assert_eq!(
        first_login().await,
        format!("Kerberos Administrator@{REALM}")
    );
    // The domain does not know this name.
    let file = std::fs::read_to_string(fixture.path("cluster.yaml")).unwrap();
    let elsewhere =
        format!("user: Administrator@{DOMAIN}, domain: elsewhere.test, {PASSWORD_FILE}");
    let file = file.replace(PASSWORD_FILE, &elsewhere);
    std::fs::write(fixture.path("cluster.yaml"), file).unwrap();
    server.change(|settings| settings.user = format!("Administrator@{DOMAIN}"));
    let login = format!("NTLM Administrator@{DOMAIN}");
    assert_eq!(first_login().await, login, "a host outside of the domain");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a domain controller: krb5-kdc, krb5-admin-server and krb5-user"]
async fn password_is_exchanged_for_a_ticket() {
    let kdc = Kdc::start(&["anna"]);
    let access = anna(&format!(", auth: kerberos, {PASSWORD_FILE}"));
    let fixture = start(&[true], &kdc, &access).await;
    fixture.succeed(&["plan"]).await;
    let login = format!("Kerberos anna@{REALM}");
    assert!(fixture.servers[0].logins().iter().all(|it| *it == login));
    assert!(!kdc.has_ticket(), "the ticket stays in memory");

    std::fs::write(fixture.path("password"), WRONG_PASSWORD).unwrap();
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(
        &printed,
        &["CAS-REM-001", &format!("anna@{REALM}"), "the password"],
    );
    let printed = fixture
        .apply_edited_fails(|file| file.replace("user: anna", "user: bob"))
        .await;
    assert_contains(&printed, &["CAS-REM-001", &format!("bob@{REALM}")]);
    assert!(fixture.servers[0].logins().is_empty(), "no login succeeded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a domain controller: krb5-kdc, krb5-admin-server and krb5-user"]
async fn each_kerberos_failure_has_its_own_error() {
    let mut kdc = Kdc::start(&["anna", "bob"]);
    let mut fixture = start(&[false], &kdc, &anna(", auth: kerberos")).await;
    let service = format!("HTTP/windows1.{DOMAIN}");

    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(&printed, &["CAS-REM-014", &format!("kinit anna@{REALM}")]);
    kdc.kinit(&["bob"]);
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(
        &printed,
        &[
            "CAS-REM-014",
            &format!("kinit anna@{REALM}"),
            &format!("`bob@{REALM}`"),
        ],
    );

    kdc.kinit(&["-l", "1s", "anna"]);
    let start = Instant::now();
    while kdc.has_ticket() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the ticket does not expire"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(&printed, &["CAS-REM-015", &format!("kinit anna@{REALM}")]);

    kdc.kinit(&["anna"]);
    let elsewhere = |file: &str| {
        let access = format!("user: anna@{DOMAIN}, domain: elsewhere.test");
        file.replace(&anna(""), &access)
    };
    let printed = fixture.apply_edited_fails(elsewhere).await;
    assert_contains(
        &printed,
        &["CAS-REM-016", "HTTP/windows1.elsewhere.test", "setspn"],
    );

    let server = &fixture.servers[0];
    let keytab = server.shared.settings().keytab;
    let other = kdc.add_host("windows9.casement.test");
    server.change(|settings| settings.keytab = Some(other));
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(
        &printed,
        &["CAS-REM-018", &service, &format!("`anna@{REALM}`")],
    );
    server.change(|settings| settings.keytab = None);
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(&printed, &["CAS-REM-018", "accepts Negotiate"]);
    server.change(|settings| settings.keytab = keytab);

    // The host checks the client's clock when it gets a ticket, the domain controller
    // when it issues one.
    kdc.kvno(&service);
    kdc.skew(3600);
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(&printed, &["CAS-REM-002", "windows1 (", "w32tm /resync"]);
    kdc.kinit(&["anna"]);
    kdc.skew(3600);
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(
        &printed,
        &["CAS-REM-002", "the domain controller", "timedatectl"],
    );

    kdc.kinit(&["anna"]);
    kdc.stop();
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(&printed, &["CAS-REM-017", &service, "krb5.conf"]);
    // A domain controller that accepts connections and sends nothing times out too.
    let silent = kdc.listen_silently();
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(&printed, &["CAS-REM-017", &service, "krb5.conf"]);
    drop(silent);

    let libraries = fixture.path("libraries");
    std::fs::create_dir(&libraries).unwrap();
    std::fs::write(libraries.join("libgssapi_krb5.so.2"), "none").unwrap();
    fixture
        .environment
        .push(("LD_LIBRARY_PATH", libraries.into()));
    let printed = fixture.apply_edited_fails(str::to_owned).await;
    assert_contains(
        &printed,
        &["CAS-REM-013", "libgssapi_krb5.so.2", "apt-get install"],
    );

    assert!(fixture.servers[0].logins().is_empty(), "no login succeeded");
    for host in fixture.windows() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "nothing was changed");
    }
}
