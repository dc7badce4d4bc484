//! Create, update, patch and delete requests.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::decode::{self, FieldValidation};
use super::delete::DeleteOptions;
use super::handler::{ApiResponse, ResourceRequest};
use super::patch::PatchType;
use super::reviews;
use super::state::Server;
use super::status_error::StatusError;
use super::store::Key;
use super::view::View;
use super::write::{ObjectRef, WriteOutcome, Writer};

type MutationResult = Result<(StatusCode, Value), StatusError>;

impl ResourceRequest<'_> {
    pub(super) fn mutate(&self, server: &Server) -> Result<ApiResponse, StatusError> {
        let query = &self.request.query;
        let manager = match query.get("fieldManager") {
            "" => self.request.agent.as_str(),
            manager => manager,
        };
        let mut state = server.state();
        let mut writer = Writer {
            state: &mut state,
            pki: &server.pki,
            user: &self.request.user,
            manager: manager.to_owned(),
            dry_run: query.dry_run(),
            field_validation: FieldValidation::read(query.get("fieldValidation")),
            warnings: Vec::new(),
        };
        let target = ObjectRef {
            kind: self.kind,
            key: self.key(),
            subresource: self.subresource().to_owned(),
        };
        let (code, value) = match self.request.method {
            Method::POST => self.post(&mut writer, &target)?,
            Method::PUT => self.put(&mut writer, &target)?,
            Method::PATCH => self.patch(&mut writer, &target)?,
            Method::DELETE if self.subresource().is_empty() => self.delete(&mut writer, &target)?,
            _ => return Err(StatusError::method_not_allowed()),
        };
        Ok(ApiResponse::Json(code, value, writer.warnings))
    }

    fn post(&self, writer: &mut Writer<'_>, target: &ObjectRef) -> MutationResult {
        let created = match (self.kind.kind, self.subresource()) {
            (_, "") => {
                let misplaced = self.kind.namespaced && self.resource.namespace.is_none();
                if self.resource.name.is_some() || misplaced {
                    return Err(StatusError::method_not_allowed());
                }
                let created = writer.create(target, self.object()?)?;
                self.view.one(self.kind, &created)
            }
            ("ServiceAccount", "token") => writer.token(target, self.request.json()?)?,
            ("Pod", "binding") => writer.bind(target, &self.request.json()?)?,
            ("Pod", "eviction") => writer.evict(target, &self.request.json()?)?,
            _ => return Err(self.unknown_subresource()),
        };
        Ok((StatusCode::CREATED, created))
    }

    fn put(&self, writer: &mut Writer<'_>, target: &ObjectRef) -> MutationResult {
        self.check_single_object(writer, target)?;
        let written = writer.replace(target, self.object()?)?;
        Ok((StatusCode::OK, self.view.one(self.kind, &written)))
    }

    fn patch(&self, writer: &mut Writer<'_>, target: &ObjectRef) -> MutationResult {
        self.check_single_object(writer, target)?;
        let patch_type = PatchType::of(self.request.media())?;
        let body: Value = serde_json::from_slice(&self.request.body)
            .map_err(|error| StatusError::bad_request(format!("error decoding patch: {error}")))?;
        let (code, written) = match patch_type {
            PatchType::Apply => {
                if self.request.query.get("fieldManager").is_empty() {
                    return Err(StatusError::apply_without_manager());
                }
                match writer.apply(target, body, self.request.query.is("force"))? {
                    WriteOutcome::Created(object) => (StatusCode::CREATED, object),
                    WriteOutcome::Changed(object) => (StatusCode::OK, object),
                }
            }
            patch_type => (StatusCode::OK, writer.patch(target, patch_type, body)?),
        };
        Ok((code, self.view.one(self.kind, &written)))
    }

    fn check_single_object(
        &self,
        writer: &Writer<'_>,
        target: &ObjectRef,
    ) -> Result<(), StatusError> {
        if self.resource.name.is_none() {
            return Err(StatusError::method_not_allowed());
        }
        self.check_readable()?;
        match self.subresource() {
            "approval" => reviews::authorize_approval(writer.state, writer.user, &target.key),
            _ => Ok(()),
        }
    }

    fn object(&self) -> Result<Value, StatusError> {
        match self.request.media() {
            "" | "application/json" => decode::json(self.kind, &self.request.body),
            _ => self.request.json(),
        }
    }

    fn delete(&self, writer: &mut Writer<'_>, target: &ObjectRef) -> MutationResult {
        let body = match self.request.body.is_empty() {
            true => Value::Null,
            false => self.request.json()?,
        };
        let query = &self.request.query;
        let (grace, policy) = (
            query.get("gracePeriodSeconds"),
            query.get("propagationPolicy"),
        );
        let options = DeleteOptions::read(&body, grace, policy);
        if self.resource.name.is_some() {
            return Ok((StatusCode::OK, writer.delete(target, &options)?));
        }
        let selector = self.selector()?;
        let in_namespace =
            |key: &Key| target.key.namespace.is_empty() || key.namespace == target.key.namespace;
        let all = writer.state.store.all(self.kind);
        let selected = all.filter(|(key, object)| in_namespace(key) && selector.matches(object));
        let selected: Vec<(Key, Value)> = selected
            .map(|(key, object)| (key.clone(), Value::clone(object)))
            .collect();
        for (key, _) in &selected {
            let target = ObjectRef {
                key: key.clone(),
                ..target.clone()
            };
            writer.delete(&target, &options)?;
        }
        let deleted: Vec<&Value> = selected.iter().map(|(_, object)| object).collect();
        let version = writer.state.store.revision().to_string();
        let list = View::Object.list(self.kind, &deleted, json!({"resourceVersion": version}));
        Ok((StatusCode::OK, list))
    }
}
