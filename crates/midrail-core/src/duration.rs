//! Durations, as people write them in packs and on the command line, and as Midrail shows them.

use jiff::SignedDuration;

/// The seconds of a unit: `s`, `min`, `hours`, `d`, `weeks`.
pub fn unit_seconds(unit: &str) -> Option<u32> {
    match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600),
        "d" | "day" | "days" => Some(86_400),
        "w" | "week" | "weeks" => Some(604_800),
        _ => None,
    }
}

/// A duration in its two largest units, to the nearest second: `14 min 32 s`.
pub fn span(duration: SignedDuration) -> String {
    let seconds = (duration.abs().as_millis().saturating_add(500) / 1_000).unsigned_abs();
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let largest = parts.iter().skip_while(|(number, _)| *number == 0).take(2);
    let shown = largest.filter(|(number, _)| *number > 0).map(|(number, unit)| format!("{number} {unit}"));
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "0 s".to_owned() } else { shown.join(" ") }
}

/// A number of microseconds in its nearest unit: `1.5 ms`.
pub fn micros(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..100_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        100_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        let text = |seconds: i64| span(SignedDuration::from_secs(seconds));
        assert_eq!([text(0), text(59), text(60), text(872)], ["0 s", "59 s", "1 min", "14 min 32 s"]);
        assert_eq!([text(86_400), text(-3_700), text(90_061)], ["1 d", "1 h 1 min", "1 d 1 h"]);
        let short = [41, 1_500, 250_000, 2_000_000].map(micros);
        assert_eq!(short, ["41 µs", "1.5 ms", "250 ms", "2.0 s"]);
    }
}
