//! The gap DLLs under Wine, used by a Rust and a Go program.
//!
//! The test runs itself again in its own namespaces (network, mount, PID), so it changes
//! nothing on this machine and leaves nothing behind. There it creates a prefix, installs
//! the DLLs, serves their calls like `netd`, and runs `gapcheck.exe` (Rust, from
//! `CASEMENT_LAB_WINDOWS`) and `gap.exe` (Go, built from `go-gap`).

use std::fs;
use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use casement_lab::network::adapters::Adapters;
use lab_wire::{Call, Failure, NetdAccess, Request, Response, read_line, write_line};

const INSIDE: &str = "CASEMENT_GAP_TEST_INSIDE";
const NAME: &str = "with_go::gap_dlls::gap_dlls_provide_functions_that_wine_lacks";

#[test]
#[ignore = "needs wine, go, root and the built Windows DLLs in CASEMENT_LAB_WINDOWS"]
fn gap_dlls_provide_functions_that_wine_lacks() {
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
    assert!(status.success(), "see the output above");
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
    let dir = tempfile::tempdir().unwrap();
    let prefix = prefix(dir.path());
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
    // Fails if no Wine server is running.
    let _ = Command::new("wineserver")
        .arg("-k")
        .env("WINEPREFIX", &prefix)
        .status();
    for (success, text) in checks {
        assert!(success && text.contains("ok "), "{text}");
    }
    assert!(routes.contains("via 198.18.5.1 dev Ethernet"), "{routes}");
}

/// Creates a prefix with the DLLs and their overrides.
fn prefix(dir: &Path) -> PathBuf {
    let windows = PathBuf::from(std::env::var_os("CASEMENT_LAB_WINDOWS").unwrap());
    let prefix = dir.join("prefix");
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

/// Serves the DLLs' calls like `netd`.
fn serve(drive_c: &Path) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let access = NetdAccess {
        port: listener.local_addr().unwrap().port(),
        token: "gap".to_owned(),
    };
    let text = serde_json::to_string(&access).unwrap();
    fs::write(drive_c.join("windows/casement-lab.json"), text).unwrap();
    let adapters = Arc::new(Adapters::default());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let adapters = Arc::clone(&adapters);
            thread::spawn(move || serve_call(&adapters, stream));
        }
    });
}

fn serve_call(adapters: &Adapters, mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let request: Request = read_line(&mut reader).unwrap().unwrap();
    let result = match request.call {
        Call::Adapter(call) if request.token == "gap" => adapters.call(&call),
        _ => Err(Failure {
            code: 5,
            text: "not for this test".to_owned(),
        }),
    };
    let response = match result {
        Ok(value) => Response::Ok(value),
        Err(failure) => Response::Err(failure),
    };
    write_line(&mut stream, &response).unwrap();
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
