//! The order of a run, on hosts and a cluster that only remember what was asked.

mod order;
#[path = "tests/unavailable.rs"]
mod pace;
#[path = "tests/cancellation.rs"]
mod stops;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use casement_plan::{ClusterFacts, Inputs, NodeFacts};
use casement_resource::wire::{Event, HostFacts, ObservedStep, OperatingSystem, Tally, What};
use casement_resource::{Blob, Change, Diff, NodeDocument, RunId, Secret, Sha256, Stage};
use casement_spec::{Cluster, Named, Program, Taint};

use super::{Apply, Happening, HostOutcome};
use crate::api::{Api, Token};
use crate::error::RunError;
use crate::host::Host;
use crate::link::Observed;
use crate::many::AtOnce;
use crate::secrets::Secrets;
use crate::source::{Blobs, Bringing};
use crate::stop::Stop;
use crate::unavailable::Unavailable;

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
    asked: Mutex<Vec<String>>,
    /// Those that are nodes.
    nodes: Mutex<Vec<String>>,
    /// What becomes of a Node that is waited for.
    ready: Box<dyn Fn(&str) -> Waited + Sync>,
}

/// How a wait for a Node ends.
enum Waited {
    Ready,
    Not,
    Never,
}

/// All hosts are nodes, and Ready.
impl Default for FakeApi {
    fn default() -> Self {
        Self {
            asked: Mutex::default(),
            nodes: Mutex::new(HOSTS.map(str::to_owned).to_vec()),
            ready: Box::new(|_| Waited::Ready),
        }
    }
}

impl FakeApi {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }

    fn asked(&self, what: &str) -> bool {
        self.asked.lock().unwrap().iter().any(|asked| asked == what)
    }
}

impl Api for FakeApi {
    async fn facts(&self) -> Result<ClusterFacts, RunError> {
        let node = |name: &String| {
            let place = HOSTS.iter().position(|host| host == name).unwrap();
            let last = u8::try_from(place).unwrap() + 11;
            NodeFacts {
                name: name.clone(),
                address: Some(Ipv4Addr::new(198, 18, 0, last)),
                pods: format!("10.244.{last}.0/24").parse().ok(),
            }
        };
        Ok(ClusterFacts {
            api_server: "198.18.0.10:6443".to_owned(),
            ca_hashes: vec!["sha256:00".to_owned()],
            ca: String::new(),
            nodes: self.nodes.lock().unwrap().iter().map(node).collect(),
        })
    }

    async fn mint(&self, host: &str) -> Result<Token, RunError> {
        self.note(format!("mint {host}"));
        Ok(Token {
            id: host.to_owned(),
            value: Secret::new("secret".to_owned()),
        })
    }

    async fn revoke(&self, id: &str) -> Result<(), RunError> {
        self.note(format!("revoke {id}"));
        Ok(())
    }

    async fn sweep(&self, hosts: &[&str]) -> Result<(), RunError> {
        self.note(format!("sweep {}", hosts.join(" ")));
        Ok(())
    }

    async fn joined(&self, node: &str) -> Result<NodeFacts, RunError> {
        self.note(format!("joined {node}"));
        let mut nodes = self.nodes.lock().unwrap();
        if !nodes.iter().any(|name| name == node) {
            nodes.push(node.to_owned());
        }
        Ok(NodeFacts {
            name: node.to_owned(),
            address: None,
            pods: None,
        })
    }

    async fn ready(&self, node: &str, _: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.note(format!("ready {node}"));
        // Others have their turn meanwhile.
        tokio::task::yield_now().await;
        match (self.ready)(node) {
            Waited::Ready => Ok(()),
            Waited::Not => Err(RunError::NodeNot {
                node: node.to_owned(),
                what: "Ready",
                seconds: 300,
                last: String::new(),
            }),
            Waited::Never => std::future::pending().await,
        }
    }

    async fn schedulable(&self, node: &str, yes: bool) -> Result<(), RunError> {
        self.note(format!("schedulable {node} {yes}"));
        Ok(())
    }

    async fn label(&self, _: &str, _: &BTreeMap<String, String>) -> Result<(), RunError> {
        Ok(())
    }

    async fn taint(&self, node: &str, taints: &[Taint]) -> Result<(), RunError> {
        let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
        self.note(format!("taint {node} {}", taints.join(" ")));
        Ok(())
    }

    async fn attend(&self, node: &str, _: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.note(format!("attend {node}"));
        std::future::pending().await
    }

    async fn drain(&self, node: &str, _: &(dyn Fn(String) + Sync)) -> Result<(), RunError> {
        self.note(format!("drain {node}"));
        Ok(())
    }

    async fn forget(&self, _: &str) -> Result<(), RunError> {
        Ok(())
    }
}

struct FakeHost {
    name: String,
    facts: HostFacts,
    /// Everything is as it should be.
    right: bool,
    /// The stage that fails.
    fails: Option<Stage>,
    converged: Vec<Stage>,
    heard_secret: bool,
    /// Who hears of each document that is carried out.
    hears: Arc<Hears>,
}

/// A document, and why the host does not come to its end, if it does not.
type Hears = dyn Fn(&NodeDocument) -> Result<(), RunError> + Send + Sync;

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
            right: false,
            fails: None,
            converged: Vec::new(),
            heard_secret: false,
            hears: Arc::new(|_| Ok(())),
        }
    }

    fn heard_by(
        name: &str,
        hears: impl Fn(&NodeDocument) -> Result<(), RunError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            hears: Arc::new(hears),
            ..Self::new(name)
        }
    }
}

impl Host for FakeHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    async fn observe(&mut self, document: &NodeDocument) -> Result<Observed, RunError> {
        let diff = || match self.right {
            true => Diff::from_changes(Vec::new(), || "right".to_owned()),
            false => Diff::Changes(vec![Change::missing("x", "y")]),
        };
        let steps = document.steps().iter().map(|step| ObservedStep {
            id: step.id.clone(),
            seen: Ok(diff()),
        });
        Ok(Observed {
            steps: steps.collect(),
            missing: Vec::new(),
            kept: diff(),
        })
    }

    async fn bring(
        &mut self,
        _: &[Sha256],
        _: &Blobs,
        _: &(dyn Fn(Bringing<'_>) + Sync),
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
            self.heard_secret = !secrets.reveal(&[name]).await?.is_empty();
        }
        (self.hears)(document)?;
        // Others have their turn meanwhile.
        tokio::task::yield_now().await;
        let tally = Tally {
            changed: 1,
            ..Tally::default()
        };
        match self.fails {
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

    async fn leave(self) -> Result<(), RunError> {
        Ok(())
    }
}

fn cluster() -> Cluster {
    casement_source::load("cluster.yaml", SPEC).cluster.unwrap()
}

fn run(api: &FakeApi, hosts: &mut [FakeHost]) -> Vec<HostOutcome> {
    run_with(api, hosts, None, &Stop::default())
}

fn run_with(
    api: &FakeApi,
    hosts: &mut [FakeHost],
    max_unavailable: Option<u16>,
    stop: &Stop,
) -> Vec<HostOutcome> {
    let programs = Program::ALL.iter().map(|program| {
        let blob = Blob {
            sha256: Sha256::of(program.name().as_bytes()),
            size: 1,
        };
        (*program, blob)
    });
    let inputs = Inputs {
        programs: programs.collect(),
        ..Inputs::default()
    };
    let cluster = cluster();
    let apply = Apply {
        cluster: &cluster,
        inputs: &inputs,
        blobs: &Blobs::new(),
        api,
        run: "run",
        stop,
        at_once: AtOnce::default(),
        unavailable: Unavailable::at_most(max_unavailable),
        tell: &|_: Happening<'_>| {},
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(apply.carry_out(hosts)).unwrap()
}

#[test]
fn a_host_goes_through_all_stages_and_its_token_does_not_outlive_the_join() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1")];
    let outcomes = run(&api, &mut hosts);
    assert_eq!(*outcomes[0].result.as_ref().unwrap(), 3);
    assert_eq!(
        hosts[0].converged,
        [Stage::Prepare, Stage::Join, Stage::Network]
    );
    assert!(hosts[0].heard_secret);
    let asked = api.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        [
            "attend win1",
            "mint win1",
            "revoke win1",
            "joined win1",
            "schedulable win1 false",
            "taint win1 os=windows:NoSchedule",
            "sweep win1",
            "ready win1",
            "schedulable win1 true",
        ]
    );
}

#[test]
fn a_token_is_taken_back_when_the_join_fails() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1")];
    hosts[0].fails = Some(Stage::Join);
    let outcomes = run(&api, &mut hosts);
    assert!(outcomes[0].result.is_err());
    assert!(api.asked("revoke win1"));
    assert!(!api.asked("ready win1"));
}

#[test]
fn a_host_that_fails_does_not_stop_the_others() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("win2")];
    hosts[0].fails = Some(Stage::Prepare);
    let outcomes = run(&api, &mut hosts);
    assert!(outcomes[0].result.is_err());
    assert!(outcomes[1].result.is_ok());
    assert!(!api.asked("mint win1"));
    assert!(api.asked("ready win2"));
}

#[test]
fn a_host_that_is_right_costs_no_token_and_no_change() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1")];
    hosts[0].right = true;
    let outcomes = run(&api, &mut hosts);
    assert_eq!(*outcomes[0].result.as_ref().unwrap(), 0);
    assert!(hosts[0].converged.is_empty());
    assert!(!api.asked("mint win1"));
    assert!(api.asked("sweep win1"), "a killed run may have left one");
    assert!(!api.asked("schedulable win1 false"));
}

#[test]
fn a_reboot_is_told_with_the_time_that_it_may_take() {
    let document = casement_plan::windows::prepare(
        &cluster(),
        &cluster().spec.hosts[0],
        &Inputs {
            open_programs: true,
            ..Inputs::default()
        },
    );
    let document = document.unwrap();
    let began = |id: &str| Event {
        run: "r".parse().unwrap(),
        sequence: 1,
        at: 0,
        what: What::StepBegan {
            id: id.parse().unwrap(),
            changes: Vec::new(),
            disruptive: true,
        },
    };
    let told = crate::job::going_away(&document, &began("reboot"));
    let text = "reboots for the feature Containers; it has 40 minutes to come back";
    assert_eq!(told.as_deref(), Some(text));
    assert_eq!(crate::job::going_away(&document, &began("dir-base")), None);
}
