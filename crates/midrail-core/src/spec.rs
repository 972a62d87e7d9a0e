//! The settings of one guardrail in a policy: who and what it applies to, and what its verdicts lead to.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decision::Mode;
use crate::definition::Definition;
use crate::effect::Effect;
use crate::event::{EventKind, Risk};
use crate::glob;
use crate::session::key_part;

/// The settings of a guardrail.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spec {
    /// The id, unique in a policy.
    pub id: Arc<str>,
    /// What it protects against, in a sentence.
    pub description: String,
    /// Lower runs first. Built-ins 1 to 99, custom ones 100 and above.
    pub priority: u32,
    /// Breaks ties of priority.
    pub category: Category,
    /// The kinds of event that it checks.
    pub on: Vec<EventKind>,
    /// The tools that it checks, in addition to its own [`crate::Guardrail::tools`].
    pub tools: Tools,
    /// The agents that it checks, by id, as glob patterns. Empty: all.
    pub agents: Vec<String>,
    /// The tasks that it checks, by id, as glob patterns. Empty: all.
    pub tasks: Vec<String>,
    /// The definition that it is bound to: it checks the events that the definition applies to.
    pub bound: Option<Arc<Definition>>,
    /// Replaces the effect of its objections.
    pub effect: Option<Effect>,
    /// Replaces the reason of its objections.
    pub reason: Option<String>,
    /// Replaces their advice.
    pub advice: Option<String>,
    /// Whether its verdicts are enforced.
    pub mode: Mode,
    /// What it requests when it fails.
    pub on_error: OnFault,
    /// What it requests when a value that it needs is missing.
    pub on_missing: OnFault,
    /// The number of the warning in one task that becomes an escalation. 0: never.
    pub warn_limit: u32,
    /// Attempts before `on_exhausted`.
    pub max_attempts: u32,
    /// What follows after the last attempt. `None`: an escalation, or a warning if the agent wants to stop.
    pub on_exhausted: Option<OnFault>,
    /// The role that decides its escalations.
    pub approver: String,
    /// Seconds until an unanswered escalation becomes a block.
    pub approval_timeout_s: u32,
    /// The box of contained calls. `None`: the one that its verdict names.
    pub sandbox: Option<String>,
    /// Whether its state is separate for each prompt of a session.
    pub per_prompt: bool,
    /// Whether and by whom it can be bypassed for one action.
    pub bypass: Bypass,
    /// The lowest task risk at which it runs. `None`: it runs at every level.
    pub from_risk: Option<Risk>,
    /// Consequences of its objections beyond their effect: `increment_strike`, `flag_trajectory`, `emit_alert`.
    pub effects: Vec<String>,
    /// Milliseconds that probes have for the values it needs. `None`: no limit.
    pub within_ms: Option<u64>,
    /// Its author named no effect, so the effect of its objections follows from the task's risk.
    pub effect_by_risk: bool,
    /// It cannot be disabled or paused.
    pub always_on: bool,
    /// It limits a budget whose end blocks in any case, so that a run without a person may continue until then.
    pub limits_budget: bool,
}

impl Spec {
    /// The spec of a custom guardrail that runs before each tool call.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Spec {
            id: id.into(),
            priority: 100,
            on: vec![EventKind::BeforeTool],
            warn_limit: 3,
            max_attempts: 3,
            approver: "reviewer".to_owned(),
            approval_timeout_s: 30 * 60,
            ..Spec::default()
        }
    }

    /// The key of a slice that counts its verdicts. Shadow mode has separate ones, so that it never alters what is enforced.
    pub(crate) fn counter_key(&self, counter: &str, subject: &str) -> String {
        let shadow = if self.mode == Mode::Shadow { "shadow/" } else { "" };
        format!("{shadow}{counter}/{}/{subject}", key_part(&self.id))
    }
}

/// A set of tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tools {
    /// Every tool.
    #[default]
    All,
    /// Tools with these names or glob patterns.
    Only(Vec<String>),
}

impl Tools {
    /// A set of names or patterns.
    pub fn only<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Self {
        Tools::Only(names.into_iter().map(Into::into).collect())
    }

    /// Whether a tool belongs to it.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Tools::All => true,
            Tools::Only(patterns) => patterns.iter().any(|pattern| glob::name_matches(pattern, name)),
        }
    }
}

/// The categories, in the order that breaks ties of priority.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Harm to systems and data.
    Safety,
    /// Rules of the organisation and of the work.
    #[default]
    Compliance,
    /// Limits on resources.
    Budget,
    /// Limits on what may be touched.
    Scope,
    /// Requirements on the output.
    Quality,
}

impl Category {
    /// The word in packs.
    pub fn as_str(self) -> &'static str {
        match self {
            Category::Safety => "safety",
            Category::Compliance => "compliance",
            Category::Budget => "budget",
            Category::Scope => "scope",
            Category::Quality => "quality",
        }
    }
}

/// What a guardrail requests when it has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFault {
    /// Block the action.
    #[default]
    Block,
    /// Require an approval.
    Escalate,
    /// Allow the action. Only if a pack sets it.
    Allow,
}

impl OnFault {
    /// The effect.
    pub fn effect(self) -> Effect {
        match self {
            OnFault::Block => Effect::Block,
            OnFault::Escalate => Effect::Escalate,
            OnFault::Allow => Effect::Allow,
        }
    }
}

/// Whether and by whom a guardrail can be bypassed for one action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Bypass {
    /// It cannot be bypassed.
    Never,
    /// By an emergency override only.
    #[default]
    Emergency,
    /// By an approver of this role.
    By(String),
}
