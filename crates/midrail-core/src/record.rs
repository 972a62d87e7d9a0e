//! The audit record of one decision: everything that it was made from, so that it can be replayed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decide::decide;
use crate::decision::Decision;
use crate::effect::Effect;
use crate::event::Event;
use crate::facts::Facts;
use crate::policy::Policy;
use crate::session::Session;

/// One record. Secrets that were found in the event are replaced by their kind and fingerprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When it was decided.
    pub time: Timestamp,
    /// The session.
    pub session: String,
    /// The event.
    pub event: Event,
    /// The slices of the session that were read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slices: BTreeMap<String, Option<Value>>,
    /// The facts that were used.
    #[serde(default)]
    pub facts: Facts,
    /// The decision, with the revision of its policy.
    pub decision: Decision,
    /// The denial as an event of its own, if a tool call was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<PolicyDenied>,
}

impl Record {
    /// Makes the decision again from the record.
    pub fn replay(&self, policy: &Policy) -> Decision {
        let session = Session { slices: self.slices.clone(), ..Session::new(&*self.session) };
        decide(policy, &session, &self.facts, &self.event)
    }
}

/// The denial of a tool call by a guardrail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub struct PolicyDenied {
    /// The guardrail.
    pub policy_name: String,
    /// The tool.
    pub tool_name: String,
    /// Why.
    pub reason: String,
    /// Machine-readable details of the denial.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The session.
    pub session_id: String,
    /// When.
    pub created_at: Timestamp,
    /// The unique id of this denial.
    pub event_id: String,
}

impl PolicyDenied {
    /// The denial in a decision, if a tool call was stopped.
    pub fn from_decision(
        event: &Event,
        decision: &Decision,
        session: &str,
        time: Timestamp,
        event_id: String,
    ) -> Option<Self> {
        let tool = event.tool_name()?;
        let by = decision.by.as_deref()?;
        (event.kind == crate::event::EventKind::BeforeTool && decision.effect >= Effect::Block).then(|| {
            PolicyDenied {
                policy_name: by.to_owned(),
                tool_name: tool.to_owned(),
                reason: decision.reason.clone(),
                metadata: decision.metadata.clone(),
                session_id: session.to_owned(),
                created_at: time,
                event_id,
            }
        })
    }
}
