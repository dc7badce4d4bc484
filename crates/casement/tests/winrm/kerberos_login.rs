//! Logins with Kerberos, in a realm with a domain controller of its own.

use std::time::{Duration, Instant};

use crate::ground::Ground;
use crate::kdc::{DOMAIN, Kdc, PASSWORD, REALM};
use crate::screens::{WRONG, assert_words};

const GIVEN: &str = "password: {file: ./password}";

/// Hosts of a domain without NTLM; the file says `access` about the login.
async fn ground(tls: &[bool], kdc: &Kdc, access: &str) -> Ground {
    let mut ground = Ground::start(tls).await;
    ground.environment = kdc.environment();
    for (host, server) in ground.windows().zip(&ground.servers) {
        let keytab = kdc.host(&format!("{}.{DOMAIN}", host.spec().name));
        server.change(|settings| (settings.ntlm, settings.keytab) = (false, Some(keytab)));
    }
    std::fs::write(ground.at("password"), PASSWORD).unwrap();
    let file = std::fs::read_to_string(ground.at("cluster.yaml")).unwrap();
    assert!(file.contains(GIVEN), "{file}");
    std::fs::write(ground.at("cluster.yaml"), file.replace(GIVEN, access)).unwrap();
    ground
}

fn anna(more: &str) -> String {
    format!("user: anna, domain: {DOMAIN}{more}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a domain controller: krb5-kdc, krb5-admin-server and krb5-user"]
async fn hosts_join_and_are_given_back_with_a_ticket_where_ntlm_is_off() {
    let kdc = Kdc::start(&["anna"]);
    let ground = ground(&[true, false], &kdc, &anna("")).await;
    kdc.kinit(&["anna"]);
    // Nobody names a password, and nobody is asked for one.
    let said = ground.succeed(&["apply", "--yes"]).await;
    assert!(said.contains("windows1 and windows2 are Ready"), "{said}");
    let said = ground.succeed(&["apply", "--yes"]).await;
    assert!(said.contains("Nothing to do"), "{said}");
    for body in ground.servers[1].shared.bodies.lock().unwrap().iter() {
        let text = String::from_utf8_lossy(body);
        assert!(text.starts_with("--Encrypted Boundary\r\n"), "{text}");
        assert!(!text.contains("Envelope"), "{text}");
    }
    let back = ["reset", "--all", "--cluster", "--yes"];
    ground.succeed(&back).await;
    for (host, server) in ground.windows().zip(&ground.servers) {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
        let logins = server.logins();
        let who = format!("Kerberos anna@{REALM}");
        assert!(
            !logins.is_empty() && logins.iter().all(|login| *login == who),
            "{logins:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a domain controller: krb5-kdc, krb5-admin-server and krb5-user"]
async fn a_ticket_comes_first_and_a_password_second() {
    let kdc = Kdc::start(&["Administrator", "anna"]);
    let ground = ground(&[false], &kdc, GIVEN).await;
    let server = &ground.servers[0];
    // Without a domain in the file, a host is known by its name alone.
    let keytab = kdc.host("windows1");
    server.change(|settings| {
        (settings.ntlm, settings.keytab) = (true, Some(keytab));
        settings.password = PASSWORD.to_owned();
    });
    let first = async || {
        ground.succeed(&["plan"]).await;
        server.logins().swap_remove(0)
    };
    assert_eq!(first().await, "NTLM Administrator", "no ticket");
    kdc.kinit(&["anna"]);
    assert_eq!(
        first().await,
        "NTLM Administrator",
        "somebody else's ticket"
    );
    kdc.kinit(&["Administrator"]);
    assert_eq!(first().await, format!("Kerberos Administrator@{REALM}"));
    // The domain has never heard of this name.
    let file = std::fs::read_to_string(ground.at("cluster.yaml")).unwrap();
    let elsewhere = format!("user: Administrator@{DOMAIN}, domain: elsewhere.test, {GIVEN}");
    let file = file.replace(GIVEN, &elsewhere);
    std::fs::write(ground.at("cluster.yaml"), file).unwrap();
    server.change(|settings| settings.user = format!("Administrator@{DOMAIN}"));
    let who = format!("NTLM Administrator@{DOMAIN}");
    assert_eq!(first().await, who, "a host outside of the domain");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a domain controller: krb5-kdc, krb5-admin-server and krb5-user"]
async fn a_password_is_good_for_a_ticket() {
    let kdc = Kdc::start(&["anna"]);
    let access = anna(&format!(", auth: kerberos, {GIVEN}"));
    let ground = ground(&[true], &kdc, &access).await;
    ground.succeed(&["plan"]).await;
    let who = format!("Kerberos anna@{REALM}");
    assert!(ground.servers[0].logins().iter().all(|login| *login == who));
    assert!(!kdc.has_ticket(), "it stays in memory");

    std::fs::write(ground.at("password"), WRONG).unwrap();
    let said = ground.refused(str::to_owned).await;
    assert_words(
        &said,
        &["CAS-REM-001", &format!("anna@{REALM}"), "the password"],
    );
    let said = ground
        .refused(|file| file.replace("user: anna", "user: bob"))
        .await;
    assert_words(&said, &["CAS-REM-001", &format!("bob@{REALM}")]);
    assert!(ground.servers[0].logins().is_empty(), "nobody was let in");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a domain controller: krb5-kdc, krb5-admin-server and krb5-user"]
async fn each_failure_with_tickets_has_its_own_screen() {
    let mut kdc = Kdc::start(&["anna", "bob"]);
    let mut ground = ground(&[false], &kdc, &anna(", auth: kerberos")).await;
    let service = format!("HTTP/windows1.{DOMAIN}");

    let said = ground.refused(str::to_owned).await;
    assert_words(&said, &["CAS-REM-014", &format!("kinit anna@{REALM}")]);
    kdc.kinit(&["bob"]);
    let said = ground.refused(str::to_owned).await;
    assert_words(
        &said,
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
            "it does not run out"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let said = ground.refused(str::to_owned).await;
    assert_words(&said, &["CAS-REM-015", &format!("kinit anna@{REALM}")]);

    kdc.kinit(&["anna"]);
    let elsewhere = |file: &str| {
        let access = format!("user: anna@{DOMAIN}, domain: elsewhere.test");
        file.replace(&anna(""), &access)
    };
    let said = ground.refused(elsewhere).await;
    assert_words(
        &said,
        &["CAS-REM-016", "HTTP/windows1.elsewhere.test", "setspn"],
    );

    let server = &ground.servers[0];
    let right = server.shared.settings().keytab;
    let other = kdc.host("windows9.casement.test");
    server.change(|settings| settings.keytab = Some(other));
    let said = ground.refused(str::to_owned).await;
    assert_words(
        &said,
        &["CAS-REM-018", &service, &format!("`anna@{REALM}`")],
    );
    server.change(|settings| settings.keytab = None);
    let said = ground.refused(str::to_owned).await;
    assert_words(&said, &["CAS-REM-018", "it takes Negotiate"]);
    server.change(|settings| settings.keytab = right);

    // The host looks at the clock of who comes with a ticket for it, and the domain
    // controller at that of who wants one.
    kdc.kvno(&service);
    kdc.skew(3600);
    let said = ground.refused(str::to_owned).await;
    assert_words(&said, &["CAS-REM-002", "windows1 (", "w32tm /resync"]);
    kdc.kinit(&["anna"]);
    kdc.skew(3600);
    let said = ground.refused(str::to_owned).await;
    assert_words(
        &said,
        &["CAS-REM-002", "the domain controller", "timedatectl"],
    );

    kdc.kinit(&["anna"]);
    kdc.stop();
    let said = ground.refused(str::to_owned).await;
    assert_words(&said, &["CAS-REM-017", &service, "krb5.conf"]);
    // One that listens and is mute is not waited for much longer than the host.
    let mute = kdc.replaced();
    let said = ground.refused(str::to_owned).await;
    assert_words(&said, &["CAS-REM-017", &service, "krb5.conf"]);
    drop(mute);

    let libraries = ground.at("libraries");
    std::fs::create_dir(&libraries).unwrap();
    std::fs::write(libraries.join("libgssapi_krb5.so.2"), "none").unwrap();
    ground
        .environment
        .push(("LD_LIBRARY_PATH", libraries.into()));
    let said = ground.refused(str::to_owned).await;
    assert_words(
        &said,
        &["CAS-REM-013", "libgssapi_krb5.so.2", "apt-get install"],
    );

    assert!(ground.servers[0].logins().is_empty(), "nobody was let in");
    for host in ground.windows() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "nothing was changed");
    }
}
