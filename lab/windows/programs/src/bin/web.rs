//! The web server of the lab's image.
//!
//! `web.exe [PORT]`; the default is the variable `PORT`, then 80. `/` names the
//! pod, the computer and the client, `/healthz` returns `ok`, any other path is
//! 404. Each request is logged to standard output, so that `kubectl logs` has
//! something to show. It has no state and can be killed at any time.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Time limit for reading a request and writing the response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Further headers are not read.
const MAX_HEADERS: usize = 100;

fn main() -> ExitCode {
    let port = match port(env::args().nth(1).or_else(|| env::var("PORT").ok())) {
        Ok(port) => port,
        Err(text) => {
            eprintln!("web: `{text}` is not a valid port");
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
    log(&format!("{} listens on port {port}", identity()));
    for client in listener.incoming().flatten() {
        thread::spawn(move || {
            if let Err(error) = handle(client) {
                log(&format!("- {error}"));
            }
        });
    }
    ExitCode::SUCCESS
}

fn port(text: Option<String>) -> Result<u16, String> {
    let Some(text) = text else { return Ok(80) };
    text.trim().parse().map_err(|_| text)
}

fn handle(client: TcpStream) -> io::Result<()> {
    client.set_read_timeout(Some(TIMEOUT))?;
    client.set_write_timeout(Some(TIMEOUT))?;
    let from = client.peer_addr()?;
    let mut reader = BufReader::new(&client);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    for _ in 0..MAX_HEADERS {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim_end().is_empty() {
            break;
        }
    }
    let (status, body) = respond(request.trim_end(), from);
    log(&format!(
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

/// The status and the body for a request line.
fn respond(request: &str, from: SocketAddr) -> (&'static str, String) {
    let mut parts = request.split(' ');
    let (method, target) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    if method != "GET" && method != "HEAD" {
        return ("405 Method Not Allowed", "only GET and HEAD\n".to_owned());
    }
    match target.split('?').next() {
        Some("/") => ("200 OK", format!("{} answers {}\n", identity(), from.ip())),
        Some("/healthz") => ("200 OK", "ok\n".to_owned()),
        _ => ("404 Not Found", "not found\n".to_owned()),
    }
}

/// The name of the pod, if set by Kubernetes, and of the computer.
fn identity() -> String {
    let computer = env::var("COMPUTERNAME").unwrap_or_else(|_| "computer".to_owned());
    let pod = env::var("POD_NAME").unwrap_or_else(|_| computer.clone());
    format!(
        "web {} in {pod} on {computer} ({})",
        env!("CARGO_PKG_VERSION"),
        env::consts::OS
    )
}

/// Flushes each line; ignores a closed standard output.
fn log(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
