//! Packages: apt on Debian-like systems, dnf on Fedora-like ones.

use std::fs;

use casement_resource::{Code, Failure, PackageName, PackageVersion};

use super::system_root::require_success;
use super::{Linux, system_failure};
use crate::platform::{Packages, Result};

/// Waits for the dpkg lock, keeps locally modified configuration files, and allows
/// downgrades.
const APT: [&str; 9] = [
    "apt-get",
    "--yes",
    "--quiet",
    "--allow-downgrades",
    "--no-install-recommends",
    "--option=DPkg::Lock::Timeout=300",
    "--option=Dpkg::Options::=--force-confdef",
    "--option=Dpkg::Options::=--force-confold",
    "--option=Dpkg::Use-Pty=0",
];

enum Manager {
    Apt,
    Dnf,
}

impl Packages for Linux {
    fn package(&self, name: &PackageName) -> Result<Option<PackageVersion>> {
        match self.manager(name)? {
            Manager::Apt => Ok(self.dpkg(name)?.and_then(|found| found.installed_version())),
            Manager::Dnf => self.rpm(name),
        }
    }

    fn install_package(&self, name: &PackageName, version: Option<&PackageVersion>) -> Result<()> {
        match self.manager(name)? {
            Manager::Apt => self.apt_install(name, version),
            Manager::Dnf => {
                let spec = package_spec(name, "-", version);
                let install = ["dnf", "--assumeyes", "--quiet", "install", "--", &spec];
                self.root.run_tool(&install).map(drop)
            }
        }
    }

    /// Not with apt or dnf, which would also remove dependents and unused dependencies
    /// that are not casement's.
    fn remove_package(&self, name: &PackageName) -> Result<()> {
        let remove = match self.manager(name)? {
            Manager::Apt => ["dpkg", "--remove", "--", name.as_str()],
            Manager::Dnf => ["rpm", "--erase", "--", name.as_str()],
        };
        self.root.run_tool(&remove).map(drop)
    }
}

struct DpkgEntry {
    state: String,
    version: String,
}

impl DpkgEntry {
    /// The version, if it is fully installed.
    fn installed_version(&self) -> Option<PackageVersion> {
        let states = ["installed", "triggers-awaited", "triggers-pending"];
        let installed = states.contains(&self.state.as_str());
        installed.then(|| self.version.parse().ok())?
    }

    /// Whether dpkg was interrupted.
    fn is_interrupted(&self) -> bool {
        ["unpacked", "half-configured", "half-installed"].contains(&self.state.as_str())
    }
}

impl Linux {
    fn manager(&self, name: &PackageName) -> Result<Manager> {
        let path = self.root.path("etc/os-release");
        let release = fs::read_to_string(&path).map_err(|error| {
            system_failure(format!("failed to read `{}`", path.display()), &error)
        })?;
        manager(&release).ok_or_else(|| {
            Failure::new(
                Code::Unsupported,
                format!("package `{name}`: only apt and dnf are supported"),
                "install it by other means, and remove the step from the document",
            )
            .values(
                "a system like debian or fedora",
                families(&release).join(" "),
            )
        })
    }

    /// Exit code 1 with a single name means that there is no such package.
    fn dpkg(&self, name: &PackageName) -> Result<Option<DpkgEntry>> {
        let format = "--showformat=${db:Status-Status} ${Version}\n";
        let query = ["dpkg-query", "--show", format, "--", name.as_str()];
        let output = self.root.run_for_status(&query)?;
        if output.status.code() == Some(1) {
            return Ok(None);
        }
        let text = require_success(&query, &output)?;
        let line = text.lines().find_map(|line| line.split_once(' '));
        Ok(line.map(|(state, version)| DpkgEntry {
            state: state.to_owned(),
            version: version.trim().to_owned(),
        }))
    }

    /// `--query` fails for a package that is not installed; `--query --all` prints
    /// nothing.
    fn rpm(&self, name: &PackageName) -> Result<Option<PackageVersion>> {
        let query = ["rpm", "--query", "--all", "--queryformat", "%{EVR}\n"];
        let text = self
            .root
            .run_tool(&[&query[..], &[name.as_str()]].concat())?;
        // The newest is last; kernels have several.
        Ok(text.lines().last().and_then(|line| line.parse().ok()))
    }

    /// The package lists may be outdated or, in an image, missing.
    fn apt_install(&self, name: &PackageName, version: Option<&PackageVersion>) -> Result<()> {
        if self.dpkg(name)?.is_some_and(|found| found.is_interrupted()) {
            self.root.run_tool(&["dpkg", "--configure", "--pending"])?;
        }
        let spec = package_spec(name, "=", version);
        let install = [&APT[..], &["install", "--", &spec]].concat();
        if self.root.run_tool(&install).is_ok() {
            return Ok(());
        }
        self.root.run_tool(&[&APT[..], &["update"]].concat())?;
        self.root.run_tool(&install).map(drop)
    }
}

/// The package and version in the notation of the manager.
fn package_spec(name: &PackageName, separator: &str, version: Option<&PackageVersion>) -> String {
    match version {
        Some(version) => format!("{name}{separator}{version}"),
        None => name.to_string(),
    }
}

/// The system and those it is like (os-release(5)).
fn families(release: &str) -> Vec<String> {
    let value = |key: &str| {
        let mut lines = release.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let values = ["ID", "ID_LIKE"].into_iter().filter_map(value);
    let ids = values.flat_map(|value| value.trim_matches(['"', '\'']).split_whitespace());
    ids.map(str::to_owned).collect()
}

fn manager(release: &str) -> Option<Manager> {
    families(release)
        .iter()
        .find_map(|family| match family.as_str() {
            "debian" | "ubuntu" => Some(Manager::Apt),
            "fedora" | "rhel" | "centos" => Some(Manager::Dnf),
            _ => None,
        })
}
