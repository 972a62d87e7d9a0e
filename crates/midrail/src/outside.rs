//! Asks those outside on behalf of guardrails: waits as long as the event can, and keeps what comes later for the next
//! event of the run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use midrail_core::{ABOUT, DeepCall, DeepEnd, Event, Fact, LATE, Policy};
use midrail_guardrails::DeepSettings;
use midrail_pack::case::Told;
use midrail_store::{Commit, Store, StoreError};
use serde_json::{Value, json};

use crate::administer::{Act, recorded};
use crate::clock::Clock;
use crate::deep::{Answer, Question, Waited};
use crate::engine::{Engine, EngineError, MAX_TRIES};

/// Answers that are kept for the next event of a run. Nobody asks so much between two events.
pub(crate) const MAX_LATE: usize = 32;

/// What came of a question.
type Outcome = Result<Value, String>;

/// The event that somebody is asked about.
pub(crate) struct Matter<'w> {
    pub(crate) engine: &'w Engine,
    pub(crate) policy: &'w Policy,
    /// The event, with its secrets replaced.
    pub(crate) event: &'w Event,
    pub(crate) session: &'w str,
    pub(crate) root: Option<&'w str>,
}

/// An answer that nobody waited for, in a made-up world.
pub(crate) struct Belated {
    guardrail: Arc<str>,
    outcome: Outcome,
    about: Value,
}

impl Matter<'_> {
    /// Asks, and waits as long as the event can.
    pub(crate) fn ask(&self, call: &DeepCall) -> (Fact, Option<Belated>) {
        if let Some(told) = self.engine.files().told(&call.guardrail) {
            let is_late = told.takes_ms > call.wait_ms;
            return match (is_late, outcome(told)) {
                (true, outcome) => {
                    let (guardrail, about) = (call.guardrail.clone(), in_short(self.event));
                    (Fact::Deep(DeepEnd::Late), Some(Belated { guardrail, outcome, about }))
                }
                (false, Ok(answer)) => (Fact::Deep(DeepEnd::Answered(answer)), None),
                (false, Err(why)) => (Fact::Unavailable(why), None),
            };
        }
        let fact = match self.put(&call.guardrail) {
            Err(why) => Fact::Unavailable(why),
            Ok(ticket) => match ticket.wait(Duration::from_millis(call.wait_ms)) {
                Waited::Answered(Ok(Answer { value, .. })) => Fact::Deep(DeepEnd::Answered(value)),
                Waited::Answered(Err(why)) => Fact::Unavailable(why),
                Waited::Late(pending) => {
                    let (box_, session) = (self.engine.late_box(), self.session.to_owned());
                    let (guardrail, about) = (call.guardrail.clone(), in_short(self.event));
                    pending.then(move |answer| {
                        let outcome = answer.map(|answer| answer.value);
                        box_.put(&session, Belated { guardrail, outcome, about });
                    });
                    Fact::Deep(DeepEnd::Late)
                }
            },
        };
        (fact, None)
    }

    fn put(&self, guardrail: &Arc<str>) -> Result<crate::deep::Ticket, String> {
        let settings = self.policy.get(guardrail).and_then(|entry| entry.guardrail.outside());
        let settings = settings.and_then(|settings| settings.downcast::<DeepSettings>().ok());
        let settings = settings.ok_or_else(|| format!("`{guardrail}` has nobody to ask"))?;
        let event = serde_json::to_value(self.event).map_err(|error| error.to_string())?;
        let question = Question {
            run: self.session.to_owned(),
            policy: self.policy.revision().clone(),
            text: text(self.event),
            event,
            root: self.root.map(PathBuf::from),
        };
        self.engine.asking().ask(guardrail, &settings, question)
    }
}

fn outcome(told: Told) -> Outcome {
    match (told.answer, told.error) {
        (Some(answer), _) => Ok(answer),
        (None, error) => Err(error.unwrap_or_else(|| "it said nothing".to_owned())),
    }
}

/// The text of an event: everything that it says. What a model writes beside a call does not hide the call.
fn text(event: &Event) -> String {
    let plain = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let result = event.result.as_ref().and_then(|result| result.content.as_ref()).map(plain);
    // What a host tells of a result beside its content: what went to the error stream, above all.
    let beside = event.result.as_ref().filter(|result| !result.extra.is_empty());
    let beside = beside.map(|result| json!(result.extra).to_string());
    let call = event.tool.as_ref().filter(|_| result.is_none() && beside.is_none());
    let call = call.map(|tool| format!("{} {}", tool.name, Value::Object(tool.args.clone())));
    let handoff = event.handoff.as_ref().map(|handoff| json!(handoff).to_string());
    let error = event.error.as_ref().and_then(|error| error.message.clone());
    let parts = [event.text.clone(), call, result, beside, event.output.as_ref().map(plain), handoff, error];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Characters of an event that a person is shown who is asked about it later.
const MAX_SHORT: usize = 500;

/// An event as it is told to a person who is asked about it later.
fn in_short(event: &Event) -> Value {
    let call = event.tool.as_ref().filter(|_| event.result.is_none());
    let whole = match call {
        Some(tool) => Value::Object(tool.args.clone()).to_string(),
        None => text(event),
    };
    let mut about = json!({"kind": event.kind, "says": whole.chars().take(MAX_SHORT).collect::<String>()});
    let agent = event.agent.as_ref().and_then(|agent| agent.id.as_deref());
    let time = event.time.map(|time| time.to_string());
    if let Some(members) = about.as_object_mut() {
        let told = [("tool", event.tool_name()), ("agent", agent), ("time", time.as_deref())];
        let told = told.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
        members.extend(told);
    }
    about
}

/// Where answers are put that came too late for the event that they were asked about. It outlives the engine.
#[derive(Clone)]
pub(crate) struct LateBox {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) key: [u8; 32],
    pub(crate) policy: Arc<str>,
}

impl LateBox {
    /// Keeps an answer for the next event of a session, on record.
    pub(crate) fn put(&self, session: &str, belated: Belated) {
        let Belated { guardrail, outcome, about } = belated;
        let answer = match outcome {
            Ok(value) => json!({"guardrail": guardrail, "answer": value, ABOUT: about}),
            Err(why) => json!({"guardrail": guardrail, "error": why, ABOUT: about}),
        };
        if let Err(error) = self.try_put(session, &answer) {
            log::error!("an answer on behalf of `{guardrail}` could not be kept: {error}");
        }
    }

    fn try_put(&self, session: &str, answer: &Value) -> Result<(), EngineError> {
        for _ in 0..MAX_TRIES {
            let Some(slice) = self.store.load(session, &[LATE])?.into_iter().next() else { break };
            let mut answers = slice.value.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
            if answers.len() >= MAX_LATE {
                return Err(EngineError::TooManyLate);
            }
            answers.push(answer.clone());
            let act = Act::of("late_answer").in_session(session).with("late", answer.clone());
            let record = recorded(act, self.clock.now(), &self.key, &self.policy);
            let mut commit = Commit { read: vec![(LATE.to_owned(), slice.version)], ..Commit::new(&record) };
            commit.changes.set(LATE, Value::Array(answers));
            match self.store.commit(&commit) {
                Ok(_) => return Ok(()),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Contended)
    }
}
