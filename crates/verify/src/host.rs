//! Causes that lie on a host.

use casement_catalog::{Build, Program, Purpose, flag, known_faults};
use casement_diag::Problem;
use casement_resource::Diff;
use serde_json::Value;

use crate::doctor::Finding;
use crate::seen::{HostSeen, NodeSeen, Seen, StepSeen};

/// The beginning of the chain that has stopped the host, if there is one, and what
/// is wrong beside it.
pub(crate) fn causes(host: &HostSeen, seen: &Seen, misled: &[String]) -> Vec<Finding> {
    if let Some(problem) = &host.unreachable {
        return vec![Finding::on(&host.name, problem.clone())];
    }
    let host = &without_misled(host, misled);
    let chain = [address, runtime, kubelet, cni, network, proxy, route, drift];
    let first = chain.iter().find_map(|check| check(host));
    let beside = [bad_update(host), other_adapter(host, seen)];
    let all = beside.into_iter().flatten().chain(first);
    all.map(|problem| Finding::on(&host.name, problem))
        .collect()
}

/// The addresses that Nodes tell and that are not their hosts'.
pub(crate) fn misled(seen: &Seen) -> Vec<String> {
    let hosts = seen.hosts.iter();
    let nodes = hosts.filter_map(|host| speaks_for_another(host, seen));
    nodes.flat_map(|node| node.addresses.clone()).collect()
}

/// The host without what only follows from a Node that tells a wrong address: ways
/// and CNI configurations are made from those.
fn without_misled(host: &HostSeen, misled: &[String]) -> HostSeen {
    let mut host = host.clone();
    let follows = |step: &StepSeen| {
        let way = step.id.starts_with("route-");
        let there = |address: &String| difference(step).contains(address.as_str());
        way && misled.iter().any(there) || step.id == "cni" && !misled.is_empty()
    };
    host.wrong.retain(|step| !follows(step));
    host
}

/// No adapter has the address that everything is built on.
fn address(host: &HostSeen) -> Option<Problem> {
    let wanted = host.wanted.address;
    let facts = host.facts.as_ref()?;
    if facts.interfaces.iter().any(|it| it.has(wanted)) {
        return None;
    }
    let found = facts.interfaces.iter().flat_map(|it| {
        let name = &it.name;
        it.addresses
            .iter()
            .map(move |net| format!("{} ({name})", net.addr()))
    });
    let found: Vec<String> = found.collect();
    Some(
        Problem::new(
            "CAS-DOC-001",
            format!("no adapter of {} has the address `{wanted}`", host.name),
            "write the address that the host has into the file, or give the host a fixed one",
        )
        .seen("it has", found.join(", ")),
    )
}

fn runtime(host: &HostSeen) -> Option<Problem> {
    host.wrong("runs-containerd")?;
    Some(Problem::new(
        "CAS-DOC-002",
        format!(
            "containerd does not run on {}: its pods have stopped",
            host.name
        ),
        format!(
            "`casement apply` starts it; `casement logs {} containerd` says why it stopped",
            host.name
        ),
    ))
}

/// A kubelet that has ended; its last words often name the cause.
fn kubelet(host: &HostSeen) -> Option<Problem> {
    host.wrong("runs-kubelet")?;
    let log = host.kubelet_log.as_deref().unwrap_or_default();
    let last = log.lines().rfind(|line| !line.trim().is_empty());
    let removed = last.and_then(|line| line.split_once("unknown flag: --"));
    if let Some((_, name)) = removed {
        return Some(removed_flag(host, name.trim()));
    }
    Some(
        Problem::new(
            "CAS-DOC-004",
            format!("the kubelet of {} does not run", host.name),
            format!("casement logs {} kubelet", host.name),
        )
        .seen("it said", last.unwrap_or("nothing")),
    )
}

fn removed_flag(host: &HostSeen, name: &str) -> Problem {
    let release = format!("1.{}", host.wanted.minor);
    let gone = flag(Program::Kubelet, name).and_then(|flag| flag.removed_in());
    let since = match gone {
        Some(minor) => format!("it is gone since {minor}"),
        None => "no release has it".to_owned(),
    };
    Problem::new(
        "CAS-DOC-003",
        format!(
            "the kubelet of {} ends at its start: kubelet {release} has no `--{name}`",
            host.name
        ),
        format!(
            "take it out of C:\\var\\lib\\kubelet\\kubeadm-flags.env on {}, and out of \
             `kubeletArgs` in the file",
            host.name
        ),
    )
    .seen("it said", format!("unknown flag: --{name}"))
    .seen("cause", since)
}

/// A runtime that looks for CNI where nobody puts it.
fn cni(host: &HostSeen) -> Option<Problem> {
    host.wrong("containerd-config")?;
    let text = host.containerd.as_deref()?;
    let table: toml::Table = text.parse().ok()?;
    let plugins = table.get("plugins")?.as_table()?;
    let folder = plugins.values().find_map(|plugin| {
        let cni = plugin.get("cni")?;
        cni.get("conf_dir")?.as_str()
    });
    let found = folder.unwrap_or("its default");
    if found == host.wanted.cni_folder {
        return None;
    }
    Some(
        Problem::new(
            "CAS-DOC-005",
            format!(
                "containerd on {} looks for the pods' network in another folder: pods get \
                 \"cni plugin not initialized\"",
                host.name
            ),
            "`casement apply` writes containerd's configuration again",
        )
        .seen("it looks in", found)
        .seen("CNI is in", &host.wanted.cni_folder),
    )
}

/// Windows forgets HNS networks when it boots.
fn network(host: &HostSeen) -> Option<Problem> {
    let step = host.wrong("hns-network")?;
    if !is_missing(step) {
        return None;
    }
    let name = &host.wanted.network;
    Some(
        Problem::new(
            "CAS-DOC-006",
            format!(
                "the HNS network `{name}` of {} is gone, as after every boot",
                host.name
            ),
            "`casement apply` makes it again; `windows.repair: auto` has the host do it by itself",
        )
        .seen("wanted", name)
        .seen("found", "no network of that name"),
    )
}

/// kube-proxy waits for a network that nobody makes: it says so itself, and where it
/// has not come to that yet, its file does.
fn proxy(host: &HostSeen) -> Option<Problem> {
    let log = host.proxy_log.as_deref().and_then(waits_for);
    let found = log.map(str::to_owned).or_else(|| told_of(host))?;
    let wanted = &host.wanted.network;
    if found.eq_ignore_ascii_case(wanted) {
        return None;
    }
    let problem = Problem::new(
        "CAS-DOC-007",
        format!(
            "kube-proxy on {} waits for the network `{found}`: no Service is reached from there",
            host.name
        ),
        "`casement apply` writes its configuration again",
    )
    .seen("it waits for", &found)
    .seen("pods are in", wanted);
    Some(match log {
        Some(_) => problem.seen("it says", NO_NETWORK),
        None => problem,
    })
}

/// What kube-proxy says every second for as long as its network is not there.
const NO_NETWORK: &str =
    "Unable to find HNS Network specified, please check network name and CNI deployment";

/// The network that a kube-proxy waits for by the last line of its log: once it has
/// found it, it has other things to say.
fn waits_for(log: &str) -> Option<&str> {
    let last = log.lines().rfind(|line| !line.trim().is_empty())?;
    let (_, rest) = last.split_once(NO_NETWORK)?;
    let (_, name) = rest.split_once("hnsNetworkName=\"")?;
    name.split('"').next()
}

/// The network that kube-proxy's file names, if that is not as casement wrote it.
fn told_of(host: &HostSeen) -> Option<String> {
    host.wrong("proxy-config")?;
    let configuration: Value = serde_json::from_str(host.proxy.as_deref()?).ok()?;
    let found = configuration["winkernel"]["networkName"].as_str()?;
    Some(found.to_owned())
}

/// A way to other hosts' pods that is not there.
fn route(host: &HostSeen) -> Option<Problem> {
    let step = host
        .wrong
        .iter()
        .find(|step| step.id.starts_with("route-"))?;
    Some(
        Problem::new(
            "CAS-DOC-010",
            format!("{} has no way to the pods of another host", host.name),
            "`casement apply` makes it again",
        )
        .seen("wanted", difference(step))
        .seen("found", "no such route"),
    )
}

/// Whatever else is not as the file says.
fn drift(host: &HostSeen) -> Option<Problem> {
    let step = host.wrong.first()?;
    let more = match host.wrong.len() {
        1 => String::new(),
        count => format!(" (+{} more)", count - 1),
    };
    Some(
        Problem::new(
            "CAS-DOC-015",
            format!("{} is not as the file says: {}{more}", host.name, step.what),
            "`casement plan` shows all of it, `casement apply` mends it",
        )
        .seen("differs", difference(step)),
    )
}

fn is_missing(step: &StepSeen) -> bool {
    match &step.seen {
        Ok(Diff::Changes(changes)) => changes.iter().all(|change| change.before.is_none()),
        _ => false,
    }
}

fn difference(step: &StepSeen) -> String {
    match &step.seen {
        Ok(Diff::Changes(changes)) => changes.first().map(ToString::to_string).unwrap_or_default(),
        Ok(Diff::Right { reason, .. }) => reason.clone(),
        Err(failure) => failure.what.clone(),
    }
}

/// An update of Windows that is known to break nodes.
fn bad_update(host: &HostSeen) -> Option<Problem> {
    let version = &host.facts.as_ref()?.version;
    let build: Build = version.parse().ok()?;
    let fault = host
        .wanted
        .windows
        .then(|| known_faults(build, Purpose::Node).next())??;
    Some(
        Problem::new(
            "CAS-DOC-009",
            format!(
                "the Windows of {} has a known fault: {}",
                host.name, fault.what
            ),
            format!("install {} or a newer update", fault.mended_by),
        )
        .seen("host", version)
        .seen("brought by", fault.brought_by)
        .seen("source", fault.source),
    )
}

/// A Node that speaks for another adapter than the file's.
fn other_adapter(host: &HostSeen, seen: &Seen) -> Option<Problem> {
    let node = speaks_for_another(host, seen)?;
    let wanted = host.wanted.address;
    let found = node.addresses.join(", ");
    Some(
        Problem::new(
            "CAS-DOC-008",
            format!(
                "the kubelet of {} speaks for another adapter: others send its pods' packets there",
                host.name
            ),
            "`casement apply` gives the kubelet its address (`--node-ip`)",
        )
        .seen("wanted", wanted)
        .seen("Node says", found),
    )
}

/// The Node of a host, if it tells addresses and the file's is not among them.
fn speaks_for_another<'a>(host: &HostSeen, seen: &'a Seen) -> Option<&'a NodeSeen> {
    let wanted = host.wanted.address.to_string();
    let node = seen.node(&host.name)?;
    let other = !node.addresses.is_empty() && !node.addresses.contains(&wanted);
    other.then_some(node)
}
