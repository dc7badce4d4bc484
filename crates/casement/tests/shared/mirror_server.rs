//! A web server and HTTP proxy with configurable faults.
//!
//! It tells requests of casement from those of hosts by the user agent.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::tls;

type Content = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;

#[derive(Default)]
struct State {
    requests: Vec<String>,
    host_requests: Vec<String>,
    ranges: Vec<String>,
    authorizations: Vec<String>,
    /// The required value of `proxy-authorization`.
    proxy_login: Option<String>,
    truncate: Option<(String, usize)>,
    corrupt: Option<String>,
    stopped: bool,
}

pub struct MirrorServer {
    pub url: String,
    content: Arc<Content>,
    state: Arc<Mutex<State>>,
}

impl MirrorServer {
    pub fn start(content: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self::serve(Arc::new(content), None)
    }

    /// Over TLS; writes the CA certificate to `ca`.
    pub fn start_with_tls(
        content: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static,
        ca: &Path,
    ) -> Self {
        Self::serve(Arc::new(content), Some(tls::server(ca)))
    }

    fn serve(content: Arc<Content>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let server = Self {
            url,
            content: Arc::clone(&content),
            state: Arc::clone(&state),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The client may hang up.
                let _ = match &tls {
                    None => respond(&mut &stream, &content, &state),
                    Some(config) => {
                        let session = ServerConnection::new(Arc::clone(config)).unwrap();
                        respond(&mut StreamOwned::new(session, &stream), &content, &state)
                    }
                };
            }
        });
        server
    }

    /// The content at a URL or path.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        (self.content)(path)
    }

    /// The existing paths that casement itself requested.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    /// The existing paths that hosts requested.
    pub fn host_requests(&self) -> Vec<String> {
        self.state.lock().unwrap().host_requests.clone()
    }

    pub fn authorizations(&self) -> Vec<String> {
        self.state.lock().unwrap().authorizations.clone()
    }

    /// Rejects all later requests that lack this `proxy-authorization`.
    pub fn require_proxy_login(&self, login: &str) {
        self.state.lock().unwrap().proxy_login = Some(login.to_owned());
    }

    pub fn ranges(&self) -> Vec<String> {
        self.state.lock().unwrap().ranges.clone()
    }

    pub fn clear_requests(&self) {
        self.state.lock().unwrap().requests.clear();
    }

    /// Ends the next response for this file name after so many bytes.
    pub fn truncate_next(&self, file: &str, after: usize) {
        self.state.lock().unwrap().truncate = Some((file.to_owned(), after));
    }

    /// Sends hosts other bytes of the same size for this file name.
    pub fn corrupt_for_hosts(&self, file: &str) {
        self.state.lock().unwrap().corrupt = Some(file.to_owned());
    }

    /// Answers all later requests with 404.
    pub fn stop(&self) {
        self.state.lock().unwrap().stopped = true;
    }
}

fn respond(
    stream: &mut (impl Read + Write),
    content: &Arc<Content>,
    state: &Mutex<State>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(&mut *stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let (mut begin, mut by_host, mut login) = (0, true, None);
    for line in lines {
        let line = line?;
        let lower = line.to_lowercase();
        by_host &= !lower.starts_with("user-agent: casement/");
        if lower.starts_with("authorization: ") {
            state.lock().unwrap().authorizations.push(line.clone());
        }
        if lower.starts_with("proxy-authorization: ") {
            login = line.split_once(": ").map(|(_, login)| login.to_owned());
        }
        if let Some(range) = lower.strip_prefix("range: ") {
            state.lock().unwrap().ranges.push(range.to_owned());
            let from = range.trim_start_matches("bytes=").trim_end_matches('-');
            begin = from.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut state = state.lock().unwrap();
    if state.proxy_login.is_some() && state.proxy_login != login {
        let response = "HTTP/1.1 407 Proxy Authentication Required\r\nconnection: close\r\n\
                    content-length: 0\r\n\r\n";
        return stream.write_all(response.as_bytes());
    }
    let Some(mut bytes) = content(&path).filter(|_| !state.stopped) else {
        let response = "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        return stream.write_all(response.as_bytes());
    };
    match by_host {
        true => state.host_requests.push(path.clone()),
        false => state.requests.push(path.clone()),
    }
    let is_corrupted = |file: &String| by_host && path.ends_with(file.as_str());
    if state.corrupt.as_ref().is_some_and(is_corrupted) {
        bytes.iter_mut().for_each(|byte| *byte ^= 1);
    }
    let size = bytes.len();
    let rest = bytes.get(begin..).unwrap_or_default();
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
    let truncated = state
        .truncate
        .take_if(|(file, _)| path.ends_with(file.as_str()));
    let end = truncated.map_or(length, |(_, after)| after.min(length));
    stream.write_all(head.as_bytes())?;
    stream.write_all(rest.get(..end).unwrap_or_default())?;
    stream.flush()
}
