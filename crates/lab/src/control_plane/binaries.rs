//! Builds Kubernetes, etcd, containerd and the CNI plugins from their Go modules
//! and caches the binaries.
//!
//! The module versions are pinned in `lab/kube/` and embedded in this program. The
//! cache key is a hash of all build inputs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::command::{self, command};
use crate::problem::{AtPath, Problem, Result};
use crate::progress::LabProgress;
use crate::state::space;

/// The Kubernetes release that the lab runs.
pub const KUBERNETES: &str = "v1.36.3";
/// The containerd release that the lab builds for Windows.
pub const CONTAINERD: &str = "v2.4.2";
/// The oldest Go that builds these releases.
const GO_NEEDED: (u32, u32) = (1, 26);
/// Disk space for the first build in bytes, with some reserve.
const SPACE_NEEDED: u64 = 10 << 30;

/// A Go module in `lab/kube/` that pins one project.
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

/// One run of `go build`.
struct Build {
    module: Module,
    os: &'static str,
    packages: &'static [&'static str],
    /// On two cores; shown to the user.
    estimate: Duration,
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
            estimate: minutes(6),
        },
        Build {
            module: module!("kubernetes"),
            os: "windows",
            packages: &[
                "k8s.io/kubernetes/cmd/kubeadm",
                "k8s.io/kubernetes/cmd/kubelet",
                "k8s.io/kubernetes/cmd/kube-proxy",
            ],
            estimate: minutes(4),
        },
        Build {
            module: module!("etcd"),
            os: "linux",
            packages: &["go.etcd.io/etcd/server/v3"],
            estimate: minutes(1),
        },
        Build {
            module: module!("containerd"),
            os: "windows",
            packages: &[
                "github.com/containerd/containerd/v2/cmd/containerd",
                "github.com/containerd/containerd/v2/cmd/ctr",
            ],
            estimate: minutes(1),
        },
        Build {
            module: module!("cni"),
            os: "windows",
            packages: &[
                "github.com/containernetworking/plugins/plugins/ipam/host-local",
                "github.com/containernetworking/plugins/plugins/main/windows/win-bridge",
                "github.com/containernetworking/plugins/plugins/main/windows/win-overlay",
            ],
            estimate: minutes(1),
        },
    ]
}

/// Builds what is missing; returns the directory with `linux` and `windows`.
pub fn ensure(cache: &Path, progress: &LabProgress) -> Result<PathBuf> {
    let builds = builds();
    let dir = cache.join("parts").join(key(&builds));
    let missing: Vec<&Build> = builds
        .iter()
        .filter(|build| !done_marker(&dir, build).exists())
        .collect();
    if missing.is_empty() {
        return Ok(dir);
    }
    check_go()?;
    space::check(cache, SPACE_NEEDED)?;
    let total = builds.len();
    let finished = total - missing.len();
    for (number, build) in missing.iter().enumerate() {
        let what = format!(
            "building {} {}/{total}",
            build.describe(),
            finished + number + 1
        );
        progress.step(
            &what,
            &format!(
                "first time only, about {} min",
                build.estimate.as_secs() / 60
            ),
            || build.run(cache, &dir),
        )?;
    }
    Ok(dir)
}

fn done_marker(dir: &Path, build: &Build) -> PathBuf {
    dir.join(format!(".{}-{}", build.module.name, build.os))
}

/// A hash of all build inputs.
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

    fn run(&self, cache: &Path, dir: &Path) -> Result<()> {
        let source = cache.join("go/src").join(self.module.name);
        fs::create_dir_all(&source).at("create", &source)?;
        for (name, text) in [
            ("go.mod", self.module.manifest),
            ("go.sum", self.module.sums),
        ] {
            let path = source.join(name);
            fs::write(&path, text).at("write", &path)?;
        }
        let unfinished = dir.join(format!(".unfinished-{}", self.os));
        fs::create_dir_all(&unfinished).at("create", &unfinished)?;
        let mut go = killed_with_parent("go");
        go.args(["build", "-trimpath", "-ldflags", &self.linker_flags(), "-o"]);
        go.arg(&unfinished).args(self.packages).current_dir(&source);
        environment(&mut go, cache, self.os);
        command::run(&mut go).map_err(|problem| self.explain(problem))?;
        self.keep(&unfinished, dir)
    }

    /// Moves finished binaries to their final names, so that a killed build leaves no
    /// partial binary there.
    fn keep(&self, unfinished: &Path, dir: &Path) -> Result<()> {
        let output = dir.join(self.os);
        fs::create_dir_all(&output).at("create", &output)?;
        let suffix = if self.os == "windows" { ".exe" } else { "" };
        for package in self.packages {
            let built = unfinished.join(format!("{}{suffix}", go_name(package)));
            let program = output.join(format!("{}{suffix}", program_name(package)));
            fs::rename(&built, &program).at("write", &program)?;
        }
        fs::remove_dir_all(unfinished).at("remove", unfinished)?;
        let marker = done_marker(dir, self);
        fs::write(&marker, "").at("write", &marker)
    }

    fn explain(&self, problem: Problem) -> Problem {
        let output: Vec<&str> = problem
            .detail
            .iter()
            .map(|(_, text)| text.as_str())
            .collect();
        let output = output.join("\n");
        let (code, remedy) = classify(&output);
        Problem {
            code: code.into(),
            what: format!("failed to build {}", self.describe()),
            help: remedy.to_owned(),
            ..problem
        }
    }
}

/// Code and help for the output of a failed `go build`.
fn classify(output: &str) -> (&'static str, &'static str) {
    /// Go names the URL after `Get` if the request failed, after `reading` if the server
    /// reported an error; the others are from resolvers, `git` and `GOPROXY=off`.
    const DOWNLOAD: [&str; 6] = [
        "Get \"http",
        "reading http",
        "dial tcp",
        "lookup ",
        "unable to access 'http",
        "disabled by GOPROXY",
    ];
    if output.contains("no space left") {
        (
            "CAS-LAB-011",
            "free some space and run the command again; finished builds are kept",
        )
    } else if DOWNLOAD.iter().any(|it| output.contains(it)) {
        (
            "CAS-LAB-051",
            "Go modules are downloaded once from GOPROXY: check that it is reachable, that \
             its certificate is trusted, and that it has the module",
        )
    } else {
        (
            "CAS-LAB-052",
            "run `casement lab up` again; finished builds are kept",
        )
    }
}

/// The file name that `go build` uses: the last path element that is not a version.
fn go_name(package: &str) -> &str {
    let mut elements = package.rsplit('/');
    match elements.next() {
        Some(version) if version.starts_with('v') && version[1..].parse::<u8>().is_ok() => {
            elements.next().unwrap_or(version)
        }
        Some(name) => name,
        None => package,
    }
}

/// The name of the binary in the lab.
fn program_name(package: &str) -> &str {
    match go_name(package) {
        "server" => "etcd",
        name => name,
    }
}

/// A command that is killed with all its descendants when this process ends.
pub fn killed_with_parent(program: &str) -> Command {
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
            format!("building Kubernetes needs {needed}"),
            "install it from go.dev/dl or your distribution and add `go` to PATH;\n\
             `casement lab up --level wine` starts Windows hosts without Kubernetes and needs no Go",
        )
        .detail("found", found)
    };
    let mut go = command("go", ["env", "GOVERSION"]);
    let version = command::output(go.env("GOTOOLCHAIN", "local"))
        .map_err(|_| problem("`go` not found in PATH"))?;
    match parse_go_version(&version) {
        Some(found) if found >= GO_NEEDED => Ok(()),
        _ => Err(problem(version.trim())),
    }
}

fn parse_go_version(text: &str) -> Option<(u32, u32)> {
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
    fn go_versions_are_parsed() {
        assert_eq!(parse_go_version("go1.26.8\n"), Some((1, 26)));
        assert_eq!(parse_go_version("go1.27rc1"), Some((1, 27)));
        assert_eq!(parse_go_version("devel"), None);
    }

    #[test]
    fn failed_downloads_are_recognized() {
        let module = "go: go.etcd.io/etcd/server/v3@v3.6.5";
        for download in [
            "Get \"https://proxy.golang.org/x\": dial tcp 192.0.2.1:443: i/o timeout",
            "Get \"https://modules.example/x\": tls: failed to verify certificate: x509: \
             certificate signed by unknown authority",
            "reading https://modules.example/x/@v/v3.6.5.zip: 503 Service Unavailable",
            "module lookup disabled by GOPROXY=off",
            "fatal: unable to access 'https://github.com/etcd-io/etcd/': Could not resolve host",
        ] {
            let (code, _) = classify(&format!("{module}: {download}"));
            assert_eq!(code, "CAS-LAB-051", "{download}");
        }
        for build in [
            "# k8s.io/kubernetes/cmd/kubelet\nlink: signal: killed",
            "verifying go.etcd.io/etcd: checksum mismatch\n\nSECURITY ERROR",
        ] {
            assert_eq!(classify(build).0, "CAS-LAB-052", "{build}");
        }
        let full = "write /tmp/x: no space left on device";
        assert_eq!(classify(full).0, "CAS-LAB-011");
    }

    #[test]
    fn program_name_skips_version_suffix() {
        assert_eq!(program_name("go.etcd.io/etcd/server/v3"), "etcd");
        assert_eq!(program_name("k8s.io/kubernetes/cmd/kubelet"), "kubelet");
    }

    #[test]
    fn key_changes_with_build_inputs() {
        let mut changed = builds();
        changed[4].packages = &["x"];
        assert_ne!(key(&builds()), key(&changed));
        assert_eq!(key(&builds()), key(&builds()));
    }
}
