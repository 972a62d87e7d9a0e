//! The native pack as it is written: raw types that mirror the text. What they mean is settled in `compile`.

mod budgets;
mod gateway;

use std::collections::BTreeMap;

use midrail_core::{Category, Effect, EventKind, Mode, OnFault, Risk, Scope};
use midrail_guardrails::{
    Completion, DeepSettings, Feedback, Freshness, NewFiles, OwnWrites, ReadBeforeWrite, Script,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use budgets::Budgets;

use crate::case::Case;
use crate::scalar::{OneOrMany, Seconds, TextOrNumber, TimeOrDuration, amount, completing, guards, present};

pub use gateway::{Consequence, RiskRouter, Scripts, StrikeLimit, TimeoutWord};

/// A pack: a versioned file of guardrails and settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    /// The pack's name.
    pub pack: String,
    /// Its version, in words of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<TextOrNumber>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `shadow`: verdicts are recorded and have no consequences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// No lower layer may loosen its guardrails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lock: bool,
    /// Packs that this one builds on: files relative to it, or names of shipped packs.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub extends: OneOrMany,
    /// Overlays by environment: a deep merge onto the pack. Guardrails and other things with an `id` are merged by
    /// id, other lists are replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Value>,
    /// Settings for all guardrails of the pack that do not say otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub defaults: Defaults,
    /// When every run has to be finished: a time, or how long after the first event of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeOrDuration>,
    /// What every run may use up: `tokens`, `time`, `api_calls`, `cost`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub budgets: Budgets,
    /// Definitions of agents: who they are, what they may touch and spend.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentDefinition>,
    /// Definitions of tasks: their scope and budgets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, TaskDefinition>,
    /// The guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "guards")]
    pub guardrails: Vec<Guard>,
    /// Who answers what guardrails put to people. Of several layers the highest that says so counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<ApprovalRules>,
    /// Where notices go, by whom they are for: `orchestrator`, or the role of a person.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notify: BTreeMap<String, Channel>,
    /// Alerts on what the guardrails do over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<AlertRule>,
    /// How much can go wrong with a tool, by name or glob pattern.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_risks: BTreeMap<String, Risk>,
    /// How long deep guardrails are waited for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub risk_router: RiskRouter,
    /// What strikes lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strikes: Vec<StrikeLimit>,
    /// What holds for the scripts that lie beside the packs. Of several layers the highest that says so counts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scripts: Scripts,
    /// Cases that the pack has to decide as they say: `midrail test`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Case>,
}

impl Pack {
    /// The scripts that its guardrails are.
    pub fn scripts_mut(&mut self) -> impl Iterator<Item = &mut Script> {
        let agents = self.agents.values_mut().flat_map(|agent| {
            let sections = agent.sections.values_mut().flat_map(|section| &mut section.guardrails);
            agent.guardrails.iter_mut().chain(sections)
        });
        self.guardrails.iter_mut().chain(agents).filter_map(|guard| guard.script.as_mut())
    }
}

/// Settings for all guardrails of a pack that do not say otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// What a guardrail that fails asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnFault>,
    /// What a guardrail that lacks a fact asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_missing: Option<OnFault>,
    /// The warning of one task that becomes an escalation. 0: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_limit: Option<u32>,
    /// Tries before `on_exhausted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// What follows when the tries are used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnFault>,
    /// The role that decides escalations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// How long an escalation waits before it becomes a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_timeout: Option<Seconds>,
}

/// The definition that an agent is run with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// Ids of the agents that it holds for: names or glob patterns.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub id: OneOrMany,
    /// The role that it holds for. Without `id` and `role`, it is the definition's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Ids of the tasks that it holds for: names or glob patterns.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub task_ids: OneOrMany,
    /// What the agent can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// The tools it may call. Absent: no limit. Empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that are added to those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_tools: Option<Vec<String>>,
    /// How much it may decide by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_level: Option<Value>,
    /// What is to be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// How much can go wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Which files it may touch.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::words::scope")]
    #[schemars(with = "Option<crate::words::StrictScope>")]
    pub scope: Option<Scope>,
    /// Tokens it may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// Time it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget: Option<Seconds>,
    /// Calls to the outside it may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_call_budget: Option<u64>,
    /// Money it may spend.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "amount")]
    #[schemars(range(min = 0))]
    pub cost_budget: Option<f64>,
    /// When its runs have to be finished: a time, or how long after the first event of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeOrDuration>,
    /// What it has to have done when it stops: the settings of `completion`, and beside them `id`, `max_attempts`,
    /// `on_exhausted`, `when`, `mode`, `reason`, `advice`, `approver` of the guardrail.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "completing")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub completion: Option<Guard>,
    /// Guardrails for this agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "guards")]
    pub guardrails: Vec<Guard>,
    /// What it is told from time to time, with the results of its calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<Provider>,
    /// Parts of the definition with tools and guardrails of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<String, Section>,
}

impl AgentDefinition {
    /// The role that it holds for, where it is called `name`.
    pub fn role_or<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.role.as_deref().or_else(|| self.id.is_empty().then_some(name))
    }
}

/// A feedback provider of a definition: a guardrail of which the pack writes the feedback alone.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema)]
#[schemars(transparent)]
pub struct Provider(#[schemars(with = "Feedback")] pub Guard);

impl<'de> Deserialize<'de> for Provider {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let feedback = Feedback::deserialize(deserializer)?;
        Ok(Provider(Guard { feedback: Some(feedback), ..Guard::default() }))
    }
}

impl Serialize for Provider {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.feedback.serialize(serializer)
    }
}

/// A part of a definition: its guardrails govern its tools, and learn from the results of all tools.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The section's tools: names or glob patterns.
    pub tools: OneOrMany,
    /// Its guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "guards")]
    pub guardrails: Vec<Guard>,
}

/// The definition of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskDefinition {
    /// Ids of the tasks that it holds for: names or glob patterns. Without any, it is the definition's name.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub id: OneOrMany,
    /// What is to be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// How much can go wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Which files may be touched.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::words::scope")]
    #[schemars(with = "Option<crate::words::StrictScope>")]
    pub scope: Option<Scope>,
    /// Tokens that may be spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// Time that may be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget: Option<Seconds>,
    /// Calls to the outside that may be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_call_budget: Option<u64>,
    /// Money that may be spent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "amount")]
    #[schemars(range(min = 0))]
    pub cost_budget: Option<f64>,
    /// When it has to be finished: a time, or how long after the first event of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeOrDuration>,
    /// Tools that the task adds to those of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_tools: Option<Vec<String>>,
}

/// A guardrail: what it checks (one of `use`, `check`, `read_before_write`, `require_before`, `sequential`, `keyed`,
/// `rules`, `feedback`, `completion`, `script`, `deep`), when it applies, and what its objection leads to. One that checks nothing objects whenever it applies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = crate::scalar::or_text)]
pub struct Guard {
    /// Its id, unique in the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it protects against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Off with `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,

    /// A built-in guardrail, by id or name.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    pub uses: Option<String>,
    /// The settings of that built-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Value>,
    /// An expression that has to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Files must be read before they are changed.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<ReadBeforeWrite>")]
    pub read_before_write: Option<ReadBeforeWrite>,
    /// A tool needs others to have succeeded first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_before: Option<RequireBefore>,
    /// Several tools need others first: tool to prerequisites, all of which are needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequential: Option<BTreeMap<String, OneOrMany>>,
    /// Several tools need any one of others first, with the same key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyed: Option<Vec<RequireBefore>>,
    /// Several rules under one id; the first that denies speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<Rule>>,
    /// Something that the agent is told from time to time, with the results of its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What an agent has to have done when it stops.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<Completion>")]
    pub completion: Option<Completion>,
    /// Hooks in JavaScript: a file, or the script itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    /// Somebody outside who is asked. `check` says what has to hold of the `answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep: Option<DeepSettings>,

    /// The kinds of event that it is asked about.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    #[schemars(with = "OneOrMany<crate::words::KindWord>")]
    pub on: OneOrMany<EventKind>,
    /// The tools that it is asked about: names or glob patterns.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub tools: OneOrMany,
    /// The agents that it is asked about, by id: names or glob patterns.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub agents: OneOrMany,
    /// The tasks that it is asked about, by id: names or glob patterns.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub tasks: OneOrMany,
    /// An expression: the guardrail applies while it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Lower runs first. Custom guardrails have 100 and above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Breaks ties of priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,

    /// What its objection leads to.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "crate::words::effect")]
    #[schemars(with = "Option<crate::words::EffectWord>")]
    pub effect: Option<Effect>,
    /// What the agent is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the agent should do instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What the user is told (`halt`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// What the agent is told for its next try (`retry`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrective_message: Option<String>,
    /// What its objection leads to beyond that: `increment_strike`, `flag_trajectory`, `emit_alert`.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub effects: OneOrMany<Consequence>,
    /// How long it may take to find out what it needs to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
    /// `shadow`: its verdicts are recorded and have no consequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// No lower layer may loosen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<bool>,
    /// What it asks for when it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnFault>,
    /// What it asks for when it lacks a fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_missing: Option<OnFault>,
    /// The warning of one task that becomes an escalation. 0: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warn_limit: Option<u32>,
    /// Tries before `on_exhausted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// What follows when the tries are used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnFault>,
    /// The role that decides its escalations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// How long its escalations wait before they become a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_timeout: Option<Seconds>,
    /// Whether its state is kept for the session or for each prompt apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<StateScope>,
    /// Whether and by whom it can be lifted for one action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypass: Option<Bypass>,
}

/// What state is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateScope {
    /// The session.
    #[default]
    Session,
    /// Each prompt of a session apart.
    Prompt,
}

/// Whether and by whom a guardrail can be lifted for one action.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bypass {
    /// Whether it can be lifted.
    #[serde(default)]
    pub allowed: bool,
    /// The role that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_approval: Option<String>,
    /// Always true: every bypass is audited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_required: Option<bool>,
}

/// One rule of a rule set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A tool needs others to have succeeded first.
    pub require_before: RequireBefore,
}

/// A tool needs others to have succeeded first: all of `requires`, or with a `key` any of them with the same key, or
/// with `reads` the file itself to have been read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequireBefore {
    /// The gated tools: names or glob patterns.
    pub tool: OneOrMany,
    /// The prerequisites: names or glob patterns.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty", alias = "any_of")]
    pub requires: OneOrMany,
    /// The reading tools: read-before-write for this tool.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub reads: OneOrMany,
    /// Where the key comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeySource>,
    /// With `reads`: whether a file that does not exist yet may be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_files: Option<NewFiles>,
    /// With `reads`: whether a read grows stale when the file changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Freshness>,
    /// With `reads`: whether what the agent wrote itself counts as read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_writes: Option<OwnWrites>,
    /// With `reads`: the prefix under which the agent sees the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
}

/// Where a key comes from: an argument, the first present of several, or an expression.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum KeySource {
    /// Arguments, of which the first present one counts.
    Args(OneOrMany),
    /// An expression.
    Expression {
        /// The expression; its value is the key.
        expression: String,
    },
}

/// An alert: what is told to whom once a figure passes a bound.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertRule {
    /// Its name, unique in the pack.
    pub name: String,
    /// A figure compared with a number, such as `block_rate > 30% over 10 minute window`.
    pub condition: String,
    /// What is to be done: `log warning`, or `notify ROLE` (several joined by commas or `and`).
    pub action: String,
    /// How long it stays quiet after it was told, 10 minutes unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Seconds>,
}

/// Who answers what guardrails put to people, and what holds in an emergency in which nobody does.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRules {
    /// Roles, each with more authority than the one before: reviewer, architect, human_operator unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// Roles that may lift a guardrail once half of the budget is used: architect, human_operator unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisors: Option<Vec<String>>,
    /// Roles of people, who alone may lift a guardrail when next to nothing is left: human_operator unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub humans: Option<Vec<String>>,
    /// How long each authority has to answer a request to lift a guardrail, 15 minutes unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass_timeout: Option<Seconds>,
    /// An emergency that nobody answers lifts a guardrail by itself. Absent: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emergency: Option<EmergencyRule>,
}

/// What an emergency override is for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmergencyRule {
    /// An expression: the actions that stop harm, such as `tool.name == 'stop_service'`. Let it name the whole action: a
    /// command line can hold more than the program that it begins with.
    pub only_for: String,
    /// How long somebody may answer before it is granted, 60 seconds unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Seconds>,
    /// When a person must have looked at what was done, 24 hours unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_within: Option<Seconds>,
}

/// Where notices go. They are kept in the store as well, whatever stands here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// An address that is sent each notice as JSON, by POST: `https://…` or `http://…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// A command that is started for each notice, with the notice as JSON on its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether it goes to the program's log, `true` unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<bool>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
