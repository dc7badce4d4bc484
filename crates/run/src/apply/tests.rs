//! The order of a run, on fake hosts and a fake cluster that record their calls.

mod cancellation;
mod observations;
mod order;
mod unavailable;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use casement_plan::{ClusterFacts, Inputs, NodeFacts};
use casement_resource::wire::{Event, EventKind, HostFacts, ObservedStep, OperatingSystem, Tally};
use casement_resource::{Blob, Change, Diff, NodeDocument, RunId, Secret, Sha256, Stage};
use casement_spec::{Cluster, Named, Program, Taint};

use super::{Apply, HostOutcome, RunEvent};
use crate::agent_client::Observed;
use crate::blob_source::{BlobProgress, Blobs};
use crate::cancel::CancelToken;
use crate::cluster_api::{ClusterApi, Token};
use crate::concurrency::Concurrency;
use crate::error::RunError;
use crate::host_agent::HostAgent;
use crate::run_host::RunHost;
use crate::secrets::Secrets;
use crate::unavailable::UnavailableLimit;

const SPEC: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16, serviceCidr: 10.96.0.0/16}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: win1, address: 198.18.0.11, os: windows-2022, roles: [worker]}
    - {name: win2, address: 198.18.0.12, os: windows-2022, roles: [worker]}
    - {name: win3, address: 198.18.0.13, os: windows-2022, roles: [worker]}
    - {name: lin1, address: 198.18.0.14, os: linux, roles: [worker], managed: true}
  access:
    ssh: {user: Administrator, key: ./id_ed25519, knownHosts: ./known_hosts}
";

/// The hosts in the order of their addresses.
const HOSTS: [&str; 4] = ["win1", "win2", "win3", "lin1"];

struct FakeApi {
    calls: Mutex<Vec<String>>,
    /// How often all facts were read.
    reads: Mutex<u32>,
    nodes: Mutex<Vec<String>>,
    /// The outcome of a wait for a Node.
    ready: Box<dyn Fn(&str) -> Wait + Sync>,
}

enum Wait {
    Ready,
    TimesOut,
    NeverReturns,
}

/// All hosts are nodes, and Ready.
impl Default for FakeApi {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            reads: Mutex::default(),
            nodes: Mutex::new(HOSTS.map(str::to_owned).to_vec()),
            ready: Box::new(|_| Wait::Ready),
        }
    }
}

impl FakeApi {
    fn record(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }

    fn cluster_facts(&self) -> ClusterFacts {
        let nodes = self.nodes.lock().unwrap();
        ClusterFacts {
            api_server: "198.18.0.10:6443".to_owned(),
            ca_hashes: vec!["sha256:00".to_owned()],
            ca: String::new(),
            nodes: nodes.iter().map(|name| node_facts(name)).collect(),
        }
    }

    fn was_called(&self, call: &str) -> bool {
        self.calls.lock().unwrap().iter().any(|it| it == call)
    }
}

fn node_facts(name: &str) -> NodeFacts {
    let index = HOSTS.iter().position(|host| *host == name).unwrap();
    let last = u8::try_from(index).unwrap() + 11;
    NodeFacts {
        name: name.to_owned(),
        address: Some(Ipv4Addr::new(198, 18, 0, last)),
        pods: format!("10.244.{last}.0/24").parse().ok(),
    }
}

impl ClusterApi for FakeApi {
    async fn facts(&self) -> Result<ClusterFacts, RunError> {
        *self.reads.lock().unwrap() += 1;
        Ok(self.cluster_facts())
    }

    async fn create_token(&self, host: &str) -> Result<Token, RunError> {
        self.record(format!("create token {host}"));
        Ok(Token {
            id: host.to_owned(),
            value: Secret::new("secret".to_owned()),
        })
    }

    async fn delete_token(&self, id: &str) -> Result<(), RunError> {
        self.record(format!("delete token {id}"));
        Ok(())
    }

    async fn delete_leftover_tokens(&self, hosts: &[&str]) -> Result<(), RunError> {
        self.record(format!("delete leftovers {}", hosts.join(" ")));
        Ok(())
    }

    async fn wait_joined(&self, node: &str) -> Result<NodeFacts, RunError> {
        self.record(format!("joined {node}"));
        let mut nodes = self.nodes.lock().unwrap();
        if !nodes.iter().any(|name| name == node) {
            nodes.push(node.to_owned());
        }
        Ok(node_facts(node))
    }

    async fn wait_ready(&self, node: &str, _: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.record(format!("ready {node}"));
        // Lets the other hosts run.
        tokio::task::yield_now().await;
        match (self.ready)(node) {
            Wait::Ready => Ok(()),
            Wait::TimesOut => Err(RunError::NodeTimeout {
                node: node.to_owned(),
                expected: "Ready",
                seconds: 300,
                last: String::new(),
            }),
            Wait::NeverReturns => std::future::pending().await,
        }
    }

    async fn set_schedulable(&self, node: &str, schedulable: bool) -> Result<(), RunError> {
        self.record(format!("schedulable {node} {schedulable}"));
        Ok(())
    }

    async fn label(&self, _: &str, _: &BTreeMap<String, String>) -> Result<(), RunError> {
        Ok(())
    }

    async fn taint(&self, node: &str, taints: &[Taint]) -> Result<(), RunError> {
        let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
        self.record(format!("taint {node} {}", taints.join(" ")));
        Ok(())
    }

    async fn watch_join(&self, node: &str, _: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.record(format!("watch join {node}"));
        std::future::pending().await
    }

    async fn drain(&self, node: &str, _: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.record(format!("drain {node}"));
        Ok(())
    }

    async fn remove_node(&self, _: &str) -> Result<(), RunError> {
        Ok(())
    }
}

struct FakeHost {
    name: String,
    facts: HostFacts,
    in_sync: bool,
    failing_stage: Option<Stage>,
    observed: Vec<Stage>,
    converged: Vec<Stage>,
    got_secret: bool,
    on_converge: Arc<OnConverge>,
}

/// Called with each document; an error ends the run on this host.
type OnConverge = dyn Fn(&NodeDocument) -> Result<(), RunError> + Send + Sync;

impl FakeHost {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            facts: HostFacts {
                os: OperatingSystem::Windows,
                product: String::new(),
                version: String::new(),
                architecture: String::new(),
                hostname: String::new(),
                service_manager: None,
                interfaces: Vec::new(),
            },
            in_sync: false,
            failing_stage: None,
            observed: Vec::new(),
            converged: Vec::new(),
            got_secret: false,
            on_converge: Arc::new(|_| Ok(())),
        }
    }

    fn with_hook(
        name: &str,
        on_converge: impl Fn(&NodeDocument) -> Result<(), RunError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            on_converge: Arc::new(on_converge),
            ..Self::new(name)
        }
    }

    /// All steps are in sync, or none.
    fn compare(&self, document: &NodeDocument) -> Observed {
        let diff = || match self.in_sync {
            true => Diff::from_changes(Vec::new(), || "in sync".to_owned()),
            false => Diff::Changes(vec![Change::missing("x", "y")]),
        };
        let steps = document.steps().iter().map(|step| ObservedStep {
            id: step.id.clone(),
            result: Ok(diff()),
        });
        Observed {
            steps: steps.collect(),
            missing: Vec::new(),
            kept: diff(),
        }
    }
}

impl HostAgent for FakeHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    async fn observe(&mut self, document: &NodeDocument) -> Result<Observed, RunError> {
        self.observed.push(document.stage());
        Ok(self.compare(document))
    }

    async fn deliver(
        &mut self,
        _: &[Sha256],
        _: &Blobs,
        _: &(dyn Fn(BlobProgress<'_>) + Sync),
    ) -> Result<(), RunError> {
        Ok(())
    }

    async fn converge(
        &mut self,
        _: &RunId,
        document: &NodeDocument,
        secrets: &impl Secrets,
        _: &(dyn Fn(&Event) + Sync),
    ) -> Result<Tally, RunError> {
        self.converged.push(document.stage());
        if document.stage() == Stage::Join {
            let name = casement_plan::windows::BOOTSTRAP_TOKEN.parse().unwrap();
            self.got_secret = !secrets.reveal(&[name]).await?.is_empty();
        }
        (self.on_converge)(document)?;
        // Lets the other hosts run.
        tokio::task::yield_now().await;
        let tally = Tally {
            changed: 1,
            ..Tally::default()
        };
        match self.failing_stage {
            Some(stage) if stage == document.stage() => Err(RunError::Failed {
                host: self.name.clone(),
                tally,
            }),
            _ => Ok(tally),
        }
    }

    async fn remove(&mut self, _: &RunId, _: &(dyn Fn(&Event) + Sync)) -> Result<Tally, RunError> {
        Ok(Tally::default())
    }

    async fn retire(self) -> Result<(), RunError> {
        Ok(())
    }
}

fn cluster() -> Cluster {
    casement_source::load("cluster.yaml", SPEC).cluster.unwrap()
}

fn inputs() -> Inputs {
    let programs = Program::ALL.iter().map(|program| {
        let blob = Blob {
            sha256: Sha256::of(program.name().as_bytes()),
            size: 1,
        };
        (*program, blob)
    });
    Inputs {
        programs: programs.collect(),
        ..Inputs::default()
    }
}

fn run(api: &FakeApi, hosts: &mut [FakeHost]) -> Vec<HostOutcome> {
    run_with(api, hosts, None, &CancelToken::default())
}

fn run_with(
    api: &FakeApi,
    hosts: &mut [FakeHost],
    max_unavailable: Option<u16>,
    cancel: &CancelToken,
) -> Vec<HostOutcome> {
    let hosts = hosts.iter_mut().map(|host| RunHost::new(host, Vec::new()));
    run_hosts(api, hosts.collect(), max_unavailable, cancel)
}

fn run_hosts(
    api: &FakeApi,
    hosts: Vec<RunHost<'_, FakeHost>>,
    max_unavailable: Option<u16>,
    cancel: &CancelToken,
) -> Vec<HostOutcome> {
    let apply = Apply {
        cluster: &cluster(),
        inputs: &inputs(),
        blobs: &Blobs::new(),
        api,
        facts: &api.cluster_facts(),
        run: "run",
        cancel,
        concurrency: Concurrency::default(),
        unavailable: UnavailableLimit::at_most(max_unavailable),
        on_event: &|_: RunEvent<'_>| {},
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(apply.run(hosts)).unwrap().hosts
}

#[test]
fn a_host_passes_all_stages_and_its_token_is_deleted_after_the_join() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1")];
    let outcomes = run(&api, &mut hosts);
    assert_eq!(*outcomes[0].result.as_ref().unwrap(), 3);
    assert_eq!(
        hosts[0].converged,
        [Stage::Prepare, Stage::Join, Stage::Network]
    );
    assert!(hosts[0].got_secret);
    let calls = api.calls.lock().unwrap().clone();
    assert_eq!(
        calls,
        [
            "watch join win1",
            "create token win1",
            "delete token win1",
            "joined win1",
            "schedulable win1 false",
            "taint win1 os=windows:NoSchedule",
            "delete leftovers win1",
            "ready win1",
            "schedulable win1 true",
        ]
    );
}

#[test]
fn a_failed_join_deletes_its_token() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1")];
    hosts[0].failing_stage = Some(Stage::Join);
    let outcomes = run(&api, &mut hosts);
    assert!(outcomes[0].result.is_err());
    assert!(api.was_called("delete token win1"));
    assert!(!api.was_called("ready win1"));
}

#[test]
fn a_failing_host_does_not_stop_the_others() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("win2")];
    hosts[0].failing_stage = Some(Stage::Prepare);
    let outcomes = run(&api, &mut hosts);
    assert!(outcomes[0].result.is_err());
    assert!(outcomes[1].result.is_ok());
    assert!(!api.was_called("create token win1"));
    assert!(api.was_called("ready win2"));
}

#[test]
fn a_host_in_sync_gets_no_token_and_no_change() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1")];
    hosts[0].in_sync = true;
    let outcomes = run(&api, &mut hosts);
    assert_eq!(*outcomes[0].result.as_ref().unwrap(), 0);
    assert!(hosts[0].converged.is_empty());
    assert!(!api.was_called("create token win1"));
    assert!(
        api.was_called("delete leftovers win1"),
        "a killed run may have left a token"
    );
    assert!(!api.was_called("schedulable win1 false"));
}

#[test]
fn a_reboot_is_announced_with_its_timeout() {
    let document = casement_plan::windows::prepare(
        &cluster(),
        &cluster().spec.hosts[0],
        &Inputs {
            allow_missing_programs: true,
            ..Inputs::default()
        },
    );
    let document = document.unwrap();
    let began = |id: &str| Event {
        run: "r".parse().unwrap(),
        sequence: 1,
        at: 0,
        kind: EventKind::StepBegan {
            id: id.parse().unwrap(),
            name: String::new(),
            changes: Vec::new(),
            disruptive: true,
        },
    };
    let notice = crate::job::reboot_notice(&document, &began("reboot"));
    let text = "rebooting for the feature Containers; timeout 40 min";
    assert_eq!(notice.as_deref(), Some(text));
    assert_eq!(
        crate::job::reboot_notice(&document, &began("dir-base")),
        None
    );
}
