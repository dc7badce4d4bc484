//! Formats durations.

/// `0:52`, or `0.4 s` below ten seconds.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    if seconds < 10 {
        return format!("{seconds}.{} s", milliseconds % 1000 / 100);
    }
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn short_durations_have_a_fraction_and_long_ones_minutes() {
        assert_eq!(duration(430), "0.4 s");
        assert_eq!(duration(9_999), "9.9 s");
        assert_eq!(duration(61_000), "1:01");
    }
}
