//! The control plane: unmodified Kubernetes binaries, configured by kubeadm phases.

pub mod binaries;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::command::{self, command};
use crate::host::init::Supervisor;
use crate::host::rootfs::inside;
use crate::problem::{AtPath, Problem, Result};
use crate::state::record::{CONTROL_PLANE, Host, Record};
use crate::wait;

pub const POD_CIDR: &str = "10.244.0.0/16";
pub const SERVICE_CIDR: &str = "10.96.0.0/16";
pub const REGISTRY_PORT: u16 = 5000;

const ADMIN: &str = "/etc/kubernetes/admin.conf";
const SUPER_ADMIN: &str = "/etc/kubernetes/super-admin.conf";
const CONFIG: &str = "/etc/kubernetes/kubeadm.yaml";
/// Marks that [`publish`] has run; etcd keeps its objects across reboots.
const PUBLISHED: &str = "/etc/kubernetes/published";
const PKI: &str = "/etc/kubernetes/pki";

/// Starts etcd, the Kubernetes components, the image registry and the Linux node.
pub fn start(record: &Record, _host: &Host, supervisor: &mut Supervisor) -> Result<()> {
    let token = bootstrap_token()?;
    configure(record, &token)?;
    supervisor.spawn("etcd", &mut etcd())?;
    supervisor.spawn("kube-apiserver", &mut api_server(record))?;
    wait_ready()?;
    supervisor.spawn("kube-controller-manager", &mut controller_manager())?;
    supervisor.spawn("kube-scheduler", &mut scheduler())?;
    supervisor.spawn(
        "registry",
        &mut command(inside::PROGRAM, ["lab", "registry", "--name", &record.name]),
    )?;
    if !Path::new(PUBLISHED).exists() {
        publish(&token)?;
        fs::write(PUBLISHED, "").at("write", Path::new(PUBLISHED))?;
    }
    supervisor.spawn("neighbour", &mut linux_node(record))?;
    share(ADMIN, "admin.conf")
}

fn program(name: &str) -> Command {
    command::command::<[&str; 0], &str>(&format!("{}/linux/{name}", inside::BINARIES), [])
}

fn configure(record: &Record, token: &str) -> Result<()> {
    let dir = Path::new("/etc/kubernetes");
    fs::create_dir_all(dir).at("create", dir)?;
    let text = kubeadm_configuration(record, token);
    fs::write(CONFIG, text).at("write", Path::new(CONFIG))?;
    for phase in ["certs", "kubeconfig"] {
        kubeadm_phase(&[phase, "all"], None)?;
    }
    Ok(())
}

fn kubeadm_configuration(record: &Record, token: &str) -> String {
    let address = record.control_plane();
    format!(
        "apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: {address}, bindPort: 6443}}
nodeRegistration: {{name: {CONTROL_PLANE}}}
bootstrapTokens:
- token: {token}
  ttl: 1h
  usages: [signing, authentication]
  groups: ['system:bootstrappers:kubeadm:default-node-token']
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: {name}
kubernetesVersion: {version}
controlPlaneEndpoint: {address}:6443
networking: {{podSubnet: {POD_CIDR}, serviceSubnet: {SERVICE_CIDR}}}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
# All lab nodes share one disk, so its usage does not indicate disk pressure.
evictionHard: {{memory.available: 100Mi, nodefs.available: 1Gi, imagefs.available: 1Gi}}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
",
        name = record.name,
        version = binaries::KUBERNETES,
    )
}

fn kubeadm_phase(phase: &[&str], kubeconfig: Option<&str>) -> Result<()> {
    let mut kubeadm = program("kubeadm");
    kubeadm.args(["init", "phase"]).args(phase);
    kubeadm.args(["--config", CONFIG]);
    if let Some(path) = kubeconfig {
        kubeadm.args(["--kubeconfig", path]);
    }
    command::run(&mut kubeadm)
}

fn etcd() -> Command {
    let mut etcd = program("etcd");
    etcd.args([
        "--data-dir=/var/lib/etcd",
        "--listen-client-urls=http://127.0.0.1:2379",
        "--advertise-client-urls=http://127.0.0.1:2379",
        "--listen-peer-urls=http://127.0.0.1:2380",
        // A lab does not need to survive a power failure.
        "--unsafe-no-fsync",
    ]);
    etcd
}

fn api_server(record: &Record) -> Command {
    let mut server = program("kube-apiserver");
    server.arg(format!("--advertise-address={}", record.control_plane()));
    server.arg(format!("--service-cluster-ip-range={SERVICE_CIDR}"));
    for (flag, file) in [
        ("client-ca-file", "ca.crt"),
        ("tls-cert-file", "apiserver.crt"),
        ("tls-private-key-file", "apiserver.key"),
        ("kubelet-client-certificate", "apiserver-kubelet-client.crt"),
        ("kubelet-client-key", "apiserver-kubelet-client.key"),
        ("service-account-key-file", "sa.pub"),
        ("service-account-signing-key-file", "sa.key"),
        ("requestheader-client-ca-file", "front-proxy-ca.crt"),
        ("proxy-client-cert-file", "front-proxy-client.crt"),
        ("proxy-client-key-file", "front-proxy-client.key"),
    ] {
        server.arg(format!("--{flag}={PKI}/{file}"));
    }
    server.args([
        "--etcd-servers=http://127.0.0.1:2379",
        "--secure-port=6443",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--authorization-mode=Node,RBAC",
        "--enable-bootstrap-token-auth=true",
        "--enable-admission-plugins=NodeRestriction",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--allow-privileged=true",
        // The API server cannot resolve the host names of the lab.
        "--kubelet-preferred-address-types=InternalIP",
    ]);
    server
}

fn controller_manager() -> Command {
    let mut manager = program("kube-controller-manager");
    for (flag, file) in [
        ("cluster-signing-cert-file", "ca.crt"),
        ("cluster-signing-key-file", "ca.key"),
        ("root-ca-file", "ca.crt"),
        ("service-account-private-key-file", "sa.key"),
    ] {
        manager.arg(format!("--{flag}={PKI}/{file}"));
    }
    manager.args([
        "--kubeconfig=/etc/kubernetes/controller-manager.conf",
        "--use-service-account-credentials=true",
        "--allocate-node-cidrs=true",
        &format!("--cluster-cidr={POD_CIDR}"),
        &format!("--service-cluster-ip-range={SERVICE_CIDR}"),
        "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
        "--leader-elect=false",
        // Detects the reboot of a lab host sooner than the default of 50 s.
        "--node-monitor-grace-period=20s",
    ]);
    manager
}

fn scheduler() -> Command {
    let mut scheduler = program("kube-scheduler");
    scheduler.args([
        "--kubeconfig=/etc/kubernetes/scheduler.conf",
        "--leader-elect=false",
    ]);
    scheduler
}

fn wait_ready() -> Result<()> {
    let ready = wait::until(Duration::from_secs(60), || {
        let mut kubectl = program("kubectl");
        kubectl.args(["--kubeconfig", SUPER_ADMIN, "get", "--raw", "/readyz"]);
        command::succeeds(&mut kubectl).then_some(())
    });
    ready.ok_or_else(|| {
        let log = fs::read_to_string(format!("{}/log/kube-apiserver.log", inside::HOST));
        Problem::new(
            "CAS-LAB-040",
            "timed out after 60 s: the API server is not ready",
            "see log/kube-apiserver.log and log/etcd.log in the host's directory",
        )
        .detail("output", command::last_lines(&log.unwrap_or_default(), 6))
    })
}

/// Creates what a join needs: `cluster-info`, `kubeadm-config`, `kubelet-config`
/// and the RBAC rules for new nodes. The phase also creates a bootstrap token, which
/// is deleted.
fn publish(token: &str) -> Result<()> {
    kubeadm_phase(&["upload-config", "all"], Some(SUPER_ADMIN))?;
    kubeadm_phase(&["bootstrap-token"], Some(SUPER_ADMIN))?;
    let id = token.split('.').next().unwrap_or_default();
    let secret = format!("bootstrap-token-{id}");
    kubectl(&["--namespace", "kube-system", "delete", "secret", &secret])?;
    // `kubeadm init` does this outside of any phase.
    kubectl(&[
        "create",
        "clusterrolebinding",
        "kubeadm:cluster-admins",
        "--clusterrole=cluster-admin",
        "--group=kubeadm:cluster-admins",
    ])
}

fn kubectl(arguments: &[&str]) -> Result<()> {
    let mut kubectl = program("kubectl");
    kubectl.args(["--kubeconfig", SUPER_ADMIN]).args(arguments);
    command::run(&mut kubectl)
}

fn linux_node(record: &Record) -> Command {
    let mut node = command(inside::PROGRAM, ["lab", "neighbour"]);
    if let Some(host) = record
        .hosts
        .iter()
        .find(|h| h.kind == crate::state::record::HostKind::Linux)
    {
        node.args(["--node", &host.name]);
        node.args(["--address", &record.address(host).to_string()]);
    }
    node
}

fn share(path: &str, name: &str) -> Result<()> {
    let target = Path::new(inside::SHARED).join(name);
    fs::copy(path, &target).at("write", &target).map(drop)
}

fn bootstrap_token() -> Result<String> {
    let hex = crate::random::hex::<11>()?;
    Ok(format!("{}.{}", &hex[..6], &hex[6..22]))
}
