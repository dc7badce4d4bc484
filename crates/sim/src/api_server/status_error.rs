//! API errors as Kubernetes words them: a `Status` with reason, details, code.

use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::kinds::Kind;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct StatusError {
    pub(super) code: StatusCode,
    reason: &'static str,
    pub(super) message: String,
    details: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cause {
    reason: &'static str,
    message: String,
    field: String,
}

impl Cause {
    pub(super) fn required(field: &str, detail: &str) -> Self {
        let message = match detail {
            "" => "Required value".to_owned(),
            detail => format!("Required value: {detail}"),
        };
        Self {
            reason: "FieldValueRequired",
            message,
            field: field.to_owned(),
        }
    }

    pub(super) fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {value}: {detail}"),
            field: field.to_owned(),
        }
    }

    pub(super) fn conflict(manager: &str, field: &str) -> Self {
        Self {
            reason: "FieldManagerConflict",
            message: format!("conflict with {manager}"),
            field: field.to_owned(),
        }
    }

    fn value(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }
}

impl StatusError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
        }
    }

    fn about(mut self, kind: &Kind, kind_name: &str, name: &str) -> Self {
        let mut details = Map::new();
        for (key, text) in [("name", name), ("group", kind.group), ("kind", kind_name)] {
            if !text.is_empty() {
                details.insert(key.to_owned(), json!(text));
            }
        }
        self.details = Some(Value::Object(details));
        self
    }

    fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", kind.resource());
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(kind, kind.plural, name)
    }

    pub(super) fn resource_not_found() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_details(json!({}))
    }

    pub(super) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.resource());
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(kind, kind.plural, name)
    }

    /// The resource version has changed.
    pub(super) fn conflict(kind: &Kind, name: &str) -> Self {
        let detail = "the object has been modified; please apply your changes to the latest \
                   version and try again";
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {detail}",
            kind.resource()
        );
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(kind, kind.plural, name)
    }

    /// A precondition of a deletion is not met.
    pub(super) fn precondition_failed(kind: &Kind, name: &str, detail: &str) -> Self {
        let kind_name = match kind.group {
            "" => kind.kind.to_owned(),
            group => format!("{}.{group}", kind.kind),
        };
        let message = format!("Operation cannot be fulfilled on {kind_name} \"{name}\": {detail}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(kind, kind.kind, name)
    }

    /// An apply would change fields of other managers.
    pub(super) fn apply_conflict(message: String, causes: &[Cause]) -> Self {
        let causes: Vec<Value> = causes.iter().map(Cause::value).collect();
        Self::new(StatusCode::CONFLICT, "Conflict", message)
            .with_details(json!({ "causes": causes }))
    }

    pub(super) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        let kind_name = match kind.group {
            "" => kind.kind.to_owned(),
            group => format!("{}.{group}", kind.kind),
        };
        let messages: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let list = match messages.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("{kind_name} \"{name}\" is invalid: {list}");
        let mut status_error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
            .about(kind, kind.kind, name);
        if let Some(Value::Object(details)) = &mut status_error.details {
            let causes = causes.iter().map(Cause::value).collect();
            details.insert("causes".to_owned(), Value::Array(causes));
        }
        status_error
    }

    /// A failed `test` or a missing path.
    pub(super) fn patch_not_applicable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(json!({}))
    }

    pub(super) fn apply_without_manager() -> Self {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        let message = format!(
            "PatchOptions.meta.k8s.io \"\" is invalid: {}: {}",
            cause.field, cause.message
        );
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(json!({
            "group": "meta.k8s.io", "kind": "PatchOptions", "causes": [cause.value()],
        }))
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(super) fn forbidden(message: String, details: Value) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).with_details(details)
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
            .with_details(json!({}))
    }

    pub(super) fn unsupported_media_type(message: &str) -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        )
    }

    pub(super) fn unsupported_patch() -> Self {
        Self::unsupported_media_type("415: Unsupported Media Type").with_details(json!({}))
    }

    /// An apply with an unknown field.
    pub(super) fn undeclared_field(kind: &Kind, object: &Value, field: &str) -> Self {
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        let message = format!(
            "failed to create typed patch object ({}/{}; {}/{}, Kind={}): .{field}: field not \
             declared in schema",
            text("namespace"),
            text("name"),
            kind.group,
            kind.version,
            kind.kind
        );
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    pub(super) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json, \
                       application/json;stream=watch";
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// The resource version is no longer in the history.
    pub(super) fn expired(requested: u64, oldest: u64) -> Self {
        let message = format!("too old resource version: {requested} ({oldest})");
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// Not supported by the embedded server: see docs/lab.md.
    pub(super) fn not_implemented(resource: &str) -> Self {
        let message = format!("the lab's embedded API server does not serve {resource}");
        Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        let message = format!("Internal error occurred: {}", message.into());
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    pub(super) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code.as_u16(),
        });
        if let Some(fields) = status.as_object_mut() {
            if !self.reason.is_empty() {
                fields.insert("reason".to_owned(), json!(self.reason));
            }
            if let Some(details) = &self.details {
                fields.insert("details".to_owned(), details.clone());
            }
        }
        status
    }
}
