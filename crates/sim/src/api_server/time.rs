//! Timestamps in Kubernetes format, and ages.

use jiff::Timestamp;
use jiff::fmt::strtime;

/// The current time with seconds precision.
pub(crate) fn now() -> String {
    format_seconds(Timestamp::now())
}

/// The current time with microseconds, as in a Lease.
pub(crate) fn now_with_micros() -> String {
    let now = Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

pub(crate) fn seconds_since(text: &str) -> Option<i64> {
    let time = parse(text)?;
    Some(Timestamp::now().duration_since(time).as_secs())
}

pub(super) fn format_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let parsed = strtime::parse("%Y-%m-%dT%H:%M:%S%.fZ", text).ok()?;
    parsed
        .to_datetime()
        .ok()?
        .to_zoned(jiff::tz::TimeZone::UTC)
        .ok()
        .map(|zoned| zoned.timestamp())
}

/// `5m12s`, as kubectl shows ages: a second unit only for small values.
pub(super) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two_units = |large: i64, unit: char, small: i64, part: char| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{part}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two_units(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two_units(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two_units(days, 'd', hours % 24, 'h'),
        () if days < 730 => format!("{days}d"),
        () => two_units(days / 365, 'y', days % 365, 'd'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ages_have_two_units() {
        let start = Timestamp::UNIX_EPOCH;
        for (seconds, expected) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (312, "5m12s"),
            (1200, "20m"),
            (4 * 3600 + 60, "4h1m"),
            (30 * 3600, "30h"),
            (3 * 86_400 + 3600, "3d1h"),
            (100 * 86_400, "100d"),
        ] {
            let then = Timestamp::from_second(seconds).unwrap();
            assert_eq!(age(start, then), expected);
        }
    }

    #[test]
    fn times_are_parsed_with_and_without_fractions() {
        let plain = parse("2026-01-02T03:04:05Z").unwrap();
        assert_eq!(format_seconds(plain), "2026-01-02T03:04:05Z");
        assert!(parse("2026-01-02T03:04:05.000123Z").unwrap() > plain);
        assert_eq!(parse("yesterday"), None);
    }
}
