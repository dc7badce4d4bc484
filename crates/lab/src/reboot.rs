//! `casement lab reboot`: power off, power on; what is not persistent is gone.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::check;
use crate::host::capsule;
use crate::host::linux_host;
use crate::host::windows_host;
use crate::problem::Result;
use crate::progress::Progress;
use crate::state::lock::Lock;
use crate::state::record::{HostKind, Record};
use crate::up;

/// A lab host starts in two seconds, which a control plane does not even notice.
/// Real ones take longer than its patience; so do these, unless told otherwise.
const OFF: Duration = Duration::from_secs(25);

/// Restarts one host and waits until it answers again; `off` is how long it is
/// off, by default as long as a control plane needs to see it.
pub fn reboot(
    lab: &Path,
    record: &mut Record,
    host: &str,
    off: Option<Duration>,
    progress: &Progress,
) -> Result<()> {
    check::root()?;
    let kind = record.host(host)?.kind;
    let _lock = Lock::take(lab, "this lab")?;
    if let (HostKind::Windows(_), Some(capsule)) = (kind, capsule::find(lab, host)) {
        windows_host::shut_down(&capsule);
    }
    capsule::stop(lab, host)?;
    let watched = record.has_control_plane() && kind != HostKind::ControlPlane;
    let off = off.unwrap_or(if watched { OFF } else { Duration::ZERO });
    if !off.is_zero() {
        let what = format!("{host} is off");
        let note = format!("for {} s, so that the cluster sees it", off.as_secs());
        progress.step(&what, &note, || {
            thread::sleep(off);
            Ok(())
        })?;
    }
    up::switch_on(&lab.join("bin/casement"), lab, record, host)?;
    up::wait_ready(lab, record, &[host.to_owned()], progress)?;
    if kind == HostKind::Linux && record.has_control_plane() {
        linux_host::give_pod_network(lab, record)?;
    }
    Ok(())
}
