//! Downloads of a real agent with the local `curl`, from servers in this process.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use casement_resource::wire::{Pull, PullProxy, ToAgent, ToController};
use casement_resource::{Blob, Code, Failure, Secret, Sha256};
use rustls::{ServerConnection, StreamOwned};

use crate::agent::Agent;
use crate::mirror::Mirror;
use crate::tls;
use crate::wire::ChannelClient;

fn pull(url: &str, content: &[u8]) -> Pull {
    Pull {
        from: Secret::new(url.to_owned()),
        proxy: PullProxy::Direct,
        download: Blob::of(content),
        members: Vec::new(),
    }
}

/// Returns the final response.
fn finish_pull(channel: &mut ChannelClient, pull: &Pull) -> Result<(), Failure> {
    channel.send(&ToAgent::Pull(pull.clone()));
    loop {
        match channel.receive() {
            ToController::Pulling { bytes } => assert!(bytes <= pull.download.size),
            ToController::Pulled => return Ok(()),
            ToController::Failed(failure) => return Err(failure),
            other => panic!("{other:?}"),
        }
    }
}

/// The names in the blob folder, and the content of the first.
fn store(agent: &Agent) -> (Vec<String>, Vec<u8>) {
    let entries = fs::read_dir(agent.state().join("blobs")).unwrap();
    let paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    let names = paths.iter().map(|path| path.file_name().unwrap());
    let names = names.map(|name| name.to_str().unwrap().to_owned());
    let content = paths.first().map(|path| fs::read(path).unwrap());
    (names.collect(), content.unwrap_or_default())
}

fn content() -> Vec<u8> {
    (0..3_500_000_u32).map(|at| (at % 251) as u8).collect()
}

#[test]
fn interrupted_download_is_resumed() {
    let content = content();
    let mirror = Mirror::start(&content);
    // `/breaks` disconnects once; `/no-parts` does not support ranges.
    for path in ["/whole", "/breaks", "/no-parts", "/moved"] {
        let folder = tempfile::tempdir().unwrap();
        let agent = Agent::new(folder.path());
        let mut channel = agent.channel();
        if path == "/no-parts" {
            let part = format!("blobs/{}.part", Sha256::of(&content));
            fs::write(agent.state().join(part), &content[..1000]).unwrap();
        }
        finish_pull(&mut channel, &pull(&mirror.url(path), &content)).unwrap();
        let (names, there) = store(&agent);
        assert_eq!(names, [Sha256::of(&content).to_string()], "{path}");
        assert!(there == content, "{path}");
        let ranges = mirror
            .requests()
            .into_iter()
            .filter_map(|request| request.range);
        let ranges: Vec<String> = ranges.collect();
        match path {
            "/breaks" => assert_eq!(ranges, ["bytes=1750000-"]),
            "/no-parts" => assert_eq!(ranges, ["bytes=1000-"]),
            _ => assert_eq!(ranges, [] as [&str; 0], "{path}"),
        }
        channel.bye();
    }
}

#[test]
fn next_channel_resumes_the_download_of_a_killed_one() {
    let content = content();
    let mirror = Mirror::start(&content);
    let wanted = pull(&mirror.url("/whole"), &content);
    for messages in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let agent = Agent::new(folder.path());
        let mut first = agent.channel();
        first.send(&ToAgent::Pull(wanted.clone()));
        for _ in 0..messages {
            assert!(matches!(first.receive(), ToController::Pulling { .. }));
        }
        first.kill();
        let mut second = agent.channel();
        finish_pull(&mut second, &wanted).unwrap();
        let (names, there) = store(&agent);
        assert_eq!(names, [Sha256::of(&content).to_string()], "{messages}");
        assert!(there == content, "{messages}");
        second.send(&ToAgent::Retire);
        assert_eq!(second.receive(), ToController::Retired);
        second.bye();
        assert!(!agent.state().exists(), "{messages}");
    }
}

#[test]
fn failed_downloads_are_reported_with_the_reason() {
    let content: Vec<u8> = (0..100).collect();
    let mirror = Mirror::start(&content);
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let mut channel = agent.channel();
    let unreachable = "http://127.0.0.1:1/x".to_owned();
    for (url, code, expected) in [
        (mirror.url("/missing"), Code::DownloadFailed, "404"),
        (
            mirror.url("/dies"),
            Code::DownloadFailed,
            "60 bytes remaining",
        ),
        (mirror.url("/short"), Code::BlobMismatch, ", 50 bytes"),
        (
            mirror.url("/long"),
            Code::BlobMismatch,
            "more than 100 bytes",
        ),
        (mirror.url("/wrong"), Code::BlobMismatch, ", 100 bytes"),
        (unreachable, Code::MirrorUnreachable, "onnect to"),
        (
            "ftp://127.0.0.1/x".to_owned(),
            Code::MirrorUnreachable,
            "http://",
        ),
    ] {
        let failure = finish_pull(&mut channel, &pull(&url, &content)).unwrap_err();
        assert_eq!(failure.code, code, "{failure:?}");
        let found = failure.found.as_deref().unwrap_or_default();
        assert!(found.contains(expected), "{expected} in {failure:?}");
        assert!(failure.message.contains(&url), "{failure:?}");
    }
    // A correct download still succeeds.
    finish_pull(&mut channel, &pull(&mirror.url("/whole"), &content)).unwrap();
    channel.bye();

    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path()).with_env("PATH", "/nonexistent");
    let mut channel = agent.channel();
    let failure = finish_pull(&mut channel, &pull(&mirror.url("/whole"), &content)).unwrap_err();
    assert_eq!(failure.code, Code::MirrorUnreachable);
    let found = failure.found.unwrap();
    assert!(found.contains("`curl` is not installed"), "{found}");
    channel.bye();
}

/// The command lines of all processes of a program, which every user can read.
fn command_lines(program: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.starts_with(program)).collect()
}

#[test]
fn credentials_are_used_and_not_visible_in_command_lines() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let recorder = Arc::clone(&seen);
    let mirror = Mirror::serve(b"content", move |stream, serve| {
        recorder.lock().unwrap().extend(command_lines("curl "));
        serve(&mut &*stream);
    });
    let with_account = |url: String| url.replace("http://", "http://anna:p%3Aw@");
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let mut channel = agent.channel();
    let refused = finish_pull(&mut channel, &pull(&mirror.url("/account"), b"content"));
    assert_eq!(refused.unwrap_err().code, Code::DownloadFailed);
    let url = with_account(mirror.url("/account"));
    let failure = finish_pull(&mut channel, &pull(&url, b"other")).unwrap_err();
    assert!(failure.message.contains("anna:********@"), "{failure:?}");
    finish_pull(&mut channel, &pull(&url, b"content")).unwrap();

    // Through a proxy with authentication, which resolves the host name.
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path()).with_env("no_proxy", "*");
    let mut channel = agent.channel();
    let mut through = pull("http://mirror.invalid/through", b"content");
    through.proxy = PullProxy::At(Secret::new(with_account(mirror.url(""))));
    finish_pull(&mut channel, &through).unwrap();

    // Through the default proxy of the host.
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path()).with_env("http_proxy", mirror.url(""));
    let agent = agent.with_env("no_proxy", "");
    let mut channel = agent.channel();
    let mut own = pull("http://mirror.invalid/whole", b"content");
    own.proxy = PullProxy::HostDefault;
    finish_pull(&mut channel, &own).unwrap();

    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty(), "no curl process was seen");
    let has_password = |line: &String| line.contains("p%3Aw") || line.contains("p:w");
    assert!(!seen.iter().any(has_password), "{seen:?}");
}

/// A mirror over TLS; writes its CA certificate to `ca`.
fn tls_mirror(content: &[u8], ca: &Path) -> Mirror {
    let config = tls::server(ca);
    Mirror::serve(content, move |stream, serve| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        serve(&mut StreamOwned::new(session, stream));
    })
}

#[test]
fn mirror_with_an_untrusted_certificate_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let mirror = tls_mirror(b"content", &ca);
    let url = mirror.url("/whole").replace("http://", "https://");
    let agent = Agent::new(folder.path());
    let mut channel = agent.channel();
    let failure = finish_pull(&mut channel, &pull(&url, b"content")).unwrap_err();
    assert_eq!(failure.code, Code::MirrorUnreachable);
    let found = failure.found.unwrap();
    assert!(found.contains("certificate"), "{found}");
    assert_eq!(mirror.requests(), []);
    channel.bye();
    // Trust the CA.
    let mut channel = agent.with_env("CURL_CA_BUNDLE", &ca).channel();
    finish_pull(&mut channel, &pull(&url, b"content")).unwrap();
    channel.bye();
}
