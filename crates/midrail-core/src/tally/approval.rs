//! Approvals: a verdict that escalates requests one, and one that blocks may be bypassed by one. An approval is for one exact
//! action, and is used once.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Review, Tally};
use crate::action_digest::current_action_digest;
use crate::budget::Autonomy;
use crate::context::Context;
use crate::decision::{ApprovalKind, ApprovalRequest, Mode};
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::facts::{Facts, Needs};
use crate::hex;
use crate::inputs::Inputs;
use crate::policy::Policy;
use crate::session::Session;
use crate::spec::{Bypass, Spec};
use crate::stored_approval::{StoredApproval, approval_key};
use crate::verdict::{Notice, Verdict};

/// The effect of a decision that bypassed a guardrail by an emergency override.
pub const EMERGENCY_OVERRIDE: &str = "emergency_override";

impl Tally<'_> {
    /// Applies an approval, and holds the run for a late verdict that requests one.
    pub(super) fn apply_approval(&mut self, review: &mut Review<'_>) {
        review.is_about_run = review.about.is_some() && review.verdict.effect == Effect::Escalate;
        if !review.is_about_run {
            review.finding_digest = finding_digest(self.inputs, &review.verdict);
            if self.inputs.is_modified() && matches!(review.verdict.effect, Effect::Escalate | Effect::Block)
            {
                review.finding_digest = Some(current_action_digest(self.inputs));
            }
        }
        // A guardrail without its inputs runs again before it can be bypassed.
        let is_too_early = review.error.is_some() && self.inputs.has_pending_needs.get();
        if is_too_early && review.verdict.effect == Effect::Block {
            return;
        }
        let is_held = review.is_about_run && review.spec.mode == Mode::Enforce;
        let before = is_held.then(|| review.verdict.clone());
        self.find_approval(review);
        if let (Some(before), Some(about)) = (before, review.about.clone()) {
            self.hold_run(review, about, before);
        }
    }

    /// Looks for the approval of a verdict, and requests one for an escalation without any.
    pub(super) fn find_approval(&mut self, review: &mut Review<'_>) {
        let can_be_approved = match review.verdict.effect {
            Effect::Escalate => true,
            Effect::Block => review.spec.bypass != Bypass::Never,
            Effect::Allow
            | Effect::Warn
            | Effect::Redact
            | Effect::Contain
            | Effect::Retry
            | Effect::Halt => false,
        };
        if !can_be_approved || review.spec.mode == Mode::Shadow {
            return;
        }
        let action = match (&review.about, review.verdict.effect, &review.finding_digest) {
            // An escalation about an earlier event is approved for the run; a block is of the event that it stops.
            (Some(about), Effect::Escalate, _) => about.action.clone(),
            (_, _, Some(digest)) => digest.clone(),
            _ => current_action_digest(self.inputs),
        };
        let key = approval_key(&review.spec.id, &action);
        let is_block = review.verdict.effect == Effect::Block;
        let Some(slice) = self.stored(review, &key) else { return };
        match slice.map(StoredApproval::decode) {
            None if is_block => {}
            None => self.request_approval(review, action, key),
            // An approved escalation does not bypass a block.
            Some(approval) if is_block && approval.kind == ApprovalKind::Escalation => {}
            Some(approval) => self.use_approval(review, &approval, action, key),
        }
    }

    fn use_approval(
        &mut self,
        review: &mut Review<'_>,
        approval: &StoredApproval<'_>,
        action: String,
        key: String,
    ) {
        // An action that waits or was approved is not counted against the agent again.
        review.was_requested = approval.state != "denied";
        if approval.state == "denied" && approval.kind == ApprovalKind::Escalation {
            self.decision.changes.0.extend(self.end_of_wait(review.spec).0);
        }
        let (spec, reason) = (review.spec, review.verdict.reason.clone());
        let (is_bypass, noun) = (approval.kind == ApprovalKind::Bypass, approval.noun());
        let StoredApproval { id, by, .. } = approval;
        let is_expired = approval.is_expired(self.inputs.event.time);
        let (effect, reason) = match approval.state {
            "approved" if !is_expired => match self.objection(spec, review.verdict.effect, approval) {
                Some(why) => (Effect::Block, format!("{reason} (the bypass {id} does not hold: {why})")),
                None => {
                    self.pending.on_allow.remove(key);
                    if !is_bypass {
                        self.pending.on_allow.0.extend(self.end_of_wait(spec).0);
                    }
                    let how = if is_bypass { "lifted" } else { "approved" };
                    (Effect::Allow, format!("{how} by {by} ({id}): {reason}"))
                }
            },
            "denied" if approval.is_revoked => {
                (Effect::Block, format!("{noun} taken back by {by} ({id}): {reason}"))
            }
            "denied" if is_bypass => (Effect::Block, format!("bypass denied by {by} ({id}): {reason}")),
            "denied" => (Effect::Block, format!("denied by {by} ({id}): {reason}")),
            "pending" if self.grants_itself(spec, approval) => {
                self.pending.on_allow.remove(key);
                let reason = format!("emergency override ({id}) without an answer: {reason}");
                self.notify_of_override(&reason);
                (Effect::Allow, reason)
            }
            state if is_expired => {
                // The next attempt requests a new one.
                self.decision.changes.remove(key);
                let how = if state == "approved" { "before it was used" } else { "with no answer" };
                (Effect::Block, format!("the {noun} {id} timed out {how}: {reason}"))
            }
            _ if review.verdict.effect == Effect::Escalate => {
                self.explain_used_approval(review, &key);
                let request = request(spec, action, (*id).to_owned(), approval.expires);
                self.decision.requests.push(request);
                return;
            }
            _ => (Effect::Block, format!("{reason} (the bypass {id} waits for an answer)")),
        };
        review.set(effect, reason);
    }

    fn request_approval(&mut self, review: &mut Review<'_>, action: String, key: String) {
        let (spec, facts) = (review.spec, self.inputs.facts);
        if let Some(limit) = &facts.request_limit {
            // An approver who is flooded with requests answers none of them with care.
            return review.set(Effect::Block, format!("{} ({limit})", review.verdict.reason));
        }
        self.explain_used_approval(review, &key);
        let timeout = SignedDuration::from_secs(i64::from(spec.approval_timeout_s));
        let expires = self.inputs.event.time.and_then(|now| now.checked_add(timeout).ok());
        let id = approval_id(self.inputs, &spec.id, &action);
        let approval = json!({"id": id, "state": "pending", "expires": expires.map(|time| time.to_string())});
        let wait = self.start_of_wait(spec, expires);
        let is_done = self.inputs.event.kind == EventKind::AfterHandoff;
        let changes = if is_done { &mut self.pending.on_allow } else { &mut self.pending.on_escalate };
        changes.set(key, approval);
        changes.0.extend(wait.0);
        self.decision.requests.push(request(spec, action, id, expires));
    }

    /// Adds to the reason of an escalation that the approval of the same action was used by another call.
    fn explain_used_approval(&self, review: &mut Review<'_>, key: &str) {
        if let Some(used) = self.inputs.facts.used_approvals.get(key) {
            let reason = format!("{} (the approval {used} was used by another call)", review.verdict.reason);
            review.set(Effect::Escalate, reason);
        }
    }

    /// Why an approval does not bypass a guardrail now. The less is left of the budgets, the more authority a bypass requires.
    fn objection(&self, spec: &Spec, effect: Effect, approval: &StoredApproval<'_>) -> Option<String> {
        if approval.kind == ApprovalKind::Escalation {
            return None;
        }
        if effect == Effect::Block && spec.bypass == Bypass::Emergency && !approval.is_emergency {
            return Some("this guardrail is lifted in an emergency only".to_owned());
        }
        let authorities = self.policy.authorities();
        let is_one_of = |roles: &[String]| roles.iter().any(|role| role == approval.role);
        let is_human = is_one_of(&authorities.humans);
        let (is_enough, why) = match self.inputs.autonomy() {
            Err(missing) => return Some(missing.to_string()),
            Ok(Autonomy::Standard) => return None,
            Ok(Autonomy::Strict) => (
                is_human || is_one_of(&authorities.supervisors),
                "with half of the budget used, only a supervisor lifts guardrails",
            ),
            Ok(Autonomy::Lockdown) => {
                (is_human, "with less than a fifth of the budget left, only a person lifts guardrails")
            }
            Ok(Autonomy::Halt) => {
                (approval.is_emergency, "with the budget used up, guardrails are lifted in an emergency only")
            }
        };
        (!is_enough).then(|| why.to_owned())
    }

    /// Whether an unanswered emergency request grants itself.
    fn grants_itself(&self, spec: &Spec, approval: &StoredApproval<'_>) -> bool {
        let now = self.inputs.event.time;
        let is_due = matches!((now, approval.override_at), (Some(now), Some(at)) if now >= at);
        approval.is_emergency
            && is_due
            && !approval.is_expired(now)
            && !approval.was_denied
            && is_emergency_action(self.policy, self.inputs, spec)
    }

    /// Notifies supervisors and people, if the action is allowed in the end.
    fn notify_of_override(&mut self, reason: &str) {
        let authorities = self.policy.authorities();
        let message = format!("{} acted by {reason}", self.inputs.actor());
        let mut roles: Vec<&String> = authorities.supervisors.iter().chain(&authorities.humans).collect();
        roles.dedup();
        let notices = roles.into_iter().map(|to| Notice { to: to.clone(), message: message.clone() });
        self.pending.notices.extend(notices);
    }
}

/// Whether an emergency request about an event may grant itself, and what is missing to determine it.
pub fn allows_emergency_override(
    policy: &Policy,
    session: &Session,
    facts: &Facts,
    event: &Event,
    guardrail: &str,
) -> (bool, Needs) {
    let inputs = policy.inputs(session, facts, event);
    let entry = policy.get(guardrail);
    let is_allowed = entry.is_some_and(|entry| is_emergency_action(policy, &inputs, &entry.spec));
    (is_allowed, inputs.needs.into_inner())
}

/// Whether the policy's emergency rule covers the action. If that is not known, it does not.
fn is_emergency_action(policy: &Policy, inputs: &Inputs<'_>, spec: &Spec) -> bool {
    let Some(emergency) = &policy.authorities().emergency else { return false };
    spec.bypass != Bypass::Never && emergency.only_for.holds(&Context::new(inputs, spec)) == Ok(true)
}

/// The digest that an approval to stop is bound to: an agent may stop with what was found, and with nothing else that is missing.
fn finding_digest(inputs: &Inputs<'_>, verdict: &Verdict) -> Option<String> {
    let finding = verdict.stop_finding.as_ref().filter(|_| inputs.event.kind == EventKind::BeforeStop)?;
    if !matches!(verdict.effect, Effect::Escalate | Effect::Block) {
        return None;
    }
    // If the event contains a secret, only its digest is the same when the record is replayed.
    let text = if finding.in_output || inputs.facts.action_digest.is_some() {
        json!(["stop", current_action_digest(inputs), finding.what])
    } else {
        json!(["stop", inputs.session.id, inputs.event.task_id(), finding.what])
    };
    Some(hex::encode(&Sha256::digest(text.to_string().as_bytes())))
}

fn approval_id(inputs: &Inputs<'_>, guardrail: &str, action: &str) -> String {
    let time = inputs.event.time.map(|time| time.to_string()).unwrap_or_default();
    let salt = inputs.facts.request_salt.as_deref().unwrap_or_default();
    let whole = hex::encode(&Sha256::digest(format!("{guardrail}\n{action}\n{time}{salt}").as_bytes()));
    whole.get(..16).unwrap_or_default().to_owned()
}

fn request(spec: &Spec, action: String, id: String, expires: Option<Timestamp>) -> ApprovalRequest {
    ApprovalRequest {
        id,
        kind: ApprovalKind::Escalation,
        approver: spec.approver.clone(),
        expires,
        guardrail: spec.id.clone(),
        action,
    }
}
