//! The web server of the lab's image: one line about who answers.
//!
//! `web.exe [PORT]`, or the variable `PORT`, else 80. `/` says which pod on
//! which computer answered whom, `/healthz` says `ok`, anything else is not
//! found. Each request is a line on standard output, so that `kubectl logs`
//! has something to show. It has no state and needs no clean-up: it may be
//! ended at any moment.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client that sends more headers than this is not heard further.
const MOST_HEADERS: usize = 100;

fn main() -> ExitCode {
    let port = match port(env::args().nth(1).or_else(|| env::var("PORT").ok())) {
        Ok(port) => port,
        Err(text) => {
            eprintln!("web: `{text}` is no port");
            return ExitCode::from(2);
        }
    };
    let listener = match TcpListener::bind(("0.0.0.0", port)) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("web: port {port}: {error}");
            return ExitCode::FAILURE;
        }
    };
    say(&format!("{} listens on port {port}", signature()));
    for client in listener.incoming().flatten() {
        thread::spawn(move || {
            if let Err(error) = answer(client) {
                say(&format!("- {error}"));
            }
        });
    }
    ExitCode::SUCCESS
}

fn port(text: Option<String>) -> Result<u16, String> {
    let Some(text) = text else { return Ok(80) };
    text.trim().parse().map_err(|_| text)
}

fn answer(client: TcpStream) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let from = client.peer_addr()?;
    let mut reader = BufReader::new(&client);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    for _ in 0..MOST_HEADERS {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim_end().is_empty() {
            break;
        }
    }
    let (status, body) = respond(request.trim_end(), from);
    say(&format!(
        "{} \"{}\" {status}",
        from.ip(),
        request.trim_end()
    ));
    let body = if request.starts_with("HEAD ") {
        String::new()
    } else {
        body
    };
    write!(
        &client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The status and the text for a request line.
fn respond(request: &str, from: SocketAddr) -> (&'static str, String) {
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if method != "GET" && method != "HEAD" {
        return ("405 Method Not Allowed", "only GET and HEAD\n".to_owned());
    }
    match target.split('?').next() {
        Some("/") => ("200 OK", format!("{} answers {}\n", signature(), from.ip())),
        Some("/healthz") => ("200 OK", "ok\n".to_owned()),
        _ => ("404 Not Found", "not found\n".to_owned()),
    }
}

/// Who this is: the pod where Kubernetes says so, and the computer.
fn signature() -> String {
    let computer = env::var("COMPUTERNAME").unwrap_or_else(|_| "computer".to_owned());
    let pod = env::var("POD_NAME").unwrap_or_else(|_| computer.clone());
    format!(
        "web {} in {pod} on {computer} ({})",
        env!("CARGO_PKG_VERSION"),
        env::consts::OS
    )
}

/// One line on standard output, at once; a closed one is no reason to stop.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
