//! Log rotation for services.
//!
//! systemd appends to a log and keeps it open, so that a full log cannot be renamed: it
//! is copied and then truncated. A line that is written between the two is lost.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use casement_resource::ServiceDefinition;

use crate::log_rotation::{MAX_BYTES, rotated_path, shift_rotated};
use crate::state::Layout;

/// A program that fills a log faster than this has worse problems.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Rotates the logs of casement's services for as long as the process lives.
pub(super) fn rotate_in_background(layout: &Layout) {
    let layout = layout.clone();
    thread::spawn(move || {
        loop {
            // Failures are retried.
            let _ = rotate_all(&layout, MAX_BYTES);
            thread::sleep(CHECK_INTERVAL);
        }
    });
}

fn rotate_all(layout: &Layout, limit: u64) -> io::Result<()> {
    let mut outcome = Ok(());
    for entry in fs::read_dir(layout.services())? {
        let bytes = fs::read(entry?.path())?;
        let definition: Option<ServiceDefinition> = serde_json::from_slice(&bytes).ok();
        if let Some(log) = definition.and_then(|definition| definition.log_file) {
            outcome = outcome.and(rotate(Path::new(log.as_str()), limit));
        }
    }
    outcome
}

fn rotate(log: &Path, limit: u64) -> io::Result<()> {
    match fs::symlink_metadata(log) {
        // A symlink is not casement's.
        Ok(found) if found.is_file() && found.len() > limit => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    shift_rotated(log)?;
    let rotated = rotated_path(log, 1);
    if let Err(error) = fs::copy(log, &rotated) {
        // A partial copy only takes up space.
        let _ = fs::remove_file(&rotated);
        return Err(error);
    }
    OpenOptions::new().write(true).open(log)?.set_len(0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::engine::documents::service;
    use crate::log_rotation::KEEP;
    use casement_resource::{Resource, Run};

    #[test]
    fn full_log_is_rotated_while_the_program_appends() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().to_owned());
        let log = dir.path().join("server.log");
        let Resource::Service(mut service) = service("server", Run::Running, &[], &[]).resource
        else {
            panic!("no service");
        };
        service.definition.log_file = Some(log.to_str().unwrap().parse().unwrap());
        fs::create_dir_all(layout.services()).unwrap();
        let json = serde_json::to_vec(&service.definition).unwrap();
        fs::write(layout.service_file("server").unwrap(), json).unwrap();

        // Opened like systemd does.
        let mut open = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        rotate_all(&layout, 10).unwrap();
        for number in 0..8 {
            writeln!(open, "line {number} of the log").unwrap();
            rotate_all(&layout, 10).unwrap();
        }
        assert_eq!(fs::read_to_string(&log).unwrap(), "");
        let rotated = |number| fs::read_to_string(rotated_path(&log, number)).ok();
        assert_eq!(rotated(1).as_deref(), Some("line 7 of the log\n"));
        assert_eq!(rotated(KEEP).as_deref(), Some("line 3 of the log\n"));
        assert_eq!(rotated(KEEP + 1), None);
        write!(open, "short").unwrap();
        rotate_all(&layout, 10).unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "short");
    }
}
