//! `vouch:` of a pack, which configures the guardrail vouch.

use std::fmt;

use midrail_guardrails::Vouch;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

use crate::raw::guard::Guard;
use crate::raw::mcp;

/// The guardrail with the settings of `vouch:`, which is a map. A list would be read as its keys in order.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Guard>>, D::Error> {
    struct OnlyMap;

    impl<'de> Visitor<'de> for OnlyMap {
        type Value = Option<Box<Guard>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map with `commands`, `reads`, `edits`, `hosts`, `tools`, `builds` or `contained`")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let settings = Vouch::deserialize(MapAccessDeserializer::new(map))?;
            mcp::guard("vouch", settings)
        }
    }

    deserializer.deserialize_any(OnlyMap)
}

pub(super) fn serialize<S: Serializer>(guard: &Option<Box<Guard>>, serializer: S) -> Result<S::Ok, S::Error> {
    mcp::serialize(guard, serializer)
}
