//! Changes to cluster objects as text.

use casement_cluster::{ChangeMethod, ClusterChange};
use casement_report::{Action, ObjectChange};
use serde_json::Value;

/// The maximum width of a value, in characters.
const MAX_VALUE_WIDTH: usize = 60;

/// The cluster section of a plan: every field that changes.
pub fn section(changes: &[ClusterChange]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let lines = changes.iter().map(|change| format!("  {}\n", line(change)));
    format!("cluster\n{}", lines.collect::<String>())
}

/// One change: a sign, the object, the field, both values, and the outage.
pub fn line(change: &ClusterChange) -> String {
    let (object, sign) = (&change.object, action(change).sign());
    let text = match &change.method {
        ChangeMethod::Apply if change.before.is_none() => format!("{sign} {object}"),
        ChangeMethod::Apply => format!("{sign} {object}  {}", differences(change)),
        ChangeMethod::Delete => format!("{sign} {object}"),
        ChangeMethod::Restart { vni } => format!("! {object}  {}", restart(*vni)),
        ChangeMethod::Patch => {
            let sign = if change.outage.is_some() { "!" } else { sign };
            format!("{sign} {object}  {}", patched(change))
        }
    };
    match &change.outage {
        Some(outage) => format!("{text}\n      outage: {outage}; needs --allow-network-outage"),
        None => text,
    }
}

pub fn action(change: &ClusterChange) -> Action {
    match change.method {
        ChangeMethod::Apply | ChangeMethod::Patch => {
            Action::new(change.before.is_none(), change.after.is_none())
        }
        ChangeMethod::Restart { .. } => Action::Change,
        ChangeMethod::Delete => Action::Remove,
    }
}

/// A change without its values, which can be whole objects.
pub fn object_change(change: &ClusterChange) -> ObjectChange {
    let object = change.object.clone();
    ObjectChange {
        api_version: object.api_version,
        kind: object.kind,
        namespace: object.namespace,
        name: object.name,
        action: action(change),
        field: Some(change.field.clone()).filter(|field| !field.is_empty()),
        note: match change.method {
            ChangeMethod::Restart { vni } => Some(restart(vni)),
            _ => None,
        },
        outage: change.outage.clone(),
    }
}

fn restart(vni: u32) -> String {
    format!("restart all pods, with VNI {vni}")
}

fn patched(change: &ClusterChange) -> String {
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    if let (Some(Value::String(before)), Some(Value::String(after))) = (before, after)
        && let (Ok(before), Ok(after)) = (
            serde_json::from_str::<Value>(before),
            serde_json::from_str::<Value>(after),
        )
    {
        // A JSON document in a field: compare its fields.
        let mut found = Vec::new();
        compare("", &before, &after, &mut found);
        return format!("{}  {}", short(&change.field), found.join(", "));
    }
    let both = format!("{} → {}", value(before), value(after));
    format!("{}  {both}", short(&change.field))
}

fn differences(change: &ClusterChange) -> String {
    let mut found = Vec::new();
    if let (Some(before), Some(after)) = (&change.before, &change.after) {
        compare("", before, after, &mut found);
    }
    found.join(", ")
}

/// Every leaf that differs, with both values.
fn compare(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    if before == after {
        return;
    }
    if let (Value::Object(before), Value::Object(after)) = (before, after) {
        let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let path = match path.is_empty() {
                true => key.clone(),
                false => format!("{path}.{key}"),
            };
            let absent = Value::Null;
            let before = before.get(key).unwrap_or(&absent);
            compare(&path, before, after.get(key).unwrap_or(&absent), found);
        }
        return;
    }
    let shown = |it: &Value| value(Some(it).filter(|it| !it.is_null()));
    found.push(format!("{path} {} → {}", shown(before), shown(after)));
}

/// The last two parts of a JSON pointer, unescaped.
fn short(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1);
    let parts: Vec<String> = parts
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect();
    let first = parts.len().saturating_sub(2);
    parts.get(first..).unwrap_or_default().join(" ")
}

/// A value on one line.
pub fn value(value: Option<&Value>) -> String {
    let text = match value {
        None => return "(not set)".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() > MAX_VALUE_WIDTH {
        true => format!(
            "{}…",
            line.chars().take(MAX_VALUE_WIDTH).collect::<String>()
        ),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use casement_cluster::ObjectRef;
    use serde_json::json;

    use super::*;

    fn change(
        method: ChangeMethod,
        field: &str,
        before: Option<Value>,
        after: Option<Value>,
    ) -> ClusterChange {
        ClusterChange {
            object: ObjectRef::new("apps/v1", "DaemonSet", Some("kube-system"), "kube-proxy"),
            field: field.to_owned(),
            before,
            after,
            method,
            outage: None,
        }
    }

    #[test]
    fn fields_are_shown_with_both_values() {
        let field = "/spec/template/spec/nodeSelector/kubernetes.io~1os";
        let change = change(ChangeMethod::Patch, field, None, Some(json!("linux")));
        assert_eq!(
            line(&change),
            "+ DaemonSet kube-system/kube-proxy  nodeSelector kubernetes.io/os  (not set) → linux"
        );
    }

    #[test]
    fn json_documents_in_fields_are_compared_by_field() {
        let before = json!("{\"Backend\":{\"Type\":\"vxlan\"}}");
        let after = json!("{\"Backend\": {\"Type\": \"vxlan\", \"VNI\": 4096}}");
        let mut change = change(
            ChangeMethod::Patch,
            "/data/net-conf.json",
            Some(before),
            Some(after),
        );
        change.outage = Some("all pods lose the network".to_owned());
        assert_eq!(
            line(&change),
            "! DaemonSet kube-system/kube-proxy  data net-conf.json  \
             Backend.VNI (not set) → 4096\n      outage: all pods lose the network; needs \
             --allow-network-outage"
        );
    }
}
