//! The control channel: messages, noise, exits and dropped connections.

use std::sync::atomic::Ordering;

use casement_remote::{
    Agent, AgentHome, Channel, ChannelEnd, ConnectionError, Delivery, HostOs, Incoming,
    RemoteError, Session,
};
use casement_resource::wire::{ToAgent, ToController};

use crate::fake_server::FakeServer;
use crate::pe_header;

/// The fake server responds to everything with `retired`, to `bye` with `bye`, and drops
/// the connection at `retire`.
fn hello() -> ToAgent {
    ToAgent::Hello {
        protocol: 1,
        controller: "ünïcode, pid 1".to_owned(),
    }
}

fn message(message: ToController) -> Incoming {
    Incoming::Message(Box::new(message))
}

async fn open(server: &FakeServer) -> (Session, Channel) {
    let path = server.local_file("casement-node", 100);
    let home = AgentHome::new(Agent::load(&path, HostOs::Linux).unwrap());
    let session = Session::connect(&server.target()).await.unwrap();
    let process = session
        .start(&home.command_line(&["channel"]))
        .await
        .unwrap();
    (session, Channel::new(process))
}

#[tokio::test]
async fn messages_are_exchanged_and_noise_is_kept_separately() {
    let server = FakeServer::start().await;
    let (_session, mut channel) = open(&server).await;
    for _ in 0..3 {
        channel.send(&hello()).await.unwrap();
        let answer = channel.next().await.unwrap();
        assert_eq!(answer, message(ToController::Retired));
    }
    channel.send(&ToAgent::Bye).await.unwrap();
    assert_eq!(channel.next().await.unwrap(), message(ToController::Bye));
    let end = Incoming::End(ChannelEnd::Bye);
    assert_eq!(channel.next().await.unwrap(), end);
    assert_eq!(channel.next().await.unwrap(), end, "the end is final");
    let noise: Vec<_> = channel.noise().collect();
    assert_eq!(noise, ["Microsoft Windows [Version 10.0.20348]"]);
    let received = server.shared.received.lock().unwrap().join("\n");
    assert!(
        received.is_ascii() && received.contains(r"\u00fcn\u00efcode"),
        "{received}"
    );
}

#[tokio::test]
async fn missing_agent_is_uploaded_first() {
    let server = FakeServer::start().await;
    let path = server.local_file("casement-node.exe", 100_000);
    let home = AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap());
    server.shared.needs_agent.store(true, Ordering::SeqCst);
    let session = server.connect().await;
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Sent(100_000));
    assert_eq!(*opened.first_message, ToController::Retired);
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Reused);
    let line = format!(r#"cmd /c "{}" channel"#, home.path());
    let commands = server.shared.commands.lock().unwrap().clone();
    let probes = commands
        .iter()
        .map(|it| it.starts_with("echo casement-cmd"));
    let probes: Vec<bool> = probes.collect();
    assert_eq!(probes, [false, true, false, false], "the probe runs once");
    let started = commands.iter().filter(|it| **it == line);
    assert_eq!(started.count(), 3, "{commands:?}");

    let other = server.local_file("broken.exe", 50_000);
    let home = AgentHome::new(Agent::load(&other, HostOs::Windows).unwrap());
    server.shared.needs_agent.store(false, Ordering::SeqCst);
    server.shared.broken.store(true, Ordering::SeqCst);
    let Err(error) = home.open(&session, "me", |_| {}).await else {
        panic!("the agent must not run");
    };
    assert_eq!(error.code(), "CAS-SSH-018");
    assert!(error.problem().detail[1].1.contains("not recognized"));
}

#[tokio::test]
async fn agent_for_another_architecture_is_not_uploaded_to_windows() {
    let server = FakeServer::start().await;
    let path = server.local_file("casement-node.exe", 0);
    std::fs::write(&path, pe_header::x86_64()).unwrap();
    let home = AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap());
    server.shared.needs_agent.store(true, Ordering::SeqCst);
    *server.shared.processor.lock().unwrap() = "ARM64";
    let session = server.connect().await;
    let Err(error) = home.open(&session, "me", |_| {}).await else {
        panic!("the agent is for another architecture");
    };
    assert_eq!(error.code(), "CAS-SSH-027");
    let details = format!("{:?}", error.problem().detail);
    assert!(details.contains("Windows, aarch64"), "{details}");
    assert!(details.contains("Windows, x86_64"), "{details}");
    assert_eq!(server.shared.written.load(Ordering::SeqCst), 0);
    // An unknown architecture is assumed to match.
    *server.shared.processor.lock().unwrap() = "x86";
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert!(matches!(opened.delivery, Delivery::Sent(_)));
}

#[tokio::test]
async fn agent_starts_through_git_bash() {
    let server = FakeServer::start().await;
    let path = server.local_file("casement-node.exe", 1000);
    let home = AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap());
    server.shared.needs_agent.store(true, Ordering::SeqCst);
    server.shared.git_bash.store(true, Ordering::SeqCst);
    let session = server.connect().await;
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Sent(1000));
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Reused);
    let commands = server.shared.commands.lock().unwrap().clone();
    let last = commands.last().unwrap();
    assert_eq!(*last, format!(r#"cmd //c "{}" channel"#, home.path()));
}

#[tokio::test]
async fn dropped_connection_is_not_an_exit() {
    let server = FakeServer::start().await;
    let (session, mut channel) = open(&server).await;
    channel.send(&ToAgent::Retire).await.unwrap();
    let end = Incoming::End(ChannelEnd::ConnectionLost);
    assert_eq!(channel.next().await.unwrap(), end);
    let mut sent = Ok(());
    while sent.is_ok() {
        sent = channel.send(&hello()).await;
    }
    assert!(matches!(
        sent,
        Err(RemoteError::Connection(ConnectionError::Lost { .. }))
    ));
    let Err(error) = session.sftp().await else {
        panic!("the session must be lost");
    };
    assert_eq!(error.code(), "CAS-SSH-014");
}

#[tokio::test]
async fn missing_program_exits_without_a_message() {
    let server = FakeServer::start().await;
    let session = Session::connect(&server.target()).await.unwrap();
    let process = session.start("nothing").await.unwrap();
    let mut channel = Channel::new(process);
    let end = Incoming::End(ChannelEnd::Exited(1));
    assert_eq!(channel.next().await.unwrap(), end);
    assert_eq!(channel.noise().collect::<Vec<_>>(), ["not recognized"]);
}

#[tokio::test]
async fn other_protocol_version_is_reported() {
    let server = FakeServer::start().await;
    let session = Session::connect(&server.target()).await.unwrap();
    let process = session.start("other protocol").await.unwrap();
    let error = Channel::new(process).next().await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-021");
}
