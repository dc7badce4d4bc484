//! Requests that change something, by method and part.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::answer::{Answer, Asked};
use super::decode::{self, Unknown};
use super::delete::Deletion;
use super::patch::Form;
use super::refusal::Refusal;
use super::reviews;
use super::state::Server;
use super::store::Key;
use super::view::View;
use super::write::{Place, Writer, Written};

type Done = Result<(StatusCode, Value), Refusal>;

impl Asked<'_> {
    pub(super) fn change(&self, server: &Server) -> Result<Answer, Refusal> {
        let query = &self.call.query;
        let manager = match query.get("fieldManager") {
            "" => self.call.agent.as_str(),
            given => given,
        };
        let mut state = server.state();
        let mut writer = Writer {
            state: &mut state,
            pki: &server.pki,
            user: &self.call.user,
            manager: manager.to_owned(),
            dry_run: query.dry_run(),
            unknown: Unknown::read(query.get("fieldValidation")),
            warnings: Vec::new(),
        };
        let place = Place {
            kind: self.kind,
            key: self.key(),
            subresource: self.part().to_owned(),
        };
        let (code, value) = match self.call.method {
            Method::POST => self.post(&mut writer, &place)?,
            Method::PUT => self.put(&mut writer, &place)?,
            Method::PATCH => self.patch(&mut writer, &place)?,
            Method::DELETE if self.part().is_empty() => self.delete(&mut writer, &place)?,
            _ => return Err(Refusal::method_not_allowed()),
        };
        Ok(Answer::Json(code, value, writer.warnings))
    }

    fn post(&self, writer: &mut Writer<'_>, place: &Place) -> Done {
        let made = match (self.kind.kind, self.part()) {
            (_, "") => {
                let misplaced = self.kind.namespaced && self.resource.namespace.is_none();
                if self.resource.name.is_some() || misplaced {
                    return Err(Refusal::method_not_allowed());
                }
                let made = writer.create(place, self.object()?)?;
                self.view.one(self.kind, &made)
            }
            ("ServiceAccount", "token") => writer.token(place, self.call.json()?)?,
            ("Pod", "binding") => writer.bind(place, &self.call.json()?)?,
            ("Pod", "eviction") => writer.evict(place, &self.call.json()?)?,
            _ => return Err(self.unknown_part()),
        };
        Ok((StatusCode::CREATED, made))
    }

    fn put(&self, writer: &mut Writer<'_>, place: &Place) -> Done {
        self.demand_change_of_one(writer, place)?;
        let written = writer.replace(place, self.object()?)?;
        Ok((StatusCode::OK, self.view.one(self.kind, &written)))
    }

    fn patch(&self, writer: &mut Writer<'_>, place: &Place) -> Done {
        self.demand_change_of_one(writer, place)?;
        let form = Form::of(self.call.media())?;
        let body: Value = serde_json::from_slice(&self.call.body)
            .map_err(|error| Refusal::bad_request(format!("error decoding patch: {error}")))?;
        let (code, written) = match form {
            Form::Apply => {
                if self.call.query.get("fieldManager").is_empty() {
                    return Err(Refusal::apply_without_manager());
                }
                match writer.apply(place, body, self.call.query.is("force"))? {
                    Written::Created(object) => (StatusCode::CREATED, object),
                    Written::Changed(object) => (StatusCode::OK, object),
                }
            }
            form => (StatusCode::OK, writer.patch(place, form, body)?),
        };
        Ok((code, self.view.one(self.kind, &written)))
    }

    fn demand_change_of_one(&self, writer: &Writer<'_>, place: &Place) -> Result<(), Refusal> {
        if self.resource.name.is_none() {
            return Err(Refusal::method_not_allowed());
        }
        self.demand_readable()?;
        match self.part() {
            "approval" => reviews::demand_approval(writer.state, writer.user, &place.key),
            _ => Ok(()),
        }
    }

    /// The body, which must be an object.
    fn object(&self) -> Result<Value, Refusal> {
        match self.call.media() {
            "" | "application/json" => decode::json(self.kind, &self.call.body),
            _ => self.call.json(),
        }
    }

    fn delete(&self, writer: &mut Writer<'_>, place: &Place) -> Done {
        let body = match self.call.body.is_empty() {
            true => Value::Null,
            false => self.call.json()?,
        };
        let query = &self.call.query;
        let (grace, policy) = (
            query.get("gracePeriodSeconds"),
            query.get("propagationPolicy"),
        );
        let how = Deletion::read(&body, grace, policy);
        if self.resource.name.is_some() {
            return Ok((StatusCode::OK, writer.delete(place, &how)?));
        }
        let selector = self.selector()?;
        let here =
            |key: &Key| place.key.namespace.is_empty() || key.namespace == place.key.namespace;
        let all = writer.state.store.all(self.kind);
        let meant = all.filter(|(key, object)| here(key) && selector.fits(object));
        let meant: Vec<(Key, Value)> = meant
            .map(|(key, object)| (key.clone(), Value::clone(object)))
            .collect();
        for (key, _) in &meant {
            let place = Place {
                key: key.clone(),
                ..place.clone()
            };
            writer.delete(&place, &how)?;
        }
        let gone: Vec<&Value> = meant.iter().map(|(_, object)| object).collect();
        let version = writer.state.store.revision().to_string();
        let list = View::Object.list(self.kind, &gone, json!({"resourceVersion": version}));
        Ok((StatusCode::OK, list))
    }
}
