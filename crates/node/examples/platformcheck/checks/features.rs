//! Windows features and reboots.

use casement_resource::WindowsFeatureFacts::{Off, On, OnAfterBoot, Unknown};
use windows_sys::Win32::System::Shutdown::AbortSystemShutdownW;

use super::{Check, Host, Outcome, ensure, equal, ok};

pub const CHECKS: &[Check] = &[
    ("feature without a reboot", without_reboot),
    ("feature with a reboot", with_reboot),
    ("reboot", reboot),
];

fn without_reboot(host: &Host) -> Outcome {
    const NAME: &str = "TelnetClient";
    let features = &host.platform;
    equal(ok(features.windows_feature("platformcheck"))?, Unknown)?;
    equal(ok(features.windows_feature(NAME))?, Off)?;
    for (present, state) in [(true, On), (true, On), (false, Off)] {
        ok(features.set_windows_feature(NAME, present))?;
        equal(ok(features.windows_feature(NAME))?, state)?;
    }
    ensure(
        features
            .set_windows_feature("platformcheck", true)
            .is_err_and(|failure| failure.message.contains("`platformcheck`")),
        "an unknown feature was enabled",
    )
}

fn with_reboot(host: &Host) -> Outcome {
    const NAME: &str = "Microsoft-Hyper-V";
    let features = &host.platform;
    equal(ok(features.pending_reboots())?, Vec::new())?;
    equal(ok(features.windows_feature(NAME))?, Off)?;
    ok(features.set_windows_feature(NAME, true))?;
    equal(ok(features.windows_feature(NAME))?, OnAfterBoot)?;
    // One reason from Windows, and one from casement for DISM's reply.
    equal(ok(features.pending_reboots())?.len(), 2)?;
    ok(features.set_windows_feature(NAME, false))?;
    equal(ok(features.windows_feature(NAME))?, Off)
}

/// Schedules a reboot and cancels it before it starts. Wine accepts both and does
/// nothing.
#[allow(unsafe_code, reason = "cancels a reboot")]
fn reboot(host: &Host) -> Outcome {
    ensure(ok(host.platform.boot())? > 0, "the boot ID is 0")?;
    ok(host.platform.begin_reboot())?;
    // SAFETY: null means the local computer.
    unsafe { AbortSystemShutdownW(std::ptr::null()) };
    Ok(())
}
