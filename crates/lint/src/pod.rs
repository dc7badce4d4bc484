//! Pods in manifests, and the operating system they select.

use casement_source::foreign::Value;

pub(crate) const OS_LABEL: &str = "kubernetes.io/os";
pub(crate) const OLD_OS_LABEL: &str = "beta.kubernetes.io/os";
pub(crate) const BUILD_LABEL: &str = "node.kubernetes.io/windows-build";

/// A pod, or the pod template of a workload.
#[derive(Debug, Clone)]
pub(crate) struct Pod<'a> {
    pub(crate) object: Value<'a>,
    pub(crate) kind: &'a str,
    pub(crate) spec: Value<'a>,
    pub(crate) labels: Option<Value<'a>>,
    /// The operating system it selects, if any.
    pub(crate) os: Option<&'a str>,
}

impl<'a> Pod<'a> {
    /// `None` for objects that create no pods.
    pub(crate) fn new(object: &Value<'a>, all: &[Value<'a>]) -> Option<Self> {
        let kind = object.get("kind")?.text()?;
        let template = match kind {
            "Pod" => object.clone(),
            "Deployment"
            | "DaemonSet"
            | "StatefulSet"
            | "ReplicaSet"
            | "ReplicationController"
            | "Job" => object.at("spec.template")?,
            "CronJob" => object.at("spec.jobTemplate.spec.template")?,
            "PodTemplate" => object.get("template")?,
            _ => return None,
        };
        let spec = template.get("spec")?;
        let os = os(&spec, all);
        Some(Self {
            object: object.clone(),
            kind,
            labels: template.at("metadata.labels"),
            spec,
            os,
        })
    }

    /// Kind and name, for messages.
    pub(crate) fn title(&self) -> String {
        let name = self.object.at("metadata.name");
        let name = name.as_ref().and_then(Value::text).unwrap_or("(no name)");
        format!("{} `{name}`", self.kind)
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.os == Some("windows")
    }

    /// All containers, including init containers.
    pub(crate) fn containers(&self) -> Vec<Value<'a>> {
        let lists = ["initContainers", "containers"].into_iter();
        lists
            .filter_map(|name| self.spec.get(name))
            .flat_map(|list| list.items())
            .collect()
    }

    pub(crate) fn is_host_process(&self, container: &Value<'a>) -> bool {
        let flag = |value: &Value<'a>| {
            value
                .at("securityContext.windowsOptions.hostProcess")
                .and_then(|value| value.boolean())
        };
        flag(container)
            .or_else(|| flag(&self.spec))
            .unwrap_or(false)
    }

    pub(crate) fn has_host_process(&self) -> bool {
        self.containers().iter().any(|c| self.is_host_process(c))
    }

    /// Whether the pod tolerates this `NoSchedule` taint.
    pub(crate) fn tolerates(&self, key: &str, value: &str) -> bool {
        let list = self.spec.get("tolerations").map(|list| list.items());
        list.unwrap_or_default().iter().any(|toleration| {
            let text = |name: &str| toleration.get(name).and_then(|value| value.text());
            let effect = matches!(text("effect"), None | Some("NoSchedule"));
            let key = text("key").is_none_or(|other| other == key);
            let exists = text("operator") == Some("Exists");
            effect && key && (exists || text("value") == Some(value))
        })
    }
}

/// The operating system that a pod selects, by any of the supported fields.
fn os<'a>(spec: &Value<'a>, all: &[Value<'a>]) -> Option<&'a str> {
    let selected = |selector: Value<'a>| {
        let label = selector
            .get(OS_LABEL)
            .or_else(|| selector.get(OLD_OS_LABEL));
        label.and_then(|label| label.text())
    };
    spec.at("os.name")
        .and_then(|name| name.text())
        .or_else(|| selected(spec.get("nodeSelector")?))
        .or_else(|| from_affinity(spec))
        .or_else(|| from_runtime_class(spec, all))
        .or_else(|| spec.at("securityContext.windowsOptions").map(|_| "windows"))
}

fn from_affinity<'a>(spec: &Value<'a>) -> Option<&'a str> {
    let required =
        spec.at("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution")?;
    let terms = required.get("nodeSelectorTerms")?.items();
    let expressions = terms
        .iter()
        .filter_map(|term| term.get("matchExpressions"))
        .flat_map(|list| list.items());
    for expression in expressions {
        let text = |name: &str| expression.get(name).and_then(|value| value.text());
        let is_os = matches!(text("key"), Some(OS_LABEL | OLD_OS_LABEL));
        let values = expression.get("values").map(|values| values.items());
        if is_os
            && text("operator") == Some("In")
            && let [only] = values.unwrap_or_default().as_slice()
        {
            return only.text();
        }
    }
    None
}

fn from_runtime_class<'a>(spec: &Value<'a>, all: &[Value<'a>]) -> Option<&'a str> {
    let name = spec.get("runtimeClassName")?.text()?;
    let class = all.iter().find(|object| {
        let text = |path: &str| object.at(path).and_then(|value| value.text());
        text("kind") == Some("RuntimeClass") && text("metadata.name") == Some(name)
    })?;
    class.at("scheduling.nodeSelector")?.get(OS_LABEL)?.text()
}
