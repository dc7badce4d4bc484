//! A registry behind a proxy, both in one: the proxy lets nobody through without its
//! account, and the registry gives nothing without its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The registry, which nobody could look up: only the proxy knows it.
pub const REGISTRY: &str = "registry.shop.example:5000";

/// An image for all builds that simulated hosts have.
const IMAGE: &str = r#"{"manifests": [
    {"platform": {"os.version": "10.0.20348.1"}},
    {"platform": {"os.version": "10.0.26100.1"}}
]}"#;

/// A user and a password.
#[derive(Clone, Copy)]
pub struct Account(pub &'static str, pub &'static str);

impl Account {
    /// As a header says it.
    pub fn basic(self) -> String {
        let Self(user, password) = self;
        format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
    }
}

pub struct GuardedRegistry {
    /// The proxy.
    pub url: String,
    given: Arc<Mutex<Vec<String>>>,
}

impl GuardedRegistry {
    pub fn start(registry: Account, proxy: Account) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let given = Arc::new(Mutex::new(Vec::new()));
        let gives = Arc::clone(&given);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up is its own affair.
                if let Ok(Some(image)) = answer(&stream, registry, proxy) {
                    gives.lock().unwrap().push(image);
                }
            }
        });
        Self { url, given }
    }

    /// The images that were given to who had both accounts.
    pub fn given(&self) -> Vec<String> {
        self.given.lock().unwrap().clone()
    }
}

/// Answers one request; gives the image that was asked for, if it was given.
fn answer(
    mut stream: &TcpStream,
    registry: Account,
    proxy: Account,
) -> std::io::Result<Option<String>> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let (mut known, mut let_through) = (false, false);
    for line in lines {
        let line = line?;
        match line.split_once(": ") {
            Some(("authorization", value)) => known = value == registry.basic(),
            Some(("proxy-authorization", value)) => let_through = value == proxy.basic(),
            _ if line.is_empty() => break,
            _ => {}
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let image = path.strip_prefix(&format!("http://{REGISTRY}/v2/"));
    let (status, body) = match (let_through, known, image) {
        (false, ..) => ("407 Proxy Authentication Required", ""),
        (_, false, _) => ("401 Unauthorized", ""),
        (.., None) => ("404 Not Found", ""),
        (.., Some(_)) => ("200 OK", IMAGE),
    };
    let size = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n{body}"
    )?;
    Ok(image.filter(|_| !body.is_empty()).map(str::to_owned))
}
