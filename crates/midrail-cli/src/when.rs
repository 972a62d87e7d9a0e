//! Times on the command line and on the screen. All of them are UTC.

use jiff::{SignedDuration, Timestamp};

/// A time as it is given on the command line: RFC 3339, a day, or how long ago (`90s`, `30m`, `2h`, `3d`, `1w`).
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    let wrong = || {
        format!(
            "`{text}` is no time: write 2026-11-15T10:00:00Z, 2026-11-15, or how long ago, such as 2h or 3d"
        )
    };
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    if let Ok(time) = format!("{text}T00:00:00Z").parse() {
        return Ok(time);
    }
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(wrong()),
    };
    let ago = number.checked_mul(seconds).map(SignedDuration::from_secs).ok_or_else(wrong)?;
    Timestamp::now().checked_sub(ago).map_err(|_| wrong())
}

/// The day and the time of day.
pub(crate) fn full(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// The day.
pub(crate) fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// The time of day.
pub(crate) fn clock(time: Timestamp) -> String {
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
    fn times_are_absolute_or_ago() {
        assert_eq!(full(parse("2026-11-15T10:00:00+02:00").unwrap()), "2026-11-15 08:00:00Z");
        assert_eq!(full(parse("2026-11-15").unwrap()), "2026-11-15 00:00:00Z");
        let then = parse("2h").unwrap();
        let ago = Timestamp::now().duration_since(then).as_secs();
        assert!((7_200..7_205).contains(&ago), "{ago}");
        for wrong in ["", "h", "2", "2y", "-2h", "99999999999999999999d", "999999999999w", "2026-13-01", "é"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
