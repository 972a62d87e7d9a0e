//! Strikes: a verdict that requests one adds it, unless an approver was asked about the action before.

use midrail_core::{Effect, StrikeRule, Verdict};
use serde_json::{Value, json};

use super::{Model, Vote};
use crate::plan::{Does, Plan, plan};

impl Model<'_> {
    /// Adds the verdict of the strikes, and returns the change of their slice.
    pub(super) fn count_strikes(&self, votes: &mut Vec<Vote>) -> Option<Option<Value>> {
        let is_new_run = self.event.is_new_run();
        let is_halted = !is_new_run && matches!(self.slice("halted"), Ok(Some(_)));
        let stored = self.slice("strikes").unwrap();
        let before = stored.filter(|_| !is_new_run).cloned().unwrap_or(json!({}));
        let enforced = || votes.iter().filter(|vote| !vote.is_shadow && !is_halted);
        let requests = |vote: &&Vote| vote.verdict.effects.iter().any(|effect| effect == "increment_strike");
        let requested: Vec<&Vote> = enforced().filter(requests).collect();
        let concerns = |rule: &StrikeRule, id: &str| rule.guardrail.as_ref().is_none_or(|of| of == id);
        let count = |rule: &StrikeRule, all: &Value| -> u64 {
            let of_rule = all.as_object().unwrap().iter().filter(|(id, _)| concerns(rule, id));
            of_rule.map(|(_, count)| count.as_u64().unwrap()).sum()
        };
        let has_strike = |rule: &StrikeRule| requested.iter().any(|vote| concerns(rule, &vote.id));
        let is_reached = |rule: &&StrikeRule| {
            rule.effect == Effect::Escalate && has_strike(rule) && count(rule, &before) >= rule.count
        };
        let action = self.backing.names("strikes", self.event, None).0;
        let key = format!("approval/%strikes/{action}");
        let is_stored = matches!(self.slice(&key), Ok(Some(_)));
        let is_pending = self.rules.iter().any(|rule| is_reached(&rule))
            && is_stored
            && self.text(&key, "state").as_deref() != Some("denied");
        let is_blocked = enforced().any(|vote| vote.verdict.effect >= Effect::Block);
        let is_known = enforced().any(|vote| vote.was_requested && !vote.is_about_run) && !is_blocked;
        let mut after = before.clone();
        for vote in requested.iter().filter(|vote| !vote.was_requested && !is_pending && !is_known) {
            after[&vote.id] = json!(after[&vote.id].as_u64().unwrap_or(0) + 1);
        }
        // The strongest rule counts, and of equal ones the first. A pending request stays, although nothing is counted again.
        let mut reached: Option<&StrikeRule> = None;
        for rule in self.rules {
            let stays = is_pending && rule.effect == Effect::Escalate && has_strike(rule);
            let is_counted = count(rule, &after) > count(rule, &before) || stays;
            let is_stronger = reached.is_none_or(|other| rule.effect > other.effect);
            if count(rule, &after) >= rule.count && is_counted && is_stronger {
                reached = Some(rule);
            }
        }
        let change = if before != after {
            Some(Some(after.clone()))
        } else {
            (is_new_run && stored.is_some()).then_some(None)
        };
        if let Some(rule) = reached {
            let of = rule.guardrail.as_ref().map_or(String::new(), |id| format!(" of `{id}`"));
            let number = count(rule, &after);
            let reason =
                format!("this is strike {number}{of} in this session, and {} are the limit", rule.count);
            let user_message = rule.user_message.clone();
            let verdict = Verdict { user_message, ..Verdict::new(rule.effect, reason) };
            let says = Does::Says(verdict.clone());
            let asks = Plan { approval_timeout_s: rule.approval_timeout_s, ..plan("strikes", says) };
            let mut vote = Vote { id: "strikes".to_owned(), verdict, ..Vote::default() };
            if rule.effect == Effect::Escalate {
                self.apply_approval(&asks, &mut vote, &action);
            }
            self.limit_handoff(&mut vote);
            votes.push(vote);
        }
        change
    }
}
