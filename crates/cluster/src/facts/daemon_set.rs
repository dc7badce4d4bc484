//! Finds DaemonSets that would run a Linux pod on a Windows node.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{NodeSelectorRequirement, PodSpec, Toleration};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::{ChangeMethod, ClusterChange, ObjectRef};

const OS: &str = "kubernetes.io/os";
const OLD_OS: &str = "beta.kubernetes.io/os";
const OS_FIELD: &str = "/spec/template/spec/nodeSelector/kubernetes.io~1os";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonSetFacts {
    pub namespace: String,
    pub name: String,
    /// It tolerates `os=windows:NoSchedule` and selects no operating system.
    pub lands_on_windows: bool,
    pub for_windows: bool,
}

impl DaemonSetFacts {
    pub(crate) fn of(set: &DaemonSet) -> Self {
        let pod = set
            .spec
            .as_ref()
            .and_then(|spec| spec.template.spec.as_ref());
        Self {
            namespace: set.metadata.namespace.clone().unwrap_or_default(),
            name: set.metadata.name.clone().unwrap_or_default(),
            lands_on_windows: pod.is_some_and(lands_on_windows),
            for_windows: pod.is_some_and(for_windows),
        }
    }

    /// Adds a node selector for Linux if the pods would land on Windows.
    pub fn os_selector_change(&self) -> Option<ClusterChange> {
        let namespace = Some(self.namespace.as_str());
        self.lands_on_windows.then(|| ClusterChange {
            object: ObjectRef::new("apps/v1", "DaemonSet", namespace, &self.name),
            field: OS_FIELD.to_owned(),
            before: None,
            after: Some(Value::from("linux")),
            method: ChangeMethod::Patch,
            outage: None,
        })
    }
}

fn for_windows(pod: &PodSpec) -> bool {
    let selector = pod.node_selector.as_ref();
    let selected = selector.and_then(|map| map.get(OS).or_else(|| map.get(OLD_OS)));
    selected.is_some_and(|os| os == "windows")
        || pod.os.as_ref().is_some_and(|os| os.name == "windows")
}

fn lands_on_windows(pod: &PodSpec) -> bool {
    tolerates_windows(pod) && pod.os.is_none() && !selects_os(pod) && !affine_to_os(pod)
}

fn tolerates_windows(pod: &PodSpec) -> bool {
    let fits = |toleration: &Toleration| {
        let effect = toleration.effect.as_deref().unwrap_or_default();
        let key = toleration.key.as_deref().unwrap_or_default();
        let value = toleration.value.as_deref().unwrap_or_default();
        let every_value = toleration.operator.as_deref() == Some("Exists");
        let key_fits = key == "os" || (key.is_empty() && every_value);
        matches!(effect, "" | "NoSchedule") && key_fits && (every_value || value == "windows")
    };
    pod.tolerations.iter().flatten().any(fits)
}

fn selects_os(pod: &PodSpec) -> bool {
    let selects = |map: &BTreeMap<String, String>| map.contains_key(OS) || map.contains_key(OLD_OS);
    pod.node_selector.as_ref().is_some_and(selects)
}

/// Whether every term of the required affinity excludes Windows.
fn affine_to_os(pod: &PodSpec) -> bool {
    let affinity = pod
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| {
        affinity
            .required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let names_os = |requirement: &NodeSelectorRequirement| {
        let values = requirement.values.iter().flatten();
        let windows = values.clone().any(|value| value == "windows");
        let key_fits = requirement.key == OS || requirement.key == OLD_OS;
        key_fits
            && match requirement.operator.as_str() {
                "In" => !windows,
                "NotIn" => windows,
                _ => false,
            }
    };
    required.is_some_and(|required| {
        !required.node_selector_terms.is_empty()
            && required
                .node_selector_terms
                .iter()
                .all(|term| term.match_expressions.iter().flatten().any(names_os))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts(pod: Value) -> DaemonSetFacts {
        let set: DaemonSet = serde_json::from_value(json!({
            "metadata": {"namespace": "kube-system", "name": "x"},
            "spec": {"selector": {}, "template": {"spec": pod}},
        }))
        .unwrap();
        DaemonSetFacts::of(&set)
    }

    fn pod(extra: Value) -> Value {
        let mut pod = json!({"containers": []});
        let fields = extra.as_object().unwrap().clone();
        pod.as_object_mut().unwrap().extend(fields);
        pod
    }

    #[test]
    fn only_sets_that_tolerate_the_taint_get_a_selector() {
        for tolerations in [
            json!([{"operator": "Exists"}]),
            json!([{"operator": "Exists", "effect": "NoSchedule"}]),
            json!([{"key": "os", "operator": "Exists"}]),
            json!([{"key": "os", "value": "windows", "effect": "NoSchedule"}]),
        ] {
            let set = facts(pod(json!({"tolerations": tolerations})));
            assert!(set.lands_on_windows, "{tolerations}");
            let change = set.os_selector_change().unwrap();
            assert_eq!(change.after, Some(json!("linux")));
        }
        for tolerations in [
            json!([]),
            json!([{"operator": "Exists", "effect": "NoExecute"}]),
            json!([{"key": "os", "value": "linux"}]),
            json!([{"key": "CriticalAddonsOnly", "operator": "Exists"}]),
        ] {
            let set = facts(pod(json!({"tolerations": tolerations})));
            assert!(!set.lands_on_windows, "{tolerations}");
            assert_eq!(set.os_selector_change(), None);
        }
    }

    #[test]
    fn a_set_that_selects_an_os_is_left_unchanged() {
        let tolerant = json!([{"operator": "Exists"}]);
        let affinity = |expression: Value| {
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}})
        };
        let linux = json!({"key": OS, "operator": "In", "values": ["linux"]});
        let other = json!({"key": "zone", "operator": "In", "values": ["a"]});
        let set = |extra: Value| {
            let mut extra = extra;
            extra["tolerations"] = tolerant.clone();
            facts(pod(extra))
        };
        assert!(!set(json!({"nodeSelector": {OS: "linux"}})).lands_on_windows);
        assert!(!set(json!({"nodeSelector": {OLD_OS: "linux"}})).lands_on_windows);
        assert!(!set(json!({"affinity": affinity(linux)})).lands_on_windows);
        assert!(set(json!({"affinity": affinity(other)})).lands_on_windows);
        assert!(set(json!({"nodeSelector": {"zone": "a"}})).lands_on_windows);
        let windows = set(json!({"nodeSelector": {OS: "windows"}}));
        assert!(windows.for_windows && !windows.lands_on_windows);
    }
}
