//! What the service host does for its program, and the service `casement`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use casement_node::platform::Program;
use casement_node::system;
use casement_resource::{Condition, ConditionFacts, RegistryData, ServiceState};

use super::services::definition;
use super::{Check, Host, Outcome, did, equal, eventually, so};

pub const CHECKS: &[Check] = &[
    ("environment, flags and log of a program", surroundings),
    ("program is asked to end", asked),
    ("service waits for what it needs", waits),
    ("services end in order when the host goes down", goes_down),
    ("program that is run to its end", to_its_end),
    ("program that takes too long", too_long),
    ("way to the service casement", backstage),
];

/// What the program does as a child of a service or of a check.
pub fn child(words: &[&str]) -> ExitCode {
    match words.first() {
        Some(&"fail") => return ExitCode::from(7),
        Some(&"print") => {
            println!("words {words:?}");
            eprintln!("variable {:?}", std::env::var("PLATFORMCHECK"));
            println!("folder {:?}", std::env::current_dir());
        }
        _ => thread::sleep(Duration::from_secs(600)),
    }
    thread::sleep(Duration::from_secs(if words.contains(&"stay") {
        600
    } else {
        0
    }));
    ExitCode::SUCCESS
}

fn surroundings(host: &Host) -> Outcome {
    let name = "platformcheck-print";
    let flags = r"C:\platformcheck-flags.env";
    fs::write(flags, r#"KUBELET_KUBEADM_ARGS="--a=C:\\x --b=\"c d\"""#).unwrap();
    let mut wanted = definition(name, &["print", "stay"]);
    wanted.flags_file = Some(flags.parse().unwrap());
    did(host.platform.install_service(&wanted))?;
    did(host.platform.start_service(name))?;
    let log = || {
        fs::read_to_string(r"C:\var\log\platformcheck-print\platformcheck-print.log")
            .unwrap_or_default()
    };
    let full = eventually("the log has three lines", || log().contains("folder"));
    did(host.platform.stop_service(name))?;
    did(host.platform.delete_service(name))?;
    fs::remove_file(flags).unwrap();
    full?;
    for wanted in [
        r#""--a=C:\\x", "--b=c d""#,
        r#"variable Ok("yes")"#,
        r#"folder Ok("C:\\")"#,
    ] {
        so(
            log().contains(wanted),
            &format!("no `{wanted}` in {}", log()),
        )?;
    }
    Ok(())
}

fn asked(host: &Host) -> Outcome {
    let name = "platformcheck-asked";
    did(host.platform.install_service(&definition(name, &["wait"])))?;
    did(host.platform.start_service(name))?;
    did(host.platform.stop_service(name))?;
    did(host.platform.delete_service(name))?;
    let log = fs::read_to_string(r"C:\var\log\platformcheck-asked\platformcheck-asked.log");
    let log = log.unwrap_or_default();
    so(
        log.contains("the service stops") && !log.contains("is killed"),
        &format!("the log says: {log}"),
    )
}

fn waits(host: &Host) -> Outcome {
    let (first, second) = ("platformcheck-first", "platformcheck-second");
    let sign = r"C:\platformcheck.ready";
    let mut needed = definition(first, &["wait"]);
    needed.ready = Some(Condition::FileExists(sign.parse().unwrap()));
    let mut needs = definition(second, &["wait"]);
    needs.depends_on = vec![first.to_owned()];
    did(host.platform.install_service(&needed))?;
    did(host.platform.install_service(&needs))?;
    did(host.platform.start_service(first))?;
    let running = Condition::ServiceRunning(second.to_owned());
    let (early, late) = thread::scope(|scope| {
        let start = scope.spawn(|| host.platform.start_service(second));
        thread::sleep(Duration::from_secs(1));
        let early = host.platform.condition(&running);
        fs::write(sign, "").unwrap();
        (early, start.join().unwrap())
    });
    did(host.platform.stop_service(first))?;
    for name in [second, first] {
        did(host.platform.delete_service(name))?;
    }
    fs::remove_file(sign).unwrap();
    did(late)?;
    so(
        matches!(did(early)?, ConditionFacts::NotYet(_)),
        "it ran before what it needs was ready",
    )
}

/// What a service of this check is told by, since no manager lets anybody but Windows
/// itself tell it.
fn going_down(name: &str) -> String {
    format!(r"C:\platformcheck-going-down-{name}")
}

/// Tells the service of this process, once the sign is there.
pub fn await_the_end(name: &str) {
    let sign = going_down(name);
    thread::spawn(move || {
        while !Path::new(&sign).exists() {
            thread::sleep(Duration::from_millis(50));
        }
        system::tell_service_that_host_goes_down();
    });
}

/// What a service says that is needed still.
const WAITS: &str = "`platformcheck-kubelet`, which needs this service, ends first";

fn goes_down(host: &Host) -> Outcome {
    let (runtime, kubelet) = ("platformcheck-runtime", "platformcheck-kubelet");
    let mut needs = definition(kubelet, &["wait"]);
    needs.depends_on = vec![runtime.to_owned()];
    did(host
        .platform
        .install_service(&definition(runtime, &["wait"])))?;
    did(host.platform.install_service(&needs))?;
    let key = format!(r"SYSTEM\CurrentControlSet\Services\{kubelet}");
    let waits = did(host.platform.registry_value(&key, "PreshutdownTimeout"))?;
    for name in [runtime, kubelet] {
        did(host.platform.start_service(name))?;
    }
    let log = |name: &str| {
        let path = format!(r"C:\var\log\{name}\{name}.log");
        fs::read_to_string(path).unwrap_or_default()
    };
    // First the one that has to wait: Windows tells both at once.
    fs::write(going_down(runtime), "").unwrap();
    let waited = eventually("the runtime waits", || log(runtime).contains(WAITS));
    fs::write(going_down(kubelet), "").unwrap();
    let stopped = |name: &str| {
        let service = host.platform.service(name).ok().flatten();
        service.is_some_and(|it| it.state == ServiceState::Stopped)
    };
    let ended = eventually("both have ended", || stopped(runtime) && stopped(kubelet));
    for name in [kubelet, runtime] {
        fs::remove_file(going_down(name)).unwrap();
        did(host.platform.stop_service(name))?;
        did(host.platform.delete_service(name))?;
    }
    waited?;
    ended?;
    equal(waits, Some(RegistryData::Number(180_000)))?;
    let log = log(kubelet);
    so(
        log.contains("the host goes down"),
        &format!("{kubelet} says: {log}"),
    )
}

fn program(words: &[&str], deadline: u64) -> Program {
    let agent = std::env::current_exe()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let mut arguments = vec![agent, "child".to_owned()];
    arguments.extend(words.iter().map(|&word| word.to_owned()));
    Program {
        arguments,
        environment: [("PLATFORMCHECK".to_owned(), "v".to_owned())].into(),
        folder: r"C:\windows".parse().unwrap(),
        deadline: Duration::from_secs(deadline),
    }
}

fn to_its_end(host: &Host) -> Outcome {
    let ended = did(host.platform.run(&program(&["print", "a b"], 60)))?;
    equal(ended.code, Some(0))?;
    for wanted in [r#""a b""#, r#"variable Ok("v")"#] {
        so(ended.output.contains(wanted), &ended.output)?;
    }
    equal(
        did(host.platform.run(&program(&["fail"], 60)))?.code,
        Some(7),
    )
}

fn too_long(host: &Host) -> Outcome {
    let ended = did(host.platform.run(&program(&["print", "stay"], 2)))?;
    equal(ended.code, None)?;
    so(ended.output.contains("words"), &ended.output)
}

fn backstage(host: &Host) -> Outcome {
    let backstage = system::backstage(&host.layout);
    let connection = backstage.connect();
    let pipe = Condition::NamedPipe(r"\\.\pipe\casement-agent".to_owned());
    let answers = did(host.platform.condition(&pipe));
    drop(did(connection)?);
    did(backstage.connect()).map(drop)?;
    did(backstage.retire())?;
    did(backstage.retire())?;
    equal(answers?, ConditionFacts::Holds)?;
    let gone = did(host.platform.condition(&pipe))?;
    so(
        matches!(gone, ConditionFacts::NotYet(_)),
        "the pipe is still there",
    )
}
