//! Requests of deep guardrails to external services. An answer that arrives after the event was decided is stored for
//! the next event of the run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use midrail_core::{ABOUT_EVENT, DeepCall, DeepOutcome, Event, Fact, LATE_ANSWERS, Policy};
use midrail_guardrails::DeepSettings;
use midrail_pack::case::StubAnswer;
use midrail_store::{Commit, Store};
use serde_json::{Value, json};

use crate::admin::event::AdminEvent;
use crate::clock::Clock;
use crate::deep::question::{Question, Ticket};
use crate::engine::Engine;
use crate::error::{Available, EngineError, EngineResult, MAX_LATE, Unavailable, retry_on_conflict};
use crate::session_slices::load_slice;

/// The most characters of an event that an approver of a late answer is shown.
const MAX_SUMMARY: usize = 500;

/// An event about which a deep guardrail asks an external service.
pub(crate) struct DeepRequest<'w> {
    pub(crate) engine: &'w Engine,
    pub(crate) policy: &'w Policy,
    /// The event, with its secrets replaced.
    pub(crate) event: &'w Event,
    pub(crate) session: &'w str,
    pub(crate) root: Option<&'w str>,
}

/// An answer that arrived after its event was decided.
pub(crate) struct LateAnswer {
    guardrail: Arc<str>,
    answer: Available<Value>,
    about: Value,
}

impl DeepRequest<'_> {
    /// Sends the request and waits as long as the event can. The late answer is that of a simulation.
    pub(crate) fn send(&self, call: &DeepCall) -> (Fact, Option<LateAnswer>) {
        if let Some(simulation) = self.engine.files.simulation() {
            let StubAnswer { answer, error, takes_ms } = simulation.answer(&call.guardrail);
            let answer =
                answer.ok_or_else(|| Unavailable::new(error.as_deref().unwrap_or("it did not answer")));
            if takes_ms <= call.wait_ms {
                return (fact(answer), None);
            }
            let guardrail = call.guardrail.clone();
            let late = LateAnswer { guardrail, answer, about: summary(self.event) };
            return (Fact::Deep(DeepOutcome::Late), Some(late));
        }
        let fact = match self.enqueue(&call.guardrail) {
            Err(error) => error.into(),
            Ok(ticket) => match ticket.wait(Duration::from_millis(call.wait_ms)) {
                Ok(answer) => fact(answer.map(|answer| answer.value)),
                Err(pending) => {
                    let (store, session) = (self.engine.late_answers(), self.session.to_owned());
                    let (guardrail, about) = (call.guardrail.clone(), summary(self.event));
                    pending.then(move |answer| {
                        let answer = answer.map(|answer| answer.value);
                        store.put(&session, LateAnswer { guardrail, answer, about });
                    });
                    Fact::Deep(DeepOutcome::Late)
                }
            },
        };
        (fact, None)
    }

    fn enqueue(&self, guardrail: &Arc<str>) -> Available<Ticket> {
        let settings = self.policy.get(guardrail).and_then(|entry| entry.guardrail.external_request());
        let settings = settings.and_then(|settings| settings.downcast::<DeepSettings>().ok());
        let settings = settings
            .ok_or_else(|| Unavailable::new(format!("`{guardrail}` has no external service to call")))?;
        let event = serde_json::to_value(self.event).map_err(Unavailable::new)?;
        let question = Question {
            run: self.session.to_owned(),
            policy: self.policy.revision().clone(),
            text: text(self.event),
            event,
            root: self.root.map(PathBuf::from),
        };
        self.engine.deep_queue.ask(guardrail, &settings, question)
    }
}

fn fact(answer: Available<Value>) -> Fact {
    answer.map_or_else(Fact::from, |answer| Fact::Deep(DeepOutcome::Answered(answer)))
}

/// All text of an event. The text that a model writes next to a call does not hide the call.
fn text(event: &Event) -> String {
    let plain = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let result = event.result.as_ref().and_then(|result| result.content.as_ref()).map(plain);
    // Further fields of a result, above all the error stream of a command.
    let extra = event.result.as_ref().filter(|result| !result.extra.is_empty());
    let extra = extra.map(|result| json!(result.extra).to_string());
    let call = event.tool.as_ref().filter(|_| result.is_none() && extra.is_none());
    let call = call.map(|tool| format!("{} {}", tool.name, Value::Object(tool.args.clone())));
    let handoff = event.handoff.as_ref().map(|handoff| json!(handoff).to_string());
    let error = event.error.as_ref().and_then(|error| error.message.clone());
    let parts = [event.text.clone(), call, result, extra, event.output.as_ref().map(plain), handoff, error];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// An event as the approver of a late answer is shown it.
fn summary(event: &Event) -> Value {
    let call = event.tool.as_ref().filter(|_| event.result.is_none());
    let whole = match call {
        Some(tool) => Value::Object(tool.args.clone()).to_string(),
        None => text(event),
    };
    let mut about = json!({"kind": event.kind, "says": whole.chars().take(MAX_SUMMARY).collect::<String>()});
    let agent = event.agent.as_ref().and_then(|agent| agent.id.as_deref());
    let time = event.time.map(|time| time.to_string());
    if let Some(members) = about.as_object_mut() {
        let fields = [("tool", event.tool_name()), ("agent", agent), ("time", time.as_deref())];
        members.extend(fields.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))));
    }
    about
}

/// Stores late answers. It may outlive the engine.
pub(crate) struct LateAnswers {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    key: [u8; 32],
    policy: Arc<str>,
}

impl Engine {
    pub(crate) fn late_answers(&self) -> LateAnswers {
        LateAnswers {
            store: self.store().clone(),
            clock: self.clock.clone(),
            key: self.fingerprint_key,
            policy: self.policy().revision().clone(),
        }
    }
}

impl LateAnswers {
    /// Stores an answer for the next event of a session, with a record.
    pub(crate) fn put(&self, session: &str, late: LateAnswer) {
        let LateAnswer { guardrail, answer, about } = late;
        let answer = match answer {
            Ok(value) => json!({"guardrail": guardrail, "answer": value, ABOUT_EVENT: about}),
            Err(error) => json!({"guardrail": guardrail, "error": error.to_string(), ABOUT_EVENT: about}),
        };
        if let Err(error) = self.try_put(session, &answer) {
            log::error!("a late answer for `{guardrail}` could not be stored: {error}");
        }
    }

    fn try_put(&self, session: &str, answer: &Value) -> EngineResult {
        retry_on_conflict(|| {
            let slice = load_slice(&*self.store, session, LATE_ANSWERS)?;
            let mut answers = slice.value.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
            if answers.len() >= MAX_LATE {
                return Err(EngineError::TooManyLateAnswers);
            }
            answers.push(answer.clone());
            let event = AdminEvent::new("late_answer").in_session(session).with("late", answer.clone());
            let record = event.into_record(self.clock.now(), &self.key, &self.policy);
            let read = vec![(LATE_ANSWERS.to_owned(), slice.version)];
            let mut commit = Commit { read, ..Commit::owned(record) };
            commit.changes.set(LATE_ANSWERS, Value::Array(answers));
            self.store.commit(&commit)?;
            Ok(())
        })
    }
}
