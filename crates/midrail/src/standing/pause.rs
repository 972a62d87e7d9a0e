//! Pauses: a person puts the guardrails of a project, or of all, in shadow mode for a while.

use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{PAUSE, Pause};
use midrail_store::{Commit, NewNotice, Store, StoreError};
use serde_json::{Value, json};

use super::{not_allowed, real, refused, senseless};
use crate::administer::{Act, NO_SESSION};
use crate::engine::{Engine, EngineError};
use crate::people::Person;

/// Pauses that there can be at a time.
const MOST: usize = 64;

/// The pauses that hold at a time, in a store that is only looked at.
pub fn pauses_at(store: &dyn Store, now: Timestamp) -> Result<Vec<Pause>, StoreError> {
    let slice = store.load(NO_SESSION, &[PAUSE])?.into_iter().next().unwrap_or_default();
    let mut pauses = Pause::all(slice.value.as_ref());
    pauses.retain(|pause| pause.holds_at(now));
    Ok(pauses)
}

impl Engine {
    /// The pauses that hold now.
    pub fn pauses(&self) -> Result<Vec<Pause>, EngineError> {
        Ok(pauses_at(&**self.store(), self.now())?)
    }

    /// Pauses the guardrails of a project, or of all. It takes a person of a human role, or the first of the approvers,
    /// and lasts an hour at most. What is always on stays on. A pause of the same project is replaced.
    pub fn pause(
        &self,
        project: Option<&Path>,
        lasts: Duration,
        by: &Person,
        reason: &str,
    ) -> Result<Pause, EngineError> {
        self.may_pause(by)?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(senseless("a pause needs a reason"));
        }
        let lasts = SignedDuration::try_from(lasts).unwrap_or(SignedDuration::MAX);
        if lasts > Pause::LONGEST {
            let longest = Pause::LONGEST.as_mins();
            return Err(senseless(&format!(
                "a pause lasts {longest} minutes at most; it can be given again"
            )));
        }
        let now = self.now();
        let until = now.checked_add(lasts).map_err(|_| senseless("there is no such time"))?;
        let pause = Pause {
            by: by.name().to_owned(),
            reason: self.masked_text(reason)?,
            since: now,
            until,
            project: project.map(real),
        };
        let (mut others, version) = self.all_pauses(now)?;
        others.retain(|other| other.project != pause.project);
        if others.len() >= MOST {
            return Err(refused(format!("{MOST} projects are paused already")));
        }
        others.push(pause.clone());
        let message = format!(
            "{} paused the guardrails of {} until {until:.0}: {}",
            pause.by,
            whole(pause.project.as_deref()),
            pause.reason
        );
        let act = Act::of("paused").with("pause", json!(pause)).with("by", &*pause.by);
        self.write_pauses(act, &others, version, message)?;
        Ok(pause)
    }

    /// Ends the pause of a project, or that of all. Everyone may: it makes nothing looser.
    pub fn end_pause(&self, project: Option<&Path>, by: &str) -> Result<Pause, EngineError> {
        let project = project.map(real);
        let (mut pauses, version) = self.all_pauses(self.now())?;
        let Some(at) = pauses.iter().position(|pause| pause.project == project) else {
            let whole = whole(project.as_deref());
            return Err(refused(match pauses.iter().any(|pause| pause.project.is_none()) {
                true => {
                    format!("{whole} is not paused by itself: every project is, which `--everywhere` ends")
                }
                false => format!("{whole} is not paused"),
            }));
        };
        let ended = pauses.remove(at);
        let message = format!("{by} ended the pause of {}", whole(project.as_deref()));
        let act = Act::of("pause_ended").with("pause", json!(ended)).with("by", by);
        self.write_pauses(act, &pauses, version, message)?;
        Ok(ended)
    }

    fn may_pause(&self, by: &Person) -> Result<(), EngineError> {
        let approvers = self.store().approvers()?;
        let first = approvers.iter().find(|approver| approver.revoked.is_none());
        let policy = self.policy();
        let humans = &policy.authorities().humans;
        if first.is_some_and(|first| first.name == by.name())
            || by.roles().iter().any(|role| humans.contains(role))
        {
            return Ok(());
        }
        let (roles, humans) = (by.roles().join(", "), humans.join(" or "));
        Err(not_allowed(format!(
            "`{}` answers as {roles}, and guardrails are paused by a {humans}, or by the first approver",
            by.name()
        )))
    }

    fn all_pauses(&self, now: Timestamp) -> Result<(Vec<Pause>, u64), EngineError> {
        let (slice, version) = self.shared_slice(PAUSE)?;
        let mut pauses = Pause::all(slice.as_ref());
        pauses.retain(|pause| pause.holds_at(now));
        Ok((pauses, version))
    }

    fn write_pauses(
        &self,
        act: Act,
        pauses: &[Pause],
        version: u64,
        message: String,
    ) -> Result<(), EngineError> {
        let record = self.administered(act)?;
        let body = record.event.extra.get("pause").cloned().unwrap_or(Value::Null);
        let notice = NewNotice { to: "human_operator".to_owned(), kind: "pause".to_owned(), message, body };
        let mut commit =
            Commit { read: vec![(PAUSE.to_owned(), version)], notices: vec![notice], ..Commit::new(&record) };
        if pauses.is_empty() {
            commit.changes.remove(PAUSE);
        } else {
            commit.changes.set(PAUSE, json!(pauses));
        }
        self.commit(&commit)
    }
}

/// A project in a message.
fn whole(project: Option<&str>) -> String {
    project.map_or_else(|| "every project".to_owned(), |project| format!("`{project}`"))
}
