//! kubectl, unchanged, against the embedded API server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use casement_lab::control_plane::parts;
use casement_lab::progress::Progress;
use casement_lab::state::places::Places;
use casement_sim::api_server::{self, Flannel, Running, Seed, SeedNode};

struct Kubectl {
    _api: Running,
    folder: tempfile::TempDir,
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
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("admin.conf"), api.kubeconfig()).unwrap();
        Self {
            _api: api,
            folder,
            program: program(),
        }
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(self.folder.path().join("admin.conf"))
            .arg("--cache-dir")
            .arg(self.folder.path().join("cache"))
            .args(words.split_whitespace());
        command
    }

    /// What it prints; it must succeed.
    fn says(&self, words: &str) -> String {
        let output = self.command(words).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "kubectl {words}: {told}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it complains of; it must fail.
    fn complains(&self, words: &str) -> String {
        let output = self.command(words).output().unwrap();
        assert!(!output.status.success(), "kubectl {words} succeeded");
        String::from_utf8(output.stderr).unwrap()
    }

    fn applies(&self, words: &str, manifest: &str) -> String {
        let mut child = self
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(manifest.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "kubectl {words}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The lab's own build of it, made now if need be.
fn program() -> PathBuf {
    static PARTS: LazyLock<PathBuf> = LazyLock::new(|| {
        let places = Places::of_this_user().unwrap();
        parts::ensure(places.cache(), &Progress::new()).unwrap()
    });
    PARTS.join("linux/kubectl")
}

/// The words of the line that starts with a name.
fn row(table: &str, name: &str) -> Vec<String> {
    let line = table
        .lines()
        .find(|line| line.split_whitespace().any(|word| word == name));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{table}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
#[ignore = "needs go"]
fn get_shows_tables_of_every_kind() {
    let kubectl = Kubectl::start();
    let nodes = kubectl.says("get nodes -o wide");
    let header = "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION \
                  CONTAINER-RUNTIME";
    let first = nodes.lines().next().unwrap();
    assert_eq!(
        first.split_whitespace().collect::<Vec<_>>().join(" "),
        header
    );
    let row_of = row(&nodes, "cp1");
    assert_eq!(row_of[1..3], ["Ready", "control-plane"]);
    assert!(row_of.contains(&"198.18.0.10".to_owned()), "{nodes}");

    let all = kubectl.says("get ds,cm,csr,svc,deploy,sa,ns,secrets,leases,pods -A");
    let set = row(&all, "daemonset.apps/kube-flannel-ds");
    assert_eq!(set[0], "kube-flannel");
    let set = row(&all, "daemonset.apps/kube-proxy");
    assert!(set.contains(&"kubernetes.io/os=linux".to_owned()), "{all}");
    assert_eq!(row(&all, "configmap/kubeadm-config")[2], "1");
    let dns = row(&all, "service/kube-dns");
    assert!(dns.contains(&"53/UDP,53/TCP".to_owned()), "{all}");
    kubectl.says("get clusterroles,clusterrolebindings,roles,rolebindings,runtimeclasses -A");
    assert_eq!(kubectl.says("get no lin1 -o name"), "node/lin1\n");
    let path = "jsonpath={.spec.podCIDR}";
    assert_eq!(
        kubectl.says(&format!("get node lin1 -o {path}")),
        "10.244.1.0/24"
    );
    kubectl.says("get all -A");
}

#[test]
#[ignore = "needs go"]
fn describe_tells_of_a_node_with_its_lease_pods_and_events() {
    let kubectl = Kubectl::start();
    kubectl.says("run p --image=example.invalid/p --overrides={\"spec\":{\"nodeName\":\"lin1\"}}");
    kubectl.applies(
        "create --validate=false -f -",
        r#"{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Node", "name": "lin1", "uid": "lin1"},
            "reason": "Tested", "message": "by kubectl", "type": "Normal"}"#,
    );
    let told = kubectl.says("describe node lin1");
    for words in [
        "HolderIdentity:  lin1",
        "KubeletReady",
        "PodCIDR:                      10.244.1.0/24",
        "Non-terminated Pods:          (1 in total)",
        "Tested",
    ] {
        assert!(told.contains(words), "no `{words}` in\n{told}");
    }
    for what in [
        "ds/kube-proxy",
        "cm/kube-proxy",
        "svc/kube-dns",
        "deploy/coredns",
        "sa/default",
    ] {
        kubectl.says(&format!("describe -n kube-system {what}"));
    }
}

#[test]
#[ignore = "needs go"]
fn objects_are_applied_labelled_cordoned_tainted_and_deleted() {
    let kubectl = Kubectl::start();
    let space = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}"#;
    kubectl.applies("create --validate=false -f -", space);
    let deployment = |image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\n\
             spec:\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    \
             metadata: {{labels: {{app: web}}}}\n    spec:\n      \
             containers: [{{name: web, image: 'example.invalid/web:{image}'}}]\n"
        )
    };
    let apply = "apply --validate=false -f -";
    assert!(kubectl.applies(apply, &deployment("1")).contains("created"));
    assert!(
        kubectl
            .applies(apply, &deployment("1"))
            .contains("unchanged")
    );
    assert!(
        kubectl
            .applies(apply, &deployment("2"))
            .contains("configured")
    );
    let path = "jsonpath={.spec.template.spec.containers[*].image}";
    let image = kubectl.says(&format!("get -n shop deploy web -o {path}"));
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
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("conflict with \"kubectl-client-side-apply\""),
        "{told}"
    );
    let forced =
        "apply --validate=false --server-side --force-conflicts --field-manager=other -f -";
    assert!(
        kubectl
            .applies(forced, &deployment("3"))
            .contains("serverside-applied")
    );

    kubectl.says("label node lin1 tier=web");
    kubectl.says("annotate node lin1 note=x");
    kubectl.says("taint node lin1 os=windows:NoSchedule");
    kubectl.says("cordon lin1");
    let nodes = kubectl.says("get nodes -l tier=web");
    assert_eq!(row(&nodes, "lin1")[1], "Ready,SchedulingDisabled");
    let taints = kubectl.says("get node lin1 -o jsonpath={.spec.taints[*].key}");
    assert!(taints.contains("os"), "{taints}");
    kubectl.says("uncordon lin1");
    kubectl.says("taint node lin1 os=windows:NoSchedule-");
    kubectl.says("drain lin1 --ignore-daemonsets");

    kubectl.says("delete namespace shop");
    let told = kubectl.complains("get -n shop deploy web");
    assert!(told.contains("namespaces \"shop\" not found"), "{told}");
    let told = kubectl.complains("get persistentvolumes");
    assert!(
        told.contains("the server doesn't have a resource type"),
        "{told}"
    );
}

#[test]
#[ignore = "needs go"]
fn a_watch_prints_what_comes() {
    let kubectl = Kubectl::start();
    let mut child = kubectl
        .command("get nodes -w")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |word: &str| loop {
        let line = lines.next().expect("kubectl watches on").unwrap();
        if line.contains(word) {
            return line;
        }
    };
    until("lin1");
    kubectl.says("cordon lin1");
    assert!(until("SchedulingDisabled").starts_with("lin1"));
    child.kill().unwrap();
    child.wait().unwrap();
}
