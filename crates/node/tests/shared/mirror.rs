//! A mirror for tests: a web server with one file, which the request path makes it
//! serve correctly or with a fault. It is also a proxy.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

/// `anna:p:w`, required for `/account`, and by the proxy for `/through`.
const CREDENTIALS: &str = "Basic YW5uYTpwOnc=";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    pub target: String,
    pub range: Option<String>,
    pub account: Option<String>,
    pub proxy_account: Option<String>,
}

/// Runs until the process exits.
pub struct Mirror {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Mirror {
    pub fn start(content: &[u8]) -> Self {
        Self::serve(content, |stream, serve| serve(&mut &*stream))
    }

    /// `around` wraps each connection, for example in TLS.
    pub fn serve(
        content: &[u8],
        around: impl Fn(&std::net::TcpStream, &dyn Fn(&mut dyn Stream)) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (content, log) = (content.to_vec(), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The client may close the connection early.
                around(&stream, &|stream| drop(respond(stream, &content, &log)));
            }
        });
        Self { address, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests since the last call.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn read(stream: &mut dyn Stream) -> std::io::Result<Request> {
    let mut lines = BufReader::new(stream).lines();
    let request_line = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let target = request_line
        .split(' ')
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let mut request = Request {
        target,
        ..Request::default()
    };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else {
            break;
        };
        let value = Some(value.to_owned());
        match name.to_ascii_lowercase().as_str() {
            "range" => request.range = value,
            "authorization" => request.account = value,
            "proxy-authorization" => request.proxy_account = value,
            _ => {}
        }
    }
    Ok(request)
}

fn respond(
    stream: &mut dyn Stream,
    content: &[u8],
    log: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    let request = read(stream)?;
    if request.target.is_empty() {
        return Ok(());
    }
    log.lock().unwrap().push(request.clone());
    let mut send = |head: &str, length: usize, body: &[u8]| {
        let head =
            format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.flush()
    };
    let start = request.range.as_deref().unwrap_or("bytes=0-");
    let start = start.trim_start_matches("bytes=").trim_end_matches('-');
    let start: usize = start.parse().unwrap();
    let (half, size) = (content.len() / 2, content.len());
    let (path, content) = match request.target.rsplit('/').next().unwrap_or_default() {
        "no-parts" => return send("200 OK", size, content),
        // A complete response with too little content.
        "short" => ("short", content[..half].to_vec()),
        "long" => ("long", [content, b"and more".as_slice()].concat()),
        "wrong" => ("wrong", content.iter().map(|byte| byte ^ 1).collect()),
        "moved" => return send("302 Found\r\nLocation: /whole", 0, b""),
        "account" if request.account.as_deref() != Some(CREDENTIALS) => {
            let head = "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"mirror\"";
            return send(head, 0, b"");
        }
        "through" if request.proxy_account.as_deref() != Some(CREDENTIALS) => {
            let head = "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic \
                        realm=\"proxy\"";
            return send(head, 0, b"");
        }
        "missing" => return send("404 Not Found", 0, b""),
        path => (path, content.to_vec()),
    };
    let size = content.len();
    if start > 0 && start >= size {
        let range = format!("416 Range Not Satisfiable\r\nContent-Range: bytes */{size}");
        return send(&range, 0, b"");
    }
    let head = match start {
        0 => "200 OK".to_owned(),
        _ => format!(
            "206 Partial Content\r\nContent-Range: bytes {start}-{}/{size}",
            size - 1
        ),
    };
    let rest = &content[start..];
    // Disconnects once, or every time.
    let end = match path {
        "breaks" if start == 0 => half,
        "dies" => rest.len().min(10),
        _ => rest.len(),
    };
    send(&head, rest.len(), &rest[..end])
}
