//! `casement demo`: plan, apply, repair and reset on simulated hosts, with the same verbs
//! as on real ones and without any prerequisites.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casement_diag::Problem;
use casement_sim::api_server::ApiError;
use casement_sim::{MAX_HOSTS, SimCluster, SimError, SimFault, SimHost, SimNetwork, SimOptions};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser as _, ValueEnum};

use crate::Arguments;
use crate::clock;
use crate::failure::CommandError;
use crate::output;
use crate::signals;
use crate::verbs::doctor;

/// Demonstrate plan, apply, repair and reset on simulated hosts.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Number of Windows hosts
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_HOSTS)))]
    hosts: u16,
    /// Keep everything running until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Inject a fault and run `doctor`
    #[arg(long, value_name = "FAULT", value_parser = fault())]
    fail: Option<SimFault>,
    /// Pod network
    #[arg(long, value_enum, default_value_t = DemoNetwork::Routes, conflicts_with = "fail")]
    network: DemoNetwork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DemoNetwork {
    /// Routes that casement creates
    Routes,
    /// flannel VXLAN, whose VNI and port casement changes first
    Overlay,
}

impl DemoNetwork {
    fn simulated(self) -> SimNetwork {
        match self {
            Self::Routes => SimNetwork::Routes,
            Self::Overlay => SimNetwork::default_overlay(),
        }
    }

    /// Changes of flannel's VNI need a confirmation.
    fn allow_outage(self, line: &str) -> String {
        match self {
            Self::Routes => line.to_owned(),
            Self::Overlay => format!("{line} --allow-network-outage"),
        }
    }
}

fn fault() -> impl TypedValueParser<Value = SimFault> {
    let names = PossibleValuesParser::new(SimFault::ALL.map(SimFault::name));
    names.try_map(|name| {
        let mut all = SimFault::ALL.into_iter();
        all.find(|it| it.name() == name).ok_or("unknown fault")
    })
}

/// The limit for the agent to restore the network of its host.
const REPAIR_TIMEOUT: Duration = Duration::from_secs(30);

/// How long it takes until Nodes and pods report a fault.
const FAULT_DELAY: Duration = Duration::from_secs(1);

/// For failures that should not happen.
const BUG: &str = "report this as a bug";

const DIRECTORY_HELP: &str = "set XDG_STATE_HOME to a writable directory with free space";

/// Ctrl-C exits immediately: hosts and cluster are part of this process, so that nothing
/// could be resumed.
pub async fn run_demo(arguments: DemoArgs) -> Result<(), CommandError> {
    signals::disable();
    tokio::select! {
        biased;
        result = run(arguments) => result,
        Ok(()) = tokio::signal::ctrl_c() => Err(CommandError::reported(signals::INTERRUPTED)),
    }
}

async fn run(arguments: DemoArgs) -> Result<(), CommandError> {
    if let Some(fault) = arguments.fail {
        check_hosts(fault, arguments.hosts)?;
    }
    let started = Instant::now();
    let dir = create_dir()?;
    let windows = usize::from(arguments.hosts);
    let network = arguments.network;
    let shape = SimOptions {
        windows,
        repair: arguments.fail.is_none(),
        network: network.simulated(),
        ..SimOptions::default()
    };
    let cluster = SimCluster::start(&dir, &shape).await;
    let cluster = cluster.map_err(|error| start_failed(&error))?;
    change_dir(&dir)?;
    output::print(&format!(
        "A Linux cluster and {}, all simulated in this process: no root,\n\
         no containers, no downloads. The commands are the same as for real hosts.\n\
         All files are in\n{}\n",
        output::count(windows, "Windows host"),
        dir.display()
    ))?;
    print_spec(&dir)?;
    verb("plan").await?;
    verb(&network.allow_outage("apply --yes")).await?;
    if let Some(fault) = arguments.fail {
        inject(&cluster, fault).await?;
    } else {
        verb("sample deploy").await?;
        verb("status").await?;
    }
    if arguments.keep {
        return keep(&dir).await;
    }
    if arguments.fail.is_some() {
        return Ok(());
    }
    let report = "report.html";
    verb(&format!("report --out {report}")).await?;
    let host = cluster.host("windows1").ok_or_else(missing_host)?;
    reboot(host).await?;
    verb("status").await?;
    verb("sample delete").await?;
    verb(&network.allow_outage("reset --all --cluster --yes")).await?;
    print_remains(&cluster)?;
    output::print(&format!(
        "\nDone in {}. Files in\n{}:\n  \
         cluster.yaml    the cluster file\n  \
         admin.conf      the kubeconfig of the simulated cluster\n  \
         .casement/runs  the records of all runs\n  \
         {report}     the report, for a browser\n\n\
         On your own hosts: run `casement init`, then `casement apply`.\n",
        clock::duration(started.elapsed()),
        dir.display(),
    ))
}

/// Some faults need a second Windows host.
fn check_hosts(fault: SimFault, hosts: u16) -> Result<(), CommandError> {
    let (name, needed) = (fault.name(), fault.windows_hosts());
    if hosts >= needed {
        return Ok(());
    }
    let problem = Problem::new(
        "CAS-DEMO-005",
        format!("the fault `{name}` needs {needed} Windows hosts"),
        format!("run `casement demo --fail {name} --hosts {needed}`"),
    );
    Err(CommandError::usage(problem.detail("--hosts", hosts)))
}

/// A new directory for this run; names sort by time.
fn create_dir() -> Result<PathBuf, CommandError> {
    let demos = state_dir()?.join("casement/demo");
    // Two may start in the same second.
    let dir = demos.join(format!("{}-{}", clock::stamp(), std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|error| unusable(&dir, &error))?;
    Ok(dir)
}

/// From `XDG_STATE_HOME`, otherwise below HOME.
fn state_dir() -> Result<PathBuf, Problem> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let below_home = || Some(absolute("HOME")?.join(".local/state"));
    absolute("XDG_STATE_HOME")
        .or_else(below_home)
        .ok_or_else(|| {
            Problem::new(
                "CAS-LAB-012",
                "HOME and XDG_STATE_HOME are not set",
                "set HOME to a directory that the demo may write to",
            )
        })
}

/// The verbs read and write files in the current directory.
fn change_dir(dir: &Path) -> Result<(), CommandError> {
    let changed = std::env::set_current_dir(dir);
    Ok(changed.map_err(|error| unusable(dir, &error))?)
}

fn unusable(dir: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        "CAS-DEMO-001",
        format!("failed to use the directory `{}`", dir.display()),
        DIRECTORY_HELP,
    )
    .detail("cause", error)
}

fn start_failed(error: &SimError) -> Problem {
    let (code, help) = match error {
        SimError::Api(ApiError::Listen { source, .. }) | SimError::Io { source, .. } => {
            io_failed(source)
        }
        SimError::Api(_) | SimError::Client(_) => ("CAS-DEMO-007", BUG),
    };
    let problem = Problem::new(code, error.to_string(), help);
    match std::error::Error::source(error) {
        Some(source) => problem.detail("cause", source),
        None => problem,
    }
}

/// Code and help for an error of the operating system: hosts need addresses, and files in
/// the demo's directory.
fn io_failed(error: &std::io::Error) -> (&'static str, &'static str) {
    /// `ENFILE` and `EMFILE`; Rust has no name for them.
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    let too_many = |code| TOO_MANY_FILES.contains(&code);
    match error.kind() {
        ErrorKind::AddrNotAvailable | ErrorKind::AddrInUse | ErrorKind::NetworkDown => (
            "CAS-DEMO-002",
            "the demo needs 127.18.0.0/16 on the loopback interface: `ip link set lo up`",
        ),
        _ if error.raw_os_error().is_some_and(too_many) => (
            "CAS-DEMO-002",
            "raise the limit of open files with `ulimit -n 65536`, or use fewer `--hosts`",
        ),
        _ => ("CAS-DEMO-001", DIRECTORY_HELP),
    }
}

fn missing_host() -> Problem {
    let what = "the simulated host was not found";
    Problem::new("CAS-DEMO-007", what, BUG)
}

fn print_spec(dir: &Path) -> Result<(), CommandError> {
    let path = dir.join("cluster.yaml");
    let text = std::fs::read_to_string(&path).map_err(|error| unusable(dir, &error))?;
    output::print(&format!("\n$ cat cluster.yaml\n{text}"))
}

/// Prints a command and runs it.
async fn verb(line: &str) -> Result<(), CommandError> {
    let line = match line.split(' ').next() {
        Some("report" | "sample") => line.to_owned(),
        _ => format!("{line} --agent-dir agent"),
    };
    output::print(&format!("\n$ casement {line}\n"))?;
    let command = std::iter::once("casement").chain(line.split(' '));
    let arguments = Arguments::try_parse_from(command);
    let arguments =
        arguments.map_err(|error| Problem::new("CAS-DEMO-003", error.to_string(), BUG))?;
    Box::pin(crate::run(arguments.verb)).await
}

/// Reboots a host, and waits until its agent has restored the network.
async fn reboot(host: &SimHost) -> Result<(), CommandError> {
    let name = &host.spec().name;
    let networks = |host: &SimHost| {
        let world = host.sim().world();
        let mut names: Vec<String> = world.networks.iter().map(|it| it.name.clone()).collect();
        names.sort();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    };
    let before = networks(host);
    let known_notices = host.sim().notices().len();
    host.cut();
    host.power_off();
    output::print(&format!(
        "\nNow {name} loses power. Windows does not persist HNS networks:\n\
         {before} before, {} after the boot. The agent on the host restores them:\n",
        networks(host)
    ))?;
    let since = Instant::now();
    host.power_on();
    while networks(host) != before || host.sim().notices().len() == known_notices {
        if since.elapsed() > REPAIR_TIMEOUT {
            let what = format!("the network of {name} was not restored");
            return Err(Problem::new("CAS-DEMO-004", what, BUG).into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for (_, notice) in host.sim().notices().iter().skip(known_notices) {
        for line in notice.split("; ") {
            let line = output::cut(&format!("  {line}"), 79, output::symbols());
            output::print(&format!("{line}\n"))?;
        }
    }
    output::print(&format!(
        "These are the entries in its event log. It has {} again, {} after the boot.\n",
        networks(host),
        clock::duration(since.elapsed())
    ))
}

/// Injects a fault and runs `doctor`.
async fn inject(cluster: &SimCluster, fault: SimFault) -> Result<(), CommandError> {
    output::print(&format!("\nNow {}.\n", fault.description()))?;
    let injected = fault.inject(cluster).await;
    injected.map_err(|reason| Problem::new("CAS-DEMO-008", reason, BUG))?;
    tokio::time::sleep(FAULT_DELAY).await;
    match verb("doctor").await {
        Ok(()) => {
            let what = "the fault was not detected";
            Err(Problem::new("CAS-DEMO-006", what, BUG).into())
        }
        // The fault was detected and printed.
        Err(error) if error.exit_code() == doctor::PROBLEMS_FOUND => Ok(()),
        Err(error) => Err(error),
    }
}

/// Compares each host with its initial state, from inside the simulation.
fn print_remains(cluster: &SimCluster) -> Result<(), CommandError> {
    let mut lines = String::new();
    for host in cluster.hosts() {
        let remains = host.left_behind();
        let name = &host.spec().name;
        lines += &match remains.as_slice() {
            [] if host.needs_reboot() => {
                format!("  {name:<14} in its initial state, after a pending reboot\n")
            }
            [] => format!("  {name:<14} in its initial state\n"),
            remains => {
                let names = remains.join(", ");
                format!("  {name:<14} {} differ: {names}\n", remains.len())
            }
        };
    }
    output::print(&format!(
        "\nThe actual state of the simulated hosts, read without casement:\n{lines}"
    ))
}

/// Waits for Ctrl-C.
async fn keep(dir: &Path) -> Result<(), CommandError> {
    let dir = dir.display();
    output::print(&format!(
        "\nRunning until Ctrl-C. In another terminal:\n  cd {dir}\n  \
         kubectl --kubeconfig admin.conf get nodes -o wide\n  \
         casement status --agent-dir agent\n  \
         casement reset windows1 --agent-dir agent\n"
    ))?;
    let _ = tokio::signal::ctrl_c().await;
    output::print("\nStopped. The simulated hosts and the cluster are removed.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_of_a_failed_start_fits_its_cause() {
        let failed = |kind: ErrorKind| {
            start_failed(&SimError::Io {
                message: "failed to start the simulated host windows1".to_owned(),
                source: kind.into(),
            })
        };
        let address = failed(ErrorKind::AddrNotAvailable);
        assert_eq!(address.code, "CAS-DEMO-002");
        assert!(address.help.contains("127.18.0.0/16"), "{address}");
        for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied] {
            let file = failed(kind);
            assert_eq!(file.code, "CAS-DEMO-001");
            assert!(file.help.contains("XDG_STATE_HOME"), "{file}");
        }
        let limit = start_failed(&SimError::Io {
            message: "failed to start the simulated host windows1".to_owned(),
            source: std::io::Error::from_raw_os_error(24),
        });
        assert!(limit.help.contains("ulimit"), "{limit}");
        let internal = start_failed(&SimError::Client("no client".to_owned()));
        assert_eq!(
            (internal.code.as_ref(), internal.help.as_str()),
            ("CAS-DEMO-007", BUG)
        );
    }

    #[test]
    fn faults_on_the_second_host_need_it() {
        for fault in SimFault::ALL {
            let second = fault.host() == "windows2";
            assert_eq!(check_hosts(fault, 1).is_err(), second, "{fault:?}");
            assert!(check_hosts(fault, 2).is_ok(), "{fault:?}");
        }
    }
}
