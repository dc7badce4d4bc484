//! The service's definition, and those of the services that it needs.

use std::fs;
use std::path::Path;

use casement_resource::{Code, Failure, ServiceDefinition};

use crate::windows::failure::system;

/// Reads a definition that the agent has written.
pub fn read(path: &Path) -> Result<ServiceDefinition, Failure> {
    let doing = || format!("read `{}`", path.display());
    let text = fs::read_to_string(path).map_err(|error| system(doing(), &error))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(
            Code::State,
            format!("`{}` is no service definition: {error}", path.display()),
            "apply again: it is written anew",
        )
    })
}

/// The definition of another service of ours; none if it is not ours.
pub fn neighbour(path: &Path, name: &str) -> Result<Option<ServiceDefinition>, Failure> {
    let path = path.with_file_name(format!("{}.json", name.to_ascii_lowercase()));
    if path.exists() {
        read(&path).map(Some)
    } else {
        Ok(None)
    }
}

/// The definitions of all services of ours; one that cannot be read is left out.
pub fn all_beside(path: &Path) -> Vec<ServiceDefinition> {
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    let paths = entries.into_iter().flatten().flatten();
    paths.filter_map(|entry| read(&entry.path()).ok()).collect()
}
