//! The gap DLLs under a real Wine: what Go programs and our own find there.
//!
//! The test starts itself again in namespaces of its own (network, mounts,
//! processes), so that no route of the machine is touched and nothing outlives
//! it. There it makes a prefix, installs the DLLs, answers their calls as
//! `netd` does, and runs two programs: `gapcheck.exe` (Rust, from
//! `CASEMENT_LAB_WINDOWS`) and `gap.exe` (Go, built from `go-gap`).

use std::fs;
use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use casement_lab::network::adapters::Adapters;
use lab_wire::{Answer, Call, Door, Failure, Request, read_line, write_line};

const INSIDE: &str = "CASEMENT_GAP_TEST_INSIDE";
const NAME: &str = "with_go::gap_dlls::gap_dlls_give_programs_what_wine_lacks";

#[test]
#[ignore = "needs wine, go, root and the built Windows DLLs in CASEMENT_LAB_WINDOWS"]
fn gap_dlls_give_programs_what_wine_lacks() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let status = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child"])
        .arg("--mount-proc")
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", NAME, "--nocapture"])
        .env(INSIDE, "yes")
        .status()
        .unwrap();
    assert!(status.success(), "see above");
}

fn inside() {
    for arguments in [
        "link set lo up",
        "link add Ethernet type veth peer name far",
        "link set far up",
        "addr add 198.18.5.2/24 dev Ethernet",
        "link set Ethernet up",
        "link add vEthernet type bridge",
        "addr add 198.18.6.2/24 dev vEthernet",
        "link set vEthernet up",
    ] {
        run(Command::new("ip").args(arguments.split(' ')));
    }
    let folder = tempfile::tempdir().unwrap();
    let prefix = prefix(folder.path());
    let drive_c = prefix.join("drive_c");
    serve(&drive_c);
    build_go(&drive_c.join("gap.exe"));
    let checks = [r"C:\gapcheck.exe", r"C:\gap.exe"].map(|program| {
        let output = wine(&prefix).arg(program).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{program}:\n{text}");
        (output.status.success(), text)
    });
    let routes = run(Command::new("ip").args(["route", "show", "10.99.0.0/24"]));
    // The prefix may be at rest already.
    let _ = Command::new("wineserver")
        .arg("-k")
        .env("WINEPREFIX", &prefix)
        .status();
    for (good, text) in checks {
        assert!(good && text.contains("ok "), "{text}");
    }
    assert!(routes.contains("via 198.18.5.1 dev Ethernet"), "{routes}");
}

/// A prefix with the DLLs and what must be said about them.
fn prefix(folder: &Path) -> PathBuf {
    let windows = PathBuf::from(std::env::var_os("CASEMENT_LAB_WINDOWS").unwrap());
    let prefix = folder.join("prefix");
    run(wine(&prefix).args(["wineboot", "--init"]));
    run(Command::new("wineserver")
        .arg("-w")
        .env("WINEPREFIX", &prefix));
    let system32 = prefix.join("drive_c/windows/system32");
    fs::copy(system32.join("iphlpapi.dll"), system32.join("iphlpw.dll")).unwrap();
    for dll in ["bcryptprimitives", "iphlpapi", "pdh"] {
        let file = format!("{dll}.dll");
        fs::copy(windows.join(&file), system32.join(&file)).unwrap();
        let key = r"HKCU\Software\Wine\DllOverrides";
        run(wine(&prefix).args(["reg", "add", key, "/v", dll, "/d", "native", "/f"]));
    }
    let program = "gapcheck.exe";
    fs::copy(windows.join(program), prefix.join("drive_c").join(program)).unwrap();
    prefix
}

/// Answers the DLLs' calls, as `netd` does.
fn serve(drive_c: &Path) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let door = Door {
        port: listener.local_addr().unwrap().port(),
        token: "gap".to_owned(),
    };
    let text = serde_json::to_string(&door).unwrap();
    fs::write(drive_c.join("windows/casement-lab.json"), text).unwrap();
    let adapters = Arc::new(Adapters::default());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let adapters = Arc::clone(&adapters);
            thread::spawn(move || answer(&adapters, stream));
        }
    });
}

fn answer(adapters: &Adapters, mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let request: Request = read_line(&mut reader).unwrap().unwrap();
    let result = match request.call {
        Call::Adapter(call) if request.token == "gap" => adapters.call(&call),
        _ => Err(Failure {
            code: 5,
            text: "not for this test".to_owned(),
        }),
    };
    let answer = match result {
        Ok(value) => Answer::Ok(value),
        Err(failure) => Answer::Err(failure),
    };
    write_line(&mut stream, &answer).unwrap();
}

fn build_go(to: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-gap");
    run(Command::new("go")
        .args(["build", "-o"])
        .arg(to)
        .arg(".")
        .current_dir(source)
        .envs([
            ("GOOS", "windows"),
            ("GOARCH", "amd64"),
            ("CGO_ENABLED", "0"),
        ]));
}

fn wine(prefix: &Path) -> Command {
    let mut command = Command::new("wine");
    command
        .env("WINEPREFIX", prefix)
        .env("WINEDEBUG", "-all")
        .env("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=")
        .env_remove("DISPLAY");
    command
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
