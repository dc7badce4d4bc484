//! Joins a Windows host manually, over SSH and SFTP only, as a person with a list of
//! commands would do it.

use std::fs;
use std::path::PathBuf;

use crate::lab_fixture::{Lab, eventually, succeed};

const POD_NETWORK: &str = "10.244.0.0/16";
const SERVICE_NETWORK: &str = "10.96.0.0/16";
const CONTAINERD: &str = r"C:\Program Files\containerd";

pub struct Node<'a> {
    pub lab: &'a Lab,
    pub name: &'static str,
    pub address: String,
    registry: String,
}

impl<'a> Node<'a> {
    pub fn new(lab: &'a Lab, name: &'static str) -> Self {
        Self {
            lab,
            name,
            address: lab.address(name),
            registry: format!("{}:5000", lab.address("control-plane")),
        }
    }

    fn cmd(&self, line: &str) -> String {
        self.lab.cmd(self.name, line)
    }

    fn put(&self, path: &str, content: &str) {
        self.lab.put(self.name, path, content);
    }

    pub fn join(&self, token: &str, hash: &str) {
        self.copy_programs();
        self.start_containerd();
        self.join_with_kubeadm(token, hash);
        let network = self.pod_network();
        self.create_network(&network);
        self.start_kube_proxy();
    }

    fn copy_programs(&self) {
        let folders = [
            r"C:\k",
            r"C:\etc\kubernetes",
            r"C:\var\lib\kubelet",
            &format!(r"{CONTAINERD}\cni\bin"),
            &format!(r"{CONTAINERD}\cni\conf"),
            &format!(r"{CONTAINERD}\certs.d\{}", self.registry_folder()),
        ];
        let make = folders.map(|folder| format!("mkdir \"{folder}\""));
        self.cmd(&make.join(" & "));
        let record = fs::read_to_string(self.lab.folder().join("lab.json")).unwrap();
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        let folder = |name: &str| PathBuf::from(record[name].as_str().unwrap());
        let parts = folder("parts").join("windows");
        let mut batch = String::new();
        let containerd = "/C:/Program Files/containerd";
        for (from, to) in [
            (parts.join("kubelet.exe"), "/C:/k/kubelet.exe".to_owned()),
            (parts.join("kubeadm.exe"), "/C:/k/kubeadm.exe".to_owned()),
            (
                parts.join("kube-proxy.exe"),
                "/C:/k/kube-proxy.exe".to_owned(),
            ),
            (
                parts.join("containerd.exe"),
                format!("{containerd}/containerd.exe"),
            ),
            (parts.join("ctr.exe"), format!("{containerd}/ctr.exe")),
            (
                folder("windows").join("containerd-shim-runhcs-v1.exe"),
                format!("{containerd}/containerd-shim-runhcs-v1.exe"),
            ),
            (
                parts.join("win-bridge.exe"),
                format!("{containerd}/cni/bin/win-bridge.exe"),
            ),
            (
                parts.join("host-local.exe"),
                format!("{containerd}/cni/bin/host-local.exe"),
            ),
            (
                self.lab.folder().join("registry-ca.crt"),
                format!("{containerd}/registry-ca.crt"),
            ),
        ] {
            batch += &format!("put {} \"{to}\"\n", from.display());
        }
        self.lab.sftp(self.name, &batch);
    }

    /// containerd's folder name for a registry with a port on Windows.
    fn registry_folder(&self) -> String {
        format!("{}_", self.registry.replace(':', "_"))
    }

    fn start_containerd(&self) {
        let registry = &self.registry;
        self.put(
            "/C:/Program Files/containerd/config.toml",
            &format!(
                "version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{registry}/pause:3.10.2'
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = '{CONTAINERD}\\certs.d'
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['{CONTAINERD}\\cni\\bin']
conf_dir = '{CONTAINERD}\\cni\\conf'
"
            ),
        );
        self.put(
            &format!(
                "/C:/Program Files/containerd/certs.d/{}/hosts.toml",
                self.registry_folder()
            ),
            &format!(
                "server = 'https://{registry}'
[host.'https://{registry}']
capabilities = ['pull', 'resolve']
ca = '{CONTAINERD}\\registry-ca.crt'
"
            ),
        );
        self.cmd(&format!(
            "\"{CONTAINERD}\\containerd.exe\" --register-service --log-file C:\\k\\containerd.log"
        ));
        self.cmd("sc start containerd");
        let version = self.cmd(&format!("\"{CONTAINERD}\\ctr.exe\" version"));
        assert!(version.contains("Server:"), "{version}");
    }

    fn join_with_kubeadm(&self, token: &str, hash: &str) {
        let (name, address) = (self.name, &self.address);
        let server = self.lab.address("control-plane");
        self.put(
            "/C:/k/join.yaml",
            &format!(
                "apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    apiServerEndpoint: '{server}:6443'
    token: '{token}'
    caCertHashes: ['{hash}']
nodeRegistration:
  name: {name}
  criSocket: npipe:////./pipe/containerd-containerd
"
            ),
        );
        let arguments = [
            "--windows-service",
            r"--bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf",
            r"--kubeconfig=C:\etc\kubernetes\kubelet.conf",
            r"--config=C:\var\lib\kubelet\config.yaml",
            r"--cert-dir=C:\var\lib\kubelet\pki",
            "--register-with-taints=os=windows:NoSchedule",
            &format!("--hostname-override={name}"),
            &format!("--node-ip={address}"),
        ];
        let program = format!(r"C:\k\kubelet.exe {}", arguments.join(" "));
        self.cmd(&format!(
            "sc create kubelet binPath= \"{program}\" start= auto"
        ));
        let joined = self.cmd(
            r"cd /d C:\ & set PATH=%PATH%;C:\k& C:\k\kubeadm.exe join --config C:\k\join.yaml",
        );
        assert!(
            joined.contains("This node has joined the cluster"),
            "{joined}"
        );
    }

    /// The pod CIDR that the control plane assigned to the Node.
    pub fn pod_network(&self) -> String {
        eventually("the Node has a pod network", 30, || {
            // The kubelet may register shortly after kubeadm reports the join.
            let path = "--output=jsonpath={.spec.podCIDR}";
            let args = ["get", "node", self.name, "--ignore-not-found", path];
            let network = self.lab.kubectl(&args);
            (!network.is_empty()).then_some(network)
        })
    }

    fn create_network(&self, network: &str) {
        let base = network.strip_suffix(".0/24").unwrap();
        self.put(
            "/C:/k/network.json",
            &format!(
                r#"{{"Name":"cbr0","Type":"L2Bridge","Subnets":[{{"AddressPrefix":"{network}","GatewayAddress":"{base}.1"}}]}}"#
            ),
        );
        // This drops the connection it is sent over.
        let line = r"C:\lab\hnscall.exe POST /networks/ C:\k\network.json";
        let _ = self.lab.ssh("Administrator", self.name, line).output();
        let id = eventually("the host is reachable through its new switch", 30, || {
            let line = r"C:\lab\hnscall.exe GET /networks/";
            let output = self
                .lab
                .ssh("Administrator", self.name, line)
                .output()
                .ok()?;
            let answer: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
            Some(answer["Output"][0]["ID"].as_str()?.to_owned())
        });
        self.create_gateway(&id, base);
        self.put(
            "/C:/Program Files/containerd/cni/conf/10-cbr0.conflist",
            &self.cni_configuration(network, base),
        );
    }

    /// win-bridge gives pods the network's second address as their gateway.
    fn create_gateway(&self, network_id: &str, base: &str) {
        self.put(
            "/C:/k/endpoint.json",
            &format!(
                r#"{{"Name":"cbr0_ep","IPAddress":"{base}.2","VirtualNetwork":"{network_id}"}}"#
            ),
        );
        self.put(
            "/C:/k/attach.json",
            r#"{"SystemType":"Host","CompartmentId":1}"#,
        );
        let created = self.cmd(r"C:\lab\hnscall.exe POST /endpoints/ C:\k\endpoint.json");
        let created: serde_json::Value = serde_json::from_str(&created).unwrap();
        let id = created["Output"]["ID"].as_str().unwrap();
        self.cmd(&format!(
            r"C:\lab\hnscall.exe POST /endpoints/{id}/attach C:\k\attach.json"
        ));
    }

    fn cni_configuration(&self, network: &str, base: &str) -> String {
        let policy = |value: serde_json::Value| serde_json::json!({"name": "EndpointPolicy", "value": value});
        serde_json::json!({
            "cniVersion": "1.0.0",
            "name": "cbr0",
            "plugins": [{
                "type": "win-bridge",
                "apiVersion": 2,
                "capabilities": {"portMappings": true, "dns": true},
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": network, "rangeStart": format!("{base}.10")}]],
                    "dataDir": r"C:\var\lib\cni",
                },
                "policies": [
                    policy(serde_json::json!({"Type": "OutBoundNAT", "Settings": {
                        "Exceptions": [POD_NETWORK, SERVICE_NETWORK, format!("{}/24", self.address)],
                    }})),
                    policy(serde_json::json!({"Type": "SDNRoute", "Settings": {
                        "DestinationPrefix": SERVICE_NETWORK, "NeedEncap": true,
                    }})),
                ],
            }],
        })
        .to_string()
    }

    fn start_kube_proxy(&self) {
        let (name, address) = (self.name, &self.address);
        self.put(
            "/C:/k/kube-proxy.yaml",
            &format!(
                "apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {{kubeconfig: 'C:\\etc\\kubernetes\\kubelet.conf'}}
hostnameOverride: {name}
bindAddress: {address}
mode: kernelspace
clusterCIDR: {POD_NETWORK}
windowsRunAsService: true
winkernel: {{networkName: cbr0}}
"
            ),
        );
        let user = format!("--user=system:node:{name}");
        let binding = format!("node-proxier-{name}");
        self.lab.kubectl(&[
            "create",
            "clusterrolebinding",
            &binding,
            "--clusterrole=system:node-proxier",
            &user,
        ]);
        let program = r"C:\k\kube-proxy.exe --config=C:\k\kube-proxy.yaml --windows-service";
        self.cmd(&format!(
            "sc create kube-proxy binPath= \"{program}\" start= auto & sc start kube-proxy"
        ));
    }

    /// The addresses and ports for which HNS has load balancers.
    pub fn load_balancers(&self) -> Vec<String> {
        let answer = self.cmd(r"C:\lab\hnscall.exe GET /policylists/");
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let lists = answer["Output"].as_array().unwrap();
        let policies = lists.iter().map(|list| &list["Policies"][0]);
        policies
            .map(|policy| {
                format!(
                    "{}:{}",
                    policy["VIPs"][0].as_str().unwrap_or("*"),
                    policy["ExternalPort"]
                )
            })
            .collect()
    }
}

/// A bootstrap token and the hash of the cluster's CA.
pub fn join_data(lab: &Lab) -> (String, String) {
    let exec = ["exec", "control-plane", "--"];
    let create = [
        "kubeadm",
        "token",
        "create",
        "--ttl=1h",
        "--kubeconfig=/etc/kubernetes/admin.conf",
    ];
    let token = lab.run(&[&exec[..], &create].concat());
    let script = "openssl x509 -in /etc/kubernetes/pki/ca.crt -pubkey -noout \
                  | openssl pkey -pubin -outform der | sha256sum";
    let hash = succeed(&mut lab.command(&[&exec[..], &["sh", "-c", script]].concat()));
    let hash = hash.split_whitespace().next().unwrap().to_owned();
    (token.trim().to_owned(), format!("sha256:{hash}"))
}
