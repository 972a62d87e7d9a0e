//! A session in the hands of a program: events of one agent run, its variables, snapshots, and guarded tool calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{
    Agent, Decision, Event, EventKind, HALTED, LATE, STARTED, Snapshot, Task, ToolResult, Usage,
    state_prefix, variable_key,
};
use midrail_detect::secrets::{self, Mask};
use midrail_store::Commit;
use serde_json::{Value, json};

use crate::administer::Act;
use crate::asynchronous::Deciding;
use crate::engine::{Engine, EngineError};
use crate::kept::POLICY;
use crate::permit::{CallError, Permit};
use crate::stream::{Stream, StreamOptions};
use crate::walk::ROOT;

/// One session of an engine. Cheap to clone; what is set on a clone holds for that clone.
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

impl SessionHandle {
    pub(crate) fn new(engine: Arc<Engine>, id: String) -> Self {
        // A session is kept under its name, so nothing secret may be in it.
        let value = Value::String(id);
        let findings = secrets::scan_json(&value, engine.fingerprint_key());
        let id = match Mask::of(&value, &findings).value(value) {
            Value::String(id) => id,
            other => other.to_string(),
        };
        SessionHandle {
            engine,
            id,
            agent: None,
            task: None,
            cwd: None,
            prompt: None,
            parent: None,
            usage: None,
        }
    }

    /// The session's name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who acts.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.agent = Some(agent);
        self
    }

    /// What the agent was asked to do.
    pub fn task(mut self, task: Task) -> Self {
        self.task = Some(task);
        self
    }

    /// The folder that the agent works in.
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// The prompt that the agent runs under.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// Who started this sub-agent. It shares the session, and with it all that was read and done.
    pub fn sub_agent(mut self, parent: impl Into<String>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// What has been used up so far.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Decides an event of this session. What the event does not say is filled in from the session.
    pub fn decide(&self, event: Event) -> Decision {
        self.engine.decide(self.filled(event))
    }

    /// The same, without blocking the caller's thread.
    pub fn decide_async(&self, event: Event) -> Deciding {
        Deciding::start(self.engine.clone(), self.filled(event))
    }

    /// A stream of text from the model: chunks go in, and what may pass on comes out.
    pub fn stream(&self, options: StreamOptions) -> Stream {
        Stream::new(self.clone(), options)
    }

    /// Asks whether a tool may be called.
    pub fn check(&self, tool: &str, args: Value) -> Decision {
        self.decide(Event::before_tool(tool, args))
    }

    /// Decides a call, and gives the permit to make it if it may be made.
    pub fn ask<'e>(&self, event: &'e Event) -> (Decision, Option<Permit<'e>>) {
        let decision = self.decide(event.clone());
        let permit = Permit::of(&decision, event);
        (decision, permit)
    }

    /// Tells what came of a call.
    pub fn notify_result(&self, tool: &str, args: Value, result: ToolResult) -> Decision {
        self.decide(Event::after_tool(tool, args, result))
    }

    /// Calls a tool under guard: asked before, run with a [`Permit`], told afterwards. What comes back is what the
    /// agent may see: the tool's answer, with secrets replaced.
    pub fn call<F>(&self, tool: &str, args: Value, run: F) -> Result<Value, CallError>
    where
        F: FnOnce(Permit<'_>) -> Result<Value, String>,
    {
        let event = self.filled(Event::before_tool(tool, args));
        let (before, permit) = self.ask(&event);
        let Some(permit) = permit else { return Err(CallError::Denied(Box::new(before))) };
        let outcome = run(permit);
        let result = match &outcome {
            Ok(content) => ToolResult::ok(content.clone()),
            Err(message) => ToolResult::failed(message.clone()),
        };
        let after = self.engine.decide(Event {
            kind: EventKind::AfterTool,
            time: None,
            result: Some(result),
            ..event
        });
        if !after.effect.goes_on() {
            return Err(CallError::Withheld(Box::new(after)));
        }
        match (outcome, after.content) {
            (Ok(Value::Object(_) | Value::Array(_)), Some(text)) => {
                Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
            }
            (Ok(_), Some(text)) => Ok(Value::String(text)),
            (Ok(content), None) => Ok(content),
            (Err(_), Some(text)) => Err(CallError::Failed(text)),
            (Err(message), None) => Err(CallError::Failed(message)),
        }
    }

    /// Sets a variable of the session, which expressions know as `session.NAME`.
    pub fn set(&self, name: &str, value: impl Into<Value>) -> Result<(), EngineError> {
        let value = value.into();
        let key = self.engine.fingerprint_key();
        let value = Mask::of(&value, &secrets::scan_json(&value, key)).value(value);
        let act = Act::of("variable_set").in_session(&self.id).with("set", json!({name: value}));
        let record = self.engine.administered(act)?;
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

    /// The state of one guardrail, by its id: for read-before-write `read/…` for each file that was read, for
    /// required tools `ok/…` for each that succeeded.
    pub fn state_of(&self, guardrail: &str) -> Result<BTreeMap<String, Value>, EngineError> {
        let prefix =
            state_prefix(guardrail, self.prompt.as_deref().filter(|_| self.is_per_prompt(guardrail)));
        let slices = self.engine.store().load_prefix(&self.id, &prefix)?;
        Ok(slices
            .into_iter()
            .map(|(key, value)| (key.get(prefix.len()..).unwrap_or_default().to_owned(), value))
            .collect())
    }

    fn is_per_prompt(&self, guardrail: &str) -> bool {
        self.engine.policy().get(guardrail).is_some_and(|entry| entry.spec.per_prompt)
    }

    /// The whole session as one value.
    pub fn snapshot(&self) -> Result<Snapshot, EngineError> {
        Ok(Snapshot { session: self.id.clone(), slices: self.engine.store().load_prefix(&self.id, "")? })
    }

    /// Puts a snapshot back. Guardrails are told by an event `restored`, which is recorded.
    ///
    /// What people and the law decided is not undone: approvals stay used, a halted run stays halted and a held one held, budgets stay
    /// spent, and the session keeps its folder. Nor is what belongs to all sessions.
    pub fn restore(&self, snapshot: &Snapshot) -> Result<Decision, EngineError> {
        self.put_back(snapshot, None)
    }

    /// The same for somebody, whom the record names.
    pub fn restore_for(&self, snapshot: &Snapshot, by: &str) -> Result<Decision, EngineError> {
        self.put_back(snapshot, Some(by))
    }

    fn put_back(&self, snapshot: &Snapshot, by: Option<&str>) -> Result<Decision, EngineError> {
        if snapshot.session != self.id {
            return Err(EngineError::OtherSession {
                taken: snapshot.session.clone(),
                given: self.id.clone(),
            });
        }
        let stays = |key: &str| {
            let is_of = |kind: &&str| key.starts_with(*kind);
            [HALTED, LATE, ROOT, POLICY, STARTED].contains(&key)
                || ["approval/", "denied/", "late/", "spent/", "stream/"].iter().any(is_of)
        };
        let now = self.engine.store().load_prefix(&self.id, "")?;
        let kept = now.into_iter().filter(|(key, _)| stays(key));
        let old = snapshot.slices.clone().into_iter().filter(|(key, _)| !stays(key));
        let mut event = self.filled(Event::new(EventKind::Restored));
        event.extra.extend(by.map(|by| ("by".to_owned(), by.into())));
        self.engine.decide_with(event, Some(old.chain(kept).collect()), None)
    }

    fn filled(&self, mut event: Event) -> Event {
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
