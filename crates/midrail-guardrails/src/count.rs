//! count: limits how often calls are made, counted per tool, command or key, within a time, or since another call.

use std::sync::Arc;

use jiff::SignedDuration;
use midrail_core::duration::span;
use midrail_core::path::{self, Roots};
use midrail_core::visible::visible_start;
use midrail_core::{Action, CommandCall};
use midrail_shell::command::{CommandPattern, Fit};

use crate::builtin::PackKey;
use crate::prelude::*;
use crate::require_before::prerequisites::ComputeCallKey;
use crate::shared::calls::Calls;
use crate::shared::fnv::Fnv;
use crate::shared::run_commands::runs_any;
use crate::shared::text::shorten;

pub(crate) const BUILTIN: Builtin = Builtin {
    pack_key: PackKey::Count,
    ..Builtin::without_settings::<Count>("count", Category::Compliance, 62, &[EventKind::BeforeTool])
};

/// Programs that wait, or that show and filter output.
const OUTPUT_PROGRAMS: &[&str] = &[
    "true", ":", "false", "echo", "printf", "sleep", "wait", "cat", "head", "tail", "tee", "less", "more",
    "grep", "egrep", "rg", "sort", "uniq", "wc", "cut", "tr", "nl", "fold", "column", "pwd", "date", "set",
    "export", "exit",
];

/// The most bytes of a key that a slice is named by.
const MAX_KEY: usize = 512;

/// A limit for the number of calls.
#[derive(Clone, Default)]
pub struct Count {
    /// The number of calls that are allowed.
    pub most: u32,
    /// What is counted together.
    pub per: CountPer,
    /// Only calls with this result count. `None`: all that were allowed.
    pub result: Option<CallResult>,
    /// Only calls within these milliseconds count.
    pub within_ms: Option<i64>,
    /// A call after which counting starts again.
    pub since: Option<Calls>,
    /// Only calls that run one of these commands count. Empty: all.
    pub commands: Vec<CommandPattern>,
}

/// What is counted together.
#[derive(Clone, Default)]
pub enum CountPer {
    /// All calls that the guardrail applies to.
    #[default]
    Session,
    /// The calls of each tool.
    Tool,
    /// The calls with the same command, however it is wrapped or spelt.
    Command,
    /// The calls with the same key. One without a key does not count.
    Key(Arc<ComputeCallKey>),
}

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallResult {
    /// It failed.
    Failed,
    /// It succeeded.
    Ok,
}

/// The state of one key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Counted {
    /// The number of calls of `since` when they were counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    since: u64,
    /// How many there were.
    calls: u64,
    /// When the last ones were, in milliseconds, if that matters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    times: Vec<i64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Count {
    /// The key of the event's call. `None`: it is not counted.
    fn subject(&self, context: &Context<'_>) -> Result<Option<String>, Missing> {
        let Some(tool) = context.event.tool_name() else { return Ok(None) };
        if !context.spec.tools.contains(tool) {
            return Ok(None);
        }
        // What is not known counts.
        if !self.commands.is_empty() && !may_run(context, &self.commands)? {
            return Ok(None);
        }
        Ok(match &self.per {
            CountPer::Session => Some(String::new()),
            CountPer::Tool => Some(tool.to_owned()),
            CountPer::Command => command_line(context)?,
            CountPer::Key(key) => key(context)?,
        })
    }

    /// The state of a key, after changes of this decision.
    fn counted(&self, context: &Context<'_>, key: &str, changes: &Changes) -> Result<Counted, Missing> {
        let (state, since) = (
            slice(context, key).read_changed(context, changes),
            since_key(context).read_changed(context, changes),
        );
        let since = if self.since.is_some() { since?.unwrap_or(0) } else { 0 };
        let state = state?.filter(|state| state.since == since);
        Ok(state.unwrap_or(Counted { since, ..Counted::default() }))
    }

    /// The number of calls that count now.
    fn number(&self, context: &Context<'_>, counted: &Counted) -> Result<u64, Missing> {
        let Some(within) = self.within_ms else { return Ok(counted.calls) };
        let now = context.now()?.as_millisecond();
        let recent = counted.times.iter().filter(|time| now.saturating_sub(**time) < within);
        Ok(recent.count().try_into().unwrap_or(u64::MAX))
    }

    /// Whether the success of the event's call is one of the commands that count: not so for `! make`, `make &` and `make | tail`.
    fn has_worked(&self, context: &Context<'_>) -> Result<bool, Missing> {
        let mut commands = counted_commands(context.action()?).into_iter().peekable();
        let counts = |call: &CommandCall| {
            self.commands.is_empty() || self.commands.iter().any(|pattern| pattern.fit(call) > Fit::No)
        };
        Ok(commands.peek().is_none() || commands.any(|call| call.decides && counts(call)))
    }

    fn objection(&self, context: &Context<'_>, key: &str, number: u64) -> Verdict {
        let shown = visible_start(key, 80);
        let what = match (&self.per, self.result) {
            (CountPer::Tool, _) => format!("'{shown}'"),
            (CountPer::Command, _) => format!("`{shown}`"),
            (CountPer::Key(_), _) => format!("calls with the key '{shown}'"),
            (CountPer::Session, _) => "these calls".to_owned(),
        };
        let does = match self.result {
            Some(CallResult::Failed) => "failed",
            Some(CallResult::Ok) => "succeeded",
            None if matches!(self.per, CountPer::Session) => "were made",
            None => "was called",
        };
        let times = if number == 1 { "once".to_owned() } else { format!("{number} times") };
        let within = self
            .within_ms
            .map(|ms| format!(" within {}", span(SignedDuration::from_millis(ms))))
            .unwrap_or_default();
        let since = self.since.as_ref().map(|calls| format!(" since {}", calls.name())).unwrap_or_default();
        let mut subject = what.clone();
        if let Some(first) = subject.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let reason = format!("{subject} {does} {times}{within}{since}; {} is the most.", self.most);
        let advice = match (&self.since, self.result) {
            (Some(calls), _) => format!("Continue with {} first.", calls.name()),
            (None, Some(CallResult::Failed)) => {
                "Find out why it fails, or ask for help, before you repeat it.".to_owned()
            }
            (None, _) => "Do something else, or ask for help.".to_owned(),
        };
        let verdict = Verdict::block(reason).advise(advice).with("count", number).with("most", self.most);
        if key.is_empty() { verdict } else { verdict.with("key", shorten(key, 200)) }
            .with("tool", context.event.tool_name().unwrap_or_default())
    }
}

impl Guardrail for Count {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(key) = self.subject(context)? else { return Ok(Verdict::allow()) };
        let number = self.number(context, &self.counted(context, &key, &Changes::default())?)?;
        let most = u64::from(self.most);
        // A reminder is not repeated with every call.
        let is_reminder = context.spec.effect.is_some_and(|effect| effect <= Effect::Warn);
        let is_due = if is_reminder && most > 0 { number > 0 && number % most == 0 } else { number >= most };
        Ok(if is_due { self.objection(context, &key, number) } else { Verdict::allow() })
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let is_before = context.event.kind == EventKind::BeforeTool;
        if let Some(since) = &self.since
            && effect.allows()
        {
            // Only what is known to be such a call starts again, and of commands only one that has succeeded.
            let known = |found: Result<bool, Missing>| match found {
                Err(missing) if context.has_pending_needs() => Err(missing),
                found => Ok(found.unwrap_or(false)),
            };
            let starts = match since {
                Calls::Commands(_) if is_before => {
                    if known(since.contain(context))? {
                        return Ok(());
                    }
                    false
                }
                Calls::Commands(_) => context.succeeded(effect)? && known(since.are_proven(context))?,
                Calls::Tool(_) | Calls::Changes(_) => known(since.contain(context))?,
            };
            if starts {
                let before = since_key(context).read(context)?.unwrap_or(0);
                since_key(context).write(changes, &before.saturating_add(1))?;
                return Ok(());
            }
        }
        let Some(key) = self.subject(context)? else { return Ok(()) };
        let counts = match self.result {
            None => is_before && effect.allows(),
            Some(_) if is_before => false,
            Some(CallResult::Ok) => context.succeeded(effect)?,
            Some(CallResult::Failed) if context.event.is_success() => {
                if self.has_worked(context)? {
                    slice(context, &key).remove(changes);
                }
                false
            }
            Some(CallResult::Failed) => true,
        };
        if !counts {
            return Ok(());
        }
        let mut counted = self.counted(context, &key, changes)?;
        counted.calls = counted.calls.saturating_add(1);
        if self.within_ms.is_some() {
            counted.times.push(context.now()?.as_millisecond());
            let most = usize::try_from(self.most).unwrap_or(usize::MAX).max(1);
            let old = counted.times.len().saturating_sub(most);
            counted.times.drain(..old);
        }
        slice(context, &key).write(changes, &counted)?;
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        CALLS
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        let per = match self.per {
            CountPer::Session => "Such calls",
            CountPer::Tool => "The same tool",
            CountPer::Command => "The same command",
            CountPer::Key(_) => "Calls with the same key",
        };
        let does = match self.result {
            Some(CallResult::Failed) => "may fail",
            Some(CallResult::Ok) => "may succeed",
            None => "may be called",
        };
        let within = self
            .within_ms
            .map(|ms| format!(" within {}", span(SignedDuration::from_millis(ms))))
            .unwrap_or_default();
        let since = self.since.as_ref().map(|calls| format!(" since {}", calls.name())).unwrap_or_default();
        Some(format!("{per} {does} at most {} times{within}{since}.", self.most))
    }
}

/// The slice of a key. A long key is named by its beginning and a digest.
fn slice(context: &Context<'_>, key: &str) -> Key<Counted> {
    if key.len() <= MAX_KEY {
        return Key::own(context, &format!("n/{key}"));
    }
    let start = key.get(..key.floor_char_boundary(64)).unwrap_or_default();
    let mut digest = Fnv::default();
    digest.add(key.as_bytes());
    Key::own(context, &format!("n/{start}#{}:{:016x}", key.len(), digest.0))
}

/// The slice with the number of calls of `since` so far.
fn since_key(context: &Context<'_>) -> Key<u64> {
    Key::own(context, "since")
}

fn may_run(context: &Context<'_>, patterns: &[CommandPattern]) -> Result<bool, Missing> {
    match runs_any(context, patterns) {
        Err(missing) if context.has_pending_needs() => Err(missing),
        found => Ok(found.unwrap_or(true)),
    }
}

/// The commands of the event's call in one spelling, without wrappers. `None`: it runs none.
fn command_line(context: &Context<'_>) -> Result<Option<String>, Missing> {
    let action = context.action()?;
    let mut lines: Vec<String> =
        counted_commands(action).into_iter().map(|call| spelling(context, call)).collect();
    lines.dedup();
    Ok(match (lines.is_empty(), &action.command) {
        (false, _) => Some(lines.join("; ")),
        (true, Some(command)) => Some(command.split_whitespace().collect::<Vec<_>>().join(" ")),
        (true, None) => None,
    })
}

/// The commands that make a line what it is: not wrappers, changes of the folder, and what waits or shows output
/// (`sleep 1 && make | tail`). If there is nothing else, all count.
fn counted_commands(action: &Action) -> Vec<&CommandCall> {
    let is_inner = |call: &&CommandCall| !call.wraps && call.program != "cd";
    let is_work = |call: &&CommandCall| !OUTPUT_PROGRAMS.contains(&call.program.as_str());
    let inner: Vec<&CommandCall> = action.commands.iter().filter(is_inner).collect();
    let work: Vec<&CommandCall> = inner.iter().copied().filter(is_work).collect();
    match (work.is_empty(), inner.is_empty()) {
        (false, _) => work,
        (true, false) => inner,
        (true, true) => action.commands.iter().collect(),
    }
}

/// A command in one spelling, with its folder if that is not the session's.
fn spelling(context: &Context<'_>, call: &CommandCall) -> String {
    let words = std::iter::once(&call.program).chain(&call.args).map(String::as_str);
    let line = words.collect::<Vec<_>>().join(" ");
    let Some(folder) = &call.folder else { return format!("{line} (in an unknown folder)") };
    let folder = if folder.is_empty() { "." } else { folder };
    let roots = Roots { root: context.root(), aliases: &[] };
    let place = path::resolve(folder, context.event.cwd.as_deref(), roots, None).key;
    if matches!(place.as_str(), "" | ".") { line } else { format!("{line} (in {place})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, ToolResult};
    use serde_json::{Value, json};

    fn bash(command: &str) -> Value {
        json!({"command": command})
    }

    fn retries() -> Count {
        Count { most: 3, per: CountPer::Command, result: Some(CallResult::Failed), ..Count::default() }
    }

    #[test]
    fn fourth_try_of_a_failing_command_is_blocked() {
        let mut run = Run::of(retries());
        for line in ["make build", "make  build", "'make' build"] {
            assert_eq!(run.before("Bash", bash(line)).effect, Effect::Allow);
            run.fail("Bash", bash(line));
        }
        let denied = run.before("Bash", bash("make build"));
        assert_eq!(denied.reason, "`make build` failed 3 times; 3 is the most.");
        assert_eq!(run.before("Bash", bash("make clean")).effect, Effect::Allow);
    }

    #[test]
    fn wrappers_and_spellings_do_not_matter() {
        let same = [
            "make",
            "timeout 5 make",
            "sudo env A=b make",
            "bash -c 'make'",
            "cd . && make",
            "/usr/bin/make",
        ];
        for line in same {
            let mut run = Run::of(retries());
            same.iter().take(3).for_each(|line| drop(run.fail("Bash", bash(line))));
            assert_eq!(
                run.before("Bash", bash(line)).reason,
                "`make` failed 3 times; 3 is the most.",
                "{line}"
            );
        }
        let mut run = Run::of(retries());
        (0..3).for_each(|_| drop(run.fail("Bash", bash("cd sub && make"))));
        for line in ["make", "cd other && make", "ssh host make", "timeout 5", "cd sub"] {
            assert_eq!(run.before("Bash", bash(line)).effect, Effect::Allow, "{line}");
        }
        let denied = run.before("Bash", bash("cd ./sub; timeout 9 make"));
        assert_eq!(denied.reason, "`make (in sub)` failed 3 times; 3 is the most.");
        // The folder that the agent is in counts, however it came there.
        let mut run = Run::of(retries());
        let at =
            |cwd: &str, line: &str| Event { cwd: Some(cwd.into()), ..Event::before_tool("Bash", bash(line)) };
        let failed = |cwd: &str, line: &str| Event {
            cwd: Some(cwd.into()),
            ..Event::after_tool("Bash", bash(line), ToolResult::failed("no"))
        };
        (0..3).for_each(|_| drop(run.decide(&failed("/repo", "cd /repo && make"))));
        assert_eq!(run.decide(&at("/repo", "make")).effect, Effect::Block);
    }

    #[test]
    fn success_starts_again() {
        let mut run = Run::of(retries());
        for _ in 0..3 {
            run.fail("Bash", bash("make"));
        }
        assert_eq!(run.before("Bash", bash("make")).effect, Effect::Block);
        run.succeed("Bash", bash("make"));
        assert_eq!(run.before("Bash", bash("make")).effect, Effect::Allow);
    }

    #[test]
    fn calls_since_another_are_counted() {
        let tests = Calls::Commands(vec![CommandPattern::parse("cargo test").unwrap()]);
        let mut run = Run::of(Count { most: 2, since: Some(tests), ..Count::default() });
        assert_eq!(run.before("Edit", json!({})).effect, Effect::Allow);
        assert_eq!(run.before("Edit", json!({})).effect, Effect::Allow);
        let denied = run.before("Edit", json!({}));
        assert_eq!(denied.reason, "These calls were made 2 times since `cargo test`; 2 is the most.");
        run.succeed("Bash", bash("cargo test"));
        assert_eq!(run.before("Edit", json!({})).effect, Effect::Allow);
    }
}
