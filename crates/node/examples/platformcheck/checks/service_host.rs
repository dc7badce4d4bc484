//! The service host, and the service `casement`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use casement_node::platform::Program;
use casement_node::system;
use casement_resource::{Condition, ConditionFacts, RegistryData, ServiceState};

use super::services::definition;
use super::{Check, Host, Outcome, ensure, equal, eventually, ok};

pub const CHECKS: &[Check] = &[
    ("environment, flags and log of a program", environment),
    ("graceful stop", graceful_stop),
    ("service waits for dependencies", waits),
    ("preshutdown order", preshutdown_order),
    ("program runs to completion", runs_to_completion),
    ("program timeout", times_out),
    ("connection to the casement service", service_client),
];

/// The behavior of this program as a child of a service or a check.
pub fn child(arguments: &[&str]) -> ExitCode {
    match arguments.first() {
        Some(&"fail") => return ExitCode::from(7),
        Some(&"print") => {
            println!("arguments {arguments:?}");
            eprintln!("variable {:?}", std::env::var("PLATFORMCHECK"));
            println!("directory {:?}", std::env::current_dir());
        }
        _ => thread::sleep(Duration::from_secs(600)),
    }
    thread::sleep(Duration::from_secs(if arguments.contains(&"stay") {
        600
    } else {
        0
    }));
    ExitCode::SUCCESS
}

fn environment(host: &Host) -> Outcome {
    let name = "platformcheck-print";
    let flags = r"C:\platformcheck-flags.env";
    fs::write(flags, r#"KUBELET_KUBEADM_ARGS="--a=C:\\x --b=\"c d\"""#).unwrap();
    let mut expected = definition(name, &["print", "stay"]);
    expected.flags_file = Some(flags.parse().unwrap());
    ok(host.platform.install_service(&expected))?;
    ok(host.platform.start_service(name))?;
    let log = || {
        fs::read_to_string(r"C:\var\log\platformcheck-print\platformcheck-print.log")
            .unwrap_or_default()
    };
    let logged = eventually("the log has three lines", || log().contains("directory"));
    ok(host.platform.stop_service(name))?;
    ok(host.platform.delete_service(name))?;
    fs::remove_file(flags).unwrap();
    logged?;
    for expected in [
        r#""--a=C:\\x", "--b=c d""#,
        r#"variable Ok("yes")"#,
        r#"directory Ok("C:\\")"#,
    ] {
        ensure(
            log().contains(expected),
            &format!("no `{expected}` in {}", log()),
        )?;
    }
    Ok(())
}

fn graceful_stop(host: &Host) -> Outcome {
    let name = "platformcheck-stop";
    ok(host.platform.install_service(&definition(name, &["wait"])))?;
    ok(host.platform.start_service(name))?;
    ok(host.platform.stop_service(name))?;
    ok(host.platform.delete_service(name))?;
    let log = fs::read_to_string(r"C:\var\log\platformcheck-stop\platformcheck-stop.log");
    let log = log.unwrap_or_default();
    ensure(
        log.contains("stopping the service") && !log.contains("killing"),
        &format!("log: {log}"),
    )
}

fn waits(host: &Host) -> Outcome {
    let (first, second) = ("platformcheck-first", "platformcheck-second");
    let marker = r"C:\platformcheck.ready";
    let mut needed = definition(first, &["wait"]);
    needed.ready = Some(Condition::FileExists(marker.parse().unwrap()));
    let mut needs = definition(second, &["wait"]);
    needs.depends_on = vec![first.to_owned()];
    ok(host.platform.install_service(&needed))?;
    ok(host.platform.install_service(&needs))?;
    ok(host.platform.start_service(first))?;
    let running = Condition::ServiceRunning(second.to_owned());
    let (early, late) = thread::scope(|scope| {
        let start = scope.spawn(|| host.platform.start_service(second));
        thread::sleep(Duration::from_secs(1));
        let early = host.platform.condition(&running);
        fs::write(marker, "").unwrap();
        (early, start.join().unwrap())
    });
    ok(host.platform.stop_service(first))?;
    for name in [second, first] {
        ok(host.platform.delete_service(name))?;
    }
    fs::remove_file(marker).unwrap();
    ok(late)?;
    ensure(
        matches!(ok(early)?, ConditionFacts::NotYet(_)),
        "the service ran before its dependency was ready",
    )
}

/// The file that triggers the preshutdown control in a service of this check,
/// because only Windows itself can send that control.
fn preshutdown_marker(name: &str) -> String {
    format!(r"C:\platformcheck-going-down-{name}")
}

/// Sends preshutdown to the service in this process once the marker file exists.
pub fn await_preshutdown(name: &str) {
    let marker = preshutdown_marker(name);
    thread::spawn(move || {
        while !Path::new(&marker).exists() {
            thread::sleep(Duration::from_millis(50));
        }
        system::send_preshutdown();
    });
}

/// Logged by a service that waits for its dependents.
const WAITING: &str = "waiting for `platformcheck-kubelet`, which depends on this service, to stop";

fn preshutdown_order(host: &Host) -> Outcome {
    let (runtime, kubelet) = ("platformcheck-runtime", "platformcheck-kubelet");
    let mut needs = definition(kubelet, &["wait"]);
    needs.depends_on = vec![runtime.to_owned()];
    ok(host
        .platform
        .install_service(&definition(runtime, &["wait"])))?;
    ok(host.platform.install_service(&needs))?;
    let key = format!(r"SYSTEM\CurrentControlSet\Services\{kubelet}");
    let timeout = ok(host.platform.registry_value(&key, "PreshutdownTimeout"))?;
    for name in [runtime, kubelet] {
        ok(host.platform.start_service(name))?;
    }
    let log = |name: &str| {
        let path = format!(r"C:\var\log\{name}\{name}.log");
        fs::read_to_string(path).unwrap_or_default()
    };
    // The waiting service first: Windows notifies both at once.
    fs::write(preshutdown_marker(runtime), "").unwrap();
    let waited = eventually("the runtime is waiting", || log(runtime).contains(WAITING));
    fs::write(preshutdown_marker(kubelet), "").unwrap();
    let stopped = |name: &str| {
        let service = host.platform.service(name).ok().flatten();
        service.is_some_and(|it| it.state == ServiceState::Stopped)
    };
    let both_stopped = eventually("both have stopped", || stopped(runtime) && stopped(kubelet));
    for name in [kubelet, runtime] {
        fs::remove_file(preshutdown_marker(name)).unwrap();
        ok(host.platform.stop_service(name))?;
        ok(host.platform.delete_service(name))?;
    }
    waited?;
    both_stopped?;
    equal(timeout, Some(RegistryData::Number(180_000)))?;
    let log = log(kubelet);
    ensure(
        log.contains("the host is shutting down"),
        &format!("log of {kubelet}: {log}"),
    )
}

fn program(child_arguments: &[&str], seconds: u64) -> Program {
    let agent = std::env::current_exe()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let mut arguments = vec![agent, "child".to_owned()];
    arguments.extend(child_arguments.iter().map(|&it| it.to_owned()));
    Program {
        arguments,
        environment: [("PLATFORMCHECK".to_owned(), "v".to_owned())].into(),
        working_dir: r"C:\windows".parse().unwrap(),
        timeout: Duration::from_secs(seconds),
    }
}

fn runs_to_completion(host: &Host) -> Outcome {
    let exit = ok(host.platform.run(&program(&["print", "a b"], 60)))?;
    equal(exit.code, Some(0))?;
    for expected in [r#""a b""#, r#"variable Ok("v")"#] {
        ensure(exit.output.contains(expected), &exit.output)?;
    }
    equal(
        ok(host.platform.run(&program(&["fail"], 60)))?.code,
        Some(7),
    )
}

fn times_out(host: &Host) -> Outcome {
    let exit = ok(host.platform.run(&program(&["print", "stay"], 2)))?;
    equal(exit.code, None)?;
    ensure(exit.output.contains("arguments"), &exit.output)
}

fn service_client(host: &Host) -> Outcome {
    let service_client = system::service_client(&host.layout);
    let connection = service_client.connect();
    let pipe = Condition::NamedPipe(r"\\.\pipe\casement-agent".to_owned());
    let found = ok(host.platform.condition(&pipe));
    drop(ok(connection)?);
    ok(service_client.connect()).map(drop)?;
    ok(service_client.retire())?;
    ok(service_client.retire())?;
    equal(found?, ConditionFacts::Holds)?;
    let gone = ok(host.platform.condition(&pipe))?;
    ensure(
        matches!(gone, ConditionFacts::NotYet(_)),
        "the pipe is still there",
    )
}
