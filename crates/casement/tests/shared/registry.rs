//! A registry behind a proxy, in one server: both require their own credentials.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A name that does not resolve: only the proxy knows it.
pub const REGISTRY: &str = "registry.shop.example:5000";

/// An image for all Windows builds of simulated hosts.
const IMAGE: &str = r#"{"manifests": [
    {"platform": {"os.version": "10.0.20348.1"}},
    {"platform": {"os.version": "10.0.26100.1"}}
]}"#;

/// User and password.
#[derive(Clone, Copy)]
pub struct Account(pub &'static str, pub &'static str);

impl Account {
    /// The value of an authorization header.
    pub fn basic(self) -> String {
        let Self(user, password) = self;
        format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
    }
}

pub struct PrivateRegistry {
    /// The URL of the proxy.
    pub url: String,
    served: Arc<Mutex<Vec<String>>>,
}

impl PrivateRegistry {
    pub fn start(registry: Account, proxy: Account) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&served);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The client may hang up.
                if let Ok(Some(image)) = respond(&stream, registry, proxy) {
                    log.lock().unwrap().push(image);
                }
            }
        });
        Self { url, served }
    }

    /// The images served to requests with both credentials.
    pub fn served(&self) -> Vec<String> {
        self.served.lock().unwrap().clone()
    }
}

/// Answers one request and returns the image if it was served.
fn respond(
    mut stream: &TcpStream,
    registry: Account,
    proxy: Account,
) -> std::io::Result<Option<String>> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let (mut authorized, mut proxy_authorized) = (false, false);
    for line in lines {
        let line = line?;
        match line.split_once(": ") {
            Some(("authorization", value)) => authorized = value == registry.basic(),
            Some(("proxy-authorization", value)) => proxy_authorized = value == proxy.basic(),
            _ if line.is_empty() => break,
            _ => {}
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let image = path.strip_prefix(&format!("http://{REGISTRY}/v2/"));
    let (status, body) = match (proxy_authorized, authorized, image) {
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
