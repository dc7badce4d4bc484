//! [`ClusterApi`] over a real cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use casement_catalog::{WINDOWS, WindowsRelease, windows_of_build, windows_of_os};
use casement_cluster::{
    AccessError, BootstrapTokenRequest, ChangeMethod, ClusterChange, ClusterClient, ClusterError,
    JoiningNode, NodeState, NodeTaint, ObservedCluster, PERMISSIONS, RestoredField,
    calico_permissions, flannel_permissions, host_process_permissions, host_process_refs,
    node_proxier_binding, node_proxier_binding_ref, overlay_binding, overlay_binding_ref,
    overlay_role, overlay_role_ref, runtime_class, runtime_class_ref,
};
use casement_plan::{ClusterFacts, NodeFacts, host_process};
use casement_resource::Secret;
use casement_spec::{Cluster, Taint, WindowsComponents};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::cluster_api::{ClusterApi, Token};
use crate::error::RunError;
use crate::preflight::{calico, preflight};

/// How long a kubelet may take to register its Node.
const REGISTER_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a Node may take to become Ready after its network was configured.
const READY_TIMEOUT: Duration = Duration::from_secs(300);
/// Longer than most termination grace periods.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(180);
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Tokens are used within minutes; slow hosts need some margin.
const TOKEN_LIFETIME: Duration = Duration::from_secs(1800);

#[derive(Clone)]
pub struct KubeApi {
    pub cluster: ClusterClient,
    /// Marks the bootstrap tokens of this run.
    pub run: String,
}

impl KubeApi {
    /// Observes the cluster with an account that has every permission for this file.
    ///
    /// # Errors
    /// Every missing permission, also where one of them keeps the cluster from being read.
    pub async fn observe_permitted(&self, spec: &Cluster) -> Result<ObservedCluster, RunError> {
        let observed = match self.cluster.observe().await {
            Err(error @ ClusterError::Access(AccessError::Forbidden { .. })) => {
                self.check_permissions(spec, None).await?;
                return Err(error.into());
            }
            observed => observed?,
        };
        self.check_permissions(spec, Some(&observed)).await?;
        Ok(observed)
    }

    /// The pending changes of the cluster's objects; those that interrupt pods come last.
    ///
    /// # Errors
    /// [`RunError::PreflightFailed`] with every problem, before anything is changed.
    pub async fn changes(
        &self,
        spec: &Cluster,
        builds: &BTreeSet<u32>,
        facts: &ObservedCluster,
    ) -> Result<Vec<ClusterChange>, RunError> {
        let overlay = spec.spec.network.mode().is_flannel();
        let flannel = match overlay {
            true => self.cluster.flannel(facts).await?,
            false => None,
        };
        let mut problems = preflight(spec, facts, flannel.as_ref());
        if spec.spec.network.mode().is_calico() {
            problems.extend(calico::preflight(spec, &self.cluster.calico().await?));
        }
        if !problems.is_empty() {
            return Err(RunError::PreflightFailed(problems));
        }
        let mut changes = facts.os_selector_changes();
        let components = host_process(spec, &cluster_facts(facts));
        for manifest in owned_manifests(spec, builds).iter().chain(&components) {
            changes.extend(self.cluster.plan_owned(manifest).await?);
        }
        if let (Some(flannel), Some(net_conf)) = (flannel, casement_plan::net_conf(spec)) {
            changes.extend(flannel.changes(&net_conf, &facts.nodes));
        }
        Ok(changes)
    }

    /// Fails with every permission that is missing for this file. Those for flannel need
    /// its namespace, which is known once the cluster was observed.
    async fn check_permissions(
        &self,
        spec: &Cluster,
        observed: Option<&ObservedCluster>,
    ) -> Result<(), RunError> {
        let mut permissions = PERMISSIONS.to_vec();
        if spec.spec.network.mode().is_flannel() {
            let cni = observed.and_then(|observed| observed.cni.as_ref());
            let namespace = cni.and_then(|cni| cni.daemon_set.namespace.as_ref());
            let flannel = namespace.into_iter().flat_map(|it| flannel_permissions(it));
            permissions.extend(flannel);
        }
        if spec.spec.network.mode().is_calico() {
            permissions.extend(calico_permissions());
        }
        if spec.spec.windows.components == WindowsComponents::HostProcess {
            permissions.extend(host_process_permissions());
        }
        Ok(self.cluster.check_permission_list(&permissions).await?)
    }

    /// Deletes casement's own objects and restores the prior values of others; changes
    /// that interrupt pods come last.
    pub async fn restore_changes(&self) -> Result<Vec<ClusterChange>, RunError> {
        let releases = WINDOWS.iter().filter(|release| release.containerd);
        let classes = releases.map(|release| runtime_class_ref(&class_name(release)));
        let mut changes = Vec::new();
        for object in classes.chain([overlay_role_ref()]) {
            changes.extend(self.cluster.plan_removal(&object).await?);
        }
        for object in host_process_refs() {
            match self.cluster.plan_removal(&object).await {
                // Without permission to read it, this account cannot have created it.
                Err(ClusterError::Access(AccessError::Forbidden { .. })) => {}
                planned => changes.extend(planned?),
            }
        }
        let (outages, others): (Vec<_>, Vec<_>) = self
            .cluster
            .plan_restore()
            .await?
            .into_iter()
            .partition(|change| change.outage.is_some());
        changes.extend(others);
        changes.extend(outages);
        Ok(changes)
    }

    /// Also restarts flannel if its network configuration changed.
    pub async fn restore(
        &self,
        on_wait: &(dyn Fn(String) + Sync),
    ) -> Result<Vec<RestoredField>, RunError> {
        for change in self.restore_changes().await? {
            if change.method == ChangeMethod::Delete {
                self.cluster.apply(&change).await?;
            }
        }
        let restored = self.cluster.restore().await?;
        if self.cluster.is_restart_pending().await? {
            let facts = self.cluster.observe().await?;
            if let Some(flannel) = self.cluster.flannel(&facts).await?
                && let Some(restart) = flannel.restart_with_current_config(&facts.nodes)
            {
                self.cluster.apply_with_progress(&restart, on_wait).await?;
            }
        }
        Ok(restored)
    }

    /// The error of a timeout has the last observed state.
    async fn wait(
        &self,
        node: &str,
        limit: Duration,
        expected: &'static str,
        on_wait: &(dyn Fn(String) + Sync),
        reached: impl Fn(&NodeState) -> bool + Send,
    ) -> Result<NodeState, RunError> {
        let mut watch = self.cluster.watch_node(node);
        let mut last = NodeState::default();
        let waited = timeout(limit, async {
            loop {
                last = watch.next().await?;
                if reached(&last) {
                    return Ok::<_, RunError>(());
                }
                on_wait(describe(&last));
            }
        });
        match waited.await {
            Ok(Ok(())) => Ok(last),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(RunError::NodeTimeout {
                node: node.to_owned(),
                expected,
                seconds: limit.as_secs(),
                last: describe(&last),
            }),
        }
    }
}

/// What plans need of an observed cluster.
#[must_use]
pub fn cluster_facts(facts: &ObservedCluster) -> ClusterFacts {
    let nodes = facts.nodes.iter();
    let nodes = nodes.map(|node| node_facts(&node.name, &node.addresses, &node.pod_cidrs));
    ClusterFacts {
        api_server: facts.endpoint.clone(),
        ca_hashes: facts.ca_hashes.clone(),
        ca: facts.ca_pem.clone(),
        nodes: nodes.collect(),
    }
}

fn node_facts(name: &str, addresses: &[String], pod_cidrs: &[String]) -> NodeFacts {
    NodeFacts {
        name: name.to_owned(),
        address: addresses.iter().find_map(|text| text.parse().ok()),
        pods: pod_cidrs.iter().find_map(|text| text.parse().ok()),
    }
}

/// The objects that casement owns.
fn owned_manifests(spec: &Cluster, builds: &BTreeSet<u32>) -> Vec<Value> {
    let mut manifests: Vec<Value> = builds
        .iter()
        .filter_map(|build| windows_of_build(*build))
        .map(|release| runtime_class(&class_name(release), &release.node_label()))
        .collect();
    let nodes = || spec.windows_hosts().map(|host| host.name.as_str());
    manifests.extend(nodes().map(node_proxier_binding));
    if spec.spec.network.mode().is_flannel() {
        manifests.push(overlay_role());
        manifests.extend(nodes().map(overlay_binding));
    }
    manifests
}

/// `windows-2022`.
fn class_name(release: &WindowsRelease) -> String {
    let name = release.name.strip_prefix("Server ");
    format!("windows-{}", name.unwrap_or(release.name).to_lowercase())
}

/// The Windows builds that the file names; hosts without a release in the file report
/// theirs.
pub fn builds_of(spec: &Cluster) -> BTreeSet<u32> {
    let names = spec.windows_hosts().map(|host| host.os.to_string());
    let releases = names.filter_map(|os| windows_of_os(&os));
    releases.map(|release| release.build).collect()
}

fn describe(state: &NodeState) -> String {
    let reason = match state.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    match (state.exists, state.ready) {
        (false, _) => "waiting for the Node to register".to_owned(),
        (true, true) => "Node is Ready".to_owned(),
        (true, false) if state.message.is_empty() => format!("Node is NotReady{reason}"),
        (true, false) => format!("Node is NotReady{reason}: {}", state.message),
    }
}

impl ClusterApi for KubeApi {
    async fn facts(&self) -> Result<ClusterFacts, RunError> {
        Ok(cluster_facts(&self.cluster.observe().await?))
    }

    async fn create_token(&self, host: &str) -> Result<Token, RunError> {
        self.cluster
            .delete_leftover_tokens(&self.run, &[host])
            .await?;
        let request = BootstrapTokenRequest {
            host: host.to_owned(),
            run: self.run.clone(),
            lifetime: TOKEN_LIFETIME,
        };
        let token = self.cluster.create_token(&request).await?;
        Ok(Token {
            id: token.id().to_owned(),
            value: Secret::new(token.value().expose_secret().to_owned()),
        })
    }

    async fn delete_token(&self, id: &str) -> Result<(), RunError> {
        Ok(self.cluster.delete_token(id).await?)
    }

    async fn delete_leftover_tokens(&self, hosts: &[&str]) -> Result<(), RunError> {
        self.cluster
            .delete_leftover_tokens(&self.run, hosts)
            .await?;
        Ok(())
    }

    async fn wait_joined(&self, node: &str) -> Result<NodeFacts, RunError> {
        // Both appear shortly after the Node; the routes of other hosts need them.
        let known = |state: &NodeState| !state.pod_cidrs.is_empty() && !state.addresses.is_empty();
        let expected = "registered with a pod CIDR and an address";
        let state = self
            .wait(node, REGISTER_TIMEOUT, expected, &|_| {}, known)
            .await?;
        Ok(node_facts(node, &state.addresses, &state.pod_cidrs))
    }

    async fn wait_ready(
        &self,
        node: &str,
        on_wait: &(dyn Fn(String) + Sync),
    ) -> Result<(), RunError> {
        self.wait(node, READY_TIMEOUT, "Ready", on_wait, |state| state.ready)
            .await
            .map(drop)
    }

    async fn set_schedulable(&self, node: &str, schedulable: bool) -> Result<(), RunError> {
        if schedulable {
            self.cluster.uncordon(node).await?;
        } else {
            self.cluster.cordon(node).await?;
        }
        Ok(())
    }

    async fn label(&self, node: &str, labels: &BTreeMap<String, String>) -> Result<(), RunError> {
        if !labels.is_empty() {
            self.cluster.label_node(node, labels).await?;
        }
        Ok(())
    }

    async fn taint(&self, node: &str, taints: &[Taint]) -> Result<(), RunError> {
        let taints: Vec<NodeTaint> = taints.iter().map(node_taint).collect();
        self.cluster.taint_node(node, &taints).await?;
        Ok(())
    }

    async fn watch_join(
        &self,
        node: &str,
        on_wait: &(dyn Fn(String) + Sync),
    ) -> Result<(), RunError> {
        let joining = JoiningNode {
            node: node.to_owned(),
            run: self.run.clone(),
        };
        loop {
            match self.cluster.watch_join_request(&joining, on_wait).await {
                Err(error) if error.is_transient() => sleep(RETRY_INTERVAL).await,
                result => return Ok(result?),
            }
        }
    }

    async fn drain(&self, node: &str, on_wait: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.cluster.drain(node, DRAIN_TIMEOUT, on_wait).await?;
        Ok(())
    }

    async fn remove_node(&self, node: &str) -> Result<(), RunError> {
        self.delete_leftover_tokens(&[node]).await?;
        self.cluster.delete_node(node).await?;
        for binding in [node_proxier_binding_ref(node), overlay_binding_ref(node)] {
            if let Some(change) = self.cluster.plan_removal(&binding).await? {
                self.cluster.apply(&change).await?;
            }
        }
        Ok(())
    }
}

fn node_taint(taint: &Taint) -> NodeTaint {
    let value = taint.value.to_string();
    NodeTaint {
        key: taint.key.to_string(),
        value: (!value.is_empty()).then_some(value),
        effect: taint.effect.to_string(),
        time_added: None,
    }
}
