//! Durations in packs: a number of seconds, or a text such as `90s`, `15m`, `2h`, `1d`.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use midrail_core::duration::unit_seconds;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A duration: a number of seconds, or a text such as `90s`, `15m`, `2h`, `1d`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl Seconds {
    /// More than anyone waits, and still a number that everything downstream can hold.
    const MOST: f64 = 4_294_967_295.0;

    /// The whole seconds of it.
    pub fn whole(self) -> u32 {
        u32::try_from(self.duration().as_secs()).unwrap_or(u32::MAX)
    }

    /// The milliseconds of it.
    pub fn millis(self) -> u64 {
        u64::try_from(self.duration().as_millis()).unwrap_or(u64::MAX)
    }

    /// The same as the standard library has it.
    pub fn duration(self) -> std::time::Duration {
        std::time::Duration::try_from_secs_f64(self.0.clamp(0.0, Self::MOST)).unwrap_or_default()
    }

    /// This long after a moment.
    pub(crate) fn after(self, time: Timestamp) -> Timestamp {
        let duration = SignedDuration::try_from_secs_f64(self.0.clamp(0.0, Self::MOST)).unwrap_or_default();
        time.checked_add(duration).unwrap_or(Timestamp::MAX)
    }
}

/// A time as people read it: to the second.
pub(crate) fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => time.to_owned(),
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Duration;

        impl Visitor<'_> for Duration {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds, or a duration such as `90s`, `15m`, `2h` or `1d`")
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Seconds, E> {
                let seconds =
                    u32::try_from(seconds).map_err(|_| E::custom("a duration of more than 136 years"))?;
                self.visit_f64(seconds.into())
            }

            fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
                self.visit_u64(
                    u64::try_from(seconds).map_err(|_| E::custom("a duration cannot be negative"))?,
                )
            }

            fn visit_f64<E: Error>(self, seconds: f64) -> Result<Seconds, E> {
                match seconds {
                    _ if seconds < 0.0 => Err(E::custom("a duration cannot be negative")),
                    _ if seconds <= Seconds::MOST => Ok(Seconds(seconds)),
                    _ => Err(E::custom("a duration of more than 136 years")),
                }
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Seconds, E> {
                let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
                let (number, unit) = text.split_at(split);
                let factor = match unit.trim() {
                    "" => Some(1.0),
                    "ms" => Some(0.001),
                    unit => unit_seconds(unit).map(f64::from),
                };
                match (number.trim().parse::<f64>(), factor) {
                    (Ok(number), Some(factor)) => self.visit_f64(number * factor),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(Duration)
    }
}

impl std::str::FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|error| error.to_string())
    }
}

impl JsonSchema for Seconds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of seconds, or a duration such as `90s`, `15m`, `2h` or `1d`.",
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": "^[0-9.]+ *[a-z]+$"}]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Option<f64> {
        serde_json::from_value::<Seconds>(value).ok().map(|seconds| seconds.0)
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(to_the_second("2026-11-15T10:55:03.408149224Z"), "2026-11-15T10:55:03Z");
        assert_eq!(to_the_second("2026-11-15T10:55:03Z"), "2026-11-15T10:55:03Z");
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
}
