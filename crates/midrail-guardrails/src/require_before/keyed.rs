//! Requires one of several prerequisites to have succeeded with the same key before a tool is called.

use std::sync::Arc;

use midrail_core::{Tools, glob};
use serde_json::{Value, json};

use crate::prelude::*;
use crate::shared::objections::first_verdict;
use crate::shared::text::plain_text;

/// Rules with keys.
#[derive(Clone, Default)]
pub struct KeyedDependency {
    /// The rules.
    pub rules: Vec<KeyedRule>,
}

/// One rule: `tool` with a key needs one of `prerequisites` with the same key.
#[derive(Clone)]
pub struct KeyedRule {
    /// The restricted tool: a name or glob pattern.
    pub tool: String,
    /// The prerequisites, of which one is needed: names or glob patterns.
    pub prerequisites: Vec<String>,
    /// The source of the key.
    pub key: CallKey,
}

/// The source of the key of a call. A call without a key is not checked.
#[derive(Clone)]
pub enum CallKey {
    /// The first of these arguments that the call has.
    Args(Vec<String>),
    /// A computed key: an expression of a pack, or a closure.
    Computed(Arc<ComputeCallKey>),
}

/// Computes the key of a call. `Ok(None)`: it has none.
pub type ComputeCallKey = dyn Fn(&Context<'_>) -> Result<Option<String>, Missing> + Send + Sync;

impl CallKey {
    fn for_call(&self, context: &Context<'_>) -> Result<Option<String>, Missing> {
        match self {
            CallKey::Args(names) => {
                let args = context.event.tool.as_ref().map(|tool| &tool.args);
                let value = |name| args?.get(name).filter(|value: &&Value| !value.is_null());
                Ok(names.iter().find_map(value).map(|value| plain_text(value).into_owned()))
            }
            CallKey::Computed(compute) => compute(context),
        }
    }
}

impl Guardrail for KeyedDependency {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let tool = context.tool()?;
        let rules = self.rules.iter().enumerate().filter(|(_, rule)| glob::name_matches(&rule.tool, tool));
        first_verdict(rules.map(|(number, rule)| {
            let unmet = rule.unmet_key(&context.part(&number.to_string()))?;
            Ok(unmet.map(|key| rule.denial(tool, &key)))
        }))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(tool) = context.event.tool_name() else { return Ok(()) };
        if !context.succeeded(effect)? {
            return Ok(());
        }
        for (number, rule) in self.rules.iter().enumerate() {
            let context = &context.part(&number.to_string());
            let matching = rule.prerequisites.iter().filter(|pattern| glob::name_matches(pattern, tool));
            for prerequisite in matching {
                if let Some(key) = rule.key.for_call(context)? {
                    done_key(context, prerequisite, &key).write(changes, &true)?;
                }
            }
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn tools(&self) -> Tools {
        Tools::only(
            self.rules
                .iter()
                .flat_map(|rule| std::iter::once(&rule.tool).chain(&rule.prerequisites))
                .cloned(),
        )
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        let rules: Vec<String> = self
            .rules
            .iter()
            .map(|KeyedRule { tool, prerequisites, key }| {
                let key = match key {
                    CallKey::Args(names) => names.join(" or "),
                    CallKey::Computed(_) => "key".to_owned(),
                };
                let list = prerequisites.join(", ");
                format!(
                    "Before you call {tool}, one of these must have succeeded for the same {key}: {list}."
                )
            })
            .collect();
        Some(rules.join(" "))
    }
}

impl KeyedRule {
    /// The key of a call for which no prerequisite has succeeded. `None`: one has, or the call has no key.
    fn unmet_key(&self, context: &Context<'_>) -> Result<Option<String>, Missing> {
        let Some(key) = self.key.for_call(context)? else { return Ok(None) };
        let prerequisites = self.prerequisites.iter();
        let done: Vec<_> = prerequisites.map(|it| done_key(context, it, &key).exists(context)).collect();
        if done.contains(&Ok(true)) {
            return Ok(None);
        }
        done.into_iter().find_map(Result::err).map_or(Ok(Some(key)), Err)
    }

    fn denial(&self, tool: &str, key: &str) -> Verdict {
        let mut prerequisites = self.prerequisites.clone();
        prerequisites.sort_unstable();
        let list = prerequisites.join(", ");
        Verdict::block(format!(
            "Tool '{tool}' with key '{key}' requires prior invocation of one of: {list} with the same key."
        ))
        .advise(format!("Call one of {list} for '{key}' first, then call {tool} again."))
        .with("tool", tool)
        .with("key", key)
        .with("prerequisites", json!(prerequisites))
    }
}

/// The slice that records that a prerequisite succeeded with a key. The length of the prerequisite's name makes the
/// slice's name unambiguous.
fn done_key(context: &Context<'_>, prerequisite: &str, key: &str) -> Key<bool> {
    Key::own(context, &format!("key/{}:{prerequisite}/{key}", prerequisite.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;

    fn commits() -> KeyedDependency {
        let rule = KeyedRule {
            tool: "commit".into(),
            prerequisites: vec!["test".into(), "lint".into()],
            key: CallKey::Args(vec!["repo".into(), "repository".into()]),
        };
        KeyedDependency { rules: vec![rule] }
    }

    #[test]
    fn one_prerequisite_with_the_same_key_is_enough() {
        let mut run = Run::of(commits());
        let decision = run.before("commit", json!({"repo": "x"}));
        assert_eq!(
            decision.reason,
            "Tool 'commit' with key 'x' requires prior invocation of one of: lint, test with the same key."
        );
        assert_eq!(decision.metadata["prerequisites"], json!(["lint", "test"]));
        run.succeed("test", json!({"repository": "x"}));
        assert_eq!(run.before("commit", json!({"repo": "x"})).effect, Effect::Allow);
        assert_eq!(run.before("commit", json!({"repo": "y"})).effect, Effect::Block);
    }

    #[test]
    fn call_without_a_key_is_not_checked() {
        assert_eq!(Run::of(commits()).before("commit", json!({"branch": "x"})).effect, Effect::Allow);
    }

    #[test]
    fn numbers_are_valid_keys() {
        let mut run = Run::of(commits());
        run.succeed("lint", json!({"repo": 7}));
        assert_eq!(run.before("commit", json!({"repo": "7"})).effect, Effect::Allow);
    }
}
