//! Runs Microsoft's own tests of its HCN clients, hcsshim and hnslib (used by
//! kube-proxy), as Windows programs under Wine against the emulator.
//!
//! `CASEMENT_LAB_WINDOWS` is the directory with the built `computenetwork.dll` and
//! `bcryptprimitives.dll`.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use casement_golden::Goldens;
use casement_lab::network::hns::{Hns, HnsConfig, HnsVersion, NoFabric};
use lab_wire::{Call, Failure, NetdAccess, Request, Response, read_line, write_line};

const TOKEN: &str = "outside";

/// On the newest HNS all tests pass. On Windows Server releases, exactly the tests of
/// later features fail: modifying a load balancer since 15.5 (15.4 accepts and ignores
/// it), tiered ACLs since 14.0, network ACLs since 15.0.
#[test]
#[ignore = "needs wine, go and the built Windows DLLs"]
fn client_tests_match_golden_results() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::make(dir.path());
    let mut goldens = Goldens::in_folder("tests/golden/hcn-tests");
    let newest = HnsVersion::new(15, 5);
    let suites = [
        ("hcsshim", "integration", newest, "hcsshim.txt"),
        (
            "hcsshim",
            "integration",
            HnsVersion::WS2025,
            "hcsshim-2025.txt",
        ),
        (
            "hcsshim",
            "integration",
            HnsVersion::WS2022,
            "hcsshim-2022.txt",
        ),
        // The tag `featureaccelnetsupport` adds a test that does not compile in this
        // version; hcsshim has the same test.
        (
            "hnslib",
            "integration,featureroutesupport",
            newest,
            "hnslib.txt",
        ),
    ];
    for (module, tags, version, expected) in suites {
        let program = build(module, tags, dir.path());
        let state_file = dir.path().join(format!("{expected}.json"));
        prefix.write_access_file(&serve(version, state_file));
        let output = prefix.wine(&program, &["-test.v"]);
        // Shown only if the test fails.
        println!("{expected}:\n{}", String::from_utf8_lossy(&output.stdout));
        goldens.add(expected, verdicts(&output));
    }
    goldens.assert();
}

/// One sorted line per test: `PASS TestX` or `FAIL TestX`.
fn verdicts(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut verdicts = BTreeMap::new();
    for line in text.lines() {
        let verdict = line
            .strip_prefix("--- ")
            .and_then(|line| line.split_once(": "));
        if let Some((verdict, rest)) = verdict {
            let name = rest.split_whitespace().next().unwrap_or_default();
            verdicts.insert(name.to_owned(), verdict.to_owned());
        }
    }
    let lines = verdicts
        .iter()
        .map(|(name, verdict)| format!("{verdict} {name}\n"));
    lines.collect()
}

/// Builds the test program of a module for Windows, at the version pinned in
/// `lab/kube/hcn-tests`.
fn build(module: &str, tags: &str, dir: &Path) -> PathBuf {
    let program = dir.join(format!("{module}.exe"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap();
    let cache = cache
        .unwrap_or_else(|| home.join(".cache"))
        .join("casement/lab/go");
    let go = Command::new("go")
        .args(["test", "-c", "-tags", tags, "-o"])
        .arg(&program)
        .arg(format!("github.com/Microsoft/{module}/hcn"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/kube/hcn-tests"))
        .env("GOCACHE", cache.join("build"))
        .env("GOMODCACHE", cache.join("mod"))
        .env("GOFLAGS", "-buildvcs=false -modcacherw -mod=readonly")
        .envs([("GOOS", "windows"), ("CGO_ENABLED", "0")])
        .output()
        .expect("go is needed to build the tests");
    assert!(
        go.status.success(),
        "{}",
        String::from_utf8_lossy(&go.stderr)
    );
    program
}

/// Serves HNS calls until the test process ends.
fn serve(version: HnsVersion, state_file: PathBuf) -> NetdAccess {
    let config = HnsConfig {
        version,
        state_file,
        nic: "Ethernet".to_owned(),
        management_ip: Ipv4Addr::new(198, 18, 1, 2),
        address_delay: HnsConfig::ADDRESS_DELAY,
        boot: true,
    };
    let hns = Arc::new(Hns::open(config, Box::new(NoFabric)).unwrap());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let hns = Arc::clone(&hns);
            thread::spawn(move || serve_call(&hns, stream));
        }
    });
    NetdAccess {
        port,
        token: TOKEN.to_owned(),
    }
}

fn serve_call(hns: &Hns, mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let Ok(Some(request)) = read_line::<Request>(&mut reader) else {
        return;
    };
    assert_eq!(request.token, TOKEN);
    let result = match request.call {
        Call::Hcn(call) => hns.hcn(&call),
        Call::Hns(call) => hns.v1(&call),
        _ => Err(Failure {
            code: 0x8000_4001,
            text: "Not implemented".to_owned(),
        }),
    };
    let response = match result {
        Ok(text) => Response::Ok(text.into()),
        Err(failure) => Response::Err(failure),
    };
    write_line(&mut stream, &response).unwrap();
}

/// A Wine prefix with the emulator's DLLs in `system32`.
struct Prefix(PathBuf);

impl Prefix {
    fn make(dir: &Path) -> Self {
        let built = std::env::var_os("CASEMENT_LAB_WINDOWS").map(PathBuf::from).expect(
            "CASEMENT_LAB_WINDOWS must name the directory with computenetwork.dll and bcryptprimitives.dll",
        );
        let prefix = Self(dir.join("prefix"));
        let output = prefix.command("wineboot").arg("-i").output();
        let output = output.expect("wine is needed to run the tests");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let system = prefix.0.join("drive_c/windows/system32");
        let files = [
            ("computenetwork.dll", "computenetwork.dll"),
            ("computenetwork.dll", "vmcompute.dll"),
            ("bcryptprimitives.dll", "bcryptprimitives.dll"),
        ];
        for (from, to) in files {
            let from = built.join(from);
            let copied = fs::copy(&from, system.join(to));
            copied.unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        prefix
    }

    fn write_access_file(&self, access: &NetdAccess) {
        let file = self.0.join("drive_c/windows/casement-lab.json");
        fs::write(file, serde_json::to_vec(access).unwrap()).unwrap();
    }

    fn wine(&self, program: &Path, arguments: &[&str]) -> Output {
        let mut wine = self.command("wine");
        wine.arg(program).args(arguments).output().unwrap()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("WINEPREFIX", &self.0)
            .env("WINEDEBUG", "-all")
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=");
        command.env_remove("DISPLAY");
        command
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        drop(self.command("wineserver").arg("-k").output());
    }
}
