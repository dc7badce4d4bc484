//! Times, for people.

use std::time::Duration;

use jiff::Timestamp;

/// A line with the time first, on standard error.
pub fn line(text: &str) {
    eprintln!("{} {text}", Timestamp::now().strftime("%H:%M:%S"));
}

/// `0:52`, or `0.4 s` where that says more.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 10 {
        return format!("{:.1} s", time.as_secs_f64());
    }
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
