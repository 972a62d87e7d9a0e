//! Text that a model streams, in the hands of a program: chunks in, what may pass on out. The chunks are collected and
//! decided as `model_chunk` events; what is held back between them is the engine's affair.

use midrail_core::{Decision, Effect, Event, EventKind};

use crate::engine::unique_id;
use crate::session::SessionHandle;

/// How a stream is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamOptions {
    /// The stream's name. Without one it gets a name of its own.
    pub id: Option<String>,
    /// Chunks are collected until there are so many bytes, and then decided together: each decision is a record. With
    /// 0 every chunk is decided by itself.
    pub max_bytes: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions { id: None, max_bytes: 4096 }
    }
}

/// What comes out of a stream for what went in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamStep {
    /// The text that may pass on now. It is empty while text is collected or held back.
    pub text: String,
    /// The decision, where one was made.
    pub decision: Option<Decision>,
    /// Nothing more comes: the stream was finished, or stopped.
    pub over: bool,
}

impl StreamStep {
    /// What was decided, where the stream was stopped.
    pub fn stopped(&self) -> Option<&Decision> {
        self.decision.as_ref().filter(|decision| !decision.effect.goes_on())
    }

    /// What the user is told where the run was halted.
    pub fn user_message(&self) -> Option<&str> {
        self.stopped()?.user_message.as_deref()
    }
}

/// A stream of text from the model.
///
/// ```
/// # use midrail::{Engine, Load, StreamOptions};
/// # use std::sync::Arc;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load()?;
/// # let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).build()?);
/// let mut stream = engine.session("s-1").stream(StreamOptions::default());
/// let mut shown = String::new();
/// for chunk in ["The key is AKIAQ4ZT", "X7RK2MPLWN3J, keep", " it safe."] {
///     shown += &stream.push(chunk).text;
/// }
/// shown += &stream.finish().text;
/// assert!(shown.starts_with("The key is [redacted:aws-access-key#"));
/// assert!(shown.ends_with("], keep it safe."));
/// # Ok(())
/// # }
/// ```
pub struct Stream {
    session: SessionHandle,
    id: String,
    max_bytes: usize,
    /// Chunks that are not decided yet.
    collected: String,
    /// The text that a person was asked about, and whether it was the last.
    asked: Option<(String, bool)>,
    /// The last decision, once the stream is over.
    over: Option<Decision>,
}

impl Stream {
    pub(crate) fn new(session: SessionHandle, options: StreamOptions) -> Self {
        Stream {
            session,
            id: options.id.unwrap_or_else(unique_id),
            max_bytes: options.max_bytes,
            collected: String::new(),
            asked: None,
            over: None,
        }
    }

    /// The stream's name, as it stands in the record.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Takes the next chunk. Once there is enough, everything that was collected is decided.
    pub fn push(&mut self, chunk: &str) -> StreamStep {
        if self.over.is_some() {
            return self.ended();
        }
        self.collected.push_str(chunk);
        if self.collected.len() < self.max_bytes { StreamStep::default() } else { self.decide(false) }
    }

    /// Decides what was collected, however little it is: for callers that do not want to wait longer. What may be the
    /// start of a secret stays held back.
    pub fn flush(&mut self) -> StreamStep {
        match (&self.over, self.collected.is_empty()) {
            (Some(_), _) => self.ended(),
            (None, true) => StreamStep::default(),
            (None, false) => self.decide(false),
        }
    }

    /// Decides the rest. Nothing is held back any more.
    pub fn finish(&mut self) -> StreamStep {
        if self.over.is_some() { self.ended() } else { self.decide(true) }
    }

    /// Asks again about the text that a person was asked about. Once it is approved, it passes on and the stream goes
    /// on with it.
    pub fn resume(&mut self) -> StreamStep {
        let Some((text, last)) = self.asked.take() else { return self.ended() };
        self.collected = text;
        self.over = None;
        self.decide(last)
    }

    fn decide(&mut self, last: bool) -> StreamStep {
        let text = std::mem::take(&mut self.collected);
        let mut decision = self.session.decide(Event {
            text: Some(text.clone()),
            stream: Some(self.id.clone()),
            last: Some(last),
            ..Event::new(EventKind::ModelChunk)
        });
        let goes_on = decision.effect.goes_on();
        if decision.effect == Effect::Escalate {
            self.asked = Some((text, last));
        }
        // INVARIANT: the engine tells what passes on of every chunk that goes on.
        let text = if goes_on { decision.content.take().unwrap_or_default() } else { String::new() };
        let over = last || !goes_on;
        if over {
            self.over = Some(decision.clone());
        }
        StreamStep { text, decision: Some(decision), over }
    }

    /// The answer to whatever comes once the stream is over.
    fn ended(&self) -> StreamStep {
        StreamStep { text: String::new(), decision: self.over.clone(), over: self.over.is_some() }
    }
}
