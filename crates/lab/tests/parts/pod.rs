//! The life cycle of a pod: create, start, exec, kill, delete.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use casement_lab::containers::ContainersConfig;
use casement_lab::wine::windows::WindowsRelease;
use lab_wire::container::{
    CommandLine, ContainerCall, ContainerKey, CreateContainer, FromProcess, KillMode, Mount,
    StartProcess, ToProcess, Usage,
};
use lab_wire::{Call, NetdAccess, Response, read_line, write_line};

use crate::host;

#[test]
#[ignore = "needs wine, root and the built Windows programs"]
fn pod_serves_on_its_network_and_is_removed_completely() {
    if !host::inside("pod::pod_serves_on_its_network_and_is_removed_completely") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let config = ContainersConfig {
        pod_template: dir.path().join("template"),
        work_dir: dir.path().join("work"),
        wine: "wine".to_owned(),
        host_drive_c: dir.path().join("host"),
        release: WindowsRelease::Server2022,
    };
    host::make_network();
    host::make_template(&config.pod_template);
    fs::create_dir_all(config.host_drive_c.join("var/lib/secret")).unwrap();
    fs::write(config.host_drive_c.join("var/lib/secret/word"), "sesame").unwrap();
    let access = host::serve(config.clone());
    let before = processes();

    create(&access);
    let web = start(&access, "", &[r"C:\lab\web.exe", "8080"], false);
    let page = fetch("10.0.0.2:8080", "/");
    assert!(
        page.contains("in web-0 on WEB-0 (windows) answers 10.0.0.1"),
        "{page}"
    );
    assert!(fetch("10.0.0.2:8080", "/env").starts_with("HTTP/1.1 404"));
    assert!(
        TcpStream::connect("10.0.0.1:8080").is_err(),
        "the port is open on the host"
    );

    execs(&access);
    let usage = usage(&access);
    assert!(
        usage.private_working_set_bytes > 0 && usage.pids.len() > 2,
        "{usage:?}"
    );

    let mut web = web;
    web.send(&ToProcess::Kill(KillMode::Shutdown));
    let (log, _, code) = web.end();
    assert!(log.contains("10.0.0.1 \"GET / HTTP/1.1\" 200 OK"), "{log}");
    assert_eq!(code, 0xC000_013A);

    call_ok(
        &access,
        ContainerCall::DeleteSandbox {
            sandbox: "pod".to_owned(),
        },
    );
    assert_eq!(processes(), before);
    assert!(
        !fs::read_to_string("/proc/mounts")
            .unwrap()
            .contains("work/pod")
    );
    assert_eq!(fs::read_dir(&config.work_dir).unwrap().count(), 0);
}

fn execs(access: &NetdAccess) {
    let (out, _, code) = start(access, "e1", &["cmd", "/c", "echo", "hi"], false).end();
    assert_eq!((out.trim(), code), ("hi", 0));
    let (_, _, code) = start(access, "e2", &["cmd", "/c", "exit 70000"], false).end();
    assert_eq!(code, 70000, "exit codes have 32 bits");
    let (out, _, _) = start(access, "e3", &["cmd", "/c", r"type C:\secrets\word"], false).end();
    assert_eq!(out.trim(), "sesame");
    let (out, _, _) = start(access, "e4", &["cmd", "/c", "set"], false).end();
    assert!(
        out.contains("POD_NAME=web-0") && !out.contains("WINEPREFIX"),
        "{out}"
    );

    let mut paused = start(access, "e5", &[r"C:\lab\pause.exe"], false);
    paused.send(&ToProcess::Kill(KillMode::Terminate));
    assert_eq!(paused.end().2, KillMode::Terminate.exit_code());

    let mut shell = start(access, "e6", &["cmd", "/q"], true);
    shell.send(&ToProcess::Stdin(STANDARD.encode("echo a-%POD_NAME%\r\n")));
    shell.send(&ToProcess::CloseStdin);
    let (out, _, _) = shell.end();
    assert!(out.contains("a-web-0"), "{out}");

    let response = call(
        access,
        ContainerCall::Start(process("e7", &["nosuch.exe"], false)),
    );
    let Response::Err(failure) = response else {
        panic!("{response:?}")
    };
    assert_eq!(failure.code, 2, "{}", failure.text);
}

fn key() -> ContainerKey {
    ContainerKey {
        sandbox: "pod".to_owned(),
        container: "web".to_owned(),
    }
}

fn create(access: &NetdAccess) {
    let creation = CreateContainer {
        key: key(),
        namespace: host::NAMESPACE.to_owned(),
        hostname: "web-0".to_owned(),
        mounts: vec![Mount {
            source: r"c:\var\lib\secret".to_owned(),
            destination: r"C:\secrets".to_owned(),
        }],
    };
    call_ok(access, ContainerCall::Create(creation));
}

fn process(exec: &str, arguments: &[&str], stdin: bool) -> StartProcess {
    StartProcess {
        key: key(),
        exec: exec.to_owned(),
        command: CommandLine::Arguments(arguments.iter().map(|it| (*it).to_owned()).collect()),
        directory: r"C:\".to_owned(),
        environment: vec!["POD_NAME=web-0".to_owned()],
        terminal: false,
        stdin,
    }
}

fn call(access: &NetdAccess, call: ContainerCall) -> Response {
    access.call(Call::Container(call)).unwrap()
}

fn call_ok(access: &NetdAccess, what: ContainerCall) -> serde_json::Value {
    match call(access, what) {
        Response::Ok(value) => value,
        Response::Err(failure) => panic!("{failure:?}"),
    }
}

fn usage(access: &NetdAccess) -> Usage {
    serde_json::from_value(call_ok(access, ContainerCall::Usage(key()))).unwrap()
}

/// A started process, as the shim sees it.
struct Process(BufReader<TcpStream>);

fn start(access: &NetdAccess, exec: &str, arguments: &[&str], stdin: bool) -> Process {
    begin(access, process(exec, arguments, stdin))
}

fn begin(access: &NetdAccess, start: StartProcess) -> Process {
    let start = Call::Container(ContainerCall::Start(start));
    match access.open(start).unwrap() {
        (Response::Ok(_), stream) => Process(stream),
        (Response::Err(failure), _) => panic!("{failure:?}"),
    }
}

impl Process {
    fn send(&mut self, request: &ToProcess) {
        write_line(self.0.get_mut(), request).unwrap();
    }

    /// Returns stdout, stderr and the exit code.
    fn end(mut self) -> (String, String, u32) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            match read_line(&mut self.0).unwrap().expect("no exit message") {
                FromProcess::Stdout(text) => out.extend(STANDARD.decode(text).unwrap()),
                FromProcess::Stderr(text) => err.extend(STANDARD.decode(text).unwrap()),
                FromProcess::Exit(code) => {
                    let text = |bytes| String::from_utf8(bytes).unwrap();
                    return (text(out), text(err), code);
                }
            }
        }
    }
}

/// Retries for 30 s until the server listens.
fn fetch(address: &str, path: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match TcpStream::connect(address) {
            Ok(mut stream) => {
                write!(stream, "GET {path} HTTP/1.1\r\nHost: pod\r\n\r\n").unwrap();
                let mut response = String::new();
                stream.read_to_string(&mut response).unwrap();
                return response;
            }
            Err(error) => assert!(Instant::now() < deadline, "{address}: {error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command lines of all processes except zombies, which have none.
fn processes() -> Vec<String> {
    let mut lines: Vec<String> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok())
        .filter(|line| !line.is_empty())
        .collect();
    lines.sort();
    lines
}
