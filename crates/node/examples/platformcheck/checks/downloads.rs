//! Downloads, from a server of this process.

use std::io::Read as _;
use std::net::TcpListener;
use std::thread;

use casement_node::platform::Download;
use casement_resource::wire::PullProxy;
use casement_resource::{Code, Failure, Secret};

use super::{Check, Host, Outcome, did, equal, so};
use crate::mirror::Mirror;

pub const CHECKS: &[Check] = &[
    ("download", whole),
    ("download that goes on", parts),
    ("download that is refused", refused),
    ("download that breaks off", broken),
    ("download with an account", account),
    ("download through a proxy", proxy),
    ("download over TLS only", tls),
];

/// More than fits into one piece.
fn content() -> Vec<u8> {
    (0..300_000_u32).map(|at| (at % 251) as u8).collect()
}

/// What came: each piece's place, and all of the bytes.
type Came = (Vec<u64>, Vec<u8>);

fn fetch(host: &Host, url: &str, proxy: &PullProxy, from: u64) -> (Came, Result<(), Failure>) {
    let url = Secret::new(url.to_owned());
    let download = Download {
        url: &url,
        proxy,
        from,
    };
    let (mut places, mut bytes) = (Vec::new(), Vec::new());
    let mut take = |at: u64, piece: &[u8]| {
        places.push(at);
        bytes.extend_from_slice(piece);
        Ok(())
    };
    let ended = host.platform.download(&download, &mut take);
    ((places, bytes), ended)
}

fn fetched(host: &Host, url: &str, from: u64) -> Result<Came, String> {
    let (came, ended) = fetch(host, url, &PullProxy::Direct, from);
    did(ended).map(|()| came)
}

fn whole(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    for (path, proxy) in [
        ("/whole", PullProxy::Direct),
        ("/moved", PullProxy::Direct),
        ("/whole", PullProxy::HostsOwn),
    ] {
        let ((places, bytes), ended) = fetch(host, &mirror.url(path), &proxy, 0);
        did(ended)?;
        equal(places.first(), Some(&0))?;
        so(
            places.len() > 1 && places.is_sorted(),
            "it came in one piece",
        )?;
        so(bytes == content(), "something else came")?;
    }
    let targets: Vec<String> = mirror.asked().into_iter().map(|it| it.target).collect();
    equal(
        targets,
        ["/whole", "/moved", "/whole", "/whole"]
            .map(str::to_owned)
            .to_vec(),
    )
}

fn parts(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let (places, bytes) = fetched(host, &mirror.url("/whole"), 1000)?;
    equal(places.first(), Some(&1000))?;
    so(bytes == content()[1000..], "another part came")?;
    equal(&mirror.asked()[0].range, &Some("bytes=1000-".to_owned()))?;
    // One that knows nothing of parts, and one that has no more than what is here.
    let (places, bytes) = fetched(host, &mirror.url("/no-parts"), 1000)?;
    equal(places.first(), Some(&0))?;
    so(bytes == content(), "it did not begin anew")?;
    let (places, _) = fetched(host, &mirror.url("/whole"), 300_000)?;
    equal(places, Vec::new())
}

fn failed(ended: Result<(), Failure>, code: Code, words: &str) -> Outcome {
    let failure = ended.err().ok_or("it was fetched")?;
    println!("# {failure:?}");
    equal(failure.code, code)?;
    let found = failure.found.unwrap_or_default();
    so(
        found.contains(words),
        &format!("`{words}` is not in `{found}`"),
    )
}

fn refused(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let direct = PullProxy::Direct;
    let (_, ended) = fetch(host, &mirror.url("/missing"), &direct, 0);
    failed(ended, Code::NotFetched, "404")?;
    let (_, ended) = fetch(host, "http://127.0.0.1:1/x", &direct, 0);
    failed(ended, Code::NoMirror, "cannot be connected to")
}

/// All that came is given, and less than all of it is no success of the whole.
fn broken(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let ((_, bytes), ended) = fetch(host, &mirror.url("/breaks"), &PullProxy::Direct, 0);
    println!("# {ended:?}");
    so(bytes.len() <= 150_000, "more came than was sent")?;
    so(content().starts_with(&bytes), "something else came")?;
    so(ended.is_ok() || !bytes.is_empty(), "what came was lost")?;
    // Somebody who has had enough ends it.
    let url = Secret::new(mirror.url("/whole"));
    let download = Download {
        url: &url,
        proxy: &PullProxy::Direct,
        from: 0,
    };
    let mut enough = |_: u64, _: &[u8]| Err(Failure::new(Code::Protocol, "enough", ""));
    let ended = host.platform.download(&download, &mut enough);
    equal(
        ended.err().map(|failure| failure.code),
        Some(Code::Protocol),
    )
}

fn account(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let direct = PullProxy::Direct;
    let (_, ended) = fetch(host, &mirror.url("/account"), &direct, 0);
    failed(ended, Code::NotFetched, "401")?;
    let with = |account: &str, path: &str| {
        let url = mirror.url(path);
        url.replace("http://", &format!("http://{account}@"))
    };
    let (_, ended) = fetch(host, &with("anna:wrong", "/account"), &direct, 0);
    failed(ended, Code::NotFetched, "401")?;
    let (_, bytes) = fetched(host, &with("anna:p%3Aw", "/account"), 0)?;
    so(bytes == content(), "something else came")?;
    // It is not carried elsewhere.
    let (_, ended) = fetch(host, &with("anna:p%3Aw", "/moved"), &direct, 0);
    failed(ended, Code::NotFetched, "302")
}

fn proxy(host: &Host) -> Outcome {
    let mirror = Mirror::start(&content());
    let at = |url: String| PullProxy::At(Secret::new(url));
    let ((_, bytes), ended) = fetch(host, "http://mirror.invalid/x", &at(mirror.url("")), 0);
    did(ended)?;
    so(bytes == content(), "something else came")?;
    // Whether the usual port is written is nobody's business.
    let target = mirror.asked()[0].target.replace(":80/", "/");
    equal(target.as_str(), "http://mirror.invalid/x")?;
    let with_account = mirror.url("").replace("http://", "http://anna:p%3Aw@");
    for (proxy, wanted) in [(mirror.url(""), false), (with_account, true)] {
        let (_, ended) = fetch(host, "http://mirror.invalid/through", &at(proxy), 0);
        match wanted {
            true => did(ended)?,
            false => failed(ended, Code::NotFetched, "407")?,
        }
    }
    Ok(())
}

/// Nothing is said in clear to one who should speak TLS.
fn tls(host: &Host) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let heard = thread::spawn(move || {
        let mut first = [0; 1];
        let (mut stream, _) = listener.accept()?;
        stream.read_exact(&mut first).map(|()| first[0])
    });
    let url = format!("https://anna:geheim@{address}/x");
    let (_, ended) = fetch(host, &url, &PullProxy::Direct, 0);
    let failure = ended.err().ok_or("it was fetched")?;
    println!("# {failure:?}");
    equal(failure.code, Code::NoMirror)?;
    so(
        !format!("{failure:?}").contains("geheim"),
        "the password is told",
    )?;
    let heard = heard.join().map_err(|_| "the server has failed")?;
    // The first byte of a handshake.
    equal(heard.map_err(|error| error.to_string())?, 0x16)
}
