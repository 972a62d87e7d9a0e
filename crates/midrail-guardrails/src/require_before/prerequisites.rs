//! Requires calls to have succeeded before another call: tests before a deployment, a review before a merge.

use std::sync::Arc;

use midrail_core::Tools;
use midrail_core::visible::{visible, visible_start};
use serde_json::{Value, json};

use crate::prelude::*;
use crate::shared::calls::Calls;
use crate::shared::objections::{all, first_verdict};
use crate::shared::text::plain_text;

/// Rules about the order of calls.
#[derive(Clone, Default)]
pub struct Prerequisites {
    /// The rules.
    pub rules: Vec<PrerequisiteRule>,
}

/// One rule: a call of `gate` needs all of `requires`, or with a key one of them with the same key.
#[derive(Clone)]
pub struct PrerequisiteRule {
    /// The restricted calls.
    pub gate: Calls,
    /// What must have succeeded.
    pub requires: Vec<Calls>,
    /// The source of the key.
    pub key: Option<CallKey>,
    /// Calls after which the prerequisites must succeed again.
    pub since: Option<Calls>,
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

impl Prerequisites {
    /// A rule without a key.
    pub fn new<C: Into<Calls>>(gate: impl Into<Calls>, requires: impl IntoIterator<Item = C>) -> Self {
        let requires = requires.into_iter().map(Into::into).collect();
        Prerequisites {
            rules: vec![PrerequisiteRule { gate: gate.into(), requires, key: None, since: None }],
        }
    }

    /// The rules with their contexts. Rules without a key share their state.
    fn parts<'r, 'a>(
        &'r self,
        context: &Context<'a>,
    ) -> impl Iterator<Item = (&'r PrerequisiteRule, Context<'a>)> {
        self.rules.iter().enumerate().map(|(number, rule)| {
            let is_apart = rule.key.is_some() || rule.since.is_some();
            (rule, if is_apart { context.part(&number.to_string()) } else { context.same() })
        })
    }
}

impl Guardrail for Prerequisites {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        context.tool()?;
        first_verdict(self.parts(context).map(|(rule, context)| {
            if rule.gate.contain(&context)? { rule.objection(&context) } else { Ok(None) }
        }))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if context.event.tool_name().is_none() {
            return Ok(());
        }
        let outcomes: Vec<Result<(), Missing>> =
            self.parts(context).map(|(rule, context)| rule.observe(&context, effect, changes)).collect();
        outcomes.into_iter().collect::<Result<(), Missing>>().map_err(Fault::from)
    }

    fn observes(&self) -> &[EventKind] {
        if self.rules.iter().any(|rule| rule.since.is_some()) { CALLS } else { &[EventKind::AfterTool] }
    }

    fn tools(&self) -> Tools {
        let sets = |rule: &PrerequisiteRule| {
            [&rule.gate].into_iter().chain(&rule.requires).chain(&rule.since).cloned().collect::<Vec<_>>()
        };
        Calls::tools(&self.rules.iter().flat_map(sets).collect::<Vec<_>>())
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        let rules: Vec<String> = self.rules.iter().map(PrerequisiteRule::summary).collect();
        Some(rules.join(" "))
    }
}

impl PrerequisiteRule {
    /// The objection to a call of `gate`.
    fn objection(&self, context: &Context<'_>) -> Result<Option<Verdict>, Missing> {
        let key = match &self.key {
            Some(key) => match key.for_call(context)? {
                Some(key) => Some(key),
                None => return Ok(None),
            },
            None => None,
        };
        // What the call's own line does before the gate happens after all that has succeeded.
        if let Some(since) = &self.since
            && since.precede(&self.gate, context)?
        {
            let denial = self.denial(context, &self.requires, key.as_deref());
            return Ok(Some(denial.advise(format!(
                "This call makes {} itself. Do that in a call of its own, then run {}, then repeat the rest.",
                since.name(),
                self.requires.iter().map(Calls::name).collect::<Vec<_>>().join(", ")
            ))));
        }
        // All slices are requested before the first one is missing, so that they are loaded together.
        let done = self.requires.iter().map(|calls| self.is_done(context, calls, key.as_deref()));
        if key.is_some() {
            let done: Vec<_> = done.collect();
            return match done
                .into_iter()
                .reduce(|one, other| if one == Ok(true) { one } else { other.or(one) })
            {
                Some(Ok(true)) => Ok(None),
                Some(Err(missing)) => Err(missing),
                Some(Ok(false)) | None => Ok(Some(self.denial(context, &self.requires, key.as_deref()))),
            };
        }
        let done: Vec<bool> = all(done)?;
        let missing =
            self.requires.iter().zip(done).filter(|(_, done)| !done).map(|(calls, _)| calls.clone());
        let missing: Vec<Calls> = missing.collect();
        Ok((!missing.is_empty()).then(|| self.denial(context, &missing, None)))
    }

    fn denial(&self, context: &Context<'_>, missing: &[Calls], key: Option<&str>) -> Verdict {
        let tool = context.event.tool_name().unwrap_or_default();
        let shown_tool = visible(tool);
        let mut names: Vec<String> = missing.iter().map(Calls::name).collect();
        names.sort_unstable();
        names.dedup();
        let list = names.join(", ");
        let (subject, again) = match &self.gate {
            Calls::Tool(_) => (format!("Tool '{shown_tool}'"), format!("call {shown_tool} again")),
            gate => (gate.name(), "repeat the call".to_owned()),
        };
        let since = self.since.as_ref().map(|calls| format!(" since {}", last(calls))).unwrap_or_default();
        let verdict = match key {
            Some(key) => {
                let shown = visible_start(key, MAX_KEY);
                Verdict::block(format!(
                    "{subject} with key '{shown}' requires prior invocation of one of: {list} with the same key{since}."
                ))
                .advise(format!("Call one of {list} for '{shown}' first, then {again}."))
                .with("key", key)
                .with("prerequisites", json!(names))
            }
            None => Verdict::block(format!("{subject} requires prior invocation of: {list}{since}"))
                .advise(self.advice(missing, &list, &again))
                .with("missing", json!(names)),
        };
        verdict.with("tool", tool)
    }

    fn advice(&self, missing: &[Calls], list: &str, again: &str) -> String {
        if missing.iter().any(|calls| matches!(calls, Calls::Commands(_))) {
            format!(
                "Run {list} by its name, in the project, and in a call that fails if it fails (not followed by `;`, `|` or `||`), \
                 then {again}."
            )
        } else {
            format!("Call {list} first, then {again}.")
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Missing> {
        let is_before = context.event.kind == EventKind::BeforeTool;
        let mut number = None;
        if let Some(since) = &self.since {
            let before = number_key(context).read_changed(context, changes)?.unwrap_or(0);
            number = Some(before);
            if (!is_before || effect.allows()) && since.may_contain(context)? {
                number_key(context).write(changes, &before.saturating_add(1))?;
            }
        }
        let has_succeeded = !is_before && context.succeeded(effect)?;
        // Without `since`, only a success matters. A call that is blocked does not begin.
        if (number.is_none() && !has_succeeded) || (is_before && effect >= Effect::Block) {
            return Ok(());
        }
        let key = match &self.key {
            Some(key) => match key.for_call(context)? {
                Some(key) => Some(key),
                None => return Ok(()),
            },
            None => None,
        };
        for calls in &self.requires {
            if !calls.are_proven(context)? {
                continue;
            }
            let slice = done_key(context, calls, key.as_deref());
            let Some(number) = number else {
                slice.write(changes, &Value::Bool(true))?;
                continue;
            };
            // What counts is what had happened when the call began.
            let begun_key = Key::<BegunCalls>::new(format!("{}/calls", slice.name()));
            let mut begun = begun_key.read(context)?.unwrap_or_default();
            let id = context.event.call_id().unwrap_or_default();
            if is_before {
                begun.begin(id, number_key(context).read_changed(context, changes)?.unwrap_or(0));
            } else {
                let is_complete = begun.0.len() < MAX_BEGUN;
                let start = begun.end(id, has_succeeded).or(is_complete.then_some(number));
                if let Some(start) = start.filter(|_| has_succeeded) {
                    slice.write(changes, &start.into())?;
                }
            }
            if begun.0.is_empty() {
                begun_key.remove(changes);
            } else {
                begun_key.write(changes, &begun)?;
            }
        }
        Ok(())
    }

    /// Whether a prerequisite has succeeded, and since the last call of `since`.
    fn is_done(&self, context: &Context<'_>, calls: &Calls, key: Option<&str>) -> Result<bool, Missing> {
        let done = done_key(context, calls, key);
        if self.since.is_none() {
            return done.exists(context);
        }
        let (done, number) = (done.read(context), number_key(context).read(context));
        let number = number?.unwrap_or(0);
        Ok(done?.and_then(|done| done.as_u64()) == Some(number))
    }

    fn summary(&self) -> String {
        let gate = self.gate.name();
        let list = self.requires.iter().map(Calls::name).collect::<Vec<_>>().join(", ");
        let since = self.since.as_ref().map(|calls| format!(" since {}", last(calls))).unwrap_or_default();
        match &self.key {
            None => format!("Before you call {gate}, these must have succeeded{since}: {list}."),
            Some(key) => {
                let key = match key {
                    CallKey::Args(names) => names.join(" or "),
                    CallKey::Computed(_) => "key".to_owned(),
                };
                format!(
                    "Before you call {gate}, one of these must have succeeded for the same {key}{since}: {list}."
                )
            }
        }
    }
}

/// The most calls of a prerequisite that run at the same time.
const MAX_BEGUN: usize = 32;

/// The most characters of a key in a message.
const MAX_KEY: usize = 200;

/// Calls of a prerequisite that have begun and not ended: the id of each, and the number of calls of `since` at that time.
#[derive(Debug, Default, Serialize, Deserialize)]
struct BegunCalls(Vec<(String, u64)>);

impl BegunCalls {
    fn begin(&mut self, id: &str, number: u64) {
        self.0.retain(|(other, _)| id.is_empty() || other != id);
        if self.0.len() >= MAX_BEGUN {
            self.0.remove(0);
        }
        self.0.push((id.to_owned(), number));
    }

    /// Removes a call that has ended. Of several without an id, the oldest one counts as successful, and the newest as failed.
    fn end(&mut self, id: &str, has_succeeded: bool) -> Option<u64> {
        let is_call = |(other, _): &(String, u64)| other == id;
        let at =
            if has_succeeded { self.0.iter().position(is_call) } else { self.0.iter().rposition(is_call) }?;
        Some(self.0.remove(at).1)
    }
}

/// The last of some calls, in words.
fn last(calls: &Calls) -> String {
    match calls {
        Calls::Changes(patterns) => format!("the last change of {}", patterns.join(" or ")),
        other => format!("the last {}", other.name()),
    }
}

/// The slice that records that a prerequisite succeeded. The length of its name makes the name of a slice with a key unambiguous.
fn done_key(context: &Context<'_>, calls: &Calls, key: Option<&str>) -> Key<Value> {
    let name = calls.name();
    match key {
        Some(key) => Key::own(context, &format!("key/{}:{name}/{key}", name.len())),
        None => Key::own(context, &format!("ok/{name}")),
    }
}

/// The slice with the number of calls of `since` so far.
fn number_key(context: &Context<'_>) -> Key<u64> {
    Key::own(context, "since")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_shell::command::CommandPattern;

    fn builds() -> Run {
        let rules = [("deploy", vec!["test", "build"]), ("build", vec!["lint"])];
        let rules = rules.map(|(gate, requires)| Prerequisites::new(gate, requires).rules).concat();
        Run::of(Prerequisites { rules })
    }

    #[test]
    fn all_prerequisites_are_needed() {
        let mut run = builds();
        let decision = run.before("deploy", json!({}));
        assert_eq!(decision.effect, Effect::Block);
        assert_eq!(decision.reason, "Tool 'deploy' requires prior invocation of: build, test");
        run.succeed("lint", json!({}));
        assert_eq!(run.before("build", json!({})).effect, Effect::Allow);
        run.succeed("build", json!({}));
        assert_eq!(run.before("deploy", json!({})).metadata["missing"], json!(["test"]));
        run.succeed("test", json!({}));
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Allow);
    }

    #[test]
    fn failed_and_denied_calls_never_count() {
        let mut run = builds();
        run.fail("lint", json!({}));
        assert_eq!(run.before("build", json!({})).effect, Effect::Block);
        assert_eq!(run.before("deploy", json!({})).effect, Effect::Block);
    }

    #[test]
    fn other_tools_are_allowed() {
        assert_eq!(builds().before("unrelated_tool", json!({})).effect, Effect::Allow);
    }

    #[test]
    fn patterns_are_allowed_on_both_sides() {
        let mut run = Run::of(Prerequisites::new("deploy_*", ["test_*"]));
        assert_eq!(run.before("deploy_prod", json!({})).effect, Effect::Block);
        run.succeed("test_unit", json!({}));
        assert_eq!(run.before("deploy_prod", json!({})).effect, Effect::Allow);
    }

    fn commits() -> Prerequisites {
        let rule = PrerequisiteRule {
            gate: "commit".into(),
            requires: vec!["test".into(), "lint".into()],
            key: Some(CallKey::Args(vec!["repo".into(), "repository".into()])),
            since: None,
        };
        Prerequisites { rules: vec![rule] }
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

    fn commands(texts: &[&str]) -> Calls {
        Calls::Commands(texts.iter().map(|text| CommandPattern::parse(text).unwrap()).collect())
    }

    fn tested_deploys() -> Run {
        let rule = PrerequisiteRule {
            gate: commands(&["deploy *"]),
            requires: vec![commands(&["cargo test", "npm test"])],
            key: None,
            since: Some(Calls::Changes(vec!["src/**".into()])),
        };
        Run::of(Prerequisites { rules: vec![rule] })
    }

    fn bash(command: &str) -> Value {
        json!({"command": command})
    }

    #[test]
    fn tests_count_until_the_next_change() {
        let mut run = tested_deploys();
        let denied = run.before("Bash", bash("env X=1 deploy prod"));
        assert_eq!(
            denied.reason,
            "`deploy *` requires prior invocation of: `cargo test` or `npm test` since the last change of src/**"
        );
        run.succeed("Bash", bash("cd x && timeout 60 cargo test"));
        assert_eq!(run.before("Bash", bash("deploy prod")).effect, Effect::Allow);
        run.succeed("Write", json!({"file_path": "README.md"}));
        assert_eq!(run.before("Bash", bash("deploy prod")).effect, Effect::Allow);
        run.succeed("Write", json!({"file_path": "src/a.rs"}));
        assert_eq!(run.before("Bash", bash("deploy prod")).effect, Effect::Block);
        run.succeed("Bash", bash("npm test"));
        assert_eq!(run.before("Bash", bash("deploy prod")).effect, Effect::Allow);
        run.succeed("Bash", bash("sed -i s/a/b/ src/a.rs && cargo test"));
        assert_eq!(run.before("Bash", bash("deploy prod")).effect, Effect::Block);
    }

    #[test]
    fn only_tests_that_must_have_passed_count() {
        for line in [
            "cargo test; true",
            "cargo test | tail",
            "cargo test || true",
            "cargo test --no-run",
            "echo cargo test",
        ] {
            let mut run = tested_deploys();
            run.succeed("Bash", bash(line));
            assert_eq!(run.before("Bash", bash("deploy prod")).effect, Effect::Block, "{line}");
        }
    }
}
