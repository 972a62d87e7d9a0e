//! An executable specification of `decide`: every guardrail runs, nothing is skipped, and the rules of the design are applied one
//! after the other. It is naive on purpose, and property tests compare it with the real decision core.
//!
//! Keys of slices and the wording of reasons are stored and shown, so they are part of the specification.

mod approval;
mod guardrail;
mod late;
mod preconditions;
mod state;
mod strikes;

use std::collections::BTreeSet;

use jiff::SignedDuration;
use midrail_core::{
    ApprovalRequest, Decision, Effect, Event, EventKind, HostLimit, Missing, Mode, Pause, Redaction, Retry,
    StrikeRule, Verdict, VerdictRecord, redact,
};
use serde_json::Value;

use crate::plan::Plan;
use crate::world::{Backing, key_part};

/// The inputs of one decision.
struct Model<'a> {
    /// The guardrails in the order of the chain.
    chain: Vec<Plan>,
    rules: &'a [StrikeRule],
    backing: &'a Backing,
    event: &'a Event,
}

/// One verdict, and the consequences that depend on the final effect.
#[derive(Default)]
struct Vote {
    id: String,
    /// Midrail's own verdict, not a guardrail's.
    is_own: bool,
    is_shadow: bool,
    verdict: Verdict,
    error: Option<String>,
    retry: Option<Retry>,
    request: Option<ApprovalRequest>,
    changes: Vec<(If, String, Option<Value>)>,
    /// An approval was requested before and is not denied.
    was_requested: bool,
    /// The approval is about an earlier event of the run.
    is_about_run: bool,
}

/// The final effect with which a change is made.
#[derive(Clone, Copy, PartialEq)]
enum If {
    Always,
    Allowed,
    Retry,
    Escalated,
    /// Always, unless the guardrail was skipped: an expired approval is removed.
    Run,
}

/// The id of every sandbox in the model.
pub(crate) const SANDBOX: &str = "0123456789abcdef";

/// What holds the run until an approver answers.
struct Hold {
    row: Value,
    /// The effect after the approval was looked up: allowed ends it, and an escalation is shown to the approver.
    effect: Effect,
}

/// The decision, and the expired approvals that are removed if their guardrail runs.
pub(crate) fn decide(
    plans: &[Plan],
    rules: &[StrikeRule],
    backing: &Backing,
    event: &Event,
) -> (Decision, BTreeSet<String>) {
    // A pause puts every guardrail that is not always on into shadow mode.
    let pauses = slice(backing, "shared/pause").ok().flatten();
    let covers = |pause: &Pause| match (&pause.project, &backing.root) {
        (None, _) => true,
        (Some(project), Some(root)) => root == project || root.starts_with(&format!("{project}/")),
        (Some(_), None) => false,
    };
    let paused = Pause::all(pauses).into_iter().find(|pause| {
        let is_short = pause.until.duration_since(pause.since) <= SignedDuration::from_hours(1);
        covers(pause) && is_short && event.time.is_some_and(|now| pause.since <= now && now < pause.until)
    });
    // The chain is sorted by priority, then category, then declaration. Of two guardrails with one id the first counts.
    let mut chain: Vec<Plan> = Vec::new();
    for plan in plans {
        if chain.iter().all(|other| other.id != plan.id) {
            let mode = if paused.is_some() && !plan.always_on { Mode::Shadow } else { plan.mode };
            chain.push(Plan { mode, ..plan.clone() });
        }
    }
    chain.sort_by_key(|plan| (plan.priority, plan.category));
    let model = Model { chain, rules, backing, event };

    let mut votes = model.preconditions();
    let mut holds = Vec::new();
    if model.accepts_late_answers() && !event.is_new_run() {
        model.apply_holds(&mut votes, &mut holds);
        model.apply_late_answers(&mut votes, &mut holds);
    }
    for plan in &model.chain {
        let is_asked = plan.on.contains(&event.kind) && model.fits_tool(&plan.governs);
        if is_asked && model.fits_tool(&plan.tools) {
            votes
                .extend(model.check(plan).map(|(verdict, error)| model.review(plan, verdict, error, None).0));
        }
    }
    let strikes = model.count_strikes(&mut votes);
    let (mut decision, expired) = model.conclude(&votes);
    decision.paused = paused;
    model.record_state(&votes, &holds, &mut decision);
    decision.changes.0.extend(strikes.map(|strikes| ("strikes".to_owned(), strikes)));
    for plan in &model.chain {
        let is_asked = plan.watches.contains(&event.kind) && model.fits_tool(&plan.governs);
        if is_asked && model.holds(plan) == Ok(true) {
            model.observe(plan, &mut decision);
        }
    }
    (decision, expired)
}

impl Model<'_> {
    fn slice(&self, key: &str) -> Result<Option<&Value>, Missing> {
        slice(self.backing, key)
    }

    /// A text in a slice, or nothing.
    fn text(&self, key: &str, name: &str) -> Option<String> {
        self.slice(key).ok()??[name].as_str().map(str::to_owned)
    }

    fn is_action(&self) -> bool {
        matches!(self.event.kind, EventKind::BeforeTool | EventKind::BeforeHandoff)
    }

    /// An agent can always stop and report errors.
    fn can_wait(&self) -> bool {
        let waits =
            [EventKind::BeforeModel, EventKind::ModelChunk, EventKind::AfterModel, EventKind::AfterTool];
        self.is_action() || waits.contains(&self.event.kind)
    }

    fn actor(&self) -> String {
        let agent = self.event.agent.as_ref().and_then(|agent| agent.id.clone());
        agent.unwrap_or_else(|| format!("session:{}", self.backing.session))
    }

    fn parent(&self) -> Option<String> {
        self.event.parent.as_ref().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty())
    }

    /// The digest of the current action, as `decide` names it.
    fn digest(&self) -> String {
        self.backing.names("g0", self.event, None).0
    }

    /// The highest effect wins, and the first guardrail with it has decided.
    fn conclude(&self, votes: &[Vote]) -> (Decision, BTreeSet<String>) {
        let enforced: Vec<&Vote> = votes.iter().filter(|vote| !vote.is_shadow).collect();
        let supported = |vote: &Vote| self.supported(vote.verdict.effect);
        let effect = enforced.iter().map(|vote| supported(vote)).max().unwrap_or_default();
        let would = votes.iter().map(supported).max().unwrap_or_default();
        let requested = enforced.iter().map(|vote| vote.verdict.effect).max().unwrap_or_default();
        let mut decision = Decision { effect, ..Decision::default() };
        decision.would = (would > effect).then_some(would);
        let is_result = self.event.kind == EventKind::AfterTool;
        decision.rollback_requested = is_result && requested >= Effect::Block;
        if effect > Effect::Allow {
            let deciding = enforced.iter().find(|vote| supported(vote) == effect).unwrap();
            decision.by = Some(deciding.id.as_str().into());
            decision.reason = deciding.verdict.reason.clone();
            decision.advice = deciding.verdict.advice.clone();
            decision.user_message = deciding.verdict.user_message.clone();
            decision.requested = Some(deciding.verdict.effect).filter(|requested| *requested != effect);
        }
        let is_held = effect == Effect::Escalate && !self.asks_host_user(effect);
        let is_done = self.event.kind == EventKind::AfterHandoff;
        let mut expired = BTreeSet::new();
        for vote in votes {
            for (changed_if, key, value) in vote.changes.clone() {
                let is_changed = match changed_if {
                    If::Always => true,
                    If::Allowed => effect.allows(),
                    If::Retry => effect == Effect::Retry,
                    If::Escalated => is_held,
                    If::Run => {
                        expired.insert(key.clone());
                        false
                    }
                };
                if is_changed {
                    decision.changes.0.insert(key, value);
                }
            }
            let is_new = |request: &ApprovalRequest| decision.requests.iter().all(|it| it.id != request.id);
            let request = vote.request.clone().filter(is_new);
            decision.requests.extend(request.filter(|_| is_held || (is_done && effect.allows())));
            if !vote.is_own {
                decision.verdicts.push(VerdictRecord {
                    guardrail: vote.id.as_str().into(),
                    effect: Some(vote.verdict.effect),
                    reason: vote.verdict.reason.clone(),
                    shadow: vote.is_shadow,
                    error: vote.error.clone(),
                    ..VerdictRecord::default()
                });
            }
        }
        let requests = &decision.requests;
        let is_own = |it: &&ApprovalRequest| decision.by.as_deref() == Some(&*it.guardrail);
        decision.approval = requests.iter().find(is_own).cloned();
        let is_halted = !self.event.is_new_run() && matches!(self.slice("halted"), Ok(Some(_)));
        for Vote { verdict, .. } in &enforced {
            // A note on an allowed result is withheld with the result.
            if !(is_result && !effect.allows() && verdict.effect.allows()) {
                decision.feedback.extend(verdict.feedback.clone());
            }
            decision.effects.extend(verdict.effects.iter().filter(|_| !is_halted).cloned());
            decision.recovery = decision.recovery.max(verdict.recovery);
        }
        // Several retries become one: all messages, and the fewest attempts left.
        let retries = || enforced.iter().filter_map(|vote| vote.retry.clone());
        let messages: Vec<String> = retries().map(|retry| retry.message).collect();
        let fewest = retries().min_by_key(|retry| retry.max_attempts - retry.attempt);
        let retry = fewest.map(|retry| Retry { message: messages.join("\n\n"), ..retry });
        decision.retry = retry.filter(|_| effect == Effect::Retry);
        decision.content = self.passed_text(&enforced, effect);
        if self.event.kind == EventKind::BeforeTool && decision.content.is_some() {
            let changes = enforced.iter().filter(|vote| vote.verdict.effect == Effect::Redact);
            let reasons: Vec<&str> = changes.map(|vote| vote.verdict.reason.as_str()).collect();
            decision
                .feedback
                .push(format!("Midrail changed the arguments of this call. {}", reasons.join(" ")));
        }
        if effect == Effect::Contain {
            decision.content = self.sandboxed(SANDBOX);
        }
        decision.vouched = self.is_vouched(votes, &decision);
        (decision, expired)
    }

    /// No person needs to be asked about a call if a guardrail has grounds and none has anything against it, in shadow mode either.
    /// What could not be read is another reason to ask, which this does not know.
    fn is_vouched(&self, votes: &[Vote], decision: &Decision) -> bool {
        let is_clear = |vote: &Vote| {
            let Verdict { effect, reason, effects, notices, not_checked, timed_out, sandbox, .. } =
                &vote.verdict;
            let is_silent = match effect {
                Effect::Allow => reason.is_empty(),
                Effect::Contain => sandbox.is_some(),
                _ => false,
            };
            let has_consequence = !effects.is_empty() || !notices.is_empty() || *not_checked || *timed_out;
            is_silent && !has_consequence && vote.error.is_none()
        };
        self.event.kind == EventKind::BeforeTool
            && matches!(decision.effect, Effect::Allow | Effect::Contain)
            && decision.would.is_none()
            && self.event.host.as_ref().is_none_or(|host| host.takes_vouches)
            && votes.iter().all(is_clear)
            && votes.iter().any(|vote| !vote.is_shadow && vote.verdict.grounds.is_some())
    }

    /// A host that cannot change a text or end a run blocks instead, and sends an agent back to work 25 times at most.
    fn supported(&self, effect: Effect) -> Effect {
        let is_unsupported = (effect == Effect::Redact && self.has_limit(HostLimit::Redact))
            || (effect == Effect::Contain && self.sandboxed("").is_none())
            || (effect == Effect::Halt && self.has_limit(HostLimit::Halt));
        let effect = if is_unsupported { Effect::Block } else { effect };
        let is_stop = self.event.host.is_some() && self.event.kind == EventKind::BeforeStop;
        let is_exhausted = is_stop && self.forced_stops() >= 25 && effect < Effect::Halt;
        if is_exhausted { effect.min(Effect::Warn) } else { effect }
    }

    fn has_limit(&self, limit: HostLimit) -> bool {
        self.event.host.as_ref().is_some_and(|host| host.limits.contains(&limit))
    }

    fn asks_host_user(&self, effect: Effect) -> bool {
        effect == Effect::Escalate && self.event.host.as_ref().is_some_and(|host| host.asks_user)
    }

    fn forced_key(&self) -> String {
        format!("forced/{}", key_part(&self.actor()))
    }

    fn forced_stops(&self) -> u64 {
        self.slice(&self.forced_key()).ok().flatten().and_then(Value::as_u64).unwrap_or(0)
    }

    /// The text that is passed on: the last replacement, without what any guardrail redacts in the event's own text.
    fn passed_text(&self, enforced: &[&Vote], effect: Effect) -> Option<String> {
        let verdicts = || enforced.iter().map(|vote| &vote.verdict);
        let content = self.event.result.as_ref().and_then(|result| result.content.clone());
        let own = self.event.text.clone().or(match content {
            Some(Value::String(text)) => Some(text),
            other => other.map(|other| other.to_string()),
        });
        // A guardrail that redacts and names no part redacts the whole text.
        let parts = |vote: &&Vote| {
            let Verdict { effect, redactions, replacement, .. } = &vote.verdict;
            let is_whole = *effect == Effect::Redact && redactions.is_empty() && replacement.is_none();
            let whole = own
                .as_ref()
                .filter(|_| is_whole)
                .map(|own| Redaction::new(0, own.len(), format!("[redacted:{}]", vote.id)));
            redactions.iter().cloned().chain(whole).collect::<Vec<_>>()
        };
        let redactions: Vec<Redaction> = enforced.iter().flat_map(parts).collect();
        let replacement = verdicts().filter_map(|verdict| verdict.replacement.clone()).next_back();
        if self.stream_key().is_some() {
            let text = self.event.text.clone().unwrap_or_default();
            let sent = self.backing.sent_bytes;
            let Some(rest) = text.get(sent..) else { return effect.allows().then(String::new) };
            let passed = match replacement {
                Some(other) => {
                    let own = other.strip_prefix(&text[..sent]).unwrap_or(&other);
                    redact::apply_elsewhere(&text, &redactions, own)
                }
                None => {
                    let shift = |at: usize| at.saturating_sub(sent);
                    let shifted = redactions
                        .into_iter()
                        .map(|it| Redaction::new(shift(it.start), shift(it.end), it.replacement));
                    redact::apply(rest, &shifted.collect::<Vec<_>>())
                }
            };
            return effect.allows().then_some(passed);
        }
        if effect >= Effect::Escalate || (redactions.is_empty() && replacement.is_none()) {
            return None;
        }
        match (own, replacement) {
            (Some(own), Some(other)) => Some(redact::apply_elsewhere(&own, &redactions, &other)),
            (Some(own), None) => Some(redact::apply(&own, &redactions)),
            (None, replacement) => replacement,
        }
    }
}

/// A slice of the session. Null counts as none.
fn slice<'a>(backing: &'a Backing, key: &str) -> Result<Option<&'a Value>, Missing> {
    if backing.unreadable.contains(key) {
        return Err(Missing(format!("the session's `{key}` was not loaded")));
    }
    Ok(backing.slices.get(key).filter(|value| !value.is_null()))
}
