//! SFTP: whole copies, cut copies that go on, and the agent's delivery.

use std::sync::atomic::Ordering;

use casement_remote::{Agent, AgentHome, Delivery, HostOs, RemotePath, Session, Sha256, hash_file};

use crate::double::{Double, Subsystem, names};

const SIZE: usize = 9 * 1024 * 1024 + 123;

#[tokio::test]
async fn a_blob_arrives_whole_and_is_not_sent_twice() {
    let double = Double::start().await;
    let from = double.local_file("blob", SIZE);
    let (hash, size) = hash_file(&from).unwrap();
    let session = Session::connect(&double.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let folder = RemotePath::new(r"C:\Program Data\blobs");
    sftp.make_folders(&folder).await.unwrap();
    sftp.make_folders(&folder).await.unwrap();
    let to = folder.join(&hash.to_string());
    let mut last = None;
    let sent = sftp
        .put_blob(&from, &hash, &to, |progress| last = Some(progress))
        .await
        .unwrap();
    assert_eq!(sent, size);
    assert_eq!(last.map(|last| (last.done, last.total)), Some((size, size)));
    assert_eq!(
        names(&double.there("C:/Program Data/blobs")),
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
async fn a_cut_copy_goes_on_where_it_was() {
    let double = Double::start().await;
    let from = double.local_file("blob", SIZE);
    let (hash, size) = hash_file(&from).unwrap();
    let to = RemotePath::new("/blob");
    double
        .shared
        .cut_after
        .store(4 * 1024 * 1024, Ordering::SeqCst);
    let session = Session::connect(&double.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let cut = sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap_err();
    assert_eq!(cut.code(), "CAS-SSH-014");
    assert!(cut.is_transient());
    assert_eq!(names(&double.shared.root), ["C:", "blob.part"]);

    let session = Session::connect(&double.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let sent = sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap();
    assert!(sent <= size - 4 * 1024 * 1024, "{sent} of {size}");
    assert_eq!(names(&double.shared.root), ["C:", "blob"]);
    assert_eq!(hash_file(&double.there("/blob")).unwrap().0, hash);
}

#[tokio::test]
async fn a_remnant_that_is_something_else_is_thrown_away() {
    let double = Double::start().await;
    let from = double.local_file("blob", SIZE);
    let (hash, size) = hash_file(&from).unwrap();
    let session = Session::connect(&double.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    for remnant in [vec![7; 5000], vec![7; SIZE + 1], Vec::new()] {
        std::fs::write(double.there("/blob.part"), remnant).unwrap();
        std::fs::write(double.there("/blob"), b"too short").unwrap();
        let to = RemotePath::new("/blob");
        let sent = sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap();
        assert_eq!(sent, size);
        assert_eq!(hash_file(&double.there("/blob")).unwrap().0, hash);
    }
}

#[tokio::test]
async fn a_file_that_is_not_what_its_hash_says_never_gets_its_name() {
    let double = Double::start().await;
    let from = double.local_file("blob", 1000);
    let session = Session::connect(&double.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let to = RemotePath::new("/blob");
    let wrong = Sha256::of(b"another");
    let error = sftp.put_blob(&from, &wrong, &to, |_| {}).await.unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-020");
    assert_eq!(names(&double.shared.root), ["C:"]);
}

#[tokio::test]
async fn what_the_host_refuses_names_the_path() {
    let double = Double::start().await;
    let session = Session::connect(&double.target()).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let error = sftp
        .read(&RemotePath::new(r"C:\missing"))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "CAS-SSH-019");
    assert!(error.to_string().contains(r"`C:\missing`"), "{error}");
    sftp.write(&RemotePath::new("/file"), b"x").await.unwrap();
    let error = sftp.make_folders(&RemotePath::new("/file/folder")).await;
    assert_eq!(error.unwrap_err().code(), "CAS-SSH-019");
    assert_eq!(sftp.stat(&RemotePath::new("/none")).await.unwrap(), None);
    sftp.remove(&RemotePath::new("/none")).await.unwrap();
}

#[tokio::test]
async fn a_host_without_sftp_is_no_cut_connection() {
    let double = Double::start().await;
    let said = async |what| {
        *double.shared.subsystem.lock().unwrap() = what;
        let session = Session::connect(&double.target()).await.unwrap();
        session.sftp().await.map(drop).unwrap_err().code()
    };
    assert_eq!(said(Subsystem::Refused).await, "CAS-SSH-016");
    assert_eq!(said(Subsystem::Ends).await, "CAS-SSH-016");
    assert_eq!(said(Subsystem::Cut).await, "CAS-SSH-014");
}

#[tokio::test]
async fn the_agent_is_brought_once_and_a_damaged_one_replaced() {
    let double = Double::start().await;
    let path = double.local_file("casement-node.exe", 300_000);
    let agent = Agent::load(&path, HostOs::Windows).unwrap();
    let home = AgentHome::new(agent.clone());
    let session = Session::connect(&double.target()).await.unwrap();
    let sent = home.deliver(&session, |_| {}).await.unwrap();
    assert_eq!(sent, Delivery::Sent(300_000));
    let place = format!(
        "C:/Program Files/casement/agent/{}/casement-node.exe",
        agent.hash
    );
    assert_eq!(hash_file(&double.there(&place)).unwrap().0, agent.hash);

    let again = home.deliver(&session, |_| {}).await.unwrap();
    assert_eq!(again, Delivery::Reused);
    std::fs::write(double.there(&place), vec![0; 300_000]).unwrap();
    assert_eq!(
        home.deliver(&session, |_| {}).await.unwrap(),
        Delivery::Sent(300_000)
    );
}
