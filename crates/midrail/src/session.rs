//! A session as a program uses it: events of one agent run, variables, snapshots and guarded tool calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{
    Agent, Decision, Event, EventKind, HALTED, LATE_ANSWERS, SUB_AGENT_PARENTS, Snapshot, Task, ToolResult,
    Usage, state_prefix, variable_key,
};
use midrail_scan::secrets::{self, Mask};
use midrail_store::Commit;
use serde_json::{Value, json};

use crate::admin::event::AdminEvent;
use crate::decision_future::DecisionFuture;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::permit::{CallError, Permit};
use crate::session_slices::{LAST_POLICY, ROOT};

/// One session of an engine. Cheap to clone; settings apply to one clone only.
#[derive(Clone)]
pub struct SessionHandle {
    engine: Arc<Engine>,
    id: String,
    agent: Option<Agent>,
    task: Option<Task>,
    cwd: Option<String>,
    prompt: Option<String>,
    parent: Option<String>,
    usage: Option<Usage>,
}

impl Engine {
    /// A session, to decide events in.
    pub fn session(self: &Arc<Self>, id: impl Into<String>) -> SessionHandle {
        // The name is a key of the store, so secrets in it are replaced.
        let value = Value::String(id.into());
        let findings = secrets::scan_json(&value, self.fingerprint_key());
        let id = match Mask::new(&value, &findings).value(value) {
            Value::String(id) => id,
            other => other.to_string(),
        };
        SessionHandle {
            engine: self.clone(),
            id,
            agent: None,
            task: None,
            cwd: None,
            prompt: None,
            parent: None,
            usage: None,
        }
    }
}

impl SessionHandle {
    /// The session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sets the agent that acts.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Sets the agent's task.
    pub fn task(mut self, task: Task) -> Self {
        self.task = Some(task);
        self
    }

    /// Sets the agent's working directory.
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets the prompt that the agent runs under.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// Sets the agent that started this sub-agent. A sub-agent shares the session and its state.
    pub fn sub_agent(mut self, parent: impl Into<String>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// Sets the usage so far.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Decides an event of this session. Absent fields of the event are taken from the session.
    pub fn decide(&self, event: Event) -> Decision {
        self.engine.decide(self.complete(event))
    }

    /// Decides an event without blocking the caller's thread.
    pub fn decide_async(&self, event: Event) -> DecisionFuture {
        DecisionFuture::start(self.engine.clone(), self.complete(event))
    }

    /// Decides whether a tool may be called.
    pub fn check(&self, tool: &str, args: Value) -> Decision {
        self.decide(Event::before_tool(tool, args))
    }

    /// Decides a call, and returns a permit if the call is allowed.
    pub fn ask<'e>(&self, event: &'e Event) -> (Decision, Option<Permit<'e>>) {
        let decision = self.decide(event.clone());
        let permit = Permit::new(&decision, event);
        (decision, permit)
    }

    /// Reports the result of a call.
    pub fn notify_result(&self, tool: &str, args: Value, result: ToolResult) -> Decision {
        self.decide(Event::after_tool(tool, args, result))
    }

    /// Calls a tool under guard: decides the call, runs it with a [`Permit`], and decides its result. Returns what the agent
    /// may see: the result of the tool, with secrets replaced.
    pub fn call<F>(&self, tool: &str, args: Value, run: F) -> Result<Value, CallError>
    where
        F: FnOnce(Permit<'_>) -> Result<Value, String>,
    {
        let event = self.complete(Event::before_tool(tool, args));
        let (before, permit) = self.ask(&event);
        let Some(permit) = permit else { return Err(CallError::Denied(Box::new(before))) };
        let output = run(permit);
        let result = match &output {
            Ok(content) => ToolResult::ok(content.clone()),
            Err(message) => ToolResult::failed(message.clone()),
        };
        let after = self.engine.decide(Event {
            kind: EventKind::AfterTool,
            time: None,
            result: Some(result),
            ..event
        });
        if !after.effect.allows() {
            return Err(CallError::Withheld(Box::new(after)));
        }
        match (output, after.content) {
            (Ok(Value::Object(_) | Value::Array(_)), Some(text)) => {
                Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
            }
            (Ok(_), Some(text)) => Ok(Value::String(text)),
            (Ok(content), None) => Ok(content),
            (Err(_), Some(text)) => Err(CallError::Failed(text)),
            (Err(message), None) => Err(CallError::Failed(message)),
        }
    }

    /// Sets a variable of the session, which expressions read as `session.NAME`.
    pub fn set(&self, name: &str, value: impl Into<Value>) -> Result<(), EngineError> {
        let value = value.into();
        let key = self.engine.fingerprint_key();
        let value = Mask::new(&value, &secrets::scan_json(&value, key)).value(value);
        let act = AdminEvent::new("variable_set").in_session(&self.id).with("set", json!({name: value}));
        let record = self.engine.admin_record(act);
        let mut commit = Commit::new(&record);
        commit.changes.set(variable_key(name), value);
        self.engine.store().commit(&commit)?;
        Ok(())
    }

    /// A variable of the session.
    pub fn get(&self, name: &str) -> Result<Option<Value>, EngineError> {
        let slices = self.engine.store().load(&self.id, &[&variable_key(name)])?;
        Ok(slices.into_iter().next().and_then(|slice| slice.value))
    }

    /// The state of a guardrail, by its id: `read/…` for each file that was read (read-before-write), `ok/…` for each tool
    /// that succeeded (required tools).
    pub fn state_of(&self, guardrail: &str) -> Result<BTreeMap<String, Value>, EngineError> {
        let policy = self.engine.policy();
        let is_per_prompt = policy.get(guardrail).is_some_and(|entry| entry.spec.per_prompt);
        let prefix = state_prefix(guardrail, self.prompt.as_deref().filter(|_| is_per_prompt));
        let slices = self.engine.store().load_prefix(&self.id, &prefix)?;
        let name = |key: String| key.get(prefix.len()..).unwrap_or_default().to_owned();
        Ok(slices.into_iter().map(|(key, value)| (name(key), value)).collect())
    }

    /// The whole session as one value.
    pub fn snapshot(&self) -> Result<Snapshot, EngineError> {
        Ok(Snapshot { session: self.id.clone(), slices: self.engine.store().load_prefix(&self.id, "")? })
    }

    /// Restores a snapshot. Guardrails receive a `restored` event, which is recorded.
    ///
    /// Decisions are not undone: approvals stay used, a halted run stays halted and a held one held, budgets stay spent,
    /// and the session keeps its folder. Shared slices do not change either.
    pub fn restore(&self, snapshot: &Snapshot) -> Result<Decision, EngineError> {
        self.restore_by(snapshot, None)
    }

    /// Restores a snapshot on behalf of a person, whom the record names.
    pub fn restore_for(&self, snapshot: &Snapshot, by: &str) -> Result<Decision, EngineError> {
        self.restore_by(snapshot, Some(by))
    }

    fn restore_by(&self, snapshot: &Snapshot, by: Option<&str>) -> Result<Decision, EngineError> {
        if snapshot.session != self.id {
            return Err(EngineError::WrongSession {
                taken: snapshot.session.clone(),
                given: self.id.clone(),
            });
        }
        let is_kept = |key: &str| {
            [HALTED, LATE_ANSWERS, ROOT, LAST_POLICY, SUB_AGENT_PARENTS].contains(&key)
                || ["approval/", "denied/", "late/", "spent/", "stream/"]
                    .iter()
                    .any(|prefix| key.starts_with(prefix))
        };
        let now = self.engine.store().load_prefix(&self.id, "")?;
        let kept = now.into_iter().filter(|(key, _)| is_kept(key));
        let old = snapshot.slices.clone().into_iter().filter(|(key, _)| !is_kept(key));
        let mut event = self.complete(Event::new(EventKind::Restored));
        event.extra.extend(by.map(|by| ("by".to_owned(), by.into())));
        self.engine.decide_with(event, Some(old.chain(kept).collect()), None)
    }

    /// An event with its absent fields taken from the session.
    fn complete(&self, mut event: Event) -> Event {
        event.session = Some(self.id.clone());
        event.agent = event.agent.or_else(|| self.agent.clone());
        event.task = event.task.or_else(|| self.task.clone());
        event.cwd = event.cwd.or_else(|| self.cwd.clone());
        event.prompt = event.prompt.or_else(|| self.prompt.clone());
        event.parent = event.parent.or_else(|| self.parent.clone());
        event.usage = event.usage.or_else(|| self.usage.clone());
        event
    }
}
