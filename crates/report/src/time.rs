//! Times, for people.

/// `0:52`, or `0.4 s` where that says more.
pub fn words(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    if seconds < 10 {
        return format!("{seconds}.{} s", milliseconds % 1000 / 100);
    }
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn short_times_have_a_fraction_and_long_ones_minutes() {
        assert_eq!(words(430), "0.4 s");
        assert_eq!(words(9_999), "9.9 s");
        assert_eq!(words(61_000), "1:01");
    }
}
