//! The secrets of a run over SSH (key, passphrase, password, bootstrap tokens, registry
//! and proxy credentials) are only where they are needed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use casement_node::sim::{Sim, SimEntry};
use casement_sim::SimHost;
use serde_json::Value;

use crate::command::{combined_output, run};
use crate::memory;
use crate::mirror_fixture::MirrorFixture;
use crate::registry::{Account, PrivateRegistry, REGISTRY};
use crate::secret_search::{
    Captured, Found, ProcessArguments, SearchTarget, SecretSearch, files_with,
};

const PASSPHRASE: &str = "Rosen-Tulpen-Nelken-4711";
const PASSWORD: &str = "Vergissmeinnicht-12";
const REGISTRY_ACCOUNT: Account = Account("puller", "Registrierkasse-17");
const PROXY_ACCOUNT: Account = Account("surfer", "Stellvertreter-23");

/// The secrets and the files on the controller that hold them.
const FILES: [(&str, &str); 4] = [
    (PASSPHRASE, "phrase"),
    (PASSWORD, "ssh-password"),
    (REGISTRY_ACCOUNT.1, "registry-password"),
    (PROXY_ACCOUNT.1, "proxy-password"),
];

/// A name that does not resolve: only the proxy knows it.
const MIRROR: [&str; 2] = ["--mirror", "http://mirror.invalid"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_only_where_they_are_needed() {
    let fixture = SecretsFixture::start().await;
    let tokens = fixture.watch_tokens();
    let arguments = ProcessArguments::watch();
    let mut printed = String::new();
    for args in [
        &[
            "apply",
            "--yes",
            "-v",
            "--log-file",
            "apply.log",
            "--accept-unverified",
        ][..],
        &["plan", "-v"],
        &["status"],
        &["doctor"],
        &["logs", "windows1", "--bundle", "--out", "all.tar.gz"],
    ] {
        printed += &fixture.succeed(args).await;
    }
    printed += &fixture.deploy_sample().await;
    printed += &fixture.assert_each_is_needed().await;
    let again = ["apply", "--yes", "-v", "--log-file", "again.log"];
    printed += &fixture.succeed(&again).await;
    printed += &fixture.report().await;
    let arguments = arguments.stop();
    let captured = Captured { printed, arguments };

    let tokens = tokens.lock().unwrap().clone();
    assert!(
        tokens.len() >= 2,
        "expected one for each host, found {}",
        tokens.len()
    );
    let mut secrets: Vec<&str> = tokens.iter().map(String::as_str).collect();
    secrets.extend([fixture.key.as_str(), fixture.encrypted.as_str()]);
    secrets.extend(FILES.map(|(secret, _)| secret));
    fixture.assert_clean(&secrets, &captured);
    fixture.assert_search_finds_planted(&secrets);

    let reset = [
        "reset",
        "--all",
        "--cluster",
        "--yes",
        "-v",
        "--log-file",
        "reset.log",
    ];
    let printed = fixture.succeed(&reset).await;
    let found = fixture.search().find(
        &secrets,
        &Captured {
            printed,
            ..captured
        },
    );
    let mut expected = Found::from([(fixture.encrypted.clone(), locations(&["locked"]))]);
    expected.extend(FILES.map(|(secret, file)| (secret.to_owned(), locations(&[file]))));
    assert_eq!(found, expected, "hosts have none of them after reset");
}

/// A cluster whose hosts, downloads and images all need secrets.
struct SecretsFixture {
    mirrored: MirrorFixture,
    registry: PrivateRegistry,
    /// A line of the plain key, and one of the key with a passphrase.
    key: String,
    encrypted: String,
}

impl SecretsFixture {
    async fn start() -> Self {
        let mirrored = MirrorFixture::start_with_hosts(2).await;
        mirrored.pin().await;
        mirrored.mirror.clear_requests();
        mirrored.mirror.require_proxy_login(&PROXY_ACCOUNT.basic());
        for (secret, file) in FILES {
            std::fs::write(mirrored.path(file), format!("{secret}\n")).unwrap();
        }
        let registry = PrivateRegistry::start(REGISTRY_ACCOUNT, PROXY_ACCOUNT);
        let key = line_of(&mirrored.path("id_ed25519"));
        encrypt_key(&mirrored.path("id_ed25519"), &mirrored.path("locked"));
        let host = mirrored.base.cluster.host("windows2").unwrap();
        host.require_password(PASSWORD);
        let fixture = Self {
            key,
            encrypted: line_of(&mirrored.path("locked")),
            registry,
            mirrored,
        };
        fixture.write_file();
        fixture
    }

    fn write_file(&self) {
        let path = self.mirrored.base.cluster.cluster_file();
        let mut text = std::fs::read_to_string(&path).unwrap();
        let port = self.host("windows2").port();
        let (http, https) = (&self.mirrored.mirror.url, &self.registry.url);
        for (old, new) in [
            (
                "key: ./id_ed25519",
                "key: ./locked\n      passphrase: {file: ./phrase}",
            ),
            (
                &*format!("ssh: {{port: {port}}}"),
                &*format!("ssh: {{port: {port}, password: {{file: ./ssh-password}}}}"),
            ),
        ] {
            assert!(text.contains(old), "{old} in {text}");
            text = text.replace(old, new);
        }
        text += &format!(
            "  images:\n    registry: {REGISTRY}\n    \
             credentials: {{user: {}, password: {{file: ./registry-password}}}}\n  \
             proxy:\n    http: {http}\n    https: {https}\n    \
             credentials: {{user: {}, password: {{file: ./proxy-password}}}}\n",
            REGISTRY_ACCOUNT.0, PROXY_ACCOUNT.0
        );
        std::fs::write(path, text).unwrap();
    }

    fn host(&self, name: &str) -> &SimHost {
        self.mirrored.base.cluster.host(name).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.mirrored.command(args);
        // casement's own downloads use the proxy of the environment.
        let (scheme, address) = self.mirrored.mirror.url.split_once("://").unwrap();
        let proxy = format!(
            "{scheme}://{}:{}@{address}",
            PROXY_ACCOUNT.0, PROXY_ACCOUNT.1
        );
        command.env("HTTP_PROXY", proxy);
        if !["sample", "report"].contains(&args[0]) {
            command.args(["--agent-dir", "agent"]);
        }
        // `logs` downloads nothing and has no `--mirror`.
        if !["sample", "report", "logs"].contains(&args[0]) {
            command.args(MIRROR);
        }
        command
    }

    async fn succeed(&self, args: &[&str]) -> String {
        crate::command::succeed(self.command(args)).await
    }

    /// Both hosts pull the images of pods from the registry, which only works with the
    /// credentials of registry and proxy.
    async fn deploy_sample(&self) -> String {
        let image = format!("{REGISTRY}/shop/web:1");
        let deploy = ["sample", "deploy", "--no-linux", "--wait", "60"];
        let args = [&deploy[..], &["--windows-image", &image]].concat();
        let printed = self.succeed(&args).await;
        let served = self.registry.served();
        for image in ["pause/manifests/", "shop/web/manifests/1"] {
            let pulls = served.iter().filter(|name| name.starts_with(image));
            assert!(pulls.count() >= 2, "{image}: {served:?}");
        }
        // The programs were pulled through the other proxy.
        let pulled = self.mirrored.mirror.host_requests();
        assert_eq!(pulled.len(), 10, "five per host: {pulled:?}");
        let fetched = self.mirrored.mirror.requests();
        assert_eq!(fetched.len(), 5, "casement itself: {fetched:?}");
        printed + &self.succeed(&["sample", "delete"]).await
    }

    /// Another passphrase or password fails: the correct ones were really used.
    async fn assert_each_is_needed(&self) -> String {
        let mut all = String::new();
        for (file, host, code) in [
            ("phrase", "windows1", "CAS-SSH-024"),
            ("ssh-password", "windows2", "CAS-SSH-022"),
        ] {
            let path = self.mirrored.path(file);
            let original = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, "another\n").unwrap();
            let output = run(self.command(&["logs", host])).await;
            std::fs::write(&path, original).unwrap();
            let printed = combined_output(&output);
            assert!(
                !output.status.success() && printed.contains(code),
                "{printed}"
            );
            all += &printed;
        }
        all
    }

    async fn report(&self) -> String {
        let args = ["report", "--out", "report.html"];
        self.succeed(&args).await
    }

    /// Collects the tokens from the kubeadm configuration on the hosts.
    fn watch_tokens(&self) -> Arc<Mutex<BTreeSet<String>>> {
        let tokens = Arc::<Mutex<BTreeSet<String>>>::default();
        for host in ["windows1", "windows2"] {
            let found = Arc::clone(&tokens);
            let collect = move |sim: &Sim| found.lock().unwrap().extend(token_on(sim));
            self.host(host).sim().on_kill_point(collect);
        }
        tokens
    }

    fn search(&self) -> SecretSearch<'_> {
        let hosts = || self.mirrored.base.cluster.hosts().iter();
        SecretSearch {
            folder: self.mirrored.path(""),
            excluded: None,
            memory: Box::new(move || hosts().flat_map(memory::texts).collect()),
        }
    }

    /// On hosts, only containerd's files have the credentials of registry and proxy.
    fn assert_clean(&self, secrets: &[&str], captured: &Captured) {
        let on_hosts = |local: &str, file: &str| {
            let hosts = ["windows1", "windows2"].into_iter();
            let files = hosts.map(|host| format!(r"{host} C:\k\containerd\{file}"));
            files.chain([local.to_owned()]).collect::<BTreeSet<_>>()
        };
        let expected = Found::from([
            (self.encrypted.clone(), locations(&["locked"])),
            (PASSPHRASE.to_owned(), locations(&["phrase"])),
            (PASSWORD.to_owned(), locations(&["ssh-password"])),
            (
                REGISTRY_ACCOUNT.1.to_owned(),
                on_hosts("registry-password", "config.toml"),
            ),
            (
                PROXY_ACCOUNT.1.to_owned(),
                on_hosts("proxy-password", "proxy.env"),
            ),
        ]);
        assert_eq!(self.search().find(secrets, captured), expected);
    }

    fn assert_search_finds_planted(&self, secrets: &[&str]) {
        let folder = &self.mirrored.path("");
        let newest = |below: &str, text: &str| {
            let found = files_with(&folder.join(below), text);
            let file = found
                .last()
                .unwrap_or_else(|| panic!("{text} below {below}"));
            format!("{below}/{file}")
        };
        let host = "hosts/windows1/disk/ProgramData/casement";
        let mut targets = vec![
            memory::log(self.host("windows1"), "kubelet"),
            SearchTarget::archive(folder, "all.tar.gz"),
        ];
        for file in [
            &newest(&format!("{host}/journal"), "stepBegan"),
            &newest(&format!("{host}/journal"), "secretFile"),
            &newest(".casement/runs", "stepBegan"),
            &newest(".casement/runs", "\"verb\""),
            "report.html",
            "apply.log",
        ] {
            targets.push(SearchTarget::file(folder, file));
        }
        self.search().assert_finds_planted(secrets, &targets);
    }
}

fn locations(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A line from the middle of a private key.
fn line_of(key: &Path) -> String {
    let text = std::fs::read_to_string(key).unwrap();
    text.lines().nth(3).unwrap().to_owned()
}

/// Replaces a key by one with a passphrase.
fn encrypt_key(plain: &Path, encrypted: &Path) {
    casement_sim::encrypt_key(plain, encrypted, PASSPHRASE).unwrap();
    std::fs::remove_file(plain).unwrap();
}

/// The secret half of the token in the kubeadm configuration, while that file exists.
fn token_on(sim: &Sim) -> Option<String> {
    let world = sim.world();
    let mut files = world.entries.values();
    files.find_map(|(thing, _)| {
        let SimEntry::File(bytes) = thing else {
            return None;
        };
        let config: Value = serde_json::from_slice(bytes).ok()?;
        let token = config
            .pointer("/discovery/bootstrapToken/token")?
            .as_str()?;
        let (_, secret) = token.split_once('.')?;
        Some(secret.to_owned())
    })
}
