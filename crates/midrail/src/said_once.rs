//! JSON in which nothing is said twice: two readers of an object that holds a key twice may see two things.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Any JSON in which no object has a key twice. Nothing of it is kept.
pub struct SaidOnce;

impl<'de> Deserialize<'de> for SaidOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = SaidOnce;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<SaidOnce, E> {
                Ok(SaidOnce)
            }

            fn visit_bool<E>(self, _: bool) -> Result<SaidOnce, E> {
                Ok(SaidOnce)
            }

            fn visit_u64<E>(self, _: u64) -> Result<SaidOnce, E> {
                Ok(SaidOnce)
            }

            fn visit_i64<E>(self, _: i64) -> Result<SaidOnce, E> {
                Ok(SaidOnce)
            }

            fn visit_f64<E>(self, _: f64) -> Result<SaidOnce, E> {
                Ok(SaidOnce)
            }

            fn visit_str<E>(self, _: &str) -> Result<SaidOnce, E> {
                Ok(SaidOnce)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SaidOnce, A::Error> {
                while list.next_element::<SaidOnce>()?.is_some() {}
                Ok(SaidOnce)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SaidOnce, A::Error> {
                let mut keys: BTreeSet<String> = BTreeSet::new();
                while let Some(key) = map.next_key::<String>()? {
                    map.next_value::<SaidOnce>()?;
                    if let Some(twice) = keys.replace(key) {
                        let twice: String = twice.chars().take(60).collect();
                        return Err(A::Error::custom(format!("duplicate field `{twice}`")));
                    }
                }
                Ok(SaidOnce)
            }
        }

        deserializer.deserialize_any(Any)
    }
}
