//! A Kerberos realm for one test: MIT's KDC on a loopback port, with all of its files in a
//! temporary folder. The Kerberos configuration of this machine is not used.

use std::ffi::OsString;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const DOMAIN: &str = "casement.test";
pub const REALM: &str = "CASEMENT.TEST";
/// The password of every account.
pub const PASSWORD: &str = "kerberos-Password-Of-The-Test";

pub struct Kdc {
    folder: tempfile::TempDir,
    port: u16,
    process: Child,
}

impl Drop for Kdc {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Kdc {
    pub fn start(accounts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        configure(folder.path(), port);
        run(
            program(folder.path(), "kdb5_util").args(["create", "-s", "-P", "master"]),
            "",
        );
        let process = program(folder.path(), "krb5kdc")
            .arg("-n")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = process.expect("krb5kdc is needed: apt-get install krb5-kdc");
        let mut kdc = Self {
            folder,
            port,
            process,
        };
        kdc.wait_until_ready();
        for account in accounts {
            kdc.administer(&format!("addprinc -pw {PASSWORD} {account}"));
        }
        kdc
    }

    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Replaces a stopped KDC with a listener that sends nothing.
    pub fn listen_silently(&self) -> TcpListener {
        TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).unwrap()
    }

    fn wait_until_ready(&mut self) {
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("krb5kdc exited: {status}");
            }
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "krb5kdc does not listen after 30 s"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Adds a host to the domain and returns its keytab.
    pub fn add_host(&self, name: &str) -> PathBuf {
        let keytab = self.folder.path().join(format!("{name}.keytab"));
        self.administer(&format!("addprinc -randkey HTTP/{name}"));
        self.administer(&format!("ktadd -k {} HTTP/{name}", keytab.display()));
        keytab
    }

    fn administer(&self, query: &str) {
        run(
            program(self.folder.path(), "kadmin.local").args(["-q", query]),
            "",
        );
        // kadmin.local exits with 0 even on failure.
        let name = query.rsplit(' ').next().unwrap();
        let mut list = program(self.folder.path(), "kadmin.local");
        let found = run(list.args(["-q", &format!("listprincs {name}@{REALM}")]), "");
        assert!(
            found.contains(&format!("{name}@{REALM}\n")),
            "{query}: {found}"
        );
    }

    /// Gets a ticket into the cache.
    pub fn kinit(&self, args: &[&str]) {
        run(program(self.folder.path(), "kinit").args(args), PASSWORD);
    }

    /// Gets a service ticket with the cached ticket.
    pub fn kvno(&self, service: &str) {
        run(program(self.folder.path(), "kvno").arg(service), "");
    }

    /// Whether the cache has a valid ticket.
    pub fn has_ticket(&self) -> bool {
        let mut klist = program(self.folder.path(), "klist");
        klist.arg("-s").status().unwrap().success()
    }

    /// Simulates a wrong clock with the time offset in the header of the ticket cache.
    pub fn skew(&self, seconds: i32) {
        let cache = std::fs::read(self.cache()).unwrap();
        assert_eq!(cache[..2], [5, 4], "the cache has version 4");
        let header = usize::from(u16::from_be_bytes([cache[2], cache[3]]));
        let mut skewed = vec![5, 4, 0, 12, 0, 1, 0, 8];
        skewed.extend_from_slice(&seconds.to_be_bytes());
        skewed.extend_from_slice(&[0; 4]);
        skewed.extend_from_slice(&cache[4 + header..]);
        std::fs::write(self.cache(), skewed).unwrap();
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// The environment for programs in the realm.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        environment(self.folder.path())
    }
}

fn environment(folder: &Path) -> Vec<(&'static str, OsString)> {
    let file = |name: &str| folder.join(name).into_os_string();
    let mut cache = OsString::from("FILE:");
    cache.push(file("cache"));
    vec![
        ("KRB5_CONFIG", file("krb5.conf")),
        ("KRB5_KDC_PROFILE", file("kdc.conf")),
        ("KRB5CCNAME", cache),
    ]
}

fn configure(folder: &Path, port: u16) {
    let at = folder.display();
    let client = format!(
        "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n \
         dns_lookup_realm = false\n dns_canonicalize_hostname = false\n \
         qualify_shortname = \"\"\n udp_preference_limit = 1\n\
         [realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
    );
    let server = format!(
        "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n\
         [realms]\n {REALM} = {{\n  database_name = {at}/principal\n  \
         key_stash_file = {at}/stash\n  acl_file = {at}/acl\n  \
         supported_enctypes = aes256-cts-hmac-sha1-96:normal\n }}\n\
         [logging]\n kdc = FILE:{at}/kdc.log\n"
    );
    std::fs::write(folder.join("krb5.conf"), client).unwrap();
    std::fs::write(folder.join("kdc.conf"), server).unwrap();
}

fn program(folder: &Path, name: &str) -> Command {
    let mut command = Command::new(name);
    command.envs(environment(folder));
    // Debian's administration tools are in sbin.
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// Requires success; returns stdout.
fn run(command: &mut Command, input: &str) -> String {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    // A program that reads no input may have exited.
    let _ = writeln!(stdin, "{input}");
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stdout}{error}");
    stdout
}
