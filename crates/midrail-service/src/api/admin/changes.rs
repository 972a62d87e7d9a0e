//! The changes that the API accepts: the body of each, its checks, and the operation it runs.

use std::path::Path;
use std::time::Duration;

use axum::http::StatusCode;
use midrail::admin::{ApiKey, KeyScope, Lock, TaskStatus};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Identity};
use crate::api::input::check_length;
use crate::problem::{HandlerResult, Problem};
use crate::project::HOME;

/// The longest name or reason, in bytes.
const MAX_TEXT: usize = 4_096;

/// The longest lock, in seconds.
const MAX_LOCK_S: u64 = 86_400;

/// The most roles of one person.
const MAX_ROLES: usize = 32;

/// A change of an administrative resource: the body of a request.
pub(super) trait Change: DeserializeOwned + JsonSchema + Send + 'static {
    /// What the change returns.
    type Output: Serialize + JsonSchema + Send + 'static;
    /// The status of a successful response.
    const STATUS: StatusCode = StatusCode::NO_CONTENT;
    /// What a successful response means.
    const RESULT: &'static str;

    /// Checks the fields.
    fn check(&self) -> HandlerResult<()>;

    /// The agent in whose name the change is made.
    fn agent(&self) -> Option<&str> {
        None
    }

    /// Makes the change.
    fn run(self, caller: &Caller) -> HandlerResult<Self::Output>;
}

/// Checks a path: it has to be absolute, because the service has no working directory of the caller.
fn check_path(path: &str) -> HandlerResult<()> {
    check_length("path", path, MAX_TEXT)?;
    if !Path::new(path).is_absolute() || path.contains('\0') {
        return Err(Problem::invalid("`path` has to be absolute"));
    }
    Ok(())
}

/// Checks that the caller is an administrator of the home project. Keys are valid for all projects, so administrators
/// of other projects may not manage them.
pub(super) fn at_home(caller: &Caller) -> HandlerResult<()> {
    let is_of_home = matches!(caller.identity(), Identity::Person(signed_in) if signed_in.belongs == HOME);
    if is_of_home && caller.project().name() == HOME {
        return Ok(());
    }
    Err(Problem::forbidden("only administrators of the home project may manage keys, in that project")
        .help(format!("send `midrail-project: {HOME}`")))
}

/// A lock to take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockTake")]
pub(super) struct TakeLock {
    /// The absolute path of the file.
    path: String,
    /// The agent that takes the lock.
    agent: String,
    /// The session in which it takes the lock.
    session: String,
    /// How long the lock lasts, in seconds: 1 to 86400.
    #[serde(default = "default_lock_s")]
    lasts_s: u64,
}

fn default_lock_s() -> u64 {
    600
}

impl Change for TakeLock {
    type Output = Lock;
    const STATUS: StatusCode = StatusCode::OK;
    const RESULT: &'static str = "The lock";

    fn check(&self) -> HandlerResult<()> {
        check_path(&self.path)?;
        check_length("agent", &self.agent, MAX_TEXT)?;
        check_length("session", &self.session, MAX_TEXT)?;
        if !(1..=MAX_LOCK_S).contains(&self.lasts_s) {
            return Err(Problem::invalid(format!("`lasts_s` is 1 to {MAX_LOCK_S}")));
        }
        Ok(())
    }

    fn agent(&self) -> Option<&str> {
        Some(&self.agent)
    }

    fn run(self, caller: &Caller) -> HandlerResult<Lock> {
        let duration = Duration::from_secs(self.lasts_s);
        let admin = caller.project().engine().admin();
        Ok(admin.take_lock(Path::new(&self.path), &self.agent, &self.session, duration)?)
    }
}

/// A lock to release.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockRelease")]
pub(super) struct ReleaseLock {
    /// The absolute path of the file.
    path: String,
    /// The agent that holds the lock.
    agent: String,
}

impl Change for ReleaseLock {
    type Output = ();
    const RESULT: &'static str = "The file is not locked any more";

    fn check(&self) -> HandlerResult<()> {
        check_path(&self.path)
    }

    fn agent(&self) -> Option<&str> {
        Some(&self.agent)
    }

    fn run(self, caller: &Caller) -> HandlerResult<()> {
        let (admin, path) = (caller.project().engine().admin(), Path::new(&self.path));
        // The lock is found by the path it was taken with; links are not followed here.
        let is_held = |lock: &Lock| Path::new(&lock.path) == path && lock.actor == self.agent;
        if !admin.locks()?.iter().any(is_held) {
            return Err(Problem::refused(format!("`{}` has not locked this file", self.agent)));
        }
        Ok(admin.release_lock(path, &self.agent)?)
    }
}

/// A lock to break.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockBreak")]
pub(super) struct BreakLock {
    /// The absolute path of the file.
    path: String,
}

impl Change for BreakLock {
    type Output = ();
    const RESULT: &'static str = "The file is not locked any more";

    fn check(&self) -> HandlerResult<()> {
        check_path(&self.path)
    }

    fn run(self, caller: &Caller) -> HandlerResult<()> {
        let by = caller.person()?.name();
        Ok(caller.project().engine().admin().release_lock(Path::new(&self.path), by)?)
    }
}

/// An agent to put in quarantine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentAndReason")]
pub(super) struct QuarantineAgent {
    /// The id of the agent, or `session:ID` if it has none.
    actor: String,
    /// Why it is put in quarantine.
    reason: String,
}

impl Change for QuarantineAgent {
    type Output = ();
    const RESULT: &'static str = "The agent is in quarantine";

    fn check(&self) -> HandlerResult<()> {
        check_length("actor", &self.actor, MAX_TEXT)?;
        check_length("reason", &self.reason, MAX_TEXT)
    }

    fn run(self, caller: &Caller) -> HandlerResult<()> {
        let by = caller.person()?.name();
        Ok(caller.project().engine().admin().quarantine(&self.actor, by, &self.reason)?)
    }
}

/// A quarantine or a halt to lift.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QuarantineLift")]
pub(super) struct LiftQuarantine {
    /// The id of the agent, or `session:ID` if it has none.
    #[serde(default)]
    actor: Option<String>,
    /// The session of the halted run, in place of an agent.
    #[serde(default)]
    run: Option<String>,
    /// Why it is lifted.
    reason: String,
}

impl Change for LiftQuarantine {
    type Output = ();
    const RESULT: &'static str = "The agent or the run may continue";

    fn check(&self) -> HandlerResult<()> {
        check_length("reason", &self.reason, MAX_TEXT)?;
        match (&self.actor, &self.run) {
            (Some(actor), None) => check_length("actor", actor, MAX_TEXT),
            (None, Some(run)) => check_length("run", run, MAX_TEXT),
            _ => Err(Problem::invalid("give either `actor` or `run`")),
        }
    }

    fn run(self, caller: &Caller) -> HandlerResult<()> {
        let (admin, person) = (caller.project().engine().admin(), caller.person()?);
        match (&self.actor, &self.run) {
            (_, Some(run)) => Ok(admin.lift_halt(run, person, &self.reason)?),
            (actor, None) => {
                Ok(admin.lift_quarantine(actor.as_deref().unwrap_or_default(), person, &self.reason)?)
            }
        }
    }
}

/// The status of a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TaskSet")]
pub(super) struct SetTask {
    /// The id of the task.
    task: String,
    /// Its new status.
    status: TaskStatus,
}

impl Change for SetTask {
    type Output = ();
    const RESULT: &'static str = "The status is set";

    fn check(&self) -> HandlerResult<()> {
        check_length("task", &self.task, MAX_TEXT)
    }

    fn run(self, caller: &Caller) -> HandlerResult<()> {
        let by = caller.person()?.name();
        Ok(caller.project().engine().admin().set_task(&self.task, self.status, by)?)
    }
}

/// A key that was created.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MadeKey")]
pub(super) struct CreatedKey {
    /// The key itself. It is returned only once.
    key: String,
    /// The stored key, without its secret.
    about: ApiKey,
}

impl Change for KeyScope {
    type Output = CreatedKey;
    const STATUS: StatusCode = StatusCode::CREATED;
    const RESULT: &'static str = "The key, which is returned only once";

    fn check(&self) -> HandlerResult<()> {
        Ok(())
    }

    fn run(self, caller: &Caller) -> HandlerResult<CreatedKey> {
        at_home(caller)?;
        let admin = caller.project().engine().admin();
        let key = admin.add_api_key(&self, Some(caller.person()?))?;
        let about = admin.api_key(&key)?.ok_or_else(|| Problem::internal("the key was not stored"))?;
        Ok(CreatedKey { key, about })
    }
}

/// An approver to add.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPerson {
    /// The name.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// The roles: `admin`, `viewer`, or roles of the packs.
    #[schemars(length(min = 1, max = 32))]
    roles: Vec<String>,
}

/// An approver who was added.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AddedPerson")]
pub(super) struct NewApprover {
    /// The name.
    name: String,
    /// The roles.
    roles: Vec<String>,
    /// The key to log in with. It is returned only once.
    key: String,
}

impl Change for NewPerson {
    type Output = NewApprover;
    const STATUS: StatusCode = StatusCode::CREATED;
    const RESULT: &'static str = "The approver, with the key to log in with";

    fn check(&self) -> HandlerResult<()> {
        check_length("name", &self.name, 100)?;
        let is_odd =
            |text: &String| text.trim() != text || text.is_empty() || text.chars().any(char::is_control);
        let is_bad_role = |role: &String| is_odd(role) || role.len() > 100;
        if is_odd(&self.name) || self.roles.iter().any(is_bad_role) || self.roles.len() > MAX_ROLES {
            return Err(Problem::invalid("names and roles have at most 100 bytes and no surrounding spaces"));
        }
        Ok(())
    }

    fn run(self, caller: &Caller) -> HandlerResult<NewApprover> {
        let NewPerson { name, roles } = self;
        let key = caller.project().engine().admin().add_approver(&name, &roles, Some(caller.person()?))?;
        Ok(NewApprover { name, roles, key })
    }
}
