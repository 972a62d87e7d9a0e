//! A session as a program uses it: events of one agent run, variables, snapshots and guarded tool calls.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use midrail_core::{
    Agent, Decision, Event, EventKind, HALTED, LATE_ANSWERS, SUB_AGENT_PARENTS, Snapshot, Task, ToolCall,
    ToolResult, Usage, state_prefix, variable_key,
};
use serde_json::{Map, Value, json};

use crate::admin::event::AdminEvent;
use crate::decide::DecisionFuture;
use crate::engine::Engine;
use crate::error::{EngineError, EngineResult};
use crate::session_slices::{self, AGENTS, FOLDER, LAST_POLICY, ROOT, load_slice};

/// One session of an engine. Cheap to clone; settings apply to one clone only.
#[derive(Clone)]
pub struct SessionHandle {
    engine: Arc<Engine>,
    id: String,
    /// The fields that events of this session take from it where they are absent.
    template: Event,
}

impl Engine {
    /// A session, to decide events in.
    pub fn session(self: &Arc<Self>, id: impl Into<String>) -> SessionHandle {
        // The name is a key of the store, so secrets in it are replaced.
        let id = self.masked_text(&id.into());
        SessionHandle { engine: self.clone(), id, template: Event::new(EventKind::BeforeTool) }
    }

    /// The ids of the agents that acted in a session; an agent without an id has an empty one. `None`: no agent has.
    pub fn session_agents(&self, session: &str) -> EngineResult<Option<Vec<String>>> {
        Ok(session_slices::session_agents(&**self.store(), &self.masked_text(session))?)
    }
}

impl SessionHandle {
    /// The session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sets the agent that acts.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.template.agent = Some(agent);
        self
    }

    /// Sets the agent's task.
    pub fn task(mut self, task: Task) -> Self {
        self.template.task = Some(task);
        self
    }

    /// Sets the agent's working directory.
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.template.cwd = Some(cwd.into());
        self
    }

    /// Sets the prompt that the agent runs under.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.template.prompt = Some(prompt.into());
        self
    }

    /// Sets all fields that events of this session take from it: its agent and task, and the agent that started a
    /// sub-agent, which shares the session and its state.
    pub fn with_template(mut self, template: Event) -> Self {
        self.template = template;
        self
    }

    /// Sets the usage so far.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.template.usage = Some(usage);
        self
    }

    /// Decides an event of this session. Absent fields of the event are taken from the session.
    pub fn decide(&self, event: Event) -> Decision {
        self.engine.decide(self.complete(event))
    }

    /// Previews the decision about an event of this session. Nothing is recorded. On any error it is a block.
    pub(crate) fn preview(&self, event: Event) -> Decision {
        let previewed = self.engine.preview(self.complete(event));
        previewed.unwrap_or_else(|error| self.engine.block_on_error(&error))
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
        F: FnOnce(Permit<'_>) -> Result<Value, Box<dyn Error + Send + Sync>>,
    {
        let event = self.complete(Event::before_tool(tool, args));
        let (before, permit) = self.ask(&event);
        let Some(permit) = permit else { return Err(CallError::Denied(Box::new(before))) };
        let tool = event.tool.clone().map(|tool| ToolCall { args: permit.args().clone(), ..tool });
        let output = run(permit).map_err(|error| error.to_string());
        let result = match &output {
            Ok(content) => ToolResult::ok(content.clone()),
            Err(message) => ToolResult::failed(message.clone()),
        };
        let after = self.engine.decide(Event {
            kind: EventKind::AfterTool,
            time: None,
            tool,
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
    pub fn set(&self, name: &str, value: impl Into<Value>) -> EngineResult {
        let value = self.engine.masked(value.into());
        let act = AdminEvent::new("variable_set").in_session(&self.id).with("set", json!({name: value}));
        let mut commit = self.engine.admin_commit(act);
        commit.changes.set(variable_key(name), value);
        self.engine.commit(&commit)
    }

    /// A variable of the session.
    pub fn get(&self, name: &str) -> EngineResult<Option<Value>> {
        Ok(load_slice(&**self.engine.store(), &self.id, &variable_key(name))?.value)
    }

    /// The state of a guardrail, by its id: `read/…` for each file that was read (read-before-write), `ok/…` for each tool
    /// that succeeded (required tools).
    pub fn state_of(&self, guardrail: &str) -> EngineResult<BTreeMap<String, Value>> {
        let policy = self.engine.policy();
        let is_per_prompt = policy.get(guardrail).is_some_and(|entry| entry.spec.per_prompt);
        let prefix = state_prefix(guardrail, self.template.prompt.as_deref().filter(|_| is_per_prompt));
        let slices = self.engine.store().load_prefix(&self.id, &prefix)?;
        let name = |key: String| key.get(prefix.len()..).unwrap_or_default().to_owned();
        Ok(slices.into_iter().map(|(key, value)| (name(key), value)).collect())
    }

    /// The whole session as one value.
    pub fn snapshot(&self) -> EngineResult<Snapshot> {
        Ok(Snapshot { session: self.id.clone(), slices: self.engine.store().load_prefix(&self.id, "")? })
    }

    /// Restores a snapshot. Guardrails receive a `restored` event, which is recorded.
    ///
    /// Decisions are not undone: approvals stay used, a halted run stays halted and a held one held, budgets stay spent,
    /// and the session keeps its folder. Shared slices do not change either.
    pub fn restore(&self, snapshot: &Snapshot) -> EngineResult<Decision> {
        self.restore_by(snapshot, None)
    }

    /// Restores a snapshot. The record names the person who asked for it.
    pub fn restore_by(&self, snapshot: &Snapshot, by: Option<&str>) -> EngineResult<Decision> {
        if snapshot.session != self.id {
            return Err(EngineError::WrongSession {
                taken: snapshot.session.clone(),
                given: self.id.clone(),
            });
        }
        let is_kept = |key: &str| {
            [HALTED, LATE_ANSWERS, ROOT, FOLDER, AGENTS, LAST_POLICY, SUB_AGENT_PARENTS].contains(&key)
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
    pub fn complete(&self, mut event: Event) -> Event {
        let Event { agent, task, cwd, prompt, parent, usage, .. } = self.template.clone();
        event.session = Some(self.id.clone());
        event.agent = event.agent.or(agent);
        event.task = event.task.or(task);
        event.cwd = event.cwd.or(cwd);
        event.prompt = event.prompt.or(prompt);
        event.parent = event.parent.or(parent);
        event.usage = event.usage.or(usage);
        event
    }
}

/// A tool call that a decision allowed.
#[derive(Debug)]
pub struct Permit<'a> {
    tool: &'a str,
    args: Cow<'a, Map<String, Value>>,
}

impl<'a> Permit<'a> {
    /// The permit of a decision for its event. `None`: the decision does not allow the call.
    pub(crate) fn new(decision: &Decision, event: &'a Event) -> Option<Self> {
        let tool = event.tool.as_ref()?;
        if event.kind != EventKind::BeforeTool || !decision.effect.allows() {
            return None;
        }
        // Arguments that were changed must be readable: the original ones are not permitted.
        let args = match &decision.content {
            Some(content) => Cow::Owned(serde_json::from_str(content).ok()?),
            None => Cow::Borrowed(&tool.args),
        };
        Some(Permit { tool: &tool.name, args })
    }

    /// The tool.
    pub fn tool(&self) -> &'a str {
        self.tool
    }

    /// The arguments, with secrets replaced where a guardrail requires it.
    pub fn args(&self) -> &Map<String, Value> {
        &self.args
    }

    /// A text argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name)?.as_str()
    }
}

/// Why a guarded call has no result for the agent.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The call did not happen.
    #[error("{}", message(.0))]
    Denied(Box<Decision>),
    /// The call happened, and its result is withheld.
    #[error("{}", message(.0))]
    Withheld(Box<Decision>),
    /// The tool itself failed.
    #[error("{0}")]
    Failed(String),
}

/// The message for the agent: the reason and the advice.
fn message(decision: &Decision) -> String {
    match &decision.advice {
        Some(advice) => format!("{} {advice}", decision.reason),
        None => decision.reason.clone(),
    }
}
