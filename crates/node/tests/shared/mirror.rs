//! A mirror for tests: a web server of this process that has one file, and gives it
//! as the path that is asked for says. It is a proxy as well.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

/// Who may have `/account`, and who may go through to `/through`: `anna:p:w`.
const ACCOUNT: &str = "Basic YW5uYTpwOnc=";

/// What somebody asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    pub target: String,
    pub range: Option<String>,
    pub account: Option<String>,
    pub proxy_account: Option<String>,
}

/// A server that runs until the process ends.
pub struct Mirror {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Mirror {
    pub fn start(content: &[u8]) -> Self {
        Self::serve(content, |stream, serve| serve(&mut &*stream))
    }

    /// With something around each connection, such as TLS.
    pub fn serve(
        content: &[u8],
        around: impl Fn(&std::net::TcpStream, &dyn Fn(&mut dyn Stream)) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (content, log) = (content.to_vec(), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Whoever hangs up has heard enough.
                around(&stream, &|stream| drop(answer(stream, &content, &log)));
            }
        });
        Self { address, asked }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What was asked since this was last called.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn read(stream: &mut dyn Stream) -> std::io::Result<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut asked = Asked {
        target,
        ..Asked::default()
    };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else {
            break;
        };
        let value = Some(value.to_owned());
        match name.to_ascii_lowercase().as_str() {
            "range" => asked.range = value,
            "authorization" => asked.account = value,
            "proxy-authorization" => asked.proxy_account = value,
            _ => {}
        }
    }
    Ok(asked)
}

fn answer(stream: &mut dyn Stream, content: &[u8], log: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let asked = read(stream)?;
    if asked.target.is_empty() {
        return Ok(());
    }
    log.lock().unwrap().push(asked.clone());
    let mut say = |head: &str, length: usize, body: &[u8]| {
        let head =
            format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.flush()
    };
    let begin = asked.range.as_deref().unwrap_or("bytes=0-");
    let begin = begin.trim_start_matches("bytes=").trim_end_matches('-');
    let begin: usize = begin.parse().unwrap();
    let (half, size) = (content.len() / 2, content.len());
    let (path, content) = match asked.target.rsplit('/').next().unwrap_or_default() {
        "no-parts" => return say("200 OK", size, content),
        // As if that were all.
        "short" => ("short", content[..half].to_vec()),
        "long" => ("long", [content, b"and more".as_slice()].concat()),
        "wrong" => ("wrong", content.iter().map(|byte| byte ^ 1).collect()),
        "moved" => return say("302 Found\r\nLocation: /whole", 0, b""),
        "account" if asked.account.as_deref() != Some(ACCOUNT) => {
            let asks = "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"mirror\"";
            return say(asks, 0, b"");
        }
        "through" if asked.proxy_account.as_deref() != Some(ACCOUNT) => {
            let asks = "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic \
                        realm=\"proxy\"";
            return say(asks, 0, b"");
        }
        "missing" => return say("404 Not Found", 0, b""),
        path => (path, content.to_vec()),
    };
    let size = content.len();
    if begin > 0 && begin >= size {
        let range = format!("416 Range Not Satisfiable\r\nContent-Range: bytes */{size}");
        return say(&range, 0, b"");
    }
    let head = match begin {
        0 => "200 OK".to_owned(),
        _ => format!(
            "206 Partial Content\r\nContent-Range: bytes {begin}-{}/{size}",
            size - 1
        ),
    };
    let rest = &content[begin..];
    // Once in the middle, or again and again.
    let end = match path {
        "breaks" if begin == 0 => half,
        "dies" => rest.len().min(10),
        _ => rest.len(),
    };
    say(&head, rest.len(), &rest[..end])
}
