//! Preconditions: a halted run, a stopped stream, a quarantine, an inactive task.

use midrail_core::{Effect, EventKind, Missing, Verdict};
use serde_json::json;

use super::{Model, Vote};

impl Model<'_> {
    pub(super) fn preconditions(&self) -> Vec<Vote> {
        let mut verdicts = Vec::new();
        match self.slice("halted") {
            Err(Missing(missing)) => verdicts.push(Verdict::block(missing)),
            Ok(Some(halted)) if !self.event.is_new_run() => {
                let part = |name: &str| halted[name].as_str().unwrap_or("").to_owned();
                let reason = format!("this run was halted by `{}`: {}", part("by"), part("reason"));
                let advice = format!(
                    "Midrail allows no more actions in it. A supervisor can resume it with `midrail quarantine lift --run {}`; \
                     a new session starts a new run.",
                    self.backing.session
                );
                let user_message = Some(part("user_message")).filter(|it| !it.is_empty());
                verdicts.push(Verdict { user_message, ..Verdict::new(Effect::Halt, reason) }.advise(advice));
            }
            Ok(_) => {}
        }
        verdicts.extend(self.check_stream());
        if self.is_action() {
            let covered = self.covered_by().into_iter();
            verdicts.extend(covered.filter_map(|(name, advice)| self.check_quarantine(&name, advice)).next());
            verdicts.extend(self.check_task());
        }
        let own = |verdict| Vote { id: "midrail".to_owned(), is_own: true, verdict, ..Vote::default() };
        verdicts.into_iter().map(own).collect()
    }

    pub(super) fn stream_key(&self) -> Option<String> {
        let stream = self.event.stream.as_ref().filter(|_| self.event.kind == EventKind::ModelChunk)?;
        Some(format!("stream/over/{stream}"))
    }

    pub(super) fn check_stream(&self) -> Option<Verdict> {
        match self.slice(&self.stream_key()?) {
            Err(Missing(missing)) => Some(Verdict::block(missing)),
            // The chunk that waits for an approval is checked again.
            Ok(Some(stopped)) if stopped["action"] != json!(self.digest()) => {
                let part = |name: &str| stopped[name].as_str().unwrap_or("").to_owned();
                let reason = format!("this stream was stopped by `{}`: {}", part("by"), part("reason"));
                let advice =
                    "Midrail passes on nothing more of it. Start a new stream to say something else.";
                Some(Verdict::block(reason).advise(advice))
            }
            Ok(_) if self.backing.overlong => {
                let reason =
                    "More of this stream would have to be held back than can be: it may all be one secret.";
                Some(Verdict::block(reason).advise("Leave long keys and tokens out of the answer."))
            }
            Ok(_) => None,
        }
    }

    /// The agents and sessions whose quarantine stops the event, with the advice of each.
    pub(super) fn covered_by(&self) -> Vec<(String, &'static str)> {
        let own = "Stop here and report. A person lifts the quarantine once the cause is found.";
        let covered = "The quarantine covers its sub-agents and its sessions. Stop here and report. A person lifts the \
                       quarantine once the cause is found.";
        let mut names = vec![(self.actor(), own)];
        let mut ancestors: Vec<String> = Vec::new();
        let mut next = self.parent();
        while let Some(parent) = next.filter(|parent| !ancestors.contains(parent)) {
            next = self.text("sub_agents", &parent);
            names.extend([(parent.clone(), covered), (format!("session:{parent}"), covered)]);
            ancestors.push(parent);
        }
        names.push((format!("session:{}", self.backing.session), covered));
        let handoff = self.event.handoff.as_ref().filter(|_| self.event.kind == EventKind::BeforeHandoff);
        let other = "Hand over to another agent, or wait until a person lifts the quarantine.";
        names.extend(handoff.and_then(|handoff| Some((handoff.to.clone()?, other))));
        names
    }

    pub(super) fn check_quarantine(&self, name: &str, advice: &str) -> Option<Verdict> {
        match self.slice(&format!("shared/quarantine/{name}")) {
            Ok(quarantine) => {
                let reason = quarantine?["reason"].as_str().unwrap_or("").to_owned();
                Some(Verdict::block(format!("`{name}` is quarantined: {reason}")).advise(advice))
            }
            Err(Missing(missing)) => Some(Verdict::block(missing)),
        }
    }

    pub(super) fn check_task(&self) -> Option<Verdict> {
        let task = Some(self.event.task_id()).filter(|task| !task.is_empty())?;
        match self.slice(&format!("shared/task/{task}")) {
            Ok(state) => {
                let status = state?["status"].as_str()?;
                let advice = "Ask the owner of the task to activate it before you continue.";
                let is_inactive = ["draft", "suspended", "completed"].contains(&status);
                let verdict = Verdict::block(format!("the task `{task}` is {status}")).advise(advice);
                is_inactive.then_some(verdict)
            }
            Err(Missing(missing)) => Some(Verdict::block(missing)),
        }
    }
}
