//! Parses paths and queries.

use hyper::Method;

use super::kinds::{self, Kind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// An object or a collection.
    Resource(Resource),
    /// Discovery, version, health.
    NonResource(String),
}

/// An object or a collection, of a kind that may not be served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl Resource {
    pub(super) fn kind(&self) -> Option<&'static Kind> {
        kinds::find(&self.group, &self.plural).filter(|kind| kind.version == self.version)
    }

    /// The RBAC verb.
    pub(super) fn verb(&self, method: &Method, query: &Query) -> Option<&'static str> {
        let named = self.name.is_some();
        Some(match *method {
            Method::GET if query.watch() => "watch",
            Method::GET if named => "get",
            Method::GET => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if named => "delete",
            Method::DELETE => "deletecollection",
            _ => return None,
        })
    }
}

pub(super) fn parse_path(path: &str) -> Target {
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(percent_decode)
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Target::NonResource(path.to_owned()),
    };
    let text = |text: &str| Some(text.to_owned());
    let mut resource = Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        ..Resource::default()
    };
    let rest = match rest {
        ["namespaces", namespace, plural, after @ ..] if !is_namespace_subresource(plural) => {
            resource.namespace = text(namespace);
            resource.plural = (*plural).to_owned();
            after
        }
        [plural, after @ ..] => {
            resource.plural = (*plural).to_owned();
            after
        }
        [] => return Target::NonResource(path.to_owned()),
    };
    match rest {
        [] => {}
        [name] => resource.name = text(name),
        [name, subresource @ ..] => {
            resource.name = text(name);
            resource.subresource = text(&subresource.join("/"));
        }
    }
    Target::Resource(resource)
}

/// `/namespaces/x/status` belongs to the Namespace object.
fn is_namespace_subresource(part: &str) -> bool {
    matches!(part, "status" | "finalize")
}

#[derive(Debug, Clone, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn read(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (
                percent_decode(key),
                percent_decode(&value.replace('+', " ")),
            )
        });
        Self(pairs.collect())
    }

    pub(super) fn get(&self, key: &str) -> &str {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map_or("", |(_, value)| value)
    }

    pub(super) fn is(&self, key: &str) -> bool {
        matches!(self.get(key), "true" | "1")
    }

    pub(super) fn watch(&self) -> bool {
        self.is("watch")
    }

    pub(super) fn dry_run(&self) -> bool {
        self.get("dryRun") == "All"
    }
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match byte {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> Resource {
        match parse_path(path) {
            Target::Resource(resource) => resource,
            Target::NonResource(path) => panic!("{path} is not a resource"),
        }
    }

    #[test]
    fn resource_paths_are_parsed() {
        let node = resource("/api/v1/nodes/n1/status");
        assert_eq!(node.name.as_deref(), Some("n1"));
        assert_eq!(node.subresource.as_deref(), Some("status"));
        assert_eq!(node.kind().unwrap().kind, "Node");
        let set = resource("/apis/apps/v1/namespaces/shop/daemonsets/casement%3Ax");
        assert_eq!(set.namespace.as_deref(), Some("shop"));
        assert_eq!(set.name.as_deref(), Some("casement:x"));
        let namespace = resource("/api/v1/namespaces/shop");
        assert_eq!(
            (namespace.plural.as_str(), namespace.namespace),
            ("namespaces", None)
        );
        let namespace = resource("/api/v1/namespaces/shop/status");
        assert_eq!(namespace.subresource.as_deref(), Some("status"));
        let all = resource("/apis/apps/v1/daemonsets");
        assert_eq!((all.namespace, all.name), (None, None));
        assert!(matches!(
            parse_path("/apis/apps/v1"),
            Target::NonResource(_)
        ));
        assert!(resource("/apis/apps/v2/daemonsets").kind().is_none());
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query::read("watch=1&labelSelector=a%3Db%2Cc+in+%28d%29&x");
        assert!(query.watch());
        assert_eq!(query.get("labelSelector"), "a=b,c in (d)");
        assert_eq!(query.get("x"), "");
        assert_eq!(Query::read("q=%zz%4").get("q"), "%zz%4");
    }
}
