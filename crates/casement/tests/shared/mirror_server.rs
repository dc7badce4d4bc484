//! A web server that has what a function says it has, is a proxy as well, and breaks
//! off or lies where it is told to. It tells who asks: casement itself says its name.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::tls;

type Has = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;

#[derive(Default)]
struct Seen {
    asked: Vec<String>,
    by_hosts: Vec<String>,
    ranges: Vec<String>,
    accounts: Vec<String>,
    /// What a proxy's account looks like in a request.
    demands: Option<String>,
    break_off: Option<(String, usize)>,
    lie: Option<String>,
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
        Self::serve(Arc::new(has), Some(tls::server(ca)))
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

    /// The paths that casement asked for and that are there.
    pub fn asked(&self) -> Vec<String> {
        self.seen.lock().unwrap().asked.clone()
    }

    /// Those that hosts asked for.
    pub fn asked_by_hosts(&self) -> Vec<String> {
        self.seen.lock().unwrap().by_hosts.clone()
    }

    /// The accounts that were used.
    pub fn accounts(&self) -> Vec<String> {
        self.seen.lock().unwrap().accounts.clone()
    }

    /// From now on only who says this to the proxy gets anything.
    pub fn demand(&self, login: &str) {
        self.seen.lock().unwrap().demands = Some(login.to_owned());
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

    /// Hosts that ask for a file of that name get another one of the same size.
    pub fn lie_to_hosts(&self, file: &str) {
        self.seen.lock().unwrap().lie = Some(file.to_owned());
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
    let (mut begin, mut by_host, mut login) = (0, true, None);
    for line in lines {
        let line = line?;
        let lower = line.to_lowercase();
        by_host &= !lower.starts_with("user-agent: casement/");
        if lower.starts_with("authorization: ") {
            seen.lock().unwrap().accounts.push(line.clone());
        }
        if lower.starts_with("proxy-authorization: ") {
            login = line.split_once(": ").map(|(_, login)| login.to_owned());
        }
        if let Some(range) = lower.strip_prefix("range: ") {
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
    if seen.demands.is_some() && seen.demands != login {
        let none = "HTTP/1.1 407 Proxy Authentication Required\r\nconnection: close\r\n\
                    content-length: 0\r\n\r\n";
        return stream.write_all(none.as_bytes());
    }
    let Some(mut content) = has(&path).filter(|_| !seen.stopped) else {
        let none = "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        return stream.write_all(none.as_bytes());
    };
    match by_host {
        true => seen.by_hosts.push(path.clone()),
        false => seen.asked.push(path.clone()),
    }
    let lied_about = |file: &String| by_host && path.ends_with(file.as_str());
    if seen.lie.as_ref().is_some_and(lied_about) {
        content.iter_mut().for_each(|byte| *byte ^= 1);
    }
    let size = content.len();
    let rest = content.get(begin..).unwrap_or_default();
    let status = match begin {
        0 => "200 OK".to_owned(),
        _ => format!(
            "206 Partial Content\r\ncontent-range: bytes {begin}-{}/{size}",
            size - 1
        ),
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
