//! The control channel: messages, noise, ends and cuts.

use std::sync::atomic::Ordering;

use casement_remote::{
    Agent, AgentHome, Channel, ChannelEnd, Delivery, HostOs, Incoming, RemoteError, Session,
};
use casement_resource::wire::{ToAgent, ToController};

use crate::double::Double;
use crate::program;

/// The double answers everything with `retired`, but `bye` with `bye`, and cuts
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

async fn open(double: &Double) -> (Session, Channel) {
    let path = double.local_file("casement-node", 100);
    let home = AgentHome::new(Agent::load(&path, HostOs::Linux).unwrap());
    let session = Session::connect(&double.target()).await.unwrap();
    let process = session.start(&home.line(&["channel"])).await.unwrap();
    (session, Channel::new(process))
}

#[tokio::test]
async fn messages_go_both_ways_and_noise_is_kept_aside() {
    let double = Double::start().await;
    let (_session, mut channel) = open(&double).await;
    for _ in 0..3 {
        channel.send(&hello()).await.unwrap();
        let answer = channel.next().await.unwrap();
        assert_eq!(answer, message(ToController::Retired));
    }
    channel.sender().send(&ToAgent::Bye).await.unwrap();
    assert_eq!(channel.next().await.unwrap(), message(ToController::Bye));
    let end = Incoming::End(ChannelEnd::Bye);
    assert_eq!(channel.next().await.unwrap(), end);
    assert_eq!(channel.next().await.unwrap(), end, "the end stays the end");
    let noise: Vec<_> = channel.noise().collect();
    assert_eq!(noise, ["Microsoft Windows [Version 10.0.20348]"]);
    let said = double.shared.said.lock().unwrap().join("\n");
    assert!(
        said.is_ascii() && said.contains(r"\u00fcn\u00efcode"),
        "{said}"
    );
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_brought_first() {
    let double = Double::start().await;
    let path = double.local_file("casement-node.exe", 100_000);
    let home = AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap());
    double.shared.needs_agent.store(true, Ordering::SeqCst);
    let session = Session::connect(&double.target()).await.unwrap();
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Sent(100_000));
    assert_eq!(*opened.answer, ToController::Retired);
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Reused);
    let line = format!(r#"cmd /c "{}" channel"#, home.path());
    let commands = double.shared.commands.lock().unwrap().clone();
    let asked = commands
        .iter()
        .map(|it| it.starts_with("echo casement-cmd"));
    let asked: Vec<bool> = asked.collect();
    assert_eq!(asked, [false, true, false, false], "what it is, once");
    let started = commands.iter().filter(|it| **it == line);
    assert_eq!(started.count(), 3, "{commands:?}");

    let other = double.local_file("broken.exe", 50_000);
    let home = AgentHome::new(Agent::load(&other, HostOs::Windows).unwrap());
    double.shared.needs_agent.store(false, Ordering::SeqCst);
    double.shared.broken.store(true, Ordering::SeqCst);
    let Err(error) = home.open(&session, "me", |_| {}).await else {
        panic!("it does not run");
    };
    assert_eq!(error.code(), "CAS-SSH-018");
    assert!(error.details()[1].1.contains("not recognized"));
}

#[tokio::test]
async fn an_agent_for_another_processor_is_not_brought_to_windows() {
    let double = Double::start().await;
    let path = double.local_file("casement-node.exe", 0);
    std::fs::write(&path, program::for_x86_64()).unwrap();
    let home = AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap());
    double.shared.needs_agent.store(true, Ordering::SeqCst);
    *double.shared.processor.lock().unwrap() = "ARM64";
    let session = Session::connect(&double.target()).await.unwrap();
    let Err(error) = home.open(&session, "me", |_| {}).await else {
        panic!("it would not run");
    };
    assert_eq!(error.code(), "CAS-SSH-027");
    let told = format!("{:?}", error.details());
    assert!(told.contains("Windows, aarch64"), "{told}");
    assert!(told.contains("Windows, x86_64"), "{told}");
    assert_eq!(double.shared.written.load(Ordering::SeqCst), 0);
    // One that does not say what it is, is believed to be what the file says.
    *double.shared.processor.lock().unwrap() = "x86";
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert!(matches!(opened.delivery, Delivery::Sent(_)));
}

#[tokio::test]
async fn an_agent_is_started_through_the_bash_of_git_as_well() {
    let double = Double::start().await;
    let path = double.local_file("casement-node.exe", 1000);
    let home = AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap());
    double.shared.needs_agent.store(true, Ordering::SeqCst);
    double.shared.git_bash.store(true, Ordering::SeqCst);
    let session = Session::connect(&double.target()).await.unwrap();
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Sent(1000));
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Reused);
    let commands = double.shared.commands.lock().unwrap().clone();
    let last = commands.last().unwrap();
    assert_eq!(*last, format!(r#"cmd //c "{}" channel"#, home.path()));
}

#[tokio::test]
async fn a_cut_is_no_exit() {
    let double = Double::start().await;
    let (session, mut channel) = open(&double).await;
    channel.send(&ToAgent::Retire).await.unwrap();
    let end = Incoming::End(ChannelEnd::Cut);
    assert_eq!(channel.next().await.unwrap(), end);
    let mut sent = Ok(());
    while sent.is_ok() {
        sent = channel.send(&hello()).await;
    }
    assert!(matches!(sent, Err(RemoteError::Lost { .. })));
    let Err(error) = session.sftp().await else {
        panic!("the session is gone");
    };
    assert_eq!(error.code(), "CAS-SSH-014");
}

#[tokio::test]
async fn a_program_that_is_not_there_ends_without_a_message() {
    let double = Double::start().await;
    let session = Session::connect(&double.target()).await.unwrap();
    let process = session.start("nothing").await.unwrap();
    let mut channel = Channel::new(process);
    let end = Incoming::End(ChannelEnd::Exited(1));
    assert_eq!(channel.next().await.unwrap(), end);
    assert_eq!(channel.noise().collect::<Vec<_>>(), ["not recognized"]);
}

#[tokio::test]
async fn another_protocol_is_told_as_that() {
    let double = Double::start().await;
    let session = Session::connect(&double.target()).await.unwrap();
    let process = session.start("other protocol").await.unwrap();
    let error = Channel::new(process).next().await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-021");
}
