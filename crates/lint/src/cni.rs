//! A CNI configuration, as a list of plugins or as a single one.

use casement_source::foreign::Value;

/// The plugins of Windows that make endpoints.
pub(crate) const WINDOWS_PLUGINS: [&str; 5] = [
    "win-overlay",
    "win-bridge",
    "sdnoverlay",
    "sdnbridge",
    "nat",
];

/// A CNI configuration.
#[derive(Debug, Clone)]
pub(crate) struct Cni<'a> {
    pub(crate) document: Value<'a>,
    pub(crate) plugins: Vec<Value<'a>>,
}

impl<'a> Cni<'a> {
    pub(crate) fn new(document: Value<'a>) -> Self {
        let plugins = match document.get("plugins") {
            Some(list) => list.items(),
            None => vec![document.clone()],
        };
        Self { document, plugins }
    }

    /// What makes the endpoints: the delegate of flannel's plugin, or the plugin
    /// itself.
    pub(crate) fn makers(&self) -> Vec<Value<'a>> {
        let maker = |plugin: &Value<'a>| plugin.get("delegate").unwrap_or_else(|| plugin.clone());
        self.plugins.iter().map(maker).collect()
    }

    /// Whether it is for Windows nodes.
    pub(crate) fn is_windows(&self) -> bool {
        self.makers().iter().any(|maker| {
            let kind = maker.get("type");
            let kind = kind.as_ref().and_then(Value::text).unwrap_or_default();
            WINDOWS_PLUGINS.contains(&kind) || maker.get("windows_use_single_network").is_some()
        })
    }

    /// Whether its pods are in an overlay.
    pub(crate) fn is_overlay(&self) -> bool {
        self.makers().iter().any(|maker| {
            let said = |name: &str| maker.get(name).and_then(|value| value.text());
            matches!(said("type"), Some("win-overlay" | "sdnoverlay"))
                || said("mode") == Some("vxlan")
        })
    }

    /// Whether its pods are in a bridged network.
    pub(crate) fn is_bridge(&self) -> bool {
        self.makers().iter().any(|maker| {
            let kind = maker.get("type").and_then(|value| value.text());
            matches!(kind, Some("win-bridge" | "sdnbridge"))
        })
    }

    /// Whether it is the sample that comes with containerd: pods behind the
    /// host's address, and no cluster.
    pub(crate) fn is_nat(&self) -> bool {
        let kind = |maker: &Value<'a>| maker.get("type").and_then(|value| value.text());
        self.makers().iter().any(|maker| kind(maker) == Some("nat"))
    }

    /// The policies of endpoints: under `policies`, or `AdditionalArgs`, each
    /// with its `value`.
    pub(crate) fn policies(&self) -> Vec<Policy<'a>> {
        let mut all = Vec::new();
        for maker in self.makers() {
            for list in ["policies", "AdditionalArgs"] {
                let Some(list) = maker.get_any_case(list) else {
                    continue;
                };
                all.extend(list.items().into_iter().map(|entry| Policy {
                    value: entry.get_any_case("value"),
                    entry,
                    maker: maker.clone(),
                }));
            }
        }
        all
    }
}

/// A policy of endpoints.
#[derive(Debug, Clone)]
pub(crate) struct Policy<'a> {
    pub(crate) entry: Value<'a>,
    pub(crate) value: Option<Value<'a>>,
    pub(crate) maker: Value<'a>,
}

impl<'a> Policy<'a> {
    /// Its type.
    pub(crate) fn kind(&self) -> Option<&'a str> {
        self.value.as_ref()?.get_any_case("Type")?.text()
    }

    /// Whether it has that type, in either dialect.
    pub(crate) fn is(&self, kinds: &[&str]) -> bool {
        let kind = self.kind().unwrap_or_default();
        kinds.iter().any(|known| known.eq_ignore_ascii_case(kind))
    }

    /// A setting, flat as in HNS's first dialect or within `Settings` as in HCN.
    pub(crate) fn setting(&self, name: &str) -> Option<Value<'a>> {
        let value = self.value.as_ref()?;
        let settings = value.get_any_case("Settings");
        settings
            .and_then(|settings| settings.get_any_case(name))
            .or_else(|| value.get_any_case(name))
    }

    /// The networks that are not translated, whatever the list is called.
    pub(crate) fn exceptions(&self) -> Option<Value<'a>> {
        self.setting("Exceptions")
            .or_else(|| self.setting("ExceptionList"))
    }
}
