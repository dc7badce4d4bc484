//! A web server with configured responses, including faulty ones.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Clone)]
pub enum Response {
    Text(String),
    Status(u16),
    /// A body shorter than its `content-length`.
    Truncated,
    Redirect(String),
}

/// Serves until the process ends.
pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start(responses: &[(&str, Response)]) -> Self {
        let owned = responses
            .iter()
            .map(|(path, response)| (format!("/{path}"), response.clone()));
        let responses: BTreeMap<String, Response> = owned.collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The client may hang up.
                let _ = respond(stream, &responses, &log);
            }
        });
        Self { url, requests }
    }

    /// The requested paths, sorted.
    pub fn requests(&self) -> Vec<String> {
        let mut requests = self.requests.lock().unwrap().clone();
        requests.sort();
        requests
    }
}

fn respond(
    mut stream: TcpStream,
    responses: &BTreeMap<String, Response>,
    requests: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    requests.lock().unwrap().push(path.clone());
    let close = "connection: close\r\n";
    let text = match responses.get(&path) {
        Some(Response::Text(text)) => {
            let length = text.len();
            format!("HTTP/1.1 200 OK\r\n{close}content-length: {length}\r\n\r\n{text}")
        }
        Some(Response::Status(status)) => {
            format!("HTTP/1.1 {status} No\r\n{close}content-length: 0\r\n\r\n")
        }
        Some(Response::Truncated) => {
            format!("HTTP/1.1 200 OK\r\n{close}content-length: 1000\r\n\r\nhalf")
        }
        Some(Response::Redirect(location)) => {
            format!(
                "HTTP/1.1 302 Found\r\n{close}location: {location}\r\ncontent-length: 0\r\n\r\n"
            )
        }
        None => format!("HTTP/1.1 404 Not Found\r\n{close}content-length: 0\r\n\r\n"),
    };
    stream.write_all(text.as_bytes())
}
