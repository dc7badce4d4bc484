//! The output of `render` is accepted without warnings by containerd, kubelet, kube-proxy,
//! kubeadm and the CNI library.
//!
//! Each of them is also given an unknown field, to prove that it would warn.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lab_fixture::{Lab, casement, exclusive, succeed, text};

/// Kubernetes and containerd, one pair for each version of containerd's configuration.
const RELEASES: [(&str, &str); 3] = [("1.26.15", "1.6.28"), ("1.34.1", "2.2.0"), NEWEST];
const NEWEST: (&str, &str) = ("1.36.3", "2.4.2");
const MODES: [&str; 4] = [
    "l3-routes",
    "flannel-overlay",
    "flannel-host-gw",
    "calico-vxlan",
];
const HOSTS: [&str; 2] = ["lin1", "win1"];

#[test]
#[ignore = "needs root, wine and go"]
fn rendered_configs_are_accepted_without_warnings() {
    let _exclusive = exclusive();
    let lab = Lab::named("accepted");
    lab.run(&["up", "--hosts", "1"]);
    let validators = Validators::new(&lab);
    for mode in MODES {
        let files = Files::render(mode, NEWEST);
        for host in HOSTS {
            validators.kubelet(&files, host);
            validators.kubeadm(&files, host);
            validators.containerd(&files, host);
        }
        validators.kube_proxy(&files);
        validators.cni(&files);
    }
    for release in RELEASES {
        let files = Files::render("l3-routes", release);
        for host in HOSTS {
            validators.containerd(&files, host);
        }
        if release.1.starts_with("1.") {
            validators.old_containerd(&files);
        }
    }
}

/// The output folder of `casement render all`.
struct Files(TempDir);

impl Files {
    fn render(mode: &str, (kubernetes, containerd): (&str, &str)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let spec = format!(
            "apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {{name: shop}}
spec:
  kubernetes: {{version: {kubernetes}, endpoint: '10.3.0.1:6443'}}
  existing: {{kubeconfig: ./admin.conf}}
  network: {{mode: {mode}}}
  runtime: {{kind: containerd, version: {containerd}}}
  hosts:
    - {{name: lin1, address: 10.3.0.2, os: linux, roles: [worker], managed: true}}
    - {{name: win1, address: 10.3.0.4, os: windows-2022, roles: [worker]}}
"
        );
        let file = folder.path().join("cluster.yaml");
        fs::write(&file, spec).unwrap();
        let mut render = casement();
        render.args(["render", "all", "--assume-pod-cidrs", "--out"]);
        succeed(render.arg(folder.path()).arg("-f").arg(file));
        Self(folder)
    }

    fn read(&self, path: &str) -> String {
        let path = self.0.path().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }
}

/// The programs that read the files.
struct Validators<'a> {
    lab: &'a Lab,
    /// The lab's programs for Linux.
    linux: PathBuf,
    /// Programs built or downloaded for this test.
    built: PathBuf,
}

impl<'a> Validators<'a> {
    fn new(lab: &'a Lab) -> Self {
        let record = fs::read_to_string(lab.folder().join("lab.json")).unwrap();
        let record: Value = serde_json::from_str(&record).unwrap();
        let parts = PathBuf::from(record["parts"].as_str().unwrap());
        lab.cmd("win1", r"mkdir C:\a");
        let mut batch = String::new();
        for program in ["containerd", "kubelet", "kube-proxy"] {
            let from = parts.join(format!("windows/{program}.exe"));
            writeln!(batch, "put {} /C:/a/{program}.exe", from.display()).unwrap();
        }
        lab.sftp("win1", &batch);
        Self {
            lab,
            linux: parts.join("linux"),
            built: build(),
        }
    }

    /// Runs a program on the Windows host with a file.
    fn on_windows(&self, file: &str, content: &str, line: &str) -> Output {
        self.lab.put("win1", &format!("/C:/a/{file}"), content);
        let mut ssh = self.lab.ssh("Administrator", "win1", line);
        ssh.output().unwrap()
    }

    fn containerd(&self, files: &Files, host: &str) {
        let config = files.read(&format!("{host}/containerd/config.toml"));
        let dump = |content: &str| match host {
            "win1" => {
                let line = r"C:\a\containerd.exe --config C:\a\config.toml config dump";
                self.on_windows("config.toml", content, line)
            }
            _ => config_dump(&self.built.join("containerd"), content),
        };
        let output = dump(&config);
        assert_accepted(&output, &format!("containerd of {host}"));
        // The values are used, not ignored.
        let printed = String::from_utf8_lossy(&output.stdout).replace('\'', "\"");
        let pause = config.lines().find(|line| line.starts_with("sandbox"));
        let pause = pause.and_then(|line| line.split('"').nth(1)).unwrap();
        assert!(printed.contains(pause), "{pause} is not in: {printed}");
        assert!(printed.contains("cni/bin") || printed.contains(r"cni\bin"));
        let plugin = match config.contains("version = 2") {
            true => "io.containerd.grpc.v1.cri",
            false => "io.containerd.cri.v1.runtime",
        };
        let invalid = format!("{config}\n[plugins.\"{plugin}\".nonsense]\nx = 1\n");
        assert_warns(&dump(&invalid), "nonsense");
    }

    /// Debian's containerd 1.6, which reads version 2 of the configuration.
    fn old_containerd(&self, files: &Files) {
        let config = files.read("lin1/containerd/config.toml");
        let program = self.built.join("old/usr/bin/containerd");
        let output = config_dump(&program, &config);
        assert_accepted(&output, "containerd 1.6");
        // It ignores unknown fields, but not wrong types.
        let invalid = config.replacen("sandbox_image = ", "sandbox_image = 3 # ", 1);
        assert_warns(&config_dump(&program, &invalid), "convert 3");
    }

    /// The kubelet reads its configuration before it fails for the missing kubeconfig.
    fn kubelet(&self, files: &Files, host: &str) {
        let patch = files.json(&format!("{host}/kubelet/kubeletconfiguration0+merge.json"));
        let mut config = json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
        });
        let fields = patch.as_object().unwrap().clone();
        config.as_object_mut().unwrap().extend(fields);
        let command = files.read("win1/kubelet/command.txt");
        let flags = command.lines().skip(1).filter(|flag| {
            let replaced = ["--config=", "--bootstrap-kubeconfig=", "--kubeconfig="];
            !replaced.iter().any(|name| flag.starts_with(name))
        });
        let line = format!(
            r"C:\a\kubelet.exe --config=C:\a\kubelet.json --bootstrap-kubeconfig=C:\a\none --kubeconfig=C:\a\no {}",
            flags.collect::<Vec<_>>().join(" ")
        );
        let run = |config: &Value| self.on_windows("kubelet.json", &config.to_string(), &line);
        let output = run(&config);
        let printed = text(&output);
        assert!(
            printed.contains("unable to load bootstrap kubeconfig"),
            "{printed}"
        );
        // The lab has no kubelet for Linux. The one for Windows reads the same type and
        // warns about defaults that are not for Windows.
        let defaults = |line: &&str| host == "lin1" && line.contains("not supported on Windows");
        let lines: Vec<&str> = printed.lines().filter(|line| !defaults(line)).collect();
        let warning = warning(&lines.join("\n")).map(str::to_owned);
        assert_eq!(warning, None, "the kubelet of {host}: {printed}");
        config["nonsense"] = json!(1);
        assert_warns(&run(&config), "nonsense");
    }

    fn kube_proxy(&self, files: &Files) {
        let mut config = files.json("win1/kube-proxy/kube-proxy.json");
        let line = r"C:\a\kube-proxy.exe --config C:\a\kube-proxy.json --write-config-to C:\a\read.yaml && type C:\a\read.yaml";
        let run = |config: &Value| self.on_windows("kube-proxy.json", &config.to_string(), line);
        let output = run(&config);
        assert_accepted(&output, "kube-proxy");
        let network = config["winkernel"]["networkName"].as_str().unwrap();
        assert!(text(&output).contains(network), "{}", text(&output));
        config["winkernel"]["nonsense"] = json!(1);
        assert_warns(&run(&config), "nonsense");
    }

    fn kubeadm(&self, files: &Files, host: &str) {
        let mut config = files.json(&format!("{host}/kubeadm/join.json"));
        let run = |config: &Value| {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), config.to_string()).unwrap();
            let mut kubeadm = Command::new(self.linux.join("kubeadm"));
            kubeadm.args(["config", "validate", "--config"]);
            kubeadm.arg(file.path()).output().unwrap()
        };
        assert_accepted(&run(&config), &format!("kubeadm for {host}"));
        config["nonsense"] = json!(1);
        assert_warns(&run(&config), "nonsense");
    }

    fn cni(&self, files: &Files) {
        let check = |path: &Path| {
            let mut check = Command::new(self.built.join("cni-check"));
            check.arg(path).output().unwrap()
        };
        let mut lists = 0;
        for host in HOSTS {
            let folder = files.0.path().join(host).join("cni");
            // In some modes casement does not manage CNI on Linux.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                assert_accepted(&check(&entry.path()), "a CNI configuration list");
                lists += 1;
            }
        }
        assert!(lists > 0, "no list was checked");
        let invalid = files.0.path().join("planted.conflist");
        fs::write(&invalid, r#"{"cniVersion": "1.0.0", "name": "x"}"#).unwrap();
        assert_warns(&check(&invalid), "plugin");
    }
}

fn config_dump(containerd: &Path, config: &str) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), config).unwrap();
    let mut dump = Command::new(containerd);
    dump.arg("--config").arg(file.path());
    dump.args(["config", "dump"]).output().unwrap()
}

/// The first warning about something unknown that a program ignored.
fn warning(printed: &str) -> Option<&str> {
    let patterns = [
        "lenient",
        "level=warn",
        "level=error",
        "ignored configuration option",
        "unknown",
    ];
    // A newer containerd reports that it migrates the file.
    let relevant = |line: &&str| !line.contains("Configuration migrated from version");
    printed
        .lines()
        .filter(relevant)
        .find(|line| patterns.iter().any(|pattern| line.contains(pattern)))
}

fn assert_accepted(output: &Output, what: &str) {
    let printed = text(output);
    assert!(output.status.success(), "{what}: {printed}");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(warning(&printed), None, "{what}: {printed}");
}

fn assert_warns(output: &Output, about: &str) {
    let printed = text(output);
    let failed = !output.status.success() && printed.contains(about);
    let warned = warning(&printed).is_some_and(|line| line.contains(about));
    assert!(failed || warned, "no warning about `{about}`: {printed}");
}

/// Builds and downloads the programs that are not part of a lab.
fn build() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let cache = cache
        .unwrap_or_else(|| home.join(".cache"))
        .join("casement");
    let to = cache.join("judges");
    fs::create_dir_all(&to).unwrap();
    let kube = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/kube");
    for (module, package) in [
        (
            "containerd",
            "github.com/containerd/containerd/v2/cmd/containerd",
        ),
        ("cni-check", "."),
    ] {
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(to.join(module)).arg(package);
        go.current_dir(kube.join(module));
        go.env("GOCACHE", cache.join("lab/go/build"));
        go.env("GOMODCACHE", cache.join("lab/go/mod"));
        go.env("GOFLAGS", "-buildvcs=false -modcacherw -mod=readonly");
        succeed(go.env("CGO_ENABLED", "0"));
    }
    let old = to.join("old");
    if !old.exists() {
        let folder = tempfile::tempdir_in(&to).unwrap();
        let apt = |args: &[&str]| {
            let mut apt = Command::new("apt-get");
            apt.args(args).current_dir(folder.path()).output().unwrap()
        };
        if !apt(&["download", "containerd"]).status.success() {
            apt(&["update"]);
            let output = apt(&["download", "containerd"]);
            assert!(output.status.success(), "{}", text(&output));
        }
        let package = fs::read_dir(folder.path())
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let unpacked = folder.path().join("unpacked");
        succeed(
            Command::new("dpkg")
                .arg("-x")
                .arg(package.path())
                .arg(&unpacked),
        );
        fs::rename(unpacked, old).unwrap();
    }
    to
}
