//! SFTP: uploads, resumed uploads, and delivery of the agent.

use std::sync::atomic::Ordering;

use casement_remote::{Agent, AgentHome, Delivery, HostOs, RemotePath, Session, Sha256, hash_file};

use crate::fake_server::{FakeServer, Subsystem, names};

const SIZE: usize = 9 * 1024 * 1024 + 123;

#[tokio::test]
async fn blob_is_sent_once_and_complete() {
    let server = FakeServer::start().await;
    let from = server.local_file("blob", SIZE);
    let (hash, size) = hash_file(&from).unwrap();
    let session = Session::connect(&server.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let folder = RemotePath::new(r"C:\Program Data\blobs");
    sftp.create_dirs(&folder).await.unwrap();
    sftp.create_dirs(&folder).await.unwrap();
    let to = folder.join(&hash.to_string());
    let mut last = None;
    let sent = sftp
        .put_blob(&from, &hash, &to, |progress| last = Some(progress))
        .await
        .unwrap();
    assert_eq!(sent, size);
    assert_eq!(last.map(|last| (last.done, last.total)), Some((size, size)));
    assert_eq!(
        names(&server.local_path("C:/Program Data/blobs")),
        [hash.to_string()]
    );
    let content = sftp.read(&to).await.unwrap();
    assert_eq!(Sha256::of(&content), hash);
    let mut copy = Vec::new();
    assert_eq!(sftp.download(&to, &mut copy).await.unwrap(), size);
    assert_eq!(copy, content);
    assert_eq!(sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap(), 0);
}

#[tokio::test]
async fn interrupted_upload_is_resumed() {
    let server = FakeServer::start().await;
    let from = server.local_file("blob", SIZE);
    let (hash, size) = hash_file(&from).unwrap();
    let to = RemotePath::new("/blob");
    server
        .shared
        .drop_after
        .store(4 * 1024 * 1024, Ordering::SeqCst);
    let session = Session::connect(&server.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let error = sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-014");
    assert!(error.is_transient());
    assert_eq!(names(&server.shared.root), ["C:", "blob.part"]);

    let session = Session::connect(&server.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let sent = sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap();
    assert!(sent <= size - 4 * 1024 * 1024, "{sent} of {size}");
    assert_eq!(names(&server.shared.root), ["C:", "blob"]);
    assert_eq!(hash_file(&server.local_path("/blob")).unwrap().0, hash);
}

#[tokio::test]
async fn unrelated_partial_file_is_discarded() {
    let server = FakeServer::start().await;
    let from = server.local_file("blob", SIZE);
    let (hash, size) = hash_file(&from).unwrap();
    let session = Session::connect(&server.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    for partial in [vec![7; 5000], vec![7; SIZE + 1], Vec::new()] {
        std::fs::write(server.local_path("/blob.part"), partial).unwrap();
        std::fs::write(server.local_path("/blob"), b"too short").unwrap();
        let to = RemotePath::new("/blob");
        let sent = sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap();
        assert_eq!(sent, size);
        assert_eq!(hash_file(&server.local_path("/blob")).unwrap().0, hash);
    }
}

#[tokio::test]
async fn file_with_wrong_hash_is_not_stored() {
    let server = FakeServer::start().await;
    let from = server.local_file("blob", 1000);
    let session = Session::connect(&server.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let to = RemotePath::new("/blob");
    let wrong = Sha256::of(b"another");
    let error = sftp.put_blob(&from, &wrong, &to, |_| {}).await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-020");
    let (label, reason) = &error.problem().detail[0];
    assert_eq!(label, "reason");
    assert!(reason.starts_with("its hash is `"), "{reason}");
    assert_eq!(names(&server.shared.root), ["C:"]);
}

#[tokio::test]
async fn sftp_errors_name_the_path() {
    let server = FakeServer::start().await;
    let session = Session::connect(&server.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let error = sftp
        .read(&RemotePath::new(r"C:\missing"))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-019");
    assert!(error.to_string().contains(r"`C:\missing`"), "{error}");
    sftp.write(&RemotePath::new("/file"), b"x").await.unwrap();
    let error = sftp.create_dirs(&RemotePath::new("/file/folder")).await;
    assert_eq!(error.unwrap_err().code(), "CAS-SSH-019");
    assert_eq!(sftp.stat(&RemotePath::new("/none")).await.unwrap(), None);
    sftp.remove(&RemotePath::new("/none")).await.unwrap();
}

#[tokio::test]
async fn missing_sftp_differs_from_a_dropped_connection() {
    let server = FakeServer::start().await;
    let error_code = async |subsystem| {
        *server.shared.subsystem.lock().unwrap() = subsystem;
        let session = Session::connect(&server.target()).await.unwrap();
        session.sftp().await.map(drop).unwrap_err().code()
    };
    assert_eq!(error_code(Subsystem::Unsupported).await, "CAS-SSH-016");
    assert_eq!(error_code(Subsystem::Exits).await, "CAS-SSH-016");
    assert_eq!(error_code(Subsystem::Drops).await, "CAS-SSH-014");
}

#[tokio::test]
async fn agent_is_uploaded_once_and_replaced_if_damaged() {
    let server = FakeServer::start().await;
    let path = server.local_file("casement-node.exe", 300_000);
    let agent = Agent::load(&path, HostOs::Windows).unwrap();
    let home = AgentHome::new(agent.clone());
    let session = server.connect().await;
    let sent = session.deliver(&home, |_| {}).await.unwrap();
    assert_eq!(sent, Delivery::Sent(300_000));
    let path_on_host = format!(
        "C:/Program Files/casement/agent/{}/casement-node.exe",
        agent.hash
    );
    assert_eq!(
        hash_file(&server.local_path(&path_on_host)).unwrap().0,
        agent.hash
    );

    let again = session.deliver(&home, |_| {}).await.unwrap();
    assert_eq!(again, Delivery::Reused);
    std::fs::write(server.local_path(&path_on_host), vec![0; 300_000]).unwrap();
    assert_eq!(
        session.deliver(&home, |_| {}).await.unwrap(),
        Delivery::Sent(300_000)
    );
}
