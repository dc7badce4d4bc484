//! Changes of the cluster, in words.

use casement_cluster::{ClusterChange, Way};
use serde_json::Value;

/// The most of a value that is shown in a line.
const WIDTH: usize = 60;

/// The part of a plan about the cluster: every field that changes.
pub fn shown(changes: &[ClusterChange]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let lines = changes.iter().map(|change| format!("  {}\n", line(change)));
    format!("cluster\n{}", lines.collect::<String>())
}

/// One change: a sign, the object, the field, both values, and what it costs.
pub fn line(change: &ClusterChange) -> String {
    let object = &change.object;
    let text = match &change.way {
        Way::Apply if change.before.is_none() => format!("+ {object}"),
        Way::Apply => format!("~ {object}  {}", differences(change)),
        Way::Delete => format!("- {object}"),
        Way::Restart { vni } => {
            format!("! {object}  all pods start anew, with VNI {vni}")
        }
        Way::Patch => {
            let sign = match (&change.outage, &change.before, &change.after) {
                (Some(_), ..) => "!",
                (None, None, _) => "+",
                (None, _, None) => "-",
                _ => "~",
            };
            format!("{sign} {object}  {}", patched(change))
        }
    };
    match &change.outage {
        Some(outage) => format!("{text}\n      outage: {outage}; needs --allow-network-outage"),
        None => text,
    }
}

fn patched(change: &ClusterChange) -> String {
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    if let (Some(Value::String(before)), Some(Value::String(after))) = (before, after)
        && let (Ok(before), Ok(after)) = (
            serde_json::from_str::<Value>(before),
            serde_json::from_str::<Value>(after),
        )
    {
        // A document within a field: its own fields are what matters.
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
fn compare(at: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    if before == after {
        return;
    }
    if let (Value::Object(before), Value::Object(after)) = (before, after) {
        let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let at = match at.is_empty() {
                true => key.clone(),
                false => format!("{at}.{key}"),
            };
            let nothing = Value::Null;
            let (one, other) = (before.get(key), after.get(key));
            compare(
                &at,
                one.unwrap_or(&nothing),
                other.unwrap_or(&nothing),
                found,
            );
        }
        return;
    }
    let some = |it: &Value| value(Some(it).filter(|it| !it.is_null()));
    found.push(format!("{at} {} → {}", some(before), some(after)));
}

/// The last two parts of a JSON pointer, as people write them.
fn short(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1);
    let parts: Vec<String> = parts
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect();
    let first = parts.len().saturating_sub(2);
    parts.get(first..).unwrap_or_default().join(" ")
}

/// A value in a line.
pub fn value(value: Option<&Value>) -> String {
    let text = match value {
        None => return "(nothing)".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() > WIDTH {
        true => format!("{}…", line.chars().take(WIDTH).collect::<String>()),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use casement_cluster::ObjectRef;
    use serde_json::json;

    use super::*;

    fn change(way: Way, field: &str, before: Option<Value>, after: Option<Value>) -> ClusterChange {
        ClusterChange {
            object: ObjectRef::new("apps/v1", "DaemonSet", Some("kube-system"), "kube-proxy"),
            field: field.to_owned(),
            before,
            after,
            way,
            outage: None,
        }
    }

    #[test]
    fn a_field_is_shown_with_both_values() {
        let field = "/spec/template/spec/nodeSelector/kubernetes.io~1os";
        let change = change(Way::Patch, field, None, Some(json!("linux")));
        assert_eq!(
            line(&change),
            "+ DaemonSet kube-system/kube-proxy  nodeSelector kubernetes.io/os  (nothing) → linux"
        );
    }

    #[test]
    fn a_document_within_a_field_is_compared_by_its_own_fields() {
        let before = json!("{\"Backend\":{\"Type\":\"vxlan\"}}");
        let after = json!("{\"Backend\": {\"Type\": \"vxlan\", \"VNI\": 4096}}");
        let mut change = change(Way::Patch, "/data/net-conf.json", Some(before), Some(after));
        change.outage = Some("all pods wait".to_owned());
        assert_eq!(
            line(&change),
            "! DaemonSet kube-system/kube-proxy  data net-conf.json  \
             Backend.VNI (nothing) → 4096\n      outage: all pods wait; needs \
             --allow-network-outage"
        );
    }
}
