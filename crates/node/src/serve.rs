//! The service `casement`: executes runs, outlives the connections that request
//! them, and resumes an interrupted run after a restart.
//!
//! It uses the same line protocol with the channel processes of this host as the
//! controller does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::platform::{Level, Platform, Result};
use crate::service_client::Listener;
use crate::state::{Layout, journal};

mod connection;
mod repair;
mod runs;
mod secrets;

pub use runs::Runs;

#[derive(Debug)]
pub enum Lifetime {
    UntilStopped,
    /// Ends when no run is active and nobody is connected: the flag is set then, and
    /// the listener is expected to stop.
    UntilIdle(Arc<AtomicBool>),
}

/// Serves until the listener stops. The process may be killed at any time; the next
/// one resumes from the journal.
pub fn serve(
    platform: Arc<dyn Platform>,
    layout: &Layout,
    mut listener: Box<dyn Listener>,
    lifetime: Lifetime,
) -> Result<()> {
    layout.prepare(&*platform)?;
    let runs = Arc::new(Runs::new(platform, layout.clone()));
    resume(&runs, layout)?;
    let (background, stopped) = (Arc::clone(&runs), Arc::new(Stopped::default()));
    let _guard = SetOnDrop(Arc::clone(&stopped));
    let until_idle = matches!(lifetime, Lifetime::UntilIdle(_));
    match lifetime {
        Lifetime::UntilIdle(quit) => thread::spawn(move || watch(&background, &quit)),
        Lifetime::UntilStopped => thread::spawn(move || repair::run_loop(&background, &stopped)),
    };
    while let Some(duplex) = listener.accept()? {
        let connection = runs.connect();
        let runs = Arc::clone(&runs);
        thread::spawn(move || {
            connection::serve(&runs, duplex);
            drop(connection);
        });
    }
    // Finish connections that were accepted last. A stopped service does not wait:
    // the client that stops it may be connected and wait for that.
    while until_idle && runs.busy() {
        runs.wait_for_change();
    }
    Ok(())
}

/// Set when the service has stopped. The process of a real service exits, but the
/// repair thread of a simulated host would go on.
#[derive(Debug, Default)]
struct Stopped(AtomicBool);

struct SetOnDrop(Arc<Stopped>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

/// Resumes the last unfinished run.
fn resume(runs: &Arc<Runs>, layout: &Layout) -> Result<()> {
    if let Some(failure) = journal::damage(layout)? {
        let text = format!("{failure}. {}", failure.help);
        runs.platform().notice(Level::Error, &text);
    }
    if let Some(run) = journal::unfinished(layout)? {
        runs.resume(&run)?;
    }
    Ok(())
}

/// Sets the flag when the service is idle; the client that started it gets some time
/// to connect.
fn watch(runs: &Runs, quit: &AtomicBool) {
    const GRACE: Duration = Duration::from_secs(3);
    let started = Instant::now();
    let mut needed = false;
    while !needed && started.elapsed() < GRACE {
        thread::sleep(Duration::from_millis(20));
        needed = runs.busy();
    }
    while runs.busy() {
        runs.wait_for_change();
    }
    quit.store(true, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::service_client::ServiceClient as _;
    use crate::sim::{Sim, World, sim_service};

    #[test]
    fn service_stops_while_a_client_is_connected() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().to_owned());
        let (sim_service, listener) = sim_service();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let host = Arc::new(Sim::new(World::default()));
            let served = serve(host, &layout, Box::new(listener), Lifetime::UntilStopped);
            sender.send(served).unwrap();
        });
        let _connection = sim_service.connect().unwrap();
        sim_service.retire().unwrap();
        let served = receiver.recv_timeout(Duration::from_secs(20));
        served
            .expect("stops although a client is connected")
            .unwrap();
    }
}
