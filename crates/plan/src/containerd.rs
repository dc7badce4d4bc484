//! containerd's configuration, for each version of its file and both systems.

use casement_catalog::Series;
use toml::{Table, Value};

use crate::kubelet::Kubelet;
use crate::release::Runtime;

/// What decides the configuration.
#[derive(Debug, Clone)]
pub struct Containerd<'a> {
    /// The line of releases, which decides the form of the file.
    pub series: &'static Series,
    /// The folder of containerd's own programs and files.
    pub folder: &'a str,
    /// What stands between the parts of a path.
    pub separator: char,
    /// The pause image, with its registry.
    pub pause: String,
    /// Where CNI plugins are.
    pub cni_programs: &'a str,
    /// Where CNI configuration is.
    pub cni_configuration: &'a str,
    /// Whether pods' control groups are systemd's (Linux).
    pub systemd_cgroups: bool,
    /// Where it keeps everything. Windows only: its defaults there hang on the
    /// environment that a service happens to have.
    pub data: Option<&'a str>,
}

impl<'a> Containerd<'a> {
    /// The configuration of a host; none where Docker runs the containers.
    pub fn of(kubelet: &Kubelet<'a>) -> Option<Self> {
        let places = kubelet.places;
        let Runtime::Containerd(series) = kubelet.release.runtime() else {
            return None;
        };
        Some(Self {
            series,
            folder: &places.containerd,
            separator: places.separator,
            pause: kubelet.pause(),
            cni_programs: places.cni_programs,
            cni_configuration: places.cni_configuration,
            systemd_cgroups: !kubelet.host.os.is_windows(),
            data: kubelet
                .host
                .os
                .is_windows()
                .then_some(places.containerd_data),
        })
    }

    /// Where the folders of registries are.
    pub fn registries(&self) -> String {
        format!("{}{}certs.d", self.folder, self.separator)
    }

    /// `config.toml`, in the newest form that this line reads. The tables that
    /// version 4 moved (`grpc`, `debug`, `metrics`) keep their defaults.
    pub fn configuration(&self) -> String {
        let mut plugins = if self.series.config_version < 3 {
            let mut cri = table([
                ("sandbox_image", text(&self.pause)),
                ("cni", self.cni().into()),
                ("registry", self.registry().into()),
            ]);
            cri.extend(self.runtimes());
            table([(self.image_plugin(), cri.into())])
        } else {
            let images = table([
                (
                    "pinned_images",
                    table([("sandbox", text(&self.pause))]).into(),
                ),
                ("registry", self.registry().into()),
            ]);
            let mut runtime = table([("cni", self.cni().into())]);
            runtime.extend(self.runtimes());
            table([
                (self.image_plugin(), images.into()),
                ("io.containerd.cri.v1.runtime", runtime.into()),
            ])
        };
        let version = Value::Integer(self.series.config_version.into());
        let mut whole = table([("version", version)]);
        if let Some(data) = self.data {
            let folder = |name: &str| text(&format!("{data}{}{name}", self.separator));
            whole.extend(table([
                ("root", folder("root")),
                ("state", folder("state")),
            ]));
            let opt = table([("path", folder("opt"))]);
            plugins.extend(table([("io.containerd.internal.v1.opt", opt.into())]));
        }
        whole.extend(table([("plugins", plugins.into())]));
        whole.to_string()
    }

    /// The part of containerd that brings images.
    pub fn image_plugin(&self) -> &'static str {
        if self.series.config_version < 3 {
            "io.containerd.grpc.v1.cri"
        } else {
            "io.containerd.cri.v1.images"
        }
    }

    fn cni(&self) -> Table {
        let programs = text(self.cni_programs);
        let programs = if self.series.bin_dirs {
            ("bin_dirs", Value::Array(vec![programs]))
        } else {
            ("bin_dir", programs)
        };
        table([programs, ("conf_dir", text(self.cni_configuration))])
    }

    fn registry(&self) -> Table {
        table([("config_path", text(&self.registries()))])
    }

    /// Only Linux says anything about them: Windows' defaults are right.
    fn runtimes(&self) -> Option<(String, Value)> {
        let options = table([("SystemdCgroup", Value::Boolean(true))]);
        let runc = table([
            ("runtime_type", text("io.containerd.runc.v2")),
            ("options", options.into()),
        ]);
        let runtimes = table([("runc", runc.into())]);
        let containerd = table([("runtimes", runtimes.into())]);
        self.systemd_cgroups
            .then(|| ("containerd".to_owned(), containerd.into()))
    }

    /// The folder of one registry's `hosts.toml`. A colon cannot be in a name on
    /// Windows; containerd looks for the port between underscores, on Linux too.
    pub fn registry_folder(&self, registry: &str) -> String {
        let name = match registry.split_once(':') {
            Some((host, port)) => format!("{host}_{port}_"),
            None => registry.to_owned(),
        };
        format!("{}{}{name}", self.registries(), self.separator)
    }
}

/// `hosts.toml` for a registry that shows a certificate of its own CA.
pub fn registry_hosts(registry: &str, ca_file: &str) -> String {
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

fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use casement_catalog::CONTAINERD_SERIES;

    use super::*;

    fn containerd(series: (u64, u64)) -> Containerd<'static> {
        let mut all = CONTAINERD_SERIES.iter();
        Containerd {
            series: all.find(|known| known.series == series).unwrap(),
            folder: r"C:\k\containerd",
            separator: '\\',
            pause: "198.18.0.10:5000/pause:3.10.2".to_owned(),
            cni_programs: r"C:\opt\cni\bin",
            cni_configuration: r"C:\etc\cni\net.d",
            systemd_cgroups: false,
            data: Some(r"C:\ProgramData\containerd"),
        }
    }

    fn read(series: (u64, u64)) -> Table {
        containerd(series).configuration().parse().unwrap()
    }

    #[test]
    fn paths_stay_as_windows_writes_them() {
        let read = read((2, 3));
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
        let root = Some(r"C:\ProgramData\containerd\root");
        assert_eq!(read["root"].as_str(), root);
    }

    #[test]
    fn each_line_gets_the_form_that_it_reads() {
        let old = read((1, 7));
        assert_eq!(old["version"].as_integer(), Some(2));
        let cri = &old["plugins"]["io.containerd.grpc.v1.cri"];
        assert_eq!(cri["cni"]["bin_dir"].as_str(), Some(r"C:\opt\cni\bin"));
        let first = read((2, 0));
        assert_eq!(first["version"].as_integer(), Some(3));
        let cni = &first["plugins"]["io.containerd.cri.v1.runtime"]["cni"];
        assert_eq!(cni["bin_dir"].as_str(), Some(r"C:\opt\cni\bin"));
        assert_eq!(read((2, 4))["version"].as_integer(), Some(4));
    }

    #[test]
    fn linux_leaves_control_groups_to_systemd() {
        for series in [(1, 7), (2, 3)] {
            let mut linux = containerd(series);
            assert!(!linux.configuration().contains("SystemdCgroup"));
            linux.systemd_cgroups = true;
            assert!(linux.configuration().contains("SystemdCgroup = true"));
        }
    }

    #[test]
    fn a_registry_with_a_port_has_a_folder_that_windows_allows() {
        let containerd = containerd((2, 3));
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
