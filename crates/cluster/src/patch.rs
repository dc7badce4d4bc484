//! JSON patches for one field: the old value is tested, and missing parents are
//! created.

use serde_json::{Value, json};

use crate::change::ClusterChange;

pub(crate) fn operations(live: &Value, change: &ClusterChange) -> json_patch::Patch {
    let field = change.field.as_str();
    let before = live.pointer(field);
    let list = match (before, &change.after) {
        (None, None) => json!([{"op": "test", "path": field, "value": null}]),
        (Some(old), None) => json!([
            {"op": "test", "path": field, "value": old},
            {"op": "remove", "path": field},
        ]),
        (Some(old), Some(new)) => json!([
            {"op": "test", "path": field, "value": old},
            {"op": "replace", "path": field, "value": new},
        ]),
        (None, Some(new)) => {
            let (path, value) = topmost_missing(live, field, new.clone());
            json!([
                {"op": "test", "path": path, "value": null},
                {"op": "add", "path": path, "value": value},
            ])
        }
    };
    // The lists above are valid JSON patches.
    serde_json::from_value(list).unwrap_or_default()
}

/// Wraps the value in the missing parent objects.
fn topmost_missing<'a>(live: &Value, field: &'a str, value: Value) -> (&'a str, Value) {
    let Some((parent, key)) = field.rsplit_once('/') else {
        return (field, value);
    };
    if live.pointer(parent).is_some() {
        return (field, value);
    }
    let key = key.replace("~1", "/").replace("~0", "~");
    topmost_missing(live, parent, json!({ key: value }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{ChangeMethod, ObjectRef};

    fn patched(mut live: Value, field: &str, after: Option<Value>) -> (Value, Value) {
        let change = ClusterChange {
            object: ObjectRef::new("apps/v1", "DaemonSet", Some("kube-system"), "x"),
            field: field.to_owned(),
            before: live.pointer(field).cloned(),
            after,
            method: ChangeMethod::Patch,
            outage: None,
        };
        let patch = operations(&live, &change);
        let list = serde_json::to_value(&patch).unwrap();
        // The API server treats a test for null as "absent"; the json_patch crate
        // does not, so those are left out.
        let rest = patch.0.iter().filter(|operation| {
            !matches!(operation, json_patch::PatchOperation::Test(test) if test.value.is_null())
        });
        let rest: Vec<_> = rest.cloned().collect();
        json_patch::patch(&mut live, &rest).unwrap();
        (list, live)
    }

    #[test]
    fn a_missing_parent_is_tested_and_created() {
        let field = "/spec/template/spec/nodeSelector/kubernetes.io~1os";
        let live = json!({"spec": {"template": {"spec": {"containers": []}}}});
        let (patch, result) = patched(live, field, Some(json!("linux")));
        assert_eq!(
            patch,
            json!([
                {"op": "test", "path": "/spec/template/spec/nodeSelector", "value": null},
                {"op": "add", "path": "/spec/template/spec/nodeSelector",
                 "value": {"kubernetes.io/os": "linux"}},
            ])
        );
        assert_eq!(result.pointer(field), Some(&json!("linux")));
    }

    #[test]
    fn the_old_value_is_tested_before_it_is_replaced_or_removed() {
        let live = json!({"a": {"b/c": 1}});
        let (patch, result) = patched(live.clone(), "/a/b~1c", Some(json!(2)));
        assert_eq!(
            patch[0],
            json!({"op": "test", "path": "/a/b~1c", "value": 1})
        );
        assert_eq!(result, json!({"a": {"b/c": 2}}));
        let (_, result) = patched(live, "/a/b~1c", None);
        assert_eq!(result, json!({"a": {}}));
    }
}
