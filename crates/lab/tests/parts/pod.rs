//! A pod's life: made, reached, looked into, ended, forgotten.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use casement_lab::containers::ContainersConfig;
use casement_lab::wine::windows::WindowsRelease;
use lab_wire::container::{
    CommandLine, ContainerCall, ContainerKey, Creation, Ending, FromProcess, Mount, ProcessStart,
    ToProcess, Usage,
};
use lab_wire::{Answer, Call, Door, read_line, write_line};

use crate::host;

#[test]
#[ignore = "needs wine, root and the built Windows programs"]
fn a_pod_is_reached_over_its_own_network_and_leaves_nothing() {
    if !host::inside("pod::a_pod_is_reached_over_its_own_network_and_leaves_nothing") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let config = ContainersConfig {
        pod_template: folder.path().join("template"),
        work_dir: folder.path().join("work"),
        wine: "wine".to_owned(),
        host_drive_c: folder.path().join("host"),
        release: WindowsRelease::Server2022,
    };
    host::make_network();
    host::make_template(&config.pod_template);
    fs::create_dir_all(config.host_drive_c.join("var/lib/secret")).unwrap();
    fs::write(config.host_drive_c.join("var/lib/secret/word"), "sesame").unwrap();
    let door = host::serve(config.clone());
    let before = processes();

    create(&door);
    let web = start(&door, "", &[r"C:\lab\web.exe", "8080"], false);
    let page = fetch("10.0.0.2:8080", "/");
    assert!(
        page.contains("in web-0 on WEB-0 (windows) answers 10.0.0.1"),
        "{page}"
    );
    assert!(fetch("10.0.0.2:8080", "/env").starts_with("HTTP/1.1 404"));
    assert!(
        TcpStream::connect("10.0.0.1:8080").is_err(),
        "the port leaked to the host"
    );

    execs(&door);
    let usage = usage(&door);
    assert!(
        usage.private_working_set_bytes > 0 && usage.pids.len() > 2,
        "{usage:?}"
    );

    let mut web = web;
    web.send(&ToProcess::Kill(Ending::Shutdown));
    let (log, _, code) = web.end();
    assert!(log.contains("10.0.0.1 \"GET / HTTP/1.1\" 200 OK"), "{log}");
    assert_eq!(code, 0xC000_013A);

    door_ok(
        &door,
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

fn execs(door: &Door) {
    let (out, _, code) = start(door, "e1", &["cmd", "/c", "echo", "hi"], false).end();
    assert_eq!((out.trim(), code), ("hi", 0));
    let (_, _, code) = start(door, "e2", &["cmd", "/c", "exit 70000"], false).end();
    assert_eq!(code, 70000, "all 32 bits of an exit code count");
    let (out, _, _) = start(door, "e3", &["cmd", "/c", r"type C:\secrets\word"], false).end();
    assert_eq!(out.trim(), "sesame");
    let (out, _, _) = start(door, "e4", &["cmd", "/c", "set"], false).end();
    assert!(
        out.contains("POD_NAME=web-0") && !out.contains("WINEPREFIX"),
        "{out}"
    );

    let mut paused = start(door, "e5", &[r"C:\lab\pause.exe"], false);
    paused.send(&ToProcess::Kill(Ending::Terminate));
    assert_eq!(paused.end().2, Ending::Terminate.exit_code());

    let mut shell = start(door, "e6", &["cmd", "/q"], true);
    shell.send(&ToProcess::Stdin(STANDARD.encode("echo a-%POD_NAME%\r\n")));
    shell.send(&ToProcess::CloseStdin);
    let (out, _, _) = shell.end();
    assert!(out.contains("a-web-0"), "{out}");

    let refused = call(
        door,
        ContainerCall::Start(process("e7", &["nosuch.exe"], false)),
    );
    let Answer::Err(failure) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(failure.code, 2, "{}", failure.text);
}

fn key() -> ContainerKey {
    ContainerKey {
        sandbox: "pod".to_owned(),
        container: "web".to_owned(),
    }
}

fn create(door: &Door) {
    let creation = Creation {
        key: key(),
        namespace: host::NAMESPACE.to_owned(),
        hostname: "web-0".to_owned(),
        mounts: vec![Mount {
            source: r"c:\var\lib\secret".to_owned(),
            destination: r"C:\secrets".to_owned(),
        }],
    };
    door_ok(door, ContainerCall::Create(creation));
}

fn process(exec: &str, arguments: &[&str], stdin: bool) -> ProcessStart {
    ProcessStart {
        key: key(),
        exec: exec.to_owned(),
        command: CommandLine::Arguments(arguments.iter().map(|it| (*it).to_owned()).collect()),
        directory: r"C:\".to_owned(),
        environment: vec!["POD_NAME=web-0".to_owned()],
        terminal: false,
        stdin,
    }
}

fn call(door: &Door, call: ContainerCall) -> Answer {
    door.call(Call::Container(call)).unwrap()
}

fn door_ok(door: &Door, what: ContainerCall) -> serde_json::Value {
    match call(door, what) {
        Answer::Ok(value) => value,
        Answer::Err(failure) => panic!("{failure:?}"),
    }
}

fn usage(door: &Door) -> Usage {
    serde_json::from_value(door_ok(door, ContainerCall::Usage(key()))).unwrap()
}

/// A started process, from the shim's side.
struct Process(BufReader<TcpStream>);

fn start(door: &Door, exec: &str, arguments: &[&str], stdin: bool) -> Process {
    begin(door, process(exec, arguments, stdin))
}

fn begin(door: &Door, start: ProcessStart) -> Process {
    let start = Call::Container(ContainerCall::Start(start));
    match door.open(start).unwrap() {
        (Answer::Ok(_), stream) => Process(stream),
        (Answer::Err(failure), _) => panic!("{failure:?}"),
    }
}

impl Process {
    fn send(&mut self, order: &ToProcess) {
        write_line(self.0.get_mut(), order).unwrap();
    }

    /// Both outputs and the exit code.
    fn end(mut self) -> (String, String, u32) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            match read_line(&mut self.0).unwrap().expect("an exit comes last") {
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

/// Asks until the server listens.
fn fetch(address: &str, path: &str) -> String {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        match TcpStream::connect(address) {
            Ok(mut stream) => {
                write!(stream, "GET {path} HTTP/1.1\r\nHost: pod\r\n\r\n").unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                return answer;
            }
            Err(error) => assert!(Instant::now() < end, "{address}: {error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Everything that runs here; zombies, which have no command line, do not.
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
