//! A Kerberos realm of a test's own: MIT's domain controller on a port of loopback,
//! with all of its files in a folder that goes with it. Nothing of this machine's
//! Kerberos is read or written.

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
    /// Starts one with these accounts.
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
        kdc.wait();
        for account in accounts {
            kdc.administer(&format!("addprinc -pw {PASSWORD} {account}"));
        }
        kdc
    }

    /// Nobody gives tickets any more.
    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Puts somebody in its place who listens, and says nothing.
    pub fn replaced(&self) -> TcpListener {
        TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).unwrap()
    }

    fn wait(&mut self) {
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("krb5kdc ended at once: {status}");
            }
            assert!(start.elapsed() < Duration::from_secs(30), "krb5kdc is mute");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The keys of a host that is in the domain, in a file.
    pub fn host(&self, name: &str) -> PathBuf {
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
        // It always says that all is well.
        let name = query.rsplit(' ').next().unwrap();
        let mut list = program(self.folder.path(), "kadmin.local");
        let found = run(list.args(["-q", &format!("listprincs {name}@{REALM}")]), "");
        assert!(
            found.contains(&format!("{name}@{REALM}\n")),
            "{query}: {found}"
        );
    }

    /// Fetches a ticket into the cache, as people do.
    pub fn kinit(&self, words: &[&str]) {
        run(program(self.folder.path(), "kinit").args(words), PASSWORD);
    }

    /// Fetches one for a host, with the ticket that is there.
    pub fn kvno(&self, service: &str) {
        run(program(self.folder.path(), "kvno").arg(service), "");
    }

    /// Whether there is a ticket, and it is good.
    pub fn has_ticket(&self) -> bool {
        let mut klist = program(self.folder.path(), "klist");
        klist.arg("-s").status().unwrap().success()
    }

    /// Makes the tickets those of a machine whose clock is wrong: the cache tells by
    /// how much, and whoever uses it reckons with that.
    pub fn skew(&self, seconds: i32) {
        let cache = std::fs::read(self.cache()).unwrap();
        assert_eq!(cache[..2], [5, 4], "a cache of the fourth version");
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

    /// What a program needs to be a member of the realm.
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
    // Where Debian has what administers.
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// Runs it to success, and gives what it said.
fn run(command: &mut Command, input: &str) -> String {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    // Whoever asks for nothing may have ended already.
    let _ = writeln!(stdin, "{input}");
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{error}");
    said
}
