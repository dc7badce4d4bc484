//! Reads checksum files and hashes downloads, over HTTP and from local files.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use casement_diag::Problem;
use casement_lock::{ArtifactSource, FileLocation};
use casement_resource::Sha256;
use reqwest::header::RANGE;
use reqwest::{Client, Response, StatusCode};
use sha2::Digest as _;
use tokio::io::AsyncReadExt as _;

/// Far above the size of any checksum file.
const MAX_TEXT: usize = 256 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const READ_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct ReadError {
    pub location: FileLocation,
    pub reason: String,
}

pub struct LocationReader {
    client: Client,
}

impl LocationReader {
    /// Uses the proxies of the environment.
    pub fn new() -> Result<Self, Problem> {
        // Fails if a provider is installed already, which is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("casement/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .build();
        let client = client.map_err(|error| {
            Problem::new(
                "CAS-LOCK-011",
                "failed to set up HTTPS",
                "install the trusted CA certificates (package ca-certificates)",
            )
            .detail("cause", chain(&error))
        })?;
        Ok(Self { client })
    }

    /// None if the file does not exist.
    async fn get(&self, url: &str) -> Result<Option<Response>, String> {
        let response = self.client.get(url).send().await;
        found(response.map_err(|error| chain(&error))?)
    }

    /// The response from an offset, and its actual offset: servers may ignore the range.
    /// None if the file does not exist.
    pub async fn get_from(
        &self,
        url: &str,
        offset: u64,
    ) -> Result<Option<(Response, u64)>, String> {
        if offset == 0 {
            return Ok(self.get(url).await?.map(|response| (response, 0)));
        }
        let range = format!("bytes={offset}-");
        let response = self.client.get(url).header(RANGE, range).send().await;
        let response = response.map_err(|error| chain(&error))?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => Ok(Some((response, offset))),
            // The partial file is as long as the whole one, or longer.
            StatusCode::RANGE_NOT_SATISFIABLE => {
                Ok(self.get(url).await?.map(|response| (response, 0)))
            }
            _ => Ok(found(response)?.map(|response| (response, 0))),
        }
    }

    async fn http_text(&self, url: &str) -> Result<Option<String>, String> {
        let Some(mut response) = self.get(url).await? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| chain(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_TEXT {
                return Err("too large for a checksum file".to_owned());
            }
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    async fn http_hash(&self, url: &str) -> Result<Option<Sha256>, String> {
        let Some(mut response) = self.get(url).await? else {
            return Ok(None);
        };
        let mut hasher = sha2::Sha256::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| chain(&error))? {
            hasher.update(&chunk);
        }
        Ok(Some(Sha256::from_bytes(hasher.finalize().into())))
    }
}

impl ArtifactSource for LocationReader {
    type Error = ReadError;

    async fn text(&self, location: &FileLocation) -> Result<Option<String>, ReadError> {
        let text = match location {
            FileLocation::Url(url) => self.http_text(url).await,
            FileLocation::File(path) => file_text(path.as_std_path()).await,
        };
        text.map_err(|reason| ReadError {
            location: location.clone(),
            reason,
        })
    }

    async fn hash(&self, location: &FileLocation) -> Result<Option<Sha256>, ReadError> {
        let hash = match location {
            FileLocation::Url(url) => self.http_hash(url).await,
            FileLocation::File(path) => file_hash(path.as_std_path()).await,
        };
        hash.map_err(|reason| ReadError {
            location: location.clone(),
            reason,
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
    let mut limited = file.take(MAX_TEXT as u64 + 1);
    let read = limited.read_to_end(&mut bytes).await;
    match read.map_err(|error| error.to_string())? > MAX_TEXT {
        true => Err("too large for a checksum file".to_owned()),
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

/// None if the file does not exist.
fn found(response: Response) -> Result<Option<Response>, String> {
    match response.status() {
        StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
        status if status.is_success() => Ok(Some(response)),
        status => Err(format!("the server responded with {status}")),
    }
}

/// An error with its sources: reqwest's first message is generic.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}
