//! Locks on files, shared by all sessions: holder, start and expiry.

use jiff::Timestamp;
use midrail_core::{Context, Missing, SUB_AGENT_PARENTS, ancestors, lock_key};
use serde_json::{Value, json};

use crate::seconds::{Seconds, to_the_second};

/// A lock on a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lock<'a>(&'a Value);

impl<'a> Lock<'a> {
    /// The lock of a file by absolute path, unless it has expired.
    pub(crate) fn for_path(context: &Context<'a>, path: &str) -> Result<Option<Self>, Missing> {
        let Some(lock) = context.slice(&lock_key(path))?.map(Lock) else { return Ok(None) };
        let now = context.now()?;
        // A lock without an end is held until it is released.
        let is_over = lock.text("until").parse::<Timestamp>().is_ok_and(|until| now >= until);
        Ok((!is_over).then_some(lock))
    }

    /// A lock for the agent of this event, renewed if it holds it already. A lock of another agent of its family
    /// stays with that agent.
    pub(crate) fn taken(
        context: &Context<'_>,
        held: Option<Lock<'_>>,
        lasts: Seconds,
    ) -> Result<Value, Missing> {
        let now = context.now()?;
        let until = lasts.after(now).to_string();
        if let Some(Lock(Value::Object(held))) = held.filter(|held| held.text("actor") != context.actor()) {
            let mut renewed = held.clone();
            renewed.insert("until".to_owned(), until.into());
            return Ok(renewed.into());
        }
        let since = held.map_or_else(|| now.to_string(), |held| held.text("since").to_owned());
        let mut lock = json!({
            "actor": context.actor(), "session": context.session(), "task": context.event.task_id(),
            "since": since, "until": until,
        });
        if let (Some(lock), Some(parent)) = (lock.as_object_mut(), &context.event.parent) {
            lock.insert("parent".to_owned(), json!(parent));
        }
        Ok(lock)
    }

    pub(crate) fn new(lock: &'a Value) -> Self {
        Lock(lock)
    }

    pub(crate) fn text(&self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the agent of this event, or an agent of its family, holds it.
    pub(crate) fn is_own(&self, context: &Context<'_>) -> bool {
        let (session, parent) = (context.session(), context.event.parent.as_deref());
        let (its_session, its_parent) = (self.text("session"), self.text("parent"));
        // A lock that was taken for an agent by name applies in every session of that agent.
        if its_session.is_empty() {
            return self.text("actor") == context.actor();
        }
        if its_session == session {
            return self.is_of_family(context);
        }
        parent == Some(its_session) || (!its_parent.is_empty() && its_parent == session)
    }

    /// Whether an agent with the same root agent holds it. Agents that the session itself started share locks with
    /// all agents of the session.
    fn is_of_family(&self, context: &Context<'_>) -> bool {
        let session = context.session();
        let (parent, its_parent) = (context.event.parent.as_deref().unwrap_or_default(), self.text("parent"));
        if self.text("actor") == context.actor() {
            return true;
        }
        if parent.is_empty() && its_parent.is_empty() {
            return false;
        }
        let own = root_agent(context, context.actor(), parent);
        let its = root_agent(context, self.text("actor").to_owned(), its_parent);
        let is_session = |name: &str| name.strip_prefix("session:").unwrap_or(name) == session;
        own == its || is_session(&own) || is_session(&its)
    }

    /// Describes the holder and the time.
    pub(crate) fn holder(&self) -> String {
        let of_task = match self.text("task") {
            "" => String::new(),
            task => format!(" for task `{task}`"),
        };
        let until = match self.text("until") {
            "" => "until it is released".to_owned(),
            until => format!("until {}", to_the_second(until)),
        };
        let since = to_the_second(self.text("since"));
        format!("`{}`{of_task} since {since}, {until}", self.text("actor"))
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
