//! A CNI configuration: a list of plugins, or a single plugin.

use casement_source::foreign::Value;

/// Windows plugins that create endpoints.
pub(crate) const WINDOWS_PLUGINS: [&str; 5] = [
    "win-overlay",
    "win-bridge",
    "sdnoverlay",
    "sdnbridge",
    "nat",
];

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

    /// The plugins that create endpoints: the delegate of flannel's plugin, or the
    /// plugin itself.
    pub(crate) fn endpoint_plugins(&self) -> Vec<Value<'a>> {
        let delegate =
            |plugin: &Value<'a>| plugin.get("delegate").unwrap_or_else(|| plugin.clone());
        self.plugins.iter().map(delegate).collect()
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.endpoint_plugins().iter().any(|plugin| {
            let kind = plugin.get("type");
            let kind = kind.as_ref().and_then(Value::text).unwrap_or_default();
            WINDOWS_PLUGINS.contains(&kind) || plugin.get("windows_use_single_network").is_some()
        })
    }

    pub(crate) fn is_overlay(&self) -> bool {
        self.endpoint_plugins().iter().any(|plugin| {
            let text = |name: &str| plugin.get(name).and_then(|value| value.text());
            matches!(text("type"), Some("win-overlay" | "sdnoverlay"))
                || text("mode") == Some("vxlan")
        })
    }

    pub(crate) fn is_bridge(&self) -> bool {
        self.endpoint_plugins().iter().any(|plugin| {
            let kind = plugin.get("type").and_then(|value| value.text());
            matches!(kind, Some("win-bridge" | "sdnbridge"))
        })
    }

    /// Whether it is the sample included with containerd: pods behind the address
    /// of the host, without a cluster network.
    pub(crate) fn is_nat(&self) -> bool {
        let kind = |plugin: &Value<'a>| plugin.get("type").and_then(|value| value.text());
        self.endpoint_plugins()
            .iter()
            .any(|plugin| kind(plugin) == Some("nat"))
    }

    /// The endpoint policies under `policies` or `AdditionalArgs`.
    pub(crate) fn policies(&self) -> Vec<Policy<'a>> {
        let mut all = Vec::new();
        for plugin in self.endpoint_plugins() {
            for list in ["policies", "AdditionalArgs"] {
                let Some(list) = plugin.get_any_case(list) else {
                    continue;
                };
                all.extend(list.items().into_iter().map(|entry| Policy {
                    value: entry.get_any_case("value"),
                    entry,
                    plugin: plugin.clone(),
                }));
            }
        }
        all
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Policy<'a> {
    pub(crate) entry: Value<'a>,
    pub(crate) value: Option<Value<'a>>,
    pub(crate) plugin: Value<'a>,
}

impl<'a> Policy<'a> {
    pub(crate) fn kind(&self) -> Option<&'a str> {
        self.value.as_ref()?.get_any_case("Type")?.text()
    }

    /// Whether it has one of these types, ignoring case.
    pub(crate) fn is(&self, kinds: &[&str]) -> bool {
        let kind = self.kind().unwrap_or_default();
        kinds.iter().any(|known| known.eq_ignore_ascii_case(kind))
    }

    /// A setting: flat in HNS schema version 1, under `Settings` in version 2.
    pub(crate) fn setting(&self, name: &str) -> Option<Value<'a>> {
        let value = self.value.as_ref()?;
        let settings = value.get_any_case("Settings");
        settings
            .and_then(|settings| settings.get_any_case(name))
            .or_else(|| value.get_any_case(name))
    }

    /// The networks excluded from outbound NAT, in either schema.
    pub(crate) fn exceptions(&self) -> Option<Value<'a>> {
        self.setting("Exceptions")
            .or_else(|| self.setting("ExceptionList"))
    }
}
