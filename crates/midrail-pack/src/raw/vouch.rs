//! `vouch`: the calls for which no person needs to be asked.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::scalar::OneOrMany;

/// The calls for which no person needs to be asked if no guardrail objects. It never weakens a guardrail. Not in effect yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Vouch {
    /// Commands: the program and its leading words, or `{exact: LINE}`. Every command of a line must match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: OneOrMany<VouchedCommand>,
    /// Files that may be read: path patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: OneOrMany,
    /// Files that may be changed: path patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: OneOrMany,
    /// Hosts that may be called: names or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: OneOrMany,
    /// Tools: names or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: OneOrMany,
}

impl Vouch {
    /// Whether it lists no call.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.texts().all(|(_, texts)| texts.is_empty())
    }

    /// The lists of patterns, by key.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'static str, &OneOrMany)> {
        let Vouch { commands: _, reads, edits, hosts, tools } = self;
        [("reads", reads), ("edits", edits), ("hosts", hosts), ("tools", tools)].into_iter()
    }
}

/// A vouched command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields, expecting = "expected a command, or `{exact: COMMAND}`")]
pub enum VouchedCommand {
    /// The program and its leading words. Further arguments may follow.
    Words(String),
    /// The whole command.
    Exact {
        /// The command, without further arguments.
        exact: String,
    },
}

impl VouchedCommand {
    /// The command.
    pub fn text(&self) -> &str {
        match self {
            VouchedCommand::Words(text) | VouchedCommand::Exact { exact: text } => text,
        }
    }
}

/// `vouch` as a map. A list would be read as its keys in order.
pub(super) fn vouch_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vouch>, D::Error> {
    struct OnlyMap;

    impl<'de> Visitor<'de> for OnlyMap {
        type Value = Option<Vouch>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map with `commands`, `reads`, `edits`, `hosts` or `tools`")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Vouch::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }

    deserializer.deserialize_any(OnlyMap)
}
