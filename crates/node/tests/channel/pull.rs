//! Downloads of a real agent, by the `curl` of this machine, from servers of this
//! process.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use casement_resource::wire::{Pull, PullProxy, ToAgent, ToController};
use casement_resource::{Blob, Code, Failure, Secret, Sha256};
use rustls::{ServerConnection, StreamOwned};

use crate::agent::Agent;
use crate::mirror::Mirror;
use crate::tls;
use crate::wire::Channel;

fn pull(url: &str, content: &[u8]) -> Pull {
    Pull {
        from: Secret::new(url.to_owned()),
        proxy: PullProxy::Direct,
        download: Blob::of(content),
        members: Vec::new(),
    }
}

/// What is said in the end.
fn ended(channel: &mut Channel, pull: &Pull) -> Result<(), Failure> {
    channel.say(&ToAgent::Pull(pull.clone()));
    loop {
        match channel.hear() {
            ToController::Pulling { bytes } => assert!(bytes <= pull.download.size),
            ToController::Pulled => return Ok(()),
            ToController::Failed(failure) => return Err(failure),
            other => panic!("{other:?}"),
        }
    }
}

/// The names in the store, and what the only one of them holds.
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
fn a_blob_is_fetched_and_gone_on_with_after_every_break() {
    let content = content();
    let mirror = Mirror::start(&content);
    // A server that breaks off once, and one that knows nothing of parts.
    for path in ["/whole", "/breaks", "/no-parts", "/moved"] {
        let folder = tempfile::tempdir().unwrap();
        let agent = Agent::new(folder.path());
        let mut channel = agent.channel();
        if path == "/no-parts" {
            let part = format!("blobs/{}.part", Sha256::of(&content));
            fs::write(agent.state().join(part), &content[..1000]).unwrap();
        }
        ended(&mut channel, &pull(&mirror.url(path), &content)).unwrap();
        let (names, there) = store(&agent);
        assert_eq!(names, [Sha256::of(&content).to_string()], "{path}");
        assert!(there == content, "{path}");
        let ranges = mirror.asked().into_iter().filter_map(|asked| asked.range);
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
fn a_channel_that_is_killed_at_any_message_leaves_what_the_next_goes_on_with() {
    let content = content();
    let mirror = Mirror::start(&content);
    let wanted = pull(&mirror.url("/whole"), &content);
    for messages in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let agent = Agent::new(folder.path());
        let mut first = agent.channel();
        first.say(&ToAgent::Pull(wanted.clone()));
        for _ in 0..messages {
            assert!(matches!(first.hear(), ToController::Pulling { .. }));
        }
        first.kill();
        let mut second = agent.channel();
        ended(&mut second, &wanted).unwrap();
        let (names, there) = store(&agent);
        assert_eq!(names, [Sha256::of(&content).to_string()], "{messages}");
        assert!(there == content, "{messages}");
        second.say(&ToAgent::Retire);
        assert_eq!(second.hear(), ToController::Retired);
        second.bye();
        assert!(!agent.state().exists(), "{messages}");
    }
}

#[test]
fn what_cannot_be_fetched_is_told_with_the_reason() {
    let content: Vec<u8> = (0..100).collect();
    let mirror = Mirror::start(&content);
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let mut channel = agent.channel();
    let nowhere = "http://127.0.0.1:1/x".to_owned();
    for (url, code, found) in [
        (mirror.url("/missing"), Code::NotFetched, "404"),
        (mirror.url("/dies"), Code::NotFetched, "60 bytes remaining"),
        (mirror.url("/short"), Code::BlobWrong, ", 50 bytes"),
        (mirror.url("/long"), Code::BlobWrong, "more than 100 bytes"),
        (mirror.url("/wrong"), Code::BlobWrong, ", 100 bytes"),
        (nowhere, Code::NoMirror, "onnect to"),
        ("ftp://127.0.0.1/x".to_owned(), Code::NoMirror, "http://"),
    ] {
        let failure = ended(&mut channel, &pull(&url, &content)).unwrap_err();
        assert_eq!(failure.code, code, "{failure:?}");
        let said = failure.found.as_deref().unwrap_or_default();
        assert!(said.contains(found), "{found} in {failure:?}");
        assert!(failure.what.contains(&url), "{failure:?}");
    }
    // None of it keeps the right one from coming.
    ended(&mut channel, &pull(&mirror.url("/whole"), &content)).unwrap();
    channel.bye();

    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path()).with("PATH", "/nonexistent");
    let mut channel = agent.channel();
    let failure = ended(&mut channel, &pull(&mirror.url("/whole"), &content)).unwrap_err();
    assert_eq!(failure.code, Code::NoMirror);
    let said = failure.found.unwrap();
    assert!(said.contains("no `curl`"), "{said}");
    channel.bye();
}

/// The lines of arguments of all processes that are called so, as everybody can read
/// them.
fn arguments_of(program: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.starts_with(program)).collect()
}

#[test]
fn an_account_is_used_and_in_nobody_s_sight() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let mirror = Mirror::serve(b"content", move |stream, serve| {
        sees.lock().unwrap().extend(arguments_of("curl "));
        serve(&mut &*stream);
    });
    let with_account = |url: String| url.replace("http://", "http://anna:p%3Aw@");
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path());
    let mut channel = agent.channel();
    let refused = ended(&mut channel, &pull(&mirror.url("/account"), b"content"));
    assert_eq!(refused.unwrap_err().code, Code::NotFetched);
    let url = with_account(mirror.url("/account"));
    let failure = ended(&mut channel, &pull(&url, b"other")).unwrap_err();
    assert!(failure.what.contains("anna:********@"), "{failure:?}");
    ended(&mut channel, &pull(&url, b"content")).unwrap();

    // Through a proxy that wants one, which alone knows the name.
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path()).with("no_proxy", "*");
    let mut channel = agent.channel();
    let mut through = pull("http://mirror.invalid/through", b"content");
    through.proxy = PullProxy::At(Secret::new(with_account(mirror.url(""))));
    ended(&mut channel, &through).unwrap();

    // The host's own proxy, where nobody says otherwise.
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::new(folder.path()).with("http_proxy", mirror.url(""));
    let agent = agent.with("no_proxy", "");
    let mut channel = agent.channel();
    let mut own = pull("http://mirror.invalid/whole", b"content");
    own.proxy = PullProxy::HostsOwn;
    ended(&mut channel, &own).unwrap();

    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty(), "no curl was seen at all");
    let told = |line: &String| line.contains("p%3Aw") || line.contains("p:w");
    assert!(!seen.iter().any(told), "{seen:?}");
}

/// A mirror over TLS; the certificate that signed its own is written to the file.
fn secure(content: &[u8], ca: &Path) -> Mirror {
    let config = tls::server(ca);
    Mirror::serve(content, move |stream, serve| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        serve(&mut StreamOwned::new(session, stream));
    })
}

#[test]
fn only_a_mirror_that_the_host_trusts_is_fetched_from() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let mirror = secure(b"content", &ca);
    let url = mirror.url("/whole").replace("http://", "https://");
    let agent = Agent::new(folder.path());
    let mut channel = agent.channel();
    let failure = ended(&mut channel, &pull(&url, b"content")).unwrap_err();
    assert_eq!(failure.code, Code::NoMirror);
    let said = failure.found.unwrap();
    assert!(said.contains("certificate"), "{said}");
    assert_eq!(mirror.asked(), []);
    channel.bye();
    // As if it were among the system's own.
    let mut channel = agent.with("CURL_CA_BUNDLE", &ca).channel();
    ended(&mut channel, &pull(&url, b"content")).unwrap();
    channel.bye();
}
