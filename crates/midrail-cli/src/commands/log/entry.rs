//! One record, as far as people want to see it.

use jiff::Timestamp;
use midrail::store::AuditEntry;
use midrail::{Decision, Effect};
use serde_json::{Value, json};

use crate::error::without_nulls;

/// What happened at a moment.
pub(super) struct Moment {
    pub(super) seq: u64,
    pub(super) time: Timestamp,
    pub(super) session: String,
    pub(super) kind: String,
    pub(super) decision: Decision,
    /// How the call ended, where that is known.
    pub(super) outcome: Option<Outcome>,
    /// It is told with the call that it is the result of.
    pub(super) is_joined: bool,
    record: Value,
}

/// How a call ended.
pub(super) struct Outcome {
    pub(super) ok: Option<bool>,
    pub(super) exit_code: Option<i64>,
    /// How long it took, as far as the records tell.
    pub(super) took: Option<f64>,
}

impl Moment {
    /// The moment of a record. One that cannot be read is shown by its labels.
    pub(super) fn of(entry: &AuditEntry) -> Self {
        let record: Value = serde_json::from_str(&entry.body).unwrap_or_default();
        let decision = record.get("decision").cloned().and_then(|it| serde_json::from_value(it).ok());
        let effect = entry.labels.effect.parse().unwrap_or(Effect::Block);
        // When it happened, where the host tells; else when it was decided.
        let told = record.pointer("/event/time").and_then(Value::as_str).and_then(|time| time.parse().ok());
        let mut moment = Moment {
            seq: entry.seq,
            time: told.unwrap_or(entry.labels.time),
            session: entry.labels.session.clone(),
            kind: entry.labels.kind.clone(),
            decision: decision.unwrap_or_else(|| Decision {
                effect,
                reason: "this record cannot be read; run `midrail audit verify`".to_owned(),
                ..Decision::default()
            }),
            outcome: None,
            is_joined: false,
            record,
        };
        moment.outcome = moment.own_outcome(None);
        moment
    }

    /// A text of the record.
    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.record.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// A part of the record.
    pub(super) fn part(&self, pointer: &str) -> Option<&Value> {
        self.record.pointer(pointer).filter(|part| !part.is_null())
    }

    pub(super) fn tool(&self) -> Option<&str> {
        self.text("/event/tool/name")
    }

    /// Whether it is of a sub-agent.
    pub(super) fn is_sub_agent(&self) -> bool {
        self.text("/event/parent").is_some_and(|parent| !parent.trim().is_empty())
    }

    /// The call that it begins.
    pub(super) fn call(&self) -> Option<String> {
        (self.kind == "before_tool").then(|| self.call_name())
    }

    /// The call that it is the result of.
    pub(super) fn result_of(&self) -> Option<String> {
        (self.kind == "after_tool").then(|| self.call_name())
    }

    /// A call by its own name, else by what it does.
    fn call_name(&self) -> String {
        match self.text("/event/tool/call_id") {
            Some(id) => format!("{}\n{id}", self.session),
            None => {
                let args = self.part("/event/tool/args").map(Value::to_string).unwrap_or_default();
                format!("{}\n\n{}\n{args}", self.session, self.tool().unwrap_or_default())
            }
        }
    }

    /// Whether there is nothing to tell of it but how the call ended.
    pub(super) fn is_quiet(&self) -> bool {
        let decision = &self.decision;
        decision.effect == Effect::Allow
            && decision.would.is_none()
            && decision.feedback.is_empty()
            && decision.content.is_none()
            && decision.notices.is_empty()
    }

    /// How the call ended that this is the result of, and how long it took since it began.
    pub(super) fn own_outcome(&self, began: Option<Timestamp>) -> Option<Outcome> {
        let result = self.part("/event/result")?;
        let took =
            began.map(|began| self.time.duration_since(began).as_secs_f64()).filter(|took| *took >= 0.0);
        let told = result.get("duration_ms").and_then(Value::as_f64).map(|millis| millis / 1e3);
        Some(Outcome {
            ok: result.get("ok").and_then(Value::as_bool),
            exit_code: result.get("exit_code").and_then(Value::as_i64),
            took: told.or(took),
        })
    }

    /// For programs.
    pub(super) fn json(&self, what: &str) -> Value {
        let decision = &self.decision;
        let outcome = self
            .outcome
            .as_ref()
            .map(|it| without_nulls(json!({"ok": it.ok, "exit_code": it.exit_code, "seconds": it.took})));
        let told = (!decision.feedback.is_empty()).then_some(&decision.feedback);
        without_nulls(json!({
            "seq": self.seq, "time": self.time, "session": self.session, "host": self.text("/event/host/name"),
            "agent": self.text("/event/agent/id"), "parent": self.text("/event/parent"), "kind": self.kind,
            "tool": self.tool(), "what": what, "effect": decision.effect, "would": decision.would,
            "by": decision.by, "reason": Some(&decision.reason).filter(|it| !it.is_empty()),
            "advice": decision.advice, "feedback": told, "content": decision.content, "retry": decision.retry,
            "approval": decision.approval, "answered": self.part("/event/approval"), "paused": decision.paused,
            "user_message": decision.user_message, "outcome": outcome,
        }))
    }
}
