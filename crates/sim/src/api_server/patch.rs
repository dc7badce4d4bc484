//! JSON patches, merge patches and strategic merge patches.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use super::refusal::Refusal;
use super::strategic;

/// How a patch is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Form {
    /// By content type, parameters aside.
    pub(super) fn of(content_type: &str) -> Result<Self, Refusal> {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        match media {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(Refusal::unsupported_patch()),
        }
    }
}

/// The object with the patch on it.
pub(super) fn patched(live: &Value, form: Form, patch: Value) -> Result<Value, Refusal> {
    let mut object = live.clone();
    match form {
        Form::Json => {
            let patch: Patch = serde_json::from_value(patch)
                .map_err(|error| Refusal::bad_request(format!("error decoding patch: {error}")))?;
            for operation in patch.0 {
                step(&mut object, operation)?;
            }
        }
        Form::Merge | Form::Apply => json_patch::merge(&mut object, &patch),
        Form::Strategic => strategic::merge(&mut object, &patch),
    }
    Ok(object)
}

fn step(object: &mut Value, operation: PatchOperation) -> Result<(), Refusal> {
    // Kubernetes takes a test for null as "not there".
    if let PatchOperation::Test(test) = &operation
        && test.value.is_null()
        && object.pointer(test.path.as_str()).is_none()
    {
        return Ok(());
    }
    json_patch::patch(object, &[operation]).map_err(|_| Refusal::patch_does_not_fit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failed_test_changes_nothing() {
        let live = json!({"a": {"b": 1}});
        let patch = |value: Value| {
            let list = json!([
                {"op": "add", "path": "/a/c", "value": 2},
                {"op": "test", "path": "/a/b", "value": value},
            ]);
            patched(&live, Form::Json, list)
        };
        assert_eq!(patch(json!(1)).unwrap(), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(patch(json!(3)).unwrap_err(), Refusal::patch_does_not_fit());
    }

    #[test]
    fn a_test_for_null_means_not_there() {
        let test = |path: &str| {
            let list = json!([{"op": "test", "path": path, "value": null}]);
            patched(&json!({"a": 1}), Form::Json, list)
        };
        assert!(test("/b").is_ok());
        assert!(test("/a").is_err());
    }
}
