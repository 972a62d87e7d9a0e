//! Times on the command line and on the screen. All of them are UTC.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::clock;

/// A time as it is given on the command line: RFC 3339, a day, or how long ago (`90s`, `30m`, `2h`, `3d`, `1w`).
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    let wrong = || {
        format!(
            "`{text}` is not a time: use 2026-11-15T10:00:00Z, 2026-11-15, or a duration ago such as 2h or 3d"
        )
    };
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    if let Ok(time) = format!("{text}T00:00:00Z").parse() {
        return Ok(time);
    }
    let ago = seconds(text).map(SignedDuration::from_secs).ok_or_else(wrong)?;
    clock::now().checked_sub(ago).map_err(|_| wrong())
}

/// How long something lasts, as it is given on the command line: `90s`, `30m`, `2h`, `3d`, `1w`.
pub(crate) fn parse_span(text: &str) -> Result<Duration, String> {
    let found = seconds(text).and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0);
    let found = found.filter(|seconds| *seconds <= MAX_SPAN_S);
    found.map(Duration::from_secs).ok_or_else(|| format!("`{text}` is not a time span: use 30m, 2h or 3d"))
}

/// The longest span that can be given: ten years.
const MAX_SPAN_S: u64 = 10 * 366 * 86_400;

fn seconds(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let number: i64 = number.parse().ok()?;
    let seconds = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    number.checked_mul(seconds)
}

/// How long, as it is given on the command line: `500ms`, `90s`, `15m`, `2h`. A bare number is in seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration: use 500ms, 90s, 15m or 2h");
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => return Ok(Duration::from_millis(number)),
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// How long it is until a time, or since it, in its two largest units.
pub(crate) fn span_between(one: Timestamp, other: Timestamp) -> String {
    // To the nearest second, so that a quarter of an hour that has just begun is 15 minutes.
    let seconds = (other.duration_since(one).abs().as_millis().saturating_add(500) / 1_000).unsigned_abs();
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let shown: Vec<String> = parts
        .iter()
        .skip_while(|(number, _)| *number == 0)
        .take(2)
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number} {unit}"))
        .collect();
    if shown.is_empty() { "0 s".to_owned() } else { shown.join(" ") }
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

/// A duration in its nearest unit.
pub(crate) fn micros(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_told_in_their_units() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(
            (parse_duration("7"), parse_duration("2h")),
            (Ok(Duration::from_secs(7)), Ok(Duration::from_secs(7_200)))
        );
        for wrong in ["", "s", "-1s", "1.5s", "3 s", "1y", "99999999999999999999s", "9999999999999999999h"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
        let then =
            |seconds: i64| span_between(Timestamp::UNIX_EPOCH, Timestamp::from_second(seconds).unwrap());
        assert_eq!([then(0), then(59), then(60), then(872)], ["0 s", "59 s", "1 min", "14 min 32 s"]);
        assert_eq!([then(86_400), then(-3_700), then(90_061)], ["1 d", "1 h 1 min", "1 d 1 h"]);
    }

    #[test]
    fn times_are_absolute_or_ago() {
        assert_eq!(date_time(parse("2026-11-15T10:00:00+02:00").unwrap()), "2026-11-15 08:00:00Z");
        assert_eq!(date_time(parse("2026-11-15").unwrap()), "2026-11-15 00:00:00Z");
        let then = parse("2h").unwrap();
        let ago = Timestamp::now().duration_since(then).as_secs();
        assert!((7_200..7_205).contains(&ago), "{ago}");
        for wrong in ["", "h", "2", "2y", "-2h", "99999999999999999999d", "999999999999w", "2026-13-01", "é"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_are_longer_than_nothing() {
        assert_eq!(parse_span("30m").unwrap().as_secs(), 1_800);
        for wrong in ["", "0s", "30", "-1h", "m", "9999999999w", "1 h"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
    }
}
