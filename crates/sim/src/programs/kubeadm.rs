//! A model of `kubeadm join`: the cluster is found by its pin, the kubelet's files
//! are written, the kubelet is started, and a certificate is asked for.
//!
//! What a real one checks beyond that (its preflight, the signature of
//! `cluster-info`) is not modelled.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_node::platform::{Ended, Program, Services as _};
use casement_node::sim::{Sim, World};
use casement_resource::HostPath;
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use x509_parser::pem::parse_x509_pem;

use super::client::{Client, Who};
use super::kubelet::{self, Kubelet};
use crate::host::disk;

/// Where requests for certificates are made.
pub(crate) const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Runs it, if it is kubeadm that is started.
pub(crate) fn run(sim: &Sim, program: &Program, runtime: &Handle) -> Option<Ended> {
    let [name, verb, flag, file] = program.arguments.as_slice() else {
        return None;
    };
    let own = name.rsplit(['\\', '/']).next()?;
    if own.trim_end_matches(".exe") != "kubeadm" || verb != "join" || flag != "--config" {
        return None;
    }
    let joined = Join::read(sim, name, file).and_then(|join| runtime.block_on(join.carry_out(sim)));
    Some(match joined {
        Ok(()) => ended(0, "This node has joined the cluster:\n"),
        Err(why) => ended(1, &format!("error execution phase {why}\n")),
    })
}

fn ended(code: i32, output: &str) -> Ended {
    Ended {
        code: Some(code),
        output: output.to_owned(),
    }
}

/// What the configuration asks for.
struct Join {
    folder: HostPath,
    kubelet: HostPath,
    server: String,
    token: String,
    pins: Vec<String>,
    node: String,
    arguments: Vec<(String, String)>,
    /// Fields that the kubelet's configuration gets, whatever the cluster's says.
    patch: Value,
}

impl Join {
    fn read(sim: &Sim, program: &str, file: &str) -> Result<Self, String> {
        let world = sim.world();
        if disk::version_of(&world, program).is_none() {
            return Err(format!("preflight: `{program}` is not a program"));
        }
        let configuration = disk::text(&world, file);
        let configuration = configuration.ok_or("preflight: couldn't read the config file")?;
        let configuration: Value =
            serde_json::from_str(&configuration).map_err(|error| format!("preflight: {error}"))?;
        let discovery = &configuration["discovery"]["bootstrapToken"];
        let node = &configuration["nodeRegistration"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let path: HostPath = file.parse().map_err(|_| "preflight: no such path")?;
        let folder = path.parent().ok_or("preflight: no such path")?;
        let kubelet = match folder.is_windows() {
            true => r"C:\var\lib\kubelet",
            false => "/var/lib/kubelet",
        };
        let conf = below(&folder, "kubelet.conf")?;
        if world.entries.contains_key(&conf) {
            return Err(format!("preflight: {conf} already exists"));
        }
        Ok(Self {
            kubelet: kubelet.parse().map_err(|_| "preflight: no such path")?,
            folder,
            server: text(&discovery["apiServerEndpoint"]),
            token: text(&discovery["token"]),
            pins: serde_json::from_value(discovery["caCertHashes"].clone()).unwrap_or_default(),
            node: text(&node["name"]),
            arguments: arguments(&node["kubeletExtraArgs"]),
            patch: patch(&world, &configuration["patches"]["directory"]),
        })
    }

    async fn carry_out(&self, sim: &Sim) -> Result<(), String> {
        let ca = self.discover().await?;
        let bearer = Client::new(&self.server, &ca, &Who::Token(&self.token))?;
        let path = "/api/v1/namespaces/kube-system/configmaps/kubelet-config";
        let configuration = bearer.get(path).await;
        let configuration = configuration.map_err(|why| format!("kubelet-start: {why}"))?;
        let configuration = configuration["data"]["kubelet"]
            .as_str()
            .unwrap_or_default();
        disk::put(sim, &below(&self.folder, "pki/ca.crt")?, &ca);
        disk::put(sim, &below(&self.folder, "bootstrap-kubelet.conf")?, "");
        let configuration = patched(configuration, &self.patch);
        disk::put(sim, &below(&self.kubelet, "config.yaml")?, &configuration);
        disk::put(
            sim,
            &below(&self.kubelet, "kubeadm-flags.env")?,
            &self.flags(),
        );
        let started = sim.start_service("kubelet");
        started.map_err(|failure| format!("kubelet-start: {}", failure.what))?;
        if let Kubelet::Exits(why) = kubelet::verdict(&sim.world()) {
            kubelet::end(sim, &why);
            return Err(format!(
                "wait-control-plane: the kubelet is not running; its log says: {why}"
            ));
        }
        let (certificate, key) = self.certificate(&bearer).await?;
        let pem = format!("{certificate}{key}");
        disk::put(
            sim,
            &below(&self.kubelet, "pki/kubelet-client-current.pem")?,
            &pem,
        );
        disk::put(sim, &below(&self.folder, "kubelet.conf")?, &self.conf(&ca));
        sim.meddle(|world| {
            if let Ok(path) = below(&self.folder, "bootstrap-kubelet.conf") {
                world.entries.remove(&path);
            }
        });
        Ok(())
    }

    /// The cluster's CA, believed because its pin is the one that was given.
    async fn discover(&self) -> Result<String, String> {
        let anybody = Client::trusting(&self.server)?;
        let path = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
        let info = anybody.get(path).await;
        let info = info.map_err(|why| format!("preflight: cluster-info: {why}"))?;
        let info = info["data"]["kubeconfig"].as_str().unwrap_or_default();
        let key = "certificate-authority-data:";
        let ca = info
            .lines()
            .find_map(|line| line.trim().strip_prefix(key))
            .and_then(|text| STANDARD.decode(text.trim()).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let ca = ca.ok_or("preflight: cluster-info holds no CA")?;
        let pin = pin(&ca).ok_or("preflight: the cluster's CA is no certificate")?;
        if self.pins.contains(&pin) {
            return Ok(ca);
        }
        Err(format!(
            "preflight: none of the public keys \"{pin}\" are pinned; expected {}",
            self.pins.join(", ")
        ))
    }

    async fn certificate(&self, bearer: &Client) -> Result<(String, String), String> {
        let failed = |why: String| format!("kubelet-start: {why}");
        let (object, key) = request(&self.node).map_err(failed)?;
        let made = bearer.send("POST", REQUESTS, &object).await;
        let made = made.map_err(failed)?;
        let name = made["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{REQUESTS}/{name}");
        for _ in 0..600 {
            let seen = bearer.get(&path).await.map_err(failed)?;
            let signed = seen["status"]["certificate"].as_str();
            let signed = signed.and_then(|text| STANDARD.decode(text).ok());
            if let Some(pem) = signed.and_then(|bytes| String::from_utf8(bytes).ok()) {
                return Ok((pem, key));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(failed(format!(
            "nobody has approved the request `{name}` for a minute"
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

/// A kubelet's request for its client certificate, and the key that it is for.
pub(crate) fn request(node: &str) -> Result<(Value, String), String> {
    let key = KeyPair::generate().map_err(|error| error.to_string())?;
    let mut request = CertificateParams::default();
    request.distinguished_name = rcgen::DistinguishedName::new();
    let name = format!("system:node:{}", node.to_lowercase());
    request.distinguished_name.push(DnType::CommonName, name);
    let nodes = "system:nodes";
    request
        .distinguished_name
        .push(DnType::OrganizationName, nodes);
    let request = request.serialize_request(&key).and_then(|made| made.pem());
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

/// `kubeletExtraArgs` in the form of every version: a map, or names with values.
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

/// What lies in the folder of patches for the kubelet's configuration.
fn patch(world: &World, folder: &Value) -> Value {
    let files = disk::files_in(world, folder.as_str().unwrap_or_default(), &[".json"]);
    let mut files = files.iter();
    let file = files.find(|path| path.file_name().starts_with("kubeletconfiguration"));
    let text = file.and_then(|path| disk::text(world, path.as_str()));
    let patch = text.and_then(|text| serde_json::from_str(&text).ok());
    patch.unwrap_or(Value::Null)
}

/// The cluster's configuration with the patch laid over its first level.
fn patched(configuration: &str, patch: &Value) -> String {
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

fn below(folder: &HostPath, relative: &str) -> Result<HostPath, String> {
    let path = folder.join(relative);
    path.map_err(|error| format!("preflight: {error}"))
}

/// `sha256:…` of the key in a certificate.
fn pin(pem: &str) -> Option<String> {
    let (_, pem) = parse_x509_pem(pem.as_bytes()).ok()?;
    let certificate = pem.parse_x509().ok()?;
    let hash = Sha256::digest(certificate.public_key().raw);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256:{hex}"))
}
