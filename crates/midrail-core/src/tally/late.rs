//! Late answers: they arrive after the event that they are about, and count for the next event of the run.

use serde::Deserialize;
use serde_json::Value;

use super::hold::{ABOUT_EVENT, About, HOLDS, Hold, HoldState, LATE_ANSWERS, MAX_HOLDS, late_answer_digest};
use super::{Review, Tally};
use crate::decision::Mode;
use crate::effect::Effect;
use crate::policy::PolicyEntry;
use crate::run::{self, Answer};
use crate::stored_approval::approval_key;
use crate::verdict::Verdict;

impl<'a> Tally<'a> {
    fn accepts_late_answers(&self) -> bool {
        self.policy.has_late_answers() && !self.inputs.event.kind.is_internal()
    }

    fn late_entry(&self, id: &str) -> Option<&'a PolicyEntry> {
        self.policy.get(id).filter(|entry| entry.guardrail.has_late_answers())
    }

    /// What held the run before still holds it, until an approver answers. Nothing holds a new run.
    pub(super) fn apply_holds(&mut self) {
        if !self.accepts_late_answers() || self.inputs.event.is_new_run() {
            return;
        }
        let rows = match self.inputs.slice(HOLDS) {
            Ok(Some(Value::Array(rows))) => rows,
            Ok(_) => return,
            Err(missing) => return self.raise_own(Some(Verdict::block(missing.to_string()))),
        };
        for row in rows {
            // A malformed row holds the run under no guardrail's name, so that only a new run ends it.
            let mut hold = Hold::deserialize(row).unwrap_or_default();
            // A hold of a guardrail that is not in the policy is kept: the guardrail may return.
            if let Some(entry) = self.late_entry(&hold.guardrail)
                && entry.spec.mode == Mode::Enforce
                && !self.may_wait(&hold)
            {
                let mut verdict = Verdict::new(Effect::Escalate, hold.reason.clone());
                verdict.advice.clone_from(&hold.advice);
                let answer = Answer { verdict, error: None };
                let mut review = Review::new(&entry.spec, answer, Some(hold.about.clone()));
                self.find_approval(&mut review);
                hold.state = HoldState::after(review.verdict.effect);
                self.apply_as_is(review);
            }
            self.holds.push(hold);
        }
    }

    /// While an approval is requested, a run may end and report errors.
    fn may_wait(&self, hold: &Hold) -> bool {
        let key = approval_key(&hold.guardrail, &hold.about.action);
        !self.inputs.event.kind.can_wait()
            && matches!(self.inputs.slice(&key), Ok(Some(approval))
                if approval.get("state").and_then(Value::as_str) != Some("approved"))
    }

    /// Checks the late answers. Answers about an earlier run are dropped.
    pub(super) fn apply_late_answers(&mut self) {
        if !self.accepts_late_answers() {
            return;
        }
        let Ok(Some(Value::Array(answers))) = self.inputs.slice(LATE_ANSWERS) else { return };
        self.decision.changes.remove(LATE_ANSWERS);
        if self.inputs.event.is_new_run() {
            return;
        }
        for answer in answers {
            let id = answer.get("guardrail").and_then(Value::as_str);
            let Some(entry) = id.and_then(|id| self.late_entry(id)) else { continue };
            let about = About {
                action: late_answer_digest(&self.inputs.session.id, answer),
                event: answer.get(ABOUT_EVENT).cloned(),
            };
            let verdict = run::check_late_answer(entry, self.inputs, answer);
            self.apply_about(entry, verdict, Some(about), None);
        }
    }

    /// Holds the run for a verdict that came too late to hold its action; `effect` is what its approval left of it.
    pub(super) fn hold_run(&mut self, review: &Review<'_>, about: About, before: Verdict) {
        let state = HoldState::after(review.verdict.effect);
        let guardrail = &review.spec.id;
        let is_known =
            self.holds.iter().any(|hold| hold.guardrail == *guardrail && hold.about.action == about.action);
        if state != HoldState::Lifted && !is_known && self.holds.len() < MAX_HOLDS {
            let Verdict { reason, advice, .. } = before;
            self.holds.push(Hold { guardrail: guardrail.clone(), reason, advice, about, state });
        }
    }

    /// Stores what holds the run from now on. If the host asks its own user, that is the approver, and has been asked once the
    /// request is shown.
    pub(super) fn record_holds(&mut self) {
        let event = self.inputs.event;
        if !(self.policy.has_late_answers() || event.is_new_run()) || event.kind.is_internal() {
            return;
        }
        let Ok(before) = self.inputs.slice(HOLDS) else { return };
        let asks_host_user = self.asks_host_user();
        let decision = &mut self.decision;
        let is_kept = |hold: &&Hold| match hold.state {
            HoldState::Kept => true,
            HoldState::Lifted => !decision.effect.allows(),
            HoldState::Requested => {
                let is_shown =
                    decision.by.as_deref() == Some(&*hold.guardrail) && decision.reason == hold.reason;
                !(asks_host_user && is_shown)
            }
        };
        let rows = self.holds.iter().filter(is_kept).filter_map(|hold| serde_json::to_value(hold).ok());
        let rows: Vec<Value> = rows.collect();
        match before {
            None if rows.is_empty() => {}
            Some(Value::Array(before)) if *before == rows => {}
            _ if rows.is_empty() => decision.changes.remove(HOLDS),
            _ => decision.changes.set(HOLDS, rows),
        }
    }
}
