//! One record as the log shows it.

use jiff::Timestamp;
use midrail::core::Record;
use midrail::store::AuditEntry;
use midrail::{Agent, Decision, Effect, Event, EventKind};
use serde_json::{Value, json};

use crate::error::without_nulls;

/// An entry of the log.
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) time: Timestamp,
    pub(super) session: String,
    pub(super) event: Event,
    pub(super) decision: Decision,
    /// How the call ended, if it is known.
    pub(super) outcome: Option<CallOutcome>,
    /// Whether it is shown with the call that it is the result of.
    pub(super) is_joined: bool,
}

/// How a call ended.
pub(super) struct CallOutcome {
    pub(super) ok: Option<bool>,
    pub(super) exit_code: Option<i64>,
    /// The duration in seconds, if it is known.
    pub(super) seconds: Option<f64>,
}

impl Entry {
    /// The entry of a record. An unreadable record is shown by its labels.
    pub(super) fn new(entry: &AuditEntry) -> Self {
        let (event, decision) = match entry.record() {
            Ok(Record { event, decision, .. }) => (event, decision),
            Err(_) => {
                let effect = entry.labels.effect.parse().unwrap_or(Effect::Block);
                let reason = "this record cannot be read; run `midrail audit verify`".to_owned();
                let kind = entry.labels.kind.parse().unwrap_or(EventKind::BeforeTool);
                (Event::new(kind), Decision { effect, reason, ..Decision::default() })
            }
        };
        let mut shown = Entry {
            seq: entry.seq,
            // The time of the event, if the host sends it; else of the decision.
            time: event.time.unwrap_or(entry.labels.time),
            session: entry.labels.session.clone(),
            event,
            decision,
            outcome: None,
            is_joined: false,
        };
        shown.outcome = shown.own_outcome(None);
        shown
    }

    /// The agent's id or role.
    pub(super) fn agent<'e>(&'e self, field: fn(&'e Agent) -> &'e Option<String>) -> Option<&'e str> {
        self.event.agent.as_ref().and_then(|agent| field(agent).as_deref()).filter(|text| !text.is_empty())
    }

    pub(super) fn host(&self) -> Option<&str> {
        self.event.host.as_ref().map(|host| host.name.as_str())
    }

    /// The call that it starts.
    pub(super) fn call(&self) -> Option<String> {
        (self.event.kind == EventKind::BeforeTool).then(|| self.call_key())
    }

    /// The call that it is the result of.
    pub(super) fn result_of(&self) -> Option<String> {
        (self.event.kind == EventKind::AfterTool).then(|| self.call_key())
    }

    /// Identifies a call by its id, or else by its tool and arguments.
    fn call_key(&self) -> String {
        match self.event.call_id() {
            Some(id) => format!("{}\n{id}", self.session),
            None => {
                let args = self.event.tool.as_ref().map(|tool| json!(tool.args).to_string());
                let tool = self.event.tool_name().unwrap_or_default();
                format!("{}\n\n{tool}\n{}", self.session, args.unwrap_or_default())
            }
        }
    }

    /// Whether there is nothing to show but how the call ended.
    pub(super) fn is_quiet(&self) -> bool {
        let decision = &self.decision;
        decision.effect == Effect::Allow
            && decision.would.is_none()
            && decision.feedback.is_empty()
            && decision.content.is_none()
            && decision.notices.is_empty()
    }

    /// How the call ended that this is the result of, and its duration since it started.
    pub(super) fn own_outcome(&self, started: Option<Timestamp>) -> Option<CallOutcome> {
        let result = self.event.result.as_ref()?;
        let since = started.map(|started| self.time.duration_since(started).as_secs_f64());
        let reported = result.extra.get("duration_ms").and_then(Value::as_f64).map(|millis| millis / 1e3);
        let seconds = reported.or(since.filter(|seconds| *seconds >= 0.0));
        Some(CallOutcome { ok: result.ok, exit_code: result.exit_code, seconds })
    }

    /// The entry for programs.
    pub(super) fn json(&self, what: &str) -> Value {
        let (event, decision) = (&self.event, &self.decision);
        let outcome = self
            .outcome
            .as_ref()
            .map(|it| without_nulls(json!({"ok": it.ok, "exit_code": it.exit_code, "seconds": it.seconds})));
        without_nulls(json!({
            "seq": self.seq, "time": self.time, "session": self.session, "host": self.host(),
            "agent": self.agent(|agent| &agent.id), "parent": event.parent, "kind": event.kind,
            "tool": event.tool_name(), "what": what, "effect": decision.effect, "would": decision.would,
            "by": decision.by, "reason": Some(&decision.reason).filter(|it| !it.is_empty()),
            "advice": decision.advice, "content": decision.content, "retry": decision.retry,
            "feedback": (!decision.feedback.is_empty()).then_some(&decision.feedback),
            "approval": decision.approval, "answered": event.extra.get("approval"), "paused": decision.paused,
            "user_message": decision.user_message, "outcome": outcome,
            "vouched": decision.vouched.then_some(true), "grounds": decision.grounds,
        }))
    }
}
