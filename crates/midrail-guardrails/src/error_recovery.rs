//! error-recovery: what kind of error it is, and how to go on: try again, undo, ask, or keep the agent from further work.

use midrail_core::{
    Changes, Context, Effect, ErrorInfo, EventKind, Fault, Guardrail, Missing, Notice, Recovery, Verdict,
    glob,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error_classes::{DEFAULTS, says};
use crate::seconds::Seconds;
use crate::settings::Pattern;

/// The settings of error-recovery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorRecovery {
    /// Kinds of errors. The first that fits counts; the table of usual errors comes after these.
    pub classes: Vec<ErrorClass>,
    /// Whether the table of usual errors is used.
    pub defaults: bool,
    /// How to go on after an error that no row knows.
    pub unknown: NextStep,
    /// How many times a failed action is tried again.
    pub max_retries: u32,
    /// How long to wait before that.
    pub backoff: Backoff,
    /// The fatal error of a session that keeps its agent from further work. 0: none does.
    pub quarantine_after: u32,
}

/// A kind of error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorClass {
    /// Which errors these are.
    #[serde(rename = "match")]
    pub matches: ErrorMatch,
    /// How bad they are.
    pub class: ErrorSeverity,
    /// How to go on.
    pub recovery: NextStep,
}

/// Which errors: those that fit all that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorMatch {
    /// The host's word for the kind of error, as a glob pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Pattern>,
    /// What the message says: words that it has, or a glob pattern for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Pattern>,
    /// The tool that failed, as a glob pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Pattern>,
}

/// How bad an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ErrorSeverity {
    /// It may go away by itself.
    Recoverable,
    /// It will not.
    Fatal,
    /// Nobody knows.
    Unknown,
}

/// How to go on after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NextStep {
    /// Try again, a bounded number of times.
    Retry,
    /// Undo what was done in part.
    Rollback,
    /// Ask a person.
    Escalate,
    /// Keep the agent from further work.
    Quarantine,
}

/// How long to wait before an action is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Backoff {
    /// Before the first try.
    pub first: Seconds,
    /// How much longer before each further one.
    pub factor: f64,
    /// At most.
    pub max: Seconds,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff { first: Seconds(1.0), factor: 2.0, max: Seconds(60.0) }
    }
}

impl Backoff {
    /// Seconds to wait after this many failures.
    fn after(&self, failures: u32) -> f64 {
        let tries = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        (self.first.0 * self.factor.max(1.0).powi(tries)).min(self.max.0)
    }
}

impl Default for ErrorRecovery {
    fn default() -> Self {
        ErrorRecovery {
            classes: Vec::new(),
            defaults: true,
            unknown: NextStep::Retry,
            max_retries: 3,
            backoff: Backoff::default(),
            quarantine_after: 3,
        }
    }
}

/// How many kinds of failures of one session are counted apart.
const MAX_COUNTED: usize = 64;

/// The slice of failures that were tried again, by tool and kind.
const FAILURES: &str = "failures";

/// What is known of one error.
struct Judged {
    severity: ErrorSeverity,
    next: NextStep,
    /// What counts as the same failure.
    same: String,
}

impl ErrorRecovery {
    fn judge(&self, context: &Context<'_>) -> Judged {
        let unknown = ErrorInfo::default();
        let error = context.event.error.as_ref().unwrap_or(&unknown);
        let tool = context.event.tool_name().unwrap_or_default();
        let kind = error.kind.as_deref().unwrap_or_default();
        let message: String =
            error.message.as_deref().unwrap_or_default().chars().take(MAX_MESSAGE).collect();
        let own = self.classes.iter().enumerate().find(|(_, row)| row.matches.fits(kind, &message, tool));
        if let Some((at, row)) = own {
            return Judged { severity: row.class, next: row.recovery, same: format!("{tool}/own-{at}") };
        }
        let usual = DEFAULTS.iter().filter(|_| self.defaults).find(|row| row.fits(kind, &message));
        match usual {
            Some(row) => {
                Judged { severity: row.severity, next: row.next, same: format!("{tool}/{}", row.name) }
            }
            None => {
                Judged { severity: ErrorSeverity::Unknown, next: self.unknown, same: format!("{tool}/?") }
            }
        }
    }

    /// How many times this action has failed, this one counted in.
    fn failures(context: &Context<'_>, same: &str) -> Result<u32, Missing> {
        if let Some(attempt) = context.event.error.as_ref().and_then(|error| error.attempt) {
            return Ok(attempt.max(1));
        }
        let counted = context.state(FAILURES)?.and_then(|counts| counts.get(same)).and_then(Value::as_u64);
        Ok(u32::try_from(counted.unwrap_or(0)).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// How many fatal errors the agent has had in this session, this one counted in.
    fn fatal(context: &Context<'_>) -> Result<u32, Missing> {
        let counted = context.state(&fatal_key(context))?.and_then(Value::as_u64).unwrap_or(0);
        Ok(u32::try_from(counted).unwrap_or(u32::MAX).saturating_add(1))
    }

    fn is_quarantine(&self, judged: &Judged, fatal: u32) -> bool {
        let is_often = self.quarantine_after > 0 && fatal >= self.quarantine_after;
        judged.next == NextStep::Quarantine || (judged.severity == ErrorSeverity::Fatal && is_often)
    }
}

/// How much of a message is looked at.
const MAX_MESSAGE: usize = 4_096;

impl ErrorMatch {
    fn fits(&self, kind: &str, message: &str, tool: &str) -> bool {
        let fits = |pattern: &Option<Pattern>, test: fn(&str, &str) -> bool, text: &str| {
            pattern.as_ref().is_none_or(|pattern| test(&pattern.0, text))
        };
        let is_given = self.kind.is_some() || self.message.is_some() || self.tool.is_some();
        is_given
            && fits(&self.kind, like, kind)
            && fits(&self.tool, glob::name_matches, tool)
            && fits(
                &self.message,
                |pattern, text| {
                    if glob::is_pattern(pattern) { like(pattern, text) } else { says(text, pattern) }
                },
                message,
            )
    }
}

fn like(pattern: &str, text: &str) -> bool {
    glob::name_matches(&pattern.to_lowercase(), &text.to_lowercase())
}

fn fatal_key(context: &Context<'_>) -> String {
    format!("fatal/{}", context.actor())
}

impl ErrorSeverity {
    fn word(self) -> &'static str {
        match self {
            ErrorSeverity::Recoverable => "recoverable",
            ErrorSeverity::Fatal => "fatal",
            ErrorSeverity::Unknown => "unknown",
        }
    }
}

impl Guardrail for ErrorRecovery {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let judged = self.judge(context);
        let class = judged.severity.word();
        let what = match context.event.tool_name() {
            Some(tool) => format!("`{tool}` failed with an error that counts as {class}"),
            None => format!("an error that counts as {class}"),
        };
        let fatal = if judged.severity == ErrorSeverity::Fatal { Self::fatal(context)? } else { 0 };
        let answer = |effect, recovery, reason: String| {
            let mut verdict = Verdict::new(effect, reason).with("class", class);
            verdict.recovery = Some(recovery);
            verdict
        };
        if self.is_quarantine(&judged, fatal) {
            let actor = context.actor();
            let reason = format!("{what}; `{actor}` is kept from further work until a person looks at it.");
            let mut verdict = answer(Effect::Escalate, Recovery::Quarantine, sentence(&reason))
                .advise("Stop here and tell a person what happened.")
                .with("fatal_errors", fatal);
            verdict.notices.push(Notice { to: "orchestrator".to_owned(), message: verdict.reason.clone() });
            return Ok(verdict);
        }
        match judged.next {
            NextStep::Retry => {
                let failures = Self::failures(context, &judged.same)?;
                if failures > self.max_retries {
                    let tries = self.max_retries;
                    let reason = sentence(&format!("{what}, and was tried again {tries} times."));
                    return Ok(answer(Effect::Escalate, Recovery::Escalate, reason)
                        .advise("Do something else, or ask a person.")
                        .with("attempt", failures));
                }
                let wait = self.backoff.after(failures);
                let tries = self.max_retries;
                let reason = sentence(&format!("{what}: try again in {wait} s ({failures} of {tries})."));
                let mut verdict = answer(Effect::Allow, Recovery::Retry, reason.clone());
                verdict.feedback = Some(reason);
                Ok(verdict.with("retry_after_s", wait).with("attempt", failures).with("max_retries", tries))
            }
            NextStep::Rollback => Ok(answer(
                Effect::Warn,
                Recovery::Rollback,
                sentence(&format!("{what}; what it did in part is to be undone.")),
            )
            .advise("Undo what was changed, then find the cause before you go on.")),
            NextStep::Escalate | NextStep::Quarantine => {
                Ok(answer(Effect::Escalate, Recovery::Escalate, sentence(&format!("{what}.")))
                    .advise("Do not try the same again; ask a person."))
            }
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if context.event.kind == EventKind::AfterTool {
            return Ok(self.forget(context, effect, changes)?);
        }
        let judged = self.judge(context);
        if judged.severity == ErrorSeverity::Fatal {
            let fatal = Self::fatal(context)?;
            // Whom a person lets work again begins anew.
            match self.is_quarantine(&judged, fatal) {
                true => changes.remove(context.key(&fatal_key(context))),
                false => changes.set(context.key(&fatal_key(context)), fatal),
            }
        }
        if judged.next == NextStep::Retry {
            let failures = Self::failures(context, &judged.same)?;
            let mut counts = counted(context)?;
            if counts.len() < MAX_COUNTED || counts.contains_key(&judged.same) {
                counts.insert(judged.same, failures.into());
                changes.set(context.key(FAILURES), counts);
            }
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::OnError, EventKind::AfterTool]
    }

    fn ceiling(&self) -> Effect {
        Effect::Escalate
    }

    fn has_consequences(&self) -> bool {
        true
    }
}

impl ErrorRecovery {
    /// A tool that works again has its tries back.
    fn forget(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Missing> {
        let mut counts = counted(context)?;
        if counts.is_empty() || !context.succeeded(effect)? {
            return Ok(());
        }
        let prefix = format!("{}/", context.event.tool_name().unwrap_or_default());
        let before = counts.len();
        counts.retain(|same, _| !same.starts_with(&prefix));
        if counts.len() < before {
            changes.set(context.key(FAILURES), counts);
        }
        Ok(())
    }
}

fn counted(context: &Context<'_>) -> Result<Map<String, Value>, Missing> {
    Ok(context.state(FAILURES)?.and_then(Value::as_object).cloned().unwrap_or_default())
}

/// A text that begins with a capital letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Agent, Decision, Event, ToolCall};
    use serde_json::json;
    use std::sync::Arc;

    fn run(settings: Value) -> Run {
        let guardrail: ErrorRecovery = serde_json::from_value(settings).unwrap();
        Run::on(Arc::new(guardrail), vec![EventKind::OnError])
    }

    fn error(message: &str, attempt: Option<u32>) -> Event {
        Event {
            error: Some(ErrorInfo { message: Some(message.into()), attempt, ..ErrorInfo::default() }),
            tool: Some(ToolCall::new("fetch", json!({}))),
            agent: Some(Agent { id: Some("ann".into()), ..Agent::default() }),
            ..Event::new(EventKind::OnError)
        }
    }

    fn outcome(decision: &Decision) -> (Effect, Option<Recovery>) {
        (decision.effect, decision.recovery)
    }

    #[test]
    fn what_may_go_away_is_tried_again_a_few_times() {
        let mut run = run(json!({}));
        for (attempt, wait) in [(1, "1 s (1 of 3)"), (2, "2 s (2 of 3)"), (3, "4 s (3 of 3)")] {
            let decision = run.decide(&error("connection reset by peer", Some(attempt)));
            assert_eq!(outcome(&decision), (Effect::Allow, Some(Recovery::Retry)));
            assert!(decision.feedback[0].contains(wait), "{:?}", decision.feedback);
        }
        let decision = run.decide(&error("connection reset by peer", Some(4)));
        assert_eq!(outcome(&decision), (Effect::Escalate, Some(Recovery::Escalate)));
    }

    #[test]
    fn tries_are_counted_where_the_host_does_not() {
        let mut run = run(json!({"max_retries": 2}));
        let timeout = error("the request timed out", None);
        assert_eq!(run.decide(&timeout).effect, Effect::Allow);
        assert_eq!(run.decide(&timeout).effect, Effect::Allow);
        assert_eq!(run.decide(&error("429 Too Many Requests", None)).effect, Effect::Allow, "another kind");
        assert_eq!(run.decide(&timeout).effect, Effect::Escalate);
        run.succeed("fetch", json!({}));
        assert_eq!(run.decide(&timeout).effect, Effect::Allow);
    }

    #[test]
    fn fatal_errors_are_not_tried_again_and_lead_to_quarantine() {
        let mut run = run(json!({}));
        let denied = error("EACCES: permission denied, open 'x'", None);
        assert_eq!(outcome(&run.decide(&denied)), (Effect::Escalate, Some(Recovery::Escalate)));
        let panicked = run.decide(&error("thread 'main' panicked at src/a.rs", None));
        assert_eq!(outcome(&panicked), (Effect::Warn, Some(Recovery::Rollback)));
        let third = run.decide(&denied);
        assert_eq!(outcome(&third), (Effect::Escalate, Some(Recovery::Quarantine)));
        assert_eq!(
            outcome(&run.decide(&denied)),
            (Effect::Escalate, Some(Recovery::Escalate)),
            "begins anew"
        );
    }

    #[test]
    fn quarantine_can_be_off_and_is_for_each_agent() {
        let mut run = run(json!({"quarantine_after": 0}));
        for _ in 0..5 {
            assert_eq!(run.decide(&error("disk full", None)).recovery, Some(Recovery::Escalate));
        }
        let mut run = super::tests::run(json!({"quarantine_after": 2}));
        let bob = Event { agent: None, ..error("disk full", None) };
        assert_eq!(run.decide(&error("disk full", None)).recovery, Some(Recovery::Escalate));
        assert_eq!(run.decide(&bob).recovery, Some(Recovery::Escalate));
        assert_eq!(run.decide(&bob).recovery, Some(Recovery::Quarantine));
    }

    #[test]
    fn a_table_of_ones_own_comes_first() {
        let mut run = run(json!({"classes": [
            {"match": {"kind": "Tenant*"}, "class": "fatal", "recovery": "quarantine"},
            {"match": {"message": "lock is busy"}, "class": "recoverable", "recovery": "retry"},
            {"match": {"message": "*timed out*", "tool": "fetch"}, "class": "unknown", "recovery": "escalate"},
        ]}));
        let mut kind = error("x", None);
        kind.error.as_mut().unwrap().kind = Some("tenantSuspended".into());
        assert_eq!(run.decide(&kind).recovery, Some(Recovery::Quarantine));
        assert_eq!(run.decide(&error("The LOCK is busy now", None)).recovery, Some(Recovery::Retry));
        assert_eq!(run.decide(&error("it timed out", None)).recovery, Some(Recovery::Escalate));
        let other = Event { tool: Some(ToolCall::new("x", json!({}))), ..error("it timed out", None) };
        assert_eq!(run.decide(&other).recovery, Some(Recovery::Retry));
    }

    #[test]
    fn what_nobody_knows_is_settable() {
        assert_eq!(run(json!({})).decide(&error("huh", None)).recovery, Some(Recovery::Retry));
        assert_eq!(
            run(json!({"unknown": "rollback"})).decide(&error("huh", None)).recovery,
            Some(Recovery::Rollback)
        );
        let settings = json!({"defaults": false, "unknown": "escalate"});
        assert_eq!(run(settings).decide(&error("timed out", None)).recovery, Some(Recovery::Escalate));
        assert_eq!(run(json!({})).decide(&Event::new(EventKind::OnError)).recovery, Some(Recovery::Retry));
    }

    #[test]
    fn waiting_grows_up_to_its_limit() {
        let backoff = Backoff { first: Seconds(2.0), factor: 3.0, max: Seconds(15.0) };
        assert_eq!([1, 2, 3, 99].map(|failures| backoff.after(failures)), [2.0, 6.0, 15.0, 15.0]);
    }
}
