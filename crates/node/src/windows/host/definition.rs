//! The definition of the service, and those of its dependencies.

use std::fs;
use std::path::Path;

use casement_resource::{Code, Failure, ServiceDefinition};

use crate::windows::failure::system;

pub fn read(path: &Path) -> Result<ServiceDefinition, Failure> {
    let action = || format!("read `{}`", path.display());
    let text = fs::read_to_string(path).map_err(|error| system(action(), &error))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(
            Code::State,
            format!(
                "`{}` is not a valid service definition: {error}",
                path.display()
            ),
            "run `casement apply` again to rewrite it",
        )
    })
}

/// `None` if the service does not belong to casement.
pub fn sibling(path: &Path, name: &str) -> Result<Option<ServiceDefinition>, Failure> {
    let path = path.with_file_name(format!("{}.json", name.to_ascii_lowercase()));
    if path.exists() {
        read(&path).map(Some)
    } else {
        Ok(None)
    }
}

/// All services of casement; unreadable definitions are skipped.
pub fn siblings(path: &Path) -> Vec<ServiceDefinition> {
    let entries = path.parent().and_then(|dir| fs::read_dir(dir).ok());
    let paths = entries.into_iter().flatten().flatten();
    paths.filter_map(|entry| read(&entry.path()).ok()).collect()
}
