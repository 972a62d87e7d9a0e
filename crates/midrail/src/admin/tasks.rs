//! Tasks: the status that people and programs give them.

use midrail_core::task_key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::admin::event::{AdminEvent, notice};
use crate::admin::handle::{Admin, Cell, Column, Resource};
use crate::error::{EngineError, EngineResult};

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It has not started.
    Draft,
    /// An agent works on it.
    Active,
    /// No agent works on it for now.
    Suspended,
    /// Another agent has taken over.
    HandedOff,
    /// It is finished.
    Completed,
}

impl TaskStatus {
    /// Every status.
    pub const ALL: [TaskStatus; 5] = [
        TaskStatus::Draft,
        TaskStatus::Active,
        TaskStatus::Suspended,
        TaskStatus::HandedOff,
        TaskStatus::Completed,
    ];

    /// The name of the status on the wire.
    pub fn word(self) -> &'static str {
        match self {
            TaskStatus::Draft => "draft",
            TaskStatus::Active => "active",
            TaskStatus::Suspended => "suspended",
            TaskStatus::HandedOff => "handed_off",
            TaskStatus::Completed => "completed",
        }
    }

    /// Whether a task may change from this status to another. A task without a status is active.
    pub fn may_become(self, next: TaskStatus) -> bool {
        use TaskStatus::{Active, Completed, Draft, HandedOff, Suspended};
        match (self, next) {
            (Draft, Active)
            | (Active, Suspended | Completed | HandedOff)
            | (Suspended, Active | Completed)
            | (HandedOff, Active | Suspended | Completed) => true,
            (Draft | Active | Suspended | HandedOff | Completed, _) => false,
        }
    }
}

/// A task and its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskState {
    /// The id of the task.
    pub task: String,
    /// Its status.
    pub status: TaskStatus,
    /// When the status was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Who set the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Resource for TaskState {
    const TITLE: &'static str = "Tasks";
    const EMPTY: &'static str = "No task has a status.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("task", 60, |state| Cell::Text(state.task.clone())),
        Column::new("status", 12, |state| Cell::text(Some(state.status.word()))),
        Column::new("since", 20, |state| Cell::stored_time(state.since.as_deref())),
        Column::new("by", 40, |state| Cell::text(state.by.as_deref())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        let state = |(task, stored): (String, Value)| {
            let status = stored_status(&stored).unwrap_or(TaskStatus::Active);
            let text = |name: &str| stored.get(name).and_then(Value::as_str).map(str::to_owned);
            TaskState { task, status, since: text("time"), by: text("by") }
        };
        Ok(admin.slices(&task_key(""))?.into_iter().map(state).collect())
    }
}

impl Admin<'_> {
    /// Sets the status of a task, if the task may change to it.
    pub fn set_task(&self, task: &str, status: TaskStatus, by: &str) -> EngineResult {
        let key = self.engine.stored_key(&task_key(task));
        let task = self.engine.masked_text(task);
        let (held, version) = self.slice(&key)?;
        let previous = held.as_ref().and_then(stored_status);
        let from = previous.unwrap_or(TaskStatus::Active);
        // A task without a status may become a draft, or what it is taken for.
        let is_first = previous.is_none() && matches!(status, TaskStatus::Draft | TaskStatus::Active);
        if !is_first && !from.may_become(status) {
            let (from, to) = (from.word(), status.word());
            return Err(EngineError::conflict(format!(
                "the task `{task}` is {from}, and cannot become {to}"
            )));
        }
        // The event's own `task` field is an object, so the id is recorded as one.
        let event = AdminEvent::new("task_set").with("task", json!({"id": task}));
        let event = event.with("status", status.word()).with("by", by);
        let message = format!("{by} set the task `{task}` to {}", status.word());
        let notice = notice("orchestrator", "task", message, json!({"task": task, "status": status}));
        let value = json!({"status": status, "by": by, "time": self.engine.now().to_string()});
        self.change_at(event, (&key, version), Some(value), vec![notice])
    }
}

fn stored_status(held: &Value) -> Option<TaskStatus> {
    held.get("status").and_then(|status| TaskStatus::deserialize(status).ok())
}
