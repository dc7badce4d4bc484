//! A model of `kubeadm join`: verifies the cluster's CA by its pin, writes the kubelet's
//! files, starts the kubelet and requests its certificate.
//!
//! Preflight checks and the signature of `cluster-info` are not modeled.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_node::platform::{Program, ProgramExit, Services as _};
use casement_node::sim::{Sim, World};
use casement_resource::HostPath;
use casement_resource::host_paths::KUBEADM_FLAGS;
use casement_resource::service_names::KUBELET;
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use x509_parser::pem::parse_x509_pem;

use super::client::{Client, Credentials};
use super::kubelet::{self, KubeletState};
use crate::host::disk;

pub(crate) const CSR_PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// `None` if `program` is not `kubeadm join`.
pub(crate) fn run(sim: &Sim, program: &Program, runtime: &Handle) -> Option<ProgramExit> {
    let [name, verb, flag, file] = program.arguments.as_slice() else {
        return None;
    };
    let file_name = name.rsplit(['\\', '/']).next()?;
    if file_name.trim_end_matches(".exe") != "kubeadm" || verb != "join" || flag != "--config" {
        return None;
    }
    let result = Join::read(sim, name, file).and_then(|join| runtime.block_on(join.execute(sim)));
    Some(match result {
        Ok(()) => exit(0, "This node has joined the cluster:\n"),
        Err(error) => exit(1, &format!("error execution phase {error}\n")),
    })
}

fn exit(code: i32, output: &str) -> ProgramExit {
    ProgramExit {
        code: Some(code),
        output: output.to_owned(),
    }
}

struct Join {
    dir: HostPath,
    kubelet: HostPath,
    server: String,
    token: String,
    pins: Vec<String>,
    node: String,
    arguments: Vec<(String, String)>,
    /// Fields that override the cluster's kubelet configuration.
    patch: Value,
}

impl Join {
    fn read(sim: &Sim, program: &str, file: &str) -> Result<Self, String> {
        let world = sim.world();
        if disk::version_of(&world, program).is_none() {
            return Err(format!("preflight: `{program}` is not a valid program"));
        }
        let configuration = disk::text(&world, file);
        let configuration = configuration.ok_or("preflight: couldn't read the config file")?;
        let configuration: Value =
            serde_json::from_str(&configuration).map_err(|error| format!("preflight: {error}"))?;
        let discovery = &configuration["discovery"]["bootstrapToken"];
        let node = &configuration["nodeRegistration"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let path: HostPath = file.parse().map_err(|_| "preflight: invalid path")?;
        let dir = path.parent().ok_or("preflight: invalid path")?;
        let kubelet = match dir.is_windows() {
            true => r"C:\var\lib\kubelet",
            false => "/var/lib/kubelet",
        };
        let conf = join_path(&dir, "kubelet.conf")?;
        if world.entries.contains_key(&conf) {
            return Err(format!("preflight: {conf} already exists"));
        }
        Ok(Self {
            kubelet: kubelet.parse().map_err(|_| "preflight: invalid path")?,
            dir,
            server: text(&discovery["apiServerEndpoint"]),
            token: text(&discovery["token"]),
            pins: serde_json::from_value(discovery["caCertHashes"].clone()).unwrap_or_default(),
            node: text(&node["name"]),
            arguments: arguments(&node["kubeletExtraArgs"]),
            patch: read_patch(&world, &configuration["patches"]["directory"]),
        })
    }

    async fn execute(&self, sim: &Sim) -> Result<(), String> {
        let ca = self.discover().await?;
        let bootstrap_client = Client::new(&self.server, &ca, &Credentials::Token(&self.token))?;
        let path = "/api/v1/namespaces/kube-system/configmaps/kubelet-config";
        let configuration = bootstrap_client.get(path).await;
        let configuration = configuration.map_err(|error| format!("kubelet-start: {error}"))?;
        let configuration = configuration["data"]["kubelet"]
            .as_str()
            .unwrap_or_default();
        disk::write(sim, &join_path(&self.dir, "pki/ca.crt")?, &ca);
        disk::write(sim, &join_path(&self.dir, "bootstrap-kubelet.conf")?, "");
        let configuration = apply_patch(configuration, &self.patch);
        disk::write(
            sim,
            &join_path(&self.kubelet, "config.yaml")?,
            &configuration,
        );
        disk::write(
            sim,
            &join_path(&self.kubelet, KUBEADM_FLAGS)?,
            &self.flags(),
        );
        let started = sim.start_service(KUBELET);
        started.map_err(|failure| format!("kubelet-start: {}", failure.message))?;
        if let KubeletState::Exits(error) = kubelet::evaluate(&sim.world()) {
            kubelet::stop(sim, &error);
            return Err(format!(
                "wait-control-plane: the kubelet is not running; last log message: {error}"
            ));
        }
        let (certificate, key) = self.certificate(&bootstrap_client).await?;
        let pem = format!("{certificate}{key}");
        disk::write(
            sim,
            &join_path(&self.kubelet, "pki/kubelet-client-current.pem")?,
            &pem,
        );
        disk::write(sim, &join_path(&self.dir, "kubelet.conf")?, &self.conf(&ca));
        sim.modify_world(|world| {
            if let Ok(path) = join_path(&self.dir, "bootstrap-kubelet.conf") {
                world.entries.remove(&path);
            }
        });
        Ok(())
    }

    /// The cluster's CA, trusted because its pin matches.
    async fn discover(&self) -> Result<String, String> {
        let anonymous = Client::without_verification(&self.server)?;
        let path = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
        let info = anonymous.get(path).await;
        let info = info.map_err(|error| format!("preflight: cluster-info: {error}"))?;
        let info = info["data"]["kubeconfig"].as_str().unwrap_or_default();
        let key = "certificate-authority-data:";
        let ca = info
            .lines()
            .find_map(|line| line.trim().strip_prefix(key))
            .and_then(|text| STANDARD.decode(text.trim()).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let ca = ca.ok_or("preflight: cluster-info contains no CA")?;
        let pin = pin(&ca).ok_or("preflight: the cluster's CA is not a valid certificate")?;
        if self.pins.contains(&pin) {
            return Ok(ca);
        }
        Err(format!(
            "preflight: none of the public keys \"{pin}\" are pinned; expected {}",
            self.pins.join(", ")
        ))
    }

    async fn certificate(&self, bootstrap_client: &Client) -> Result<(String, String), String> {
        let failed = |error: String| format!("kubelet-start: {error}");
        let (object, key) = certificate_request(&self.node).map_err(failed)?;
        let created = bootstrap_client.send("POST", CSR_PATH, &object).await;
        let created = created.map_err(failed)?;
        let name = created["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{CSR_PATH}/{name}");
        for _ in 0..600 {
            let seen = bootstrap_client.get(&path).await.map_err(failed)?;
            let signed = seen["status"]["certificate"].as_str();
            let signed = signed.and_then(|text| STANDARD.decode(text).ok());
            if let Some(pem) = signed.and_then(|bytes| String::from_utf8(bytes).ok()) {
                return Ok((pem, key));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(failed(format!(
            "certificate request `{name}` was not approved within 60 s"
        )))
    }

    fn flags(&self) -> String {
        let flags = self.arguments.iter();
        let flags = flags.map(|(name, value)| format!("--{name}={value}"));
        let flags: Vec<String> = flags.collect();
        format!("KUBELET_KUBEADM_ARGS=\"{}\"\n", flags.join(" "))
    }

    fn conf(&self, ca: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    \
             certificate-authority-data: {}\n    server: https://{}\n  name: default\n",
            STANDARD.encode(ca),
            self.server,
        )
    }
}

/// A kubelet's request for its client certificate, and the private key.
pub(crate) fn certificate_request(node: &str) -> Result<(Value, String), String> {
    let key = KeyPair::generate().map_err(|error| error.to_string())?;
    let mut request = CertificateParams::default();
    request.distinguished_name = rcgen::DistinguishedName::new();
    let name = format!("system:node:{}", node.to_lowercase());
    request.distinguished_name.push(DnType::CommonName, name);
    let nodes = "system:nodes";
    request
        .distinguished_name
        .push(DnType::OrganizationName, nodes);
    let request = request
        .serialize_request(&key)
        .and_then(|created| created.pem());
    let request = request.map_err(|error| error.to_string())?;
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"},
        "spec": {
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
            "request": STANDARD.encode(request),
        },
    });
    Ok((object, key.serialize_pem()))
}

/// `kubeletExtraArgs` in either form: a map (v1beta3) or a list of name and value.
fn arguments(value: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match value {
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), text(v))).collect(),
        Value::Array(list) => list
            .iter()
            .map(|it| (text(&it["name"]), text(&it["value"])))
            .collect(),
        _ => Vec::new(),
    }
}

/// The kubelet configuration patch in the patches directory.
fn read_patch(world: &World, dir: &Value) -> Value {
    let files = disk::files_in(world, dir.as_str().unwrap_or_default(), &[".json"]);
    let mut files = files.iter();
    let file = files.find(|path| path.file_name().starts_with("kubeletconfiguration"));
    let text = file.and_then(|path| disk::text(world, path.as_str()));
    let patch = text.and_then(|text| serde_json::from_str(&text).ok());
    patch.unwrap_or(Value::Null)
}

/// The cluster's configuration with top-level fields replaced by the patch.
fn apply_patch(configuration: &str, patch: &Value) -> String {
    let Some(patch) = patch.as_object() else {
        return configuration.to_owned();
    };
    let key = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let kept = configuration
        .lines()
        .filter(|line| !patch.contains_key(&key(line)));
    let mut text: String = kept.map(|line| format!("{line}\n")).collect();
    for (field, value) in patch {
        text += &format!("{field}: {value}\n");
    }
    text
}

fn join_path(dir: &HostPath, relative: &str) -> Result<HostPath, String> {
    let path = dir.join(relative);
    path.map_err(|error| format!("preflight: {error}"))
}

/// `sha256:…` of the certificate's public key, as in `caCertHashes`.
fn pin(pem: &str) -> Option<String> {
    let (_, pem) = parse_x509_pem(pem.as_bytes()).ok()?;
    let certificate = pem.parse_x509().ok()?;
    let hash = Sha256::digest(certificate.public_key().raw);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256:{hex}"))
}
