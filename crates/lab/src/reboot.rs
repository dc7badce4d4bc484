//! `casement lab reboot`: power off, power on; what is not persistent is gone.

use std::path::Path;

use crate::lock::Lock;
use crate::problem::Result;
use crate::progress::Progress;
use crate::record::{HostKind, Record};
use crate::{capsule, check, linux_host, up, windows_host};

/// Restarts one host and waits until it answers again.
pub fn reboot(lab: &Path, record: &mut Record, host: &str, progress: &Progress) -> Result<()> {
    check::root()?;
    let kind = record.host(host)?.kind;
    let _lock = Lock::take(lab, "this lab")?;
    if let (HostKind::Windows(_), Some(capsule)) = (kind, capsule::find(lab, host)) {
        windows_host::shut_down(&capsule);
    }
    up::switch_on(&lab.join("bin/casement"), lab, record, host)?;
    up::wait_ready(lab, record, host, progress)?;
    if kind == HostKind::Linux && record.has_control_plane() {
        linux_host::give_pod_network(lab, record)?;
    }
    Ok(())
}
