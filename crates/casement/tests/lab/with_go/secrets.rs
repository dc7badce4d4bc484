//! Bootstrap tokens, the SSH key, its passphrase and the registry's password are where
//! they must be, and nowhere else. Hosts of the lab take no password and have no proxy:
//! those are simulated ones' affair.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Seek as _};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use super::apply::verb;
use super::{TOKENS, assert_no_token_left, pod};
use crate::machine::{Lab, alone, eventually, succeed, text};
use crate::search::{Arguments, Found, Place, Search, Seen, files_with};

#[test]
#[ignore = "needs root, wine and go"]
fn secrets_are_nowhere_but_in_their_own_place() {
    let _alone = alone();
    let lab = Lab::named("secrets");
    lab.run(&["up", "--hosts", "1"]);
    lock_the_key(&lab);
    guard_the_registry(&lab);

    let failing = Watched::run(&lab, &mut failing_apply(&lab));
    let said = &failing.seen.said;
    assert!(!failing.success && said.contains("join"), "{said}");
    failing.assert_clean(&lab);

    let logged = ["apply", "--yes", "-v", "--log-file", "apply.log"];
    let killed = Watched::run_and_kill_at_the_first_token(&lab, &mut verb(&lab, &logged));
    let done = Watched::run(&lab, &mut verb(&lab, &logged));
    assert!(done.success, "{}", done.seen.said);
    done.assert_clean(&lab);
    killed.assert_clean(&lab);
    the_token_was_used(&lab, &done);
    the_passphrase_is_needed(&lab);
    the_registry_s_password_is_needed(&lab);
    what_is_given_away_is_made(&lab);
    done.assert_clean(&lab);
    the_search_finds_what_is_planted(&lab, &done);
}

/// What opens the key that casement is given.
const PHRASE: &str = "Astern-Dahlien-Lupinen-0815";

/// Lets the cluster file name a key that has a passphrase.
fn lock_the_key(lab: &Lab) {
    let at = |name: &str| lab.folder().join(name);
    fs::copy(at("id_ed25519"), at("locked")).unwrap();
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-p", "-P", "", "-N", PHRASE, "-f"]);
    succeed(keygen.arg(at("locked")));
    fs::write(at("phrase"), format!("{PHRASE}\n")).unwrap();
    let text = fs::read_to_string(at("cluster.yaml")).unwrap();
    let open = "key: ./id_ed25519";
    assert!(text.contains(open), "{text}");
    let locked = "key: ./locked\n      passphrase: {file: ./phrase}";
    fs::write(at("cluster.yaml"), text.replace(open, locked)).unwrap();
}

/// What the registry wants to hear from now on.
const REGISTRY: &str = "Ladenkasse-im-Labor-42";

/// Lets the registry give nothing without an account, which the cluster file names.
fn guard_the_registry(lab: &Lab) {
    let at = |name: &str| lab.folder().join(name);
    fs::write(
        at("shared/registry-account"),
        format!("puller:{REGISTRY}\n"),
    )
    .unwrap();
    fs::write(at("registry-password"), format!("{REGISTRY}\n")).unwrap();
    let text = fs::read_to_string(at("cluster.yaml")).unwrap();
    let ca = "    ca: ./registry-ca.crt\n";
    assert!(text.contains(ca), "{text}");
    let account = "    credentials: {user: puller, password: {file: ./registry-password}}\n";
    let text = text.replace(ca, &format!("{ca}{account}"));
    fs::write(at("cluster.yaml"), text).unwrap();
}

/// Nobody gets anything without it, and containerd gets the images of a pod.
fn the_registry_s_password_is_needed(lab: &Lab) {
    let registry = lab.address("control-plane");
    let place = format!("https://{registry}:5000/v2/");
    let curl = ["curl", "--silent", "--output", "/dev/null"];
    let how = ["--write-out", "%{http_code}", "--cacert"];
    let exec = ["exec", "control-plane", "--"];
    let ca = "/lab/shared/registry-ca.crt";
    let code = lab.run(&[&exec[..], &curl, &how, &[ca, &place]].concat());
    assert_eq!(code, "401");
    pod::apply(lab, &pod::pod("web", &registry, false));
    pod::running_pod(lab, "web");
    lab.kubectl(&["delete", "pod", "web", "--wait"]);
}

/// With another one there is no way to the host: the right one was really used.
fn the_passphrase_is_needed(lab: &Lab) {
    let place = lab.folder().join("phrase");
    fs::write(&place, "another\n").unwrap();
    let output = verb(lab, &["status"]).output().unwrap();
    fs::write(&place, format!("{PHRASE}\n")).unwrap();
    assert!(!output.status.success());
    assert!(text(&output).contains("CAS-SSH-024"), "{}", text(&output));
}

/// A bundle of the host, unpacked, and the report of the last run: both are made to
/// be given away.
fn what_is_given_away_is_made(lab: &Lab) {
    let bundle = lab.folder().join("win1.tar.gz");
    let out = bundle.to_str().unwrap();
    succeed(&mut verb(lab, &["logs", "win1", "--bundle", "--out", out]));
    let folder = lab.folder().join("bundle");
    fs::create_dir(&folder).unwrap();
    let mut tar = Command::new("tar");
    succeed(tar.arg("-xzf").arg(&bundle).arg("-C").arg(&folder));
    let found = files_with(&folder, "hnsNetworks");
    assert_eq!(found, ["host.json"]);
    fs::remove_dir_all(&folder).unwrap();
    let shown = succeed(&mut verb(lab, &["logs", "win1", "kubelet", "-n", "5"]));
    assert_eq!(shown.lines().count(), 5, "{shown}");
    let page = lab.folder().join("report.html");
    let out = page.to_str().unwrap();
    succeed(&mut verb(lab, &["report", "--out", out]));
    assert!(fs::read_to_string(page).unwrap().contains("win1"));
}

/// A kubeadm that cannot join: the file names another program for it.
fn failing_apply(lab: &Lab) -> Command {
    let file = lab.folder().join("cluster.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let line = text
        .lines()
        .find(|line| line.trim().starts_with("kubeadm:"))
        .unwrap();
    let lead = line.split("kubeadm:").next().unwrap();
    let windows = std::env::var("CASEMENT_LAB_WINDOWS").expect("./test sets it");
    let other = format!("{lead}kubeadm: {windows}/gapcheck.exe");
    let broken = lab.folder().join("broken.yaml");
    fs::write(&broken, text.replace(line, &other)).unwrap();
    let mut command = lab.casement();
    command.args(["apply", "--yes", "-f"]).arg(broken);
    command
}

/// A command, and what could be seen while it ran.
struct Watched {
    success: bool,
    seen: Seen,
    /// `id.secret`.
    tokens: BTreeSet<String>,
}

/// Ends what goes on until then, also when a test has failed.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Watched {
    fn run(lab: &Lab, command: &mut Command) -> Self {
        Self::watch(lab, command, false)
    }

    fn run_and_kill_at_the_first_token(lab: &Lab, command: &mut Command) -> Self {
        Self::watch(lab, command, true)
    }

    fn watch(lab: &Lab, command: &mut Command, kill: bool) -> Self {
        let over = AtomicBool::new(false);
        let seen = AtomicBool::new(false);
        thread::scope(|scope| {
            let arguments = Arguments::watch();
            let ends = Ends(&over);
            // It may say more than a pipe holds before anybody listens.
            let mut said = tempfile::tempfile().unwrap();
            let tokens = scope.spawn(|| sample_tokens(lab, &over, &seen));
            let mut child = command
                .stdout(said.try_clone().unwrap())
                .stderr(said.try_clone().unwrap())
                .spawn()
                .unwrap();
            if kill {
                eventually("a token is made", 60, || {
                    seen.load(Ordering::SeqCst).then_some(())
                });
                child.kill().unwrap();
            }
            let success = child.wait().unwrap().success();
            drop(ends);
            let mut text = String::new();
            said.rewind().unwrap();
            said.read_to_string(&mut text).unwrap();
            let tokens = tokens.join().unwrap();
            assert!(!tokens.is_empty(), "no token was seen: {text}");
            Self {
                success,
                seen: Seen {
                    said: text,
                    arguments: arguments.end(),
                },
                tokens,
            }
        })
    }

    fn assert_clean(&self, lab: &Lab) {
        let secrets = secrets(lab, &self.tokens);
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let found = search(lab).find(&secrets, &self.seen);
        let mut wanted = BTreeMap::from([
            (key(lab, "id_ed25519"), vec!["id_ed25519"]),
            (key(lab, "locked"), vec!["locked"]),
            (PHRASE.to_owned(), vec!["phrase"]),
        ]);
        let mut registry = vec!["registry-password", "shared/registry-account"];
        // containerd's own file, on the host that has got one.
        let place = containerd_file(&found);
        registry.extend(place.as_deref());
        wanted.insert(REGISTRY.to_owned(), registry);
        let own = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let wanted = wanted
            .into_iter()
            .map(|(secret, names)| (secret, own(names)));
        assert_eq!(found, wanted.collect::<Found>());
        // What is scanned has the records of the runs.
        let records = files_with(&lab.folder().join(".casement/runs"), "stepBegan");
        assert!(!records.is_empty());
        assert_no_token_left(lab);
    }
}

fn containerd_file(found: &Found) -> Option<String> {
    let mut places = found.get(REGISTRY).into_iter().flatten();
    let own = places
        .find(|it| it.starts_with("hosts/win1/") && it.ends_with("/k/containerd/config.toml"));
    own.cloned()
}

/// All that a run must not show: the secret halves of its tokens among them.
fn secrets(lab: &Lab, tokens: &BTreeSet<String>) -> Vec<String> {
    let tokens = tokens.iter().map(|token| token.split_once('.').unwrap().1);
    let mut secrets: Vec<String> = tokens.map(str::to_owned).collect();
    secrets.extend([key(lab, "id_ed25519"), key(lab, "locked")]);
    secrets.extend([PHRASE, REGISTRY].map(str::to_owned));
    secrets
}

/// Tokens are kept in the control plane's own store, which nobody scans.
fn search(lab: &Lab) -> Search<'_> {
    Search {
        folder: lab.folder(),
        besides: Some("hosts/control-plane"),
        memory: Box::new(Vec::new),
    }
}

/// A line from the middle of the private key.
fn key(lab: &Lab, file: &str) -> String {
    let text = fs::read_to_string(lab.folder().join(file)).unwrap();
    text.lines().nth(3).unwrap().to_owned()
}

fn sample_tokens(lab: &Lab, over: &AtomicBool, seen: &AtomicBool) -> BTreeSet<String> {
    let form = "--output=go-template={{range .items}}{{index .data \"token-id\" | base64decode}}.\
                {{index .data \"token-secret\" | base64decode}} {{end}}";
    let mut tokens = BTreeSet::new();
    while !over.load(Ordering::SeqCst) {
        let text = lab.kubectl(&["get", "secrets", "--namespace=kube-system", TOKENS, form]);
        tokens.extend(text.split_whitespace().map(str::to_owned));
        seen.store(!tokens.is_empty(), Ordering::SeqCst);
    }
    tokens
}

/// The requests for certificates name the tokens that made them.
fn the_token_was_used(lab: &Lab, done: &Watched) {
    let list = lab.kubectl(&["get", "csr", "--output=json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    let requests = list["items"].as_array().unwrap();
    let used = done.tokens.iter().any(|token| {
        let user = format!("system:bootstrap:{}", token.split('.').next().unwrap());
        requests
            .iter()
            .any(|request| request["spec"]["username"] == user.as_str())
    });
    assert!(used, "{:?} in {list}", done.tokens.len());
}

fn the_search_finds_what_is_planted(lab: &Lab, done: &Watched) {
    let secrets = secrets(lab, &done.tokens);
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let folder = &lab.folder();
    let records = files_with(&folder.join(".casement/runs"), "stepBegan");
    let record = format!(".casement/runs/{}", records.last().unwrap());
    let mut places: Vec<Place<'_>> = [
        "ProgramData/casement/journal/planted",
        "ProgramData/casement/state/planted",
        "var/log/kubelet/planted.log",
        "k/planted.txt",
    ]
    .map(|path| on_host(lab, path))
    .into();
    places.push(Place::archive(folder, "win1.tar.gz"));
    for file in [&*record, "report.html", "apply.log"] {
        places.push(Place::file(folder, file));
    }
    search(lab).finds_what_is_planted(&secrets, &places);
}

/// A new file on the host's drive.
fn on_host<'a>(lab: &'a Lab, path: &'static str) -> Place<'a> {
    let delete = format!(r"del C:\{}", path.replace('/', r"\"));
    Place {
        name: path.to_owned(),
        put: Box::new(move |text| lab.put("win1", &format!("/C:/{path}"), text)),
        clear: Box::new(move || drop(lab.cmd("win1", &delete))),
    }
}
