//! Who may do what: Role-based access control over the stored roles and bindings.
//!
//! There is no Node authorizer: the seed binds the role `system:node` to the group
//! of all nodes instead, so that a node may read what is another's.

use serde_json::{Value, json};

use super::kinds::{self, Kind};
use super::refusal::Refusal;
use super::route::Resource;
use super::store::Store;

/// Whoever asks.
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

    /// The one group that no role has to say anything about.
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

/// One thing to be allowed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Act<'a> {
    pub(super) verb: &'a str,
    pub(super) group: &'a str,
    /// The plural, and the subresource after a slash.
    pub(super) resource: &'a str,
    /// Empty: in the whole cluster.
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

/// Whether the stored roles allow it.
pub(super) fn allowed(store: &Store, user: &User, act: &Act<'_>) -> bool {
    user.is_privileged() || rules_of(store, user, act.namespace).any(|rule| grants(rule, act))
}

/// Whether a path that is no resource may be read.
pub(super) fn may_read(store: &Store, user: &User, path: &str) -> bool {
    let by_rule = |rule: &Value| {
        let urls = rule["nonResourceURLs"].as_array();
        let mut urls = urls.into_iter().flatten().filter_map(Value::as_str);
        holds(&rule["verbs"], "get")
            && urls.any(|url| match url.strip_suffix('*') {
                Some(start) => path.starts_with(start),
                None => path == url,
            })
    };
    user.is_privileged() || rules_of(store, user, "").any(by_rule)
}

/// The refusal of an act, as the real server words it.
pub(super) fn forbidden(user: &User, act: &Act<'_>) -> Refusal {
    let (plural, _) = act.resource.split_once('/').unwrap_or((act.resource, ""));
    let full = match act.group {
        "" => plural.to_owned(),
        group => format!("{plural}.{group}"),
    };
    let subject = match act.name {
        "" => full,
        name => format!("{full} \"{name}\""),
    };
    let place = match act.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let message = format!(
        "{subject} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {place}",
        user.name, act.verb, act.resource, act.group
    );
    let details = [("name", act.name), ("group", act.group), ("kind", plural)];
    let details = details.into_iter().filter(|(_, text)| !text.is_empty());
    let details = details.map(|(key, text)| (key.to_owned(), json!(text)));
    Refusal::forbidden(message, details.collect())
}

/// Refuses what is not allowed.
pub(super) fn demand(store: &Store, user: &User, act: &Act<'_>) -> Result<(), Refusal> {
    match allowed(store, user, act) {
        true => Ok(()),
        false => Err(forbidden(user, act)),
    }
}

/// A role or binding must not give more than its maker has, unless the maker may
/// `bind` or `escalate` it.
pub(super) fn demand_no_escalation(
    store: &Store,
    user: &User,
    kind: &Kind,
    object: &Value,
) -> Result<(), Refusal> {
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
    let act = Act {
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
    if allowed(store, user, &act) || rules.all(|rule| covers(store, user, namespace, rule)) {
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
    Err(Refusal::forbidden(message, details))
}

/// Whether the user has all that a rule gives.
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
                    let act = Act {
                        verb,
                        group,
                        resource,
                        namespace,
                        name,
                    };
                    allowed(store, user, &act)
                })
            })
        });
        resources && urls.iter().all(|url| may_read(store, user, url))
    })
}

fn rules_of<'a>(
    store: &'a Store,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = &'a Value> {
    let bindings = |name| kinds::named(name).map(|kind| store.all(kind));
    let wide = bindings("ClusterRoleBinding").into_iter().flatten();
    let narrow = bindings("RoleBinding").into_iter().flatten();
    let narrow = narrow.filter(move |(key, _)| !namespace.is_empty() && key.namespace == namespace);
    wide.chain(narrow)
        .filter(|(_, binding)| {
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            subjects.into_iter().any(|subject| user.is_subject(subject))
        })
        .filter_map(|(key, binding)| role_rules(store, &binding["roleRef"], &key.namespace))
        .filter_map(Value::as_array)
        .flatten()
}

fn role_rules<'a>(store: &'a Store, reference: &Value, namespace: &str) -> Option<&'a Value> {
    let kind = kinds::named(reference["kind"].as_str()?)?;
    let namespace = if kind.namespaced { namespace } else { "" };
    let key = super::store::Key::new(kind, namespace, reference["name"].as_str()?);
    store.get(&key).map(|role| &role["rules"])
}

fn holds(list: &Value, wanted: &str) -> bool {
    let list = list.as_array().into_iter().flatten();
    let mut list = list.filter_map(Value::as_str);
    list.any(|held| held == "*" || held == wanted)
}

fn grants(rule: &Value, act: &Act<'_>) -> bool {
    let every = act
        .resource
        .split_once('/')
        .map(|(_, sub)| format!("*/{sub}"));
    let resource = holds(&rule["resources"], act.resource)
        || every.is_some_and(|every| holds(&rule["resources"], &every));
    let named = match rule["resourceNames"].as_array() {
        Some(names) if !names.is_empty() => names.iter().any(|name| name == act.name),
        _ => true,
    };
    holds(&rule["verbs"], act.verb) && holds(&rule["apiGroups"], act.group) && resource && named
}

/// The act behind a request for a resource.
pub(super) fn act<'a>(resource: &'a Resource, verb: &'a str, full: &'a str) -> Act<'a> {
    // A namespace is its own: rights within it are rights to it.
    let of_namespace = resource.plural == "namespaces" && resource.group.is_empty();
    let namespace = match of_namespace {
        true => resource.name.as_deref(),
        false => resource.namespace.as_deref(),
    };
    Act {
        verb,
        group: &resource.group,
        resource: full,
        namespace: namespace.unwrap_or_default(),
        name: resource.name.as_deref().unwrap_or_default(),
    }
}
