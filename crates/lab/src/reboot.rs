//! `casement lab reboot`: power off, power on; non-persistent state is lost.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::check;
use crate::host::instance;
use crate::host::linux_host;
use crate::host::windows_host;
use crate::problem::Result;
use crate::progress::LabProgress;
use crate::state::lock::Lock;
use crate::state::record::{HostKind, Record};
use crate::up;

/// A lab host restarts in two seconds, too fast for the control plane to notice. A
/// real host takes longer than the 20 s after which a node becomes NotReady.
const DEFAULT_OFF: Duration = Duration::from_secs(25);

/// Restarts one host and waits until it is ready. `off` is the time that it stays
/// off; by default long enough for a control plane to notice.
pub fn reboot(
    lab: &Path,
    record: &mut Record,
    host: &str,
    off: Option<Duration>,
    progress: &LabProgress,
) -> Result<()> {
    check::root()?;
    let kind = record.host(host)?.kind;
    let _lock = Lock::take(lab, "this lab")?;
    if let (HostKind::Windows(_), Some(instance)) = (kind, instance::find(lab, host)) {
        windows_host::shut_down(&instance);
    }
    instance::stop(lab, host)?;
    let is_node = record.has_control_plane() && kind != HostKind::ControlPlane;
    let off = off.unwrap_or(if is_node { DEFAULT_OFF } else { Duration::ZERO });
    if !off.is_zero() {
        let what = format!("{host} powered off");
        let note = format!("for {} s, so that the cluster notices", off.as_secs());
        progress.step(&what, &note, || {
            thread::sleep(off);
            Ok(())
        })?;
    }
    up::start_host(&lab.join("bin/casement"), lab, record, host)?;
    up::wait_ready(lab, record, &[host.to_owned()], progress)?;
    if kind == HostKind::Linux && record.has_control_plane() {
        linux_host::set_up_pod_network(lab, record)?;
    }
    Ok(())
}
