//! CNI configurations, except their endpoint policies.

use std::collections::BTreeMap;

use casement_diag::{Diagnostic, Part, Severity};
use casement_source::foreign::Value;

use crate::cni::{Cni, WINDOWS_PLUGINS};
use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-CNI-001", Error, Files, "L027", incomplete),
    rule!("CAS-CNI-002", Error, Files, "L027", plugin),
    rule!("CAS-CNI-003", Warning, Files, "L027", dns_capability),
    rule!("CAS-CNI-006", Error, Files, "L028", several_configurations),
    rule!("CAS-CNI-008", Error, Files, "C6", backend_mismatch),
    rule!("CAS-CNI-009", Error, Files, "C3", delegate),
];

/// Plugins with a Windows build, including IPAM plugins.
const SUPPORTED: [&str; 9] = [
    "flannel",
    "win-overlay",
    "win-bridge",
    "sdnoverlay",
    "sdnbridge",
    "nat",
    "calico",
    "azure-vnet",
    "host-local",
];

fn windows<'c, 'a>(context: &'c Context<'a>) -> impl Iterator<Item = &'c Cni<'a>> {
    context.cni.iter().filter(|cni| cni.is_windows())
}

fn incomplete(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in &context.cni {
        let document = &cni.document;
        if document
            .get("name")
            .is_none_or(|name| name.text().is_none())
        {
            findings.push(
                missing(document, "the CNI configuration has no `name`")
                    .note("on Windows this is the name of the HNS network, and nothing works without it")
                    .help("add `\"name\": \"flannel.4096\"`"),
            );
        }
        if document.get("cniVersion").is_none() {
            findings.push(
                missing(document, "the CNI configuration has no `cniVersion`")
                    .note("it is then treated as 0.2.0, which has a different result format")
                    .help("add `\"cniVersion\": \"1.0.0\"`"),
            );
        }
        for plugin in cni
            .plugins
            .iter()
            .filter(|plugin| plugin.get("type").is_none())
        {
            findings.push(
                plugin
                    .error("the plugin has no `type`")
                    .help("add `type`, the name of the executable without `.exe`"),
            );
        }
    }
    findings
}

/// A finding for a missing field, located at the first field.
fn missing(document: &Value<'_>, message: &str) -> Diagnostic {
    match document.entries().into_iter().next() {
        Some((_, first)) => first.error(message).at(Part::Key),
        None => document.error(message),
    }
}

fn plugin(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in windows(context) {
        let delegates = cni
            .plugins
            .iter()
            .filter_map(|plugin| plugin.get("delegate"));
        let all = cni.plugins.iter().cloned().chain(delegates);
        for value in all.filter_map(|plugin| plugin.get("type")) {
            let Some(name) = value.text().filter(|name| !SUPPORTED.contains(name)) else {
                continue;
            };
            let finding = value.error(format!("the CNI plugin `{name}` does not exist on Windows"));
            let supported = SUPPORTED.into_iter();
            findings.push(match casement_source::closest(name, supported) {
                Some(better) => finding
                    .help(format!("did you mean `{better}`?"))
                    .replace(format!("use `{better}`"), format!("\"{better}\"")),
                None => finding.help(format!(
                    "Windows plugins are {}",
                    WINDOWS_PLUGINS.join(", ")
                )),
            });
        }
    }
    findings
}

fn dns_capability(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in windows(context) {
        let Some(plugin) = cni.plugins.first() else {
            continue;
        };
        let capabilities = plugin.get("capabilities");
        let dns = capabilities.as_ref().and_then(|c| c.get("dns"));
        if dns.as_ref().and_then(Value::boolean) == Some(true) {
            continue;
        }
        let current = match &dns {
            Some(value) => value.text().unwrap_or("empty"),
            None => "not set",
        };
        let wrong = capabilities.as_ref().and_then(|c| c.get("dnsCapabilities"));
        let finding = match (&wrong, &dns, plugin.get("type")) {
            (Some(wrong), _, _) => wrong
                .finding(
                    Severity::Warning,
                    "the capability `dnsCapabilities` does not exist, its name is `dns`",
                )
                .at(Part::Key)
                .replace("rename it to `dns`", "\"dns\""),
            (None, Some(dns), _) => dns
                .warning(format!(
                    "the capability `dns` is {current}: pods do not get their own search list"
                ))
                .replace("set to true", "true"),
            (None, None, Some(kind)) => kind.warning(format!(
                "the capability `dns` is {current}: pods do not get their own search list"
            )),
            (None, None, None) => continue,
        };
        findings.push(
            finding
                .note("without it the plugin does not receive the `dnsConfig` of a pod and the search list of its namespace")
                .help("set `\"capabilities\": {\"portMappings\": true, \"dns\": true}`"),
        );
    }
    findings
}

fn several_configurations(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut folders: BTreeMap<&str, Vec<(&str, &Cni<'_>)>> = BTreeMap::new();
    for cni in context
        .cni
        .iter()
        .filter(|cni| cni.document.path().is_root())
    {
        let file = cni.document.file();
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        folders.entry(folder).or_default().push((name, cni));
    }
    let mut findings = Vec::new();
    for mut lists in folders.into_values() {
        lists.sort_by_key(|(name, _)| *name);
        let Some(((first, active), ignored)) = lists.split_first() else {
            continue;
        };
        for (name, other) in ignored {
            let (Some(used), Some(unused)) = (network(active), network(other)) else {
                continue;
            };
            findings.push(
                unused
                    .error(format!("the runtime uses only the first file, `{first}`, so pods join `{}` and `{name}` is ignored", used.text().unwrap_or_default()))
                    .here("never used")
                    .label_in(used.file(), used.path().clone(), "used")
                    .help(format!("remove either `{first}` or `{name}`")),
            );
        }
    }
    findings
}

fn network<'a>(cni: &Cni<'a>) -> Option<Value<'a>> {
    cni.document.get("name")
}

fn backend_mismatch(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let kinds = context
        .net_confs
        .iter()
        .filter_map(|conf| conf.get_any_case("Backend")?.get_any_case("Type"));
    let Some(kind) = kinds.into_iter().next() else {
        return findings;
    };
    let backend = kind.text().unwrap_or_default();
    for cni in windows(context) {
        let matching = match backend {
            "vxlan" if cni.is_bridge() => "win-overlay",
            "host-gw" if cni.is_overlay() => "win-bridge",
            _ => continue,
        };
        for value in cni
            .endpoint_plugins()
            .iter()
            .filter_map(|plugin| plugin.get("type"))
        {
            let name = value.text().unwrap_or_default();
            findings.push(
                value
                    .error(format!("the CNI plugin is `{name}`, but flannel's backend is `{backend}`"))
                    .label_in(kind.file(), kind.path().clone(), "the backend")
                    .note("an overlay network accepts only endpoints of an overlay plugin, a bridged network only those of a bridge plugin")
                    .help(format!("use `{matching}` with `{backend}`"))
                    .replace(format!("use `{matching}`"), format!("\"{matching}\"")),
            );
        }
    }
    findings
}

fn delegate(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for plugin in context.cni.iter().flat_map(|cni| &cni.plugins) {
        let is_flannel = plugin
            .get("type")
            .is_some_and(|kind| kind.text() == Some("flannel"));
        let Some(delegate) = plugin.get("delegate").filter(|_| is_flannel) else {
            continue;
        };
        for name in ["name", "ipam"] {
            let Some(value) = delegate.get(name) else {
                continue;
            };
            findings.push(
                value
                    .error(format!(
                        "the delegate sets `{name}`, which flannel's plugin fills in"
                    ))
                    .at(Part::Key)
                    .note("the plugin rejects a delegate that sets it")
                    .help(format!("remove `{name}` from the delegate")),
            );
        }
    }
    findings
}
