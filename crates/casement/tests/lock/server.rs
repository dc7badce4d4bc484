//! A web server that serves what it is told to, broken answers included.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What is said to a request.
#[derive(Clone)]
pub enum Answer {
    /// This text.
    Text(String),
    /// This status.
    Status(u16),
    /// A body that ends before its time.
    Broken,
    /// Another place.
    Moved(String),
}

/// A server on a port of its own; it serves until the process ends.
pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start(answers: &[(&str, Answer)]) -> Self {
        let owned = answers
            .iter()
            .map(|(path, answer)| (format!("/{path}"), answer.clone()));
        let answers: BTreeMap<String, Answer> = owned.collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up is its own affair.
                let _ = answer(stream, &answers, &record);
            }
        });
        Self { url, asked }
    }

    /// The paths that were asked for, sorted.
    pub fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

fn answer(
    mut stream: TcpStream,
    answers: &BTreeMap<String, Answer>,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    let close = "connection: close\r\n";
    let text = match answers.get(&path) {
        Some(Answer::Text(text)) => {
            let length = text.len();
            format!("HTTP/1.1 200 OK\r\n{close}content-length: {length}\r\n\r\n{text}")
        }
        Some(Answer::Status(status)) => {
            format!("HTTP/1.1 {status} No\r\n{close}content-length: 0\r\n\r\n")
        }
        Some(Answer::Broken) => {
            format!("HTTP/1.1 200 OK\r\n{close}content-length: 1000\r\n\r\nhalf")
        }
        Some(Answer::Moved(place)) => {
            format!("HTTP/1.1 302 Found\r\n{close}location: {place}\r\ncontent-length: 0\r\n\r\n")
        }
        None => format!("HTTP/1.1 404 Not Found\r\n{close}content-length: 0\r\n\r\n"),
    };
    stream.write_all(text.as_bytes())
}
