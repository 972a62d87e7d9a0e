//! `mcp:` of a pack, which configures the always-on guardrail mcp-definitions.

use midrail_guardrails::McpDefinitions;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::raw::guard::Guard;

/// The guardrail with the settings of `mcp:`.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Guard>>, D::Error> {
    let settings = Option::<McpDefinitions>::deserialize(deserializer)?.unwrap_or_default();
    guard("mcp-definitions", settings)
}

/// A guardrail with the settings of a key of a pack.
pub(super) fn guard<E: serde::de::Error>(
    uses: &str,
    settings: impl Serialize,
) -> Result<Option<Box<Guard>>, E> {
    let with = Some(serde_json::to_value(settings).map_err(E::custom)?);
    Ok(Some(Box::new(Guard { uses: Some(uses.to_owned()), with, ..Guard::default() })))
}

pub(super) fn serialize<S: Serializer>(guard: &Option<Box<Guard>>, serializer: S) -> Result<S::Ok, S::Error> {
    guard.as_ref().and_then(|guard| guard.with.as_ref()).serialize(serializer)
}
