//! What verdicts lead to: the highest effect, and the law's own state (warnings, tries, approvals, a halted run).

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::ask::Answer;
use crate::context::{World, denied_key};
use crate::decision::{ApprovalKind, ApprovalRequest, Aside, Decision, Mode, Retry, Said};
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::guardrail::Spec;
use crate::policy::{Entry, hex};
use crate::redact;
use crate::session::{Changes, key_part};
use crate::verdict::{Redaction, Verdict};

/// The slice that says that a run was halted.
pub const HALTED: &str = "halted";

/// Speaks where no guardrail does: a halted run, a session that could not be read.
const LAW: &str = "midrail";

pub(crate) struct Tally<'a> {
    world: &'a World<'a>,
    /// The highest effect that has consequences.
    effect: Effect,
    /// The highest effect, shadow mode counted in.
    would: Effect,
    deciding: Option<Deciding>,
    decision: Decision,
    retries: Vec<Retry>,
    redactions: Vec<Redaction>,
    /// Escalations of a kind of event that cannot be held: a person is asked all the same.
    queued: Vec<ApprovalRequest>,
    /// State to write only where the action goes on: warnings, used approvals.
    if_it_goes_on: Changes,
    /// State to write only where the decision is a retry.
    if_retry: Changes,
    /// State to write only where the decision is an escalation.
    if_escalate: Changes,
}

/// Who is at the highest step.
struct Deciding {
    by: Arc<str>,
    verdict: Verdict,
    /// It is the law itself, and no guardrail.
    is_law: bool,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(world: &'a World<'a>) -> Self {
        let decision = Decision {
            policy: world.policy.revision().clone(),
            mode: world.policy.mode(),
            ..Decision::default()
        };
        let mut tally = Tally {
            world,
            effect: Effect::Allow,
            would: Effect::Allow,
            deciding: None,
            decision,
            retries: Vec::new(),
            redactions: Vec::new(),
            queued: Vec::new(),
            if_it_goes_on: Changes::default(),
            if_retry: Changes::default(),
            if_escalate: Changes::default(),
        };
        tally.start_from_halted();
        tally
    }

    /// A halted run answers halt to every later event.
    fn start_from_halted(&mut self) {
        let verdict = match self.world.slice(HALTED) {
            Ok(None) => return,
            // A session that begins anew is a new run.
            Ok(Some(_)) if self.world.event.kind == EventKind::SessionStart => {
                self.decision.changes.remove(HALTED);
                return;
            }
            Ok(Some(halted)) => {
                let text = |key: &str| halted.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let mut verdict = Verdict::new(
                    Effect::Halt,
                    format!("this run was halted by `{}`: {}", text("by"), text("reason")),
                );
                verdict.user_message = Some(text("user_message")).filter(|message| !message.is_empty());
                verdict
            }
            Err(missing) => Verdict::block(missing.to_string()),
        };
        self.raise(Deciding { by: LAW.into(), verdict, is_law: true });
    }

    /// Whether asking a guardrail could not change the outcome. As long as something is lacking nothing is settled:
    /// everyone is asked, so that all needs become known at once.
    pub(crate) fn is_settled_for(&self, entry: &Entry) -> bool {
        self.effect >= Effect::Block
            && self.world.event.kind != EventKind::OnError
            && !self.world.lacks.get()
            && !entry.could_raise(self.effect)
    }

    pub(crate) fn skip(&mut self, entry: &Entry) {
        self.decision.verdicts.push(Said {
            guardrail: entry.spec.id.clone(),
            skipped: true,
            shadow: entry.spec.mode == Mode::Shadow,
            ..Said::default()
        });
    }

    /// Takes a verdict in, with what the law makes of it.
    pub(crate) fn count(&mut self, entry: &Entry, Answer { verdict, error }: Answer, took: Option<u64>) {
        let spec = &entry.spec;
        let shadow = spec.mode == Mode::Shadow;
        let failed = error.is_some();
        let mut error = error;
        let mut verdict = self.after_warnings(spec, verdict, &mut error);
        if !failed {
            verdict = self.after_tries(entry, verdict, &mut error);
        }
        verdict = self.after_approval(spec, verdict, &mut error);
        let strongest = strongest_on(self.world.event.kind);
        if verdict.effect == Effect::Escalate && strongest < Effect::Escalate {
            self.queued.extend(self.decision.requests.pop());
        }
        verdict.effect = verdict.effect.min(strongest);

        self.decision.verdicts.push(Said {
            guardrail: spec.id.clone(),
            effect: Some(verdict.effect),
            reason: verdict.reason.clone(),
            skipped: false,
            shadow,
            error,
            duration_us: Aside(took),
        });
        self.would = self.would.max(verdict.effect);
        if shadow {
            return;
        }
        self.redactions.append(&mut verdict.redactions);
        if let Some(replacement) = verdict.replacement.take() {
            self.decision.content = Some(replacement);
        }
        self.decision.feedback.extend(verdict.feedback.take());
        for effect in &verdict.effects {
            if !self.decision.effects.contains(effect) {
                self.decision.effects.push(effect.clone());
            }
        }
        self.decision.recovery = self.decision.recovery.max(verdict.recovery);
        self.raise(Deciding { by: spec.id.clone(), verdict, is_law: false });
    }

    fn raise(&mut self, deciding: Deciding) {
        let effect = deciding.verdict.effect;
        self.would = self.would.max(effect);
        if effect > self.effect {
            self.effect = effect;
            self.deciding = Some(deciding);
        }
    }

    /// The warning that reaches the limit of its task becomes an escalation.
    fn after_warnings(&mut self, spec: &Spec, verdict: Verdict, error: &mut Option<String>) -> Verdict {
        if verdict.effect != Effect::Warn || spec.warn_limit == 0 {
            return verdict;
        }
        let key = self.state_key(spec, "warn", self.world.event.task_id());
        let slice = match self.kept(spec, &verdict, &key, error) {
            Ok(slice) => slice,
            Err(verdict) => return *verdict,
        };
        let count = slice.and_then(Value::as_u64).unwrap_or(0).saturating_add(1);
        if count >= u64::from(spec.warn_limit) {
            let reason = format!("{} (warning {count} of this guardrail in this task)", verdict.reason);
            return Verdict { effect: Effect::Escalate, reason, ..verdict };
        }
        self.if_it_goes_on.set(key, count);
        verdict
    }

    /// A retry is counted; when its tries are used up, `on_exhausted` follows.
    fn after_tries(&mut self, entry: &Entry, verdict: Verdict, error: &mut Option<String>) -> Verdict {
        let spec = &entry.spec;
        let can_retry = match spec.effect {
            Some(effect) => effect == Effect::Retry,
            None => entry.guardrail.may_retry(),
        };
        if verdict.effect != Effect::Retry && !can_retry {
            return verdict;
        }
        let key = self.state_key(spec, "retry", self.world.event.tool_name().unwrap_or_default());
        if verdict.effect != Effect::Retry {
            // A success gives the tries back.
            if verdict.effect.goes_on() && matches!(self.world.slice(&key), Ok(Some(_))) {
                self.if_it_goes_on.remove(key);
            }
            return verdict;
        }
        let slice = match self.kept(spec, &verdict, &key, error) {
            Ok(slice) => slice,
            Err(verdict) => return *verdict,
        };
        let attempt = slice.and_then(Value::as_u64).unwrap_or(0).saturating_add(1);

        let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
        if attempt > spec.max_attempts {
            let tries = spec.max_attempts;
            let reason = format!("{} (its {tries} tries are used up)", verdict.reason);
            let effect = match (spec.on_exhausted.effect(), self.world.event.kind) {
                (_, EventKind::BeforeStop) | (Effect::Allow, _) => Effect::Warn,
                (effect, _) => effect,
            };
            return Verdict { effect, reason, ..verdict };
        }
        if spec.mode == Mode::Shadow {
            self.decision.changes.set(key, attempt);
        } else {
            self.if_retry.set(key, attempt);
            let message = verdict.retry_message.clone().unwrap_or_else(|| verdict.reason.clone());
            self.retries.push(Retry { message, attempt, max_attempts: spec.max_attempts });
        }
        verdict
    }

    /// An escalation looks for a person's answer to exactly this action; without one it asks.
    fn after_approval(&mut self, spec: &Spec, verdict: Verdict, error: &mut Option<String>) -> Verdict {
        if verdict.effect != Effect::Escalate || spec.mode == Mode::Shadow {
            return verdict;
        }
        let action = self.world.facts.action_digest.clone().unwrap_or_else(|| action_digest(self.world));
        let key = approval_key(&spec.id, &action);
        let slice = match self.kept(spec, &verdict, &key, error) {
            Ok(slice) => slice,
            Err(verdict) => return *verdict,
        };
        let now = self.world.event.time;
        if let Some(held) = slice {
            let text = |name: &str| held.get(name).and_then(Value::as_str).unwrap_or_default();
            let expires = text("expires").parse().ok();
            let is_over = matches!((now, expires), (Some(now), Some(expires)) if now >= expires);
            match text("state") {
                "approved" if !is_over => {
                    self.if_it_goes_on.remove(key);
                    let note = format!("approved by {} ({}): {}", text("by"), text("id"), verdict.reason);
                    return Verdict { effect: Effect::Allow, reason: note, ..verdict };
                }
                "denied" => {
                    let reason = format!("denied by {} ({}): {}", text("by"), text("id"), verdict.reason);
                    return Verdict { effect: Effect::Block, reason, ..verdict };
                }
                _ if is_over => {
                    // The next try asks anew.
                    self.decision.changes.remove(key);
                    let reason = {
                        let how =
                            if text("state") == "approved" { "before it was used" } else { "with no answer" };
                        format!("the approval {} timed out {how}: {}", text("id"), verdict.reason)
                    };
                    return Verdict { effect: Effect::Block, reason, ..verdict };
                }
                _ => {
                    let request = request(spec, action, text("id").to_owned(), expires);
                    self.decision.requests.push(request);
                    return verdict;
                }
            }
        }
        let expires = now.and_then(|now| {
            now.checked_add(jiff::SignedDuration::from_secs(i64::from(spec.approval_timeout_s))).ok()
        });
        let id = approval_id(self.world, &spec.id, &action);
        let held = json!({"id": id, "state": "pending", "expires": expires.map(|time| time.to_string())});
        if strongest_on(self.world.event.kind) < Effect::Escalate {
            self.if_it_goes_on.set(key, held);
        } else {
            self.if_escalate.set(key, held);
        }
        self.decision.requests.push(request(spec, action, id, expires));
        verdict
    }

    /// The decision, once every guardrail has been heard.
    pub(crate) fn conclude(self) -> Decision {
        let mut decision = self.decision;
        decision.effect = self.effect;
        if self.would > self.effect {
            decision.would = Some(self.would);
        }
        for changes in [
            self.effect.goes_on().then_some(self.if_it_goes_on),
            (self.effect == Effect::Retry).then_some(self.if_retry),
            (self.effect == Effect::Escalate).then_some(self.if_escalate),
        ] {
            decision.changes.0.extend(changes.unwrap_or_default().0);
        }
        if self.effect != Effect::Escalate {
            decision.requests = if self.effect.goes_on() { self.queued } else { Vec::new() };
        }
        if self.effect == Effect::Retry {
            decision.retry = joined(self.retries);
        }
        let content = decision.content.take();
        decision.content = passing_text(self.world, content, &self.redactions, self.effect);
        decision.rollback_requested =
            self.world.event.kind == EventKind::AfterTool && self.effect >= Effect::Block;

        note_denial(self.world, self.effect, &mut decision.changes);
        let Some(Deciding { by, verdict, is_law }) = self.deciding else { return decision };
        if self.effect == Effect::Halt && !is_law {
            let user_message = verdict.user_message.clone().unwrap_or_default();
            decision
                .changes
                .set(HALTED, json!({"by": by, "reason": verdict.reason, "user_message": user_message}));
        }
        decision.approval = decision.requests.iter().find(|request| request.guardrail == by).cloned();
        decision.by = Some(by);
        decision.reason = verdict.reason;
        decision.advice = verdict.advice;
        decision.metadata = verdict.metadata;
        decision.user_message = verdict.user_message;
        decision
    }

    /// What the law keeps of a guardrail. Where that is not known, its `on_missing` speaks if it is stronger than what
    /// the guardrail said itself; else it is taken for nothing.
    fn kept(
        &self,
        spec: &Spec,
        verdict: &Verdict,
        key: &str,
        error: &mut Option<String>,
    ) -> Result<Option<&'a Value>, Box<Verdict>> {
        let missing = match self.world.slice(key) {
            Ok(slice) => return Ok(slice),
            Err(missing) => missing,
        };
        let effect = spec.on_missing.effect();
        if effect <= verdict.effect {
            return Ok(None);
        }
        *error = Some(missing.to_string());
        let reason = format!("`{}` could not be checked: {missing}", spec.id);
        Err(Box::new(Verdict { effect, reason, ..verdict.clone() }))
    }

    /// The key of a slice that comes from verdicts. Shadow mode has its own, so that it never alters what is enforced.
    fn state_key(&self, spec: &Spec, what: &str, of: &str) -> String {
        let shadow = if spec.mode == Mode::Shadow { "shadow/" } else { "" };
        format!("{shadow}{what}/{}/{of}", key_part(&spec.id))
    }
}

/// The strongest effect that a kind of event knows. Nothing can be stopped once a hand-off is done.
fn strongest_on(kind: EventKind) -> Effect {
    match kind {
        EventKind::AfterHandoff => Effect::Warn,
        EventKind::SessionStart
        | EventKind::SessionEnd
        | EventKind::BeforeModel
        | EventKind::ModelChunk
        | EventKind::AfterModel
        | EventKind::BeforeTool
        | EventKind::AfterTool
        | EventKind::BeforeHandoff
        | EventKind::OnError
        | EventKind::BeforeStop
        | EventKind::ApprovalDecided
        | EventKind::Restored => Effect::Halt,
    }
}

/// A call that was stopped is remembered by its name, so that a result that a host reports for it all the same never
/// counts as a success. One that is let pass after all is forgotten.
fn note_denial(world: &World<'_>, effect: Effect, changes: &mut Changes) {
    let Some(id) = world.event.call_id().filter(|_| world.event.kind == EventKind::BeforeTool) else {
        return;
    };
    let key = denied_key(id);
    if !effect.goes_on() {
        changes.set(key, true);
    } else if matches!(world.slice(&key), Ok(Some(_))) {
        changes.remove(key);
    }
}

/// Retries of several guardrails become one: messages joined, the fewest tries left.
fn joined(retries: Vec<Retry>) -> Option<Retry> {
    retries.into_iter().reduce(|one, other| {
        let left = |retry: &Retry| retry.max_attempts.saturating_sub(retry.attempt);
        let (attempt, max_attempts) = if left(&one) <= left(&other) {
            (one.attempt, one.max_attempts)
        } else {
            (other.attempt, other.max_attempts)
        };
        Retry { message: format!("{}\n\n{}", one.message, other.message), attempt, max_attempts }
    })
}

/// The text that passes on, where it differs from the event's: a replacement first, then redactions on it.
fn passing_text(
    world: &World<'_>,
    replacement: Option<String>,
    redactions: &[Redaction],
    effect: Effect,
) -> Option<String> {
    if effect >= Effect::Escalate || (replacement.is_none() && redactions.is_empty()) {
        return None;
    }
    let event = world.event;
    let content = event.result.as_ref().and_then(|result| result.content.as_ref());
    let own = match (content.filter(|content| !content.is_null()), &event.text) {
        (Some(Value::String(content)), _) => Some(content.clone()),
        (Some(content), _) => Some(content.to_string()),
        (None, text) => text.clone(),
    };
    match (own, replacement) {
        (Some(own), None) => Some(redact::apply(&own, redactions)),
        // Guardrails saw the event's own text. What they hide there is hidden in the replacement wherever it stands.
        (Some(own), Some(replacement)) => Some(redact::apply_elsewhere(&own, redactions, &replacement)),
        (None, replacement) => replacement,
    }
}

/// The slice that holds a person's answer for one guardrail and one action.
pub fn approval_key(guardrail: &str, action: &str) -> String {
    format!("approval/{}/{action}", key_part(guardrail))
}

fn action_digest(world: &World<'_>) -> String {
    hex(&Sha256::digest(action_text(world.event, &world.session.id).as_bytes()))
}

/// The exact action as a text: what is done, where, in which session and task. Changed arguments are another action;
/// the host's name for the call is no part of it, so that the same call can be tried again.
pub fn action_text(event: &Event, session: &str) -> String {
    let tool = event.tool.as_ref().map(|tool| json!({"name": tool.name, "args": tool.args}));
    // Null and nothing are the same on the wire, and so they are here.
    let handoff = event.handoff.as_ref().map(|handoff| {
        let context = handoff.context.as_ref().filter(|context| !context.is_null());
        let receiver = handoff.receiver.as_ref().filter(|receiver| !receiver.is_null());
        json!([handoff.to, context, handoff.artifacts, handoff.rationale, receiver, handoff.extra])
    });
    let result = event.result.as_ref().map(|result| {
        json!([
            result.ok,
            result.content.as_ref().filter(|content| !content.is_null()),
            result.exit_code,
            result.extra
        ])
    });
    json!({
        "kind": event.kind, "tool": tool, "text": event.text, "handoff": handoff, "result": result,
        "output": event.output, "error": event.error, "cwd": event.cwd, "session": session, "task": event.task_id(),
    })
    .to_string()
}

fn approval_id(world: &World<'_>, guardrail: &str, action: &str) -> String {
    let time = world.event.time.map(|time| time.to_string()).unwrap_or_default();
    let whole = hex(&Sha256::digest(format!("{guardrail}\n{action}\n{time}").as_bytes()));
    whole.get(..16).unwrap_or_default().to_owned()
}

fn request(spec: &Spec, action: String, id: String, expires: Option<jiff::Timestamp>) -> ApprovalRequest {
    ApprovalRequest {
        id,
        kind: ApprovalKind::Escalation,
        approver: spec.approver.clone(),
        expires,
        guardrail: spec.id.clone(),
        action,
    }
}
