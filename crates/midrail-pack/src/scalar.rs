//! Small forms that packs are written in: one or many, durations, a bare name in place of a map.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use midrail_core::Deadline;
pub use midrail_guardrails::Seconds;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::raw::{Guard, KeySource};

/// One value or a list of them. `"*"` alone is the same as nothing said: all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMany<T = String>(pub Vec<T>);

impl<T> OneOrMany<T> {
    /// Whether there is none.
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

/// When something has to be finished: a time, or a duration.
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|error| error.to_string())
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

/// A text, also where it was written as a number: `version: 1.0`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct TextOrNumber(pub String);

impl<'de> Deserialize<'de> for TextOrNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyScalar;

        impl Visitor<'_> for AnyScalar {
            type Value = TextOrNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<TextOrNumber, E> {
                Ok(TextOrNumber(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<TextOrNumber, E> {
                Ok(TextOrNumber(number.to_string()))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<TextOrNumber, E> {
                // `1.0` is written with its point.
                Ok(TextOrNumber(format!("{number:?}")))
            }
        }

        deserializer.deserialize_any(AnyScalar)
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

/// A key that is there counts, also with nothing behind it: `read_before_write:` alone means its defaults.
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Some(Option::<T>::deserialize(deserializer)?.unwrap_or_default()))
}

/// An amount of money: a number from 0 on.
pub(crate) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(amount) if !amount.is_finite() || amount < 0.0 => Err(D::Error::custom(format!(
            "`{amount}` is no amount that can be reckoned with; write a number from 0 on, such as 2.50"
        ))),
        amount => Ok(amount),
    }
}

/// Guardrails as maps or bare names.
pub(crate) fn guards<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Guard>, D::Error> {
    struct Item(Guard);

    impl<'de> Deserialize<'de> for Item {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct NameOrMap;

            impl<'de> Visitor<'de> for NameOrMap {
                type Value = Item;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("the name of a guardrail or a map that describes one")
                }

                fn visit_str<E: Error>(self, name: &str) -> Result<Item, E> {
                    Ok(Item(Guard { uses: Some(name.to_owned()), ..Guard::default() }))
                }

                fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Item, A::Error> {
                    Guard::deserialize(MapAccessDeserializer::new(map)).map(Item)
                }
            }

            deserializer.deserialize_any(NameOrMap)
        }
    }

    let items = Vec::<Item>::deserialize(deserializer)?;
    Ok(items.into_iter().map(|Item(guard)| guard).collect())
}

/// What a definition says of completion, as the guardrail that it is: settings, and some keys of the guardrail itself.
pub(crate) fn completing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Guard>, D::Error> {
    const OF_GUARDRAIL: &[&str] =
        &["id", "max_attempts", "on_exhausted", "when", "mode", "reason", "advice", "approver"];
    let Some(mut rest) = Option::<serde_json::Map<String, serde_json::Value>>::deserialize(deserializer)?
    else {
        return Ok(None);
    };
    // As it is written again: the guardrail itself.
    if !rest.contains_key("completion") {
        let mut guard = serde_json::Map::new();
        for name in OF_GUARDRAIL {
            guard.extend(rest.remove(*name).map(|value| ((*name).to_owned(), value)));
        }
        guard.insert("completion".to_owned(), rest.into());
        rest = guard;
    }
    Guard::deserialize(serde_json::Value::Object(rest)).map(Some).map_err(D::Error::custom)
}

/// The schema of a guardrail also takes a bare name.
pub(crate) fn or_text(schema: &mut Schema) {
    let map = std::mem::take(schema);
    *schema = json_schema!({"anyOf": [{"type": "string", "description": "The name of a built-in guardrail."}, map]});
}

impl<'de> Deserialize<'de> for KeySource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Computed {
            expression: String,
        }

        struct Source;

        impl<'de> Visitor<'de> for Source {
            type Value = KeySource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an argument, a list of names, or `{expression: …}`")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<KeySource, E> {
                Ok(KeySource::Args(OneOrMany(vec![name.to_owned()])))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<KeySource, A::Error> {
                Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(seq))
                    .map(|names| KeySource::Args(OneOrMany(names)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<KeySource, A::Error> {
                let Computed { expression } = Computed::deserialize(MapAccessDeserializer::new(map))?;
                Ok(KeySource::Expression { expression })
            }
        }

        deserializer.deserialize_any(Source)
    }
}
