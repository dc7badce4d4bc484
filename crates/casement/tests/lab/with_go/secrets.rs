//! The bootstrap token, the SSH key and its passphrase are where they must be, and nowhere else.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use super::apply::verb;
use super::{TOKENS, assert_no_token_left};
use crate::machine::{Lab, alone, eventually, succeed, text};
use crate::search::{Arguments, files_with};

#[test]
#[ignore = "needs root, wine and go"]
fn secrets_are_nowhere_but_in_their_own_place() {
    let _alone = alone();
    let lab = Lab::named("secrets");
    lab.run(&["up", "--hosts", "1"]);
    lock_the_key(&lab);

    let failing = Watched::run(&lab, &mut failing_apply(&lab));
    assert!(!failing.success, "{}", failing.said);
    assert!(failing.said.contains("join"), "{}", failing.said);
    failing.assert_clean(&lab);

    let killed =
        Watched::run_and_kill_at_the_first_token(&lab, &mut verb(&lab, &["apply", "--yes"]));
    let done = Watched::run(&lab, &mut verb(&lab, &["apply", "--yes"]));
    assert!(done.success, "{}", done.said);
    done.assert_clean(&lab);
    killed.assert_clean(&lab);
    the_token_was_used(&lab, &done);
    the_passphrase_is_needed(&lab);
    what_is_given_away_is_made(&lab);
    done.assert_clean(&lab);
    the_search_finds_what_is_planted(&lab, &done);
}

/// What opens the key that casement is given.
const PHRASE: &str = "Rosen-Tulpen-Nelken-4711";

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
    said: String,
    /// `id.secret`.
    tokens: BTreeSet<String>,
    /// Arguments of all processes of the machine.
    arguments: BTreeSet<String>,
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
            let tokens = scope.spawn(|| sample_tokens(lab, &over, &seen));
            let mut child = command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            if kill {
                eventually("a token is made", 60, || {
                    seen.load(Ordering::SeqCst).then_some(())
                });
                child.kill().unwrap();
            }
            let output = child.wait_with_output().unwrap();
            over.store(true, Ordering::SeqCst);
            let tokens = tokens.join().unwrap();
            assert!(!tokens.is_empty(), "no token was seen: {}", text(&output));
            Self {
                success: output.status.success(),
                said: text(&output),
                tokens,
                arguments: arguments.end(),
            }
        })
    }

    /// Everywhere that a secret was found.
    fn places(&self, lab: &Lab, secret: &str) -> Vec<String> {
        let mut places = files_with(&lab.folder(), secret);
        places.retain(|path| !path.starts_with("hosts/control-plane"));
        if self.said.contains(secret) {
            places.push("what it said".to_owned());
        }
        if self.arguments.iter().any(|line| line.contains(secret)) {
            places.push("arguments".to_owned());
        }
        places
    }

    fn assert_clean(&self, lab: &Lab) {
        for token in &self.tokens {
            let (_, secret) = token.split_once('.').unwrap();
            assert_eq!(self.places(lab, secret), [""; 0]);
        }
        assert_eq!(self.places(lab, &key(lab, "id_ed25519")), ["id_ed25519"]);
        assert_eq!(self.places(lab, &key(lab, "locked")), ["locked"]);
        assert_eq!(self.places(lab, PHRASE), ["phrase"]);
        // What is scanned has the records of the runs.
        let records = files_with(&lab.folder().join(".casement/runs"), "stepBegan");
        assert!(!records.is_empty());
        assert_no_token_left(lab);
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
    let token = done.tokens.first().unwrap();
    let secret = token.split_once('.').unwrap().1;
    for place in [
        r"C:\ProgramData\casement\journal\planted",
        r"C:\ProgramData\casement\state\planted",
        r"C:\var\log\kubelet\planted.log",
        r"C:\k\planted.txt",
    ] {
        let name = place.rsplit('\\').next().unwrap();
        for secret in [secret, PHRASE, &key(lab, "locked"), &key(lab, "id_ed25519")] {
            lab.cmd("win1", &format!("echo {secret}>{place}"));
            let found = done.places(lab, secret);
            let here = found.iter().any(|path| path.ends_with(name));
            assert!(here, "{place}: {found:?}");
        }
        lab.cmd("win1", &format!("del {place}"));
    }
    let arguments = Arguments::watch();
    succeed(Command::new("sh").args(["-c", "sleep 0.5", token]));
    let arguments = arguments.end();
    assert!(arguments.iter().any(|line| line.contains(secret)));
    assert_eq!(done.places(lab, secret), [""; 0], "and it is clean again");
}
