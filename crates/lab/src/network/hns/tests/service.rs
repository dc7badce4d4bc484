//! The store with a fabric and a state file.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lab_wire::Failure;
use lab_wire::hcn::{HcnCall, Object, Verb};
use serde_json::{Value, json};

use super::super::{Effect, Fabric, FabricError, Hns, HnsConfig, HnsVersion};
use super::{l2bridge, overlay};

/// Records effects and fails those that `fail` selects.
#[derive(Clone, Default)]
struct Recorder {
    effects: Arc<Mutex<Vec<Effect>>>,
    fail: Option<fn(&Effect) -> bool>,
}

impl Fabric for Recorder {
    fn apply(&mut self, effect: &Effect) -> Result<(), FabricError> {
        if self.fail.is_some_and(|fail| fail(effect)) {
            return Err(FabricError("RTNETLINK answers: File exists".to_owned()));
        }
        self.effects.lock().unwrap().push(effect.clone());
        Ok(())
    }
}

fn open(dir: &Path, boot: bool, fabric: Recorder) -> Hns {
    let config = HnsConfig {
        version: HnsVersion::WS2022,
        state_file: dir.join("hns.json"),
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
fn failed_effects_are_rolled_back() {
    let dir = tempfile::tempdir().unwrap();
    let fabric = Recorder {
        fail: Some(|effect| matches!(effect, Effect::NetworkCreated(_))),
        ..Recorder::default()
    };
    let hns = open(dir.path(), true, fabric.clone());
    let failure = call(&hns, Verb::Create, Object::Network, overlay("a")).unwrap_err();
    assert_eq!(failure.code, 0x8000_4005);
    assert!(failure.text.contains("File exists"));
    let effects = fabric.effects.lock().unwrap().clone();
    assert!(
        matches!(
            &effects[..],
            [Effect::SwitchCreated { .. }, Effect::SwitchRemoved { .. }]
        ),
        "{effects:?}"
    );
    assert_eq!(
        call(&hns, Verb::Enumerate, Object::Network, json!({})).unwrap(),
        "[]"
    );
}

#[test]
fn networks_survive_a_service_restart_and_persistent_ones_a_boot() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path(), true, Recorder::default());
    call(&first, Verb::Create, Object::Network, overlay("gone")).unwrap();
    call(&first, Verb::Create, Object::Network, l2bridge("kept")).unwrap();
    let count = |hns: &Hns| {
        let ids = call(hns, Verb::Enumerate, Object::Network, json!({})).unwrap();
        serde_json::from_str::<Vec<String>>(&ids).unwrap().len()
    };
    let fabric = Recorder::default();
    assert_eq!(count(&open(dir.path(), false, fabric.clone())), 2);
    assert_eq!(
        fabric.effects.lock().unwrap().len(),
        0,
        "no effects without a boot"
    );
    assert_eq!(count(&open(dir.path(), true, fabric.clone())), 1);
    assert_eq!(
        fabric.effects.lock().unwrap().len(),
        2,
        "switch and network"
    );
}

#[test]
fn network_namespace_has_the_id_as_name() {
    let dir = tempfile::tempdir().unwrap();
    let hns = open(dir.path(), true, Recorder::default());
    let id = call(&hns, Verb::Create, Object::Namespace, json!({})).unwrap();
    assert_eq!(hns.namespace_netns(&id.to_ascii_uppercase()), Some(id));
    let default = json!({"Filter": "{\"Type\":\"HostDefault\"}"});
    let default = call(&hns, Verb::Enumerate, Object::Namespace, default).unwrap();
    let default: Vec<String> = serde_json::from_str(&default).unwrap();
    assert_eq!(hns.namespace_netns(&default[0]), None);
    assert_eq!(hns.namespace_netns("unknown"), None);
}
