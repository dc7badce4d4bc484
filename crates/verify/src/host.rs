//! Causes on a host.

use casement_catalog::{Build, Program, Purpose, flag, known_faults};
use casement_diag::Problem;
use casement_resource::Diff;
use casement_resource::host_paths::windows_kubeadm_flags;
use casement_resource::service_names::{CONTAINERD, KUBELET};
use casement_resource::step_ids::{
    CNI, CONTAINERD_CONFIG, HNS_NETWORK, PROXY_CONFIG, is_route, runs,
};
use serde_json::Value;

use crate::doctor::Finding;
use crate::observation::{DriftedStep, HostObservation, NodeObservation, Observation};

/// The first failed check of the chain, in which each check depends on the previous
/// ones, and independent causes.
pub(crate) fn causes(
    host: &HostObservation,
    observation: &Observation,
    misreported: &[String],
) -> Vec<Finding> {
    if let Some(problem) = &host.unreachable {
        return vec![Finding::on(&host.name, problem.clone())];
    }
    let host = &without_consequences(host, misreported);
    let chain = [address, runtime, kubelet, cni, network, proxy, route, drift];
    let first = chain.iter().find_map(|check| check(host));
    let independent = [bad_update(host), other_adapter(host, observation)];
    let all = independent.into_iter().flatten().chain(first);
    all.map(|problem| Finding::on(&host.name, problem))
        .collect()
}

/// The addresses that Nodes report but that do not belong to their hosts.
pub(crate) fn misreported_addresses(observation: &Observation) -> Vec<String> {
    let hosts = observation.hosts.iter();
    let nodes = hosts.filter_map(|host| node_with_other_address(host, observation));
    nodes.flat_map(|node| node.addresses.clone()).collect()
}

/// The host without the drift caused by a Node with a wrong address, from which
/// routes and CNI configurations are derived.
fn without_consequences(host: &HostObservation, misreported: &[String]) -> HostObservation {
    let mut host = host.clone();
    let is_consequence = |step: &DriftedStep| {
        let mentioned = |address: &String| difference(step).contains(address.as_str());
        is_route(&step.id) && misreported.iter().any(mentioned)
            || step.id == CNI && !misreported.is_empty()
    };
    host.drifted.retain(|step| !is_consequence(step));
    host
}

/// No adapter has the address in the file.
fn address(host: &HostObservation) -> Option<Problem> {
    let expected = host.expected.address;
    let facts = host.facts.as_ref()?;
    if facts.interfaces.iter().any(|it| it.has(expected)) {
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
            format!("no adapter of {} has the address `{expected}`", host.name),
            "set the current address of the host in the file, or give the host a static address",
        )
        .detail("found", found.join(", ")),
    )
}

fn runtime(host: &HostObservation) -> Option<Problem> {
    host.drifted(&runs(CONTAINERD))?;
    Some(Problem::new(
        "CAS-DOC-002",
        format!(
            "containerd is not running on {}: its pods are stopped",
            host.name
        ),
        format!(
            "run `casement apply` to start it, and `casement logs {} containerd` for the cause",
            host.name
        ),
    ))
}

/// A stopped kubelet; the last line of its log often contains the cause.
fn kubelet(host: &HostObservation) -> Option<Problem> {
    host.drifted(&runs(KUBELET))?;
    let log = host.kubelet_log.as_deref().unwrap_or_default();
    let last = log.lines().rfind(|line| !line.trim().is_empty());
    let removed = last.and_then(|line| line.split_once("unknown flag: --"));
    if let Some((_, name)) = removed {
        return Some(removed_flag(host, name.trim()));
    }
    Some(
        Problem::new(
            "CAS-DOC-004",
            format!("the kubelet is not running on {}", host.name),
            format!("run `casement logs {} kubelet`", host.name),
        )
        .detail("output", last.unwrap_or("(empty)")),
    )
}

fn removed_flag(host: &HostObservation, name: &str) -> Problem {
    let release = format!("1.{}", host.expected.minor);
    let removed_in = flag(Program::Kubelet, name).and_then(|flag| flag.removed_in());
    let cause = match removed_in {
        Some(minor) => format!("removed in {minor}"),
        None => "not a flag of any kubelet release".to_owned(),
    };
    Problem::new(
        "CAS-DOC-003",
        format!(
            "the kubelet on {} exits at startup: kubelet {release} has no `--{name}`",
            host.name
        ),
        format!(
            "remove it from {} on {} and from `kubeletArgs` in the file, then run `casement apply`",
            windows_kubeadm_flags(),
            host.name
        ),
    )
    .detail("output", format!("unknown flag: --{name}"))
    .detail("cause", cause)
}

/// containerd reads another CNI directory than the one in use.
fn cni(host: &HostObservation) -> Option<Problem> {
    host.drifted(CONTAINERD_CONFIG)?;
    let text = host.containerd.as_deref()?;
    let table: toml::Table = text.parse().ok()?;
    let plugins = table.get("plugins")?.as_table()?;
    let directory = plugins.values().find_map(|plugin| {
        let cni = plugin.get("cni")?;
        cni.get("conf_dir")?.as_str()
    });
    let found = directory.unwrap_or("(default)");
    if found == host.expected.cni_dir {
        return None;
    }
    Some(
        Problem::new(
            "CAS-DOC-005",
            format!(
                "containerd on {} reads a different CNI directory: pods fail with \
                 `cni plugin not initialized`",
                host.name
            ),
            "run `casement apply` to restore the containerd configuration",
        )
        .detail("expected", &host.expected.cni_dir)
        .detail("found", found),
    )
}

/// Windows does not persist HNS networks across reboots.
fn network(host: &HostObservation) -> Option<Problem> {
    let step = host.drifted(HNS_NETWORK)?;
    if !is_missing(step) {
        return None;
    }
    let name = &host.expected.network;
    Some(
        Problem::new(
            "CAS-DOC-006",
            format!(
                "the HNS network `{name}` is missing on {}; HNS does not keep it across reboots",
                host.name
            ),
            "run `casement apply` to create it; with `windows.repair: auto`, the host creates it automatically",
        )
        .detail("expected", name)
        .detail("found", "no network with this name"),
    )
}

/// kube-proxy waits for a network that does not exist, according to its log or, if
/// the log does not mention it, to its configuration.
fn proxy(host: &HostObservation) -> Option<Problem> {
    let log = host.proxy_log.as_deref().and_then(awaited_network);
    let found = log
        .map(str::to_owned)
        .or_else(|| configured_network(host))?;
    let expected = &host.expected.network;
    if found.eq_ignore_ascii_case(expected) {
        return None;
    }
    let problem = Problem::new(
        "CAS-DOC-007",
        format!(
            "kube-proxy on {} is waiting for the network `{found}`: Services are unreachable from this host",
            host.name
        ),
        "run `casement apply` to restore its configuration",
    )
    .detail("expected", expected)
    .detail("found", &found);
    Some(match log {
        Some(_) => problem.detail("output", NO_NETWORK),
        None => problem,
    })
}

/// Logged by kube-proxy every second while its network is missing.
const NO_NETWORK: &str =
    "Unable to find HNS Network specified, please check network name and CNI deployment";

/// The network in the last line of the kube-proxy log. After it is found, other
/// lines follow.
fn awaited_network(log: &str) -> Option<&str> {
    let last = log.lines().rfind(|line| !line.trim().is_empty())?;
    let (_, rest) = last.split_once(NO_NETWORK)?;
    let (_, name) = rest.split_once("hnsNetworkName=\"")?;
    name.split('"').next()
}

/// The network in kube-proxy's configuration, if it drifted.
fn configured_network(host: &HostObservation) -> Option<String> {
    host.drifted(PROXY_CONFIG)?;
    let configuration: Value = serde_json::from_str(host.proxy.as_deref()?).ok()?;
    let found = configuration["winkernel"]["networkName"].as_str()?;
    Some(found.to_owned())
}

/// A missing route to the pods of another host.
fn route(host: &HostObservation) -> Option<Problem> {
    let step = host.drifted.iter().find(|step| is_route(&step.id))?;
    Some(
        Problem::new(
            "CAS-DOC-010",
            format!("{} has no route to the pods of another host", host.name),
            "run `casement apply` to restore it",
        )
        .detail("expected", difference(step))
        .detail("found", "no such route"),
    )
}

/// Any other drift.
fn drift(host: &HostObservation) -> Option<Problem> {
    let step = host.drifted.first()?;
    let more = match host.drifted.len() {
        1 => String::new(),
        count => format!(" (+{} more)", count - 1),
    };
    Some(
        Problem::new(
            "CAS-DOC-015",
            format!("{} has drifted: {}{more}", host.name, step.title),
            "run `casement plan` to show all changes, `casement apply` to fix them",
        )
        .detail("change", difference(step)),
    )
}

fn is_missing(step: &DriftedStep) -> bool {
    match &step.result {
        Ok(Diff::Changes(changes)) => changes.iter().all(|change| change.before.is_none()),
        _ => false,
    }
}

fn difference(step: &DriftedStep) -> String {
    match &step.result {
        Ok(Diff::Changes(changes)) => changes.first().map(ToString::to_string).unwrap_or_default(),
        Ok(Diff::InSync { reason, .. }) => reason.clone(),
        Err(failure) => failure.message.clone(),
    }
}

/// A Windows update with a known fault.
fn bad_update(host: &HostObservation) -> Option<Problem> {
    let version = &host.facts.as_ref()?.version;
    let build: Build = version.parse().ok()?;
    let fault = host
        .expected
        .windows
        .then(|| known_faults(build, Purpose::Node).next())??;
    Some(
        Problem::new(
            "CAS-DOC-009",
            format!(
                "the Windows update on {} has a known fault: {}",
                host.name, fault.what
            ),
            format!("install {} or a newer update", fault.fixed_by),
        )
        .detail("host", version)
        .detail("introduced by", fault.introduced_by)
        .detail("source", fault.source),
    )
}

/// A Node with the address of another adapter.
fn other_adapter(host: &HostObservation, observation: &Observation) -> Option<Problem> {
    let node = node_with_other_address(host, observation)?;
    let expected = host.expected.address;
    let found = node.addresses.join(", ");
    Some(
        Problem::new(
            "CAS-DOC-008",
            format!(
                "the kubelet on {} uses the address of another adapter, so other hosts send pod traffic to the wrong address",
                host.name
            ),
            "run `casement apply` to set the address of the kubelet (`--node-ip`)",
        )
        .detail("expected", expected)
        .detail("found", found),
    )
}

/// The Node of a host, if it reports addresses without the one in the file.
fn node_with_other_address<'a>(
    host: &HostObservation,
    observation: &'a Observation,
) -> Option<&'a NodeObservation> {
    let expected = host.expected.address.to_string();
    let node = observation.cluster.node(&host.name)?;
    let other = !node.addresses.is_empty() && !node.addresses.contains(&expected);
    other.then_some(node)
}
