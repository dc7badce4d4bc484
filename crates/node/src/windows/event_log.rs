//! The Windows event log.
#![allow(unsafe_code, reason = "the event log of the Windows API")]

use std::ptr;

use casement_resource::{Failure, RegistryData};
use windows_sys::Win32::System::EventLog::{
    DeregisterEventSource, EVENTLOG_ERROR_TYPE, EVENTLOG_INFORMATION_TYPE, EVENTLOG_WARNING_TYPE,
    RegisterEventSourceW, ReportEventW,
};

use super::registry;
use super::wide::wide;
use crate::platform::Level;

const SOURCE: &str = "casement";
const KEY: &str = r"SYSTEM\CurrentControlSet\Services\EventLog\Application\casement";
/// A program of Windows whose messages 1 to 1000 consist of the given text only.
const MESSAGE_FILE: &str = r"%SystemRoot%\System32\EventCreate.exe";
const PLAIN_TEXT_MESSAGE: u32 = 1;

/// Registers the source, so that Event Viewer shows just the text.
pub fn register() -> Result<(), Failure> {
    let file = RegistryData::ExpandText(MESSAGE_FILE.to_owned());
    registry::write(KEY, "EventMessageFile", &file)?;
    registry::write(KEY, "TypesSupported", &RegistryData::Number(7))
}

pub fn unregister() -> Result<(), Failure> {
    for name in ["EventMessageFile", "TypesSupported"] {
        registry::delete(KEY, name)?;
    }
    registry::delete_if_empty(KEY).map(drop)
}

/// Failures are ignored.
pub fn write(level: Level, text: &str) {
    let kind = match level {
        Level::Information => EVENTLOG_INFORMATION_TYPE,
        Level::Warning => EVENTLOG_WARNING_TYPE,
        Level::Error => EVENTLOG_ERROR_TYPE,
    };
    let (source, text) = (wide(SOURCE), wide(text));
    let strings = [text.as_ptr()];
    // SAFETY: NUL-terminated texts; the count matches the one string; no data and
    // no SID; an opened source is closed.
    unsafe {
        let log = RegisterEventSourceW(ptr::null(), source.as_ptr());
        if !log.is_null() {
            ReportEventW(
                log,
                kind,
                0,
                PLAIN_TEXT_MESSAGE,
                ptr::null_mut(),
                1,
                0,
                strings.as_ptr(),
                ptr::null(),
            );
            DeregisterEventSource(log);
        }
    }
}
