//! Where hashes come from: the web and files here.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use casement_diag::Problem;
use casement_lock::{Place, Sources};
use casement_resource::Sha256;
use reqwest::header::RANGE;
use reqwest::{Client, Response, StatusCode};
use sha2::Digest as _;
use tokio::io::AsyncReadExt as _;

/// More than any file of sums has.
const MOST_TEXT: usize = 256 * 1024;
/// How long a server may take to answer at all.
const CONNECT: Duration = Duration::from_secs(15);
/// How long it may be silent.
const SILENCE: Duration = Duration::from_secs(60);

/// A place that does not answer.
#[derive(Debug)]
pub struct NoAnswer {
    /// Which.
    pub place: Place,
    /// What it, or the system, says.
    pub said: String,
}

/// The web and the disk.
pub struct World {
    client: Client,
}

impl World {
    /// Ready to ask; proxies are those of the environment.
    pub fn new() -> Result<Self, Problem> {
        // Somebody may have chosen already, and it is the same choice.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("casement/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .build();
        let client = client.map_err(|error| {
            Problem::new(
                "CAS-LOCK-011",
                "the web cannot be asked",
                "the machine's trusted certificates are needed (package ca-certificates)",
            )
            .seen("it says", chain(&error))
        })?;
        Ok(Self { client })
    }

    /// The answer of a server; none where it has nothing of that name.
    async fn get(&self, url: &str) -> Result<Option<Response>, String> {
        let answer = self.client.get(url).send().await;
        there(answer.map_err(|error| chain(&error))?)
    }

    /// The answer from a byte on, and the byte that it begins with: servers may begin
    /// anew. None where there is nothing of that name.
    pub async fn get_from(&self, url: &str, at: u64) -> Result<Option<(Response, u64)>, String> {
        if at == 0 {
            return Ok(self.get(url).await?.map(|answer| (answer, 0)));
        }
        let range = format!("bytes={at}-");
        let answer = self.client.get(url).header(RANGE, range).send().await;
        let answer = answer.map_err(|error| chain(&error))?;
        match answer.status() {
            StatusCode::PARTIAL_CONTENT => Ok(Some((answer, at))),
            // It has no more than what is here already.
            StatusCode::RANGE_NOT_SATISFIABLE => Ok(self.get(url).await?.map(|answer| (answer, 0))),
            _ => Ok(there(answer)?.map(|answer| (answer, 0))),
        }
    }

    async fn web_text(&self, url: &str) -> Result<Option<String>, String> {
        let Some(mut answer) = self.get(url).await? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| chain(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_TEXT {
                return Err("it is too long to be a file of sums".to_owned());
            }
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    async fn web_hash(&self, url: &str) -> Result<Option<Sha256>, String> {
        let Some(mut answer) = self.get(url).await? else {
            return Ok(None);
        };
        let mut hasher = sha2::Sha256::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| chain(&error))? {
            hasher.update(&chunk);
        }
        Ok(Some(Sha256::from_bytes(hasher.finalize().into())))
    }
}

impl Sources for World {
    type Error = NoAnswer;

    async fn text(&self, place: &Place) -> Result<Option<String>, NoAnswer> {
        let text = match place {
            Place::Url(url) => self.web_text(url).await,
            Place::File(path) => file_text(path.as_std_path()).await,
        };
        text.map_err(|said| NoAnswer {
            place: place.clone(),
            said,
        })
    }

    async fn hash(&self, place: &Place) -> Result<Option<Sha256>, NoAnswer> {
        let hash = match place {
            Place::Url(url) => self.web_hash(url).await,
            Place::File(path) => file_hash(path.as_std_path()).await,
        };
        hash.map_err(|said| NoAnswer {
            place: place.clone(),
            said,
        })
    }
}

async fn open(path: &Path) -> Result<Option<tokio::fs::File>, String> {
    match tokio::fs::File::open(path).await {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

async fn file_text(path: &Path) -> Result<Option<String>, String> {
    let Some(file) = open(path).await? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let mut limited = file.take(MOST_TEXT as u64 + 1);
    let read = limited.read_to_end(&mut bytes).await;
    match read.map_err(|error| error.to_string())? > MOST_TEXT {
        true => Err("it is too long to be a file of sums".to_owned()),
        false => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
    }
}

async fn file_hash(path: &Path) -> Result<Option<Sha256>, String> {
    let Some(mut file) = open(path).await? else {
        return Ok(None);
    };
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let count = file.read(&mut buffer).await;
        match count.map_err(|error| error.to_string())? {
            0 => return Ok(Some(Sha256::from_bytes(hasher.finalize().into()))),
            count => hasher.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

/// An answer that has something; none where there is nothing of that name.
fn there(answer: Response) -> Result<Option<Response>, String> {
    match answer.status() {
        StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
        status if status.is_success() => Ok(Some(answer)),
        status => Err(format!("it answers {status}")),
    }
}

/// An error with its causes: the first alone says only that a request failed.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}
