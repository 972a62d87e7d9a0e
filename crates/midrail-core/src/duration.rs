//! Units of time, as people write them in packs and on the command line.

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
