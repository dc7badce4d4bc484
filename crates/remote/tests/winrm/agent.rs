//! The agent over WinRM: delivery, channel, blobs and dropped connections.

use std::path::PathBuf;
use std::time::Duration;

use casement_remote::winrm::WinRmSession;
use casement_remote::{
    Agent, AgentHome, ChannelEnd, Connection, ConnectionError, Delivery, HostOs, Incoming,
    Reconnect, RemoteError, Sha256, hash_file,
};
use casement_resource::wire::{EventKind, Outcome, ToAgent, ToController};
use casement_resource::{Access, Directory, NodeDocument, Resource, Stage, Step};

use crate::pe_header;
use crate::server::{Server, wait_until};

/// A local file with incompressible content.
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

fn send_count(server: &Server) -> usize {
    let actions = server.actions();
    actions.iter().filter(|action| *action == "Send").count()
}

#[tokio::test]
async fn agent_is_uploaded_once_and_reused() {
    for server in [Server::http().await, Server::https().await] {
        let home = home(&server, 1_500_000);
        let session = server.connect().await;
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
        let ToController::Hello { agent, .. } = *opened.first_message else {
            panic!("no hello");
        };
        let local = server.shared.host.local_path(&home.path().native());
        assert_eq!(hash_file(&local).unwrap().0, agent);
        let names: Vec<_> = std::fs::read_dir(local.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["casement-node.exe"], "no temporary file remains");
        let before = server.actions().len();
        let opened = home.open(&session, "me", |_| {}).await.unwrap();
        assert_eq!(opened.delivery, Delivery::Reused);
        let after = server.actions();
        let asked: Vec<_> = after[before..]
            .iter()
            .filter(|action| !["Receive", "Signal"].contains(&action.as_str()))
            .collect();
        assert_eq!(asked, ["Command", "Send"], "one command and one line");
    }
}

#[tokio::test]
async fn agent_for_another_architecture_is_not_uploaded() {
    let server = Server::http().await;
    let path = server.folder.path().join("casement-node.exe");
    std::fs::write(&path, pe_header::x86_64()).unwrap();
    let home = AgentHome::new(Agent::load(&path, HostOs::Windows).unwrap());
    *server.shared.host.processor.lock().unwrap() = "ARM64";
    let session = server.connect().await;
    let Err(error) = home.open(&session, "me", |_| {}).await else {
        panic!("the agent is for another architecture");
    };
    assert_eq!(error.code(), "CAS-SSH-027");
    let details = format!("{:?}", error.problem().detail);
    assert!(details.contains("Windows, aarch64"), "{details}");
    assert!(
        !server
            .shared
            .host
            .local_path(&home.path().native())
            .exists()
    );
    *server.shared.host.processor.lock().unwrap() = "AMD64";
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Sent(0x90));
}

#[tokio::test]
async fn damaged_agent_is_replaced_and_blocked_certutil_reported() {
    let server = Server::http().await;
    let home = home(&server, 100_000);
    let session = server.connect().await;
    session.deliver(&home, |_| {}).await.unwrap();
    assert_eq!(
        session.deliver(&home, |_| {}).await.unwrap(),
        Delivery::Reused
    );
    let local = server.shared.host.local_path(&home.path().native());
    std::fs::write(&local, b"damaged").unwrap();
    let opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Sent(100_000));
    std::fs::write(&local, b"damaged").unwrap();
    *server.shared.host.certutil_blocked.lock().unwrap() = true;
    let error = session.deliver(&home, |_| {}).await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-019");
    assert!(error.to_string().contains("group policy"), "{error}");
}

#[tokio::test]
async fn removing_the_agent_removes_its_empty_folders() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let session = server.connect().await;
    session.deliver(&home, |_| {}).await.unwrap();
    let program_files = server.shared.host.local_path(r"C:\Program Files");
    assert!(program_files.join("casement").exists());
    session.remove_agent(&home).await.unwrap();
    assert_eq!(std::fs::read_dir(&program_files).unwrap().count(), 0);
    session.remove_agent(&home).await.unwrap();
}

#[tokio::test]
async fn channel_survives_idle_receives_and_ends_with_bye() {
    let server = Server::http().await;
    server.change(|settings| settings.receive = Duration::from_millis(30));
    let home = home(&server, 1000);
    let session = server.connect().await;
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    let receives = || {
        let actions = server.actions();
        actions.iter().filter(|action| *action == "Receive").count()
    };
    let before = receives();
    let idle = || receives() >= before + 3;
    wait_until("several Receive requests time out without output", idle).await;
    // A line that needs several envelopes even at the largest size.
    let long = ToAgent::Hello {
        protocol: 1,
        controller: "x".repeat(900_000),
    };
    let sent = send_count(&server);
    opened.channel.send(&long).await.unwrap();
    assert!(
        send_count(&server) >= sent + 3,
        "{}",
        send_count(&server) - sent
    );
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
async fn blob_is_sent_once_and_complete() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let from = local_file(&server, "blob", 3_000_001);
    let (hash, size) = hash_file(&from).unwrap();
    let session = server.connect().await;
    session.deliver(&home, |_| {}).await.unwrap();
    let blobs = [(from.as_path(), hash)];
    let sent = session.send_blobs(&home, &blobs, |_| {}).await.unwrap();
    assert_eq!(sent, size);
    let local = server.shared.host.backend.layout().blob(&hash);
    assert_eq!(hash_file(&local).unwrap(), (hash, size));
    assert_eq!(session.send_blobs(&home, &blobs, |_| {}).await.unwrap(), 0);
}

#[tokio::test]
async fn interrupted_blob_upload_is_resumed() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let from = local_file(&server, "blob", 3_000_000);
    let (hash, size) = hash_file(&from).unwrap();
    let session = server.connect().await;
    session.deliver(&home, |_| {}).await.unwrap();
    let blobs = [(from.as_path(), hash)];
    let drop_halfway = |progress: casement_remote::TransferProgress| {
        if progress.done > 1_500_000 {
            server.drop_connections();
        }
    };
    let error = session
        .send_blobs(&home, &blobs, drop_halfway)
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    drop(session);
    // The client cannot delete its shell after a drop; a real host does so later.
    server.shared.shells.lock().unwrap().clear();
    let session = server.connect().await;
    let sent = session.send_blobs(&home, &blobs, |_| {}).await.unwrap();
    assert!(sent > 0 && sent < size - 1_000_000, "{sent} of {size}");
    let local = server.shared.host.backend.layout().blob(&hash);
    assert_eq!(hash_file(&local).unwrap(), (hash, size));
}

#[tokio::test]
async fn file_with_wrong_hash_is_not_stored() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let from = local_file(&server, "blob", 1000);
    let wrong = Sha256::of(b"another");
    let session = server.connect().await;
    session.deliver(&home, |_| {}).await.unwrap();
    let blobs = [(from.as_path(), wrong)];
    let error = session.send_blobs(&home, &blobs, |_| {}).await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-019");
    assert!(error.to_string().contains("CAS-NODE-006"), "{error}");
    assert!(!server.shared.host.backend.layout().blob(&wrong).exists());
}

#[tokio::test]
async fn envelopes_fit_the_limit_of_the_host() {
    let limits = [
        (150 * 1024, Some(150 * 1024)),
        // Not advertised, and with the limit of old versions.
        (150 * 1024, None),
        // The advertised limit is too high.
        (64 * 1024, Some(500 * 1024)),
    ];
    for (envelope, advertised) in limits {
        let server = Server::http().await;
        server.change(|settings| {
            (settings.envelope, settings.advertised_envelope) = (envelope, advertised)
        });
        let home = home(&server, 1_000_000);
        let session = server.connect().await;
        let delivery = session.deliver(&home, |_| {}).await.unwrap();
        assert_eq!(
            delivery,
            Delivery::Sent(1_000_000),
            "{envelope} {advertised:?}"
        );
    }
}

#[tokio::test]
async fn dropped_connection_is_not_an_exit() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let session = server.connect().await;
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    server.drop_connections();
    server.change(|settings| settings.negotiate = false);
    let end = opened.channel.next().await.unwrap();
    assert_eq!(end, Incoming::End(ChannelEnd::ConnectionLost));
    let sent = opened.channel.send(&ToAgent::Bye).await;
    assert!(
        matches!(
            sent,
            Err(RemoteError::Connection(ConnectionError::Lost { .. }))
        ),
        "{sent:?}"
    );
}

#[tokio::test]
async fn deleted_shell_counts_as_dropped_connection() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let session = server.connect().await;
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    server.shared.shells.lock().unwrap().clear();
    let end = opened.channel.next().await.unwrap();
    assert_eq!(end, Incoming::End(ChannelEnd::ConnectionLost));
    let Connection::WinRm(session) = session else {
        panic!("the endpoint is WinRM");
    };
    let error = session.run("echo hello").await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
}

#[tokio::test]
async fn idle_connection_that_the_host_closed_is_reopened() {
    let server = Server::http().await;
    let session = WinRmSession::connect(&server.target()).await.unwrap();
    assert_eq!(session.run("exit 7").await.unwrap().status, Some(7));
    let ended = || server.actions().last().is_some_and(|last| last == "Signal");
    wait_until("the Signal of the finished command has arrived", ended).await;
    server.close_idle_connections().await;
    let output = session.run("echo again").await.unwrap();
    assert_eq!(output.stdout, b"again\r\n");
    let output = session.run("nothing").await.unwrap();
    assert_eq!(output.status, Some(1));
    assert_eq!(output.stderr, b"'nothing' is not recognized\r\n");
    drop(session);
    server.wait_until_no_shells().await;
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
async fn events_of_a_run_continue_over_a_new_session() {
    let server = Server::http().await;
    let home = home(&server, 1000);
    let request = ToAgent::Converge {
        run: "r1".parse().unwrap(),
        document: folders(),
    };
    let session = server.connect().await;
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    opened.channel.send(&request).await.unwrap();
    let Incoming::Message(first) = opened.channel.next().await.unwrap() else {
        panic!("no event");
    };
    assert!(matches!(*first, ToController::Event(_)), "{first:?}");
    server.drop_connections();
    let mut last = opened.channel.next().await.unwrap();
    while let Incoming::Message(_) = last {
        last = opened.channel.next().await.unwrap();
    }
    assert_eq!(last, Incoming::End(ChannelEnd::ConnectionLost));

    let reconnect = Reconnect::default();
    let session = reconnect
        .connect(&server.target().into(), |_| {})
        .await
        .unwrap();
    let mut opened = home.open(&session, "me", |_| {}).await.unwrap();
    assert_eq!(opened.delivery, Delivery::Reused);
    opened.channel.send(&request).await.unwrap();
    let mut sequence = 0;
    loop {
        let Incoming::Message(message) = opened.channel.next().await.unwrap() else {
            panic!("the run did not finish");
        };
        let ToController::Event(event) = *message else {
            panic!("{message:?}");
        };
        sequence += 1;
        assert_eq!(event.sequence, sequence, "every event, in order");
        if let EventKind::Finished { outcome, tally } = event.kind {
            assert_eq!(outcome, Outcome::Done, "{tally:?}");
            break;
        }
    }
}
