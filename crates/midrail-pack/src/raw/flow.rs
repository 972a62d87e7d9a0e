//! Labels and rules of information flow in packs: raw types that mirror the text.

use std::collections::BTreeMap;

use midrail_core::CallClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scalar::OneOrMany;

/// A row of `labels`: how what an agent sees through tools, hosts, files and senders is labelled, and what calls do. It applies
/// if one of its selectors matches; for `seen`, the most specific row counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LabelText {
    /// Tools: names or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: OneOrMany,
    /// Hosts: names or text patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: OneOrMany,
    /// Files: path patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: OneOrMany,
    /// Senders of prompts (`sender` of an event): names or text patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub senders: OneOrMany,
    /// Annotations of the tools of MCP servers, all of which must be equal.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_annotations: BTreeMap<String, Value>,
    /// The labels of what the agent sees: `untrusted`, `private`, names of your own, or `trusted` for a source that may name
    /// destinations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seen: OneOrMany,
    /// What the call does: `send`, `change`, `run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub does: OneOrMany<CallClass>,
    /// The arguments that hold destinations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: OneOrMany,
    /// The arguments that hold data. For readers; no rule depends on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carries: OneOrMany,
    /// When the row ends: a time such as `2026-11-15T18:00:00Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A rule about the flow of information.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowText {
    /// The labels that must be set.
    pub after: OneOrMany,
    /// The classes of calls that it limits: `send`, `change`, `run`.
    pub does: OneOrMany<CallClass>,
    /// What the call runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<FlowOf>,
    /// The calls that are allowed nevertheless: `named`, or `{to: PATTERNS}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless: Option<FlowUnless>,
}

/// What a call runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowOf {
    /// Files that carry one of these labels.
    pub files: OneOrMany,
}

/// Calls that a flow rule allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields, expecting = "expected `named` or `{to: PATTERNS}`")]
pub enum FlowUnless {
    /// A word.
    Word(FlowUnlessWord),
    /// Destinations.
    To {
        /// Text patterns, one of which every destination must match.
        to: OneOrMany,
    },
}

/// Calls that a flow rule allows, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlowUnlessWord {
    /// The user or a trusted result named every destination.
    Named,
}
