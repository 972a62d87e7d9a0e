//! Answers that grow: a gateway sends the text of a stream again and again, each time with more of it, and does not say when it ends.
//!
//! The first text of an answer is decided as a whole, because it may be the whole answer. When more of it arrives, it is a stream of
//! the engine: only what is new is decided. Each reply has the text as it would be if the stream ended now, and how many characters
//! at its end may still change. The gateway emits the others, so that nothing of a secret is emitted before the secret is complete.
//! The rest of a stream is recorded when no more of it arrives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use midrail::{Decision, Effect, Engine, Event, EventKind, SessionHandle, Stream, StreamOptions};
use parking_lot::Mutex;

/// The most answers that are remembered, and the most bytes of their texts.
const MAX_ANSWERS: usize = 4_096;
const MAX_BYTES: usize = 64 << 20;

/// After how long without more text an answer is complete.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// The most calls whose sessions are remembered.
const MAX_CALLS: usize = 10_000;

/// An answer: project, session, call, and the place of its text.
pub(super) type AnswerKey = (String, String, String, String);

/// The answers that may grow, and the sessions of calls.
#[derive(Default)]
pub(super) struct GrowingAnswers {
    answers: Mutex<BTreeMap<AnswerKey, KnownAnswer>>,
    calls: Mutex<Calls>,
    /// Whether a task ends answers that do not grow any more.
    pub(super) is_swept: Mutex<bool>,
}

struct KnownAnswer {
    answer: Arc<Mutex<GrowingAnswer>>,
    bytes: usize,
    used: Instant,
}

/// The sessions of calls by project and call, and the calls in their order.
#[derive(Default)]
struct Calls {
    sessions: BTreeMap<(String, String), (u64, String)>,
    order: BTreeMap<u64, (String, String)>,
    next: u64,
}

impl GrowingAnswers {
    /// Remembers the session of a call, for its answer.
    pub(super) fn note_call(&self, project: &str, call: &str, session: &str) {
        let mut calls = self.calls.lock();
        let (key, number) = ((project.to_owned(), call.to_owned()), calls.next);
        calls.next += 1;
        if let Some((before, _)) = calls.sessions.insert(key.clone(), (number, session.to_owned())) {
            calls.order.remove(&before);
        }
        calls.order.insert(number, key);
        if calls.sessions.len() > MAX_CALLS
            && let Some((_, oldest)) = calls.order.pop_first()
        {
            calls.sessions.remove(&oldest);
        }
    }

    /// The session of a call.
    pub(super) fn session_of(&self, project: &str, call: &str) -> Option<String> {
        let key = (project.to_owned(), call.to_owned());
        self.calls.lock().sessions.get(&key).map(|(_, session)| session.clone())
    }

    /// Decides the text of an answer as far as it is known. `event` has all of it.
    pub(super) fn decide(
        &self,
        key: &AnswerKey,
        session: &SessionHandle,
        engine: &Engine,
        event: Event,
    ) -> Reply {
        let text = event.text.clone().unwrap_or_default();
        let (answer, over) = self.find(key, text.len());
        over.into_iter().for_each(|answer| answer.lock().finish());
        let mut answer = answer.lock();
        if !text.starts_with(&answer.raw) {
            // It is another answer of the same call.
            answer.finish();
            *answer = GrowingAnswer::default();
        }
        answer.decide(session, engine, event, &text)
    }

    /// The answer of a key, and those that are forgotten for it.
    fn find(
        &self,
        key: &AnswerKey,
        bytes: usize,
    ) -> (Arc<Mutex<GrowingAnswer>>, Vec<Arc<Mutex<GrowingAnswer>>>) {
        let mut answers = self.answers.lock();
        let known = answers.entry(key.clone()).or_insert_with(|| KnownAnswer {
            answer: Arc::default(),
            bytes: 0,
            used: Instant::now(),
        });
        // The text, what may be shown of it, and what is kept of the last reply.
        (known.bytes, known.used) = (bytes.saturating_mul(3), Instant::now());
        let found = known.answer.clone();
        let mut over = Vec::new();
        let mut total: usize = answers.values().map(|known| known.bytes).sum();
        while answers.len() > MAX_ANSWERS || (total > MAX_BYTES && answers.len() > 1) {
            let others = answers.iter().filter(|(other, _)| *other != key);
            let Some(oldest) = others.min_by_key(|(_, known)| known.used).map(|(key, _)| key.clone()) else {
                break;
            };
            let forgotten = answers.remove(&oldest);
            total -= forgotten.as_ref().map_or(0, |known| known.bytes);
            over.extend(forgotten.map(|known| known.answer));
        }
        (found, over)
    }

    /// Ends the answers that did not grow for this long.
    pub(super) fn finish_idle(&self, idle: Duration) {
        let over: Vec<KnownAnswer> = self
            .answers
            .lock()
            .extract_if(.., |_, known| known.used.elapsed() >= idle)
            .map(|(_, it)| it)
            .collect();
        over.iter().for_each(|known| known.answer.lock().finish());
    }
}

/// What a gateway is answered about a text.
#[derive(Clone, Default)]
pub(super) struct Reply {
    /// The decision.
    pub(super) decision: Decision,
    /// The text as it would be if the answer ended now.
    pub(super) text: String,
    /// The characters at its end that may change when more text follows.
    pub(super) held: usize,
}

/// One answer.
#[derive(Default)]
struct GrowingAnswer {
    /// The text that was decided, as the model wrote it.
    raw: String,
    /// The text that may be shown whatever follows.
    shown: String,
    /// The stream, once there is a second part.
    stream: Option<Stream>,
    /// The stream waits for an approval of its last part.
    is_held: bool,
    last: Option<Reply>,
}

impl GrowingAnswer {
    fn decide(&mut self, session: &SessionHandle, engine: &Engine, event: Event, text: &str) -> Reply {
        let is_known = self.raw.len() == text.len();
        if let Some(last) =
            self.last.clone().filter(|last| is_known && last.decision.effect != Effect::Escalate)
        {
            return last;
        }
        let reply = match self.last {
            Some(_) if !is_known || self.stream.is_some() => self.grow(session, text),
            _ => self.begin(engine, event, text),
        };
        self.raw = text.to_owned();
        self.last = Some(reply.clone());
        reply
    }

    /// Decides the first text, as a whole.
    fn begin(&self, engine: &Engine, event: Event, text: &str) -> Reply {
        let chunk = Event {
            kind: EventKind::ModelChunk,
            stream: Some(crate::text::random_name()),
            last: Some(false),
            ..event.clone()
        };
        let mut decision = engine.decide_new_message(event, 0);
        let text = decision.content.take().unwrap_or_else(|| text.to_owned());
        // The beginning that no further text can change, as the stream will show it.
        let certain = engine.preview(chunk).ok().filter(|chunk| chunk.effect.allows());
        let certain = certain.and_then(|chunk| chunk.content).filter(|certain| text.starts_with(certain));
        let held = count(&text) - certain.map_or(0, |certain| count(&certain));
        Reply { decision, text, held }
    }

    /// Decides what is new.
    fn grow(&mut self, session: &SessionHandle, text: &str) -> Reply {
        let new = text.get(self.raw.len()..).unwrap_or_default();
        let stream = self.stream.get_or_insert_with(|| {
            self.raw.clear();
            session.stream(StreamOptions { max_bytes: 0, ..StreamOptions::default() })
        });
        let new = if self.raw.is_empty() { text } else { new };
        let step = if std::mem::take(&mut self.is_held) { stream.resume() } else { stream.push(new) };
        self.shown.push_str(&step.text);
        let decision = step.decision.unwrap_or_else(no_decision);
        if !decision.effect.allows() {
            self.is_held = decision.effect == Effect::Escalate;
            return Reply { decision, ..Reply::default() };
        }
        let rest = stream.rest();
        if !rest.decision.is_some_and(|decision| decision.effect.allows()) {
            // It is stopped with a record.
            let step = stream.finish();
            self.is_held = step.decision.as_ref().is_some_and(|it| it.effect == Effect::Escalate);
            self.shown.push_str(&step.text);
            let decision = step.decision.unwrap_or_else(no_decision);
            return Reply { decision, text: self.shown.clone(), held: 0 };
        }
        let held = count(&rest.text);
        Reply { decision, text: format!("{}{}", self.shown, rest.text), held }
    }

    /// Records the rest of a stream.
    fn finish(&mut self) {
        if let Some(mut stream) = self.stream.take() {
            drop(stream.finish());
        }
    }
}

/// The decision where the stream made none: a block.
fn no_decision() -> Decision {
    Decision {
        effect: Effect::Block,
        by: Some("midrail".into()),
        reason: "the stream could not be decided".to_owned(),
        ..Decision::default()
    }
}

/// Gateways count characters.
fn count(text: &str) -> usize {
    text.chars().count()
}
