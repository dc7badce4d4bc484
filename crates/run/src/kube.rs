//! The real cluster behind a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use casement_catalog::{WINDOWS, WindowsRelease, windows_of_build, windows_of_year};
use casement_cluster::{
    Cluster, ClusterChange, ClusterError, ClusterFacts as SeenFacts, Joining, NodeState, NodeTaint,
    RIGHTS, Restored, TokenOrder, Way, calico_rights, flannel_rights, host_process_refs,
    host_process_rights, node_proxier_binding, node_proxier_binding_ref, overlay_binding,
    overlay_binding_ref, overlay_role, overlay_role_ref, runtime_class, runtime_class_ref,
};
use casement_plan::{ClusterFacts, NodeFacts, host_process};
use casement_resource::Secret;
use casement_spec::{Cluster as Spec, NetworkMode, Taint, WindowsComponents};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::api::{Api, Token};
use crate::error::RunError;
use crate::fit::{calico, unfit};

/// How long a kubelet may take to show its Node.
const TO_EXIST: Duration = Duration::from_secs(120);
/// How long a Node may take from its network to Ready.
const TO_BE_READY: Duration = Duration::from_secs(300);
/// How long pods may take to leave a Node: longer than most grace periods.
const TO_DRAIN: Duration = Duration::from_secs(180);
/// Until a server that did not answer is asked again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// A token is used within minutes; it must outlive a slow host.
const TOKEN: Duration = Duration::from_secs(1800);

/// A cluster, and the run that it is spoken to for.
#[derive(Clone)]
pub struct Kube {
    /// The API.
    pub cluster: Cluster,
    /// The run's name, which marks its tokens.
    pub run: String,
}

impl Kube {
    /// Everything that has to change in the cluster: each as a change, and only what
    /// is not there yet. What stops pods comes last.
    ///
    /// # Errors
    /// [`RunError::Unfit`] with all that is in the way, before anything changed.
    pub async fn changes(
        &self,
        spec: &Spec,
        builds: &BTreeSet<u32>,
    ) -> Result<Vec<ClusterChange>, RunError> {
        let facts = self.cluster.facts().await?;
        let overlay = spec.spec.network.mode().is_flannel();
        let flannel = match overlay {
            true => self.cluster.flannel(&facts).await?,
            false => None,
        };
        let mut problems = unfit(spec, &facts, flannel.as_ref());
        if spec.spec.network.mode() == NetworkMode::CalicoVxlan {
            problems.extend(calico::unfit(spec, &self.cluster.calico().await?));
        }
        if !problems.is_empty() {
            return Err(RunError::Unfit(problems));
        }
        let mut changes = facts.os_selector_changes();
        let components = host_process(spec, &facts_of(&facts));
        for manifest in wanted(spec, builds).iter().chain(&components) {
            changes.extend(self.cluster.plan_owned(manifest).await?);
        }
        if let (Some(flannel), Some(net_conf)) = (flannel, casement_plan::net_conf(spec)) {
            changes.extend(flannel.changes(&net_conf, &facts.nodes));
        }
        Ok(changes)
    }

    /// Fails with all rights that a run for this file lacks.
    pub async fn check_rights(&self, spec: &Spec) -> Result<(), RunError> {
        let mut rights = RIGHTS.to_vec();
        if spec.spec.network.mode().is_flannel() {
            let facts = self.cluster.facts().await?;
            let place = facts.cni.and_then(|cni| cni.daemon_set.namespace);
            rights.extend(place.iter().flat_map(|place| flannel_rights(place)));
        }
        if spec.spec.network.mode() == NetworkMode::CalicoVxlan {
            rights.extend(calico_rights());
        }
        if spec.spec.windows.components == WindowsComponents::HostProcess {
            rights.extend(host_process_rights());
        }
        Ok(self.cluster.check_these_rights(&rights).await?)
    }

    /// What taking the cluster's objects back comes to: casement's own go, and
    /// others get their values back; what stops pods comes last.
    pub async fn changes_back(&self) -> Result<Vec<ClusterChange>, RunError> {
        let releases = WINDOWS.iter().filter(|release| release.containerd);
        let classes = releases.map(|release| runtime_class_ref(&class_name(release)));
        let mut changes = Vec::new();
        for object in classes.chain([overlay_role_ref()]) {
            changes.extend(self.cluster.plan_removal(&object).await?);
        }
        for object in host_process_refs() {
            match self.cluster.plan_removal(&object).await {
                // Who may not even look has not made it.
                Err(ClusterError::Forbidden { .. }) => {}
                planned => changes.extend(planned?),
            }
        }
        let (later, now): (Vec<_>, Vec<_>) = self
            .cluster
            .plan_restore()
            .await?
            .into_iter()
            .partition(|change| change.outage.is_some());
        changes.extend(now);
        changes.extend(later);
        Ok(changes)
    }

    /// Gives the cluster's objects back what they held, and starts flannel anew
    /// where that changed its network.
    pub async fn restore(&self, tell: &(dyn Fn(String) + Sync)) -> Result<Vec<Restored>, RunError> {
        for change in self.changes_back().await? {
            if change.way == Way::Delete {
                self.cluster.carry_out(&change).await?;
            }
        }
        let restored = self.cluster.restore().await?;
        if self.cluster.is_restart_due().await? {
            let facts = self.cluster.facts().await?;
            if let Some(flannel) = self.cluster.flannel(&facts).await?
                && let Some(restart) = flannel.restart_as_it_is(&facts.nodes)
            {
                self.cluster.carry_out_telling(&restart, tell).await?;
            }
        }
        Ok(restored)
    }

    /// Waits for a state of the Node; the error has the last state seen.
    async fn wait(
        &self,
        node: &str,
        limit: Duration,
        what: &'static str,
        tell: &(dyn Fn(String) + Sync),
        fits: impl Fn(&NodeState) -> bool + Send,
    ) -> Result<NodeState, RunError> {
        let mut watch = self.cluster.watch_node(node);
        let mut last = NodeState::default();
        let waited = timeout(limit, async {
            loop {
                last = watch.next().await?;
                if fits(&last) {
                    return Ok::<_, RunError>(());
                }
                tell(described(&last));
            }
        });
        match waited.await {
            Ok(Ok(())) => Ok(last),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(RunError::NodeNot {
                node: node.to_owned(),
                what,
                seconds: limit.as_secs(),
                last: described(&last),
            }),
        }
    }
}

/// What a plan needs of what was seen.
fn facts_of(facts: &SeenFacts) -> ClusterFacts {
    let nodes = facts.nodes.iter().map(|node| NodeFacts {
        name: node.name.clone(),
        address: node.addresses.iter().find_map(|text| text.parse().ok()),
        pods: node.pod_cidrs.iter().find_map(|text| text.parse().ok()),
    });
    ClusterFacts {
        api_server: facts.endpoint.clone(),
        ca_hashes: facts.ca_hashes.clone(),
        ca: facts.ca_pem.clone(),
        nodes: nodes.collect(),
    }
}

/// The objects of casement's own.
fn wanted(spec: &Spec, builds: &BTreeSet<u32>) -> Vec<Value> {
    let mut wanted: Vec<Value> = builds
        .iter()
        .filter_map(|build| windows_of_build(*build))
        .map(|release| runtime_class(&class_name(release), &release.node_label()))
        .collect();
    let nodes = || spec.windows_hosts().map(|host| host.name.as_str());
    wanted.extend(nodes().map(node_proxier_binding));
    if spec.spec.network.mode().is_flannel() {
        wanted.push(overlay_role());
        wanted.extend(nodes().map(overlay_binding));
    }
    wanted
}

/// `windows-2022`.
fn class_name(release: &WindowsRelease) -> String {
    let name = release.name.strip_prefix("Server ");
    format!("windows-{}", name.unwrap_or(release.name).to_lowercase())
}

/// The builds of Windows that the file names; hosts whose release is to be found
/// out say theirs themselves.
pub fn builds_of(spec: &Spec) -> BTreeSet<u32> {
    let years = spec.windows_hosts().map(|host| host.os.to_string());
    let releases = years.filter_map(|os| windows_of_year(os.strip_prefix("windows-")?));
    releases.map(|release| release.build).collect()
}

fn described(state: &NodeState) -> String {
    let reason = match state.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    match (state.exists, state.ready) {
        (false, _) => "there is no Node yet".to_owned(),
        (true, true) => "the Node is Ready".to_owned(),
        (true, false) if state.message.is_empty() => format!("the Node is NotReady{reason}"),
        (true, false) => format!("the Node is NotReady{reason}: {}", state.message),
    }
}

impl Api for Kube {
    async fn facts(&self) -> Result<ClusterFacts, RunError> {
        Ok(facts_of(&self.cluster.facts().await?))
    }

    async fn mint(&self, host: &str) -> Result<Token, RunError> {
        self.cluster
            .delete_leftover_tokens(&self.run, &[host])
            .await?;
        let order = TokenOrder {
            host: host.to_owned(),
            run: self.run.clone(),
            lifetime: TOKEN,
        };
        let token = self.cluster.mint_token(&order).await?;
        Ok(Token {
            id: token.id().to_owned(),
            value: Secret::new(token.value().expose_secret().to_owned()),
        })
    }

    async fn revoke(&self, id: &str) -> Result<(), RunError> {
        Ok(self.cluster.delete_token(id).await?)
    }

    async fn sweep(&self, hosts: &[&str]) -> Result<(), RunError> {
        self.cluster
            .delete_leftover_tokens(&self.run, hosts)
            .await?;
        Ok(())
    }

    async fn joined(&self, node: &str) -> Result<NodeFacts, RunError> {
        // Both are there a moment after the Node is, and others' ways to its pods
        // are made of them.
        let known = |state: &NodeState| state.pod_cidr.is_some() && state.address.is_some();
        let what = "given a pod network and an address";
        let state = self.wait(node, TO_EXIST, what, &|_| {}, known).await?;
        Ok(NodeFacts {
            name: node.to_owned(),
            address: None,
            pods: state.pod_cidr.and_then(|text| text.parse().ok()),
        })
    }

    async fn ready(&self, node: &str, tell: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.wait(node, TO_BE_READY, "Ready", tell, |state| state.ready)
            .await
            .map(drop)
    }

    async fn schedulable(&self, node: &str, yes: bool) -> Result<(), RunError> {
        if yes {
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

    async fn attend(&self, node: &str, tell: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        let joining = Joining {
            node: node.to_owned(),
            run: self.run.clone(),
        };
        loop {
            match self.cluster.attend_request(&joining, tell).await {
                Err(error) if error.is_transient() => sleep(LOOK_AGAIN).await,
                ended => return Ok(ended?),
            }
        }
    }

    async fn drain(&self, node: &str, tell: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.cluster.drain(node, TO_DRAIN, tell).await?;
        Ok(())
    }

    async fn forget(&self, node: &str) -> Result<(), RunError> {
        self.sweep(&[node]).await?;
        self.cluster.delete_node(node).await?;
        for binding in [node_proxier_binding_ref(node), overlay_binding_ref(node)] {
            if let Some(change) = self.cluster.plan_removal(&binding).await? {
                self.cluster.carry_out(&change).await?;
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
