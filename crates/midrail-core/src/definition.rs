//! The definition that an agent is run with: who it is, what it works on, and within which limits.

use jiff::{SignedDuration, Timestamp};

use crate::event::{Agent, Event, Task};
use crate::glob;

/// A definition of a pack. Its limits hold on top of those that come with an event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Definition {
    /// The agent's name in the pack. It concerns events of the agent of this id (a glob pattern) or role.
    pub name: String,
    /// Ids of agents, as glob patterns.
    pub agents: Vec<String>,
    /// Ids of tasks, as glob patterns.
    pub tasks: Vec<String>,
    /// What is known of the agent.
    pub agent: Agent,
    /// The limits of what it works on.
    pub task: Task,
    /// When its runs have to be finished.
    pub deadline: Option<Deadline>,
}

/// When a run has to be finished.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Deadline {
    /// At a time.
    At(Timestamp),
    /// So many seconds after the first event of the session.
    After(f64),
}

impl Deadline {
    /// The time of it, for a run that began then.
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
    /// Whether an event falls under it. An agent or task that the host does not name might be any, so it does.
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

/// Whether a name fits a list of patterns. An empty list fits all; an unknown name might be any.
pub(crate) fn fits(patterns: &[String], name: Option<&str>) -> bool {
    match name {
        Some(name) if !patterns.is_empty() => {
            patterns.iter().any(|pattern| glob::name_matches(pattern, name))
        }
        _ => true,
    }
}
