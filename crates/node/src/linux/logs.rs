//! Logs of services that do not grow for ever.
//!
//! systemd appends to them and keeps them open, so one that is full cannot be moved
//! away: it is copied, and then emptied; what is appended next is at its beginning.
//! A line that is written between the two is lost.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use casement_resource::ServiceDefinition;

use crate::old_logs::{LIMIT, make_room, numbered};
use crate::state::Layout;

/// Between two looks: a program that fills a log faster than this is worse off
/// with its other files.
const EVERY: Duration = Duration::from_secs(5);

/// Looks after the logs of casement's services for as long as the process lives.
pub(super) fn look_after(layout: &Layout) {
    let layout = layout.clone();
    thread::spawn(move || {
        loop {
            // One that cannot be turned over now is tried again.
            let _ = look(&layout, LIMIT);
            thread::sleep(EVERY);
        }
    });
}

fn look(layout: &Layout, limit: u64) -> io::Result<()> {
    let mut outcome = Ok(());
    for entry in fs::read_dir(layout.services())? {
        let bytes = fs::read(entry?.path())?;
        let definition: Option<ServiceDefinition> = serde_json::from_slice(&bytes).ok();
        if let Some(log) = definition.and_then(|definition| definition.log_file) {
            outcome = outcome.and(turn_over(Path::new(log.as_str()), limit));
        }
    }
    outcome
}

fn turn_over(log: &Path, limit: u64) -> io::Result<()> {
    match fs::symlink_metadata(log) {
        // A link is somebody else's.
        Ok(found) if found.is_file() && found.len() > limit => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    make_room(log)?;
    let older = numbered(log, 1);
    if let Err(error) = fs::copy(log, &older) {
        // Half a log says less than none, and takes room.
        let _ = fs::remove_file(&older);
        return Err(error);
    }
    OpenOptions::new().write(true).open(log)?.set_len(0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::engine::documents::service;
    use crate::old_logs::KEPT;
    use casement_resource::{Resource, Run};

    #[test]
    fn a_full_log_is_emptied_under_the_program_that_appends_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned());
        let log = folder.path().join("server.log");
        let Resource::Service(mut service) = service("server", Run::Running, &[], &[]).resource
        else {
            panic!("no service");
        };
        service.definition.log_file = Some(log.to_str().unwrap().parse().unwrap());
        fs::create_dir_all(layout.services()).unwrap();
        let json = serde_json::to_vec(&service.definition).unwrap();
        fs::write(layout.service_file("server").unwrap(), json).unwrap();

        // As systemd opens it.
        let mut open = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        look(&layout, 10).unwrap();
        for number in 0..8 {
            writeln!(open, "line {number} of the log").unwrap();
            look(&layout, 10).unwrap();
        }
        assert_eq!(fs::read_to_string(&log).unwrap(), "");
        let older = |number| fs::read_to_string(numbered(&log, number)).ok();
        assert_eq!(older(1).as_deref(), Some("line 7 of the log\n"));
        assert_eq!(older(KEPT).as_deref(), Some("line 3 of the log\n"));
        assert_eq!(older(KEPT + 1), None);
        write!(open, "short").unwrap();
        look(&layout, 10).unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "short");
    }
}
