//! `casement lab down`: nothing of a lab is left but the build cache.

use std::fs;
use std::path::Path;

use crate::check;
use crate::host::capsule;
use crate::network;
use crate::problem::{AtPath, Result};
use crate::state::lock::Lock;
use crate::state::places::{LabName, Places};
use crate::state::record::Record;

/// Takes a lab away; `false` where there was none.
pub fn down(places: &Places, name: &LabName) -> Result<bool> {
    let lab = places.lab(name);
    if !lab.exists() {
        return Ok(false);
    }
    check::root()?;
    let lock = Lock::take(&lab, "this lab")?;
    capsule::stop_all(&lab)?;
    // A record that cannot be read was never acted upon.
    if let Ok(Some(record)) = Record::load(&lab) {
        network::lower(&record, &lab)?;
    }
    fs::remove_dir_all(&lab).at("remove", &lab)?;
    drop(lock);
    remove_empty(places.labs());
    Ok(true)
}

/// The folders above, if this was the last lab and nothing else is there.
fn remove_empty(labs: &Path) {
    for folder in [Some(labs), labs.parent()].into_iter().flatten() {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
