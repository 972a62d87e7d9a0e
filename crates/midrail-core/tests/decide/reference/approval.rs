//! Approvals, and the authority that a bypass requires.

use jiff::{SignedDuration, Timestamp};
use midrail_core::{ApprovalKind, ApprovalRequest, Bypass, Category, Effect, EventKind, Missing, Verdict};
use serde_json::{Value, json};

use super::guardrail::counter_key;
use super::{If, Model, Vote};
use crate::plan::Plan;
use crate::world::key_part;

impl Model<'_> {
    /// An escalation requests an approval, and a block can be bypassed by one.
    pub(super) fn apply_approval(&self, plan: &Plan, vote: &mut Vote, action: &str) {
        let key = format!("approval/{}/{action}", key_part(&plan.id));
        let Some(stored) = self.stored(plan, vote, &key) else { return };
        let is_block = vote.verdict.effect == Effect::Block;
        let is_bypass = stored["kind"] == json!("bypass");
        if is_block && !is_bypass {
            return;
        }
        let text = |name: &str| stored[name].as_str().unwrap_or("").to_owned();
        let request = |id: String, expires| ApprovalRequest {
            id,
            kind: ApprovalKind::Escalation,
            approver: "reviewer".to_owned(),
            expires,
            guardrail: plan.id.as_str().into(),
            action: action.to_owned(),
        };
        if stored.is_null() {
            let id = self.backing.new_id(&plan.id, action, self.event);
            let timeout = SignedDuration::from_secs(i64::from(plan.approval_timeout_s));
            let expires = self.event.time.map(|time| time.checked_add(timeout).unwrap());
            let pending = json!({"id": id, "state": "pending", "expires": expires.map(|it| it.to_string())});
            let is_done = self.event.kind == EventKind::AfterHandoff;
            let changed_if = if is_done { If::Allowed } else { If::Escalated };
            vote.changes.push((changed_if, key, Some(pending)));
            let wait = self.wait_key(plan);
            if let (Category::Budget, Some(expires), Ok(None)) = (plan.category, expires, self.slice(&wait)) {
                vote.changes.push((changed_if, wait, Some(json!(expires.to_string()))));
            }
            vote.request = Some(request(id, expires));
            return;
        }
        vote.was_requested = text("state") != "denied";
        if text("state") == "denied" && !is_bypass {
            self.end_wait(plan, vote, If::Run);
        }
        let (id, by, reason) = (text("id"), text("by"), vote.verdict.reason.clone());
        let noun = if is_bypass { "bypass" } else { "approval" };
        let expires: Option<Timestamp> = text("expires").parse().ok();
        let is_expired = matches!((expires, self.event.time), (Some(at), Some(now)) if now >= at);
        let (effect, reason) = match text("state").as_str() {
            "denied" if stored["taken_back"] == json!(true) => {
                (Effect::Block, format!("{noun} taken back by {by} ({id}): {reason}"))
            }
            "denied" if is_bypass => (Effect::Block, format!("bypass denied by {by} ({id}): {reason}")),
            "denied" => (Effect::Block, format!("denied by {by} ({id}): {reason}")),
            state if is_expired => {
                let how = if state == "approved" { "before it was used" } else { "with no answer" };
                vote.changes.push((If::Run, key, None));
                (Effect::Block, format!("the {noun} {id} timed out {how}: {reason}"))
            }
            "approved" => match self.objection(plan, &stored, is_block).filter(|_| is_bypass) {
                Some(why) => (Effect::Block, format!("{reason} (the bypass {id} does not hold: {why})")),
                None => {
                    let how = if is_bypass { "lifted" } else { "approved" };
                    vote.changes.push((If::Allowed, key, None));
                    if !is_bypass {
                        self.end_wait(plan, vote, If::Allowed);
                    }
                    (Effect::Allow, format!("{how} by {by} ({id}): {reason}"))
                }
            },
            _ if is_block => (Effect::Block, format!("{reason} (the bypass {id} waits for an answer)")),
            _ => {
                vote.request = Some(request(id, expires));
                (Effect::Escalate, reason)
            }
        };
        vote.verdict = Verdict { effect, reason, ..vote.verdict.clone() };
    }

    fn wait_key(&self, plan: &Plan) -> String {
        counter_key(plan, "unattended", self.event.task_id())
    }

    fn end_wait(&self, plan: &Plan, vote: &mut Vote, changed_if: If) {
        let key = self.wait_key(plan);
        if plan.category == Category::Budget && matches!(self.slice(&key), Ok(Some(_))) {
            vote.changes.push((changed_if, key, None));
        }
    }

    /// After a request of a budget guardrail timed out, its escalations are warnings.
    pub(super) fn apply_unattended(&self, plan: &Plan, vote: &mut Vote) {
        let is_escalation =
            vote.verdict.effect == Effect::Escalate && vote.error.is_none() && !vote.is_shadow;
        if !is_escalation || plan.category != Category::Budget {
            return;
        }
        let action = self.backing.names(&plan.id, self.event, None).0;
        let key = format!("approval/{}/{action}", key_part(&plan.id));
        let Some(approval) = self.stored(plan, vote, &key) else { return };
        let Some(expires) = self.stored(plan, vote, &self.wait_key(plan)) else { return };
        let expires = expires.as_str().and_then(|it| it.parse::<Timestamp>().ok());
        let is_over = matches!((self.event.time, expires), (Some(now), Some(at)) if now >= at);
        if is_over && approval["state"] != json!("denied") {
            vote.verdict.effect = Effect::Warn;
            vote.verdict.reason += " (no person answers, so the run continues until the limit)";
        }
    }

    /// Why an approved bypass does not hold: the less budget is left, the more authority it requires.
    pub(super) fn objection(&self, plan: &Plan, approval: &Value, is_block: bool) -> Option<String> {
        let is_emergency = approval["urgency"] == json!("emergency");
        let role = approval["role"].as_str().unwrap_or("");
        if is_block && plan.bypass == Bypass::Emergency && !is_emergency {
            return Some("this guardrail is lifted in an emergency only".to_owned());
        }
        let share = match self.remaining() {
            Ok(share) => share,
            Err(Missing(missing)) => return Some(missing),
        };
        let (is_enough, why) = if share > 0.5 {
            return None;
        } else if share >= 0.2 {
            let is_supervisor = ["architect", "human_operator"].contains(&role);
            (is_supervisor, "with half of the budget used, only a supervisor lifts guardrails")
        } else if share > 0.0 {
            let why = "with less than a fifth of the budget left, only a person lifts guardrails";
            (role == "human_operator", why)
        } else {
            (is_emergency, "with the budget used up, guardrails are lifted in an emergency only")
        };
        (!is_enough).then(|| why.to_owned())
    }

    /// The share of the tightest budget that remains, from 1 to 0.
    pub(super) fn remaining(&self) -> Result<f64, Missing> {
        let now = || self.event.time.ok_or_else(|| Missing("the event has no time".to_owned()));
        let time = |value: Option<&Value>| value.and_then(|it| it.as_str()?.parse::<Timestamp>().ok());
        let task = self.event.task.clone().unwrap_or_default();
        let mut share = 1.0_f64;
        if let Some(limit) = task.token_budget {
            let used = match self.event.usage.as_ref().and_then(|usage| usage.tokens) {
                Some(tokens) => tokens as f64,
                None => self.slice(&self.spent_key())?.and_then(|it| it["tokens"].as_f64()).unwrap_or(0.0),
            };
            share = share.min((limit as f64 - used) / limit as f64);
        }
        if let Some(limit) = task.time_budget_s {
            let since = time(self.slice(&self.spent_key())?.map(|spent| &spent["since"]));
            let used = since.unwrap_or(now()?).duration_until(now()?).as_secs_f64().max(0.0);
            share = share.min((limit - used) / limit);
        }
        if let Some(deadline) = self.event.deadline {
            let start = time(self.slice("began")?).unwrap_or(now()?).min(now()?);
            let left = now()?.duration_until(deadline).as_secs_f64();
            share =
                share.min(if left > 0.0 { left / start.duration_until(deadline).as_secs_f64() } else { 0.0 });
        }
        Ok(share.max(0.0))
    }

    pub(super) fn spent_key(&self) -> String {
        match self.event.task_id() {
            "" => "spent/".to_owned(),
            task => format!("shared/spent/{task}"),
        }
    }
}
