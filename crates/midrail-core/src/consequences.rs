//! What verdicts lead to beyond the decision itself: strikes, flags and alerts, and answers that came late.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::approval::{approval_key, was_asked};
use crate::ask::{self, Answer};
use crate::context::World;
use crate::decision::{Decision, Mode};
use crate::effect::Effect;
use crate::guardrail::Spec;
use crate::hex;
use crate::policy::PolicyEntry;
use crate::tally::{HALTED, Tally, can_be_held};
use crate::verdict::{Notice, Verdict};

/// The slice that holds the strikes of a session, by guardrail.
pub const STRIKES: &str = "strikes";

/// The slice that says why a session was flagged for people to look at.
pub const FLAG: &str = "flagged";

/// The slice that says what holds the run until a person has answered.
pub const HOLDS: &str = "late/held";

/// The slice that holds answers that came too late for the event that they were asked about.
pub const LATE_ANSWERS: &str = "late";

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
    pub guardrail: Option<String>,
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
    /// The strikes that count for it.
    fn number_in(&self, counts: &Map<String, Value>) -> u64 {
        match &self.guardrail {
            Some(id) => number(counts, id),
            None => counts.values().filter_map(Value::as_u64).fold(0, u64::saturating_add),
        }
    }

    /// What is asked of a person in its name.
    fn spec(&self) -> Spec {
        Spec {
            approver: self.approver.clone(),
            approval_timeout_s: self.approval_timeout_s,
            ..Spec::new(STRIKES)
        }
    }
}

/// The strikes that verdicts of one decision ask for.
#[derive(Default)]
pub(crate) struct Strikes {
    asked_for: Vec<Strike>,
    /// Somebody holds just this action, or has let it pass.
    is_action_known: bool,
}

struct Strike {
    /// The guardrail that asks for it.
    by: Arc<str>,
    /// It was counted when a person was first asked about the action.
    is_known: bool,
}

impl Strikes {
    /// A person was asked about the action itself before, by whichever guardrail.
    pub(crate) fn knows_action(&mut self, is_known: bool) {
        self.is_action_known |= is_known;
    }

    /// Notes what a verdict asks for beyond its effect. `was_asked`: a person was asked about it before.
    pub(crate) fn note(
        &mut self,
        id: &Arc<str>,
        verdict: &Verdict,
        was_asked: bool,
        decision: &mut Decision,
    ) {
        let asks = |effect: &str| verdict.effects.iter().any(|asked| asked == effect);
        if asks(INCREMENT_STRIKE) {
            self.asked_for.push(Strike { by: id.clone(), is_known: was_asked });
        }
        if asks(FLAG_TRAJECTORY) {
            decision.changes.set(FLAG, json!({"by": id, "reason": verdict.reason}));
        }
        if asks(EMIT_ALERT) {
            let message = format!("`{id}`: {}", verdict.reason);
            decision.notices.push(Notice { to: "orchestrator".to_owned(), message });
        }
    }

    /// Counts them, and tells what the numbers lead to: the strongest of what the policy says. A run that is over counts
    /// none, one that begins anew begins with none, and an action that waits for a person, or was let pass, counts once.
    /// `meant` is what is decided without them.
    pub(crate) fn count(
        mut self,
        world: &World<'_>,
        meant: Effect,
        decision: &mut Decision,
    ) -> Option<(Spec, Verdict)> {
        let is_new_run = world.event.is_new_run();
        let asks = !self.asked_for.is_empty();
        if !is_new_run && (!asks || matches!(world.slice(HALTED), Ok(Some(_)))) {
            return None;
        }
        let before = match world.slice(STRIKES) {
            Ok(Some(_)) if is_new_run => {
                decision.changes.remove(STRIKES);
                Map::new()
            }
            Ok(before) => before.and_then(Value::as_object).cloned().unwrap_or_default(),
            Err(_) if !asks => return None,
            Err(missing) => {
                let verdict = Verdict::block(format!("strikes could not be counted: {missing}"));
                return Some((Spec::new(STRIKES), verdict));
            }
        };
        let can_be_asked = |rule: &StrikeRule| {
            let is_of_rule = |strike: &Strike| rule.guardrail.as_deref().is_none_or(|of| *of == *strike.by);
            rule.effect == Effect::Escalate
                && rule.number_in(&before) >= rule.count
                && self.asked_for.iter().any(is_of_rule)
        };
        let is_asked = world.policy.strike_rules().iter().any(can_be_asked) && was_asked(world, STRIKES);
        // What is stopped waits for nobody, and who else was asked about it need not have been heard.
        let is_known = is_asked || (self.is_action_known && meant < Effect::Block);
        for strike in &mut self.asked_for {
            strike.is_known |= is_known;
        }
        let mut after = before;
        for strike in self.asked_for.iter().filter(|strike| !strike.is_known) {
            let count = number(&after, &strike.by).saturating_add(1);
            after.insert(strike.by.to_string(), count.into());
        }
        let verdict = self.verdict(world, &after, is_asked);
        if self.asked_for.iter().any(|strike| !strike.is_known) {
            decision.changes.set(STRIKES, Value::Object(after));
        }
        verdict
    }

    /// What so many strikes lead to. Where a person was asked because of them, the question stands although nothing is
    /// counted again.
    fn verdict(
        &self,
        world: &World<'_>,
        counts: &Map<String, Value>,
        is_asked: bool,
    ) -> Option<(Spec, Verdict)> {
        let reached = world.policy.strike_rules().iter().filter_map(|rule| {
            let count = rule.number_in(counts);
            let stands = is_asked && rule.effect == Effect::Escalate;
            let has_strike = self.asked_for.iter().any(|strike| {
                rule.guardrail.as_deref().is_none_or(|of| *of == *strike.by) && (stands || !strike.is_known)
            });
            // Each strike from that number on has the same consequence, and only a strike has one.
            if count < rule.count || !has_strike {
                return None;
            }
            let of = rule.guardrail.as_ref().map(|id| format!(" of `{id}`")).unwrap_or_default();
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
}

fn number(counts: &Map<String, Value>, id: &str) -> u64 {
    counts.get(id).and_then(Value::as_u64).unwrap_or(0)
}

/// What a person is asked about where an answer came too late for its event: the answer, in its session. The same answer
/// once more is the same question.
pub fn late_answer_digest(session: &str, answer: &Value) -> String {
    let mut answer = answer.clone();
    if let Some(members) = answer.as_object_mut() {
        members.remove(ABOUT_EVENT);
    }
    hex::encode(&Sha256::digest(json!({"late": answer, "session": session}).to_string().as_bytes()))
}

/// The member of an answer that came late that tells, for people, which event it is about.
pub const ABOUT_EVENT: &str = "about";

/// What a person is asked about where that is not the event at hand.
#[derive(Clone)]
pub(crate) struct About {
    /// What their answer is bound to.
    pub(crate) action: String,
    /// The event that it was found about, in short.
    pub(crate) event: Option<Value>,
}

/// The most that a run is held for at once.
const MAX_HOLDS: usize = 64;

/// Something that holds the run until a person has answered, because it came too late to hold the action itself.
pub(crate) struct Hold {
    guardrail: Arc<str>,
    action: String,
    reason: String,
    advice: Option<String>,
    /// The event that it was found about, in short.
    about: Option<Value>,
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
            about: row.get(ABOUT_EVENT).cloned(),
            fate: Fate::Stays,
        }
    }

    fn row(&self) -> Value {
        let mut row = json!({"guardrail": self.guardrail, "action": self.action, "reason": self.reason});
        if let Some(members) = row.as_object_mut() {
            let advice = self.advice.clone().map(Value::from);
            members.extend(advice.map(|advice| ("advice".to_owned(), advice)));
            members.extend(self.about.clone().map(|about| (ABOUT_EVENT.to_owned(), about)));
        }
        row
    }
}

impl Tally<'_> {
    fn hears_late(&self) -> bool {
        self.world.policy.asks_outside() && !self.world.event.kind.is_internal()
    }

    /// What held the run before holds it still, until a person has answered. A run that begins anew is held by nothing.
    pub(crate) fn hear_held(&mut self) {
        if !self.hears_late() || self.world.event.is_new_run() {
            return;
        }
        let rows = match self.world.slice(HOLDS) {
            Ok(Some(Value::Array(rows))) => rows,
            Ok(_) => return,
            Err(missing) => return self.raise_law(Verdict::block(missing.to_string())),
        };
        for row in rows {
            let mut hold = Hold::of(row);
            // On behalf of one that is gone nobody is asked, and nothing is forgotten: it may come back.
            let entry = self.world.policy.get(&hold.guardrail);
            let entry = entry.filter(|entry| entry.guardrail.has_late_answers());
            if let Some(spec) = entry.map(|entry| &entry.spec).filter(|spec| spec.mode == Mode::Enforce)
                && !self.may_go_on_waiting(&hold)
            {
                let mut verdict = Verdict::new(Effect::Escalate, hold.reason.clone());
                verdict.advice.clone_from(&hold.advice);
                let mut error = None;
                self.about = Some(About { action: hold.action.clone(), event: None });
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
    pub(crate) fn hold(&mut self, spec: &Spec, about: About, verdict: &Verdict, after: Effect) {
        let About { action, event: about } = about;
        let fate = Fate::of(after);
        let is_known = self.holds.iter().any(|hold| hold.guardrail == spec.id && hold.action == action);
        if fate != Fate::Lifted && !is_known && self.holds.len() < MAX_HOLDS {
            let (reason, advice) = (verdict.reason.clone(), verdict.advice.clone());
            self.holds.push(Hold { guardrail: spec.id.clone(), action, reason, advice, about, fate });
        }
    }
}

/// Writes down what holds the run from now on. Where the host asks its own user, that is the person, and has been asked once
/// it is shown.
pub(crate) fn keep_holds(world: &World<'_>, holds: &[Hold], decision: &mut Decision, is_asked_there: bool) {
    let is_new_run = world.event.is_new_run();
    if !(world.policy.asks_outside() || is_new_run) || world.event.kind.is_internal() {
        return;
    }
    let Ok(before) = world.slice(HOLDS) else { return };
    let is_kept = |hold: &&Hold| match hold.fate {
        Fate::Stays => true,
        Fate::Lifted => !decision.effect.allows(),
        Fate::Asked => {
            let is_shown = decision.by.as_deref() == Some(&*hold.guardrail) && decision.reason == hold.reason;
            !(is_asked_there && is_shown)
        }
    };
    let rows: Vec<Value> = holds.iter().filter(is_kept).map(Hold::row).collect();
    match before {
        None if rows.is_empty() => {}
        Some(Value::Array(before)) if *before == rows => {}
        _ if rows.is_empty() => decision.changes.remove(HOLDS),
        _ => decision.changes.set(HOLDS, rows),
    }
}

/// What guardrails make of answers that came too late for the event that they were asked about.
pub(crate) fn late<'p>(world: &World<'p>, decision: &mut Decision) -> Vec<(&'p PolicyEntry, Answer, About)> {
    if !world.policy.asks_outside() || world.event.kind.is_internal() {
        return Vec::new();
    }
    let Ok(Some(Value::Array(answers))) = world.slice(LATE_ANSWERS) else { return Vec::new() };
    decision.changes.remove(LATE_ANSWERS);
    // They are about a run that is over.
    if world.event.is_new_run() {
        return Vec::new();
    }
    let heard = answers.iter().filter_map(|answer| {
        let id = answer.get("guardrail")?.as_str()?;
        let entry = world.policy.get(id).filter(|entry| entry.guardrail.has_late_answers())?;
        world.in_shadow.set(entry.spec.mode == Mode::Shadow);
        let about = About {
            action: late_answer_digest(&world.session.id, answer),
            event: answer.get(ABOUT_EVENT).cloned(),
        };
        Some((entry, ask::late(entry, world, answer), about))
    });
    heard.collect()
}
