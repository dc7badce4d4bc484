//! Features of Windows, and reboots.

use casement_resource::WindowsFeatureFacts::{Off, On, OnAfterBoot, Unknown};
use windows_sys::Win32::System::Shutdown::AbortSystemShutdownW;

use super::{Check, Host, Outcome, did, equal, so};

pub const CHECKS: &[Check] = &[
    ("feature without a reboot", at_once),
    ("feature with a reboot", after_boot),
    ("reboot", reboot),
];

fn at_once(host: &Host) -> Outcome {
    const NAME: &str = "TelnetClient";
    let features = &host.platform;
    equal(did(features.windows_feature("platformcheck"))?, Unknown)?;
    equal(did(features.windows_feature(NAME))?, Off)?;
    for (present, state) in [(true, On), (true, On), (false, Off)] {
        did(features.set_windows_feature(NAME, present))?;
        equal(did(features.windows_feature(NAME))?, state)?;
    }
    so(
        features
            .set_windows_feature("platformcheck", true)
            .is_err_and(|failure| failure.what.contains("`platformcheck`")),
        "an unknown feature was switched on",
    )
}

fn after_boot(host: &Host) -> Outcome {
    const NAME: &str = "Microsoft-Hyper-V";
    let features = &host.platform;
    equal(did(features.waiting_for_reboot())?, Vec::new())?;
    equal(did(features.windows_feature(NAME))?, Off)?;
    did(features.set_windows_feature(NAME, true))?;
    equal(did(features.windows_feature(NAME))?, OnAfterBoot)?;
    // Windows' own sign, and casement's for what Windows answered.
    equal(did(features.waiting_for_reboot())?.len(), 2)?;
    did(features.set_windows_feature(NAME, false))?;
    equal(did(features.windows_feature(NAME))?, Off)
}

/// Orders a reboot, and takes the order back within its notice. Wine says yes
/// to both, and does nothing.
#[allow(unsafe_code, reason = "takes a reboot back")]
fn reboot(host: &Host) -> Outcome {
    so(did(host.platform.boot())? > 0, "the boot has no number")?;
    did(host.platform.begin_reboot())?;
    // SAFETY: this machine.
    unsafe { AbortSystemShutdownW(std::ptr::null()) };
    Ok(())
}
