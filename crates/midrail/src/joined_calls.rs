//! One decision about a call of an MCP tool that two adapters see: the hook of a host, and the proxy in front of the server.
//! The second one adopts the decision of the first, so that a call has one record, one strike and one approval.

use jiff::Timestamp;
use midrail_core::{Agent, AuditRef, Changes, Decision, Effect, Event, EventKind, Record, Suppressed};
use midrail_scan::secrets;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::error::EngineResult;
use crate::idempotency::{day_before, day_prefix};

/// The prefix of the slices of calls. They are shared, because the adapters have sessions of their own.
const PREFIX: &str = "shared/calls";

/// The expired calls that are removed with each call.
const REMOVED: usize = 2;

/// The guardrail that reads the server, which only the proxy knows.
const OF_SERVERS: &str = "mcp-definitions";

/// The adapter that an event comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Hook,
    Proxy,
}

/// What the first adapter leaves for the second one.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Mark {
    side: Side,
    /// A keyed fingerprint of tool and arguments.
    digest: String,
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Agent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// Whether the result of the call is decided. The decision about the call is used up then.
    is_over: bool,
}

/// A call with an id that both adapters know.
pub(crate) struct JoinedCall {
    side: Side,
    /// The slice of the call if it is made today, and if it was made yesterday.
    slices: [String; 2],
    expired: Vec<String>,
}

/// What is known about a call from the other adapter.
pub(crate) enum Joined {
    /// The other adapter's decision holds, if what that adapter could not check is allowed.
    Decided {
        /// The decision.
        decision: Box<Decision>,
        /// The guardrail that only this adapter can evaluate.
        unchecked: Option<&'static str>,
        /// The call, if it has to be decided nevertheless.
        call: JoinedCall,
    },
    /// The call has to be decided, and leaves a mark.
    Open(JoinedCall),
}

impl JoinedCall {
    /// Whether an event belongs to a call that two adapters may see.
    pub(crate) fn is_joinable(event: &Event) -> bool {
        matches!(event.kind, EventKind::BeforeTool | EventKind::AfterTool)
            && event
                .tool
                .as_ref()
                .is_some_and(|tool| tool.name.starts_with("mcp__") && tool.call_id.is_some())
    }

    fn new(engine: &Engine, event: &Event) -> EngineResult<Option<Self>> {
        let Some(id) = event.tool.as_ref().and_then(|tool| tool.call_id.as_deref()) else { return Ok(None) };
        if !Self::is_joinable(event) || id.is_empty() {
            return Ok(None);
        }
        let side = if event.server.is_some() { Side::Proxy } else { Side::Hook };
        let now = engine.now();
        let id = secrets::fingerprint(id, &engine.fingerprint_key);
        let slices = [now, day_before(now)].map(|day| slice_of(day, &id));
        let expired = engine.store().shared_keys(PREFIX, &day_prefix(PREFIX, day_before(now)), REMOVED)?;
        Ok(Some(JoinedCall { side, slices, expired }))
    }

    /// Looks for the mark of the other adapter. An event that is decided after it belongs to the session of the first.
    pub(crate) fn find(engine: &Engine, event: &mut Event) -> EngineResult<Option<Joined>> {
        let Some(call) = Self::new(engine, event)? else { return Ok(None) };
        let [today, yesterday] = &call.slices;
        let session = event.session.clone().unwrap_or_default();
        let slices = engine.store().load(&session, &[today, yesterday])?;
        let marked = slices.into_iter().find_map(|slice| Some((slice.value?, slice.version)));
        let Some((mark, version)) = marked else { return Ok(Some(Joined::Open(call))) };
        let mark: Mark = serde_json::from_value(mark)?;
        let is_same = event
            .tool
            .as_ref()
            .is_some_and(|tool| mark.digest == digest(&tool.name, &tool.args, &engine.fingerprint_key));
        let is_result = event.kind == EventKind::AfterTool;
        if !is_same || mark.is_over && !is_result {
            return Ok(Some(Joined::Open(call)));
        }
        if call.side == Side::Proxy {
            event.session = Some(mark.session);
            event.agent = mark.agent.or(event.agent.take());
            event.parent = mark.parent.or(event.parent.take());
            event.prompt = mark.prompt.or(event.prompt.take());
        }
        // INVARIANT: the proxy forwards no result that it has not decided itself.
        let is_open = is_result && (!mark.is_over || call.side == Side::Proxy);
        if mark.side == call.side || is_open {
            return Ok(Some(Joined::Open(call)));
        }
        // The version of a slice is the number of the record that wrote it.
        let Some(entry) = engine.store().entry(version)? else { return Ok(Some(Joined::Open(call))) };
        let record: Record = serde_json::from_str(&entry.body)?;
        let place = AuditRef { seq: entry.seq, hash: entry.hash };
        let Some(decision) = adopted(&record, place, call.side) else { return Ok(Some(Joined::Open(call))) };
        let unchecked = (!is_result && call.side == Side::Proxy).then_some(OF_SERVERS);
        Ok(Some(Joined::Decided { decision: Box::new(decision), unchecked, call }))
    }

    /// Adds the mark to the commit of a decision.
    pub(crate) fn write(&self, engine: &Engine, record: &Record, event: &Event, changes: &mut Changes) {
        let Some(tool) = &event.tool else { return };
        // The host makes the call as guardrails changed it.
        let changed = record.decision.content.as_deref().filter(|_| event.kind == EventKind::BeforeTool);
        let changed: Option<Map<String, Value>> = changed.and_then(|args| serde_json::from_str(args).ok());
        let args = changed.as_ref().unwrap_or(&tool.args);
        let mark = Mark {
            side: self.side,
            digest: digest(&tool.name, args, &engine.fingerprint_key),
            session: record.session.clone(),
            agent: record.event.agent.clone(),
            parent: record.event.parent.clone(),
            prompt: record.event.prompt.clone(),
            is_over: event.kind == EventKind::AfterTool,
        };
        if let Ok(mark) = serde_json::to_value(mark) {
            let [today, _] = &self.slices;
            changes.set(&**today, mark);
        }
        for key in &self.expired {
            changes.remove(&**key);
        }
    }
}

/// The decision for the second adapter. The first one has delivered notes and changes. `None`: it is not final.
fn adopted(record: &Record, place: AuditRef, by: Side) -> Option<Decision> {
    let first = &record.decision;
    let audit = Suppressed(Some(place));
    let is_result = record.event.kind == EventKind::AfterTool;
    let was_asked = record.event.host.as_ref().is_some_and(|host| host.asks_user) && first.approval.is_none();
    match first.effect {
        Effect::Halt => Some(Decision { audit, content: None, ..first.clone() }),
        Effect::Block | Effect::Retry if !is_result => {
            Some(Decision { audit, content: None, ..first.clone() })
        }
        // The host has asked its user, and makes the call only with a yes.
        Effect::Escalate if !is_result && !was_asked => None,
        // Only the hook knows what happened in its session.
        _ if !is_result && by == Side::Hook => None,
        _ => Some(Decision { audit, policy: first.policy.clone(), ..Decision::default() }),
    }
}

fn slice_of(day: Timestamp, id: &str) -> String {
    format!("{}{id}", day_prefix(PREFIX, day))
}

/// Hosts and the proxy spell some characters of a name in different ways.
fn digest(name: &str, args: &Map<String, Value>, key: &[u8]) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    secrets::fingerprint(&serde_json::json!([name, args]).to_string(), key)
}
