//! Connection failures as users see them: each fits one screen with the problem, both
//! values and a remedy, and changes nothing.

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

use crate::command::{combined_output, run};
use crate::fixture::Fixture;

fn folder(fixture: &Fixture) -> PathBuf {
    fixture.cluster.agents().parent().unwrap().to_owned()
}

fn windows1(fixture: &Fixture) -> &SimHost {
    fixture.cluster.host("windows1").unwrap()
}

/// Runs `apply` on an edited cluster file, expecting an exit code; returns the output.
async fn apply_edited_fails(
    fixture: &Fixture,
    code: i32,
    change: impl Fn(&str) -> String,
) -> String {
    let text = std::fs::read_to_string(fixture.cluster.cluster_file()).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "nothing was changed");
    std::fs::write(folder(fixture).join("changed.yaml"), changed).unwrap();
    fails(fixture, code, &["apply", "--yes", "-f", "changed.yaml"]).await
}

/// The output must fit one screen.
async fn fails(fixture: &Fixture, code: i32, args: &[&str]) -> String {
    let output = fixture.run(args).await;
    let printed = combined_output(&output);
    println!("{printed}");
    assert_eq!(output.status.code(), Some(code), "{printed}");
    assert!(
        printed.lines().count() <= 24,
        "more than a screen: {printed}"
    );
    printed
}

fn assert_contains(printed: &str, parts: &[&str]) {
    for part in parts {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_host_key_fails_without_a_terminal() {
    let fixture = Fixture::start(1, true).await;
    let known = folder(&fixture).join("known_hosts");
    let original = std::fs::read_to_string(&known).unwrap();
    let address = windows1(&fixture).spec().address.to_string();
    let others: String = original
        .lines()
        .filter(|line| !line.contains(&address))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&known, &others).unwrap();
    let printed = fails(&fixture, 1, &["apply", "--yes"]).await;
    assert_contains(
        &printed,
        &["CAS-SSH-001", "SHA256:", "ssh-keyscan", &address],
    );
    assert_eq!(std::fs::read_to_string(&known).unwrap(), others);

    let accepted = ["apply", "--yes", "--accept-new-host-keys"];
    let printed = fixture.succeed(&accepted).await;
    assert_contains(&printed, &["windows1", "SHA256:", "added to "]);
    fixture.succeed(&["status"]).await;

    // The key of another host under this address.
    let key = original.lines().next().unwrap().split_once(' ').unwrap().1;
    let port = windows1(&fixture).port();
    std::fs::write(&known, format!("{others}[{address}]:{port} {key}\n")).unwrap();
    let printed = fails(&fixture, 1, &accepted).await;
    assert_contains(&printed, &["CAS-SSH-002", "known_hosts:2", "ssh-keygen"]);
    assert_eq!(printed.matches("SHA256:").count(), 2, "both: {printed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_login_reports_what_was_tried() {
    let fixture = Fixture::start(1, true).await;
    make_key(&folder(&fixture).join("other_key")).unwrap();
    let other = |file: &str| file.replace("./id_ed25519", "./other_key");
    let printed = apply_edited_fails(&fixture, 1, other).await;
    let tried = ["CAS-SSH-003", "Administrator", "SHA256:", "authorized_keys"];
    assert_contains(&printed, &tried);

    let password = folder(&fixture).join("password");
    std::fs::write(&password, "wrong horse").unwrap();
    std::fs::set_permissions(&password, Permissions::from_mode(0o600)).unwrap();
    let with = |file: &str| file.replace("key: ./id_ed25519", "password: {file: ./password}");
    let printed = apply_edited_fails(&fixture, 1, with).await;
    assert_contains(&printed, &["CAS-SSH-022", "Administrator", "host accepts"]);
    assert!(!printed.contains("wrong horse"), "{printed}");
    assert_eq!(windows1(&fixture).left_behind(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_port_reports_how_to_install_a_server() {
    let fixture = Fixture::start(1, true).await;
    let free = TcpListener::bind((windows1(&fixture).spec().address, 0)).unwrap();
    let closed = free.local_addr().unwrap().port();
    drop(free);
    let open_port = format!("port: {}", windows1(&fixture).port());
    let closed_port = format!("port: {closed}");
    let printed =
        apply_edited_fails(&fixture, 1, |file| file.replace(&open_port, &closed_port)).await;
    let server = "Add-WindowsCapability";
    assert_contains(
        &printed,
        &["CAS-SSH-005", "windows1", &closed.to_string(), server],
    );
    assert_eq!(windows1(&fixture).left_behind(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_for_another_architecture_is_not_uploaded() {
    let fixture = Fixture::start(1, true).await;
    let linux1 = fixture.cluster.host("linux1").unwrap();
    linux1.set_processor("sparc64");
    // The ELF header is enough to tell the architecture.
    let mut head = Vec::new();
    let program = std::fs::File::open(env!("CARGO_BIN_EXE_casement")).unwrap();
    program.take(64).read_to_end(&mut head).unwrap();
    std::fs::write(fixture.cluster.agents().join("casement-node"), head).unwrap();
    let printed = fails(&fixture, 1, &["apply", "--yes", "--only", "linux1"]).await;
    let ours = format!("Linux, {}", std::env::consts::ARCH);
    let parts = [
        "CAS-SSH-027",
        "linux1",
        "Linux, sparc64",
        &ours,
        "--agent-dir",
    ];
    assert_contains(&printed, &parts);
    assert_eq!(linux1.left_behind(), [] as [&str; 0]);
    let disk = std::fs::read_dir(linux1.console().disk()).unwrap();
    assert_eq!(disk.count(), 0, "the disk is still empty");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicate_host_is_rejected_before_any_change() {
    let fixture = Fixture::start(1, true).await;
    let address = windows1(&fixture).spec().address.to_string();
    let again = |name: &str, address: &str| {
        format!("  hosts:\n    - {{name: {name}, address: {address}, os: windows-2022}}\n")
    };
    let twice = again("windows1", "127.18.0.99");
    let printed = apply_edited_fails(&fixture, 3, |file| file.replace("  hosts:\n", &twice)).await;
    assert_contains(&printed, &["CAS-HOST-003", "windows1", "here"]);
    let twice = again("other", &address);
    let printed = apply_edited_fails(&fixture, 3, |file| file.replace("  hosts:\n", &twice)).await;
    assert_contains(&printed, &["CAS-HOST-004", &address, "here"]);
    assert_eq!(windows1(&fixture).left_behind(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unresolvable_name_is_reported() {
    let fixture = Fixture::start(1, true).await;
    let address = format!("address: {},", windows1(&fixture).spec().address);
    let named = |file: &str| file.replace(&address, "address: windows1.invalid,");
    let printed = apply_edited_fails(&fixture, 3, named).await;
    assert_contains(&printed, &["CAS-NET-005", "windows1.invalid", "IPv4"]);

    let bastion = "  access:\n    bastion: {address: bastion.invalid, user: admin, \
                   key: ./id_ed25519, knownHosts: ./known_hosts}\n";
    let printed =
        apply_edited_fails(&fixture, 1, |file| file.replace("  access:\n", bastion)).await;
    assert_contains(&printed, &["CAS-SSH-007", "`bastion.invalid`", "spelling"]);

    let admin = std::fs::read_to_string(fixture.cluster.kubeconfig()).unwrap();
    let server = admin.lines().find(|line| line.contains("server:")).unwrap();
    let changed = admin.replace(server, "    server: https://api.invalid:6443");
    std::fs::write(folder(&fixture).join("elsewhere.conf"), changed).unwrap();
    let printed = apply_edited_fails(&fixture, 1, |file| {
        file.replace("./admin.conf", "./elsewhere.conf")
    })
    .await;
    assert_contains(&printed, &["CAS-API-", "api.invalid"]);
    assert_eq!(windows1(&fixture).left_behind(), [] as [&str; 0]);
}

/// `converge` of an unreachable host, after `setup` in a new network namespace.
async fn converge_in_namespace(setup: &str) -> String {
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
                   "hosts": [{"name": "far", "address": UNREACHABLE}]})
            .to_string(),
        ),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = Command::new("unshare");
    command.current_dir(folder.path());
    let script = format!("{setup} && exec \"$@\"");
    command.args(["--net", "sh", "-c", &script, "sh"]);
    command
        .arg(env!("CARGO_BIN_EXE_casement"))
        .args(["converge", "document.json"]);
    command.args(["--hosts", "hosts.json", "--agent-dir", "."]);
    let output = run(command).await;
    let printed = combined_output(&output);
    println!("{printed}");
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.lines().count() <= 24,
        "more than a screen: {printed}"
    );
    printed
}

/// TEST-NET-2, RFC 5737.
const UNREACHABLE: &str = "198.51.100.7";

#[tokio::test]
#[ignore = "needs root and a network namespace"]
async fn host_without_a_route_reports_the_system_error() {
    let parts = ["CAS-SSH-006", "no route to", UNREACHABLE, "VPN"];
    let printed = converge_in_namespace("true").await;
    assert_contains(&printed, &parts);
    assert_contains(&printed, &["Network is unreachable"]);
    let setup = format!("ip link set lo up && ip route add unreachable {UNREACHABLE}");
    let printed = converge_in_namespace(&setup).await;
    assert_contains(&printed, &parts);
    assert_contains(&printed, &["No route to host"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_host_times_out() {
    let fixture = Fixture::start(1, true).await;
    let host = windows1(&fixture);
    // It accepts connections and sends nothing.
    let silent = TcpListener::bind((host.spec().address, 0)).unwrap();
    let other = silent.local_addr().unwrap().port().to_string();
    let port = host.port().to_string();
    let printed = apply_edited_fails(&fixture, 1, |file| file.replace(&port, &other)).await;
    assert_contains(
        &printed,
        &["CAS-SSH-004", "10 s", "the SSH handshake", &other],
    );
}

/// A proxy to a host whose first connection stops forwarding without being closed.
struct Proxy {
    port: u16,
    connections: Arc<AtomicU32>,
    /// Whether the first connection has stalled.
    stalled: Arc<AtomicBool>,
}

/// The first connection stalls after this many lines of the protocol.
async fn stall_after(host: &SimHost, lines: u64) -> Proxy {
    let address = host.spec().address;
    let to = (address, host.port());
    let listener = tokio::net::TcpListener::bind((address, 0)).await.unwrap();
    let proxy = Proxy {
        port: listener.local_addr().unwrap().port(),
        connections: Arc::default(),
        stalled: Arc::default(),
    };
    let (connections, stalled) = (Arc::clone(&proxy.connections), Arc::clone(&proxy.stalled));
    let console = host.console();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let first = connections.fetch_add(1, Ordering::SeqCst) == 0;
            let (stalled, console) = (Arc::clone(&stalled), console.clone());
            tokio::spawn(async move {
                let mut upstream = tokio::net::TcpStream::connect(to).await.unwrap();
                let (mut read, mut write) = upstream.split();
                let (mut from, mut into) = client.split();
                let to_host = async {
                    let _ = tokio::io::copy(&mut from, &mut write).await;
                };
                let to_client = async {
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
                        // The client's side stays open and gets nothing more, not even
                        // the close when the host reboots.
                        stalled.store(true, Ordering::SeqCst);
                        std::future::pending::<()>().await;
                    }
                };
                tokio::join!(to_host, to_client);
            });
        }
    });
    proxy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connection_is_detected_and_reopened() {
    let fixture = Fixture::start(1, true).await;
    // Two hellos, an observation and its result, a run request: the first event of the
    // run is lost.
    let proxy = stall_after(windows1(&fixture), 6).await;
    let port = proxy.port;
    let file = fixture.cluster.cluster_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let changed = text.replace(&windows1(&fixture).port().to_string(), &port.to_string());
    std::fs::write(&file, changed).unwrap();
    let known = folder(&fixture).join("known_hosts");
    let keys = std::fs::read_to_string(&known).unwrap();
    let keys = keys.replace(&windows1(&fixture).port().to_string(), &port.to_string());
    std::fs::write(&known, keys).unwrap();
    let printed = fixture.succeed(&["apply", "--yes", "-v"]).await;
    assert!(printed.contains("windows1 is Ready"), "{printed}");
    assert!(proxy.stalled.load(Ordering::SeqCst), "the run ended before");
    assert!(
        proxy.connections.load(Ordering::SeqCst) > 1,
        "a second connection"
    );
    fixture.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_controller_reports_the_lock_holder_and_continues_after_it() {
    let fixture = Fixture::start(1, true).await;
    fixture.succeed(&["apply", "--yes"]).await;
    let layout = windows1(&fixture).console().layout().clone();
    let run = "r-of-anna".parse().unwrap();
    let lock = Lock::acquire(&layout, &run, "anna, process 7").unwrap();
    let lock = lock.unwrap_or_else(|holder| panic!("{holder:?} has it"));
    windows1(&fixture)
        .sim()
        .modify_world(|world| world.firewall.clear());
    let mut command = fixture.command(&["apply", "--yes"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let waited = tokio::task::spawn_blocking(move || {
        let mut second = command.spawn().unwrap();
        let mut lines = BufReader::new(second.stderr.take().unwrap()).lines();
        let waiting =
            lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("waiting for")));
        // Anna's run ends.
        drop(lock);
        let rest: Vec<_> = lines.map(Result::unwrap).collect();
        assert!(second.wait().unwrap().success(), "{rest:?}");
        waiting.map(Result::unwrap)
    });
    let waited = waited.await.unwrap().unwrap_or_default();
    assert!(waited.contains("anna, process 7"), "{waited}");
    fixture.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_controllers_reach_the_same_state() {
    let fixture = Fixture::start(2, true).await;
    let apply = &["apply", "--yes"];
    let (one, other) = tokio::join!(fixture.run(apply), fixture.run(apply));
    for output in [one, other] {
        assert!(output.status.success(), "{}", combined_output(&output));
    }
    let printed = fixture.succeed(apply).await;
    assert!(printed.contains("No changes: "), "{printed}");
    fixture
        .succeed(&["reset", "--all", "--cluster", "--yes"])
        .await;
    for host in fixture.cluster.hosts() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_is_reported_and_the_next_apply_resumes() {
    let fixture = Fixture::start(1, true).await;
    let sim = windows1(&fixture).sim();
    sim.set_faults(Faults {
        max_file_bytes: Some(10),
        ..Faults::default()
    });
    let output = fixture.run(&["apply", "--yes"]).await;
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        combined_output(&output)
    );
    let parts = ["CAS-NODE-002", "10 bytes free", "free up disk space"];
    assert_contains(&combined_output(&output), &parts);
    sim.set_faults(Faults::default());
    fixture.succeed(&["apply", "--yes"]).await;
    fixture.succeed(&["status"]).await;
}
