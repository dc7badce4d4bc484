//! The service `casement`: carries runs out, outlives the connections that ask
//! for them, and goes on after a restart with what was begun.
//!
//! It speaks the same lines as the controller does, with the channel processes
//! of this host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::backstage::Listener;
use crate::platform::{Level, Platform, Result};
use crate::state::{Layout, journal};

mod connection;
#[path = "serve/repair.rs"]
mod keeper;
mod runs;
mod secrets;

pub use runs::Runs;

/// When the service ends.
#[derive(Debug)]
pub enum Life {
    /// When the service manager says so.
    UntilStopped,
    /// When no run is at work and nobody is connected: the flag is raised then,
    /// and the listener is expected to give up.
    UntilIdle(Arc<AtomicBool>),
}

/// Serves until the listener gives up. Whoever stops the service may end the
/// process at any moment: the next one goes on from the journal.
pub fn serve(
    platform: Arc<dyn Platform>,
    layout: &Layout,
    mut listener: Box<dyn Listener>,
    life: Life,
) -> Result<()> {
    layout.prepare(&*platform)?;
    let runs = Arc::new(Runs::new(platform, layout.clone()));
    resume(&runs, layout)?;
    let (behind, ended) = (Arc::clone(&runs), Arc::new(Ended::default()));
    let _told = Tells(Arc::clone(&ended));
    let by_itself = matches!(life, Life::UntilIdle(_));
    match life {
        Life::UntilIdle(quit) => thread::spawn(move || watch(&behind, &quit)),
        Life::UntilStopped => thread::spawn(move || keeper::keep(&behind, &ended)),
    };
    while let Some(duplex) = listener.accept()? {
        let guest = runs.enter();
        let runs = Arc::clone(&runs);
        thread::spawn(move || {
            connection::serve(&runs, duplex);
            drop(guest);
        });
    }
    // Whoever came in the last moment is served to the end; but one who stops the
    // service may be among them, and waits for that.
    while by_itself && runs.busy() {
        runs.until_changed();
    }
    Ok(())
}

/// Whether the service has ended. Its process ends with it, but a simulated host
/// has none, and must not be kept by a service that is gone.
#[derive(Debug, Default)]
struct Ended(AtomicBool);

/// Says so when the service ends, however it does.
struct Tells(Arc<Ended>);

impl Drop for Tells {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

/// Goes on with the run that was begun last.
fn resume(runs: &Arc<Runs>, layout: &Layout) -> Result<()> {
    if let Some(failure) = journal::damage(layout)? {
        let text = format!("{failure}. {}", failure.remedy);
        runs.platform().notice(Level::Error, &text);
    }
    if let Some(run) = journal::unfinished(layout)? {
        runs.resume(&run)?;
    }
    Ok(())
}

/// Raises the flag when the last one who needed the service has gone; whoever has
/// started it gets a while to come.
fn watch(runs: &Runs, quit: &AtomicBool) {
    const GRACE: Duration = Duration::from_secs(3);
    let started = Instant::now();
    let mut needed = false;
    while !needed && started.elapsed() < GRACE {
        thread::sleep(Duration::from_millis(20));
        needed = runs.busy();
    }
    while runs.busy() {
        runs.until_changed();
    }
    quit.store(true, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::backstage::Backstage as _;
    use crate::sim::{Sim, World, door};

    #[test]
    fn one_who_stops_the_service_need_not_leave_first() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned());
        let (door, listener) = door();
        let (ended, end) = mpsc::channel();
        thread::spawn(move || {
            let host = Arc::new(Sim::new(World::default()));
            let served = serve(host, &layout, Box::new(listener), Life::UntilStopped);
            ended.send(served).unwrap();
        });
        let _guest = door.connect().unwrap();
        door.retire().unwrap();
        let served = end.recv_timeout(Duration::from_secs(20));
        served
            .expect("it ends although somebody is connected")
            .unwrap();
    }
}
