//! The definition that an agent runs with: its identity, its task and its limits.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::event::{Agent, Event, Task};
use crate::glob;

/// A definition of a pack. Its limits apply in addition to those of an event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Definition {
    /// The agent's name in the pack.
    pub name: String,
    /// Ids of agents, as glob patterns.
    pub agents: Vec<String>,
    /// Ids of tasks, as glob patterns.
    pub tasks: Vec<String>,
    /// The agent.
    pub agent: Agent,
    /// The limits of its task.
    pub task: Task,
    /// When its runs must be finished.
    pub deadline: Option<Deadline>,
}

/// When a run must be finished.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Deadline {
    /// At a time.
    At(Timestamp),
    /// These seconds after the first event of the session.
    After(f64),
}

impl Deadline {
    /// The time of the deadline, for a run that began at this time.
    pub fn resolve(self, began: Timestamp) -> Timestamp {
        match self {
            Deadline::At(time) => time,
            Deadline::After(seconds) => {
                let duration =
                    SignedDuration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(SignedDuration::MAX);
                began.checked_add(duration).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

impl Definition {
    /// Whether it applies to an event. An agent or task that the host does not name could be any, so it does.
    pub fn applies_to(&self, event: &Event) -> bool {
        let agent = event.agent.as_ref();
        let role_fits = match (&self.agent.role, agent.and_then(|agent| agent.role.as_ref())) {
            (Some(want), Some(have)) => want == have,
            _ => true,
        };
        role_fits
            && fits(&self.agents, agent.and_then(|agent| agent.id.as_deref()))
            && fits(&self.tasks, event.task.as_ref().and_then(|task| task.id.as_deref()))
    }
}

/// Whether a name matches a list of patterns. An empty list matches all; an unknown name could be any.
pub(crate) fn fits(patterns: &[String], name: Option<&str>) -> bool {
    match name {
        Some(name) if !patterns.is_empty() => {
            patterns.iter().any(|pattern| glob::name_matches(pattern, name))
        }
        _ => true,
    }
}
