//! The kinds of objects, and the library functions for each.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A virtual switch with its address space.
    Network,
    /// A port of a network.
    Endpoint,
    /// The network view of a container or the host.
    Namespace,
    /// A virtual address in front of endpoints.
    LoadBalancer,
}

/// Operations that exist for every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(windows), allow(dead_code, reason = "used only on Windows"))]
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
    fn function_names_match_the_windows_exports() {
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
