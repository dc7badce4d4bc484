//! Role-based access control over the stored roles and bindings.
//!
//! There is no Node authorizer: the seed binds the role `system:node` to the group of all
//! nodes instead, so that a node can read objects of other nodes.

use serde_json::{Value, json};

use super::kinds::{self, Kind};
use super::route::Resource;
use super::status_error::StatusError;
use super::store::Store;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) groups: Vec<String>,
}

impl User {
    pub(super) fn new(name: &str, groups: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        }
    }

    /// Members of this group bypass RBAC.
    fn is_privileged(&self) -> bool {
        self.groups.iter().any(|group| group == "system:masters")
    }

    fn is_subject(&self, subject: &Value) -> bool {
        let text = |key: &str| subject[key].as_str().unwrap_or_default();
        match text("kind") {
            "User" => self.name == text("name"),
            "Group" => self.groups.iter().any(|group| group == text("name")),
            "ServiceAccount" => {
                self.name
                    == format!(
                        "system:serviceaccount:{}:{}",
                        text("namespace"),
                        text("name")
                    )
            }
            _ => false,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResourceAttributes<'a> {
    pub(super) verb: &'a str,
    pub(super) group: &'a str,
    /// The plural, with `/subresource` if there is one.
    pub(super) resource: &'a str,
    /// Empty for cluster scope.
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

pub(super) fn is_allowed(store: &Store, user: &User, attributes: &ResourceAttributes<'_>) -> bool {
    user.is_privileged()
        || rules_of(store, user, attributes.namespace).any(|rule| allows(rule, attributes))
}

/// Whether a non-resource path may be read.
pub(super) fn can_read_path(store: &Store, user: &User, path: &str) -> bool {
    let by_rule = |rule: &Value| {
        let urls = rule["nonResourceURLs"].as_array();
        let mut urls = urls.into_iter().flatten().filter_map(Value::as_str);
        contains(&rule["verbs"], "get")
            && urls.any(|url| match url.strip_suffix('*') {
                Some(start) => path.starts_with(start),
                None => path == url,
            })
    };
    user.is_privileged() || rules_of(store, user, "").any(by_rule)
}

/// The 403 error, as the real server words it.
pub(super) fn forbidden(user: &User, attributes: &ResourceAttributes<'_>) -> StatusError {
    let (plural, _) = attributes
        .resource
        .split_once('/')
        .unwrap_or((attributes.resource, ""));
    let full = match attributes.group {
        "" => plural.to_owned(),
        group => format!("{plural}.{group}"),
    };
    let subject = match attributes.name {
        "" => full,
        name => format!("{full} \"{name}\""),
    };
    let scope = match attributes.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let message = format!(
        "{subject} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {scope}",
        user.name, attributes.verb, attributes.resource, attributes.group
    );
    let details = [
        ("name", attributes.name),
        ("group", attributes.group),
        ("kind", plural),
    ];
    let details = details.into_iter().filter(|(_, text)| !text.is_empty());
    let details = details.map(|(key, text)| (key.to_owned(), json!(text)));
    StatusError::forbidden(message, details.collect())
}

pub(super) fn authorize(
    store: &Store,
    user: &User,
    attributes: &ResourceAttributes<'_>,
) -> Result<(), StatusError> {
    match is_allowed(store, user, attributes) {
        true => Ok(()),
        false => Err(forbidden(user, attributes)),
    }
}

/// A role or binding must not grant more than its author has, unless the author may `bind`
/// or `escalate` it.
pub(super) fn check_escalation(
    store: &Store,
    user: &User,
    kind: &Kind,
    object: &Value,
) -> Result<(), StatusError> {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let (role, verb) = match kind.kind {
        "Role" | "ClusterRole" => ((kind.plural, name), "escalate"),
        "RoleBinding" | "ClusterRoleBinding" => {
            let name = object["roleRef"]["name"].as_str().unwrap_or_default();
            match object["roleRef"]["kind"].as_str() {
                Some("Role") => (("roles", name), "bind"),
                _ => (("clusterroles", name), "bind"),
            }
        }
        _ => return Ok(()),
    };
    let attributes = ResourceAttributes {
        verb,
        group: kind.group,
        resource: role.0,
        namespace,
        name: role.1,
    };
    let rules = match verb {
        "escalate" => Some(object["rules"].clone()),
        _ => role_rules(store, &object["roleRef"], namespace).cloned(),
    };
    let rules = rules.as_ref().and_then(Value::as_array);
    let mut rules = rules.into_iter().flatten();
    if is_allowed(store, user, &attributes)
        || rules.all(|rule| covers(store, user, namespace, rule))
    {
        return Ok(());
    }
    let message = format!(
        "{} \"{name}\" is forbidden: user \"{}\" (groups={:?}) is attempting to grant RBAC \
         permissions not currently held",
        kind.resource(),
        user.name,
        user.groups
    );
    let details = json!({"name": name, "group": kind.group, "kind": kind.plural});
    Err(StatusError::forbidden(message, details))
}

/// Whether the user has every permission of a rule.
fn covers(store: &Store, user: &User, namespace: &str, rule: &Value) -> bool {
    let texts = |key: &str| -> Vec<&str> {
        let list = rule[key].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    };
    let names = match texts("resourceNames") {
        names if names.is_empty() => vec![""],
        names => names,
    };
    let (groups, resources) = (texts("apiGroups"), texts("resources"));
    let urls = texts("nonResourceURLs");
    texts("verbs").into_iter().all(|verb| {
        let resources = groups.iter().all(|group| {
            resources.iter().all(|resource| {
                names.iter().all(|name| {
                    let attributes = ResourceAttributes {
                        verb,
                        group,
                        resource,
                        namespace,
                        name,
                    };
                    is_allowed(store, user, &attributes)
                })
            })
        });
        resources && urls.iter().all(|url| can_read_path(store, user, url))
    })
}

fn rules_of<'a>(
    store: &'a Store,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = &'a Value> {
    let bindings = |name| kinds::by_name(name).map(|kind| store.all(kind));
    let cluster_bindings = bindings("ClusterRoleBinding").into_iter().flatten();
    let namespace_bindings = bindings("RoleBinding").into_iter().flatten();
    let namespace_bindings = namespace_bindings
        .filter(move |(key, _)| !namespace.is_empty() && key.namespace == namespace);
    cluster_bindings
        .chain(namespace_bindings)
        .filter(|(_, binding)| {
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            subjects.into_iter().any(|subject| user.is_subject(subject))
        })
        .filter_map(|(key, binding)| role_rules(store, &binding["roleRef"], &key.namespace))
        .filter_map(Value::as_array)
        .flatten()
}

fn role_rules<'a>(store: &'a Store, reference: &Value, namespace: &str) -> Option<&'a Value> {
    let kind = kinds::by_name(reference["kind"].as_str()?)?;
    let namespace = if kind.namespaced { namespace } else { "" };
    let key = super::store::Key::new(kind, namespace, reference["name"].as_str()?);
    store.get(&key).map(|role| &role["rules"])
}

fn contains(list: &Value, expected: &str) -> bool {
    let list = list.as_array().into_iter().flatten();
    let mut list = list.filter_map(Value::as_str);
    list.any(|value| value == "*" || value == expected)
}

fn allows(rule: &Value, attributes: &ResourceAttributes<'_>) -> bool {
    let any_parent = attributes
        .resource
        .split_once('/')
        .map(|(_, sub)| format!("*/{sub}"));
    let resource = contains(&rule["resources"], attributes.resource)
        || any_parent.is_some_and(|any_parent| contains(&rule["resources"], &any_parent));
    let named = match rule["resourceNames"].as_array() {
        Some(names) if !names.is_empty() => names.iter().any(|name| name == attributes.name),
        _ => true,
    };
    contains(&rule["verbs"], attributes.verb)
        && contains(&rule["apiGroups"], attributes.group)
        && resource
        && named
}

pub(super) fn attributes<'a>(
    resource: &'a Resource,
    verb: &'a str,
    full: &'a str,
) -> ResourceAttributes<'a> {
    // Permissions inside a namespace apply to the Namespace object itself.
    let is_namespace = resource.plural == "namespaces" && resource.group.is_empty();
    let namespace = match is_namespace {
        true => resource.name.as_deref(),
        false => resource.namespace.as_deref(),
    };
    ResourceAttributes {
        verb,
        group: &resource.group,
        resource: full,
        namespace: namespace.unwrap_or_default(),
        name: resource.name.as_deref().unwrap_or_default(),
    }
}
