//! error-recovery: classifies an error and selects how to recover from it.

mod classes;

use std::collections::BTreeMap;

use midrail_core::{ErrorInfo, Notice, Recovery, glob};

use crate::prelude::*;
use crate::shared::durations::Seconds;
use crate::shared::settings::Pattern;
use crate::shared::text::capitalize;

use classes::{DEFAULTS, ErrorSeverity, contains_words};

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<ErrorRecovery>("error-recovery", Category::Safety, 10, &[EventKind::OnError]);

/// The settings of error-recovery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ErrorRecovery {
    /// Error classes. The first match wins; the built-in table comes last.
    pub classes: Vec<ErrorClass>,
    /// Whether the built-in table is used.
    pub defaults: bool,
    /// The recovery of an error that matches no class.
    pub unknown: Recovery,
    /// Maximum number of retries.
    pub max_retries: u32,
    /// The wait before a retry.
    pub backoff: Backoff,
    /// The number of fatal errors in a session that lead to quarantine. 0: never.
    pub quarantine_after: u32,
}

/// An error class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorClass {
    /// Which errors match.
    #[serde(rename = "match")]
    pub matches: ErrorMatch,
    /// The severity.
    pub class: ErrorSeverity,
    /// The recovery.
    pub recovery: Recovery,
}

/// A matcher of errors. All given fields must match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ErrorMatch {
    /// The kind of error as the host reports it, as a glob pattern.
    pub kind: Option<Pattern>,
    /// Words of the message, or a glob pattern for the whole message.
    pub message: Option<Pattern>,
    /// The tool that failed, as a glob pattern.
    pub tool: Option<Pattern>,
}

/// The wait before a retry.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Backoff {
    /// Before the first retry.
    pub first: Seconds,
    /// The factor for each further retry.
    pub factor: f64,
    /// The maximum.
    pub max: Seconds,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff { first: Seconds(1.0), factor: 2.0, max: Seconds(60.0) }
    }
}

impl Backoff {
    /// The wait in seconds after this many failures.
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
            unknown: Recovery::Retry,
            max_retries: 3,
            backoff: Backoff::default(),
            quarantine_after: 3,
        }
    }
}

/// Maximum number of failure counters per session.
const MAX_COUNTED: usize = 64;

/// The slice with the failure counters by tool and kind.
fn failures_key(context: &Context<'_>) -> Key<BTreeMap<String, u32>> {
    Key::own(context, "failures")
}

/// The slice with the number of fatal errors of an agent.
fn fatal_key(context: &Context<'_>) -> Key<u32> {
    Key::own(context, &format!("fatal/{}", context.actor()))
}

/// The classification of an error.
struct Classification {
    severity: ErrorSeverity,
    next: Recovery,
    /// The key of its failure counter.
    same: String,
}

impl ErrorRecovery {
    fn classify(&self, context: &Context<'_>) -> Classification {
        let unknown = ErrorInfo::default();
        let error = context.event.error.as_ref().unwrap_or(&unknown);
        let tool = context.event.tool_name().unwrap_or_default();
        let kind = error.kind.as_deref().unwrap_or_default();
        let message: String =
            error.message.as_deref().unwrap_or_default().chars().take(MAX_MESSAGE).collect();
        let own = self.classes.iter().enumerate().find(|(_, row)| row.matches.fits(kind, &message, tool));
        let default = || DEFAULTS.iter().filter(|_| self.defaults).find(|row| row.fits(kind, &message));
        let (severity, next, name) = match own {
            Some((at, row)) => (row.class, row.recovery, format!("own-{at}")),
            None => match default() {
                Some(row) => (row.severity, row.next, row.name.to_owned()),
                None => (ErrorSeverity::Unknown, self.unknown, "?".to_owned()),
            },
        };
        Classification { severity, next, same: format!("{tool}/{name}") }
    }

    /// How often this action has failed, including this failure.
    fn failures(context: &Context<'_>, same: &str) -> Result<u32, Missing> {
        if let Some(attempt) = context.event.error.as_ref().and_then(|error| error.attempt) {
            return Ok(attempt.max(1));
        }
        let counts = failures_key(context).read(context)?.unwrap_or_default();
        Ok(counts.get(same).copied().unwrap_or(0).saturating_add(1))
    }

    /// How many fatal errors the agent has had in this session, including this one.
    fn fatal(context: &Context<'_>) -> Result<u32, Missing> {
        Ok(fatal_key(context).read(context)?.unwrap_or(0).saturating_add(1))
    }

    /// Resets the counters of a tool that succeeded.
    fn reset_counters(
        &self,
        context: &Context<'_>,
        effect: Effect,
        changes: &mut Changes,
    ) -> Result<(), Missing> {
        let mut counts = failures_key(context).read(context)?.unwrap_or_default();
        if counts.is_empty() || !context.succeeded(effect)? {
            return Ok(());
        }
        let prefix = format!("{}/", context.event.tool_name().unwrap_or_default());
        let before = counts.len();
        counts.retain(|same, _| !same.starts_with(&prefix));
        if counts.len() < before {
            failures_key(context).write(changes, &counts)?;
        }
        Ok(())
    }

    fn is_quarantine(&self, judged: &Classification, fatal: u32) -> bool {
        let is_often = self.quarantine_after > 0 && fatal >= self.quarantine_after;
        judged.next == Recovery::Quarantine || (judged.severity == ErrorSeverity::Fatal && is_often)
    }
}

/// Maximum length of a message that is matched.
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
                    if glob::is_pattern(pattern) {
                        like(pattern, text)
                    } else {
                        contains_words(text, pattern)
                    }
                },
                message,
            )
    }
}

fn like(pattern: &str, text: &str) -> bool {
    glob::name_matches(&pattern.to_lowercase(), &text.to_lowercase())
}

impl Guardrail for ErrorRecovery {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let judged = self.classify(context);
        let class = judged.severity.as_str();
        let what = match context.event.tool_name() {
            Some(tool) => format!("`{tool}` failed with an error classified as {class}"),
            None => format!("an error classified as {class} occurred"),
        };
        let fatal = if judged.severity == ErrorSeverity::Fatal { Self::fatal(context)? } else { 0 };
        let answer = |effect, recovery, reason: String| {
            let verdict = Verdict::new(effect, capitalize(&format!("{what}{reason}"))).with("class", class);
            Verdict { recovery: Some(recovery), ..verdict }
        };
        if self.is_quarantine(&judged, fatal) {
            let reason = format!("; `{}` is in quarantine until a person lifts it.", context.actor());
            let mut verdict = answer(Effect::Escalate, Recovery::Quarantine, reason)
                .advise("Stop and report to a person what happened.")
                .with("fatal_errors", fatal);
            verdict.notices.push(Notice { to: "orchestrator".to_owned(), message: verdict.reason.clone() });
            return Ok(verdict);
        }
        let tries = self.max_retries;
        Ok(match judged.next {
            Recovery::Retry => match Self::failures(context, &judged.same)? {
                failures if failures > tries => {
                    answer(Effect::Escalate, Recovery::Escalate, format!(" after {tries} retries."))
                        .advise("Use another approach, or ask a person.")
                        .with("attempt", failures)
                }
                failures => {
                    let wait = self.backoff.after(failures);
                    let reason = format!(": try again in {wait} s ({failures} of {tries}).");
                    let mut verdict = answer(Effect::Allow, Recovery::Retry, reason);
                    verdict.feedback = Some(verdict.reason.clone());
                    verdict.with("retry_after_s", wait).with("attempt", failures).with("max_retries", tries)
                }
            },
            Recovery::Rollback => {
                answer(Effect::Warn, Recovery::Rollback, "; undo its partial changes.".to_owned())
                    .advise("Undo the changes, then find the cause before you continue.")
            }
            Recovery::Escalate | Recovery::Quarantine => {
                answer(Effect::Escalate, Recovery::Escalate, ".".to_owned())
                    .advise("Do not retry; ask a person.")
            }
        })
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if context.event.kind == EventKind::AfterTool {
            return Ok(self.reset_counters(context, effect, changes)?);
        }
        let judged = self.classify(context);
        if judged.severity == ErrorSeverity::Fatal {
            let fatal = Self::fatal(context)?;
            // After quarantine the count starts again.
            if self.is_quarantine(&judged, fatal) {
                fatal_key(context).remove(changes);
            } else {
                fatal_key(context).write(changes, &fatal)?;
            }
        }
        if judged.next == Recovery::Retry {
            let failures = Self::failures(context, &judged.same)?;
            let mut counts = failures_key(context).read(context)?.unwrap_or_default();
            if counts.len() < MAX_COUNTED || counts.contains_key(&judged.same) {
                counts.insert(judged.same, failures);
                failures_key(context).write(changes, &counts)?;
            }
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::OnError, EventKind::AfterTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Escalate
    }

    fn has_consequences(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Agent, Decision, Event, ToolCall};
    use serde_json::Value;
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
    fn recoverable_errors_are_retried_a_few_times() {
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
    fn retries_are_counted_if_the_host_does_not() {
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
    fn fatal_errors_are_not_retried_and_lead_to_quarantine() {
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
            "the count starts again"
        );
    }

    #[test]
    fn quarantine_is_per_agent_and_can_be_disabled() {
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
    fn custom_classes_come_first() {
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
    fn recovery_of_unknown_errors_is_configurable() {
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
    fn backoff_grows_up_to_its_maximum() {
        let backoff = Backoff { first: Seconds(2.0), factor: 3.0, max: Seconds(15.0) };
        assert_eq!([1, 2, 3, 99].map(|failures| backoff.after(failures)), [2.0, 6.0, 15.0, 15.0]);
    }
}
