//! A person's answer to one guardrail about one exact action: asked for, found, and used up.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::budget::Autonomy;
use crate::context::{Context, World};
use crate::decision::{ApprovalKind, ApprovalRequest, Mode};
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::exact::current_action_digest;
use crate::facts::{Facts, Needs};
use crate::guardrail::{Bypass, Condition, Spec};
use crate::hex;
use crate::policy::Policy;
use crate::session::{Session, key_part};
use crate::tally::{Tally, strongest_on};
use crate::verdict::{Notice, Verdict};

/// Who decides, in which order, and what happens in an emergency in which nobody does.
#[derive(Clone)]
pub struct Authorities {
    /// Roles, each with more authority than the one before. Whoever stands later may decide what is put to an earlier.
    pub order: Vec<String>,
    /// Roles that may lift a guardrail while the budgets run low.
    pub supervisors: Vec<String>,
    /// Roles of people, who alone may lift a guardrail while next to nothing is left.
    pub humans: Vec<String>,
    /// Seconds that each authority has to answer a request to lift a guardrail.
    pub bypass_timeout_s: u32,
    /// What holds in an emergency. `None`: nobody lifts a guardrail but a person.
    pub emergency: Option<Emergency>,
}

impl Default for Authorities {
    fn default() -> Self {
        let roles = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Authorities {
            order: roles(&["reviewer", "architect", "human_operator"]),
            supervisors: roles(&["architect", "human_operator"]),
            humans: roles(&["human_operator"]),
            bypass_timeout_s: 15 * 60,
            emergency: None,
        }
    }
}

impl Authorities {
    /// Whether someone of a role may decide what is put to another.
    pub fn may_decide(&self, role: &str, addressed: &str) -> bool {
        let rank = |name: &str| self.order.iter().position(|other| other == name);
        role == addressed
            || match (rank(role), rank(addressed)) {
                (Some(own), Some(other)) => own > other,
                // A role outside the order is answered for by people.
                (_, None) => self.humans.iter().any(|human| human == role),
                (None, Some(_)) => false,
            }
    }

    /// The role that is addressed, and those that follow it.
    pub fn escalation_path(&self, addressed: &str) -> Vec<String> {
        let at = self.order.iter().position(|role| role == addressed);
        let after = at.map_or(self.humans.as_slice(), |at| self.order.get(at + 1..).unwrap_or_default());
        let mut chain = vec![addressed.to_owned()];
        chain.extend(after.iter().filter(|role| *role != addressed).cloned());
        chain
    }
}

/// A request that nobody answers in time grants itself, for actions that stop harm.
#[derive(Clone)]
pub struct Emergency {
    /// The actions that it is for.
    pub only_for: Arc<dyn Condition>,
    /// The same in words, for people.
    pub description: String,
    /// Seconds in which somebody may answer.
    pub wait_s: u32,
    /// Seconds until a person must have looked at what was done.
    pub review_within_s: u32,
}

/// The effect of a decision that passed a guardrail by an emergency override.
pub const EMERGENCY_OVERRIDE: &str = "emergency_override";

/// What the session holds of a request.
struct StoredApproval<'a> {
    id: &'a str,
    kind: ApprovalKind,
    state: &'a str,
    by: &'a str,
    role: &'a str,
    is_emergency: bool,
    /// A person had approved it before.
    is_taken_back: bool,
    /// A person has said no to the same action before.
    was_denied: bool,
    expires: Option<Timestamp>,
    override_at: Option<Timestamp>,
}

impl<'a> StoredApproval<'a> {
    fn of(slice: &'a Value) -> Self {
        let text = |name: &str| slice.get(name).and_then(Value::as_str).unwrap_or_default();
        StoredApproval {
            id: text("id"),
            kind: if text("kind") == "bypass" { ApprovalKind::Bypass } else { ApprovalKind::Escalation },
            state: text("state"),
            by: text("by"),
            role: text("role"),
            is_emergency: text("urgency") == "emergency",
            is_taken_back: slice.get("taken_back").and_then(Value::as_bool) == Some(true),
            was_denied: slice.get("denied_before").is_some_and(|id| !id.is_null()),
            expires: text("expires").parse().ok(),
            override_at: text("override_at").parse().ok(),
        }
    }

    fn is_over(&self, now: Option<Timestamp>) -> bool {
        matches!((now, self.expires), (Some(now), Some(expires)) if now >= expires)
    }

    fn as_str(&self) -> &'static str {
        match self.kind {
            ApprovalKind::Escalation => "approval",
            ApprovalKind::Bypass => "bypass",
        }
    }
}

impl Tally<'_> {
    /// A guardrail that holds an action asks a person, and one that stops it may be lifted by one: in both cases the
    /// answer is to exactly this action, and is used up by it.
    pub(crate) fn after_approval(
        &mut self,
        spec: &Spec,
        verdict: Verdict,
        bound: Option<&str>,
        error: &mut Option<String>,
    ) -> Verdict {
        let may_be_lifted = match verdict.effect {
            Effect::Escalate => true,
            Effect::Block => spec.bypass != Bypass::Never,
            Effect::Allow | Effect::Warn | Effect::Redact | Effect::Retry | Effect::Halt => false,
        };
        if !may_be_lifted || spec.mode == Mode::Shadow {
            return verdict;
        }
        // A question about an earlier event is answered for the run; a block is of the event that it stops.
        let action = match (&self.about, verdict.effect, bound) {
            (Some(about), Effect::Escalate, _) => about.action.clone(),
            (_, _, Some(bound)) => bound.to_owned(),
            _ => current_action_digest(self.world),
        };
        let key = approval_key(&spec.id, &action);
        let slice = match self.kept(spec, &verdict, &key, error) {
            Ok(slice) => slice,
            Err(verdict) => return *verdict,
        };
        let Some(held) = slice.map(StoredApproval::of) else {
            if verdict.effect == Effect::Escalate {
                self.ask_a_person(spec, action, key);
            }
            return verdict;
        };
        // An answer to a question is no leave to pass a block.
        if verdict.effect == Effect::Block && held.kind == ApprovalKind::Escalation {
            return verdict;
        }
        // What waits, or was let pass, is not held against the agent once more.
        self.was_asked = held.state != "denied";
        let now = self.world.event.time;
        match held.state {
            "approved" if !held.is_over(now) => match self.may_lift(spec, &verdict, &held) {
                Ok(()) => {
                    self.if_it_goes_on.remove(key);
                    let lifted = if held.kind == ApprovalKind::Bypass { "lifted" } else { "approved" };
                    let note = format!("{lifted} by {} ({}): {}", held.by, held.id, verdict.reason);
                    Verdict { effect: Effect::Allow, reason: note, ..verdict }
                }
                Err(why) => {
                    let reason = format!("{} (the bypass {} does not hold: {why})", verdict.reason, held.id);
                    Verdict { effect: Effect::Block, reason, ..verdict }
                }
            },
            "denied" => {
                let how = match (held.is_taken_back, held.kind) {
                    (true, _) => format!("{} taken back", held.as_str()),
                    (false, ApprovalKind::Bypass) => "bypass denied".to_owned(),
                    (false, ApprovalKind::Escalation) => "denied".to_owned(),
                };
                let reason = format!("{how} by {} ({}): {}", held.by, held.id, verdict.reason);
                Verdict { effect: Effect::Block, reason, ..verdict }
            }
            "pending" if self.overrides(spec, &held) => {
                self.if_it_goes_on.remove(key);
                self.overridden(&held, verdict)
            }
            _ if held.is_over(now) => {
                // The next try asks anew.
                self.decision.changes.remove(key);
                let how = if held.state == "approved" { "before it was used" } else { "with no answer" };
                let reason = format!("the {} {} timed out {how}: {}", held.as_str(), held.id, verdict.reason);
                Verdict { effect: Effect::Block, reason, ..verdict }
            }
            _ if verdict.effect == Effect::Escalate => {
                self.decision.requests.push(request(spec, action, held.id.to_owned(), held.expires));
                verdict
            }
            _ => {
                let reason = format!("{} (the bypass {} waits for an answer)", verdict.reason, held.id);
                Verdict { reason, ..verdict }
            }
        }
    }

    fn ask_a_person(&mut self, spec: &Spec, action: String, key: String) {
        let timeout = SignedDuration::from_secs(i64::from(spec.approval_timeout_s));
        let expires = self.world.event.time.and_then(|now| now.checked_add(timeout).ok());
        let id = approval_id(self.world, &spec.id, &action);
        let held = json!({"id": id, "state": "pending", "expires": expires.map(|time| time.to_string())});
        if strongest_on(self.world.event.kind) < Effect::Escalate {
            self.if_it_goes_on.set(key, held);
        } else {
            self.if_escalate.set(key, held);
        }
        self.decision.requests.push(request(spec, action, id, expires));
    }

    /// Whether an approval lifts a guardrail now, or why not. The less is left of the budgets, the more authority it
    /// takes.
    fn may_lift(&self, spec: &Spec, verdict: &Verdict, held: &StoredApproval<'_>) -> Result<(), String> {
        if held.kind == ApprovalKind::Escalation {
            return Ok(());
        }
        if verdict.effect == Effect::Block && spec.bypass == Bypass::Emergency && !held.is_emergency {
            return Err("this guardrail is lifted in an emergency only".to_owned());
        }
        let authorities = self.world.policy.authorities();
        let is_one_of = |roles: &[String]| roles.iter().any(|role| role == held.role);
        let is_human = is_one_of(&authorities.humans);
        match self.world.autonomy().map_err(|missing| missing.to_string())? {
            Autonomy::Standard => Ok(()),
            Autonomy::Strict if is_human || is_one_of(&authorities.supervisors) => Ok(()),
            Autonomy::Strict => {
                Err("with half of the budget used, only a supervisor lifts guardrails".to_owned())
            }
            Autonomy::Lockdown if is_human => Ok(()),
            Autonomy::Lockdown => {
                Err("with less than a fifth of the budget left, only a person lifts guardrails".to_owned())
            }
            Autonomy::Halt if held.is_emergency => Ok(()),
            Autonomy::Halt => {
                Err("with the budget used up, guardrails are lifted in an emergency only".to_owned())
            }
        }
    }

    /// Whether an emergency that nobody answered lifts the guardrail by itself.
    fn overrides(&self, spec: &Spec, held: &StoredApproval<'_>) -> bool {
        let is_due = matches!((self.world.event.time, held.override_at), (Some(now), Some(at)) if now >= at);
        held.is_emergency
            && is_due
            && !held.is_over(self.world.event.time)
            // Somebody has answered, and it was a no.
            && !held.was_denied
            && is_for(self.world, spec)
    }

    fn overridden(&mut self, held: &StoredApproval<'_>, verdict: Verdict) -> Verdict {
        let authorities = self.world.policy.authorities();
        let reason = format!("emergency override ({}), as nobody answered: {}", held.id, verdict.reason);
        let message = format!("{} acted by {reason}", self.world.actor());
        let mut roles: Vec<&String> = authorities.supervisors.iter().chain(&authorities.humans).collect();
        roles.dedup();
        // Nobody is told of what does not happen after all.
        self.overrides
            .extend(roles.into_iter().map(|to| Notice { to: to.clone(), message: message.clone() }));
        Verdict { effect: Effect::Allow, reason, ..verdict }
    }
}

/// Whether an emergency about what a guardrail stops in an event is one of those that may grant themselves, and what is
/// lacking to tell. What is not known is none.
pub fn allows_emergency_override(
    policy: &Policy,
    session: &Session,
    facts: &Facts,
    event: &Event,
    guardrail: &str,
) -> (bool, Needs) {
    let world = World::new(policy, session, facts, event);
    let fits = policy.get(guardrail).is_some_and(|entry| is_for(&world, &entry.spec));
    (fits, world.needs.into_inner())
}

fn is_for(world: &World<'_>, spec: &Spec) -> bool {
    let Some(emergency) = &world.policy.authorities().emergency else { return false };
    // What is not known is no emergency.
    spec.bypass != Bypass::Never && emergency.only_for.holds(&Context::new(world, spec)) == Ok(true)
}

/// The slice that holds a person's answer for one guardrail and one action.
pub fn approval_key(guardrail: &str, action: &str) -> String {
    format!("approval/{}/{action}", key_part(guardrail))
}

/// Whether a person was asked in the name of `guardrail` about just this action, and has not said no.
pub(crate) fn was_asked(world: &World<'_>, guardrail: &str) -> bool {
    let held = world.slice(&approval_key(guardrail, &current_action_digest(world)));
    matches!(held, Ok(Some(held)) if StoredApproval::of(held).state != "denied")
}

/// What an answer about a verdict is bound to, where that is not the event alone: who lets an agent stop although
/// something is missing lets it stop with that, whatever it says, and with nothing else that is missing.
pub(crate) fn bound_to_finding(world: &World<'_>, verdict: &Verdict) -> Option<String> {
    let found = verdict.stop_finding.as_ref().filter(|_| world.event.kind == EventKind::BeforeStop)?;
    if !matches!(verdict.effect, Effect::Escalate | Effect::Block) {
        return None;
    }
    // Where the event holds a secret its digest alone is the same when the record is replayed.
    let is_of_event = found.in_output || world.facts.action_digest.is_some();
    let text = match is_of_event {
        true => json!(["stop", current_action_digest(world), found.what]),
        false => json!(["stop", world.session.id, world.event.task_id(), found.what]),
    };
    Some(hex::encode(&Sha256::digest(text.to_string().as_bytes())))
}

fn approval_id(world: &World<'_>, guardrail: &str, action: &str) -> String {
    let time = world.event.time.map(|time| time.to_string()).unwrap_or_default();
    let salt = world.facts.request_salt.as_deref().unwrap_or_default();
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
