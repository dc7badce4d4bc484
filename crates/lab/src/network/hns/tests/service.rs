//! The store, its wire and its file together.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lab_wire::Failure;
use lab_wire::hcn::{HcnCall, Object, Verb};
use serde_json::{Value, json};

use super::super::{Effect, Fabric, FabricError, Hns, HnsConfig, HnsVersion};
use super::{l2bridge, overlay};

/// Remembers what it was told, and refuses what it is told to refuse.
#[derive(Clone, Default)]
struct Recorder {
    seen: Arc<Mutex<Vec<Effect>>>,
    refuse: Option<fn(&Effect) -> bool>,
}

impl Fabric for Recorder {
    fn apply(&mut self, effect: &Effect) -> Result<(), FabricError> {
        if self.refuse.is_some_and(|refuse| refuse(effect)) {
            return Err(FabricError("RTNETLINK answers: File exists".to_owned()));
        }
        self.seen.lock().unwrap().push(effect.clone());
        Ok(())
    }
}

fn open(folder: &Path, boot: bool, fabric: Recorder) -> Hns {
    let config = HnsConfig {
        version: HnsVersion::WS2022,
        state_file: folder.join("hns.json"),
        nic: "Ethernet".to_owned(),
        management_ip: Ipv4Addr::new(198, 18, 1, 2),
        address_delay: Duration::ZERO,
        boot,
    };
    Hns::open(config, Box::new(fabric)).unwrap()
}

fn call(hns: &Hns, verb: Verb, object: Object, document: Value) -> Result<String, Failure> {
    hns.hcn(&HcnCall {
        verb,
        object,
        id: String::new(),
        network: String::new(),
        document: document.to_string(),
    })
}

#[test]
fn a_refusal_by_the_wire_is_told_undone_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = Recorder {
        refuse: Some(|effect| matches!(effect, Effect::NetworkMade(_))),
        ..Recorder::default()
    };
    let hns = open(folder.path(), true, fabric.clone());
    let failure = call(&hns, Verb::Create, Object::Network, overlay("a")).unwrap_err();
    assert_eq!(failure.code, 0x8000_4005);
    assert!(failure.text.contains("File exists"));
    let seen = fabric.seen.lock().unwrap().clone();
    assert!(
        matches!(
            &seen[..],
            [Effect::SwitchMade { .. }, Effect::SwitchGone { .. }]
        ),
        "{seen:?}"
    );
    assert_eq!(
        call(&hns, Verb::Enumerate, Object::Network, json!({})).unwrap(),
        "[]"
    );
}

#[test]
fn networks_survive_a_restart_of_the_service_and_persistent_ones_a_boot() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path(), true, Recorder::default());
    call(&first, Verb::Create, Object::Network, overlay("gone")).unwrap();
    call(&first, Verb::Create, Object::Network, l2bridge("kept")).unwrap();
    let count = |hns: &Hns| {
        let ids = call(hns, Verb::Enumerate, Object::Network, json!({})).unwrap();
        serde_json::from_str::<Vec<String>>(&ids).unwrap().len()
    };
    let fabric = Recorder::default();
    assert_eq!(count(&open(folder.path(), false, fabric.clone())), 2);
    assert_eq!(
        fabric.seen.lock().unwrap().len(),
        0,
        "the wire is still there"
    );
    assert_eq!(count(&open(folder.path(), true, fabric.clone())), 1);
    assert_eq!(fabric.seen.lock().unwrap().len(), 2, "switch and network");
}

#[test]
fn a_pods_linux_namespace_is_named_after_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let hns = open(folder.path(), true, Recorder::default());
    let id = call(&hns, Verb::Create, Object::Namespace, json!({})).unwrap();
    assert_eq!(hns.namespace_netns(&id.to_ascii_uppercase()), Some(id));
    let own = json!({"Filter": "{\"Type\":\"HostDefault\"}"});
    let own = call(&hns, Verb::Enumerate, Object::Namespace, own).unwrap();
    let own: Vec<String> = serde_json::from_str(&own).unwrap();
    assert_eq!(hns.namespace_netns(&own[0]), None);
    assert_eq!(hns.namespace_netns("unknown"), None);
}
