//! `casement lab down`: removes everything but the build cache.

use std::fs;
use std::path::Path;

use crate::check;
use crate::host::instance;
use crate::network;
use crate::problem::{AtPath, Result};
use crate::state::lock::Lock;
use crate::state::paths::{LabName, LabPaths};

/// Returns `false` if there is no such lab.
pub fn down(paths: &LabPaths, name: &LabName) -> Result<bool> {
    let lab = paths.lab(name);
    if !lab.exists() {
        return Ok(false);
    }
    check::root()?;
    let lock = Lock::take(&lab, "this lab")?;
    instance::stop_all(&lab)?;
    network::tear_down(&lab)?;
    fs::remove_dir_all(&lab).at("remove", &lab)?;
    drop(lock);
    remove_empty(paths.labs());
    Ok(true)
}

/// Removes the parent directories after the last lab, if they are empty.
fn remove_empty(labs: &Path) {
    for dir in [Some(labs), labs.parent()].into_iter().flatten() {
        if fs::remove_dir(dir).is_err() {
            return;
        }
    }
}
