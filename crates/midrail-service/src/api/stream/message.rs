//! The messages of a stream, in both directions.

use midrail::{Agent, Decision, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// One message to a stream. The first one opens it; each of the others is one of the rest.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StreamMessage {
    /// The owner of the stream. Only the first message has this field, and requires it.
    pub(super) open: Option<StreamOpening>,
    /// The next chunk of text.
    pub(super) text: Option<String>,
    /// Decides the collected text now. It is always answered.
    pub(super) flush: bool,
    /// Decides the rest and ends the stream.
    pub(super) finish: bool,
    /// Retries the text that waits for an approval.
    pub(super) resume: bool,
}

/// The owner of a stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamOpening {
    /// The session.
    pub(super) session: String,
    /// The name of the stream. Absent: a generated one.
    #[serde(default)]
    pub(super) stream: Option<String>,
    /// Chunks are collected up to this many bytes and decided together. Absent: 4096; at most 65536. 0: each chunk is
    /// decided on its own.
    #[serde(default)]
    pub(super) max_bytes: Option<usize>,
    /// The agent.
    #[serde(default)]
    pub(super) agent: Option<Agent>,
    /// The task of the agent.
    #[serde(default)]
    pub(super) task: Option<Task>,
    /// The folder that it works in.
    #[serde(default)]
    pub(super) cwd: Option<String>,
    /// The prompt that it runs under.
    #[serde(default)]
    pub(super) prompt: Option<String>,
    /// The agent that started this sub-agent.
    #[serde(default)]
    pub(super) parent: Option<String>,
}

/// A step of a stream.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StreamedStep {
    /// The name of the stream, in the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<String>,
    /// The text that is allowed now.
    pub(super) text: String,
    /// Whether the stream has ended. If the decision is `escalate`, `resume` may continue it.
    pub(super) over: bool,
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<Decision>,
    /// The message for the user, if the run was halted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user_message: Option<String>,
    /// Why the stream was aborted. Undecided text is withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<Problem>,
}

impl StreamedStep {
    pub(super) fn failed(problem: Problem) -> Self {
        StreamedStep { over: true, problem: Some(problem), ..StreamedStep::default() }
    }

    pub(super) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| r#"{"text":"","over":true}"#.to_owned())
    }
}
