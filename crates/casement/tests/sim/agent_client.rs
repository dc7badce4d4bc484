//! Converges and cleans up single hosts with `AgentClient`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use casement_remote::{HostEndpoint, HostOs, Sha256};
use casement_resource::wire::{Event, EventKind, Pull, PullProxy};
use casement_resource::{
    Access, Blob, Directory, Env, File, HnsNetwork, HnsNetworkType, NodeDocument, Resource, Secret,
    SecretFile, SecretName, Stage, TextPart,
};
use casement_run::RunError;
use casement_run::agent_client::AgentClient;
use casement_run::blob_source::{BlobProgress, BlobSource, Blobs, MirroredBlob};
use casement_run::host_agent::HostAgent as _;
use casement_run::secrets::{NoSecrets, Secrets};
use casement_sim::{SimHost, SimSystem};
use tokio::net::{TcpListener, TcpStream};

use crate::host_fixture::{HostFixture, agents, step};
use crate::mirror_server::MirrorServer;
use crate::running_command::with_timeout;

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
async fn windows_host_converges_through_a_network_change_and_is_cleaned_up() {
    let fixture = HostFixture::start(SimSystem::Windows, ADDRESS).await;
    let before = fixture.host.sim().world();
    let mut client = fixture.connect(HostOs::Windows).await;
    let document = windows_document();
    assert!(!client.observe(&document).await.unwrap().in_sync());
    let events = Mutex::new(Vec::new());
    let on_event = |event: &Event| events.lock().unwrap().push(event.clone());
    let run = "r1".parse().unwrap();
    let tally = client
        .converge(&run, &document, &NoSecrets, &on_event)
        .await
        .unwrap();
    assert_eq!(tally.changed, 3);
    let world = fixture.host.sim().world();
    assert_eq!(world.networks.len(), 1);
    assert_eq!(world.variables["NODE"], "sim1");
    let events = events.into_inner().unwrap();
    let numbers: Vec<u64> = events.iter().map(|event| event.sequence).collect();
    let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected, "each event arrives once, in order");
    assert!(client.observe(&document).await.unwrap().in_sync());

    let run = "r2".parse().unwrap();
    let removed = Mutex::new(BTreeMap::new());
    let on_event = |event: &Event| {
        if let EventKind::StepRemoved { id, thing } = &event.kind {
            let mut removed = removed.lock().unwrap();
            removed.insert(id.to_string(), thing.clone());
        }
    };
    client.remove(&run, &on_event).await.unwrap();
    let removed = removed.into_inner().unwrap();
    assert_eq!(removed.len(), 3, "{removed:?}");
    client.retire().await.unwrap();
    assert_eq!(fixture.host.sim().world(), before);
}

#[tokio::test]
async fn idle_connection_that_is_lost_is_reopened() {
    let fixture = HostFixture::start(SimSystem::Windows, Ipv4Addr::new(127, 18, 0, 12)).await;
    let mut client = fixture.connect(HostOs::Windows).await;
    let steps = vec![step(
        "variable",
        false,
        Resource::Env(Env {
            name: "NODE".to_owned(),
            value: "sim1".to_owned(),
        }),
    )];
    let document = NodeDocument::new("sim1".to_owned(), Stage::Prepare, steps).unwrap();
    fixture.host.cut();
    assert!(!client.observe(&document).await.unwrap().in_sync());
    fixture.host.cut();
    let run = "r1".parse().unwrap();
    let tally = client
        .converge(&run, &document, &NoSecrets, &|_| {})
        .await
        .unwrap();
    assert_eq!(tally.changed, 1);
    client.close().await;
}

/// Drops the connection at the first request, so that the reply is lost.
struct DropOnFirstRequest<'a> {
    host: &'a SimHost,
    requests: AtomicU32,
}

impl Secrets for DropOnFirstRequest<'_> {
    async fn reveal(&self, names: &[SecretName]) -> Result<BTreeMap<SecretName, Secret>, RunError> {
        if self.requests.fetch_add(1, Ordering::SeqCst) == 0 {
            self.host.cut();
        }
        let value = |name: &SecretName| (name.clone(), Secret::new("hunter2".to_owned()));
        Ok(names.iter().map(value).collect())
    }
}

fn document_with_secret() -> NodeDocument {
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
async fn secret_lost_in_transit_is_sent_again() {
    let fixture = HostFixture::start(SimSystem::Windows, Ipv4Addr::new(127, 18, 0, 15)).await;
    let mut client = fixture.connect(HostOs::Windows).await;
    let secrets = DropOnFirstRequest {
        host: &fixture.host,
        requests: AtomicU32::new(0),
    };
    let run = "r1".parse().unwrap();
    let tally = client
        .converge(&run, &document_with_secret(), &secrets, &|_| {})
        .await;
    assert_eq!(tally.unwrap().changed, 1);
    assert_eq!(secrets.requests.into_inner(), 2);
}

#[tokio::test]
async fn run_that_requests_an_unknown_secret_fails() {
    let fixture = HostFixture::start(SimSystem::Windows, Ipv4Addr::new(127, 18, 0, 16)).await;
    let before = fixture.host.sim().world();
    let mut client = fixture.connect(HostOs::Windows).await;
    let run = "r1".parse().unwrap();
    let ended = client
        .converge(&run, &document_with_secret(), &NoSecrets, &|_| {})
        .await;
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("`sim1` requested a secret"), "{error}");
    // The failed run does not block the next one.
    let run = "r2".parse().unwrap();
    let removed = async {
        while let Err(error) = client.remove(&run, &|_| {}).await {
            assert!(matches!(error, RunError::Busy { .. }), "{error}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    with_timeout("the host is free", removed).await;
    client.retire().await.unwrap();
    assert_eq!(fixture.host.sim().world(), before);
}

#[tokio::test]
async fn linux_host_converges_and_is_cleaned_up() {
    let fixture = HostFixture::start(SimSystem::Linux, Ipv4Addr::new(127, 18, 0, 21)).await;
    let before = fixture.host.sim().world();
    let mut client = fixture.connect(HostOs::Linux).await;
    let file = File {
        path: "/etc/casement.conf".parse().unwrap(),
        content: "a = 1\n".into(),
        access: Access::Inherited,
    };
    let steps = vec![step("file", false, Resource::File(file))];
    let document = NodeDocument::new("sim1".to_owned(), Stage::Network, steps).unwrap();
    let run = "r1".parse().unwrap();
    let tally = client
        .converge(&run, &document, &NoSecrets, &|_| {})
        .await
        .unwrap();
    assert_eq!(tally.changed, 1);
    let run = "r2".parse().unwrap();
    client.remove(&run, &|_| {}).await.unwrap();
    client.retire().await.unwrap();
    assert_eq!(fixture.host.sim().world(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pull_resumes_after_a_drop_at_any_message() {
    // Large enough that the host does not have all of it when the connection drops.
    let content = vec![7; 35_500_000];
    let (hash, served) = (Sha256::of(&content), content.clone());
    let mirror = MirrorServer::start(move |_| Some(served.clone()));
    let pull = Pull {
        from: Secret::new(mirror.url.clone()),
        proxy: PullProxy::Direct,
        download: Blob::of(&content),
        members: Vec::new(),
    };
    let name = "tool".to_owned();
    let source = BlobSource {
        path: "/nonexistent".into(),
        mirror: Some(MirroredBlob { name, pull }),
    };
    let blobs = Blobs::from([(hash, source)]);
    for drop_at in 0..4 {
        let fixture = HostFixture::start(SimSystem::Windows, Ipv4Addr::new(127, 18, 0, 31)).await;
        let mut client = fixture.connect(HostOs::Windows).await;
        let received = AtomicU32::new(0);
        let (sent, pulled) = (AtomicU32::new(9), AtomicU32::new(0));
        if drop_at == 0 {
            fixture.host.cut();
        }
        let on_progress = |progress: BlobProgress<'_>| match progress {
            BlobProgress::Progress { .. } => {
                if received.fetch_add(1, Ordering::SeqCst) + 1 == drop_at {
                    fixture.host.cut();
                }
            }
            BlobProgress::PullFailed { failure, .. } => panic!("{failure:?}"),
            BlobProgress::Delivered {
                pulled: all,
                sent: rest,
            } => {
                pulled.store(all.try_into().unwrap(), Ordering::SeqCst);
                sent.store(rest.try_into().unwrap(), Ordering::SeqCst);
            }
        };
        client.deliver(&[hash], &blobs, &on_progress).await.unwrap();
        assert_eq!((pulled.into_inner(), sent.into_inner()), (35_500_000, 0));
        let store = fixture
            .host
            .console()
            .disk()
            .join("ProgramData/casement/blobs");
        let names: Vec<_> = std::fs::read_dir(&store).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{drop_at}: {names:?}");
        assert!(std::fs::read(store.join(hash.to_string())).unwrap() == content);
        client.close().await;
    }
    // At least one pull was resumed with a range request.
    assert!(!mirror.ranges().is_empty());
}

/// A proxy to the host that closes the first connection.
async fn proxy_dropping_first(fixture: &HostFixture) -> HostEndpoint {
    let address = Ipv4Addr::new(127, 18, 0, 14);
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let HostEndpoint::Ssh(mut target) = fixture.endpoint.clone() else {
        panic!("simulated hosts are reached by SSH");
    };
    let upstream = (target.address.clone(), target.port);
    let known = fixture.host.known_hosts_line().unwrap();
    let known = known.replace(
        &format!("[{}]:{}", upstream.0, upstream.1),
        &format!("[{address}]:{port}"),
    );
    std::fs::write(&target.known_hosts, known).unwrap();
    target.address = address.to_string();
    target.port = port;
    tokio::spawn(async move {
        drop(listener.accept().await.unwrap());
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = TcpStream::connect(upstream.clone()).await.unwrap();
            tokio::spawn(async move {
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    HostEndpoint::Ssh(target)
}

#[tokio::test]
async fn dropped_first_connection_is_retried() {
    let fixture = HostFixture::start(SimSystem::Linux, Ipv4Addr::new(127, 18, 0, 13)).await;
    let endpoint = proxy_dropping_first(&fixture).await;
    let client = AgentClient::open(&endpoint, HostOs::Linux, &agents(), "test").await;
    assert_eq!(client.unwrap().facts().hostname, "sim1");
}
