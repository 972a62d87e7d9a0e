//! The settings of mcp-definitions.

use std::collections::BTreeMap;

use midrail_core::glob;

use crate::deep::{EndpointUrl, Headers};
use crate::prelude::*;
use crate::shared::settings::Pattern;

/// The settings of mcp-definitions, which a pack can also write under `mcp:`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpDefinitions {
    /// What happens to the definitions of a server that is seen for the first time.
    pub first_seen: FirstSeen,
    /// What happens to a call of a tool whose definition changed.
    pub changed: WhenChanged,
    /// Whether a server may use the client's model.
    pub sampling: Sampling,
    /// Whether a server may ask the user for data.
    pub elicitation: Elicitation,
    /// Which tools a server may offer, by the name of the server or a glob pattern.
    pub servers: BTreeMap<String, ServerRule>,
}

impl McpDefinitions {
    /// Whether a tool of a server is allowed.
    pub(super) fn allows(&self, server: &str, tool: &str) -> bool {
        let fits = |patterns: &[Pattern]| patterns.iter().any(|pattern| glob::name_matches(&pattern.0, tool));
        let of_server = self.servers.iter().filter(|(name, _)| glob::name_matches(name, server));
        of_server.into_iter().all(|(_, rule)| {
            rule.tools.allow.as_ref().is_none_or(|allow| fits(allow)) && !fits(&rule.tools.deny)
        })
    }
}

/// What happens to the definitions of a server that is seen for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstSeen {
    /// They are withheld until a person accepts them, and calls wait for an approval.
    #[default]
    Ask,
    /// They are accepted as they are, unless something is found in them.
    Pin,
    /// They are withheld until a person accepts them, and calls are blocked.
    Block,
}

/// What happens to a call of a tool whose definition changed. The definition is withheld either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenChanged {
    /// It waits for an approval.
    #[default]
    Ask,
    /// It is blocked.
    Block,
}

/// What happens when a server asks for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnRequest {
    /// It is allowed.
    Allow,
    /// It waits for an approval.
    Ask,
    /// It is blocked.
    Block,
}

impl OnRequest {
    pub(super) fn effect(self) -> Effect {
        match self {
            OnRequest::Allow => Effect::Allow,
            OnRequest::Ask => Effect::Escalate,
            OnRequest::Block => Effect::Block,
        }
    }
}

/// Whether a server may use the client's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Sampling(pub OnRequest);

impl Default for Sampling {
    fn default() -> Self {
        Sampling(OnRequest::Ask)
    }
}

/// Whether a server may ask the user for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Elicitation(pub OnRequest);

impl Default for Elicitation {
    fn default() -> Self {
        Elicitation(OnRequest::Allow)
    }
}

/// What a server may offer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerRule {
    /// Its tools.
    pub tools: ToolRule,
    /// The address at which `midrail serve --mcp` reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<EndpointUrl>,
    /// The headers of requests to this address. Values name environment variables as `${NAME}`.
    #[serde(skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
}

/// The tools that a server may offer, by name or glob pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolRule {
    /// The tools that it may offer. Absent: all.
    pub allow: Option<Vec<Pattern>>,
    /// The tools that it may not offer, even if they are allowed.
    pub deny: Vec<Pattern>,
}
