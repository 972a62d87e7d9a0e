//! Turns the collected verdicts into the decision, in four steps: strikes, what depends on the effect, the description, the state.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::approval::EMERGENCY_OVERRIDE;
use super::preconditions::HALTED;
use super::stream::{self, chunk_stream};
use super::{Pending, Review, Tally, host};
use crate::budget::Autonomy;
use crate::decision::{Decision, Retry, VerdictRecord};
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::inputs::Inputs;
use crate::run::Answer;
use crate::session::{denied_key, quarantine_key};
use crate::verdict::{Notice, Redaction};
use crate::{json_pointer, offer, redact, sub_agents};

impl Tally<'_> {
    /// The decision, after all guardrails ran.
    pub(crate) fn conclude(mut self) -> Decision {
        self.apply_strikes();
        self.apply_effect();
        self.describe();
        let network = self.contain();
        std::mem::take(&mut self.vouching).apply(self.inputs, network, &mut self.decision);
        self.record_state();
        self.decision
    }

    fn apply_strikes(&mut self) {
        let strikes = std::mem::take(&mut self.strikes);
        let rules = self.policy.strike_rules();
        let reached = strikes.count(rules, self.inputs, self.ranking.requested, &mut self.decision);
        let Some((spec, verdict)) = reached else { return };
        let mut review = Review::new(&spec, Answer { verdict, error: None }, None);
        if review.verdict.effect == Effect::Escalate {
            self.find_approval(&mut review);
        }
        self.apply_as_is(review);
    }

    /// Whether the host's own user is the approver of this decision.
    pub(super) fn asks_host_user(&self) -> bool {
        let host = self.inputs.event.host.as_ref();
        self.decision.effect == Effect::Escalate && host.is_some_and(|host| host.asks_user)
    }

    /// Sets the effect, and adds the changes, requests and notices that depend on it.
    fn apply_effect(&mut self) {
        let effect = self.ranking.effect;
        self.decision.effect = effect;
        let is_held = effect == Effect::Escalate && !self.asks_host_user();
        let Pending { on_allow, on_retry, on_escalate, retries, requests, notices } =
            std::mem::take(&mut self.pending);
        let decision = &mut self.decision;
        decision.would = Some(self.ranking.would).filter(|would| *would > effect);
        if !is_held {
            decision.requests = if effect.allows() { requests } else { Vec::new() };
        }
        // Two late answers with the same content request the same approval.
        let mut ids = BTreeSet::new();
        decision.requests.retain(|request| ids.insert(request.id.clone()));
        if effect.allows() {
            decision.changes.0.extend(on_allow.0);
            if !notices.is_empty() {
                decision.effects.push(EMERGENCY_OVERRIDE.to_owned());
                decision.metadata.insert("severity".to_owned(), "critical".into());
                decision.notices.extend(notices);
            }
        } else if effect == Effect::Retry {
            decision.changes.0.extend(on_retry.0);
            decision.retry = join(retries);
        } else if is_held {
            decision.changes.0.extend(on_escalate.0);
        }
    }

    /// Describes the decision: who decided and why, the text that is passed on, notes to the agent.
    fn describe(&mut self) {
        let (event, decision) = (self.inputs.event, &mut self.decision);
        // A note on an allowed result is part of the result. If the result is withheld, so is the note.
        let is_withheld = event.kind == EventKind::AfterTool && !decision.effect.allows();
        let notes = std::mem::take(&mut self.feedback).into_iter();
        decision.feedback =
            notes.filter(|(effect, _)| !(is_withheld && effect.allows())).map(|(_, note)| note).collect();
        let replacement = decision.content.take();
        decision.content = passed_text(self.inputs, replacement, &self.redactions, decision.effect);
        if event.kind == EventKind::BeforeTool && decision.content.is_some() {
            decision.feedback.push(changed_call_note(&decision.verdicts));
        }
        decision.rollback_requested =
            event.kind == EventKind::AfterTool && self.ranking.requested >= Effect::Block;
        decision.risk = self.inputs.risk();
        if event.kind.is_action() {
            let autonomy = self.inputs.autonomy().unwrap_or_default();
            decision.autonomy = Some(autonomy).filter(|autonomy| *autonomy != Autonomy::Standard);
        }
        let Some((by, verdict)) = self.ranking.deciding.take() else { return };
        decision.requested = Some(verdict.effect).filter(|requested| *requested != decision.effect);
        decision.approval = decision.requests.iter().find(|request| request.guardrail == by).cloned();
        decision.by = Some(by);
        decision.reason = verdict.reason;
        decision.advice = verdict.advice;
        decision.metadata.extend(verdict.metadata);
        decision.user_message = verdict.user_message;
    }

    /// Records the state that follows from the decision.
    fn record_state(&mut self) {
        self.record_holds();
        self.record_denial();
        self.record_quarantine();
        let (inputs, decision) = (self.inputs, &mut self.decision);
        decision.changes.0.extend(self.ranking.halt.take().map(|halt| (HALTED.to_owned(), Some(halt))));
        host::count_forced_stops(inputs, decision.effect, &mut decision.changes);
        sub_agents::record_parent(inputs, &mut decision.changes);
        stream::record_stop(inputs, decision);
        host::deliver_notes(inputs, decision);
    }

    /// Records a stopped call by its id, so that a result that a host reports for it all the same never counts as a success. A
    /// call that is allowed later is removed.
    fn record_denial(&mut self) {
        let event = self.inputs.event;
        let Some(id) = event.call_id().filter(|_| event.kind == EventKind::BeforeTool) else { return };
        if self.asks_host_user() {
            return;
        }
        let key = denied_key(id);
        if !self.decision.effect.allows() {
            self.decision.changes.set(key, true);
        } else if matches!(self.inputs.slice(&key), Ok(Some(_))) {
            self.decision.changes.remove(key);
        }
    }

    /// Quarantines the agent in all sessions, and notifies a person.
    fn record_quarantine(&mut self) {
        let event = self.inputs.event;
        let Some(reason) = self.quarantine.take().filter(|_| event.kind == EventKind::OnError) else {
            return;
        };
        let actor = self.inputs.actor();
        let since = event.time.map(|time| time.to_string());
        self.decision.changes.set(quarantine_key(&actor), json!({"reason": reason, "since": since}));
        let message = format!("`{actor}` is quarantined: {reason}");
        self.decision.notices.push(Notice { to: "human_operator".to_owned(), message });
    }
}

/// One retry for those of several guardrails: all messages, and the fewest attempts left.
fn join(retries: Vec<Retry>) -> Option<Retry> {
    let messages: Vec<&str> = retries.iter().map(|retry| retry.message.as_str()).collect();
    let fewest = retries.iter().min_by_key(|retry| retry.max_attempts.saturating_sub(retry.attempt))?;
    Some(Retry { message: messages.join("\n\n"), ..*fewest })
}

/// A note to the agent that its call is made with other arguments.
fn changed_call_note(verdicts: &[VerdictRecord]) -> String {
    let changes = verdicts.iter().filter(|it| it.effect == Some(Effect::Redact) && !it.shadow);
    let reasons: Vec<&str> = changes.map(|verdict| verdict.reason.as_str()).collect();
    format!("Midrail changed the arguments of this call. {}", reasons.join(" "))
}

/// The text that is passed on, if it differs from the event's: a replacement first, then redactions on it.
fn passed_text(
    inputs: &Inputs<'_>,
    replacement: Option<String>,
    redactions: &[Redaction],
    effect: Effect,
) -> Option<String> {
    let event = inputs.event;
    if chunk_stream(event).is_some() {
        return effect.allows().then(|| stream::passed_chunk(inputs, replacement, redactions));
    }
    // A call has no text of its own, only texts in its arguments.
    let (inside, _) = split(redactions);
    let redactions = if event.kind == EventKind::BeforeTool { &inside[..] } else { redactions };
    let is_rewritten = inputs.rewrites.borrow().iter().any(|(_, is_rewritten)| *is_rewritten);
    let is_changed = is_rewritten || replacement.is_some() || !redactions.is_empty();
    if effect >= Effect::Escalate || !is_changed {
        return None;
    }
    if let Some(tools) = &event.tools {
        return Some(offer::passed_tools(tools, redactions));
    }
    let Some(own) = PassedOn::of(event) else { return replacement };
    match replacement {
        None => Some(own.redacted(redactions)),
        // Guardrails saw the event's own text. What they redact there is redacted everywhere in the replacement.
        Some(replacement) => Some(own.redacted_elsewhere(redactions, replacement)),
    }
}

/// What an event passes on, as it is.
enum PassedOn {
    Text(String),
    /// A value at this pointer of the event.
    Value(Value, &'static str),
}

impl PassedOn {
    fn of(event: &Event) -> Option<Self> {
        if let (EventKind::BeforeTool, Some(tool)) = (event.kind, &event.tool) {
            return Some(PassedOn::Value(Value::Object(tool.args.clone()), "/tool/args"));
        }
        let content = event.result.as_ref().and_then(|result| result.content.as_ref());
        match content.filter(|content| !content.is_null()) {
            Some(Value::String(content)) => Some(PassedOn::Text(content.clone())),
            Some(content) => Some(PassedOn::Value(content.clone(), "/result/content")),
            None => event.text.clone().map(PassedOn::Text),
        }
    }

    fn redacted(self, redactions: &[Redaction]) -> String {
        let (inside, whole) = split(redactions);
        match self {
            PassedOn::Text(own) => redact::apply(&own, redactions),
            PassedOn::Value(own, _) if inside.is_empty() => redact::apply(&own.to_string(), &whole),
            PassedOn::Value(own, base) => {
                let mut value = own.clone();
                redact::apply_inside(&mut value, base, &inside);
                redact::apply_elsewhere(&own.to_string(), &whole, &value.to_string())
            }
        }
    }

    fn redacted_elsewhere(self, redactions: &[Redaction], mut other: String) -> String {
        let (inside, whole) = split(redactions);
        match self {
            PassedOn::Text(own) => redact::apply_elsewhere(&own, redactions, &other),
            PassedOn::Value(own, base) => {
                for part in &inside {
                    let pointer = part.at.as_deref().and_then(|at| at.strip_prefix(base)).unwrap_or_default();
                    let text = json_pointer::text_at(&own, pointer).unwrap_or_default();
                    other = redact::apply_elsewhere(&text, std::slice::from_ref(part), &other);
                }
                redact::apply_elsewhere(&own.to_string(), &whole, &other)
            }
        }
    }
}

/// Redactions inside a value, and those of its whole text.
fn split(redactions: &[Redaction]) -> (Vec<Redaction>, Vec<Redaction>) {
    redactions.iter().cloned().partition(|part| part.at.is_some())
}
