//! Durations in packs: a number of seconds, or a text such as `90s`, `15m`, `2h`, `1d`.

use jiff::{SignedDuration, Timestamp};
use midrail_core::duration::unit_seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::settings::SettingsProblem;
use super::text::plain_text;

/// A number of seconds, or a duration such as `90s`, `15m`, `2h` or `1d`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(rename = "Duration", extend("anyOf" = [
    {"type": "number", "minimum": 0}, {"type": "string", "pattern": "^[0-9.]+ *[a-z]+$"}
]))]
pub struct Seconds(pub f64);

impl Seconds {
    /// The maximum: it fits every type that durations are converted to.
    const MOST: f64 = 4_294_967_295.0;

    /// The whole seconds.
    pub fn whole(self) -> u32 {
        u32::try_from(self.duration().as_secs()).unwrap_or(u32::MAX)
    }

    /// The milliseconds.
    pub fn millis(self) -> u64 {
        u64::try_from(self.duration().as_millis()).unwrap_or(u64::MAX)
    }

    /// The duration as a type of the standard library.
    pub fn duration(self) -> std::time::Duration {
        std::time::Duration::try_from_secs_f64(self.0.clamp(0.0, Self::MOST)).unwrap_or_default()
    }

    /// The time after this duration.
    pub(crate) fn after(self, time: Timestamp) -> Timestamp {
        let duration = SignedDuration::try_from_secs_f64(self.0.clamp(0.0, Self::MOST)).unwrap_or_default();
        time.checked_add(duration).unwrap_or(Timestamp::MAX)
    }
}

/// A time without fractions of a second, for messages.
pub(crate) fn to_the_second(time: Timestamp) -> String {
    format!("{time:.0}")
}

/// Maximum timeout: one day.
const MAX_MILLIS: u64 = 24 * 60 * 60 * 1_000;

impl TryFrom<Value> for Seconds {
    type Error = SettingsProblem;

    fn try_from(value: Value) -> Result<Self, SettingsProblem> {
        let parse = |text: &str| {
            let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            let (number, unit) = text.split_at(split);
            let factor = match unit.trim() {
                "" => 1.0,
                "ms" => 0.001,
                unit => f64::from(unit_seconds(unit)?),
            };
            Some(number.trim().parse::<f64>().ok()? * factor)
        };
        let seconds = match &value {
            Value::String(text) => parse(text),
            value => value.as_f64(),
        };
        Err(SettingsProblem::new(match seconds {
            None => {
                let help = "write a number of seconds, or a duration such as `90s`, `15m`, `2h` or `1d`";
                format!("`{}` is not a duration; {help}", plain_text(&value))
            }
            Some(seconds) if seconds < 0.0 => {
                "a duration cannot be negative; write one such as `90s` or `15m`".to_owned()
            }
            Some(seconds) if seconds <= Seconds::MOST => return Ok(Seconds(seconds)),
            Some(_) => "a duration of more than 136 years; write a shorter one, or leave it out".to_owned(),
        }))
    }
}

impl std::str::FromStr for Seconds {
    type Err = SettingsProblem;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Seconds::try_from(Value::from(text))
    }
}

/// A number of seconds, or a duration such as `500ms`, `90s` or `10m`, of at most one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Seconds", into = "String")]
#[schemars(extend("anyOf" = [
    {"type": "number", "minimum": 0.001, "maximum": 86_400}, {"type": "string", "pattern": "^[0-9.]+ *[a-z]+$"}
]))]
pub struct Timeout(
    /// The milliseconds.
    pub u64,
);

impl Timeout {
    /// A timeout in seconds.
    pub(crate) const fn seconds<const N: u64>() -> Self {
        Timeout(N * 1_000)
    }
}

impl From<Timeout> for String {
    fn from(timeout: Timeout) -> Self {
        format!("{}ms", timeout.0)
    }
}

impl TryFrom<Seconds> for Timeout {
    type Error = SettingsProblem;

    fn try_from(seconds: Seconds) -> Result<Self, SettingsProblem> {
        match seconds.millis() {
            millis @ 1..=MAX_MILLIS => Ok(Timeout(millis)),
            _ => Err(SettingsProblem::new("a timeout is between one millisecond and one day")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Option<f64> {
        serde_json::from_value::<Seconds>(value).ok().map(|seconds| seconds.0)
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(to_the_second("2026-11-15T10:55:03.908149224Z".parse().unwrap()), "2026-11-15T10:55:03Z");
        assert_eq!(to_the_second("2026-11-15T10:55:03Z".parse().unwrap()), "2026-11-15T10:55:03Z");
    }

    #[test]
    fn durations_read_in_every_unit() {
        assert_eq!(read(json!("30m")), Some(1_800.0));
        assert_eq!(read(json!("1.5 h")), Some(5_400.0));
        assert_eq!(read(json!(7)), Some(7.0));
        for wrong in [
            json!("soon"),
            json!(-1),
            json!("1 fortnight"),
            json!("-2s"),
            json!("11111111111d"),
            json!("nan"),
        ] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn timeouts_are_parsed() {
        for (value, millis) in [
            (json!(5), 5_000),
            (json!("50ms"), 50),
            (json!("1.5s"), 1_500),
            (json!("90s"), 90_000),
            (json!("10 m"), 600_000),
            (json!("24h"), MAX_MILLIS),
        ] {
            assert_eq!(serde_json::from_value::<Timeout>(value).unwrap(), Timeout(millis));
        }
        for value in [
            json!(0),
            json!("0s"),
            json!("25h"),
            json!("soon"),
            json!(-1),
            json!("99999999999999999h"),
            json!(null),
        ] {
            assert!(serde_json::from_value::<Timeout>(value.clone()).is_err(), "{value}");
        }
        let timeout = Timeout::seconds::<600>();
        assert_eq!(
            serde_json::from_value::<Timeout>(serde_json::to_value(timeout).unwrap()).unwrap(),
            timeout
        );
    }
}
