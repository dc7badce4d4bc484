//! The kinds of objects, and the functions that serve each.

/// What an id stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A virtual switch with its address space.
    Network,
    /// A port of a network.
    Endpoint,
    /// What a container, or the host, sees of networks.
    Namespace,
    /// A virtual address in front of endpoints.
    LoadBalancer,
}

/// What can be done to objects of every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(windows),
    allow(dead_code, reason = "elsewhere nothing can be called")
)]
pub(crate) enum Verb {
    Enumerate,
    Create,
    Open,
    Query,
    Modify,
    Delete,
    Close,
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Self::Network => "Network",
            Self::Endpoint => "Endpoint",
            Self::Namespace => "Namespace",
            Self::LoadBalancer => "LoadBalancer",
        }
    }

    /// The name under which the library exports a function.
    pub(crate) fn function(self, verb: Verb) -> String {
        let noun = self.noun();
        match verb {
            Verb::Enumerate => format!("HcnEnumerate{noun}s"),
            Verb::Create => format!("HcnCreate{noun}"),
            Verb::Open => format!("HcnOpen{noun}"),
            Verb::Query => format!("HcnQuery{noun}Properties"),
            Verb::Modify => format!("HcnModify{noun}"),
            Verb::Delete => format!("HcnDelete{noun}"),
            Verb::Close => format!("HcnClose{noun}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_names_that_windows_exports() {
        let name = |kind: Kind, verb| kind.function(verb);
        assert_eq!(
            name(Kind::LoadBalancer, Verb::Enumerate),
            "HcnEnumerateLoadBalancers"
        );
        assert_eq!(
            name(Kind::Namespace, Verb::Query),
            "HcnQueryNamespaceProperties"
        );
        assert_eq!(name(Kind::Endpoint, Verb::Create), "HcnCreateEndpoint");
    }
}
