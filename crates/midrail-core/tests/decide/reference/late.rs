//! Late answers hold the run until an approver answers.

use midrail_core::{Effect, Mode, Verdict, late_answer_digest};
use serde_json::{Value, json};

use super::{Hold, Model, Vote};
use crate::plan::{Plan, When, of_answer};
use crate::world::key_part;

impl Model<'_> {
    pub(super) fn accepts_late_answers(&self) -> bool {
        self.chain.iter().any(|plan| plan.is_late) && !self.event.kind.is_internal()
    }

    pub(super) fn late_plan(&self, row: &Value) -> Option<&Plan> {
        self.chain.iter().find(|plan| plan.is_late && row["guardrail"] == json!(plan.id))
    }

    pub(super) fn apply_holds(&self, votes: &mut Vec<Vote>, holds: &mut Vec<Hold>) {
        let rows = self.slice("late/held").unwrap().and_then(Value::as_array).cloned().unwrap_or_default();
        for row in rows {
            let (action, reason) = (row["action"].as_str().unwrap(), row["reason"].as_str().unwrap());
            let mut effect = Effect::Block;
            if let Some(plan) = self.late_plan(&row).filter(|plan| plan.mode == Mode::Enforce) {
                let state = self.text(&format!("approval/{}/{action}", key_part(&plan.id)), "state");
                let key = format!("approval/{}/{action}", key_part(&plan.id));
                let is_requested =
                    matches!(self.slice(&key), Ok(Some(_))) && state.as_deref() != Some("approved");
                if self.can_wait() || !is_requested {
                    let verdict = Verdict {
                        advice: row["advice"].as_str().map(str::to_owned),
                        ..Verdict::new(Effect::Escalate, reason)
                    };
                    let mut vote =
                        Vote { id: plan.id.clone(), verdict, is_about_run: true, ..Vote::default() };
                    self.apply_approval(plan, &mut vote, action);
                    effect = vote.verdict.effect;
                    self.limit_handoff(&mut vote);
                    votes.push(vote);
                }
            }
            holds.push(Hold { row, effect });
        }
    }

    pub(super) fn apply_late_answers(&self, votes: &mut Vec<Vote>, holds: &mut Vec<Hold>) {
        let answers =
            self.slice("late").ok().flatten().and_then(Value::as_array).cloned().unwrap_or_default();
        for answer in answers {
            let Some(plan) = self.late_plan(&answer) else { continue };
            let (verdict, error) = if answer["answer"].is_null() {
                let why = answer["error"].as_str().unwrap().to_owned();
                let reason = format!("`{}` failed: {why}", plan.id);
                (Verdict::new(plan.on_error.effect(), reason), Some(why))
            } else {
                let mut verdict = self.apply_overrides(plan, of_answer(&answer["answer"]));
                if verdict.effect != Effect::Allow {
                    verdict.reason += " (found about an earlier event of this run)";
                }
                (verdict, None)
            };
            let action = late_answer_digest(&self.backing.session, &answer);
            let always = Plan { when: When::Always, ..plan.clone() };
            let (vote, asked) = self.review(&always, verdict, error, Some(&action));
            votes.push(vote);
            let is_same = |hold: &Hold| hold.row["guardrail"] == plan.id && hold.row["action"] == action;
            let is_new = !holds.iter().any(is_same) && holds.len() < 64;
            if let Some(Verdict { effect, reason, advice, .. }) = asked
                && is_new
                && effect != Effect::Allow
            {
                let mut row = json!({"guardrail": plan.id, "action": action, "reason": reason});
                advice.into_iter().for_each(|advice| row["advice"] = json!(advice));
                answer.get("about").into_iter().for_each(|about| row["about"] = about.clone());
                holds.push(Hold { row, effect });
            }
        }
    }
}
