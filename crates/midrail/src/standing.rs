//! What holds across sessions: quarantined agents, locked files, and how far tasks have come. People and programs look
//! at it and change it here; guardrails and the law read it as slices.

mod pause;
mod runs;

use std::path::{Component, Path};

use jiff::{SignedDuration, Timestamp};
use midrail_core::{SHARED, lock_key, quarantine_key, task_key};
use midrail_guardrails::LockList;
use midrail_store::{Commit, NewNotice};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::administer::{Act, NO_SESSION};
use crate::engine::{Engine, EngineError};
use crate::people::Person;

pub use pause::pauses_at;
pub use runs::Halted;

/// An agent that is kept from further work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Quarantined {
    /// The agent, or `session:ID` where it has no name.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// A file that somebody has locked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Lock {
    /// The file, absolute.
    #[serde(default)]
    pub path: String,
    /// Who holds it.
    pub actor: String,
    /// In which session.
    #[serde(default)]
    pub session: String,
    /// For which task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Until when. After that the file is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// How far a task has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It has not begun.
    Draft,
    /// It is being worked on.
    Active,
    /// It rests.
    Suspended,
    /// Another agent has it now.
    HandedOff,
    /// It is over.
    Completed,
}

impl TaskStatus {
    /// All of them.
    pub const ALL: [TaskStatus; 5] = [
        TaskStatus::Draft,
        TaskStatus::Active,
        TaskStatus::Suspended,
        TaskStatus::HandedOff,
        TaskStatus::Completed,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            TaskStatus::Draft => "draft",
            TaskStatus::Active => "active",
            TaskStatus::Suspended => "suspended",
            TaskStatus::HandedOff => "handed_off",
            TaskStatus::Completed => "completed",
        }
    }

    /// Whether a task may go from one to the other. A task that nobody has set is active.
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

/// A task and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TaskState {
    /// Its id.
    pub task: String,
    /// How far it has come.
    pub status: TaskStatus,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Who set it so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Engine {
    /// The agents that are kept from further work.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>, EngineError> {
        let rows = self.shared(&quarantine_key(""))?;
        Ok(rows
            .into_iter()
            .map(|(actor, held)| {
                let text = |name: &str| held.get(name).and_then(Value::as_str).map(str::to_owned);
                Quarantined { actor, reason: text("reason").unwrap_or_default(), since: text("since") }
            })
            .collect())
    }

    /// Lets an agent work again. That is for supervisors and people to say.
    pub fn lift_quarantine(&self, actor: &str, by: &Person, reason: &str) -> Result<(), EngineError> {
        let key = quarantine_key(actor);
        if self.shared_slice(&key)?.0.is_none() {
            return Err(refused(format!("`{actor}` is not quarantined")));
        }
        if by.name() == actor {
            return Err(not_allowed(format!("`{actor}` cannot lift its own quarantine")));
        }
        self.may_lift(by, "a quarantine")?;
        let reason = &*self.masked_text(reason)?;
        let act =
            Act::of("quarantine_lifted").with("actor", actor).with("by", by.name()).with("reason", reason);
        let notice = NewNotice {
            to: "orchestrator".to_owned(),
            kind: "quarantine".to_owned(),
            message: format!("{} lifted the quarantine of `{actor}`: {reason}", by.name()),
            body: json!({"actor": actor, "by": by.name()}),
        };
        self.change(act, &key, None, vec![notice])
    }

    fn may_lift(&self, by: &Person, what: &str) -> Result<(), EngineError> {
        let policy = self.policy();
        let authorities = policy.authorities();
        let is_able =
            |role: &String| authorities.supervisors.contains(role) || authorities.humans.contains(role);
        if by.roles().iter().any(is_able) {
            return Ok(());
        }
        let roles = by.roles().join(", ");
        Err(not_allowed(format!("`{}` answers as {roles}, and cannot lift {what}", by.name())))
    }

    /// Keeps an agent from further work.
    pub fn quarantine(&self, actor: &str, by: &str, reason: &str) -> Result<(), EngineError> {
        if actor.is_empty() {
            return Err(senseless("an agent has a name"));
        }
        if let Some(held) = self.shared_slice(&quarantine_key(actor))?.0 {
            let why = held.get("reason").and_then(Value::as_str).unwrap_or("for no reason given");
            return Err(refused(format!("`{actor}` is quarantined already: {why}")));
        }
        let reason = &*self.masked_text(reason)?;
        let since = self.now().to_string();
        let act = Act::of("quarantined").with("actor", actor).with("by", by).with("reason", reason);
        let held = json!({"reason": reason, "since": since, "by": by});
        let notice = NewNotice {
            to: "human_operator".to_owned(),
            kind: "quarantine".to_owned(),
            message: format!("{by} quarantined `{actor}`: {reason}"),
            body: json!({"actor": actor, "by": by}),
        };
        self.change(act, &quarantine_key(actor), Some(held), vec![notice])
    }

    /// The files that are locked now.
    pub fn locks(&self) -> Result<Vec<Lock>, EngineError> {
        let now = self.now();
        let mut locks = Vec::new();
        for (path, held) in self.shared(&lock_key(""))? {
            let lock = Lock { path, ..serde_json::from_value(held)? };
            if lock.until.is_none_or(|until| now < until) {
                locks.push(lock);
            }
        }
        Ok(locks)
    }

    /// Locks a file for somebody, or renews their lock.
    pub fn take_lock(
        &self,
        path: &Path,
        actor: &str,
        session: &str,
        lasts: std::time::Duration,
    ) -> Result<Lock, EngineError> {
        let place = real(path);
        let key = lock_key(&place);
        let (held, version) = self.shared_slice(&key)?;
        let now = self.now();
        let mut since = now;
        if let Some(held) = held {
            let lock: Lock = serde_json::from_value(held)?;
            let is_own = lock.actor == actor && lock.session == session;
            let is_held = lock.until.is_none_or(|until| now < until);
            if is_held && !is_own {
                let until = lock.until.map(|until| format!(" until {until:.0}")).unwrap_or_default();
                return Err(refused(format!("`{place}` is locked by `{}`{until}", lock.actor)));
            }
            since = lock.since.filter(|_| is_held).unwrap_or(now);
        }
        let lasts = SignedDuration::from_secs(i64::try_from(lasts.as_secs()).unwrap_or(i64::MAX));
        let lock = Lock {
            path: place.clone(),
            actor: actor.to_owned(),
            session: session.to_owned(),
            task: None,
            since: Some(since),
            until: now.checked_add(lasts).ok(),
        };
        let act = Act::of("lock_taken").with("lock", serde_json::to_value(&lock)?);
        let record = self.administered(act)?;
        let (list, list_version) = self.shared_slice(LockList::KEY)?;
        let mut list = LockList::of(list.as_ref());
        list.add(&place, actor, lock.until, now);
        let read = vec![(key.clone(), version), (LockList::KEY.to_owned(), list_version)];
        let mut commit = Commit { read, ..Commit::new(&record) };
        commit.changes.set(key, serde_json::to_value(&lock)?);
        if let Some(list) = list.into_value() {
            commit.changes.set(LockList::KEY, list);
        }
        self.commit(&commit)?;
        Ok(lock)
    }

    /// Releases a file, whoever has locked it.
    pub fn release_lock(&self, path: &Path, by: &str) -> Result<(), EngineError> {
        let place = real(path);
        let key = lock_key(&place);
        if self.shared_slice(&key)?.0.is_none() {
            return Err(refused(format!("nobody has locked `{place}`")));
        }
        self.change(Act::of("lock_released").with("path", place).with("by", by), &key, None, Vec::new())
    }

    /// The tasks whose status somebody set.
    pub fn tasks(&self) -> Result<Vec<TaskState>, EngineError> {
        let mut tasks = Vec::new();
        for (task, held) in self.shared(&task_key(""))? {
            let text = |name: &str| held.get(name).and_then(Value::as_str).map(str::to_owned);
            let status = held.get("status").cloned().unwrap_or_default();
            let status = serde_json::from_value(status).unwrap_or(TaskStatus::Active);
            tasks.push(TaskState { task, status, since: text("time"), by: text("by") });
        }
        Ok(tasks)
    }

    /// Sets how far a task has come. A step that makes no sense is refused.
    pub fn set_task(&self, task: &str, status: TaskStatus, by: &str) -> Result<(), EngineError> {
        let key = task_key(task);
        let (held, version) = self.shared_slice(&key)?;
        let was = held.as_ref().and_then(|held| held.get("status")).cloned();
        let was: Option<TaskStatus> = was.and_then(|word| serde_json::from_value(word).ok());
        let from = match (was, status) {
            // The first word on a task may be that it is a draft.
            (None, TaskStatus::Draft) => TaskStatus::Draft,
            (None, _) => TaskStatus::Active,
            (Some(was), _) => was,
        };
        if !(from.may_become(status) || (was.is_none() && from == status)) {
            return Err(refused(format!(
                "the task `{task}` is {}, and cannot become {}",
                from.word(),
                status.word()
            )));
        }
        // An event has a task of its own, so it is told as one: the record has to be read again.
        let act = Act::of("task_set").with("task", json!({"id": task}));
        let act = act.with("status", status.word()).with("by", by);
        let record = self.administered(act)?;
        let message = format!("the task `{task}` is {} now, says {by}", status.word());
        let mut commit = Commit {
            read: vec![(key.clone(), version)],
            notices: vec![NewNotice {
                to: "orchestrator".to_owned(),
                kind: "task".to_owned(),
                message,
                body: json!({"task": task, "status": status}),
            }],
            ..Commit::new(&record)
        };
        let time = self.now().to_string();
        commit.changes.set(key, json!({"status": status, "by": by, "time": time}));
        self.commit(&commit)
    }

    fn change(
        &self,
        act: Act,
        key: &str,
        value: Option<Value>,
        notices: Vec<NewNotice>,
    ) -> Result<(), EngineError> {
        let (_, version) = self.shared_slice(key)?;
        let record = self.administered(act)?;
        let mut commit = Commit { read: vec![(key.to_owned(), version)], notices, ..Commit::new(&record) };
        match value {
            Some(value) => commit.changes.set(key, value),
            None => commit.changes.remove(key),
        }
        self.commit(&commit)
    }

    /// Shared slices below a key, by what follows it.
    fn shared(&self, prefix: &str) -> Result<Vec<(String, Value)>, EngineError> {
        debug_assert!(prefix.starts_with(SHARED));
        let rows = self.store().load_prefix(NO_SESSION, prefix)?;
        Ok(rows
            .into_iter()
            .map(|(key, value)| (key.get(prefix.len()..).unwrap_or_default().to_owned(), value))
            .collect())
    }

    fn shared_slice(&self, key: &str) -> Result<(Option<Value>, u64), EngineError> {
        let slice = self.store().load(NO_SESSION, &[key])?.into_iter().next().unwrap_or_default();
        Ok((slice.value, slice.version))
    }
}

/// The absolute path of a file with its links followed, as guardrails know it, whether or not there is anything.
fn real(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut known = whole.as_path();
    let mut rest = Vec::new();
    let mut place = loop {
        match (known.canonicalize(), known.parent(), known.components().next_back()) {
            (Ok(found), ..) => break found,
            (Err(_), Some(parent), Some(last)) => {
                rest.push(last);
                known = parent;
            }
            (Err(_), ..) => break known.to_owned(),
        }
    };
    for part in rest.into_iter().rev() {
        match part {
            Component::ParentDir => drop(place.pop()),
            part => place.push(part),
        }
    }
    place.to_string_lossy().into_owned()
}

fn refused(why: String) -> EngineError {
    EngineError::Approval(why)
}

fn not_allowed(why: String) -> EngineError {
    EngineError::NotAllowed(why)
}

fn senseless(why: &str) -> EngineError {
    EngineError::Senseless(why.to_owned())
}
