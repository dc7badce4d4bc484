//! Fields of Windows pods.

use casement_diag::{Diagnostic, Part, Severity};
use casement_source::foreign::Value;

use crate::context::Context;
use crate::pod::Pod;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-POD-004",
        Error,
        Files,
        "L063",
        "a HostProcess pod is not whole",
        host_process
    ),
    rule!(
        "CAS-POD-005",
        Error,
        Files,
        "L064",
        "a Windows pod has what only Linux has",
        linux_only
    ),
    rule!(
        "CAS-POD-009",
        Warning,
        Files,
        "L068",
        "a Windows pod may take all memory of its node",
        memory
    ),
    rule!(
        "CAS-POD-010",
        Note,
        Files,
        "L069",
        "a Windows pod's `ndots` does nothing",
        ndots
    ),
    rule!(
        "CAS-POD-011",
        Warning,
        Files,
        "L070",
        "a probe runs what Windows does not have",
        probes
    ),
];

const USER: &str = "securityContext.windowsOptions.runAsUserName";

fn windows<'c, 'a>(context: &'c Context<'a>) -> impl Iterator<Item = &'c Pod<'a>> {
    context.pods.iter().filter(|pod| pod.is_windows())
}

fn host_process(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in context.pods.iter().filter(|pod| pod.has_host_process()) {
        let title = pod.title();
        let containers = pod.containers();
        let (inside, normal): (Vec<_>, Vec<_>) =
            containers.iter().partition(|c| pod.is_host_process(c));
        let Some(first) = inside.first().and_then(|container| container.get("name")) else {
            continue;
        };
        let network = pod.spec.get("hostNetwork");
        if network.as_ref().and_then(Value::boolean) != Some(true) {
            let place = network.as_ref().unwrap_or(&first);
            findings.push(
                place
                    .error(format!(
                        "{title} is a HostProcess pod without `hostNetwork: true`"
                    ))
                    .note("the API server refuses it")
                    .help("add `hostNetwork: true` to the pod's `spec`"),
            );
        }
        if let Some(other) = normal.first().and_then(|container| container.get("name")) {
            findings.push(
                other
                    .error(format!("{title} mixes HostProcess containers with others"))
                    .here("this one is none")
                    .label(first.path().clone(), "this one is")
                    .note("all containers of a pod have to be HostProcess ones, or none")
                    .help("set `hostProcess: true` for the pod as a whole"),
            );
        }
        for container in &inside {
            if [*container, &pod.spec]
                .into_iter()
                .any(|value| value.at(USER).is_some())
            {
                continue;
            }
            let Some(name) = container.get("name") else {
                continue;
            };
            findings.push(
                name.error(format!(
                    "{title} is a HostProcess pod without `runAsUserName`"
                ))
                .note("a HostProcess container runs as an account of the host, and has to name it")
                .help("add `runAsUserName: \"NT AUTHORITY\\\\SYSTEM\"` beside `hostProcess: true`"),
            );
        }
    }
    findings
}

fn linux_only(context: &Context<'_>) -> Vec<Diagnostic> {
    const OF_POD: [&str; 9] = [
        "hostPID",
        "hostIPC",
        "shareProcessNamespace",
        "securityContext.runAsUser",
        "securityContext.runAsGroup",
        "securityContext.fsGroup",
        "securityContext.seLinuxOptions",
        "securityContext.sysctls",
        "securityContext.supplementalGroups",
    ];
    const OF_CONTAINER: [&str; 8] = [
        "securityContext.privileged",
        "securityContext.runAsUser",
        "securityContext.runAsGroup",
        "securityContext.seLinuxOptions",
        "securityContext.capabilities",
        "securityContext.readOnlyRootFilesystem",
        "securityContext.allowPrivilegeEscalation",
        "securityContext.procMount",
    ];
    let mut findings = Vec::new();
    for pod in windows(context) {
        let mut wrong: Vec<(&str, Value<'_>)> = Vec::new();
        wrong.extend(
            OF_POD
                .into_iter()
                .filter_map(|path| Some((path, pod.spec.at(path)?))),
        );
        if !pod.has_host_process() {
            wrong.extend(
                pod.spec
                    .get("hostNetwork")
                    .map(|value| ("hostNetwork", value)),
            );
        }
        for container in pod.containers() {
            wrong.extend(
                OF_CONTAINER
                    .into_iter()
                    .filter_map(|path| Some((path, container.at(path)?))),
            );
        }
        for (path, value) in wrong
            .into_iter()
            .filter(|(_, value)| value.boolean() != Some(false))
        {
            let name = path.rsplit('.').next().unwrap_or(path);
            let finding = value
                .error(format!(
                    "{} is for Windows, and `{name}` does not exist there",
                    pod.title()
                ))
                .at(Part::Key);
            findings.push(match name {
                "privileged" => {
                    finding.help("remove it; `windowsOptions.hostProcess: true` is what comes near")
                }
                "runAsUser" => {
                    finding.help("remove it; `windowsOptions.runAsUserName` names a user")
                }
                "hostNetwork" => {
                    finding.help("remove it: only HostProcess pods have the host's network")
                }
                _ => finding.help("remove it"),
            });
        }
    }
    findings
}

fn memory(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in windows(context).filter(|pod| !pod.has_host_process()) {
        let list = pod
            .spec
            .get("containers")
            .map(|list| list.items())
            .unwrap_or_default();
        for container in list
            .iter()
            .filter(|container| container.at("resources.limits.memory").is_none())
        {
            let Some(name) = container.get("name") else {
                continue;
            };
            findings.push(
                name.warning(format!(
                    "the container `{}` of {} has no limit of memory",
                    name.text().unwrap_or_default(),
                    pod.title()
                ))
                .note(
                    "Windows kills no process for want of memory: one pod can bring the node down",
                )
                .help("add `resources: {limits: {memory: 512Mi}}`"),
            );
        }
    }
    findings
}

fn ndots(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in windows(context) {
        let options = pod
            .spec
            .at("dnsConfig.options")
            .map(|list| list.items())
            .unwrap_or_default();
        for name in options.iter().filter_map(|option| option.get("name")) {
            if name.text() == Some("ndots") {
                findings.push(
                    name.finding(Severity::Note, format!("{} sets `ndots`, which Windows does not know", pod.title()))
                        .note("a name with a dot in it is complete for Windows: `svc.namespace` is not found")
                        .help("use complete names, such as `web.shop.svc.cluster.local`"),
                );
            }
        }
    }
    findings
}

fn probes(context: &Context<'_>) -> Vec<Diagnostic> {
    const UNIX: [&str; 10] = [
        "sh",
        "bash",
        "/bin/sh",
        "/bin/bash",
        "cat",
        "test",
        "stat",
        "wget",
        "grep",
        "true",
    ];
    let mut findings = Vec::new();
    for pod in windows(context) {
        for container in pod.containers() {
            for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
                let command = container.at(&format!("{probe}.exec.command"));
                let Some(first) = command.and_then(|command| command.items().into_iter().next())
                else {
                    continue;
                };
                let Some(text) = first.text().filter(|text| UNIX.contains(text)) else {
                    continue;
                };
                findings.push(
                    first
                        .warning(format!(
                            "the {probe} of {} runs `{text}`, which Windows images do not have",
                            pod.title()
                        ))
                        .note("the probe fails for ever, and the container is restarted for ever")
                        .help("use `httpGet` or `tcpSocket`, or `cmd /c …`"),
                );
            }
        }
    }
    findings
}
