//! Validation of objects, as far as casement and its tests depend on it. The real server
//! checks far more.

use serde_json::{Value, json};

use super::kinds::Kind;
use super::status_error::{Cause, StatusError};

/// Rejects only objects that the real server rejects with the same error.
pub(super) fn validate(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), StatusError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let mut causes = Vec::new();
    if old.is_none() {
        causes.extend(name_cause(kind, name));
    }
    if let Some(old) = old {
        causes.extend(immutable(kind, object, old));
    }
    causes.extend(content(kind, object));
    match causes.is_empty() {
        true => Ok(()),
        false => Err(StatusError::invalid(kind, name, &causes)),
    }
}

fn name_cause(kind: &Kind, name: &str) -> Option<Cause> {
    if name.is_empty() {
        let detail = "name or generateName is required";
        return Some(Cause::required("metadata.name", detail));
    }
    // Role names only have to be valid path segments.
    if kind.group == "rbac.authorization.k8s.io" {
        return (name.contains(['/', '%']) || matches!(name, "." | ".."))
            .then(|| Cause::invalid("metadata.name", &json!(name), "may not contain '/' or '%'"));
    }
    let is_valid = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = part.as_bytes();
        let edges = [bytes.first(), bytes.last()];
        edges
            .into_iter()
            .all(|byte| byte.is_some_and(|byte| inner(*byte)))
            && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
    };
    if name.len() <= 253 && name.split('.').all(is_valid) {
        return None;
    }
    let detail = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
               characters, '-' or '.', and must start and end with an alphanumeric character \
               (e.g. 'example.com', regex used for validation is \
               '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    Some(Cause::invalid("metadata.name", &json!(name), detail))
}

fn immutable(kind: &Kind, object: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if kind.group == "apps" && object["spec"]["selector"] != old["spec"]["selector"] {
        let value = &object["spec"]["selector"];
        causes.push(Cause::invalid("spec.selector", value, "field is immutable"));
    }
    if object["roleRef"] != old["roleRef"] {
        let part = |key: &str| object["roleRef"][key].clone();
        let value = json!({
            "APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": part("name"),
        });
        causes.push(Cause::invalid("roleRef", &value, "cannot change roleRef"));
    }
    if kind.kind == "RuntimeClass" && object["handler"] != old["handler"] {
        let value = &object["handler"];
        causes.push(Cause::invalid("handler", value, "field is immutable"));
    }
    if kind.kind == "Secret" && object["type"] != old["type"] {
        causes.push(Cause::invalid(
            "type",
            &object["type"],
            "field is immutable",
        ));
    }
    if object["immutable"] == json!(null) && old["immutable"] == true {
        let detail = "field is immutable when `immutable` is set";
        causes.push(Cause::invalid("immutable", &Value::Null, detail));
    }
    causes
}

fn content(kind: &Kind, object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    match kind.kind {
        "DaemonSet" | "Deployment" | "ReplicaSet" => {
            let mut causes = Vec::new();
            let labels = &spec["template"]["metadata"]["labels"];
            if !selects(&spec["selector"], labels) {
                let detail = "`selector` does not match template `labels`";
                causes.push(Cause::invalid(
                    "spec.template.metadata.labels",
                    labels,
                    detail,
                ));
            }
            causes.extend(containers("spec.template.spec", &spec["template"]["spec"]));
            causes
        }
        "Pod" => containers("spec", spec),
        "RuntimeClass" => required(object, &["handler"]),
        "RoleBinding" | "ClusterRoleBinding" => required(&object["roleRef"], &["name"])
            .into_iter()
            .map(|_| Cause::required("roleRef.name", ""))
            .collect(),
        "CertificateSigningRequest" => {
            let missing = ["request", "usages", "signerName"].into_iter();
            let missing = missing.filter(|key| is_missing(&spec[*key]));
            missing
                .map(|key| Cause::required(&format!("spec.{key}"), ""))
                .collect()
        }
        "Service" => match spec["ports"].as_array() {
            Some(ports) if ports.len() > 1 => ports
                .iter()
                .enumerate()
                .filter(|(_, port)| is_missing(&port["name"]))
                .map(|(index, _)| Cause::required(&format!("spec.ports[{index}].name"), ""))
                .collect(),
            Some(ports) if !ports.is_empty() => Vec::new(),
            _ if spec["clusterIP"] == "None" || spec["type"] == "ExternalName" => Vec::new(),
            _ => vec![Cause::required("spec.ports", "")],
        },
        _ => Vec::new(),
    }
}

fn required(object: &Value, keys: &[&str]) -> Vec<Cause> {
    let missing = keys.iter().filter(|key| is_missing(&object[**key]));
    missing.map(|key| Cause::required(key, "")).collect()
}

fn is_missing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn containers(path: &str, spec: &Value) -> Vec<Cause> {
    let list = spec["containers"].as_array().cloned().unwrap_or_default();
    if list.is_empty() {
        return vec![Cause::required(&format!("{path}.containers"), "")];
    }
    let mut causes = Vec::new();
    for (index, container) in list.iter().enumerate() {
        for key in ["name", "image"] {
            if is_missing(&container[key]) {
                let field = format!("{path}.containers[{index}].{key}");
                causes.push(Cause::required(&field, ""));
            }
        }
    }
    causes
}

/// Checks `matchLabels`; a selector with expressions is accepted.
fn selects(selector: &Value, labels: &Value) -> bool {
    if selector["matchExpressions"].is_array() {
        return true;
    }
    match selector["matchLabels"].as_object() {
        Some(expected) if !expected.is_empty() => expected
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::by_name;
    use super::*;

    fn error_message(kind: &str, object: Value, old: Option<&Value>) -> String {
        let kind = by_name(kind).unwrap();
        validate(kind, &object, old)
            .err()
            .map(|status_error| status_error.message)
            .unwrap_or_default()
    }

    #[test]
    fn name_rules_depend_on_the_kind() {
        let name = |name: &str| json!({"metadata": {"name": name}});
        assert_eq!(
            error_message("ConfigMap", name("kube-root-ca.crt"), None),
            ""
        );
        assert!(error_message("ConfigMap", name("A_b"), None).contains("RFC 1123"));
        assert!(error_message("ConfigMap", name(""), None).contains("generateName is required"));
        assert_eq!(error_message("ClusterRole", name("system:node"), None), "");
        assert!(error_message("ClusterRole", name("a/b"), None).contains("may not contain"));
    }

    #[test]
    fn daemon_set_needs_matching_labels_and_images() {
        let set = |labels: Value, container: Value| {
            json!({"metadata": {"name": "x"}, "spec": {
                "selector": {"matchLabels": {"a": "d"}},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            }})
        };
        let validation = set(json!({"a": "d"}), json!({"name": "c", "image": "i"}));
        assert_eq!(error_message("DaemonSet", validation.clone(), None), "");
        let invalid = set(json!({"a": "x"}), json!({"name": "c"}));
        assert_eq!(
            error_message("DaemonSet", invalid, None),
            "DaemonSet.apps \"x\" is invalid: [spec.template.metadata.labels: Invalid value: \
             {\"a\":\"x\"}: `selector` does not match template `labels`, \
             spec.template.spec.containers[0].image: Required value]"
        );
        let mut other = validation.clone();
        other["spec"]["selector"] = json!({"matchLabels": {"a": "d", "b": "e"}});
        assert!(
            error_message("DaemonSet", other, Some(&validation)).contains("field is immutable")
        );
    }
}
