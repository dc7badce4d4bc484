//! Downloads from a local HTTP server.

use std::io::Read as _;
use std::net::TcpListener;
use std::thread;

use casement_node::platform::Download;
use casement_resource::wire::PullProxy;
use casement_resource::{Code, Failure, Secret};

use super::{Check, Host, Outcome, ensure, equal, ok};
use crate::mirror::Mirror;

pub const CHECKS: &[Check] = &[
    ("download", whole),
    ("resumed download", resumed),
    ("refused download", refused),
    ("interrupted download", interrupted),
    ("download with an account", account),
    ("download through a proxy", proxy),
    ("download over TLS only", tls),
];

/// More than one chunk.
fn content() -> Vec<u8> {
    (0..300_000_u32).map(|at| (at % 251) as u8).collect()
}

/// The offset of each chunk, and all bytes.
type Received = (Vec<u64>, Vec<u8>);

fn fetch(host: &Host, url: &str, proxy: &PullProxy, from: u64) -> (Received, Result<(), Failure>) {
    let url = Secret::new(url.to_owned());
    let download = Download {
        url: &url,
        proxy,
        from,
    };
    let (mut offsets, mut bytes) = (Vec::new(), Vec::new());
    let mut on_data = |at: u64, chunk: &[u8]| {
        offsets.push(at);
        bytes.extend_from_slice(chunk);
        Ok(())
    };
    let result = host.platform.download(&download, &mut on_data);
    ((offsets, bytes), result)
}

fn fetched(host: &Host, url: &str, from: u64) -> Result<Received, String> {
    let (received, result) = fetch(host, url, &PullProxy::Direct, from);
    ok(result).map(|()| received)
}

fn whole(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    for (path, proxy) in [
        ("/whole", PullProxy::Direct),
        ("/moved", PullProxy::Direct),
        ("/whole", PullProxy::HostDefault),
    ] {
        let ((offsets, bytes), result) = fetch(host, &mirror.url(path), &proxy, 0);
        ok(result)?;
        equal(offsets.first(), Some(&0))?;
        ensure(
            offsets.len() > 1 && offsets.is_sorted(),
            "all bytes arrived in one chunk",
        )?;
        ensure(bytes == content(), "the content differs")?;
    }
    let targets: Vec<String> = mirror.requests().into_iter().map(|it| it.target).collect();
    equal(
        targets,
        ["/whole", "/moved", "/whole", "/whole"]
            .map(str::to_owned)
            .to_vec(),
    )
}

fn resumed(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let (offsets, bytes) = fetched(host, &mirror.url("/whole"), 1000)?;
    equal(offsets.first(), Some(&1000))?;
    ensure(bytes == content()[1000..], "the wrong range arrived")?;
    equal(&mirror.requests()[0].range, &Some("bytes=1000-".to_owned()))?;
    // A server without range support, then one with no more bytes.
    let (offsets, bytes) = fetched(host, &mirror.url("/no-parts"), 1000)?;
    equal(offsets.first(), Some(&0))?;
    ensure(bytes == content(), "the download did not start over")?;
    let (offsets, _) = fetched(host, &mirror.url("/whole"), 300_000)?;
    equal(offsets, Vec::new())
}

fn failed(result: Result<(), Failure>, code: Code, text: &str) -> Outcome {
    let failure = result.err().ok_or("the download succeeded")?;
    println!("# {failure:?}");
    equal(failure.code, code)?;
    let found = failure.found.unwrap_or_default();
    ensure(
        found.contains(text),
        &format!("`{text}` is not in `{found}`"),
    )
}

fn refused(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let direct = PullProxy::Direct;
    let (_, result) = fetch(host, &mirror.url("/missing"), &direct, 0);
    failed(result, Code::DownloadFailed, "404")?;
    let (_, result) = fetch(host, "http://127.0.0.1:1/x", &direct, 0);
    failed(result, Code::MirrorUnreachable, "cannot connect")
}

/// Everything received is passed on; an incomplete download may still return
/// success.
fn interrupted(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let ((_, bytes), result) = fetch(host, &mirror.url("/breaks"), &PullProxy::Direct, 0);
    println!("# {result:?}");
    ensure(bytes.len() <= 150_000, "more bytes arrived than were sent")?;
    ensure(content().starts_with(&bytes), "the content differs")?;
    ensure(
        result.is_ok() || !bytes.is_empty(),
        "the received bytes were lost",
    )?;
    // An error from the callback cancels the download.
    let url = Secret::new(mirror.url("/whole"));
    let download = Download {
        url: &url,
        proxy: &PullProxy::Direct,
        from: 0,
    };
    let mut cancel = |_: u64, _: &[u8]| Err(Failure::new(Code::Protocol, "cancel", ""));
    let result = host.platform.download(&download, &mut cancel);
    equal(
        result.err().map(|failure| failure.code),
        Some(Code::Protocol),
    )
}

fn account(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let direct = PullProxy::Direct;
    let (_, result) = fetch(host, &mirror.url("/account"), &direct, 0);
    failed(result, Code::DownloadFailed, "401")?;
    let with = |account: &str, path: &str| {
        let url = mirror.url(path);
        url.replace("http://", &format!("http://{account}@"))
    };
    let (_, result) = fetch(host, &with("anna:wrong", "/account"), &direct, 0);
    failed(result, Code::DownloadFailed, "401")?;
    let (_, bytes) = fetched(host, &with("anna:p%3Aw", "/account"), 0)?;
    ensure(bytes == content(), "the content differs")?;
    // Credentials are not sent to the target of a redirect.
    let (_, result) = fetch(host, &with("anna:p%3Aw", "/moved"), &direct, 0);
    failed(result, Code::DownloadFailed, "302")
}

fn proxy(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let at = |url: String| PullProxy::At(Secret::new(url));
    let ((_, bytes), result) = fetch(host, "http://mirror.invalid/x", &at(mirror.url("")), 0);
    ok(result)?;
    ensure(bytes == content(), "the content differs")?;
    // The default port may or may not be written.
    let target = mirror.requests()[0].target.replace(":80/", "/");
    equal(target.as_str(), "http://mirror.invalid/x")?;
    let with_account = mirror.url("").replace("http://", "http://anna:p%3Aw@");
    for (proxy, expected) in [(mirror.url(""), false), (with_account, true)] {
        let (_, result) = fetch(host, "http://mirror.invalid/through", &at(proxy), 0);
        match expected {
            true => ok(result)?,
            false => failed(result, Code::DownloadFailed, "407")?,
        }
    }
    Ok(())
}

/// Nothing is sent in clear text to an `https` server.
fn tls(host: &Host) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let first_byte = thread::spawn(move || {
        let mut first = [0; 1];
        let (mut stream, _) = listener.accept()?;
        stream.read_exact(&mut first).map(|()| first[0])
    });
    let url = format!("https://anna:geheim@{address}/x");
    let (_, result) = fetch(host, &url, &PullProxy::Direct, 0);
    let failure = result.err().ok_or("the download succeeded")?;
    println!("# {failure:?}");
    equal(failure.code, Code::MirrorUnreachable)?;
    ensure(
        !format!("{failure:?}").contains("geheim"),
        "the failure contains the password",
    )?;
    let first_byte = first_byte.join().map_err(|_| "the server failed")?;
    // The first byte of a handshake.
    equal(first_byte.map_err(|error| error.to_string())?, 0x16)
}
