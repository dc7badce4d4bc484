//! Packages: by apt where the system is of Debian's family, by dnf where it is
//! of Fedora's.

use std::fs;

use casement_resource::{Code, Failure, PackageName, PackageVersion};

use super::ground::accepted;
use super::{Linux, system_failure};
use crate::platform::{Packages, Result};

/// Waits for another one who installs, keeps settings that a person changed, and
/// goes to an older version if that is what is asked for.
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
            Manager::Apt => Ok(self.dpkg(name)?.and_then(|found| found.whole())),
            Manager::Dnf => self.rpm(name),
        }
    }

    fn install_package(&self, name: &PackageName, version: Option<&PackageVersion>) -> Result<()> {
        match self.manager(name)? {
            Manager::Apt => self.apt_install(name, version),
            Manager::Dnf => {
                let what = wanted(name, "-", version);
                let install = ["dnf", "--assumeyes", "--quiet", "install", "--", &what];
                self.ground.tool(&install).map(drop)
            }
        }
    }

    /// Not by apt or dnf, which would take along what needs it, and what nobody
    /// needs any more: those are not casement's.
    fn remove_package(&self, name: &PackageName) -> Result<()> {
        let remove = match self.manager(name)? {
            Manager::Apt => ["dpkg", "--remove", "--", name.as_str()],
            Manager::Dnf => ["rpm", "--erase", "--", name.as_str()],
        };
        self.ground.tool(&remove).map(drop)
    }
}

/// A package as dpkg knows it.
struct Known {
    state: String,
    version: String,
}

impl Known {
    /// The version, if all of it is installed.
    fn whole(&self) -> Option<PackageVersion> {
        let states = ["installed", "triggers-awaited", "triggers-pending"];
        let whole = states.contains(&self.state.as_str());
        whole.then(|| self.version.parse().ok())?
    }

    /// Whether dpkg was cut off in the middle of it.
    fn half(&self) -> bool {
        ["unpacked", "half-configured", "half-installed"].contains(&self.state.as_str())
    }
}

impl Linux {
    fn manager(&self, name: &PackageName) -> Result<Manager> {
        let path = self.ground.path("etc/os-release");
        let release = fs::read_to_string(&path).map_err(|error| {
            system_failure(format!("`{}` could not be read", path.display()), &error)
        })?;
        manager(&release).ok_or_else(|| {
            Failure::new(
                Code::Unsupported,
                format!("package `{name}`: casement knows apt and dnf only"),
                "install it by other means, and take the step out of the document",
            )
            .values(
                "a system like debian or fedora",
                families(&release).join(" "),
            )
        })
    }

    /// Its exit code 1 means, for one name, that there is no such package.
    fn dpkg(&self, name: &PackageName) -> Result<Option<Known>> {
        let format = "--showformat=${db:Status-Status} ${Version}\n";
        let question = ["dpkg-query", "--show", format, "--", name.as_str()];
        let output = self.ground.ask(&question)?;
        if output.status.code() == Some(1) {
            return Ok(None);
        }
        let text = accepted(&question, &output)?;
        let line = text.lines().find_map(|line| line.split_once(' '));
        Ok(line.map(|(state, version)| Known {
            state: state.to_owned(),
            version: version.trim().to_owned(),
        }))
    }

    /// `--query` with a name fails where none is installed; `--all` with one
    /// writes nothing.
    fn rpm(&self, name: &PackageName) -> Result<Option<PackageVersion>> {
        let question = ["rpm", "--query", "--all", "--queryformat", "%{EVR}\n"];
        let text = self
            .ground
            .tool(&[&question[..], &[name.as_str()]].concat())?;
        // The newest is last; a kernel has several.
        Ok(text.lines().last().and_then(|line| line.parse().ok()))
    }

    /// The lists of what there is may be old, or, in an image, not there at all.
    fn apt_install(&self, name: &PackageName, version: Option<&PackageVersion>) -> Result<()> {
        if self.dpkg(name)?.is_some_and(|found| found.half()) {
            self.ground.tool(&["dpkg", "--configure", "--pending"])?;
        }
        let what = wanted(name, "=", version);
        let install = [&APT[..], &["install", "--", &what]].concat();
        if self.ground.tool(&install).is_ok() {
            return Ok(());
        }
        self.ground.tool(&[&APT[..], &["update"]].concat())?;
        self.ground.tool(&install).map(drop)
    }
}

/// A package in a version, as its manager wants it written.
fn wanted(name: &PackageName, between: &str, version: Option<&PackageVersion>) -> String {
    match version {
        Some(version) => format!("{name}{between}{version}"),
        None => name.to_string(),
    }
}

/// Which systems this one is like (os-release(5)), itself first.
fn families(release: &str) -> Vec<String> {
    let value = |key: &str| {
        let mut lines = release.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let values = ["ID", "ID_LIKE"].into_iter().filter_map(value);
    let words = values.flat_map(|value| value.trim_matches(['"', '\'']).split_whitespace());
    words.map(str::to_owned).collect()
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
