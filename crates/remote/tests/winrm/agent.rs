//! The agent over WinRM: its delivery, its channel, blobs, and cuts.

use std::path::PathBuf;
use std::time::Duration;

use casement_remote::winrm::WinRmSession;
use casement_remote::{
    Agent, AgentHome, ChannelEnd, Delivery, HostOs, Incoming, Reconnect, RemoteError, Sha256,
    Transport as _, hash_file,
};
use casement_resource::wire::{Outcome, ToAgent, ToController, What};
use casement_resource::{Access, Directory, NodeDocument, Resource, Stage, Step};

use crate::program;
use crate::server::Server;

/// A file here, with content that does not repeat.
fn local_file(server: &Server, name: &str, size: usize) -> PathBuf {
    let path = server.folder.path().join(name);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let content: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .take(size.div_ceil(8))
    .flatten()
    .take(size)
    .collect();
    std::fs::write(&path, content).unwrap();
    path
}

fn home(server: &Server, size: usize) -> AgentHome {
    let path = local_file(server, "casement-node.exe", size);
    AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap())
}

fn sends(server: &Server) -> usize {
    let actions = server.actions();
    actions.iter().filter(|action| *action == "Send").count()
}

#[tokio::test]
async fn the_agent_is_brought_once_hashed_before_it_is_named_and_reused() {
    for server in [Server::http().await, Server::https().await] {
        let home = home(&server, 1_500_000);
        let session = WinRmSession::connect(&server.target()).await.unwrap();
        let mut last = None;
        let opened = home
            .open(&session, "me", |progress| last = Some(progress))
            .await
            .unwrap();
        assert_eq!(opened.delivery, Delivery::Sent(1_500_000));
        assert_eq!(
            last.map(|last| (last.done, last.total)),
            Some((1_500_000, 1_500_000))
        );
        let ToController::Hello { agent, .. } = *opened.answer else {
            panic!("no hello");
        };
        let there = server.shared.host.there(&home.path().native());
        assert_eq!(hash_file(&there).unwrap().0, agent);
        let names: Vec<_> = std::fs::read_dir(there.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["casement-node.exe"], "nothing else is left");
        let before = server.actions().len();
        let opened = home.open(&session, "me", |_| {}).await.unwrap();
        assert_eq!(opened.delivery, Delivery::Reused);
        let after = server.actions();
        let asked: Vec<_> = after[before..]
            .iter()
            .filter(|action| !["Receive", "Signal"].contains(&action.as_str()))
            .collect();
        assert_eq!(asked, ["Command", "Send"], "one command, one line");
    }
}

#[tokio::test]
async fn an_agent_for_another_processor_is_not_brought() {
    let server = Server::http().await;
    let path = server.folder.path().join("casement-node.exe");
    std::fs::write(&path, program::for_x86_64()).unwrap();
    let home = AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap());
    *server.shared.host.processor.lock().unwrap() = "ARM64";
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    let Err(error) = home.open(&session, "me", |_| {}).await else {
        panic!("it would not run");
    };
    assert_eq!(error.code(), "CAS-SSH-027");
    let told = format!("{:?}", error.details());
    assert!(told.contains("Windows, aarch64"), "{told}");
    assert!(!server.shared.host.there(&home.path().native()).exists());
    *server.shared.host.processor.lock().unwrap() = "AMD64";
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Sent(0x90));
}

#[tokio::test]
async fn a_damaged_agent_is_replaced_and_a_blocked_certutil_named() {
    let server = Server::http().await;
    let home = home(&server, 100_000);
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    home.deliver(&session, |_| {}).await.unwrap();
    assert_eq!(
        home.deliver(&session, |_| {}).await.unwrap(),
        Delivery::Reused
    );
    let there = server.shared.host.there(&home.path().native());
    std::fs::write(&there, b"damaged").unwrap();
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Sent(100_000));
    std::fs::write(&there, b"damaged").unwrap();
    *server.shared.host.no_certutil.lock().unwrap() = true;
    let error = home.deliver(&session, |_| {}).await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-019");
    assert!(error.to_string().contains("group policy"), "{error}");
}

#[tokio::test]
async fn the_agent_goes_and_so_do_its_empty_folders() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    home.deliver(&session, |_| {}).await.unwrap();
    let program_files = server.shared.host.there(r"C:\Program Files");
    assert!(program_files.join("casement").exists());
    home.remove(&session).await.unwrap();
    assert_eq!(std::fs::read_dir(&program_files).unwrap().count(), 0);
    home.remove(&session).await.unwrap();
}

#[tokio::test]
async fn messages_go_both_ways_while_nobody_speaks_and_end_with_bye() {
    let server = Server::http().await;
    server.change(|settings| settings.receive = Duration::from_millis(30));
    let home = home(&server, 1000);
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    let receives = || {
        let actions = server.actions();
        actions.iter().filter(|action| *action == "Receive").count()
    };
    let before = receives();
    // The host says several times that nothing was said.
    while receives() < before + 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // A line that takes many envelopes, even where they are large.
    let long = ToAgent::Hello {
        protocol: 1,
        controller: "x".repeat(900_000),
    };
    let sent = sends(&server);
    opened.channel.send(&long).await.unwrap();
    assert!(sends(&server) >= sent + 3, "{}", sends(&server) - sent);
    let answer = opened.channel.next().await.unwrap();
    assert!(
        matches!(answer, Incoming::Message(message) if matches!(*message, ToController::Hello { .. }))
    );
    opened.channel.send(&ToAgent::Bye).await.unwrap();
    let bye = Incoming::Message(Box::new(ToController::Bye));
    assert_eq!(opened.channel.next().await.unwrap(), bye);
    let end = Incoming::End(ChannelEnd::Bye);
    assert_eq!(opened.channel.next().await.unwrap(), end);
}

#[tokio::test]
async fn a_blob_arrives_whole_and_is_not_sent_twice() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let from = local_file(&server, "blob", 3_000_001);
    let (hash, size) = hash_file(&from).unwrap();
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    home.deliver(&session, |_| {}).await.unwrap();
    let blobs = [(from.as_path(), hash)];
    let sent = session.bring(&home, &blobs, |_| {}).await.unwrap();
    assert_eq!(sent, size);
    let there = server.shared.host.machine.layout().blob(&hash);
    assert_eq!(hash_file(&there).unwrap(), (hash, size));
    assert_eq!(session.bring(&home, &blobs, |_| {}).await.unwrap(), 0);
}

#[tokio::test]
async fn a_blob_that_was_cut_goes_on_where_it_was() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let from = local_file(&server, "blob", 3_000_000);
    let (hash, size) = hash_file(&from).unwrap();
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    home.deliver(&session, |_| {}).await.unwrap();
    let blobs = [(from.as_path(), hash)];
    let half = |progress: casement_remote::Progress| {
        if progress.done > 1_500_000 {
            server.cut();
        }
    };
    let error = session.bring(&home, &blobs, half).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    drop(session);
    // Whoever is cut off may not be able to delete the shell: the host does, later.
    server.shared.shells.lock().unwrap().clear();
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    let sent = session.bring(&home, &blobs, |_| {}).await.unwrap();
    assert!(sent > 0 && sent < size - 1_000_000, "{sent} of {size}");
    let there = server.shared.host.machine.layout().blob(&hash);
    assert_eq!(hash_file(&there).unwrap(), (hash, size));
}

#[tokio::test]
async fn a_file_that_is_not_what_its_hash_says_never_gets_its_name() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let from = local_file(&server, "blob", 1000);
    let wrong = Sha256::of(b"another");
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    home.deliver(&session, |_| {}).await.unwrap();
    let blobs = [(from.as_path(), wrong)];
    let error = session.bring(&home, &blobs, |_| {}).await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-019");
    assert!(error.to_string().contains("CAS-NODE-006"), "{error}");
    assert!(!server.shared.host.machine.layout().blob(&wrong).exists());
}

#[tokio::test]
async fn envelopes_fit_the_host_whether_it_tells_its_limit_or_not() {
    let limits = [
        (150 * 1024, Some(150 * 1024)),
        // It does not tell, and takes what old ones take.
        (150 * 1024, None),
        // It says more than it takes.
        (64 * 1024, Some(500 * 1024)),
    ];
    for (envelope, told) in limits {
        let server = Server::http().await;
        server.change(|settings| (settings.envelope, settings.told_envelope) = (envelope, told));
        let home = home(&server, 1_000_000);
        let session = WinRmSession::connect(&server.target()).await.unwrap();
        let delivery = home.deliver(&session, |_| {}).await.unwrap();
        assert_eq!(delivery, Delivery::Sent(1_000_000), "{envelope} {told:?}");
    }
}

#[tokio::test]
async fn a_cut_is_no_exit() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    server.cut();
    server.change(|settings| settings.negotiate = false);
    let end = opened.channel.next().await.unwrap();
    assert_eq!(end, Incoming::End(ChannelEnd::Cut));
    let sent = opened.channel.send(&ToAgent::Bye).await;
    assert!(matches!(sent, Err(RemoteError::Lost { .. })), "{sent:?}");
}

#[tokio::test]
async fn a_shell_that_the_host_deleted_is_a_cut_too() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    server.shared.shells.lock().unwrap().clear();
    let end = opened.channel.next().await.unwrap();
    assert_eq!(end, Incoming::End(ChannelEnd::Cut));
    let error = session.run("echo hello").await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
}

#[tokio::test]
async fn a_connection_that_the_host_closed_in_between_is_made_anew() {
    let server = Server::http().await;
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    assert_eq!(session.run("exit 7").await.unwrap().status, Some(7));
    // What the end of the command asks for is over.
    while server.actions().last().is_none_or(|last| last != "Signal") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.cut();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let output = session.run("echo again").await.unwrap();
    assert_eq!(output.stdout, b"again\r\n");
    let output = session.run("nothing").await.unwrap();
    assert_eq!(output.status, Some(1));
    assert_eq!(output.stderr, b"'nothing' is not recognized\r\n");
    drop(session);
    server.no_shell_is_left().await;
}

fn folders() -> NodeDocument {
    let step = |number: u32| Step {
        id: format!("folder-{number}").parse().unwrap(),
        after: Vec::new(),
        disruptive: false,
        resource: Resource::Directory(Directory {
            path: format!(r"C:\k{number}").parse().unwrap(),
            access: Access::AdministratorsOnly,
        }),
    };
    let steps = (0..20).map(step).collect();
    NodeDocument::new("win1".to_owned(), Stage::Prepare, steps).unwrap()
}

#[tokio::test]
async fn a_run_that_was_cut_is_heard_to_its_end_over_a_new_session() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let ask = ToAgent::Converge {
        run: "r1".parse().unwrap(),
        document: folders(),
    };
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    opened.channel.send(&ask).await.unwrap();
    let Incoming::Message(first) = opened.channel.next().await.unwrap() else {
        panic!("no event");
    };
    assert!(matches!(*first, ToController::Event(_)), "{first:?}");
    server.cut();
    let mut last = opened.channel.next().await.unwrap();
    while let Incoming::Message(_) = last {
        last = opened.channel.next().await.unwrap();
    }
    assert_eq!(last, Incoming::End(ChannelEnd::Cut));

    let patience = Reconnect::default();
    let session = patience.connect(&server.target(), |_| {}).await.unwrap();
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Reused);
    opened.channel.send(&ask).await.unwrap();
    let mut sequence = 0;
    loop {
        let Incoming::Message(message) = opened.channel.next().await.unwrap() else {
            panic!("the run has no end");
        };
        let ToController::Event(event) = *message else {
            panic!("{message:?}");
        };
        sequence += 1;
        assert_eq!(event.sequence, sequence, "every event, in order");
        if let What::Finished { outcome, tally } = event.what {
            assert_eq!(outcome, Outcome::Done, "{tally:?}");
            break;
        }
    }
}
