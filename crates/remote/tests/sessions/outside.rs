//! Sessions against OpenSSH and the Windows shell of a running lab.
//!
//! `CASEMENT_TEST_LAB` is the folder of the lab.

use std::path::PathBuf;
use std::time::Instant;

use casement_remote::{
    HostEndpoint, HostOs, RemotePath, Session, Shell, Target, hash_file, load_key,
};

fn lab() -> PathBuf {
    let folder = std::env::var_os("CASEMENT_TEST_LAB");
    folder
        .expect("CASEMENT_TEST_LAB names a lab that is up")
        .into()
}

fn target(name: &str, user: &str) -> Target {
    let folder = lab();
    let record = std::fs::read_to_string(folder.join("cluster.yaml")).unwrap();
    let line = record
        .lines()
        .find(|line| line.contains(&format!("name: {name}")))
        .expect("the lab has that host");
    let (_, rest) = line.split_once("address: ").unwrap();
    let address = rest.split([',', '}', ' ']).next().unwrap();
    let key = load_key(&folder.join("id_ed25519")).unwrap();
    Target::new(name, address, user, key, folder.join("known_hosts"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and wine"]
async fn cmd_runs_a_program_whose_path_has_spaces() {
    let target = target("win1", "Administrator");
    let connection = HostEndpoint::from(target.clone()).connect().await.unwrap();
    let system = connection.system().await.unwrap().unwrap();
    assert_eq!((system.os, system.shell), (HostOs::Windows, Shell::Cmd));
    assert_eq!(system.architecture.as_deref(), Some("x86_64"));
    connection.close().await;
    let session = Session::connect(&target).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let folder = RemotePath::new(r"C:\Program Files\casement\agent\of a test");
    sftp.create_dirs(&folder).await.unwrap();
    let copied = session
        .run(r#"copy /y C:\windows\system32\hostname.exe "C:\Program Files\casement\agent\of a test\x.exe""#)
        .await
        .unwrap();
    assert_eq!(copied.status, Some(0), "{copied:?}");
    let plain = session.run("hostname").await.unwrap();
    let line = format!(r#"cmd /c "{}""#, folder.join("x.exe").native());
    let output = session.run(&line).await.unwrap();
    assert_eq!(output, plain);
    let status = session.run("exit 7").await.unwrap().status;
    assert_eq!(status, Some(7));
    sftp.remove(&folder.join("x.exe")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and wine"]
async fn large_blob_arrives_complete() {
    let target = target("win1", "Administrator");
    let session = Session::connect(&target).await.unwrap();
    let sftp = session.sftp().await.unwrap();
    let local_dir = tempfile::tempdir().unwrap();
    let from = local_dir.path().join("blob");
    let content: Vec<u8> = (0..60_000_000_u32)
        .map(|at| (at ^ (at >> 11)) as u8)
        .collect();
    std::fs::write(&from, &content).unwrap();
    let (hash, size) = hash_file(&from).unwrap();
    let folder = RemotePath::new(r"C:\ProgramData\casement\blobs");
    sftp.create_dirs(&folder).await.unwrap();
    let to = folder.join(&hash.to_string());
    sftp.remove(&to).await.unwrap();
    let start = Instant::now();
    let sent = sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap();
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.0} MB/s up", 60.0 / seconds);
    assert_eq!(sent, size);
    let start = Instant::now();
    let back = sftp.read(&to).await.unwrap();
    println!("{:.0} MB/s down", 60.0 / start.elapsed().as_secs_f64());
    assert!(back == content);
    assert_eq!(sftp.put_blob(&from, &hash, &to, |_| {}).await.unwrap(), 0);
    sftp.remove(&to).await.unwrap();
}
