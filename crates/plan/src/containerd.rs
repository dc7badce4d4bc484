//! containerd's configuration, for each configuration version and both operating systems.

use casement_catalog::Series;
use toml::{Table, Value};

use crate::kubelet::Kubelet;
use crate::release::Runtime;

#[derive(Debug, Clone)]
pub struct Containerd<'a> {
    /// Determines the version of the configuration file.
    pub series: &'static Series,
    pub folder: &'a str,
    /// Of paths.
    pub separator: char,
    /// With its registry.
    pub pause: String,
    pub cni_programs: &'a str,
    pub cni_configuration: &'a str,
    /// Linux only.
    pub systemd_cgroups: bool,
    /// The data folder. Windows only: the defaults there depend on the environment of the
    /// service.
    pub data: Option<&'a str>,
}

impl<'a> Containerd<'a> {
    /// `None` if Docker runs the containers.
    pub fn of(kubelet: &Kubelet<'a>) -> Option<Self> {
        let paths = kubelet.paths;
        let Runtime::Containerd(series) = kubelet.release.runtime() else {
            return None;
        };
        Some(Self {
            series,
            folder: &paths.containerd,
            separator: paths.separator,
            pause: kubelet.pause(),
            cni_programs: paths.cni_programs,
            cni_configuration: paths.cni_configuration,
            systemd_cgroups: !kubelet.host.os.is_windows(),
            data: kubelet
                .host
                .os
                .is_windows()
                .then_some(paths.containerd_data),
        })
    }

    /// The folder with one subfolder per registry.
    pub fn registries(&self) -> String {
        format!("{}{}certs.d", self.folder, self.separator)
    }

    /// `config.toml`, in the newest version that this series reads. The tables that version 4
    /// moved (`grpc`, `debug`, `metrics`) keep their defaults.
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
        let mut configuration = table([("version", version)]);
        if let Some(data) = self.data {
            let folder = |name: &str| text(&format!("{data}{}{name}", self.separator));
            configuration.extend(table([
                ("root", folder("root")),
                ("state", folder("state")),
            ]));
            let opt = table([("path", folder("opt"))]);
            plugins.extend(table([("io.containerd.internal.v1.opt", opt.into())]));
        }
        configuration.extend(table([("plugins", plugins.into())]));
        configuration.to_string()
    }

    /// The plugin that pulls images.
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

    /// Linux only: the defaults are correct on Windows.
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

    /// The folder of a registry's `hosts.toml`. Windows does not allow a colon in a name, so
    /// containerd also looks for the port between underscores, on Linux too.
    pub fn registry_folder(&self, registry: &str) -> String {
        let name = match registry.split_once(':') {
            Some((host, port)) => format!("{host}_{port}_"),
            None => registry.to_owned(),
        };
        format!("{}{}{name}", self.registries(), self.separator)
    }
}

/// `hosts.toml` for a registry with a private CA.
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
    fn windows_paths_are_kept() {
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
    fn each_series_gets_a_configuration_version_that_it_reads() {
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
    fn linux_uses_systemd_cgroups() {
        for series in [(1, 7), (2, 3)] {
            let mut linux = containerd(series);
            assert!(!linux.configuration().contains("SystemdCgroup"));
            linux.systemd_cgroups = true;
            assert!(linux.configuration().contains("SystemdCgroup = true"));
        }
    }

    #[test]
    fn registry_folder_name_is_valid_on_windows() {
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
