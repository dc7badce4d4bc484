//! What goes wrong on the way to hosts, as people see it: one screen that says what,
//! both values, and the way on; and nothing is changed by any of it.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use casement_node::sim::Faults;
use casement_node::state::lock::Lock;
use casement_sim::{SimHost, make_key};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::ground::Ground;
use crate::typed::{run, said};

fn folder(ground: &Ground) -> PathBuf {
    ground.cluster.agents().parent().unwrap().to_owned()
}

fn windows1(ground: &Ground) -> &SimHost {
    ground.cluster.host("windows1").unwrap()
}

/// What `apply` says to a file with something else in it, and ends with.
async fn refused(ground: &Ground, code: i32, change: impl Fn(&str) -> String) -> String {
    let text = std::fs::read_to_string(ground.cluster.cluster_file()).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "nothing was changed");
    std::fs::write(folder(ground).join("changed.yaml"), changed).unwrap();
    told(ground, code, &["apply", "--yes", "-f", "changed.yaml"]).await
}

/// One screen.
async fn told(ground: &Ground, code: i32, words: &[&str]) -> String {
    let output = ground.run(words).await;
    let said = said(&output);
    println!("{said}");
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.lines().count() <= 24, "more than a screen: {said}");
    said
}

fn assert_words(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_host_key_is_no_question_where_nobody_can_answer() {
    let ground = Ground::start(1, true).await;
    let known = folder(&ground).join("known_hosts");
    let right = std::fs::read_to_string(&known).unwrap();
    let address = windows1(&ground).spec().address.to_string();
    let others: String = right
        .lines()
        .filter(|line| !line.contains(&address))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&known, &others).unwrap();
    let said = told(&ground, 1, &["apply", "--yes"]).await;
    assert_words(&said, &["CAS-SSH-001", "SHA256:", "ssh-keyscan", &address]);
    assert_eq!(std::fs::read_to_string(&known).unwrap(), others);

    let accepted = ["apply", "--yes", "--accept-new-host-keys"];
    let said = ground.succeed(&accepted).await;
    assert_words(&said, &["windows1", "SHA256:", "from now on"]);
    ground.succeed(&["status"]).await;

    // The key of another host in its place.
    let key = right.lines().next().unwrap().split_once(' ').unwrap().1;
    let port = windows1(&ground).port();
    std::fs::write(&known, format!("{others}[{address}]:{port} {key}\n")).unwrap();
    let said = told(&ground, 1, &accepted).await;
    assert_words(&said, &["CAS-SSH-002", "known_hosts:2", "ssh-keygen"]);
    assert_eq!(said.matches("SHA256:").count(), 2, "both: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_is_refused_names_what_was_tried() {
    let ground = Ground::start(1, true).await;
    make_key(&folder(&ground).join("other_key")).unwrap();
    let other = |file: &str| file.replace("./id_ed25519", "./other_key");
    let said = refused(&ground, 1, other).await;
    let tried = ["CAS-SSH-003", "Administrator", "SHA256:", "authorized_keys"];
    assert_words(&said, &tried);

    let password = folder(&ground).join("password");
    std::fs::write(&password, "wrong horse").unwrap();
    std::fs::set_permissions(&password, Permissions::from_mode(0o600)).unwrap();
    let with = |file: &str| file.replace("key: ./id_ed25519", "password: {file: ./password}");
    let said = refused(&ground, 1, with).await;
    assert_words(&said, &["CAS-SSH-022", "Administrator", "it takes"]);
    assert!(!said.contains("wrong horse"), "{said}");
    assert_eq!(windows1(&ground).left_behind(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_where_nobody_listens_is_told_with_the_way_to_a_server() {
    let ground = Ground::start(1, true).await;
    let free = TcpListener::bind((windows1(&ground).spec().address, 0)).unwrap();
    let closed = free.local_addr().unwrap().port();
    drop(free);
    let right = format!("port: {}", windows1(&ground).port());
    let wrong = format!("port: {closed}");
    let said = refused(&ground, 1, |file| file.replace(&right, &wrong)).await;
    let server = "Add-WindowsCapability";
    assert_words(
        &said,
        &["CAS-SSH-005", "windows1", &closed.to_string(), server],
    );
    assert_eq!(windows1(&ground).left_behind(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_for_another_processor_is_not_brought() {
    let ground = Ground::start(1, true).await;
    let linux1 = ground.cluster.host("linux1").unwrap();
    linux1.set_processor("sparc64");
    // The first bytes of a program for this machine are enough to know one by.
    let mut head = Vec::new();
    let program = std::fs::File::open(env!("CARGO_BIN_EXE_casement")).unwrap();
    program.take(64).read_to_end(&mut head).unwrap();
    std::fs::write(ground.cluster.agents().join("casement-node"), head).unwrap();
    let said = told(&ground, 1, &["apply", "--yes", "--only", "linux1"]).await;
    let ours = format!("Linux, {}", std::env::consts::ARCH);
    let words = [
        "CAS-SSH-027",
        "linux1",
        "Linux, sparc64",
        &ours,
        "--agent-dir",
    ];
    assert_words(&said, &words);
    assert_eq!(linux1.left_behind(), [] as [&str; 0]);
    let disk = std::fs::read_dir(linux1.console().disk()).unwrap();
    assert_eq!(disk.count(), 0, "nothing is on it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_in_the_file_twice_is_refused_before_it_is_touched() {
    let ground = Ground::start(1, true).await;
    let address = windows1(&ground).spec().address.to_string();
    let again = |name: &str, address: &str| {
        format!("  hosts:\n    - {{name: {name}, address: {address}, os: windows-2022}}\n")
    };
    let twice = again("windows1", "127.18.0.99");
    let said = refused(&ground, 3, |file| file.replace("  hosts:\n", &twice)).await;
    assert_words(&said, &["CAS-HOST-003", "windows1", "here"]);
    let twice = again("other", &address);
    let said = refused(&ground, 3, |file| file.replace("  hosts:\n", &twice)).await;
    assert_words(&said, &["CAS-HOST-004", &address, "here"]);
    assert_eq!(windows1(&ground).left_behind(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_leads_nowhere_is_told_as_that() {
    let ground = Ground::start(1, true).await;
    let address = format!("address: {},", windows1(&ground).spec().address);
    let named = |file: &str| file.replace(&address, "address: windows1.invalid,");
    let said = refused(&ground, 3, named).await;
    assert_words(&said, &["CAS-NET-005", "windows1.invalid", "IPv4"]);

    let bastion = "  access:\n    bastion: {address: bastion.invalid, user: admin, \
                   key: ./id_ed25519, knownHosts: ./known_hosts}\n";
    let said = refused(&ground, 1, |file| file.replace("  access:\n", bastion)).await;
    assert_words(&said, &["CAS-SSH-007", "`bastion.invalid`", "spelling"]);

    let admin = std::fs::read_to_string(ground.cluster.kubeconfig()).unwrap();
    let server = admin.lines().find(|line| line.contains("server:")).unwrap();
    let elsewhere = admin.replace(server, "    server: https://api.invalid:6443");
    std::fs::write(folder(&ground).join("elsewhere.conf"), elsewhere).unwrap();
    let said = refused(&ground, 1, |file| {
        file.replace("./admin.conf", "./elsewhere.conf")
    })
    .await;
    assert_words(&said, &["CAS-API-", "api.invalid"]);
    assert_eq!(windows1(&ground).left_behind(), [] as [&str; 0]);
}

/// `converge` of a host on another network, on a machine whose own is made like this.
async fn converged_where(network: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    make_key(&folder.path().join("id")).unwrap();
    let files = [
        ("known_hosts", String::new()),
        ("casement-node", "agent".to_owned()),
        (
            "document.json",
            json!({"host": "each", "stage": "prepare", "repair": "report", "steps": []})
                .to_string(),
        ),
        (
            "hosts.json",
            json!({"user": "root", "key": "id", "knownHosts": "known_hosts",
                   "hosts": [{"name": "far", "address": ELSEWHERE}]})
            .to_string(),
        ),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = Command::new("unshare");
    command.current_dir(folder.path());
    let inside = format!("{network} && exec \"$@\"");
    command.args(["--net", "sh", "-c", &inside, "sh"]);
    command
        .arg(env!("CARGO_BIN_EXE_casement"))
        .args(["converge", "document.json"]);
    command.args(["--hosts", "hosts.json", "--agent-dir", "."]);
    let output = run(command).await;
    let said = said(&output);
    println!("{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.lines().count() <= 24, "more than a screen: {said}");
    said
}

/// An address that is nobody's.
const ELSEWHERE: &str = "198.51.100.7";

#[tokio::test]
#[ignore = "needs root and a network namespace"]
async fn a_host_that_no_route_leads_to_is_told_with_what_the_system_says() {
    let words = ["CAS-SSH-006", "no route to", ELSEWHERE, "VPN"];
    let said = converged_where("true").await;
    assert_words(&said, &words);
    assert_words(&said, &["Network is unreachable"]);
    let made = format!("ip link set lo up && ip route add unreachable {ELSEWHERE}");
    let said = converged_where(&made).await;
    assert_words(&said, &words);
    assert_words(&said, &["No route to host"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_answers_nothing_is_given_up() {
    let ground = Ground::start(1, true).await;
    let host = windows1(&ground);
    // It takes connections and never says a word.
    let silent = TcpListener::bind((host.spec().address, 0)).unwrap();
    let other = silent.local_addr().unwrap().port().to_string();
    let port = host.port().to_string();
    let said = refused(&ground, 1, |file| file.replace(&port, &other)).await;
    assert_words(&said, &["CAS-SSH-004", "10 s", "the SSH handshake", &other]);
}

/// Wires to a host, the first of which goes dead: what is sent arrives nowhere, and
/// nobody says so.
struct Wires {
    port: u16,
    /// How many were laid.
    laid: Arc<AtomicU32>,
    /// Whether the first one is dead.
    dead: Arc<AtomicBool>,
}

/// The first is dead as soon as so many lines were said on it.
async fn dead_after(host: &SimHost, lines: u64) -> Wires {
    let address = host.spec().address;
    let to = (address, host.port());
    let listener = tokio::net::TcpListener::bind((address, 0)).await.unwrap();
    let wires = Wires {
        port: listener.local_addr().unwrap().port(),
        laid: Arc::default(),
        dead: Arc::default(),
    };
    let (laid, dead) = (Arc::clone(&wires.laid), Arc::clone(&wires.dead));
    let console = host.console();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let first = laid.fetch_add(1, Ordering::SeqCst) == 0;
            let (dead, console) = (Arc::clone(&dead), console.clone());
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(to).await.unwrap();
                let (mut read, mut write) = far.split();
                let (mut from, mut into) = near.split();
                let inwards = async {
                    let _ = tokio::io::copy(&mut from, &mut write).await;
                };
                let outwards = async {
                    let mut buffer = vec![0; 4096];
                    while let Ok(count @ 1..) = read.read(&mut buffer).await {
                        if first && console.lines() >= lines {
                            break;
                        }
                        if into.write_all(&buffer[..count]).await.is_err() {
                            return;
                        }
                    }
                    if first {
                        // The near end stays open, and nothing comes any more: not even
                        // that the host boots and has closed the other one.
                        dead.store(true, Ordering::SeqCst);
                        std::future::pending::<()>().await;
                    }
                };
                tokio::join!(inwards, outwards);
            });
        }
    });
    wires
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_half_open_is_noticed_and_made_anew() {
    let ground = Ground::start(1, true).await;
    // Two hellos, a look and its answer, a run that is asked for: its first event is not
    // heard any more.
    let wires = dead_after(windows1(&ground), 6).await;
    let port = wires.port;
    let file = ground.cluster.cluster_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let changed = text.replace(&windows1(&ground).port().to_string(), &port.to_string());
    std::fs::write(&file, changed).unwrap();
    let known = folder(&ground).join("known_hosts");
    let keys = std::fs::read_to_string(&known).unwrap();
    let keys = keys.replace(&windows1(&ground).port().to_string(), &port.to_string());
    std::fs::write(&known, keys).unwrap();
    let said = ground.succeed(&["apply", "--yes", "-v"]).await;
    assert!(said.contains("windows1 is Ready"), "{said}");
    assert!(wires.dead.load(Ordering::SeqCst), "it was over before");
    assert!(wires.laid.load(Ordering::SeqCst) > 1, "over another wire");
    ground.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_controller_says_whom_it_waits_for_and_goes_on_then() {
    let ground = Ground::start(1, true).await;
    ground.succeed(&["apply", "--yes"]).await;
    let layout = windows1(&ground).console().layout().clone();
    let run = "r-of-anna".parse().unwrap();
    let held = Lock::take(&layout, &run, "anna, process 7").unwrap();
    let held = held.unwrap_or_else(|holder| panic!("{holder:?} has it"));
    windows1(&ground)
        .sim()
        .meddle(|world| world.firewall.clear());
    let mut command = ground.command(&["apply", "--yes"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let waited = tokio::task::spawn_blocking(move || {
        let mut second = command.spawn().unwrap();
        let mut lines = BufReader::new(second.stderr.take().unwrap()).lines();
        let told = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("waits for")));
        // Anna's run ends.
        drop(held);
        let rest: Vec<_> = lines.map(Result::unwrap).collect();
        assert!(second.wait().unwrap().success(), "{rest:?}");
        told.map(Result::unwrap)
    });
    let waited = waited.await.unwrap().unwrap_or_default();
    assert!(waited.contains("anna, process 7"), "{waited}");
    ground.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_controllers_at_once_come_to_the_same_end() {
    let ground = Ground::start(2, true).await;
    let apply = &["apply", "--yes"];
    let (one, other) = tokio::join!(ground.run(apply), ground.run(apply));
    for output in [one, other] {
        assert!(output.status.success(), "{}", said(&output));
    }
    let said = ground.succeed(apply).await;
    assert!(said.contains("Nothing to do"), "{said}");
    ground
        .succeed(&["reset", "--all", "--cluster", "--yes"])
        .await;
    for host in ground.cluster.hosts() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_gone_on_from_when_there_is_room() {
    let ground = Ground::start(1, true).await;
    let sim = windows1(&ground).sim();
    sim.set_faults(Faults {
        room: Some(10),
        ..Faults::default()
    });
    let output = ground.run(&["apply", "--yes"]).await;
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let words = ["CAS-NODE-002", "10 bytes free", "free space on the drive"];
    assert_words(&said(&output), &words);
    sim.set_faults(Faults::default());
    ground.succeed(&["apply", "--yes"]).await;
    ground.succeed(&["status"]).await;
}
