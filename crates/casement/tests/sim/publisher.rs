//! A web server that has what a function says it has, is a proxy as well, and breaks
//! off where it is told to.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

type Has = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;

#[derive(Default)]
struct Seen {
    asked: Vec<String>,
    ranges: Vec<String>,
    break_off: Option<(String, usize)>,
    stopped: bool,
}

pub struct Publisher {
    pub url: String,
    has: Arc<Has>,
    seen: Arc<Mutex<Seen>>,
}

impl Publisher {
    pub fn start(has: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self::serve(Arc::new(has), None)
    }

    /// Over TLS; the certificate that signed its own is written to the file.
    pub fn start_with_tls(
        has: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static,
        ca: &Path,
    ) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(ca, made.cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        Self::serve(Arc::new(has), Some(Arc::new(config)))
    }

    fn serve(has: Arc<Has>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let publisher = Self {
            url,
            has: Arc::clone(&has),
            seen: Arc::clone(&seen),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up is its own affair.
                let _ = match &tls {
                    None => answer(&mut &stream, &has, &seen),
                    Some(config) => {
                        let session = ServerConnection::new(Arc::clone(config)).unwrap();
                        answer(&mut StreamOwned::new(session, &stream), &has, &seen)
                    }
                };
            }
        });
        publisher
    }

    /// What it has at an address or a path.
    pub fn has(&self, path: &str) -> Option<Vec<u8>> {
        (self.has)(path)
    }

    /// The paths that were asked for and are there.
    pub fn asked(&self) -> Vec<String> {
        self.seen.lock().unwrap().asked.clone()
    }

    pub fn ranges(&self) -> Vec<String> {
        self.seen.lock().unwrap().ranges.clone()
    }

    pub fn forget(&self) {
        self.seen.lock().unwrap().asked.clear();
    }

    /// The next answer for a file of that name ends after so many bytes.
    pub fn break_off(&self, file: &str, after: usize) {
        self.seen.lock().unwrap().break_off = Some((file.to_owned(), after));
    }

    /// Answers nobody any more.
    pub fn stop(&self) {
        self.seen.lock().unwrap().stopped = true;
    }
}

fn answer(
    stream: &mut (impl Read + Write),
    has: &Arc<Has>,
    seen: &Mutex<Seen>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(&mut *stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let mut begin = 0;
    for line in lines {
        let line = line?;
        if let Some(range) = line.to_lowercase().strip_prefix("range: ") {
            seen.lock().unwrap().ranges.push(range.to_owned());
            let from = range.trim_start_matches("bytes=").trim_end_matches('-');
            begin = from.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut seen = seen.lock().unwrap();
    let Some(content) = has(&path).filter(|_| !seen.stopped) else {
        let none = "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        return stream.write_all(none.as_bytes());
    };
    seen.asked.push(path.clone());
    let rest = content.get(begin..).unwrap_or_default();
    let status = if begin > 0 {
        "206 Partial Content"
    } else {
        "200 OK"
    };
    let length = rest.len();
    let head =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    let broken = seen
        .break_off
        .take_if(|(file, _)| path.ends_with(file.as_str()));
    let end = broken.map_or(length, |(_, after)| after.min(length));
    stream.write_all(head.as_bytes())?;
    stream.write_all(rest.get(..end).unwrap_or_default())?;
    stream.flush()
}
