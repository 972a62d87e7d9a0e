//! Times on the command line and in output. All times are UTC.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::clock;
use crate::error::InvalidValue;

/// Parses a time: RFC 3339, a day, or a duration ago (`90s`, `30m`, `2h`, `3d`, `1w`).
pub(crate) fn parse(text: &str) -> Result<Timestamp, InvalidValue> {
    let absolute = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse());
    let ago = || clock::now().checked_sub(SignedDuration::try_from(duration(text, DAYS)?).ok()?).ok();
    absolute.ok().or_else(ago).ok_or_else(|| {
        InvalidValue(format!(
            "`{text}` is not a time: use 2026-11-15T10:00:00Z, 2026-11-15, or a duration ago such as 2h or 3d"
        ))
    })
}

/// The longest time span: ten years.
const MAX_SPAN: Duration = Duration::from_secs(10 * 366 * 86_400);

/// Parses a time span: `90s`, `30m`, `2h`, `3d`, `1w`.
pub(crate) fn parse_span(text: &str) -> Result<Duration, InvalidValue> {
    let found = duration(text, DAYS).filter(|found| !found.is_zero() && *found <= MAX_SPAN);
    found.ok_or_else(|| InvalidValue(format!("`{text}` is not a time span: use 30m, 2h or 3d")))
}

/// Parses a timeout: `500ms`, `90s`, `15m`, `2h`. A bare number is in seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, InvalidValue> {
    let found =
        duration(text, &[("ms", 1), ("", 1_000), ("s", 1_000), ("m", MINUTE), ("min", MINUTE), ("h", HOUR)]);
    found.ok_or_else(|| InvalidValue(format!("`{text}` is not a duration: use 500ms, 90s, 15m or 2h")))
}

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAYS: &[(&str, u64)] =
    &[("s", 1_000), ("m", MINUTE), ("min", MINUTE), ("h", HOUR), ("d", 24 * HOUR), ("w", 7 * 24 * HOUR)];

/// A number with one of the units, which are given in milliseconds.
fn duration(text: &str, units: &[(&str, u64)]) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let (_, millis) = units.iter().find(|(word, _)| *word == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*millis).map(Duration::from_millis)
}

/// The day and the time of day.
pub(crate) fn date_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// The day.
pub(crate) fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// The time of day.
pub(crate) fn time_of_day(time: Timestamp) -> String {
    time.strftime("%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, millis) in [("90s", 90_000), ("250ms", 250), ("7", 7_000), ("2h", 7_200_000)] {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(millis));
        }
        for wrong in ["", "s", "-1s", "1.5s", "3 s", "1y", "99999999999999999999s", "9999999999999999999h"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_absolute_or_ago() {
        assert_eq!(date_time(parse("2026-11-15T10:00:00+02:00").unwrap()), "2026-11-15 08:00:00Z");
        assert_eq!(date_time(parse("2026-11-15").unwrap()), "2026-11-15 00:00:00Z");
        let then = parse("2h").unwrap();
        let ago = clock::now().duration_since(then).as_secs();
        assert!((7_200..7_205).contains(&ago), "{ago}");
        for wrong in ["", "h", "2", "2y", "-2h", "99999999999999999999d", "999999999999w", "2026-13-01", "é"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn empty_spans_are_rejected() {
        assert_eq!(parse_span("30m").unwrap().as_secs(), 1_800);
        for wrong in ["", "0s", "30", "-1h", "m", "9999999999w", "1 h"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
    }
}
