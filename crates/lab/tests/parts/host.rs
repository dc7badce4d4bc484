//! A fixture for container tests: own namespaces, a pod network, and a `netd` that
//! serves only container calls.

use std::fs;
use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use casement_lab::containers::{Containers, ContainersConfig};
use lab_wire::{Call, NetdAccess, Request, read_line};

/// The id of the pod's HCN namespace.
pub const NAMESPACE: &str = "5a3c0f5e-7d0e-4c43-9d5c-2f6e4c1d9a01";

const INSIDE: &str = "CASEMENT_TEST_INSIDE";

/// Runs the test again in its own namespaces; returns true there and false outside.
pub fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let status = Command::new("unshare")
        .args([
            "--net",
            "--mount",
            "--uts",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .unwrap();
    assert!(status.success(), "inside the namespaces: {status}");
    false
}

/// Panics unless the command succeeds.
pub fn run(command: &str) {
    let arguments: Vec<&str> = command.split(' ').collect();
    let status = Command::new(arguments[0])
        .args(&arguments[1..])
        .status()
        .unwrap();
    assert!(status.success(), "{command}: {status}");
}

/// 10.0.0.1 on this side, 10.0.0.2 in the network namespace `pod`.
pub fn make_network() {
    for command in [
        "mount -t tmpfs tmpfs /run",
        "ip link set lo up",
        "ip netns add pod",
        "ip link add host0 type veth peer name eth0 netns pod",
        "ip addr add 10.0.0.1/24 dev host0",
        "ip link set host0 up",
        "ip -n pod addr add 10.0.0.2/24 dev eth0",
        "ip -n pod link set lo up",
        "ip -n pod link set eth0 up",
    ] {
        run(command);
    }
}

/// Creates a Wine prefix with the lab's programs.
pub fn make_template(at: &Path) {
    let programs = std::env::var_os("CASEMENT_LAB_WINDOWS")
        .expect("CASEMENT_LAB_WINDOWS names the directory with the built Windows programs");
    let programs = PathBuf::from(programs);
    let wine = |program: &str, arguments: &[&str]| {
        let status = Command::new(program)
            .args(arguments)
            .env("WINEPREFIX", at)
            .env("WINEDEBUG", "-all")
            .status()
            .unwrap();
        assert!(status.success(), "{program}: {status}");
    };
    wine("wineboot", &["--init"]);
    wine("wineserver", &["--wait"]);
    let lab = at.join("drive_c/lab");
    fs::create_dir(&lab).unwrap();
    for program in ["enter.exe", "web.exe", "pause.exe"] {
        fs::copy(programs.join(program), lab.join(program)).unwrap();
    }
    let system = at.join("drive_c/windows/system32");
    let random = "bcryptprimitives.dll";
    fs::copy(programs.join(random), system.join(random)).unwrap();
}

/// Serves container calls on a free port.
pub fn serve(config: ContainersConfig) -> NetdAccess {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let containers = Arc::new(Containers::new(config));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let containers = Arc::clone(&containers);
            thread::spawn(move || {
                let mut stream = BufReader::new(stream.unwrap());
                let request: Request = read_line(&mut stream).unwrap().unwrap();
                let Call::Container(call) = request.call else {
                    panic!("only containers here: {:?}", request.call);
                };
                let netns = |guid: &str| (guid == NAMESPACE).then(|| "pod".to_owned());
                containers.serve(&call, stream, netns);
            });
        }
    });
    NetdAccess {
        port,
        token: "secret".to_owned(),
    }
}
