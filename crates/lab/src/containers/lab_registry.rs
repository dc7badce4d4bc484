//! Runs the image registry on the control plane host and creates its certificates.

use std::fs;
use std::path::Path;

use crate::containers::images::Images;
use crate::containers::registry::{self, Certificates, RegistryConfig, RegistryError};
use crate::control_plane::REGISTRY_PORT;
use crate::host::rootfs::inside;
use crate::problem::{self, AtPath, Problem, Result};
use crate::state::paths::recreate;
use crate::state::record::Record;
use crate::wine::windows::WindowsRelease;

const CA: &str = "registry-ca.crt";
const CERTIFICATE: &str = "registry.crt";
const KEY: &str = "registry.key";
/// Optional file with `user:password`. If it exists, the registry requires these
/// credentials.
const CREDENTIALS: &str = "registry-account";

/// Existing certificates are kept.
pub fn write_certificates(record: &Record, lab: &Path) -> Result<()> {
    let shared = lab.join("shared");
    if shared.join(CA).exists() {
        return Ok(());
    }
    let certificates = registry::make_certificates(&[record.control_plane().to_string()])
        .map_err(|error| failed(&record.name, &error))?;
    for (name, text) in [
        (KEY, &certificates.key_pem),
        (CERTIFICATE, &certificates.cert_pem),
        (CA, &certificates.ca_pem),
    ] {
        let path = shared.join(name);
        fs::write(&path, text).at("write", &path)?;
    }
    Ok(())
}

/// Serves until the host is off. `lab` is the name of the lab.
pub fn run(lab: &str) -> Result<()> {
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
        .map_err(|error| problem::internal("create the images of the registry", &error))?;
    let credentials = || {
        let text = fs::read_to_string(Path::new(inside::SHARED).join(CREDENTIALS)).ok()?;
        Some(text.trim_end().to_owned())
    };
    let config = RegistryConfig {
        images,
        credentials: Box::new(credentials),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| problem::internal("start the registry", &error))?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(("0.0.0.0", REGISTRY_PORT))
            .await
            .map_err(|error| problem::port("the registry", REGISTRY_PORT, &error))?;
        registry::serve(listener, &certificates, config)
            .await
            .map_err(|error| failed(lab, &error))
    })
}

fn failed(lab: &str, error: &RegistryError) -> Problem {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    Problem::new("CAS-LAB-043", error.to_string(), recreate(lab))
        .detail("cause", cause.unwrap_or_default())
}
