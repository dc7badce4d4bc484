//! All secrets of a run over SSH are where they are needed, and nowhere else: a key
//! with its passphrase, a password, bootstrap tokens, the accounts at the registry
//! and at the proxy.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use casement_node::sim::{Sim, Thing};
use casement_sim::SimHost;
use serde_json::Value;

use crate::memory;
use crate::registry::{Account, GuardedRegistry, REGISTRY};
use crate::search::{Arguments, Found, Place, Search, Seen, files_with};
use crate::shop::Shop;
use crate::typed::{run, said};

const PHRASE: &str = "Rosen-Tulpen-Nelken-4711";
const PASSWORD: &str = "Vergissmeinnicht-12";
const PULLER: Account = Account("puller", "Registrierkasse-17");
const SURFER: Account = Account("surfer", "Stellvertreter-23");

/// Where the secrets are kept on this side.
const KEPT: [(&str, &str); 4] = [
    (PHRASE, "phrase"),
    (PASSWORD, "ssh-password"),
    (PULLER.1, "registry-password"),
    (SURFER.1, "proxy-password"),
];

/// A mirror that nobody could look up: only the proxy knows it.
const MIRROR: [&str; 2] = ["--mirror", "http://mirror.invalid"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_where_they_are_needed_and_nowhere_else() {
    let stage = Stage::set().await;
    let tokens = stage.watch_tokens();
    let arguments = Arguments::watch();
    let mut said = String::new();
    for words in [
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
        said += &stage.succeed(words).await;
    }
    said += &stage.sample().await;
    said += &stage.each_is_needed().await;
    let again = ["apply", "--yes", "-v", "--log-file", "again.log"];
    said += &stage.succeed(&again).await;
    said += &stage.report().await;
    let arguments = arguments.end();
    let seen = Seen { said, arguments };

    let tokens = tokens.lock().unwrap().clone();
    assert!(tokens.len() >= 2, "one for each host: {}", tokens.len());
    let mut secrets: Vec<&str> = tokens.iter().map(String::as_str).collect();
    secrets.extend([stage.key.as_str(), stage.locked.as_str()]);
    secrets.extend(KEPT.map(|(secret, _)| secret));
    stage.assert_clean(&secrets, &seen);
    stage.the_search_finds_what_is_planted(&secrets);

    let back = [
        "reset",
        "--all",
        "--cluster",
        "--yes",
        "-v",
        "--log-file",
        "reset.log",
    ];
    let said = stage.succeed(&back).await;
    let found = stage.search().find(&secrets, &Seen { said, ..seen });
    let mut kept = Found::from([(stage.locked.clone(), places(&["locked"]))]);
    kept.extend(KEPT.map(|(secret, file)| (secret.to_owned(), places(&[file]))));
    assert_eq!(found, kept, "hosts have none of them any more");
}

/// A cluster whose hosts, downloads and images are all behind secrets.
struct Stage {
    shop: Shop,
    registry: GuardedRegistry,
    /// A line of the key, and one of the same key with a passphrase.
    key: String,
    locked: String,
}

impl Stage {
    async fn set() -> Self {
        let shop = Shop::with_hosts(2).await;
        shop.pin().await;
        shop.publisher.forget();
        shop.publisher.demand(&SURFER.basic());
        for (secret, file) in KEPT {
            std::fs::write(shop.at(file), format!("{secret}\n")).unwrap();
        }
        let registry = GuardedRegistry::start(PULLER, SURFER);
        let key = line_of(&shop.at("id_ed25519"));
        lock(&shop.at("id_ed25519"), &shop.at("locked"));
        let host = shop.ground.cluster.host("windows2").unwrap();
        host.take_password(PASSWORD);
        let stage = Self {
            key,
            locked: line_of(&shop.at("locked")),
            registry,
            shop,
        };
        stage.write_file();
        stage
    }

    fn write_file(&self) {
        let path = self.shop.ground.cluster.cluster_file();
        let mut text = std::fs::read_to_string(&path).unwrap();
        let port = self.host("windows2").port();
        let (http, https) = (&self.shop.publisher.url, &self.registry.url);
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
            PULLER.0, SURFER.0
        );
        std::fs::write(path, text).unwrap();
    }

    fn host(&self, name: &str) -> &SimHost {
        self.shop.ground.cluster.host(name).unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.shop.casement(words);
        // What casement itself fetches goes the way of this machine.
        let (scheme, place) = self.shop.publisher.url.split_once("://").unwrap();
        let proxy = format!("{scheme}://{}:{}@{place}", SURFER.0, SURFER.1);
        command.env("HTTP_PROXY", proxy);
        if !["sample", "report"].contains(&words[0]) {
            command.args(["--agent-dir", "agent"]);
        }
        // Nobody fetches anything to read a log.
        if !["sample", "report", "logs"].contains(&words[0]) {
            command.args(MIRROR);
        }
        command
    }

    async fn succeed(&self, words: &[&str]) -> String {
        crate::typed::succeed(self.command(words)).await
    }

    /// Both hosts get their pods' images from the registry, with the accounts at it
    /// and at the proxy: they have no other way to them.
    async fn sample(&self) -> String {
        let image = format!("{REGISTRY}/shop/web:1");
        let deploy = ["sample", "deploy", "--no-linux", "--wait", "60"];
        let words = [&deploy[..], &["--windows-image", &image]].concat();
        let said = self.succeed(&words).await;
        let given = self.registry.given();
        for image in ["pause/manifests/", "shop/web/manifests/1"] {
            let pulls = given.iter().filter(|name| name.starts_with(image));
            assert!(pulls.count() >= 2, "{image}: {given:?}");
        }
        // So have they got their programs, through the other proxy.
        let pulled = self.shop.publisher.asked_by_hosts();
        assert_eq!(pulled.len(), 10, "five for each: {pulled:?}");
        let fetched = self.shop.publisher.asked();
        assert_eq!(fetched.len(), 5, "casement itself: {fetched:?}");
        said + &self.succeed(&["sample", "delete"]).await
    }

    /// With another one there is no way to the host: the right one was really used.
    async fn each_is_needed(&self) -> String {
        let mut all = String::new();
        for (file, host, code) in [
            ("phrase", "windows1", "CAS-SSH-024"),
            ("ssh-password", "windows2", "CAS-SSH-022"),
        ] {
            let place = self.shop.at(file);
            let right = std::fs::read_to_string(&place).unwrap();
            std::fs::write(&place, "another\n").unwrap();
            let output = run(self.command(&["logs", host])).await;
            std::fs::write(&place, right).unwrap();
            let said = said(&output);
            assert!(!output.status.success() && said.contains(code), "{said}");
            all += &said;
        }
        all
    }

    async fn report(&self) -> String {
        let words = ["report", "--out", "report.html"];
        self.succeed(&words).await
    }

    /// The tokens that hosts find in what kubeadm is told: it has no other way in.
    fn watch_tokens(&self) -> Arc<Mutex<BTreeSet<String>>> {
        let tokens = Arc::<Mutex<BTreeSet<String>>>::default();
        for host in ["windows1", "windows2"] {
            let found = Arc::clone(&tokens);
            let look = move |sim: &Sim| found.lock().unwrap().extend(token_on(sim));
            self.host(host).sim().on_moment(look);
        }
        tokens
    }

    fn search(&self) -> Search<'_> {
        let hosts = || self.shop.ground.cluster.hosts().iter();
        Search {
            folder: self.shop.at(""),
            besides: None,
            memory: Box::new(move || hosts().flat_map(memory::texts).collect()),
        }
    }

    /// Files on hosts that need them have the accounts of registry and proxy.
    fn assert_clean(&self, secrets: &[&str], seen: &Seen) {
        let on_hosts = |own: &str, file: &str| {
            let hosts = ["windows1", "windows2"].into_iter();
            let files = hosts.map(|host| format!(r"{host} C:\k\containerd\{file}"));
            files.chain([own.to_owned()]).collect::<BTreeSet<_>>()
        };
        let wanted = Found::from([
            (self.locked.clone(), places(&["locked"])),
            (PHRASE.to_owned(), places(&["phrase"])),
            (PASSWORD.to_owned(), places(&["ssh-password"])),
            (
                PULLER.1.to_owned(),
                on_hosts("registry-password", "config.toml"),
            ),
            (SURFER.1.to_owned(), on_hosts("proxy-password", "proxy.env")),
        ]);
        assert_eq!(self.search().find(secrets, seen), wanted);
    }

    fn the_search_finds_what_is_planted(&self, secrets: &[&str]) {
        let folder = &self.shop.at("");
        let newest = |below: &str, text: &str| {
            let found = files_with(&folder.join(below), text);
            let file = found
                .last()
                .unwrap_or_else(|| panic!("{text} below {below}"));
            format!("{below}/{file}")
        };
        let host = "hosts/windows1/disk/ProgramData/casement";
        let mut places = vec![
            memory::log(self.host("windows1"), "kubelet"),
            Place::archive(folder, "all.tar.gz"),
        ];
        for file in [
            &newest(&format!("{host}/journal"), "stepBegan"),
            &newest(&format!("{host}/journal"), "secretFile"),
            &newest(".casement/runs", "stepBegan"),
            &newest(".casement/runs", "\"verb\""),
            "report.html",
            "apply.log",
        ] {
            places.push(Place::file(folder, file));
        }
        self.search().finds_what_is_planted(secrets, &places);
    }
}

fn places(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A line from the middle of a private key.
fn line_of(key: &Path) -> String {
    let text = std::fs::read_to_string(key).unwrap();
    text.lines().nth(3).unwrap().to_owned()
}

/// Gives a key a passphrase, and another name.
fn lock(open: &Path, locked: &Path) {
    std::fs::rename(open, locked).unwrap();
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-p", "-P", "", "-N", PHRASE, "-f"]);
    let output = keygen.arg(locked).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The secret half of the token in what kubeadm is told on a host, as long as that
/// is there.
fn token_on(sim: &Sim) -> Option<String> {
    let world = sim.world();
    let mut files = world.entries.values();
    files.find_map(|(thing, _)| {
        let Thing::File(bytes) = thing else {
            return None;
        };
        let told: Value = serde_json::from_slice(bytes).ok()?;
        let token = told.pointer("/discovery/bootstrapToken/token")?.as_str()?;
        let (_, secret) = token.split_once('.')?;
        Some(secret.to_owned())
    })
}
