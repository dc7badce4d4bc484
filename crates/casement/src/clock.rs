//! Times and durations for display.

use std::time::Duration;

use jiff::Timestamp;

/// The time of day in UTC.
pub fn now() -> String {
    Timestamp::now().strftime("%H:%M:%S").to_string()
}

/// The current time as a file name that sorts by time and is valid on every system.
pub fn stamp() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

/// `0:52`, or `0.4 s` below ten seconds.
pub fn duration(time: Duration) -> String {
    if time.as_secs() < 10 {
        return format!("{:.1} s", time.as_secs_f64());
    }
    minutes(time)
}

/// For documents: in whole milliseconds, so that it reads as it was written.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
pub fn seconds(time: Duration) -> f64 {
    time.as_millis() as f64 / 1000.0
}

/// `0:52`.
pub fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
