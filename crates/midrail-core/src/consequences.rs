//! What verdicts lead to beyond the decision itself: strikes, flags and alerts, and answers that came late.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::approval::approval_key;
use crate::ask::{self, Answer};
use crate::context::World;
use crate::decision::{Decision, Mode};
use crate::effect::Effect;
use crate::guardrail::Spec;
use crate::policy::{Entry, hex};
use crate::tally::{Tally, can_be_held};
use crate::verdict::{Notice, Verdict};

/// The slice that holds the strikes of a session, by guardrail.
pub const STRIKES: &str = "strikes";

/// The slice that says why a session was flagged for people to look at.
pub const FLAGGED: &str = "flagged";

/// The slice that says what holds the run until a person has answered.
pub const HELD: &str = "late/held";

/// The slice that holds answers that came too late for the event that they were asked about.
pub const LATE: &str = "late";

/// The consequence that counts a strike.
pub const INCREMENT_STRIKE: &str = "increment_strike";
/// The consequence that flags the session.
pub const FLAG_TRAJECTORY: &str = "flag_trajectory";
/// The consequence that tells whoever runs the agents.
pub const EMIT_ALERT: &str = "emit_alert";

/// What a number of strikes leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrikeRule {
    /// The number, counted over the session.
    pub count: u64,
    /// The guardrail whose strikes count. `None`: those of all.
    pub of: Option<String>,
    /// What follows.
    pub effect: Effect,
    /// What the user is told, where the run ends.
    pub user_message: Option<String>,
    /// Who is asked, where a person decides.
    pub approver: String,
    /// Seconds that they have to answer.
    pub approval_timeout_s: u32,
}

impl StrikeRule {
    /// What is asked of a person in its name.
    fn spec(&self) -> Spec {
        Spec {
            approver: self.approver.clone(),
            approval_timeout_s: self.approval_timeout_s,
            ..Spec::new(STRIKES)
        }
    }
}

/// The strikes of one decision, by the guardrails that asked for them.
#[derive(Default)]
pub(crate) struct Strikes(Vec<Arc<str>>);

impl Strikes {
    /// Notes what a verdict asks for beyond its effect.
    pub(crate) fn note(&mut self, id: &Arc<str>, verdict: &Verdict, decision: &mut Decision) {
        let asks = |effect: &str| verdict.effects.iter().any(|asked| asked == effect);
        if asks(INCREMENT_STRIKE) {
            self.0.push(id.clone());
        }
        if asks(FLAG_TRAJECTORY) {
            decision.changes.set(FLAGGED, json!({"by": id, "reason": verdict.reason}));
        }
        if asks(EMIT_ALERT) {
            let message = format!("`{id}`: {}", verdict.reason);
            decision.notices.push(Notice { to: "orchestrator".to_owned(), message });
        }
    }

    /// Counts them, and tells what the numbers lead to: the strongest of what the policy says.
    pub(crate) fn count(&self, world: &World<'_>, decision: &mut Decision) -> Option<(Spec, Verdict)> {
        if self.0.is_empty() {
            return None;
        }
        let before = match world.slice(STRIKES) {
            Ok(before) => before.and_then(Value::as_object).cloned().unwrap_or_default(),
            Err(missing) => {
                let verdict = Verdict::block(format!("strikes could not be counted: {missing}"));
                return Some((Spec::new(STRIKES), verdict));
            }
        };
        let mut after = before.clone();
        for id in &self.0 {
            let count = number(&after, id).saturating_add(1);
            after.insert(id.to_string(), count.into());
        }
        let verdict = verdict(world, &before, &after);
        decision.changes.set(STRIKES, Value::Object(after));
        verdict
    }
}

fn verdict(
    world: &World<'_>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Option<(Spec, Verdict)> {
    let reached = world.policy.strikes().iter().filter_map(|rule| {
        let of = |counts: &Map<String, Value>| match &rule.of {
            Some(id) => number(counts, id),
            None => counts.values().filter_map(Value::as_u64).fold(0, u64::saturating_add),
        };
        let count = of(after);
        // Each strike from that number on has the same consequence, and only a strike has one.
        if count < rule.count || count == of(before) {
            return None;
        }
        let of = rule.of.as_ref().map(|id| format!(" of `{id}`")).unwrap_or_default();
        let mut verdict = Verdict::new(
            rule.effect,
            format!("this is strike {count}{of} in this session, and {} are the limit", rule.count),
        );
        verdict.user_message.clone_from(&rule.user_message);
        Some((rule.spec(), verdict))
    });
    // Of equals the first: a higher layer says who is asked.
    reached.rev().max_by_key(|(_, verdict)| verdict.effect)
}

fn number(counts: &Map<String, Value>, id: &str) -> u64 {
    counts.get(id).and_then(Value::as_u64).unwrap_or(0)
}

/// What a person is asked about where an answer came too late for its event: the answer, in its session. The same answer
/// once more is the same question.
pub fn late_action(session: &str, answer: &Value) -> String {
    hex(&Sha256::digest(json!({"late": answer, "session": session}).to_string().as_bytes()))
}

/// The most that a run is held for at once.
const MAX_HOLDS: usize = 64;

/// Something that holds the run until a person has answered, because it came too late to hold the action itself.
pub(crate) struct Hold {
    guardrail: Arc<str>,
    action: String,
    reason: String,
    advice: Option<String>,
    fate: Fate,
}

/// What becomes of a hold with this event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    /// A person let it go: it is over with an event that goes on.
    Lifted,
    /// A person is asked with this event.
    Asked,
}

impl Fate {
    fn of(after: Effect) -> Self {
        match after {
            Effect::Allow | Effect::Warn | Effect::Redact | Effect::Retry => Fate::Lifted,
            Effect::Escalate => Fate::Asked,
            Effect::Block | Effect::Halt => Fate::Stays,
        }
    }
}

impl Hold {
    fn of(row: &Value) -> Self {
        let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
        Hold {
            guardrail: text("guardrail").unwrap_or_default().into(),
            action: text("action").unwrap_or_default(),
            reason: text("reason").unwrap_or_default(),
            advice: text("advice"),
            fate: Fate::Stays,
        }
    }

    fn row(&self) -> Value {
        let mut row = json!({"guardrail": self.guardrail, "action": self.action, "reason": self.reason});
        if let (Some(advice), Some(members)) = (&self.advice, row.as_object_mut()) {
            members.insert("advice".to_owned(), advice.clone().into());
        }
        row
    }
}

impl Tally<'_> {
    fn hears_late(&self) -> bool {
        self.world.policy.asks_outside() && !self.world.event.kind.is_engines_own()
    }

    /// What held the run before holds it still, until a person has answered.
    pub(crate) fn hear_held(&mut self) {
        if !self.hears_late() {
            return;
        }
        let rows = match self.world.slice(HELD) {
            Ok(Some(Value::Array(rows))) => rows,
            Ok(_) => return,
            Err(missing) => return self.raise_law(Verdict::block(missing.to_string())),
        };
        for row in rows {
            let mut hold = Hold::of(row);
            // On behalf of one that is gone nobody is asked, and nothing is forgotten: it may come back.
            let entry = self.world.policy.get(&hold.guardrail);
            let entry = entry.filter(|entry| entry.guardrail.may_be_late());
            if let Some(spec) = entry.map(|entry| &entry.spec).filter(|spec| spec.mode == Mode::Enforce)
                && !self.may_go_on_waiting(&hold)
            {
                let mut verdict = Verdict::new(Effect::Escalate, hold.reason.clone());
                verdict.advice.clone_from(&hold.advice);
                let mut error = None;
                self.about = Some(hold.action.clone());
                let verdict = self.after_approval(spec, verdict, None, &mut error);
                self.about = None;
                hold.fate = Fate::of(verdict.effect);
                self.say(spec, verdict, error);
            }
            self.holds.push(hold);
        }
    }

    /// A run that waits may end and tell of errors, once a person is asked.
    fn may_go_on_waiting(&self, hold: &Hold) -> bool {
        let kind = self.world.event.kind;
        let key = approval_key(&hold.guardrail, &hold.action);
        !can_be_held(kind)
            && matches!(self.world.slice(&key), Ok(Some(held))
                if held.get("state").and_then(Value::as_str) != Some("approved"))
    }

    /// Holds the run for what came too late to hold the action itself.
    pub(crate) fn hold(&mut self, spec: &Spec, action: String, verdict: &Verdict, after: Effect) {
        let fate = Fate::of(after);
        let is_known = self.holds.iter().any(|hold| hold.guardrail == spec.id && hold.action == action);
        if fate != Fate::Lifted && !is_known && self.holds.len() < MAX_HOLDS {
            let (reason, advice) = (verdict.reason.clone(), verdict.advice.clone());
            self.holds.push(Hold { guardrail: spec.id.clone(), action, reason, advice, fate });
        }
    }
}

/// Writes down what holds the run from now on. Where the host asks its own user, that is the person, and has been asked once
/// it is shown.
pub(crate) fn keep_holds(world: &World<'_>, holds: &[Hold], decision: &mut Decision, is_asked_there: bool) {
    if !world.policy.asks_outside() || world.event.kind.is_engines_own() {
        return;
    }
    let Ok(before) = world.slice(HELD) else { return };
    let is_kept = |hold: &&Hold| match hold.fate {
        Fate::Stays => true,
        Fate::Lifted => !decision.effect.goes_on(),
        Fate::Asked => {
            let is_shown = decision.by.as_deref() == Some(&*hold.guardrail) && decision.reason == hold.reason;
            !(is_asked_there && is_shown)
        }
    };
    let rows: Vec<Value> = holds.iter().filter(is_kept).map(Hold::row).collect();
    match before {
        None if rows.is_empty() => {}
        Some(Value::Array(before)) if *before == rows => {}
        _ if rows.is_empty() => decision.changes.remove(HELD),
        _ => decision.changes.set(HELD, rows),
    }
}

/// What guardrails make of answers that came too late for the event that they were asked about.
pub(crate) fn late<'p>(world: &World<'p>, decision: &mut Decision) -> Vec<(&'p Entry, Answer, String)> {
    if !world.policy.asks_outside() || world.event.kind.is_engines_own() {
        return Vec::new();
    }
    let Ok(Some(Value::Array(answers))) = world.slice(LATE) else { return Vec::new() };
    decision.changes.remove(LATE);
    let heard = answers.iter().filter_map(|answer| {
        let id = answer.get("guardrail")?.as_str()?;
        let entry = world.policy.get(id).filter(|entry| entry.guardrail.may_be_late())?;
        world.in_shadow.set(entry.spec.mode == Mode::Shadow);
        Some((entry, ask::late(entry, world, answer), late_action(&world.session.id, answer)))
    });
    heard.collect()
}
