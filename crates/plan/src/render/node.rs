//! `render kubelet`, `kube-proxy`, `containerd`, `services` and `kubeadm`.

use casement_resource::{
    RESTART_FIRST_SECONDS, RESTART_LONGEST_SECONDS, Secret, ServiceDefinition,
};
use casement_spec::WindowsComponents;
use serde::Serialize;

use super::{HostFiles, Named, document, lines};
use crate::containerd::{Containerd, registry_hosts};
use crate::join;
use crate::kube_proxy::KubeProxy;
use crate::release::Runtime;
use crate::services;
use crate::steps::{PlanError, path};

/// A placeholder that kubeadm accepts; a run creates a real token.
const PLACEHOLDER_TOKEN: &str = "000000.0000000000000000";
/// A placeholder for the hash of the cluster's CA.
const PLACEHOLDER_HASH: &str =
    "sha256:0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrderedService {
    order: usize,
    #[serde(flatten)]
    definition: ServiceDefinition,
    recovery: Recovery,
}

/// A program that exits is restarted after an increasing delay.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Recovery {
    restart: &'static str,
    first_seconds: u64,
    longest_seconds: u64,
}

impl HostFiles<'_> {
    pub(super) fn kubelet(&self) -> Vec<Named> {
        let paths = self.kubelet.paths;
        let program = std::iter::once(paths.program("kubelet"));
        let command: Vec<String> = program.chain(self.kubelet.flags()).collect();
        let mut files = vec![lines("command.txt", &command, false)];
        if self.kubelet.is_standalone() {
            let configuration = self.kubelet.configuration();
            files.push(document("config.yaml", &configuration));
        }
        let patch = self.kubelet.patch();
        files.extend(patch.map(|text| ("kubeletconfiguration0+merge.json".to_owned(), text)));
        files
    }

    pub(super) fn kube_proxy(&self) -> Vec<Named> {
        if !self.windows() {
            return Vec::new();
        }
        let kubelet = &self.kubelet;
        let paths = kubelet.paths;
        let kubeconfig = paths.below(&paths.programs, &["kube-proxy.kubeconfig"]);
        let vip = self.pods.map(|pods| pods.host());
        let proxy = KubeProxy::new(
            kubelet.cluster,
            kubelet.host,
            kubelet.release,
            vip,
            &kubeconfig,
        );
        vec![("kube-proxy.json".to_owned(), proxy.text())]
    }

    pub(super) fn containerd(&self) -> Vec<Named> {
        let Some(containerd) = Containerd::of(&self.kubelet) else {
            return Vec::new();
        };
        let mut files = vec![("config.toml".to_owned(), containerd.configuration())];
        let images = &self.kubelet.cluster.spec.images;
        if let (Some(registry), Some(_)) = (&images.registry, &images.ca) {
            let paths = self.kubelet.paths;
            let ca = paths.below(containerd.folder, &["registry-ca.crt"]);
            let text = registry_hosts(registry.host(), &ca);
            files.push(("hosts.toml".to_owned(), text));
        }
        files
    }

    /// Dependencies first.
    pub(super) fn definitions(&self) -> Result<Vec<ServiceDefinition>, PlanError> {
        let kubelet = &self.kubelet;
        let mut all = match kubelet.release.runtime() {
            Runtime::Containerd(_) => vec![services::containerd(kubelet)?],
            Runtime::CriDockerd if self.windows() => {
                services::cri_dockerd(kubelet)?.into_iter().collect()
            }
            Runtime::Dockershim | Runtime::CriDockerd => Vec::new(),
        };
        all.push(services::kubelet(kubelet)?);
        let components = kubelet.cluster.spec.windows.components;
        if self.windows() && components == WindowsComponents::Services {
            all.extend(services::overlay_daemon(kubelet)?);
            all.push(services::kube_proxy(kubelet)?);
        }
        Ok(all)
    }

    pub(super) fn services(&self) -> Result<Vec<Named>, PlanError> {
        let definitions = self.definitions()?.into_iter().enumerate();
        let ordered: Vec<OrderedService> = definitions
            .map(|(index, definition)| OrderedService {
                order: index + 1,
                definition,
                recovery: Recovery {
                    restart: "always",
                    first_seconds: RESTART_FIRST_SECONDS,
                    longest_seconds: if self.windows() {
                        RESTART_LONGEST_SECONDS
                    } else {
                        RESTART_FIRST_SECONDS
                    },
                },
            })
            .collect();
        Ok(vec![document("services.json", &ordered)])
    }

    /// With placeholders for what a run creates.
    pub(super) fn kubeadm(&self) -> Result<Vec<Named>, PlanError> {
        let kubelet = &self.kubelet;
        if kubelet.is_standalone() {
            return Ok(Vec::new());
        }
        let mut join = join::resource(kubelet.cluster, kubelet.host, self.facts)?;
        if join.ca_hashes.is_empty() {
            join.ca_hashes.push(PLACEHOLDER_HASH.to_owned());
        }
        let folder = kubelet.paths.in_kubernetes(&["casement-patches"]);
        let folder = path(&folder)?;
        let patches = (!join.patches.is_empty()).then_some(&folder);
        let token = Secret::new(PLACEHOLDER_TOKEN.to_owned());
        let text = join.configuration(&token, patches);
        Ok(vec![("join.json".to_owned(), text)])
    }
}
