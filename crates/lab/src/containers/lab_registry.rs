//! The lab's registry on its host: certificates before, the process inside.

use std::fs;
use std::path::Path;

use crate::containers::images::Images;
use crate::containers::registry::{self, Certificates, RegistryError, Stock};
use crate::control_plane::REGISTRY_PORT;
use crate::host::furnish::inside;
use crate::problem::{self, AtPath, Problem, Result};
use crate::state::record::Record;
use crate::wine::windows::WindowsRelease;

const CA: &str = "registry-ca.crt";
const CERTIFICATE: &str = "registry.crt";
const KEY: &str = "registry.key";
/// `user:password`, where somebody has put it: nobody else gets an image then.
const ACCOUNT: &str = "registry-account";

/// Makes the certificates of a lab's registry; existing ones stay.
pub fn write_certificates(record: &Record, lab: &Path) -> Result<()> {
    let shared = lab.join("shared");
    if shared.join(CA).exists() {
        return Ok(());
    }
    let made = registry::make_certificates(&[record.control_plane().to_string()]).map_err(told)?;
    for (name, text) in [
        (KEY, &made.key_pem),
        (CERTIFICATE, &made.cert_pem),
        (CA, &made.ca_pem),
    ] {
        let path = shared.join(name);
        fs::write(&path, text).at("write", &path)?;
    }
    Ok(())
}

/// Serves the lab's images until the host is off.
pub fn run() -> Result<()> {
    let shared = Path::new(inside::SHARED);
    let read = |name: &str| {
        let path = shared.join(name);
        fs::read_to_string(&path).at("read", &path)
    };
    let certificates = Certificates {
        ca_pem: read(CA)?,
        cert_pem: read(CERTIFICATE)?,
        key_pem: read(KEY)?,
    };
    let versions = WindowsRelease::ALL.map(WindowsRelease::version);
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    let images = Images::new(&versions)
        .map_err(|error| problem::file("make", Path::new("images"), &error.into()))?;
    let account = || {
        let text = fs::read_to_string(Path::new(inside::SHARED).join(ACCOUNT)).ok()?;
        Some(text.trim_end().to_owned())
    };
    let stock = Stock {
        images,
        account: Box::new(account),
    };
    let place = Path::new("the registry's port");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .at("start", place)?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(("0.0.0.0", REGISTRY_PORT))
            .await
            .at("open", place)?;
        registry::serve(listener, &certificates, stock)
            .await
            .map_err(told)
    })
}

fn told(error: RegistryError) -> Problem {
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    Problem::new(
        "CAS-LAB-043",
        error.to_string(),
        "casement lab down, and up again",
    )
    .seen("it says", cause.unwrap_or_default())
}
