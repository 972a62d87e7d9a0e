//! Pauses: a person puts the guardrails of one project, or of all projects, in shadow mode for a limited time.

use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{PAUSES, Pause};
use midrail_store::{Result, Store};
use serde_json::{Value, json};

use crate::admin::event::{AdminEvent, NO_SESSION, Person, notice};
use crate::admin::handle::{Admin, Cell, Column, Resource, resolved};
use crate::error::{EngineError, EngineResult};
use crate::session_slices::load_slice;

/// The most pauses at a time.
const MAX_PAUSES: usize = 64;

impl Resource for Pause {
    const TITLE: &'static str = "Pauses";
    const EMPTY: &'static str = "No guardrails are paused.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("project", 200, |pause| {
            Cell::text(Some(pause.project.as_deref().unwrap_or("every project")))
        }),
        Column::new("until", 20, |pause| Cell::Time(pause.until)),
        Column::new("by", 60, |pause| Cell::Text(pause.by.clone())),
        Column::new("reason", 200, |pause| Cell::Text(pause.reason.clone())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        Ok(pauses_at(&**admin.engine.store(), admin.engine.now())?)
    }
}

/// The pauses in force at a time, from a store that is only read.
pub fn pauses_at(store: &dyn Store, now: Timestamp) -> Result<Vec<Pause>> {
    let slice = load_slice(store, NO_SESSION, PAUSES)?;
    Ok(in_force(slice.value.as_ref(), now))
}

fn in_force(slice: Option<&Value>, now: Timestamp) -> Vec<Pause> {
    let mut pauses = Pause::all(slice);
    pauses.retain(|pause| pause.is_active_at(now));
    pauses
}

impl Admin<'_> {
    /// Pauses the guardrails of a project, or of all projects, for an hour at most. It replaces a pause of the same
    /// project. Only a human operator or the first approver may do so; always-on guardrails stay enforced.
    pub fn pause(
        &self,
        project: Option<&Path>,
        duration: Duration,
        by: &Person,
        reason: &str,
    ) -> EngineResult<Pause> {
        if !self.is_operator(by)? {
            let roles = by.roles().join(", ");
            let humans = self.engine.policy().authorities().humans.join(" or ");
            return Err(EngineError::not_allowed(format!(
                "`{}` has the role {roles}; only a {humans} or the first approver may pause guardrails",
                by.name()
            )));
        }
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(EngineError::invalid("a pause needs a reason"));
        }
        let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        if duration > Pause::MAX_DURATION {
            let longest = Pause::MAX_DURATION.as_mins();
            return Err(EngineError::invalid(format!(
                "a pause lasts {longest} minutes at most; you can repeat it"
            )));
        }
        let now = self.engine.now();
        let until = now
            .checked_add(duration)
            .map_err(|_| EngineError::invalid("the end of the pause is out of range"))?;
        let pause = Pause {
            by: by.name().to_owned(),
            reason: self.engine.masked_text(reason.trim()),
            since: now,
            until,
            project: project.map(resolved),
        };
        let (slice, version) = self.slice(PAUSES)?;
        let mut pauses = in_force(slice.as_ref(), now);
        pauses.retain(|other| other.project != pause.project);
        if pauses.len() >= MAX_PAUSES {
            return Err(EngineError::conflict(format!("{MAX_PAUSES} projects are already paused")));
        }
        pauses.push(pause.clone());
        let (by, project) = (&pause.by, project_name(pause.project.as_deref()));
        let message = format!("{by} paused the guardrails of {project} until {until:.0}: {}", pause.reason);
        self.write_pauses("paused", &pause, by, &pauses, version, message)?;
        Ok(pause)
    }

    /// Ends the pause of a project, or of all projects. Everyone may do so, because it only tightens the policy.
    pub fn end_pause(&self, project: Option<&Path>, by: &str) -> EngineResult<Pause> {
        let project = project.map(resolved);
        let (slice, version) = self.slice(PAUSES)?;
        let mut pauses = in_force(slice.as_ref(), self.engine.now());
        let name = project_name(project.as_deref());
        let Some(at) = pauses.iter().position(|pause| pause.project == project) else {
            let is_global = pauses.iter().any(|pause| pause.project.is_none());
            return Err(EngineError::conflict(if is_global {
                format!("{name} is not paused on its own: every project is paused, which `--everywhere` ends")
            } else {
                format!("{name} is not paused")
            }));
        };
        let ended = pauses.remove(at);
        self.write_pauses(
            "pause_ended",
            &ended,
            by,
            &pauses,
            version,
            format!("{by} ended the pause of {name}"),
        )?;
        Ok(ended)
    }

    fn write_pauses(
        &self,
        name: &str,
        pause: &Pause,
        by: &str,
        pauses: &[Pause],
        version: u64,
        message: String,
    ) -> EngineResult {
        let event = AdminEvent::new(name).with("pause", json!(pause)).with("by", by);
        let value = (!pauses.is_empty()).then(|| json!(pauses));
        let notice = notice("human_operator", "pause", message, json!(pause));
        self.change_at(event, (PAUSES, version), value, vec![notice])
    }
}

/// A project in a message.
fn project_name(project: Option<&str>) -> String {
    project.map_or_else(|| "every project".to_owned(), |project| format!("`{project}`"))
}
