//! `casement demo`: the whole job on simulated hosts, with the verbs that real hosts
//! get, in one command that needs nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casement_diag::Problem;
use casement_lab::state::places::Places;
use casement_sim::{MOST_HOSTS, Mishap, SimCluster, SimHost, SimNetwork, SimShape};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser as _, ValueEnum};

use crate::failure::CommandError;
use crate::{Arguments, clock, doctor, output, signals};

/// The whole job on simulated hosts: plan, apply, break, repair, take back.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// How many Windows servers
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_HOSTS)))]
    hosts: u16,
    /// Leave everything up until Ctrl-C, and say what to try
    #[arg(long)]
    keep: bool,
    /// Let a known fault happen, and see what `doctor` says of it
    #[arg(long, value_name = "FAULT", value_parser = fault())]
    fail: Option<Mishap>,
    /// How pods reach each other
    #[arg(long, value_enum, default_value_t = DemoNetwork::Routes, conflicts_with = "fail")]
    network: DemoNetwork,
}

/// How pods of the demo reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DemoNetwork {
    /// By routes that casement makes
    Routes,
    /// In flannel's VXLAN, whose numbers casement has to change first
    Overlay,
}

impl DemoNetwork {
    fn simulated(self) -> SimNetwork {
        match self {
            Self::Routes => SimNetwork::Routes,
            Self::Overlay => SimNetwork::overlay_of_linux(),
        }
    }

    /// A verb that changes flannel's numbers, there or back.
    fn agreed(self, line: &str) -> String {
        match self {
            Self::Routes => line.to_owned(),
            Self::Overlay => format!("{line} --allow-network-outage"),
        }
    }
}

/// The faults by their names.
fn fault() -> impl TypedValueParser<Value = Mishap> {
    let names = PossibleValuesParser::new(Mishap::ALL.map(Mishap::name));
    names.try_map(|name| {
        let mut all = Mishap::ALL.into_iter();
        all.find(|it| it.name() == name)
            .ok_or("there is no such fault")
    })
}

/// How long the service of a host may take to bring its network back.
const REPAIR: Duration = Duration::from_secs(30);

/// How long a fault takes to be felt.
const FELT: Duration = Duration::from_secs(1);

/// Runs the verb. Ctrl-C ends it at once: hosts and cluster are in this process, and
/// nobody could go on with them.
pub async fn run_demo(arguments: DemoArgs) -> Result<(), CommandError> {
    signals::leave_to_another();
    tokio::select! {
        biased;
        shown = show(arguments) => shown,
        Ok(()) = tokio::signal::ctrl_c() => Err(CommandError::told(signals::INTERRUPTED)),
    }
}

async fn show(arguments: DemoArgs) -> Result<(), CommandError> {
    let started = Instant::now();
    let folder = folder()?;
    let windows = usize::from(arguments.hosts);
    let network = arguments.network;
    let shape = SimShape {
        windows,
        repair: arguments.fail.is_none(),
        network: network.simulated(),
        ..SimShape::default()
    };
    let cluster = SimCluster::start(&folder, &shape).await;
    let cluster = cluster.map_err(|error| no_ground(&error))?;
    enter(&folder)?;
    say(&format!(
        "A Linux cluster and {windows} bare Windows servers, all simulated in this process:\n\
         no root, no containers, no downloads. The commands are the ones for real\n\
         hosts, and so is what they do. Everything is below\n{}\n",
        folder.display()
    ))?;
    show_spec(&folder)?;
    verb("plan").await?;
    verb(&network.agreed("apply --yes")).await?;
    if let Some(mishap) = arguments.fail {
        fail(&cluster, mishap).await?;
    } else {
        verb("sample deploy").await?;
        verb("status").await?;
    }
    if arguments.keep {
        return keep(&folder).await;
    }
    if arguments.fail.is_some() {
        return Ok(());
    }
    let report = "report.html";
    verb(&format!("report --out {report}")).await?;
    let broken = cluster.host("windows1").ok_or_else(gone)?;
    reboot(broken).await?;
    verb("status").await?;
    verb("sample delete").await?;
    verb(&network.agreed("reset --all --cluster --yes")).await?;
    prove(&cluster)?;
    say(&format!(
        "\nDone in {}. What it left, in\n{}:\n  \
         cluster.yaml    the file\n  \
         admin.conf      the way into the cluster, which is gone with this process\n  \
         .casement/runs  the records of what was done\n  \
         {report}     the same as a page, to be opened in a browser\n\n\
         On hosts of your own: `casement init`, then `casement apply`.\n",
        clock::duration(started.elapsed()),
        folder.display(),
    ))
}

/// A folder of this run's own, with the newest name.
fn folder() -> Result<PathBuf, CommandError> {
    let places = Places::of_this_user()?;
    let demos = places.demos();
    // Two may begin in the same second.
    let folder = demos.join(format!("{}-{}", clock::stamp(), std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    Ok(folder)
}

/// The verbs that are shown work where the file is.
fn enter(folder: &Path) -> Result<(), CommandError> {
    let entered = std::env::set_current_dir(folder);
    Ok(entered.map_err(|error| unwritable(folder, &error))?)
}

fn unwritable(folder: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        "CAS-DEMO-001",
        format!("the folder `{}` cannot be used", folder.display()),
        "set XDG_STATE_HOME to a folder that may be written",
    )
    .seen("it says", error)
}

fn no_ground(error: &dyn std::error::Error) -> Problem {
    let problem = Problem::new(
        "CAS-DEMO-002",
        error.to_string(),
        "the demo needs 127.18.0.0/16 of the loopback network, which every Linux has",
    );
    match error.source() {
        Some(source) => problem.seen("it says", source),
        None => problem,
    }
}

fn gone() -> Problem {
    Problem::new("CAS-DEMO-002", "the simulated host is gone", "report this")
}

fn say(text: &str) -> Result<(), CommandError> {
    output::print(text)
}

fn show_spec(folder: &Path) -> Result<(), CommandError> {
    let path = folder.join("cluster.yaml");
    let text = std::fs::read_to_string(&path).map_err(|error| unwritable(folder, &error))?;
    say(&format!("\n$ cat cluster.yaml\n{text}"))
}

/// Types a command, and carries it out.
async fn verb(line: &str) -> Result<(), CommandError> {
    let line = match line.split(' ').next() {
        Some("report" | "sample") => line.to_owned(),
        _ => format!("{line} --agent-dir agent"),
    };
    say(&format!("\n$ casement {line}\n"))?;
    let words = std::iter::once("casement").chain(line.split(' '));
    let arguments = Arguments::try_parse_from(words);
    let arguments = arguments
        .map_err(|error| Problem::new("CAS-DEMO-003", error.to_string(), "report this"))?;
    Box::pin(crate::carry_out(arguments.verb)).await
}

/// Boots a host, and waits until its own service has mended what that broke.
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
    let told = host.sim().notices().len();
    host.cut();
    host.power_off();
    say(&format!(
        "\nNow {name} loses its power. Windows does not keep HNS networks:\n\
         before {before}, after the boot {}. Nobody types anything:\n",
        networks(host)
    ))?;
    let since = Instant::now();
    host.power_on();
    while networks(host) != before || host.sim().notices().len() == told {
        if since.elapsed() > REPAIR {
            let what = format!("the network of {name} did not come back");
            return Err(Problem::new("CAS-DEMO-004", what, "report this").into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for (_, notice) in host.sim().notices().iter().skip(told) {
        for line in notice.split("; ") {
            say(&format!("{}\n", output::cut(&format!("  {line}"), 79)))?;
        }
    }
    say(&format!(
        "So its event log says. It has {} again, {} after the boot.\n",
        networks(host),
        clock::duration(since.elapsed())
    ))
}

/// A fault, and what is said of it.
async fn fail(cluster: &SimCluster, mishap: Mishap) -> Result<(), CommandError> {
    say(&format!("\nNow {}.\n", mishap.story()))?;
    let struck = mishap.strike(cluster).await;
    struck.map_err(|why| Problem::new("CAS-DEMO-005", why, "report this"))?;
    // Nodes and pods say what they feel in a second or two.
    tokio::time::sleep(FELT).await;
    match verb("doctor").await {
        Ok(()) => {
            let what = "the fault was not found";
            Err(Problem::new("CAS-DEMO-006", what, "report this").into())
        }
        // It says that it has found something, and has told it.
        Err(error) if error.exit() == doctor::FOUND => Ok(()),
        Err(error) => Err(error),
    }
}

/// What is left on the hosts, seen from inside.
fn prove(cluster: &SimCluster) -> Result<(), CommandError> {
    let mut lines = String::new();
    for host in cluster.hosts() {
        let left = host.left_behind();
        let name = &host.spec().name;
        lines += &match left.as_slice() {
            [] if host.waits_for_boot() => {
                format!("  {name:<14} as it was handed over, after the boot that Windows wants\n")
            }
            [] => format!("  {name:<14} as it was handed over\n"),
            left => format!("  {name:<14} {} differ: {}\n", left.len(), left.join(", ")),
        };
    }
    say(&format!(
        "\nSeen from inside the simulated hosts, not by casement:\n{lines}"
    ))
}

/// Until Ctrl-C.
async fn keep(folder: &Path) -> Result<(), CommandError> {
    let folder = folder.display();
    say(&format!(
        "\nIt stays up until Ctrl-C. In another terminal:\n  cd {folder}\n  \
         kubectl --kubeconfig admin.conf get nodes -o wide\n  \
         casement status --agent-dir agent\n  \
         casement reset windows1 --agent-dir agent\n"
    ))?;
    // Whatever comes of waiting for it, it is over.
    let _ = tokio::signal::ctrl_c().await;
    say("\nGone, with everything that was simulated.\n")
}
