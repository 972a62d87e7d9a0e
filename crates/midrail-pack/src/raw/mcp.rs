//! `mcp:` of a pack, which configures the always-on guardrail mcp-definitions.

use midrail_guardrails::McpDefinitions;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::raw::guard::Guard;

/// The guardrail with the settings of `mcp:`.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Guard>>, D::Error> {
    let settings = Option::<McpDefinitions>::deserialize(deserializer)?.unwrap_or_default();
    let with = serde_json::to_value(settings).map_err(serde::de::Error::custom)?;
    let uses = Some("mcp-definitions".to_owned());
    Ok(Some(Box::new(Guard { uses, with: Some(with), ..Guard::default() })))
}

pub(super) fn serialize<S: Serializer>(guard: &Option<Box<Guard>>, serializer: S) -> Result<S::Ok, S::Error> {
    guard.as_ref().and_then(|guard| guard.with.as_ref()).serialize(serializer)
}
