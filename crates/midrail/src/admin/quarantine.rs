//! Quarantine: agents that may do nothing, and runs that are halted, until a supervisor lifts it.

use midrail_core::{HALTED, HOLDS, STRIKES, approval_key, quarantine_key};
use midrail_guardrails::label;
use midrail_store::{Commit, Slice};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::admin::event::{AdminEvent, Person, notice};
use crate::admin::handle::{Admin, Cell, Column, Resource};
use crate::error::{EngineError, EngineResult};
use crate::session_slices::load_slice;

/// An agent in quarantine: all its calls are blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Quarantined")]
pub struct QuarantinedAgent {
    /// The agent's id, or `session:ID` if it has none.
    pub actor: String,
    /// Why it is in quarantine.
    pub reason: String,
    /// When the quarantine started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl Resource for QuarantinedAgent {
    const TITLE: &'static str = "Quarantined agents";
    const EMPTY: &'static str = "No agent is in quarantine.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("agent", 48, |agent| Cell::Text(agent.actor.clone())),
        Column::new("since", 20, |agent| Cell::stored_time(agent.since.as_deref())),
        Column::new("reason", 200, |agent| Cell::Text(agent.reason.clone())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        let agent = |(actor, held): (String, Value)| {
            let since = held.get("since").and_then(Value::as_str).map(str::to_owned);
            QuarantinedAgent { actor, reason: text(&held, "reason"), since }
        };
        Ok(admin.slices(&quarantine_key(""))?.into_iter().map(agent).collect())
    }

    fn agent(&self) -> Option<&str> {
        Some(&self.actor)
    }
}

/// A run that does not continue until a person lifts the halt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Halted")]
pub struct HaltedRun {
    /// The session of the run.
    pub session: String,
    /// The guardrail that halted it.
    pub by: String,
    /// Why it was halted.
    pub reason: String,
    /// The run was not halted: a person denied a request that it depends on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

impl Resource for HaltedRun {
    const TITLE: &'static str = "Halted runs";
    const EMPTY: &'static str = "No run is halted.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("halted run", 48, |run| Cell::Text(run.session.clone())),
        Column::new("by", 40, |run| {
            Cell::Text(format!("{}{}", label(&run.by), if run.denied { ", denied" } else { "" }))
        }),
        Column::new("reason", 200, |run| Cell::Text(run.reason.clone())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        let mut runs = Vec::new();
        for info in admin.engine.store().sessions()? {
            let state = admin.run_state(&info.session)?;
            let (row, denied) = match (&state.halted.value, state.denied.first()) {
                (Some(halted), _) => (halted, false),
                (None, Some(held)) => (held, true),
                (None, None) => continue,
            };
            let by = text(row, if denied { "guardrail" } else { "by" });
            runs.push(HaltedRun { session: info.session, by, reason: text(row, "reason"), denied });
        }
        Ok(runs)
    }
}

impl Admin<'_> {
    /// Puts an agent in quarantine.
    pub fn quarantine(&self, actor: &str, by: &str, reason: &str) -> EngineResult {
        if actor.is_empty() {
            return Err(EngineError::invalid("the name of an agent cannot be empty"));
        }
        let key = quarantine_key(actor);
        if let Some(held) = self.slice(&key)?.0 {
            let reason = text(&held, "reason");
            return Err(EngineError::conflict(format!("`{actor}` is already in quarantine: {reason}")));
        }
        let reason = &*self.engine.masked_text(reason.trim());
        let event = AdminEvent::new("quarantined").with("actor", actor).with("by", by).with("reason", reason);
        let value = json!({"reason": reason, "since": self.engine.now().to_string(), "by": by});
        let message = format!("{by} put `{actor}` in quarantine: {reason}");
        let notice = notice("human_operator", "quarantine", message, json!({"actor": actor, "by": by}));
        self.change(event, &key, Some(value), vec![notice])
    }

    /// Ends the quarantine of an agent. Only a supervisor or a human operator may do so.
    pub fn lift_quarantine(&self, actor: &str, by: &Person, reason: &str) -> EngineResult {
        let key = quarantine_key(actor);
        if self.slice(&key)?.0.is_none() {
            return Err(EngineError::conflict(format!("`{actor}` is not in quarantine")));
        }
        self.check_supervisor(by, actor, "quarantine")?;
        let (by, reason) = (by.name(), &*self.engine.masked_text(reason.trim()));
        let event =
            AdminEvent::new("quarantine_lifted").with("actor", actor).with("by", by).with("reason", reason);
        let message = format!("{by} lifted the quarantine of `{actor}`: {reason}");
        let notice = notice("orchestrator", "quarantine", message, json!({"actor": actor, "by": by}));
        self.change(event, &key, None, vec![notice])
    }

    /// Lets a halted run continue, without strikes. Only a supervisor or a human operator may do so.
    pub fn lift_halt(&self, session: &str, by: &Person, reason: &str) -> EngineResult {
        let RunState { halted, strikes, held_version, denied, open } = self.run_state(session)?;
        if halted.value.is_none() && denied.is_empty() {
            return Err(EngineError::conflict(format!("the run `{session}` is not halted")));
        }
        self.check_supervisor(by, session, "halt")?;
        let (by, reason) = (by.name(), &*self.engine.masked_text(reason.trim()));
        let event = AdminEvent::new("halt_lifted").in_session(session).with("by", by).with("reason", reason);
        let read = [(HALTED, halted.version), (STRIKES, strikes.version), (HOLDS, held_version)];
        let read = read.map(|(key, version)| (key.to_owned(), version)).to_vec();
        let mut commit = Commit { read, ..self.engine.admin_commit(event) };
        commit.changes.remove(HALTED);
        if strikes.value.is_some() {
            commit.changes.remove(STRIKES);
        }
        // Requests without an answer still wait for one.
        match (denied.is_empty(), open.is_empty()) {
            (true, _) => {}
            (false, true) => commit.changes.remove(HOLDS),
            (false, false) => commit.changes.set(HOLDS, open),
        }
        let message = format!("{by} lifted the halt of the run `{session}`: {reason}");
        commit.notices.push(notice("orchestrator", "halt", message, json!({"session": session, "by": by})));
        self.engine.commit(&commit)
    }

    /// Checks that a person may lift a quarantine or a halt that is not their own.
    fn check_supervisor(&self, by: &Person, subject: &str, what: &str) -> EngineResult {
        if by.name() == subject {
            return Err(EngineError::not_allowed(format!("`{subject}` cannot lift its own {what}")));
        }
        let policy = self.engine.policy();
        let authorities = policy.authorities();
        if by.has_role(authorities.supervisors.iter().chain(&authorities.humans)) {
            return Ok(());
        }
        let (name, roles) = (by.name(), by.roles().join(", "));
        Err(EngineError::not_allowed(format!("`{name}` has the role {roles}, and cannot lift a {what}")))
    }

    fn run_state(&self, session: &str) -> EngineResult<RunState> {
        let store = self.engine.store();
        let mut slices = store.load(session, &[HALTED, STRIKES, HOLDS])?.into_iter();
        let mut next = || slices.next().unwrap_or_default();
        let (halted, strikes, held) = (next(), next(), next());
        let (mut denied, mut open) = (Vec::new(), Vec::new());
        for row in held.value.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let key = approval_key(&text(row, "guardrail"), &text(row, "action"));
            let answer = load_slice(&**store, session, &key)?;
            let is_denied = answer.value.is_some_and(|answer| text(&answer, "state") == "denied");
            if is_denied { denied.push(row.clone()) } else { open.push(row.clone()) }
        }
        Ok(RunState { halted, strikes, held_version: held.version, denied, open })
    }
}

/// What keeps a run from continuing, as the store holds it.
struct RunState {
    halted: Slice,
    strikes: Slice,
    held_version: u64,
    /// Requests that hold the run and were denied.
    denied: Vec<Value>,
    /// Requests that hold the run and have no answer.
    open: Vec<Value>,
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
