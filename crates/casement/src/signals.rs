//! Ctrl-C, the first and the second.

use casement_run::stop::{Stop, StopSwitch};

use crate::progress::Progress;

/// The exit code of who was interrupted.
pub const INTERRUPTED: u8 = 130;

/// From now on the first Ctrl-C lets the hosts finish what they are at; the second
/// ends this program at once. Hosts come to no harm either way.
pub fn heed(again: &'static str, progress: &Progress) -> Stop {
    let progress = progress.clone();
    let (switch, stop) = StopSwitch::new();
    tokio::spawn(async move {
        // Where nobody can press it, nobody will.
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        progress.announce(&format!(
            "Stopping after the current step … (Ctrl-C again to leave at once)\n\
             `casement {again}` goes on from here."
        ));
        switch.stop();
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
    stop
}
