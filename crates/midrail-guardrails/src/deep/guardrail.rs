//! The guardrail that calls an external service and turns its answer into a verdict.

use std::any::Any;
use std::sync::Arc;

use midrail_core::{Condition, DeepOutcome, Redaction, WaitRule};
use serde_json::Value;

use super::backends::DeepBackend;
use super::settings::{DeepSettings, WINDOW_COUNT_MEMBER, WINDOWS_MEMBER};
use crate::prelude::*;

/// A guardrail that calls an external service.
pub struct DeepGuardrail {
    settings: Arc<DeepSettings>,
    /// The condition that an allowed answer meets, and its source. `None`: the default of the backend.
    passes: Option<(Arc<dyn Condition>, String)>,
}

/// Maximum length of a reason in an answer.
const MAX_REASON: usize = 500;

impl DeepGuardrail {
    /// A guardrail that allows answers which meet `passes`, a condition with its source, or the default of its backend.
    pub fn new(settings: DeepSettings, passes: Option<(Arc<dyn Condition>, String)>) -> Self {
        let settings = DeepSettings { uses_default_check: passes.is_none(), ..settings };
        DeepGuardrail { settings: Arc::new(settings), passes }
    }

    /// The verdict on an answer. Of several answers for the windows of one text the strongest counts: an objection,
    /// then a failure, then an allow.
    pub(crate) fn verdict(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        let Some(windows) = answer.get(WINDOWS_MEMBER) else { return self.window_verdict(context, answer) };
        let windows = windows.as_array().filter(|windows| !windows.is_empty());
        let windows = windows.ok_or_else(|| Fault::Failed("the answer contains no windows".to_owned()))?;
        let all =
            answer.get(WINDOW_COUNT_MEMBER).and_then(Value::as_u64).and_then(|all| usize::try_from(all).ok());
        let all = all.unwrap_or(windows.len()).max(windows.len());
        let mut failed = None;
        for (index, answer) in windows.iter().enumerate() {
            match self.window_verdict(context, answer) {
                Ok(verdict) if verdict.effect == Effect::Allow => {}
                Ok(mut verdict) => {
                    let part = index + 1;
                    verdict.reason = format!("{} (in part {part} of {all} of the text)", verdict.reason);
                    return Ok(verdict);
                }
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        // Requests end at the first objection. If another policy finds none, the rest was not checked.
        let unseen =
            || Fault::Failed(format!("only {} of {all} parts of the text were checked", windows.len()));
        match failed.or_else(|| (windows.len() < all).then(unseen)) {
            Some(fault) => Err(fault),
            None => Ok(Verdict::allow()),
        }
    }

    /// The verdict on one answer.
    fn window_verdict(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        let field = |name: &str| {
            let text = answer.get(name).and_then(Value::as_str).unwrap_or_default().trim();
            text.chars().take(MAX_REASON).collect::<String>()
        };
        let can_choose = self.passes.is_none()
            && answer.get("allowed").is_none()
            && matches!(self.settings.kind, DeepBackend::Http(_) | DeepBackend::Command(_));
        if let Some(word) = answer.get("action").filter(|_| can_choose) {
            let effect = word.as_str().and_then(|word| word.parse().ok());
            let effect =
                effect.ok_or_else(|| Fault::Failed("the `action` of the answer is no effect".to_owned()))?;
            return Ok(chosen_verdict(context, effect, &field("reason"), answer));
        }
        let passes = match &self.passes {
            Some((passes, _)) => {
                let held = passes.holds(&context.with_external_answer(answer));
                held.map_err(|missing| Missing(format!("{missing}; {}", describe_mismatch(answer))))?
            }
            None => match self.settings.kind.undecided(answer) {
                Some(why) => return Err(Fault::Failed(why)),
                None => self.settings.kind.passes(answer),
            },
        };
        if passes {
            return Ok(Verdict::allow());
        }
        let reason = match &self.settings.kind {
            DeepBackend::Moderation(_) => {
                let categories = answer.get("categories").and_then(Value::as_array);
                let names = categories.into_iter().flatten().filter_map(Value::as_str);
                names.collect::<Vec<_>>().join(", ")
            }
            DeepBackend::Judge(_) | DeepBackend::Http(_) | DeepBackend::Command(_) => field("reason"),
        };
        let id = &context.spec.id;
        let reason = match (reason.is_empty(), &self.passes) {
            (true, Some((_, check))) => format!("`{id}` blocked this: the answer does not meet `{check}`"),
            (true, None) => format!("`{id}` blocked this"),
            (false, _) => format!("`{id}` blocked this: {reason}"),
        };
        Ok(Verdict::block(reason))
    }
}

/// The verdict with the effect that an answer chose. The `effect` of a pack overrides it.
fn chosen_verdict(context: &Context<'_>, effect: Effect, reason: &str, answer: &Value) -> Verdict {
    if effect == Effect::Allow {
        return Verdict::allow();
    }
    let colon = if reason.is_empty() { "" } else { ": " };
    let mut verdict = Verdict::new(effect, format!("`{}` objects{colon}{reason}", context.spec.id));
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    verdict.retry_message = text("corrective_message").filter(|_| effect == Effect::Retry);
    verdict.user_message = text("user_message").filter(|_| effect == Effect::Halt);
    if effect == Effect::Redact {
        verdict.redactions = redactions(context, answer);
    }
    verdict
}

/// The parts of the event's text that an answer lists in `redactions`. Without a part that is found, the whole text is
/// redacted.
fn redactions(context: &Context<'_>, answer: &Value) -> Vec<Redaction> {
    let event = context.event;
    let content = event.result.as_ref().and_then(|result| result.content.as_ref());
    let text = match (content.filter(|content| !content.is_null()), &event.text) {
        (Some(Value::String(content)), _) => content.clone(),
        (Some(content), _) => content.to_string(),
        (None, text) => text.clone().unwrap_or_default(),
    };
    let replacement = format!("[redacted:{}]", context.spec.id);
    let parts = answer.get("redactions").and_then(Value::as_array);
    let parts = parts.into_iter().flatten().filter_map(Value::as_str).filter(|part| !part.is_empty());
    let places = parts.flat_map(|part| text.match_indices(part));
    let redaction = |(start, part): (usize, &str)| Redaction::new(start, start + part.len(), &*replacement);
    places.map(redaction).take(MAX_REDACTIONS).collect()
}

/// Maximum number of parts that one answer redacts.
const MAX_REDACTIONS: usize = 10_000;

/// Members of an answer that an error message names.
const MAX_NAMED: usize = 8;

/// Why a check cannot be evaluated on an answer, and how to fix it.
fn describe_mismatch(answer: &Value) -> String {
    let found = match answer {
        Value::Object(members) if members.is_empty() => "the answer is empty".to_owned(),
        Value::Object(members) => {
            let short = |name: &String| format!("`{}`", name.chars().take(40).collect::<String>());
            let names: Vec<String> = members.keys().take(MAX_NAMED).map(short).collect();
            let more = if members.len() > MAX_NAMED { ", …" } else { "" };
            format!("the answer has {}{more}", names.join(", "))
        }
        _ => "the answer is not a JSON object".to_owned(),
    };
    format!("{found}; fix `check` or the answer")
}

impl Guardrail for DeepGuardrail {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let own = self.settings.timeout.0;
        let WaitRule { wait_ms, on_timeout } = context.wait_rule();
        // Without a later event, a late answer cannot be applied.
        let is_required = self.settings.required || context.is_one_shot();
        let wait_ms = if is_required { own } else { wait_ms.min(own) };
        match context.deep(wait_ms)? {
            DeepOutcome::Answered(answer) => self.verdict(context, answer),
            DeepOutcome::Late if is_required => Err(Fault::Failed(format!("no answer within {wait_ms} ms"))),
            DeepOutcome::Late => {
                let reason = match wait_ms {
                    0 => "the answer applies to a later event".to_owned(),
                    _ => format!("`{}` was not answered within {wait_ms} ms", context.spec.id),
                };
                let verdict = Verdict { timed_out: true, ..Verdict::new(on_timeout, reason) };
                Ok(verdict.with("code", "GUARDRAIL_TIMEOUT"))
            }
        }
    }

    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.settings.clone())
    }

    fn has_late_answers(&self) -> bool {
        true
    }

    fn check_late_answer(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        self.verdict(context, answer)
    }

    fn timeout_effect(&self, then: Effect) -> Effect {
        then
    }

    fn default_effect(&self) -> Effect {
        Effect::Block
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }
}
