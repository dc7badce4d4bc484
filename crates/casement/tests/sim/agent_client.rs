//! The whole way from a document to a host and back.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use casement_remote::{HostOs, Sha256, Way};
use casement_resource::wire::{Event, Pull, PullProxy, What};
use casement_resource::{
    Access, Blob, Directory, Env, File, HnsNetwork, HnsNetworkType, NodeDocument, Resource, Secret,
    SecretFile, SecretName, Stage, TextPart,
};
use casement_run::RunError;
use casement_run::link::Link;
use casement_run::secrets::{NoSecrets, Secrets};
use casement_run::source::{Blobs, Bringing, Mirrored, Source};
use casement_sim::{SimHost, SimSystem};
use tokio::net::{TcpListener, TcpStream};

use crate::publisher::Publisher;
use crate::rig::{Rig, agents, step};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 18, 0, 11);

fn windows_document() -> NodeDocument {
    let directory = Directory {
        path: r"C:\k".parse().unwrap(),
        access: Access::Inherited,
    };
    let network = HnsNetwork {
        name: "cbr0".to_owned(),
        network_type: HnsNetworkType::L2Bridge,
        subnet: "10.244.1.0/24".parse().unwrap(),
        gateway: "10.244.1.1".parse().unwrap(),
        isolation: None,
        adapter_address: ADDRESS.into(),
    };
    let variable = Env {
        name: "NODE".to_owned(),
        value: "sim1".to_owned(),
    };
    let steps = vec![
        step("base", false, Resource::Directory(directory)),
        step("network", true, Resource::HnsNetwork(network)),
        step("variable", false, Resource::Env(variable)),
    ];
    NodeDocument::new("sim1".to_owned(), Stage::Prepare, steps).unwrap()
}

#[tokio::test]
async fn a_windows_host_is_converged_through_the_cut_that_its_network_makes_and_taken_back() {
    let rig = Rig::start(SimSystem::Windows, ADDRESS).await;
    let before = rig.host.sim().world();
    let mut link = rig.link(HostOs::Windows).await;
    let document = windows_document();
    assert!(!link.observe(&document).await.unwrap().is_right());
    let told = Mutex::new(Vec::new());
    let tell = |event: &Event| told.lock().unwrap().push(event.clone());
    let run = "r1".parse().unwrap();
    let tally = link
        .converge(&run, &document, &NoSecrets, tell)
        .await
        .unwrap();
    assert_eq!(tally.changed, 3);
    let world = rig.host.sim().world();
    assert_eq!(world.networks.len(), 1);
    assert_eq!(world.variables["NODE"], "sim1");
    let told = told.into_inner().unwrap();
    let numbers: Vec<u64> = told.iter().map(|event| event.sequence).collect();
    let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected, "each event is heard once, in order");
    assert!(link.observe(&document).await.unwrap().is_right());

    let run = "r2".parse().unwrap();
    let mut removed = BTreeMap::new();
    let tell = |event: &Event| {
        if let What::StepRemoved { id, thing } = &event.what {
            removed.insert(id.to_string(), thing.clone());
        }
    };
    link.remove(&run, tell).await.unwrap();
    assert_eq!(removed.len(), 3, "{removed:?}");
    link.leave().await.unwrap();
    assert_eq!(rig.host.sim().world(), before);
}

#[tokio::test]
async fn a_connection_that_is_lost_while_nothing_runs_is_made_again() {
    let rig = Rig::start(SimSystem::Windows, Ipv4Addr::new(127, 18, 0, 12)).await;
    let mut link = rig.link(HostOs::Windows).await;
    let steps = vec![step(
        "variable",
        false,
        Resource::Env(Env {
            name: "NODE".to_owned(),
            value: "sim1".to_owned(),
        }),
    )];
    let document = NodeDocument::new("sim1".to_owned(), Stage::Prepare, steps).unwrap();
    rig.host.cut();
    assert!(!link.observe(&document).await.unwrap().is_right());
    rig.host.cut();
    let run = "r1".parse().unwrap();
    let tally = link
        .converge(&run, &document, &NoSecrets, |_| {})
        .await
        .unwrap();
    assert_eq!(tally.changed, 1);
    link.close().await;
}

/// Cuts the connection when it is asked for the first time: what it gives is
/// written to one that is gone.
struct Lost<'a> {
    host: &'a SimHost,
    asked: AtomicU32,
}

impl Secrets for Lost<'_> {
    async fn reveal(&self, names: &[SecretName]) -> Result<BTreeMap<SecretName, Secret>, RunError> {
        if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
            self.host.cut();
        }
        let value = |name: &SecretName| (name.clone(), Secret::new("hunter2".to_owned()));
        Ok(names.iter().map(value).collect())
    }
}

fn needs_secret() -> NodeDocument {
    let fingerprint = Secret::new("hunter2".to_owned()).fingerprint("sim1");
    let file = SecretFile {
        path: r"C:\secret".parse().unwrap(),
        text: vec![TextPart::Quoted("password".parse().unwrap())],
        fingerprints: BTreeMap::from([("password".parse().unwrap(), fingerprint)]),
    };
    let steps = vec![step("file", false, Resource::SecretFile(file))];
    NodeDocument::new("sim1".to_owned(), Stage::Prepare, steps).unwrap()
}

#[tokio::test]
async fn a_secret_that_is_lost_on_the_way_is_sent_again() {
    let rig = Rig::start(SimSystem::Windows, Ipv4Addr::new(127, 18, 0, 15)).await;
    let mut link = rig.link(HostOs::Windows).await;
    let secrets = Lost {
        host: &rig.host,
        asked: AtomicU32::new(0),
    };
    let run = "r1".parse().unwrap();
    let tally = link.converge(&run, &needs_secret(), &secrets, |_| {}).await;
    assert_eq!(tally.unwrap().changed, 1);
    assert_eq!(secrets.asked.into_inner(), 2);
}

#[tokio::test]
async fn a_run_that_asks_for_an_unknown_secret_is_stopped() {
    let rig = Rig::start(SimSystem::Windows, Ipv4Addr::new(127, 18, 0, 16)).await;
    let before = rig.host.sim().world();
    let mut link = rig.link(HostOs::Windows).await;
    let run = "r1".parse().unwrap();
    let ended = link
        .converge(&run, &needs_secret(), &NoSecrets, |_| {})
        .await;
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("`sim1` asked for a secret"), "{error}");
    // It does not wait for ever: the next run has its turn.
    let run = "r2".parse().unwrap();
    while let Err(error) = link.remove(&run, |_| {}).await {
        assert!(matches!(error, RunError::Busy { .. }), "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    link.leave().await.unwrap();
    assert_eq!(rig.host.sim().world(), before);
}

#[tokio::test]
async fn a_linux_host_is_converged_too() {
    let rig = Rig::start(SimSystem::Linux, Ipv4Addr::new(127, 18, 0, 21)).await;
    let before = rig.host.sim().world();
    let mut link = rig.link(HostOs::Linux).await;
    let file = File {
        path: "/etc/casement.conf".parse().unwrap(),
        content: "a = 1\n".into(),
        access: Access::Inherited,
    };
    let steps = vec![step("file", false, Resource::File(file))];
    let document = NodeDocument::new("sim1".to_owned(), Stage::Network, steps).unwrap();
    let run = "r1".parse().unwrap();
    let tally = link
        .converge(&run, &document, &NoSecrets, |_| {})
        .await
        .unwrap();
    assert_eq!(tally.changed, 1);
    let run = "r2".parse().unwrap();
    link.remove(&run, |_| {}).await.unwrap();
    link.leave().await.unwrap();
    assert_eq!(rig.host.sim().world(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_that_is_cut_at_any_message_goes_on_after_it() {
    // So much that a host does not have all of it before it hears of the cut.
    let content = vec![7; 35_500_000];
    let (hash, served) = (Sha256::of(&content), content.clone());
    let publisher = Publisher::start(move |_| Some(served.clone()));
    let pull = Pull {
        from: Secret::new(publisher.url.clone()),
        proxy: PullProxy::Direct,
        download: Blob::of(&content),
        members: Vec::new(),
    };
    let name = "tool".to_owned();
    let source = Source {
        path: "/nonexistent".into(),
        mirror: Some(Mirrored { name, pull }),
    };
    let blobs = Blobs::from([(hash, source)]);
    for cut_at in 0..4 {
        let rig = Rig::start(SimSystem::Windows, Ipv4Addr::new(127, 18, 0, 31)).await;
        let mut link = rig.link(HostOs::Windows).await;
        let heard = AtomicU32::new(0);
        let (sent, pulled) = (AtomicU32::new(9), AtomicU32::new(0));
        if cut_at == 0 {
            rig.host.cut();
        }
        let tell = |how: Bringing<'_>| match how {
            Bringing::Progress { .. } => {
                if heard.fetch_add(1, Ordering::SeqCst) + 1 == cut_at {
                    rig.host.cut();
                }
            }
            Bringing::NotPulled { why, .. } => panic!("{why:?}"),
            Bringing::Brought {
                pulled: all,
                sent: rest,
            } => {
                pulled.store(all.try_into().unwrap(), Ordering::SeqCst);
                sent.store(rest.try_into().unwrap(), Ordering::SeqCst);
            }
        };
        link.bring(&[hash], &blobs, &tell).await.unwrap();
        assert_eq!((pulled.into_inner(), sent.into_inner()), (35_500_000, 0));
        let store = rig.host.console().disk().join("ProgramData/casement/blobs");
        let names: Vec<_> = std::fs::read_dir(&store).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{cut_at}: {names:?}");
        assert!(std::fs::read(store.join(hash.to_string())).unwrap() == content);
        link.close().await;
    }
    // Not from the beginning each time.
    assert!(!publisher.ranges().is_empty());
}

/// A door in front of a host that is slammed at the first who comes.
async fn door_of(rig: &Rig) -> Way {
    let address = Ipv4Addr::new(127, 18, 0, 14);
    let door = TcpListener::bind((address, 0)).await.unwrap();
    let port = door.local_addr().unwrap().port();
    let Way::Ssh(mut target) = rig.way.clone() else {
        panic!("simulated hosts are reached by SSH");
    };
    let behind = (target.address.clone(), target.port);
    let known = rig.host.known_hosts_line().unwrap();
    let known = known.replace(
        &format!("[{}]:{}", behind.0, behind.1),
        &format!("[{address}]:{port}"),
    );
    std::fs::write(&target.known_hosts, known).unwrap();
    target.address = address.to_string();
    target.port = port;
    tokio::spawn(async move {
        drop(door.accept().await.unwrap());
        loop {
            let (mut outside, _) = door.accept().await.unwrap();
            let mut inside = TcpStream::connect(behind.clone()).await.unwrap();
            tokio::spawn(async move {
                let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    Way::Ssh(target)
}

#[tokio::test]
async fn a_host_that_drops_the_first_connection_is_tried_again() {
    let rig = Rig::start(SimSystem::Linux, Ipv4Addr::new(127, 18, 0, 13)).await;
    let way = door_of(&rig).await;
    let link = Link::open(&way, HostOs::Linux, &agents(), "test").await;
    assert_eq!(link.unwrap().facts().hostname, "sim1");
}
