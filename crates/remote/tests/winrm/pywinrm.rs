//! pywinrm as a client of the test server: an independent implementation of the same
//! protocols.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs};

use crate::kdc::{DOMAIN, Kdc, REALM};
use crate::server::{PASSWORD, Server};

const PACKAGE: &str = "pywinrm[kerberos]==0.5.0";
const DRIVER: &str = include_str!("driver.py");

/// Only one test creates the virtual environment.
static INSTALL: Mutex<()> = Mutex::new(());

fn python() -> PathBuf {
    let _guard = INSTALL.lock().unwrap();
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| Path::new(&env::var_os("HOME").unwrap()).join(".cache"));
    let folder = cache.join("casement/tools/pywinrm-kerberos-0.5.0");
    let ready = folder.join("casement-ready");
    if !ready.exists() {
        let pip = folder.join("bin/pip");
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&folder);
        let mut install = Command::new(pip);
        install.args(["install", "--quiet", PACKAGE]);
        for mut command in [venv, install] {
            let done = command.status();
            assert!(
                done.is_ok_and(|status| status.success()),
                "cannot install {PACKAGE}: {command:?}"
            );
        }
        fs::write(&ready, "").unwrap();
    }
    folder.join("bin/python")
}

/// Returns the driver's stdout. The password is passed in the environment.
async fn run_with_password(server: &Server, transport: &str, password: &str) -> String {
    run_driver(server, transport, password, |command| {
        command.env("CASEMENT_TEST_USER", "Administrator");
    })
    .await
}

/// Uses the cached Kerberos ticket.
async fn run_with_ticket(server: &Server, kdc: &Kdc, user: &str) -> String {
    run_driver(server, "kerberos", "", |command| {
        command.env("CASEMENT_TEST_USER", user);
        command.envs(kdc.environment());
    })
    .await
}

async fn run_driver(
    server: &Server,
    transport: &str,
    password: &str,
    configure: impl FnOnce(&mut Command),
) -> String {
    let scheme = match server.shared.certificate {
        Some(_) => "https",
        None => "http",
    };
    let mut command = Command::new(python());
    command
        .args(["-c", DRIVER])
        .arg(format!("{scheme}://127.0.0.1:{}/wsman", server.port))
        .arg(transport)
        .arg(server.ca())
        .env("CASEMENT_TEST_PASSWORD", password)
        .env("CASEMENT_TEST_HOST", format!("win1.{DOMAIN}"))
        .env_remove("http_proxy")
        .env("no_proxy", "*");
    configure(&mut command);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

const EXPECTED: &str = "echo 0 hällo\nsort 0 one two\nexit 7\ntimed out\n";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs python3 with venv, and PyPI the first time"]
async fn pywinrm_works_over_sealed_http() {
    let server = Server::http().await;
    assert_eq!(run_with_password(&server, "ntlm", PASSWORD).await, EXPECTED);
    let bodies = server.shared.bodies.lock().unwrap();
    assert!(!bodies.is_empty());
    for body in bodies.iter() {
        assert!(body.starts_with(b"--Encrypted Boundary\r\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs python3 with venv, and PyPI the first time"]
async fn pywinrm_works_over_tls_with_channel_binding() {
    let server = Server::https().await;
    assert_eq!(run_with_password(&server, "ntlm", PASSWORD).await, EXPECTED);
    // pywinrm encodes non-ASCII passwords differently for Basic authentication.
    let plain = "password-Of-The-Test";
    server.change(|settings| (settings.basic, settings.password) = (true, plain.to_owned()));
    assert_eq!(run_with_password(&server, "basic", plain).await, EXPECTED);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs python3 with venv, and PyPI the first time"]
async fn pywinrm_is_rejected_with_a_wrong_password() {
    for server in [Server::http().await, Server::https().await] {
        assert_eq!(
            run_with_password(&server, "ntlm", "another").await,
            "refused\n"
        );
        assert!(server.actions().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs python3 with venv, libkrb5-dev, krb5-kdc, and PyPI the first time"]
async fn pywinrm_works_with_a_ticket() {
    let kdc = Kdc::start(&["anna"]);
    let keytab = kdc.add_host(&format!("win1.{DOMAIN}"));
    kdc.kinit(&["anna"]);
    let anna = format!("anna@{REALM}");
    for server in [Server::http().await, Server::https().await] {
        let keytab = Some(keytab.clone());
        server.change(|settings| (settings.ntlm, settings.keytab) = (false, keytab));
        assert_eq!(run_with_ticket(&server, &kdc, &anna).await, EXPECTED);
        assert_eq!(server.logins().first(), Some(&format!("Kerberos {anna}")));
        let tls = server.shared.certificate.is_some();
        let bodies = server.shared.bodies.lock().unwrap();
        for body in bodies.iter() {
            assert_eq!(body.starts_with(b"--Encrypted Boundary\r\n"), !tls);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs python3 with venv, libkrb5-dev, krb5-kdc, and PyPI the first time"]
async fn pywinrm_is_rejected_with_a_ticket_for_another_host() {
    let kdc = Kdc::start(&["anna"]);
    kdc.add_host(&format!("win1.{DOMAIN}"));
    let other = kdc.add_host(&format!("win2.{DOMAIN}"));
    kdc.kinit(&["anna"]);
    let server = Server::http().await;
    server.change(|settings| settings.keytab = Some(other));
    let anna = format!("anna@{REALM}");
    assert_eq!(run_with_ticket(&server, &kdc, &anna).await, "refused\n");
    assert!(server.actions().is_empty());
}
