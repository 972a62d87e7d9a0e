//! One named check, and everything around it that is the same for all checks.

use std::any::Any;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Context, Missing};
use crate::decision::Mode;
use crate::definition::Definition;
use crate::effect::Effect;
use crate::event::{EventKind, Risk};
use crate::glob;
use crate::rewrite::Rewrite;
use crate::session::Changes;
use crate::verdict::Verdict;

/// A check. It reads values from its context and answers with a verdict; what it may change is its own state in
/// the session's slices, in `observe`.
pub trait Guardrail: Send + Sync {
    /// Says what it thinks of an event.
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault>;

    /// Learns from an event, once it is decided. Called for the kinds of [`Guardrail::observes`], whether or not
    /// the guardrail was asked for a verdict; `effect` is the decision's.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let _ = (context, effect, changes);
        Ok(())
    }

    /// The kinds of event that [`Guardrail::observe`] is called for.
    fn observes(&self) -> &[EventKind] {
        &[]
    }

    /// The tools that it governs or learns from. Events without a tool concern every guardrail of their kind.
    fn tools(&self) -> Tools {
        Tools::All
    }

    /// The strongest effect that it can ask for. After a block, those that could not raise it are skipped.
    fn max_effect(&self) -> Effect {
        Effect::Halt
    }

    /// The strongest effect that it can ask for whatever a pack says of its objections. `then` is what follows where those
    /// who are asked about the event do not answer in time.
    fn timeout_effect(&self, on_timeout: Effect) -> Effect {
        let _ = on_timeout;
        Effect::Allow
    }

    /// What its objection asks for, where a pack says nothing else: shown to people. It may ask for more for other reasons.
    fn default_effect(&self) -> Effect {
        self.max_effect()
    }

    /// Whether its verdict has consequences beyond the effect (strikes, flags, alerts), so that it is never skipped.
    fn has_consequences(&self) -> bool {
        false
    }

    /// Whether it can ask for a retry at such an event, so that a success gives its tries back.
    fn can_retry(&self, at: EventKind) -> bool {
        let _ = at;
        matches!(self.max_effect(), Effect::Retry | Effect::Halt)
    }

    /// Whether it may put another text in place of a tool's result, before anyone else looks at it.
    fn can_rewrite(&self) -> bool {
        false
    }

    /// What it puts there. Asked about results alone, and before anyone is asked for a verdict.
    fn rewrite(&self, context: &Context<'_>) -> Result<Option<Rewrite>, Fault> {
        let _ = context;
        Ok(None)
    }

    /// What the engine has to know to ask somebody outside on its behalf: a script, a classifier, a judge.
    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    /// Whether answers on its behalf can come after the event that they are about.
    fn has_late_answers(&self) -> bool {
        false
    }

    /// Says what it thinks of an answer that came too late for the event that it was asked about.
    fn check_late_answer(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        let _ = (context, answer);
        Ok(Verdict::allow())
    }

    /// Says what it enforces, to an agent that will run under it.
    fn summary(&self) -> Option<String> {
        None
    }
}

/// Why a guardrail has no verdict, or not only one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// It lacks something that it needs to know.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// It failed after it had said this. The stronger of the two counts.
    #[error("{1}")]
    FailedAfter(Box<Verdict>, String),
}

/// A set of tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tools {
    /// Every tool.
    #[default]
    All,
    /// Those of these names or glob patterns.
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
    /// What may be used up.
    Budget,
    /// What may be touched.
    Scope,
    /// What the output has to be like.
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

/// What a guardrail that cannot answer asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFault {
    /// The action does not happen.
    #[default]
    Block,
    /// A person decides.
    Escalate,
    /// The action goes on. Only where a pack says so.
    Allow,
}

impl OnFault {
    /// The step of the ladder.
    pub fn effect(self) -> Effect {
        match self {
            OnFault::Block => Effect::Block,
            OnFault::Escalate => Effect::Escalate,
            OnFault::Allow => Effect::Allow,
        }
    }
}

/// A truth that depends on the context: a compiled expression, or a closure.
pub trait Condition: Send + Sync {
    /// Whether it holds. `Err`: not known, which counts as true.
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing>;
}

impl<F> Condition for F
where
    F: Fn(&Context<'_>) -> Result<bool, Missing> + Send + Sync,
{
    fn holds(&self, context: &Context<'_>) -> Result<bool, Missing> {
        self(context)
    }
}

/// Everything around a check: who it is, when it is asked, and what its answer leads to.
#[derive(Clone)]
pub struct Spec {
    /// The id, unique in a policy.
    pub id: Arc<str>,
    /// What it protects against, in a sentence.
    pub description: String,
    /// Lower runs first. Built-ins 1 to 99, custom ones 100 and above.
    pub priority: u32,
    /// Breaks ties of priority.
    pub category: Category,
    /// The kinds of event that it is asked about.
    pub on: Vec<EventKind>,
    /// The tools that it is asked about, on top of its own [`Guardrail::tools`].
    pub tools: Tools,
    /// The agents that it is asked about, by id, as glob patterns. Empty: all.
    pub agents: Vec<String>,
    /// The tasks that it is asked about, by id, as glob patterns. Empty: all.
    pub tasks: Vec<String>,
    /// The definition that it is bound to: it is asked about the events that this concerns.
    pub bound: Option<Arc<Definition>>,
    /// It applies while this holds.
    pub when: Option<Arc<dyn Condition>>,
    /// Replaces the effect of its objections.
    pub effect: Option<Effect>,
    /// Replaces the reason of its objections.
    pub reason: Option<String>,
    /// Replaces their advice.
    pub advice: Option<String>,
    /// Whether its verdicts have consequences.
    pub mode: Mode,
    /// What it asks for when it fails.
    pub on_error: OnFault,
    /// What it asks for when it lacks something that it needs to know.
    pub on_missing: OnFault,
    /// The warning of one task that becomes an escalation. 0: never.
    pub warn_limit: u32,
    /// Tries before `on_exhausted`.
    pub max_attempts: u32,
    /// What follows when the tries are used up. `None`: a person decides, and an agent that wants to stop may do so with
    /// a warning.
    pub on_exhausted: Option<OnFault>,
    /// The role that decides its escalations.
    pub approver: String,
    /// Seconds until an unanswered escalation becomes a block.
    pub approval_timeout_s: u32,
    /// Its state is kept for each prompt of a session apart.
    pub per_prompt: bool,
    /// Whether and by whom it can be lifted for one action.
    pub bypass: Bypass,
    /// Where tasks have a level of risk, the lowest one at which it is asked. `None`: it is asked at every level.
    pub from_risk: Option<Risk>,
    /// Consequences of its objections beyond their effect: `increment_strike`, `flag_trajectory`, `emit_alert`.
    pub effects: Vec<String>,
    /// Milliseconds that probes have for what it needs to know. `None`: as long as they take.
    pub within_ms: Option<u64>,
    /// Its author named no effect, so that of its objections follows from the task's risk.
    pub effect_by_risk: bool,
    /// Nobody switches it off, and nobody pauses it.
    pub always_on: bool,
}

/// Whether and by whom a guardrail can be lifted for one action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Bypass {
    /// By nobody.
    Never,
    /// By an emergency override alone.
    #[default]
    Emergency,
    /// By someone of this role.
    By(String),
}

impl Spec {
    /// The spec of a custom guardrail that is asked before each tool call.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Spec {
            id: id.into(),
            description: String::new(),
            priority: 100,
            category: Category::default(),
            on: vec![EventKind::BeforeTool],
            tools: Tools::All,
            agents: Vec::new(),
            tasks: Vec::new(),
            bound: None,
            when: None,
            effect: None,
            reason: None,
            advice: None,
            mode: Mode::Enforce,
            on_error: OnFault::Block,
            on_missing: OnFault::Block,
            warn_limit: 3,
            max_attempts: 3,
            on_exhausted: None,
            approver: "reviewer".to_owned(),
            approval_timeout_s: 30 * 60,
            per_prompt: false,
            bypass: Bypass::default(),
            from_risk: None,
            effects: Vec::new(),
            within_ms: None,
            effect_by_risk: false,
            always_on: false,
        }
    }
}
