//! Kubernetes, etcd, containerd and the CNI plugins, built from their Go
//! modules once and kept in the cache.
//!
//! The modules are pinned in `lab/kube/` and travel inside this program. What
//! was built is found again by a hash of everything that went into it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::command::{self, command};
use crate::problem::{AtPath, Problem, Result};
use crate::progress::Progress;
use crate::state::space;

/// The release of Kubernetes that the lab runs.
pub const KUBERNETES: &str = "v1.36.3";
/// The release of containerd that the lab builds for Windows.
pub const CONTAINERD: &str = "v2.4.2";
/// The oldest Go that builds them.
const GO_NEEDED: (u32, u32) = (1, 26);
/// What the first build takes on disk, with room to breathe.
const SPACE_NEEDED: u64 = 10 << 30;

/// A Go module of ours that pins one project.
struct Module {
    name: &'static str,
    manifest: &'static str,
    sums: &'static str,
}

macro_rules! module {
    ($name:literal) => {
        Module {
            name: $name,
            manifest: include_str!(concat!("../../../../lab/kube/", $name, "/go.mod")),
            sums: include_str!(concat!("../../../../lab/kube/", $name, "/go.sum")),
        }
    };
}

/// One call of `go build`.
struct Build {
    module: Module,
    os: &'static str,
    packages: &'static [&'static str],
    /// What it takes on two cores, for people to know.
    about: Duration,
}

fn builds() -> [Build; 5] {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    [
        Build {
            module: module!("kubernetes"),
            os: "linux",
            packages: &[
                "k8s.io/kubernetes/cmd/kube-apiserver",
                "k8s.io/kubernetes/cmd/kube-controller-manager",
                "k8s.io/kubernetes/cmd/kube-scheduler",
                "k8s.io/kubernetes/cmd/kubeadm",
                "k8s.io/kubernetes/cmd/kubectl",
            ],
            about: minutes(6),
        },
        Build {
            module: module!("kubernetes"),
            os: "windows",
            packages: &[
                "k8s.io/kubernetes/cmd/kubeadm",
                "k8s.io/kubernetes/cmd/kubelet",
                "k8s.io/kubernetes/cmd/kube-proxy",
            ],
            about: minutes(4),
        },
        Build {
            module: module!("etcd"),
            os: "linux",
            packages: &["go.etcd.io/etcd/server/v3"],
            about: minutes(1),
        },
        Build {
            module: module!("containerd"),
            os: "windows",
            packages: &[
                "github.com/containerd/containerd/v2/cmd/containerd",
                "github.com/containerd/containerd/v2/cmd/ctr",
            ],
            about: minutes(1),
        },
        Build {
            module: module!("cni"),
            os: "windows",
            packages: &[
                "github.com/containernetworking/plugins/plugins/ipam/host-local",
                "github.com/containernetworking/plugins/plugins/main/windows/win-bridge",
                "github.com/containernetworking/plugins/plugins/main/windows/win-overlay",
            ],
            about: minutes(1),
        },
    ]
}

/// Builds what is missing and gives the folder with `linux` and `windows`.
pub fn ensure(cache: &Path, progress: &Progress) -> Result<PathBuf> {
    let builds = builds();
    let folder = cache.join("parts").join(key(&builds));
    let missing: Vec<&Build> = builds
        .iter()
        .filter(|build| !done_mark(&folder, build).exists())
        .collect();
    if missing.is_empty() {
        return Ok(folder);
    }
    check_go()?;
    space::check(cache, SPACE_NEEDED)?;
    let total = builds.len();
    let begun = total - missing.len();
    for (number, build) in missing.iter().enumerate() {
        let what = format!(
            "building {} {}/{total}",
            build.describe(),
            begun + number + 1
        );
        progress.step(
            &what,
            &format!("once; about {} min", build.about.as_secs() / 60),
            || build.run(cache, &folder),
        )?;
    }
    Ok(folder)
}

fn done_mark(folder: &Path, build: &Build) -> PathBuf {
    folder.join(format!(".{}-{}", build.module.name, build.os))
}

/// Everything that decides what comes out.
fn key(builds: &[Build]) -> String {
    let mut hash = Sha256::new();
    for build in builds {
        for text in [build.module.manifest, build.module.sums, build.os] {
            hash.update(text);
        }
        hash.update(build.packages.join(" "));
        hash.update(build.linker_flags());
    }
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    hex[..16].to_owned()
}

impl Build {
    fn describe(&self) -> String {
        let names: Vec<&str> = self
            .packages
            .iter()
            .map(|path| program_name(path))
            .collect();
        let os = if self.os == "windows" {
            "Windows"
        } else {
            "Linux"
        };
        format!("{} for {os}", names.join(", "))
    }

    fn linker_flags(&self) -> String {
        let minor = KUBERNETES.split('.').nth(1).unwrap_or_default();
        let mut flags = "-s -w".to_owned();
        match self.module.name {
            "kubernetes" => {
                for package in [
                    "k8s.io/component-base/version",
                    "k8s.io/client-go/pkg/version",
                ] {
                    flags += &format!(
                        " -X {package}.gitVersion={KUBERNETES} -X {package}.gitMajor=1 \
                         -X {package}.gitMinor={minor}"
                    );
                }
            }
            "containerd" => {
                flags += &format!(
                    " -X github.com/containerd/containerd/v2/version.Version={CONTAINERD}"
                );
            }
            _ => {}
        }
        flags
    }

    fn run(&self, cache: &Path, folder: &Path) -> Result<()> {
        let source = cache.join("go/src").join(self.module.name);
        fs::create_dir_all(&source).at("make", &source)?;
        for (name, text) in [
            ("go.mod", self.module.manifest),
            ("go.sum", self.module.sums),
        ] {
            let path = source.join(name);
            fs::write(&path, text).at("write", &path)?;
        }
        let unfinished = folder.join(format!(".unfinished-{}", self.os));
        fs::create_dir_all(&unfinished).at("make", &unfinished)?;
        let mut go = killed_with_us("go");
        go.args(["build", "-trimpath", "-ldflags", &self.linker_flags(), "-o"]);
        go.arg(&unfinished).args(self.packages).current_dir(&source);
        environment(&mut go, cache, self.os);
        command::run(&mut go).map_err(|problem| self.explain(problem))?;
        self.keep(&unfinished, folder)
    }

    /// Moves what was built to its final name only now, so that a kill in the
    /// middle leaves no half program there.
    fn keep(&self, unfinished: &Path, folder: &Path) -> Result<()> {
        let output = folder.join(self.os);
        fs::create_dir_all(&output).at("make", &output)?;
        let suffix = if self.os == "windows" { ".exe" } else { "" };
        for package in self.packages {
            let built = unfinished.join(format!("{}{suffix}", go_name(package)));
            let program = output.join(format!("{}{suffix}", program_name(package)));
            fs::rename(&built, &program).at("write", &program)?;
        }
        fs::remove_dir_all(unfinished).at("remove", unfinished)?;
        let mark = done_mark(folder, self);
        fs::write(&mark, "").at("write", &mark)
    }

    fn explain(&self, problem: Problem) -> Problem {
        let said: Vec<&str> = problem.seen.iter().map(|(_, text)| text.as_str()).collect();
        let said = said.join("\n");
        let (code, remedy) = if said.contains("no space left") {
            (
                "CAS-LAB-011",
                "free some space and run the command again; what was finished is kept",
            )
        } else if said.contains("dial tcp") || said.contains("lookup ") {
            (
                "CAS-LAB-051",
                "Go modules are fetched once, from GOPROXY: see whether it can be reached",
            )
        } else {
            (
                "CAS-LAB-052",
                "run `casement lab up` again; what was finished is kept",
            )
        };
        Problem {
            code: code.into(),
            what: format!("{} could not be built", self.describe()),
            remedy: remedy.to_owned(),
            ..problem
        }
    }
}

/// What `go build` calls a program: the last part of its path that is no version.
fn go_name(package: &str) -> &str {
    let mut parts = package.rsplit('/');
    match parts.next() {
        Some(version) if version.starts_with('v') && version[1..].parse::<u8>().is_ok() => {
            parts.next().unwrap_or(version)
        }
        Some(name) => name,
        None => package,
    }
}

/// What we call it.
fn program_name(package: &str) -> &str {
    match go_name(package) {
        "server" => "etcd",
        name => name,
    }
}

/// A command that ends, with all that it started, when this process does.
pub fn killed_with_us(program: &str) -> Command {
    #[rustfmt::skip]
    let arguments = [
        "--pdeathsig", "KILL", "--",
        "unshare", "--pid", "--fork", "--kill-child=KILL", "--", program,
    ];
    command("setpriv", arguments)
}

fn environment(go: &mut Command, cache: &Path, os: &str) {
    go.env("GOOS", os)
        .env("GOARCH", "amd64")
        .env("CGO_ENABLED", "0")
        .env("GOCACHE", cache.join("go/build"))
        .env("GOMODCACHE", cache.join("go/mod"))
        .env("GOFLAGS", "-buildvcs=false -modcacherw -mod=readonly")
        .env("GOTOOLCHAIN", "local")
        .env("GOTMPDIR", cache.join("go"))
        .env_remove("GOEXPERIMENT");
}

fn check_go() -> Result<()> {
    let needed = format!("Go {}.{} or newer", GO_NEEDED.0, GO_NEEDED.1);
    let problem = |found: &str| {
        Problem::new(
            "CAS-LAB-050",
            format!("{needed} is needed to build Kubernetes"),
            "install it from go.dev/dl or your distribution and put `go` on the PATH;\n\
             `casement lab up --level wine` gives Windows hosts without Kubernetes and needs no Go",
        )
        .seen("found", found)
    };
    let mut ask = command("go", ["env", "GOVERSION"]);
    let said = command::output(ask.env("GOTOOLCHAIN", "local"))
        .map_err(|_| problem("no `go` on the PATH"))?;
    match version_of(&said) {
        Some(version) if version >= GO_NEEDED => Ok(()),
        _ => Err(problem(said.trim())),
    }
}

fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().strip_prefix("go")?.split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor: String = numbers
        .next()?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Some((major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_versions_that_go_prints() {
        assert_eq!(version_of("go1.26.8\n"), Some((1, 26)));
        assert_eq!(version_of("go1.27rc1"), Some((1, 27)));
        assert_eq!(version_of("devel"), None);
    }

    #[test]
    fn programs_are_called_by_their_names() {
        assert_eq!(program_name("go.etcd.io/etcd/server/v3"), "etcd");
        assert_eq!(program_name("k8s.io/kubernetes/cmd/kubelet"), "kubelet");
    }

    #[test]
    fn the_key_changes_with_what_is_built() {
        let mut changed = builds();
        changed[4].packages = &["x"];
        assert_ne!(key(&builds()), key(&changed));
        assert_eq!(key(&builds()), key(&builds()));
    }
}
