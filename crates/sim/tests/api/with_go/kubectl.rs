//! kubectl, unchanged, against the embedded API server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use casement_lab::control_plane::binaries;
use casement_lab::progress::LabProgress;
use casement_lab::state::paths::LabPaths;
use casement_sim::api_server::{self, ApiServer, Flannel, Seed, SeedNode};

struct Kubectl {
    _api: ApiServer,
    dir: tempfile::TempDir,
    program: PathBuf,
}

impl Kubectl {
    fn start() -> Self {
        let node = |name: &str, last: u8, control_plane| SeedNode {
            name: name.to_owned(),
            address: Ipv4Addr::new(198, 18, 0, last),
            control_plane,
        };
        let api = api_server::start(Seed {
            flannel: Some(Flannel { vni: 1, port: 8472 }),
            nodes: vec![node("cp1", 10, true), node("lin1", 11, false)],
            ..Seed::default()
        })
        .unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("admin.conf"), api.kubeconfig()).unwrap();
        Self {
            _api: api,
            dir,
            program: program(),
        }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(self.dir.path().join("admin.conf"))
            .arg("--cache-dir")
            .arg(self.dir.path().join("cache"))
            .args(arguments.split_whitespace());
        command
    }

    fn run(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "kubectl {arguments}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn run_failing(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(!output.status.success(), "kubectl {arguments} succeeded");
        String::from_utf8(output.stderr).unwrap()
    }

    fn run_with_input(&self, arguments: &str, manifest: &str) -> String {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(manifest.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "kubectl {arguments}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The lab's own build, made now if it does not exist.
fn program() -> PathBuf {
    static PARTS: LazyLock<PathBuf> = LazyLock::new(|| {
        let paths = LabPaths::from_env().unwrap();
        binaries::ensure(paths.cache(), &LabProgress::new()).unwrap()
    });
    PARTS.join("linux/kubectl")
}

/// The columns of the line that contains a name.
fn row(table: &str, name: &str) -> Vec<String> {
    let line = table
        .lines()
        .find(|line| line.split_whitespace().any(|column| column == name));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{table}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
#[ignore = "needs go"]
fn get_shows_tables_of_every_kind() {
    let kubectl = Kubectl::start();
    let nodes = kubectl.run("get nodes -o wide");
    let header = "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION \
                  CONTAINER-RUNTIME";
    let first = nodes.lines().next().unwrap();
    assert_eq!(
        first.split_whitespace().collect::<Vec<_>>().join(" "),
        header
    );
    let columns = row(&nodes, "cp1");
    assert_eq!(columns[1..3], ["Ready", "control-plane"]);
    assert!(columns.contains(&"198.18.0.10".to_owned()), "{nodes}");

    let all = kubectl.run("get ds,cm,csr,svc,deploy,sa,ns,secrets,leases,pods -A");
    let set = row(&all, "daemonset.apps/kube-flannel-ds");
    assert_eq!(set[0], "kube-flannel");
    let set = row(&all, "daemonset.apps/kube-proxy");
    assert!(set.contains(&"kubernetes.io/os=linux".to_owned()), "{all}");
    assert_eq!(row(&all, "configmap/kubeadm-config")[2], "1");
    let dns = row(&all, "service/kube-dns");
    assert!(dns.contains(&"53/UDP,53/TCP".to_owned()), "{all}");
    kubectl.run("get clusterroles,clusterrolebindings,roles,rolebindings,runtimeclasses -A");
    assert_eq!(kubectl.run("get no lin1 -o name"), "node/lin1\n");
    let path = "jsonpath={.spec.podCIDR}";
    assert_eq!(
        kubectl.run(&format!("get node lin1 -o {path}")),
        "10.244.1.0/24"
    );
    kubectl.run("get all -A");
}

#[test]
#[ignore = "needs go"]
fn describe_node_shows_lease_pods_and_events() {
    let kubectl = Kubectl::start();
    kubectl.run("run p --image=example.invalid/p --overrides={\"spec\":{\"nodeName\":\"lin1\"}}");
    kubectl.run_with_input(
        "create --validate=false -f -",
        r#"{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Node", "name": "lin1", "uid": "lin1"},
            "reason": "Tested", "message": "by kubectl", "type": "Normal"}"#,
    );
    let description = kubectl.run("describe node lin1");
    for expected in [
        "HolderIdentity:  lin1",
        "KubeletReady",
        "PodCIDR:                      10.244.1.0/24",
        "Non-terminated Pods:          (1 in total)",
        "Tested",
    ] {
        assert!(
            description.contains(expected),
            "no `{expected}` in\n{description}"
        );
    }
    for object in [
        "ds/kube-proxy",
        "cm/kube-proxy",
        "svc/kube-dns",
        "deploy/coredns",
        "sa/default",
    ] {
        kubectl.run(&format!("describe -n kube-system {object}"));
    }
}

#[test]
#[ignore = "needs go"]
fn objects_are_applied_labeled_cordoned_tainted_and_deleted() {
    let kubectl = Kubectl::start();
    let namespace = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}"#;
    kubectl.run_with_input("create --validate=false -f -", namespace);
    let deployment = |image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\n\
             spec:\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    \
             metadata: {{labels: {{app: web}}}}\n    spec:\n      \
             containers: [{{name: web, image: 'example.invalid/web:{image}'}}]\n"
        )
    };
    let apply = "apply --validate=false -f -";
    assert!(
        kubectl
            .run_with_input(apply, &deployment("1"))
            .contains("created")
    );
    assert!(
        kubectl
            .run_with_input(apply, &deployment("1"))
            .contains("unchanged")
    );
    assert!(
        kubectl
            .run_with_input(apply, &deployment("2"))
            .contains("configured")
    );
    let path = "jsonpath={.spec.template.spec.containers[*].image}";
    let image = kubectl.run(&format!("get -n shop deploy web -o {path}"));
    assert_eq!(image, "example.invalid/web:2");
    let server_side = "apply --validate=false --server-side --field-manager=other -f -";
    let output = kubectl
        .command(server_side)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(deployment("3").as_bytes())?;
            drop(stdin);
            child.wait_with_output()
        })
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("conflict with \"kubectl-client-side-apply\""),
        "{stderr}"
    );
    let forced =
        "apply --validate=false --server-side --force-conflicts --field-manager=other -f -";
    assert!(
        kubectl
            .run_with_input(forced, &deployment("3"))
            .contains("serverside-applied")
    );

    kubectl.run("label node lin1 tier=web");
    kubectl.run("annotate node lin1 note=x");
    kubectl.run("taint node lin1 os=windows:NoSchedule");
    kubectl.run("cordon lin1");
    let nodes = kubectl.run("get nodes -l tier=web");
    assert_eq!(row(&nodes, "lin1")[1], "Ready,SchedulingDisabled");
    let taints = kubectl.run("get node lin1 -o jsonpath={.spec.taints[*].key}");
    assert!(taints.contains("os"), "{taints}");
    kubectl.run("uncordon lin1");
    kubectl.run("taint node lin1 os=windows:NoSchedule-");
    kubectl.run("drain lin1 --ignore-daemonsets");

    kubectl.run("delete namespace shop");
    let error = kubectl.run_failing("get -n shop deploy web");
    assert!(error.contains("namespaces \"shop\" not found"), "{error}");
    let error = kubectl.run_failing("get persistentvolumes");
    assert!(
        error.contains("the server doesn't have a resource type"),
        "{error}"
    );
}

#[test]
#[ignore = "needs go"]
fn watch_prints_changes() {
    let kubectl = Kubectl::start();
    let mut child = kubectl
        .command("get nodes -w")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut wait_for = |text: &str| loop {
        let line = lines.next().expect("kubectl ended its watch").unwrap();
        if line.contains(text) {
            return line;
        }
    };
    wait_for("lin1");
    kubectl.run("cordon lin1");
    assert!(wait_for("SchedulingDisabled").starts_with("lin1"));
    child.kill().unwrap();
    child.wait().unwrap();
}
