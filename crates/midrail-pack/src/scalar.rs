//! Small forms in packs: one value or several, times and durations, texts and numbers.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use midrail_core::Deadline;
use midrail_guardrails::Seconds;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One value or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMany<T = String>(pub Vec<T>);

impl<T> OneOrMany<T> {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<T> Deref for OneOrMany<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::StrDeserializer::new(text)).map(|one| OneOrMany(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut many = Vec::new();
                while let Some(item) = seq.next_element()? {
                    many.push(item);
                }
                Ok(OneOrMany(many))
            }
        }

        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({"anyOf": [one, {"type": "array", "items": one}]})
    }
}

/// A deadline: a time, or a duration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeOrDuration(pub Deadline);

impl Serialize for TimeOrDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Deadline::At(time) => serializer.serialize_str(&time.to_string()),
            Deadline::After(seconds) => serializer.serialize_f64(seconds),
        }
    }
}

impl<'de> Deserialize<'de> for TimeOrDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a time such as `2026-11-15T18:00:00Z`, or a duration such as `90m` or `2h`";
        let value = serde_json::Value::deserialize(deserializer)?;
        if let Some(Ok(time)) = value.as_str().map(str::parse) {
            return Ok(TimeOrDuration(Deadline::At(time)));
        }
        match serde_json::from_value::<Seconds>(value) {
            Ok(Seconds(seconds)) => Ok(TimeOrDuration(Deadline::After(seconds))),
            Err(_) => Err(D::Error::custom(format!("this is not {expected}"))),
        }
    }
}

impl std::str::FromStr for TimeOrDuration {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_value(serde_json::Value::String(text.to_owned()))
    }
}

impl JsonSchema for TimeOrDuration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TimeOrDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time such as `2026-11-15T18:00:00Z`, a number of seconds, or a duration such as `90m`.",
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]
        })
    }
}

/// A text, also if it is written as a number: `version: 1.0`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct TextOrNumber(pub String);

impl<'de> Deserialize<'de> for TextOrNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(TextOrNumber(text)),
            // `1.0` keeps its point.
            serde_json::Value::Number(number) => Ok(TextOrNumber(number.to_string())),
            other => Err(D::Error::invalid_type(unexpected(&other), &"a text or a number")),
        }
    }
}

/// The kind of a JSON value for an error.
fn unexpected(value: &serde_json::Value) -> Unexpected<'_> {
    match value {
        serde_json::Value::Bool(value) => Unexpected::Bool(*value),
        serde_json::Value::Array(_) => Unexpected::Seq,
        serde_json::Value::Object(_) => Unexpected::Map,
        _ => Unexpected::Unit,
    }
}

impl JsonSchema for TextOrNumber {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TextOrNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number"]})
    }
}

/// A key without a value counts: `read_before_write:` alone means its defaults.
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Some(Option::<T>::deserialize(deserializer)?.unwrap_or_default()))
}

/// An amount of money: a number of 0 or more.
pub(crate) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(amount) if !amount.is_finite() || amount < 0.0 => Err(D::Error::custom(format!(
            "`{amount}` is not a finite number of 0 or more; write a number such as 2.50"
        ))),
        amount => Ok(amount),
    }
}
