//! State that stops an event whatever its guardrails say: a halted run, a stopped stream, a quarantined agent, an inactive task.

use serde_json::Value;

use super::stream::{self, chunk_stream, stopped_stream_key};
use super::{Tally, host};
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::pause::PAUSES;
use crate::session::{denied_key, quarantine_key, task_key};
use crate::sub_agents::{SUB_AGENT_PARENTS, is_recorded, superiors};
use crate::verdict::Verdict;

/// The slice that records that a run was halted.
pub const HALTED: &str = "halted";

/// The name of verdicts without a guardrail.
const MIDRAIL: &str = "midrail";

const LIFT_QUARANTINE: &str = "Stop here and report. A person lifts the quarantine once the cause is found.";

const COVERED_BY_QUARANTINE: &str = "The quarantine covers its sub-agents and its sessions. Stop here and report. A person lifts the \
     quarantine once the cause is found.";

/// The slices that `decide` reads for an event, whatever the policy.
pub fn builtin_slice_keys(event: &Event, session: &str) -> Vec<String> {
    let actor = event.actor(session);
    let mut keys = vec![HALTED.to_owned(), PAUSES.to_owned()];
    keys.extend(event.call_id().map(denied_key));
    keys.extend(chunk_stream(event).map(stopped_stream_key));
    keys.extend(host::slice_keys(event, &actor));
    if event.kind.is_action() {
        let superiors = superiors(event, session, None).into_iter().filter(|name| *name != actor);
        keys.extend(superiors.map(|name| quarantine_key(&name)));
        keys.extend(is_recorded(event).then(|| SUB_AGENT_PARENTS.to_owned()));
        keys.push(quarantine_key(&actor));
        keys.extend(receiver(event).map(quarantine_key));
        keys.extend(Some(event.task_id()).filter(|task| !task.is_empty()).map(task_key));
    }
    keys
}

impl Tally<'_> {
    pub(super) fn check_preconditions(&mut self) {
        let halt = self.check_run();
        self.raise_own(halt);
        self.raise_own(stream::check_stream(self.inputs));
        if self.inputs.event.kind.is_action() {
            self.raise_own(self.check_quarantine());
            self.raise_own(self.check_task());
        }
    }

    /// Adds a verdict of Midrail itself.
    pub(super) fn raise_own(&mut self, verdict: Option<Verdict>) {
        if let Some(verdict) = verdict {
            self.raise(MIDRAIL.into(), verdict);
        }
    }

    /// A halted run stays halted until a new run starts.
    fn check_run(&mut self) -> Option<Verdict> {
        let halted = match self.inputs.slice(HALTED) {
            Ok(halted) => halted?,
            Err(missing) => return Some(Verdict::block(missing.to_string())),
        };
        if self.inputs.event.is_new_run() {
            self.decision.changes.remove(HALTED);
            return None;
        }
        self.is_halted = true;
        let text = |key: &str| halted.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let reason = format!("this run was halted by `{}`: {}", text("by"), text("reason"));
        let mut verdict = Verdict::new(Effect::Halt, reason);
        verdict.user_message = Some(text("user_message")).filter(|message| !message.is_empty());
        Some(verdict.advise(format!(
            "Midrail allows no more actions in it. A supervisor can resume it with `midrail quarantine lift --run {}`; a new \
             session starts a new run.",
            self.inputs.session.id
        )))
    }

    /// A quarantined agent acts no more until a person lifts the quarantine, and neither do its sub-agents and the agents of a
    /// quarantined session. It receives no hand-off either.
    fn check_quarantine(&self) -> Option<Verdict> {
        let (event, session) = (self.inputs.event, &self.inputs.session.id);
        // Older records do not have the ancestors.
        let parents = event.parent().and_then(|_| self.inputs.slice(SUB_AGENT_PARENTS).ok().flatten());
        let other = "Hand over to another agent, or wait until a person lifts the quarantine.";
        let own = Some((self.inputs.actor(), LIFT_QUARANTINE));
        let superiors =
            superiors(event, session, parents).into_iter().map(|name| (name, COVERED_BY_QUARANTINE));
        let receiver = receiver(event).map(|name| (name.to_owned(), other));
        let mut first = None;
        for (name, advice) in own.into_iter().chain(superiors).chain(receiver) {
            match self.inputs.slice(&quarantine_key(&name)) {
                Ok(None) => {}
                Ok(Some(quarantine)) => {
                    let reason = quarantine.get("reason").and_then(Value::as_str).unwrap_or_default();
                    let verdict = Verdict::block(format!("`{name}` is quarantined: {reason}"));
                    return first.or(Some(verdict.advise(advice)));
                }
                // Read the other slices as well, so that all missing ones are fetched in one round.
                Err(missing) => {
                    first.get_or_insert(Verdict::block(missing.to_string()));
                }
            }
        }
        first
    }

    /// A task that has not begun, is suspended or is completed allows no action.
    fn check_task(&self) -> Option<Verdict> {
        let task = Some(self.inputs.event.task_id()).filter(|task| !task.is_empty())?;
        match self.inputs.slice(&task_key(task)) {
            Ok(state) => match state?.get("status").and_then(Value::as_str)? {
                status @ ("draft" | "suspended" | "completed") => {
                    let verdict = Verdict::block(format!("the task `{task}` is {status}"));
                    Some(verdict.advise("Ask the owner of the task to activate it before you continue."))
                }
                _ => None,
            },
            Err(missing) => Some(Verdict::block(missing.to_string())),
        }
    }
}

/// The agent that a hand-off names as its receiver.
fn receiver(event: &Event) -> Option<&str> {
    let handoff = event.handoff.as_ref().filter(|_| event.kind == EventKind::BeforeHandoff)?;
    let id = || handoff.receiver.as_ref()?.get("id")?.as_str();
    handoff.to.as_deref().or_else(id).map(str::trim).filter(|to| !to.is_empty())
}
