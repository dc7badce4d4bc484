//! The event log: where the people who run Windows look first.
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

/// Who speaks.
const SOURCE: &str = "casement";
const KEY: &str = r"SYSTEM\CurrentControlSet\Services\EventLog\Application\casement";
/// A program of Windows' whose messages 1 to 1000 are just the text that is given.
const MESSAGES: &str = r"%SystemRoot%\System32\EventCreate.exe";
const PLAIN: u32 = 1;

/// Makes the source known, so that the viewer shows the text and nothing else.
pub fn register() -> Result<(), Failure> {
    let file = RegistryData::ExpandText(MESSAGES.to_owned());
    registry::write(KEY, "EventMessageFile", &file)?;
    registry::write(KEY, "TypesSupported", &RegistryData::Number(7))
}

/// Takes the source away again.
pub fn unregister() -> Result<(), Failure> {
    for name in ["EventMessageFile", "TypesSupported"] {
        registry::delete(KEY, name)?;
    }
    registry::delete_if_empty(KEY).map(drop)
}

/// Writes an entry; whether anybody keeps it is not looked at.
pub fn write(level: Level, text: &str) {
    let kind = match level {
        Level::Information => EVENTLOG_INFORMATION_TYPE,
        Level::Warning => EVENTLOG_WARNING_TYPE,
        Level::Error => EVENTLOG_ERROR_TYPE,
    };
    let (source, text) = (wide(SOURCE), wide(text));
    let strings = [text.as_ptr()];
    // SAFETY: terminated texts; one string is announced and given; no data, and
    // nobody's account; a source that was opened is closed.
    unsafe {
        let log = RegisterEventSourceW(ptr::null(), source.as_ptr());
        if !log.is_null() {
            ReportEventW(
                log,
                kind,
                0,
                PLAIN,
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
