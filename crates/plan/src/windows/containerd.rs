//! containerd's configuration on Windows.

use toml::{Table, Value};

use super::places;

/// What decides the configuration.
#[derive(Debug, Clone)]
pub struct Containerd<'a> {
    /// The folder of containerd's own programs and files.
    pub folder: &'a str,
    /// The pause image, with its registry.
    pub pause: &'a str,
}

impl Containerd<'_> {
    /// Where the folders of registries are.
    pub fn registries(&self) -> String {
        format!(r"{}\certs.d", self.folder)
    }

    /// `config.toml`; version 3 is read by every containerd 2.
    pub fn configuration(&self) -> String {
        let text = |value: &str| Value::String(value.to_owned());
        let images = table([
            (
                "pinned_images",
                table([("sandbox", text(self.pause))]).into(),
            ),
            (
                "registry",
                table([("config_path", text(&self.registries()))]).into(),
            ),
        ]);
        let cni = table([
            ("bin_dirs", Value::Array(vec![text(places::CNI_PROGRAMS)])),
            ("conf_dir", text(places::CNI_CONFIGURATION)),
        ]);
        let runtime = table([("cni", cni.into())]);
        table([
            ("version", Value::Integer(3)),
            // Said, since the defaults hang on the environment of a service.
            ("root", text(&format!(r"{}\root", places::CONTAINERD_DATA))),
            (
                "state",
                text(&format!(r"{}\state", places::CONTAINERD_DATA)),
            ),
            (
                "plugins",
                table([
                    ("io.containerd.cri.v1.images", images.into()),
                    ("io.containerd.cri.v1.runtime", runtime.into()),
                ])
                .into(),
            ),
        ])
        .to_string()
    }

    /// The folder of one registry's `hosts.toml`. A colon cannot be in a name on
    /// Windows; containerd looks for the port between underscores.
    pub fn registry_folder(&self, registry: &str) -> String {
        let name = match registry.split_once(':') {
            Some((host, port)) => format!("{host}_{port}_"),
            None => registry.to_owned(),
        };
        format!(r"{}\{name}", self.registries())
    }
}

/// `hosts.toml` for a registry that shows a certificate of its own CA.
pub fn registry_hosts(registry: &str, ca_file: &str) -> String {
    let text = |value: &str| Value::String(value.to_owned());
    let server = format!("https://{registry}");
    let host = table([
        (
            "capabilities",
            Value::Array(vec![text("pull"), text("resolve")]),
        ),
        ("ca", text(ca_file)),
    ]);
    table([
        ("server", text(&server)),
        ("host", table([(server.as_str(), host.into())]).into()),
    ])
    .to_string()
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_as_windows_writes_them() {
        let containerd = Containerd {
            folder: r"C:\k\containerd",
            pause: "198.18.0.10:5000/pause:3.10.2",
        };
        let text = containerd.configuration();
        let read: Table = text.parse().unwrap();
        let images = &read["plugins"]["io.containerd.cri.v1.images"];
        assert_eq!(
            images["registry"]["config_path"].as_str(),
            Some(r"C:\k\containerd\certs.d")
        );
        assert_eq!(
            images["pinned_images"]["sandbox"].as_str(),
            Some("198.18.0.10:5000/pause:3.10.2")
        );
        let cni = &read["plugins"]["io.containerd.cri.v1.runtime"]["cni"];
        assert_eq!(cni["bin_dirs"][0].as_str(), Some(r"C:\opt\cni\bin"));
    }

    #[test]
    fn a_registry_with_a_port_has_a_folder_that_windows_allows() {
        let containerd = Containerd {
            folder: r"C:\k\containerd",
            pause: "",
        };
        assert_eq!(
            containerd.registry_folder("198.18.0.10:5000"),
            r"C:\k\containerd\certs.d\198.18.0.10_5000_"
        );
        assert_eq!(
            containerd.registry_folder("example.org"),
            r"C:\k\containerd\certs.d\example.org"
        );
        let hosts = registry_hosts("198.18.0.10:5000", r"C:\k\ca.crt");
        let read: Table = hosts.parse().unwrap();
        let host = &read["host"]["https://198.18.0.10:5000"];
        assert_eq!(host["ca"].as_str(), Some(r"C:\k\ca.crt"));
    }
}
