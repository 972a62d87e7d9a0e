//! handoff-done (handoff-005): records the new owner of a task and notifies the orchestrator. It never blocks.

use jiff::Timestamp;
use midrail_core::{Notice, task_key};

use crate::prelude::*;
use crate::shared::handoff::{receiver, sender};

pub(crate) const BUILTIN: Builtin = HANDOFF.builtin::<HandoffDone>("handoff-005", &[EventKind::AfterHandoff]);

/// The settings of handoff-done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HandoffDone {
    /// The recipients of the notice.
    pub notify: Vec<String>,
}

impl Default for HandoffDone {
    fn default() -> Self {
        HandoffDone { notify: vec!["orchestrator".to_owned()] }
    }
}

/// The stored status of a task, for all sessions.
#[derive(Serialize)]
struct TaskStatus {
    status: &'static str,
    by: String,
    to: Option<String>,
    time: Option<Timestamp>,
}

impl Guardrail for HandoffDone {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let from = sender(context);
        let of_task = match context.event.task_id() {
            "" => String::new(),
            task => format!(" task `{task}`"),
        };
        let to = receiver(context);
        let mut verdict = match to {
            Some(_) => Verdict::allow(),
            None => Verdict::warn(format!("`{from}` handed over{of_task} to an unknown receiver."))
                .advise("Name the receiver in `handoff.to`."),
        };
        let message = match to {
            Some(to) => format!("`{from}` handed over{of_task} to `{to}`."),
            None => verdict.reason.clone(),
        };
        verdict
            .notices
            .extend(self.notify.iter().map(|to| Notice { to: to.clone(), message: message.clone() }));
        Ok(verdict)
    }

    fn observe(&self, context: &Context<'_>, _: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let task = context.event.task_id();
        if !task.is_empty() {
            let (by, to) = (sender(context), receiver(context).map(str::to_owned));
            let status = TaskStatus { status: "handed_off", by, to, time: context.event.time };
            Key::new(task_key(task)).write(changes, &status)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterHandoff]
    }

    fn max_effect(&self) -> Effect {
        Effect::Warn
    }

    fn has_consequences(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Agent, Event, Handoff, Task};
    use serde_json::json;
    use std::sync::Arc;

    fn event(to: Option<&str>) -> Event {
        Event {
            handoff: Some(Handoff { to: to.map(str::to_owned), ..Handoff::default() }),
            agent: Some(Agent { id: Some("ann".into()), ..Agent::default() }),
            task: Some(Task { id: Some("t-1".into()), ..Task::default() }),
            time: Some("2026-11-15T10:00:00Z".parse().unwrap()),
            ..Event::new(EventKind::AfterHandoff)
        }
    }

    #[test]
    fn task_status_names_the_receiver() {
        let mut run = Run::on(Arc::new(HandoffDone::default()), vec![EventKind::AfterHandoff]);
        assert_eq!(run.decide(&event(Some("bob"))).effect, Effect::Allow);
        let status = run.slice(&task_key("t-1")).unwrap();
        let expected =
            json!({"status": "handed_off", "by": "ann", "to": "bob", "time": "2026-11-15T10:00:00Z"});
        assert_eq!(*status, expected);
    }

    #[test]
    fn unnamed_receiver_warns() {
        let mut run = Run::on(Arc::new(HandoffDone::default()), vec![EventKind::AfterHandoff]);
        for _ in 0..5 {
            assert_eq!(run.decide(&event(None)).effect, Effect::Warn);
        }
    }
}
