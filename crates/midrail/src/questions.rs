//! Questions to the user of a client that keeps no connection open: the client returns a sealed text with the answer. It is valid for
//! one call, a few minutes, and once.

use jiff::{SignedDuration, Timestamp};
use midrail_core::{Event, hex};
use midrail_store::{Commit, StoreError};
use serde_json::{Value, json};

use crate::admin::event::AdminEvent;
use crate::engine::Engine;
use crate::error::{EngineError, EngineResult};
use crate::idempotency::{day_before, day_prefix};
use crate::ids::random_hex;
use crate::seal::Signer;

/// What a sealed question starts with.
const PREFIX: &str = "midrail-question.";

/// The purpose of the derived key.
const LABEL: &[u8] = b"midrail-question-v1";

/// How long a user can answer.
const VALID: SignedDuration = SignedDuration::from_mins(10);

/// The prefix of the slices of answered questions, by the day on which they expire.
const ANSWERED: &str = "shared/asked";

/// The expired slices that are removed with each answer.
const REMOVED: usize = 2;

impl Engine {
    /// Seals a question about a call. `kept` comes back with the answer.
    pub fn seal_question(&self, event: &Event, kept: &str) -> EngineResult<String> {
        let until = self.now().checked_add(VALID).unwrap_or(Timestamp::MAX);
        let id = random_hex::<16>()?;
        let until = until.as_second();
        let seal = self.question_signer().sign(&sealed_text(&id, until, event, kept));
        Ok(format!("{PREFIX}{id}.{until}.{}.{seal}", hex::encode(kept.as_bytes())))
    }

    /// Whether a text claims to be a sealed question.
    pub fn is_question(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Records the answer to a question about a call, and returns what was kept with it. It fails if the question was not sealed by this
    /// store for this call, if it expired, or if it was answered before.
    pub fn answer_question(&self, event: &Event, question: &str, is_allowed: bool) -> EngineResult<String> {
        let invalid = || EngineError::conflict("this answer belongs to another call, or it was changed");
        let parts = question.strip_prefix(PREFIX).map(|rest| rest.splitn(4, '.').collect::<Vec<_>>());
        let Some([id, until, kept, seal]) = parts.as_deref() else { return Err(invalid()) };
        let kept = hex::decode(kept).and_then(|kept| String::from_utf8(kept).ok()).ok_or_else(invalid)?;
        let seconds: i64 = until.parse().map_err(|_| invalid())?;
        if !self.question_signer().verify(&sealed_text(id, seconds, event, &kept), seal) {
            return Err(invalid());
        }
        let until = Timestamp::from_second(seconds).map_err(|_| invalid())?;
        let now = self.now();
        if until < now {
            return Err(EngineError::conflict("this answer came too late"));
        }
        let slice = format!("{}{id}", day_prefix(ANSWERED, until));
        let tool = event.tool.as_ref().map(|tool| tool.name.as_str());
        let record = AdminEvent::new("question_answered")
            .in_session(event.session.as_deref().unwrap_or_default())
            .with("question", *id)
            .with("about", tool)
            .with("allowed", is_allowed);
        let mut commit = Commit { read: vec![(slice.clone(), 0)], ..self.admin_commit(record) };
        commit.changes.set(slice, Value::from(is_allowed));
        for key in self.store().shared_keys(ANSWERED, &day_prefix(ANSWERED, day_before(now)), REMOVED)? {
            commit.changes.remove(key);
        }
        match self.commit(&commit) {
            Ok(()) => Ok(kept),
            Err(EngineError::Store(StoreError::Conflict { .. })) => {
                Err(EngineError::conflict("this question was already answered"))
            }
            Err(error) => Err(error),
        }
    }

    fn question_signer(&self) -> Signer {
        Signer::new(&self.fingerprint_key, LABEL)
    }
}

/// What the seal covers: the question, and the call that it is about.
fn sealed_text(id: &str, until: i64, event: &Event, kept: &str) -> String {
    let server = event.server.as_ref().map(|server| server.key.as_str());
    let call = event.tool.as_ref().map(|tool| (tool.name.as_str(), &tool.args));
    let method = event.host.as_ref().and_then(|host| host.event.as_deref());
    json!([id, until, server, event.session, method, call, kept]).to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use midrail_core::McpServer;

    use super::*;
    use crate::Load;
    use crate::clock::ManualClock;

    fn engine(clock: &Arc<ManualClock>) -> Engine {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        Engine::builder(loaded.policy, &loaded.source).clock(clock.clone()).build().unwrap()
    }

    fn clock() -> Arc<ManualClock> {
        Arc::new(ManualClock::at("2026-11-15T23:55:00Z".parse().unwrap()))
    }

    fn call(tool: &str, path: &str, server: &str, session: &str) -> Event {
        let server = McpServer { key: server.to_owned(), ..McpServer::default() };
        Event {
            server: Some(server),
            ..Event::before_tool(tool, json!({"path": path, "depth": 1})).in_session(session)
        }
    }

    #[test]
    fn question_is_answered_once_for_the_same_call() {
        let clock = clock();
        let engine = engine(&clock);
        let event = call("mcp__f__read", "a", "k", "s");
        let question = engine.seal_question(&event, "\"x\": 1.0").unwrap();
        assert!(Engine::is_question(&question));
        clock.advance_to("2026-11-16T00:04:59Z".parse().unwrap());
        assert_eq!(engine.answer_question(&event, &question, true).unwrap(), "\"x\": 1.0");
        for is_allowed in [true, false] {
            let again = engine.answer_question(&event, &question, is_allowed).unwrap_err();
            assert!(again.to_string().contains("already answered"), "{again}");
        }
        let record = engine.store().entry(engine.store().head().unwrap().unwrap().seq).unwrap().unwrap();
        assert_eq!(record.record().unwrap().event.extra["what"], "question_answered");
    }

    #[test]
    fn question_of_another_call_server_session_or_store_is_refused() {
        let clock = clock();
        let engine = engine(&clock);
        let asked = call("mcp__f__read", "a", "k", "s");
        let question = engine.seal_question(&asked, "").unwrap();
        for other in [
            call("mcp__f__write", "a", "k", "s"),
            call("mcp__f__read", "b", "k", "s"),
            call("mcp__f__read", "a", "l", "s"),
            call("mcp__f__read", "a", "k", "t"),
        ] {
            engine.answer_question(&other, &question, true).unwrap_err();
        }
        self::engine(&clock).answer_question(&asked, &question, true).unwrap_err();
        // None of these has used it up.
        engine.answer_question(&asked, &question, true).unwrap();
    }

    #[test]
    fn changed_or_expired_question_is_refused() {
        let clock = clock();
        let engine = engine(&clock);
        let event = call("mcp__f__read", "a", "k", "s");
        let question = engine.seal_question(&event, "kept").unwrap();
        // Each character matters: id, expiry, what is kept, seal.
        for at in PREFIX.len()..question.len() {
            let mut changed = question.clone().into_bytes();
            changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8(changed).unwrap();
            engine.answer_question(&event, &changed, true).unwrap_err();
        }
        for cut in [PREFIX.to_owned(), question[..question.len() - 2].to_owned(), format!("{question}00")] {
            engine.answer_question(&event, &cut, true).unwrap_err();
        }
        clock.advance_to("2026-11-16T00:05:01Z".parse().unwrap());
        let late = engine.answer_question(&event, &question, true).unwrap_err();
        assert!(late.to_string().contains("too late"), "{late}");
    }
}
