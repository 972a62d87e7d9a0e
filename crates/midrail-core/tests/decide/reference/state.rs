//! The state that follows from a decision.

use midrail_core::{Decision, Effect, EventKind, HostLimit, Recovery, Task};
use serde_json::{Value, json};

use super::{Hold, Model, Vote};
use crate::plan::{Learns, Plan};
use crate::world::key_part;

impl Model<'_> {
    pub(super) fn record_state(&self, votes: &[Vote], holds: &[Hold], decision: &mut Decision) {
        let (event, effect) = (self.event, decision.effect);
        let enforced = || votes.iter().filter(|vote| !vote.is_shadow);
        let halt = enforced().find(|vote| vote.verdict.effect == Effect::Halt);
        if event.is_new_run() && matches!(self.slice("halted"), Ok(Some(_))) {
            decision.changes.remove("halted");
        }
        if let Some(Vote { id, verdict, .. }) = halt.filter(|vote| !vote.is_own) {
            let message = verdict.user_message.clone().unwrap_or_default();
            let halt = json!({"by": id, "reason": verdict.reason, "user_message": message});
            decision.changes.set("halted", halt);
        }
        self.record_stream(decision);
        let quarantine = |vote: &&Vote| vote.verdict.recovery == Some(Recovery::Quarantine);
        if let Some(vote) = enforced().find(quarantine).filter(|_| event.kind == EventKind::OnError) {
            let since = event.time.map(|time| time.to_string());
            let value = json!({"reason": vote.verdict.reason, "since": since});
            decision.changes.set(format!("shared/quarantine/{}", self.actor()), value);
        }
        if self.accepts_late_answers() || (event.is_new_run() && !event.kind.is_internal()) {
            self.record_holds(holds, decision);
        }
        if self.accepts_late_answers() && matches!(self.slice("late"), Ok(Some(Value::Array(_)))) {
            decision.changes.remove("late");
        }
        // An agent that wants to stop and is sent back is counted, until it stops or is prompted again.
        let is_stop = event.kind == EventKind::BeforeStop;
        if event.host.is_some() && (is_stop || event.kind == EventKind::BeforeModel) {
            match self.slice(&self.forced_key()) {
                Ok(_) if is_stop && (Effect::Retry..Effect::Halt).contains(&effect) => {
                    decision.changes.set(self.forced_key(), self.forced_stops() + 1);
                }
                Ok(Some(_)) => decision.changes.remove(self.forced_key()),
                Ok(None) | Err(_) => {}
            }
        }
        self.record_parent(decision);
        self.record_usage(decision);
        self.deliver_notes(decision);
    }

    /// A stopped stream stays stopped until its last chunk, or until an approver lets the chunk pass.
    pub(super) fn record_stream(&self, decision: &mut Decision) {
        let Some(key) = self.stream_key() else { return };
        let Ok(stopped) = self.slice(&key) else { return };
        let waits = decision.effect == Effect::Escalate;
        let is_same_chunk = |stopped: &Value| stopped["action"] == json!(self.digest());
        if decision.effect.allows() || (self.event.last == Some(true) && !waits) {
            if stopped.is_some() {
                decision.changes.remove(key);
            }
        } else if stopped.is_none_or(is_same_chunk) {
            let mut value = json!({"by": decision.by, "reason": decision.reason});
            if waits {
                value["action"] = json!(self.digest());
            }
            decision.changes.set(key, value);
        }
    }

    /// A hold ends with an allowed event once it is approved, and once the host's own user was asked.
    pub(super) fn record_holds(&self, holds: &[Hold], decision: &mut Decision) {
        let is_shown =
            |row: &Value| row["guardrail"] == json!(decision.by) && row["reason"] == json!(decision.reason);
        let is_kept = |hold: &&Hold| match hold.effect {
            Effect::Allow => !decision.effect.allows(),
            Effect::Escalate => !(self.asks_host_user(decision.effect) && is_shown(&hold.row)),
            _ => true,
        };
        let rows: Vec<Value> = holds.iter().filter(is_kept).map(|hold| hold.row.clone()).collect();
        match self.slice("late/held").unwrap() {
            Some(before) if *before == json!(rows) => {}
            None if rows.is_empty() => {}
            Some(_) if rows.is_empty() => decision.changes.remove("late/held"),
            _ => decision.changes.set("late/held", rows),
        }
    }

    pub(super) fn record_parent(&self, decision: &mut Decision) {
        let name = self.event.agent.as_ref().and_then(|agent| agent.id.clone());
        let (Some(name), Some(parent)) = (name, self.parent()) else { return };
        let mut parents = self.slice("sub_agents").unwrap().cloned().unwrap_or(json!({}));
        if self.is_action() && name != parent && parents[&name] != json!(parent) {
            parents[&name] = json!(parent);
            decision.changes.set("sub_agents", parents);
        }
    }

    /// Adds the tokens of a call, and the start of task and run, if a budget or deadline is set.
    pub(super) fn record_usage(&self, decision: &mut Decision) {
        let event = self.event;
        if let (Some(_), Some(time), Ok(None)) = (event.deadline, event.time, self.slice("began"))
            && !event.kind.is_internal()
        {
            decision.changes.set("began", time.to_string());
        }
        let starts = [EventKind::SessionStart, EventKind::BeforeModel, EventKind::BeforeTool];
        let ends = [EventKind::AfterTool, EventKind::AfterModel].contains(&event.kind);
        let has_budget = |task: &Task| task.token_budget.is_some() || task.time_budget_s.is_some();
        let Ok(before) = self.slice(&self.spent_key()) else { return };
        if !(ends || starts.contains(&event.kind)) || !event.task.as_ref().is_some_and(has_budget) {
            return;
        }
        let mut spent = before.and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(time) = event.time {
            spent.entry("since").or_insert(json!(time.to_string()));
        }
        let call = event.usage.as_ref().and_then(|usage| usage.call.as_ref()?.tokens).filter(|_| ends);
        if let Some(tokens) = call {
            let sum = spent.get("tokens").and_then(Value::as_f64).unwrap_or(0.0) + tokens as f64;
            spent.insert("tokens".to_owned(), json!(sum));
        }
        let after = Value::Object(spent);
        if before != Some(&after) {
            decision.changes.set(self.spent_key(), after);
        }
    }

    /// Notes that the host cannot pass on now are stored for the next answer that can.
    pub(super) fn deliver_notes(&self, decision: &mut Decision) {
        let key = format!("owed/{}", key_part(&self.actor()));
        let stored = self.slice(&key).ok().flatten().and_then(Value::as_array).cloned().unwrap_or_default();
        let stored: Vec<String> = stored.iter().map(|note| note.as_str().unwrap().to_owned()).collect();
        if self.event.host.is_none() {
            return;
        }
        let mut notes = [stored.clone(), decision.feedback.clone()].concat();
        if !decision.effect.allows() || !self.has_limit(HostLimit::Notes) {
            decision.feedback = notes;
            if !stored.is_empty() {
                decision.changes.remove(key);
            }
            return;
        }
        if decision.effect == Effect::Warn {
            let advice = decision.advice.as_ref().map_or(String::new(), |advice| format!(" {advice}"));
            let by = decision.by.as_deref().unwrap();
            notes.push(format!("Warning of `{by}`: {}{advice}", decision.reason));
        }
        if notes.len() > stored.len() {
            decision.changes.set(key, notes[notes.len().saturating_sub(32)..].to_vec());
        }
    }

    /// A guardrail observes the decision, whether or not it checked the event.
    pub(super) fn observe(&self, plan: &Plan, decision: &mut Decision) {
        let own = |name: &str| self.own_key(plan, name);
        match &plan.learns {
            Learns::Nothing | Learns::Fails | Learns::Panics => {}
            Learns::Counts => {
                if let Ok(seen) = self.slice(&own("seen")) {
                    decision.changes.set(own("seen"), seen.and_then(Value::as_u64).unwrap_or(0) + 1);
                }
            }
            Learns::Remembers => decision.changes.set(own("last"), decision.effect.as_str()),
            Learns::Copies(key) => {
                if let Ok(value) = self.slice(key) {
                    decision.changes.0.insert(own("copy"), value.cloned());
                }
            }
        }
    }
}
