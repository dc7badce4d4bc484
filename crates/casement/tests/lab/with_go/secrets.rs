//! Bootstrap tokens, the SSH key, its passphrase and the registry password are only where
//! they are needed. Lab hosts have no SSH password and no proxy: the tests with simulated
//! hosts cover those.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Seek as _};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use super::apply::casement;
use super::{TOKENS, assert_no_token_remains, pod};
use crate::lab_fixture::{Lab, eventually, exclusive, succeed, text};
use crate::secret_search::{
    Captured, Found, ProcessArguments, SearchTarget, SecretSearch, files_with,
};

#[test]
#[ignore = "needs root, wine and go"]
fn secrets_are_only_where_they_are_needed() {
    let _exclusive = exclusive();
    let lab = Lab::named("secrets");
    lab.run(&["up", "--hosts", "1"]);
    encrypt_key(&lab);
    protect_registry(&lab);

    let failing = WatchedCommand::run(&lab, &mut failing_apply(&lab));
    let printed = &failing.captured.printed;
    assert!(!failing.success && printed.contains("join"), "{printed}");
    failing.assert_clean(&lab);

    let logged = ["apply", "--yes", "-v", "--log-file", "apply.log"];
    let killed = WatchedCommand::run_and_kill_at_first_token(&lab, &mut casement(&lab, &logged));
    let done = WatchedCommand::run(&lab, &mut casement(&lab, &logged));
    assert!(done.success, "{}", done.captured.printed);
    done.assert_clean(&lab);
    killed.assert_clean(&lab);
    assert_token_was_used(&lab, &done);
    assert_passphrase_is_needed(&lab);
    assert_registry_password_is_needed(&lab);
    write_bundle_and_report(&lab);
    done.assert_clean(&lab);
    assert_search_finds_planted(&lab, &done);
}

const PASSPHRASE: &str = "Astern-Dahlien-Lupinen-0815";

/// Changes the cluster file to use a key with a passphrase.
fn encrypt_key(lab: &Lab) {
    let at = |name: &str| lab.folder().join(name);
    fs::copy(at("id_ed25519"), at("locked")).unwrap();
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-p", "-P", "", "-N", PASSPHRASE, "-f"]);
    succeed(keygen.arg(at("locked")));
    fs::write(at("phrase"), format!("{PASSPHRASE}\n")).unwrap();
    let text = fs::read_to_string(at("cluster.yaml")).unwrap();
    let open = "key: ./id_ed25519";
    assert!(text.contains(open), "{text}");
    let locked = "key: ./locked\n      passphrase: {file: ./phrase}";
    fs::write(at("cluster.yaml"), text.replace(open, locked)).unwrap();
}

const REGISTRY_PASSWORD: &str = "Ladenkasse-im-Labor-42";

/// Makes the registry require credentials, and adds them to the cluster file.
fn protect_registry(lab: &Lab) {
    let at = |name: &str| lab.folder().join(name);
    fs::write(
        at("shared/registry-account"),
        format!("puller:{REGISTRY_PASSWORD}\n"),
    )
    .unwrap();
    fs::write(at("registry-password"), format!("{REGISTRY_PASSWORD}\n")).unwrap();
    let text = fs::read_to_string(at("cluster.yaml")).unwrap();
    let ca = "    ca: ./registry-ca.crt\n";
    assert!(text.contains(ca), "{text}");
    let account = "    credentials: {user: puller, password: {file: ./registry-password}}\n";
    let text = text.replace(ca, &format!("{ca}{account}"));
    fs::write(at("cluster.yaml"), text).unwrap();
}

/// Requests without the password fail, and containerd can pull the image of a pod.
fn assert_registry_password_is_needed(lab: &Lab) {
    let registry = lab.address("control-plane");
    let url = format!("https://{registry}:5000/v2/");
    let curl = ["curl", "--silent", "--output", "/dev/null"];
    let options = ["--write-out", "%{http_code}", "--cacert"];
    let exec = ["exec", "control-plane", "--"];
    let ca = "/lab/shared/registry-ca.crt";
    let code = lab.run(&[&exec[..], &curl, &options, &[ca, &url]].concat());
    assert_eq!(code, "401");
    pod::apply(lab, &pod::pod("web", &registry, false));
    pod::running_pod(lab, "web");
    lab.kubectl(&["delete", "pod", "web", "--wait"]);
}

/// Another passphrase fails: the correct one was really used.
fn assert_passphrase_is_needed(lab: &Lab) {
    let path = lab.folder().join("phrase");
    fs::write(&path, "another\n").unwrap();
    let output = casement(lab, &["status"]).output().unwrap();
    fs::write(&path, format!("{PASSPHRASE}\n")).unwrap();
    assert!(!output.status.success());
    assert!(text(&output).contains("CAS-SSH-024"), "{}", text(&output));
}

/// Writes the support bundle and the report, both of which users share with others.
fn write_bundle_and_report(lab: &Lab) {
    let bundle = lab.folder().join("win1.tar.gz");
    let out = bundle.to_str().unwrap();
    succeed(&mut casement(
        lab,
        &["logs", "win1", "--bundle", "--out", out],
    ));
    let folder = lab.folder().join("bundle");
    fs::create_dir(&folder).unwrap();
    let mut tar = Command::new("tar");
    succeed(tar.arg("-xzf").arg(&bundle).arg("-C").arg(&folder));
    let found = files_with(&folder, "hnsNetworks");
    assert_eq!(found, ["host.json"]);
    fs::remove_dir_all(&folder).unwrap();
    let shown = succeed(&mut casement(lab, &["logs", "win1", "kubelet", "-n", "5"]));
    assert_eq!(shown.lines().count(), 5, "{shown}");
    let page = lab.folder().join("report.html");
    let out = page.to_str().unwrap();
    succeed(&mut casement(lab, &["report", "--out", out]));
    assert!(fs::read_to_string(page).unwrap().contains("win1"));
}

/// `apply` with another program in place of kubeadm, so that the join fails.
fn failing_apply(lab: &Lab) -> Command {
    let file = lab.folder().join("cluster.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let line = text
        .lines()
        .find(|line| line.trim().starts_with("kubeadm:"))
        .unwrap();
    let indent = line.split("kubeadm:").next().unwrap();
    let windows = std::env::var("CASEMENT_LAB_WINDOWS").expect("./test sets it");
    let other = format!("{indent}kubeadm: {windows}/gapcheck.exe");
    let broken = lab.folder().join("broken.yaml");
    fs::write(&broken, text.replace(line, &other)).unwrap();
    let mut command = lab.casement();
    command.args(["apply", "--yes", "-f"]).arg(broken);
    command
}

/// A finished command, and what was visible while it ran.
struct WatchedCommand {
    success: bool,
    captured: Captured,
    /// In the form `id.secret`.
    tokens: BTreeSet<String>,
}

/// Sets the flag on drop, also when the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl WatchedCommand {
    fn run(lab: &Lab, command: &mut Command) -> Self {
        Self::watch(lab, command, false)
    }

    fn run_and_kill_at_first_token(lab: &Lab, command: &mut Command) -> Self {
        Self::watch(lab, command, true)
    }

    fn watch(lab: &Lab, command: &mut Command, kill: bool) -> Self {
        let finished = AtomicBool::new(false);
        let seen = AtomicBool::new(false);
        thread::scope(|scope| {
            let arguments = ProcessArguments::watch();
            let guard = SetOnDrop(&finished);
            // The output may exceed the buffer of a pipe.
            let mut printed = tempfile::tempfile().unwrap();
            let tokens = scope.spawn(|| sample_tokens(lab, &finished, &seen));
            let mut child = command
                .stdout(printed.try_clone().unwrap())
                .stderr(printed.try_clone().unwrap())
                .spawn()
                .unwrap();
            if kill {
                eventually("a token is created", 60, || {
                    seen.load(Ordering::SeqCst).then_some(())
                });
                child.kill().unwrap();
            }
            let success = child.wait().unwrap().success();
            drop(guard);
            let mut text = String::new();
            printed.rewind().unwrap();
            printed.read_to_string(&mut text).unwrap();
            let tokens = tokens.join().unwrap();
            assert!(!tokens.is_empty(), "no token was found: {text}");
            Self {
                success,
                captured: Captured {
                    printed: text,
                    arguments: arguments.stop(),
                },
                tokens,
            }
        })
    }

    fn assert_clean(&self, lab: &Lab) {
        let secrets = secrets(lab, &self.tokens);
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let found = search(lab).find(&secrets, &self.captured);
        let mut expected = BTreeMap::from([
            (key(lab, "id_ed25519"), vec!["id_ed25519"]),
            (key(lab, "locked"), vec!["locked"]),
            (PASSPHRASE.to_owned(), vec!["phrase"]),
        ]);
        let mut registry = vec!["registry-password", "shared/registry-account"];
        // containerd's configuration, if the host already has it.
        let file = containerd_file(&found);
        registry.extend(file.as_deref());
        expected.insert(REGISTRY_PASSWORD.to_owned(), registry);
        let to_set = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let expected = expected
            .into_iter()
            .map(|(secret, names)| (secret, to_set(names)));
        assert_eq!(found, expected.collect::<Found>());
        // The search covers the run records.
        let records = files_with(&lab.folder().join(".casement/runs"), "stepBegan");
        assert!(!records.is_empty());
        assert_no_token_remains(lab);
    }
}

fn containerd_file(found: &Found) -> Option<String> {
    let mut locations = found.get(REGISTRY_PASSWORD).into_iter().flatten();
    let file = locations
        .find(|it| it.starts_with("hosts/win1/") && it.ends_with("/k/containerd/config.toml"));
    file.cloned()
}

/// All secrets of a run, including the secret halves of its tokens.
fn secrets(lab: &Lab, tokens: &BTreeSet<String>) -> Vec<String> {
    let tokens = tokens.iter().map(|token| token.split_once('.').unwrap().1);
    let mut secrets: Vec<String> = tokens.map(str::to_owned).collect();
    secrets.extend([key(lab, "id_ed25519"), key(lab, "locked")]);
    secrets.extend([PASSPHRASE, REGISTRY_PASSWORD].map(str::to_owned));
    secrets
}

/// Excludes the control plane, whose store holds the tokens.
fn search(lab: &Lab) -> SecretSearch<'_> {
    SecretSearch {
        folder: lab.folder(),
        excluded: Some("hosts/control-plane"),
        memory: Box::new(Vec::new),
    }
}

/// A line from the middle of the private key.
fn key(lab: &Lab, file: &str) -> String {
    let text = fs::read_to_string(lab.folder().join(file)).unwrap();
    text.lines().nth(3).unwrap().to_owned()
}

fn sample_tokens(lab: &Lab, finished: &AtomicBool, seen: &AtomicBool) -> BTreeSet<String> {
    let format = "--output=go-template={{range .items}}{{index .data \"token-id\" | base64decode}}.\
                {{index .data \"token-secret\" | base64decode}} {{end}}";
    let mut tokens = BTreeSet::new();
    while !finished.load(Ordering::SeqCst) {
        let text = lab.kubectl(&["get", "secrets", "--namespace=kube-system", TOKENS, format]);
        tokens.extend(text.split_whitespace().map(str::to_owned));
        seen.store(!tokens.is_empty(), Ordering::SeqCst);
    }
    tokens
}

/// Certificate signing requests name the token that created them.
fn assert_token_was_used(lab: &Lab, done: &WatchedCommand) {
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

fn assert_search_finds_planted(lab: &Lab, done: &WatchedCommand) {
    let secrets = secrets(lab, &done.tokens);
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let folder = &lab.folder();
    let records = files_with(&folder.join(".casement/runs"), "stepBegan");
    let record = format!(".casement/runs/{}", records.last().unwrap());
    let mut targets: Vec<SearchTarget<'_>> = [
        "ProgramData/casement/journal/planted",
        "ProgramData/casement/state/planted",
        "var/log/kubelet/planted.log",
        "k/planted.txt",
    ]
    .map(|path| host_file(lab, path))
    .into();
    targets.push(SearchTarget::archive(folder, "win1.tar.gz"));
    for file in [&*record, "report.html", "apply.log"] {
        targets.push(SearchTarget::file(folder, file));
    }
    search(lab).assert_finds_planted(&secrets, &targets);
}

/// A new file on the host's drive.
fn host_file<'a>(lab: &'a Lab, path: &'static str) -> SearchTarget<'a> {
    let delete = format!(r"del C:\{}", path.replace('/', r"\"));
    SearchTarget {
        name: path.to_owned(),
        put: Box::new(move |text| lab.put("win1", &format!("/C:/{path}"), text)),
        clear: Box::new(move || drop(lab.cmd("win1", &delete))),
    }
}
