//! A guardrail in a pack: raw types that mirror the text.

use std::collections::BTreeMap;
use std::fmt;

use midrail_core::{Category, Effect, EventKind, Mode, OnFault};
use midrail_guardrails::{
    CedarSettings, Completion, DeepSettings, Feedback, Freshness, NewFiles, OwnWrites, ReadBeforeWrite,
    Redact, Script, Seconds, present,
};
use schemars::{JsonSchema, Schema, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::raw::calls::{CallsText, CommandText, CountText};
use crate::raw::flow::FlowText;
use crate::raw::gateway::Consequence;
use crate::scalar::OneOrMany;

/// A guardrail: its check (one of `use`, `check`, `read_before_write`, `require_before`, `sequential`, `keyed`,
/// `rules`, `count`, `flow`, `redact`, `modify`, `feedback`, `completion`, `script`, `cedar`, `deep`), when it applies, and the effect of a violation. Without a check, every event that it applies to is a
/// violation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = or_name)]
pub struct Guard {
    /// Its id, unique in the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
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
    /// An expression that must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Files must be read before they are changed.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<ReadBeforeWrite>")]
    pub read_before_write: Option<ReadBeforeWrite>,
    /// Tools that must succeed before a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_before: Option<RequireBefore>,
    /// Prerequisites of several tools: tool to prerequisites, all of which are needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequential: Option<BTreeMap<String, OneOrMany>>,
    /// Prerequisites of several tools, one of which is needed with the same key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyed: Option<Vec<RequireBefore>>,
    /// Several rules with one id; the first violated rule decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<Rule>>,
    /// The most calls, counted per tool, command or key, within a time, or since another call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<CountText>,
    /// What an agent may not do after it has seen labelled text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowText>,
    /// Parts of texts that are replaced: patterns of texts, or findings of detectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redact: Option<Redact>,
    /// Changes of the call before it is made: `args.NAME: VALUE`, or `add: WORD` for its commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modify: Option<BTreeMap<String, Value>>,
    /// Feedback that the agent receives with the results of its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What an agent must complete before it stops.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(with = "Option<Completion>")]
    pub completion: Option<Completion>,
    /// Hooks in JavaScript: a file, or the script itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    /// Cedar policies that must permit the event. Needs a build with the feature `cedar`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cedar: Option<CedarSettings>,
    /// An external service that is called. `check` is a condition on the `answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep: Option<DeepSettings>,

    /// The kinds of event that it applies to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<crate::words::KindWord>")]
    pub on: OneOrMany<EventKind>,
    /// The tools that it applies to: names or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: OneOrMany,
    /// The commands that it applies to: `git push`, or `{program: npm, subcommand: publish}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: OneOrMany<CommandText>,
    /// The commands among them that it does not apply to: `npm publish --dry-run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: OneOrMany<CommandText>,
    /// The agents that it applies to, by id: names or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: OneOrMany,
    /// The tasks that it applies to, by id: names or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: OneOrMany,
    /// An expression: the guardrail applies if it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Lower runs first. Custom guardrails have 100 and above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Breaks ties of priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,

    /// The effect of a violation.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "crate::words::effect")]
    #[schemars(with = "Option<crate::words::EffectWord>")]
    pub effect: Option<Effect>,
    /// The reason for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the agent should do instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The message to the user (`halt`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// The message for the next attempt (`retry`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrective_message: Option<String>,
    /// The box that a call runs in (`contain`): `default` unless set.
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Further consequences of a violation: `increment_strike`, `flag_trajectory`, `emit_alert`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: OneOrMany<Consequence>,
    /// The timeout for the facts that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
    /// `shadow`: its verdicts are recorded but not enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Lower layers cannot loosen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<bool>,
    /// The effect if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnFault>,
    /// The effect if a fact is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_missing: Option<OnFault>,
    /// The number of warnings of one task after which a warning becomes an escalation. 0: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warn_limit: Option<u32>,
    /// Attempts before `on_exhausted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The effect after the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnFault>,
    /// The role that decides its escalations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// How long its escalations wait until they become a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_timeout: Option<Seconds>,
    /// Whether its state belongs to the session or to each prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<StateScope>,
    /// Whether it can be bypassed for one action, and who decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypass: Option<Bypass>,
}

/// The scope of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateScope {
    /// The session.
    #[default]
    Session,
    /// Each prompt of a session.
    Prompt,
}

/// Whether a guardrail can be bypassed for one action, and who decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bypass {
    /// Whether it can be bypassed.
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
    /// Tools that must succeed before a tool.
    pub require_before: RequireBefore,
}

/// Tools that must succeed before a tool: all of `requires`, or with a `key` any of them with the same key, or with `reads`
/// a read of the file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequireBefore {
    /// The gated tools: names or glob patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool: OneOrMany,
    /// The gated commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: OneOrMany<CommandText>,
    /// The prerequisites: tools, commands, or changes of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "any_of")]
    pub requires: OneOrMany<CallsText>,
    /// Calls after which the prerequisites must succeed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<CallsText>,
    /// The reading tools: read-before-write for this tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: OneOrMany,
    /// The source of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeySource>,
    /// With `reads`: whether new files may be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_files: Option<NewFiles>,
    /// With `reads`: whether a read becomes stale when the file changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Freshness>,
    /// With `reads`: whether the agent's own writes count as reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_writes: Option<OwnWrites>,
    /// With `reads`: the prefix under which the agent sees the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
}

/// The source of a key: an argument, the first present one of several, or an expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected the name of an argument, a list of names, or `{expression: …}`"
)]
pub enum KeySource {
    /// Arguments; the first present one counts.
    Args(OneOrMany),
    /// An expression.
    Expression {
        /// The expression; its value is the key.
        expression: String,
    },
}

/// Guardrails as maps or bare names.
pub(crate) fn guards<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Guard>, D::Error> {
    struct Item(Guard);

    impl<'de> Deserialize<'de> for Item {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct NameOrMap;

            impl<'de> Visitor<'de> for NameOrMap {
                type Value = Item;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("the name of a guardrail or a map that describes one")
                }

                fn visit_str<E: Error>(self, name: &str) -> Result<Item, E> {
                    Ok(Item(Guard { uses: Some(name.to_owned()), ..Guard::default() }))
                }

                fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Item, A::Error> {
                    Guard::deserialize(MapAccessDeserializer::new(map)).map(Item)
                }
            }

            deserializer.deserialize_any(NameOrMap)
        }
    }

    let items = Vec::<Item>::deserialize(deserializer)?;
    Ok(items.into_iter().map(|Item(guard)| guard).collect())
}

/// The completion of a definition as a guardrail: its settings, and some keys of the guardrail.
pub(crate) fn completion_guard<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Guard>, D::Error> {
    const GUARDRAIL_KEYS: &[&str] =
        &["id", "max_attempts", "on_exhausted", "when", "mode", "reason", "advice", "approver"];
    let Some(mut rest) = Option::<serde_json::Map<String, serde_json::Value>>::deserialize(deserializer)?
    else {
        return Ok(None);
    };
    // A serialized definition contains the guardrail itself.
    if !rest.contains_key("completion") {
        let mut guard = serde_json::Map::new();
        for name in GUARDRAIL_KEYS {
            guard.extend(rest.remove(*name).map(|value| ((*name).to_owned(), value)));
        }
        guard.insert("completion".to_owned(), rest.into());
        rest = guard;
    }
    Guard::deserialize(serde_json::Value::Object(rest)).map(Some).map_err(D::Error::custom)
}

/// The schema of a guardrail or a bare name.
fn or_name(schema: &mut Schema) {
    let map = std::mem::take(schema);
    *schema = json_schema!({"anyOf": [{"type": "string", "description": "The name of a built-in guardrail."}, map]});
}
