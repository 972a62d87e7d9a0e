//! Locks on files, shared by all sessions: holder, start and expiry.

use jiff::Timestamp;
use midrail_core::{Context, Key, Missing, SUB_AGENT_PARENTS, Verdict, ancestors, lock_key};
use serde::{Deserialize, Serialize};

use super::durations::{Seconds, to_the_second};

/// A lock on a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lock {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    path: String,
    pub(crate) actor: String,
    /// Empty: it was taken for the agent by name and applies in all its sessions.
    #[serde(default)]
    pub(crate) session: String,
    #[serde(default)]
    task: String,
    #[serde(default)]
    since: Option<Timestamp>,
    /// Absent: until it is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    /// The parent of a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
}

/// The slice with the lock of a file, by absolute path. The lock may have expired.
pub(crate) fn lock_slice(path: &str) -> Key<Lock> {
    Key::new(lock_key(path))
}

impl Lock {
    /// The lock of a file by absolute path, unless it has expired.
    pub(crate) fn for_path(context: &Context<'_>, path: &str) -> Result<Option<Self>, Missing> {
        let Some(lock) = lock_slice(path).read(context)? else { return Ok(None) };
        let now = context.now()?;
        Ok(Some(lock).filter(|lock| lock.until.is_none_or(|until| now < until)))
    }

    /// A lock for the agent of this event, renewed if it holds it already. A lock of another agent of its family
    /// stays with that agent.
    pub(crate) fn acquire(
        context: &Context<'_>,
        held: Option<Lock>,
        lifetime: Seconds,
    ) -> Result<Self, Missing> {
        let now = context.now()?;
        let until = Some(lifetime.after(now));
        Ok(match held {
            Some(held) if held.actor != context.actor() => Lock { until, ..held },
            held => Lock {
                path: String::new(),
                actor: context.actor(),
                session: context.session().to_owned(),
                task: context.event.task_id().to_owned(),
                since: held.map_or(Some(now), |held| held.since),
                until,
                parent: context.event.parent.clone(),
            },
        })
    }

    /// Whether the agent of this event, or an agent of its family, holds it.
    pub(crate) fn is_own(&self, context: &Context<'_>) -> bool {
        let session = context.session();
        if self.session.is_empty() {
            return self.actor == context.actor();
        }
        if self.session == session {
            return self.is_of_family(context);
        }
        context.event.parent.as_deref() == Some(self.session.as_str())
            || self.parent.as_deref() == Some(session)
    }

    /// Whether an agent with the same root agent holds it. Agents that the session itself started share locks with
    /// all agents of the session.
    fn is_of_family(&self, context: &Context<'_>) -> bool {
        let parent = context.event.parent.as_deref().unwrap_or_default();
        let its_parent = self.parent.as_deref().unwrap_or_default();
        if self.actor == context.actor() {
            return true;
        }
        if parent.is_empty() && its_parent.is_empty() {
            return false;
        }
        let own = root_agent(context, context.actor(), parent);
        let its = root_agent(context, self.actor.clone(), its_parent);
        let is_session = |name: &str| name.strip_prefix("session:").unwrap_or(name) == context.session();
        own == its || is_session(&own) || is_session(&its)
    }

    /// Describes the holder and the time.
    pub(crate) fn holder(&self) -> String {
        let of_task = match self.task.as_str() {
            "" => String::new(),
            task => format!(" for task `{task}`"),
        };
        let until = match self.until {
            None => "until it is released".to_owned(),
            Some(until) => format!("until {}", to_the_second(until)),
        };
        let since = self.since.map(to_the_second).unwrap_or_default();
        format!("`{}`{of_task} since {since}, {until}", self.actor)
    }

    /// Adds the holder and the expiry to the metadata of a verdict.
    pub(crate) fn describe(&self, verdict: Verdict) -> Verdict {
        let until = self.until.map(|until| until.to_string()).unwrap_or_default();
        verdict.with("holder", self.actor.as_str()).with("until", until)
    }

    /// The same with its session and its start.
    pub(crate) fn describe_fully(&self, verdict: Verdict) -> Verdict {
        let since = self.since.map(|since| since.to_string()).unwrap_or_default();
        self.describe(verdict).with("session", self.session.as_str()).with("since", since)
    }
}

/// The root agent of an agent, as far as the session knows the parents.
fn root_agent(context: &Context<'_>, actor: String, parent: &str) -> String {
    if parent.trim().is_empty() {
        return actor;
    }
    let started = context.slice(SUB_AGENT_PARENTS).ok().flatten();
    ancestors(started, parent.trim()).pop().unwrap_or(actor)
}

/// The place and the absolute path of a file, with links resolved.
pub(crate) fn absolute(context: &Context<'_>, file: &str) -> Result<(String, String), Missing> {
    let place = context.real_place(file, None)?;
    let path = match context.root() {
        Some(root) if place.inside => format!("{}/{}", root.trim_end_matches('/'), place.key),
        _ => place.key.clone(),
    };
    Ok((place.key, path))
}
