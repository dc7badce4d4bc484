//! JSON patches, merge patches and strategic merge patches.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use super::status_error::StatusError;
use super::strategic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    /// From a content type, whose parameters are ignored.
    pub(super) fn of(content_type: &str) -> Result<Self, StatusError> {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        match media {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(StatusError::unsupported_patch()),
        }
    }
}

pub(super) fn apply_patch(
    live: &Value,
    patch_type: PatchType,
    patch: Value,
) -> Result<Value, StatusError> {
    let mut object = live.clone();
    match patch_type {
        PatchType::Json => {
            let patch: Patch = serde_json::from_value(patch).map_err(|error| {
                StatusError::bad_request(format!("error decoding patch: {error}"))
            })?;
            for operation in patch.0 {
                apply_operation(&mut object, operation)?;
            }
        }
        PatchType::Merge | PatchType::Apply => json_patch::merge(&mut object, &patch),
        PatchType::Strategic => strategic::merge(&mut object, &patch),
    }
    Ok(object)
}

fn apply_operation(object: &mut Value, operation: PatchOperation) -> Result<(), StatusError> {
    // Kubernetes treats a test for null as "absent".
    if let PatchOperation::Test(test) = &operation
        && test.value.is_null()
        && object.pointer(test.path.as_str()).is_none()
    {
        return Ok(());
    }
    json_patch::patch(object, &[operation]).map_err(|_| StatusError::patch_not_applicable())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failed_test_rejects_the_patch() {
        let live = json!({"a": {"b": 1}});
        let patch = |value: Value| {
            let list = json!([
                {"op": "add", "path": "/a/c", "value": 2},
                {"op": "test", "path": "/a/b", "value": value},
            ]);
            apply_patch(&live, PatchType::Json, list)
        };
        assert_eq!(patch(json!(1)).unwrap(), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(
            patch(json!(3)).unwrap_err(),
            StatusError::patch_not_applicable()
        );
    }

    #[test]
    fn null_test_means_absent() {
        let test = |path: &str| {
            let list = json!([{"op": "test", "path": path, "value": null}]);
            apply_patch(&json!({"a": 1}), PatchType::Json, list)
        };
        assert!(test("/b").is_ok());
        assert!(test("/a").is_err());
    }
}
