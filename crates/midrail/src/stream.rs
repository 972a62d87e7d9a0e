//! Guarded streams of model text: chunks go in, and the text that may be shown comes out. Chunks are collected and
//! decided as `model_chunk` events; the engine holds back what may be the start of a secret.

use midrail_core::{Decision, Effect, Event, EventKind};

use crate::ids::unique_id;
use crate::session::SessionHandle;

/// Settings of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamOptions {
    /// The name of the stream. The default is a random name.
    pub id: Option<String>,
    /// Chunks are collected up to this many bytes and decided together, because each decision is a record. With 0, every
    /// chunk is decided on its own.
    pub max_bytes: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions { id: None, max_bytes: 4096 }
    }
}

/// The output of a stream for one chunk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamStep {
    /// The text that may be shown now. It is empty while text is collected or held back.
    pub text: String,
    /// The decision, if one was made.
    pub decision: Option<Decision>,
    /// Whether the stream has ended: it was finished or stopped.
    pub over: bool,
}

impl StreamStep {
    /// The decision that stopped the stream.
    pub fn stopped(&self) -> Option<&Decision> {
        self.decision.as_ref().filter(|decision| !decision.effect.allows())
    }

    /// The message for the user when the run was halted.
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
    /// The text that waits for an approval, and whether it is the last.
    escalated: Option<(String, bool)>,
    /// The last decision, once the stream has ended.
    ended: Option<Decision>,
}

impl SessionHandle {
    /// A guarded stream of text from the model.
    pub fn stream(&self, options: StreamOptions) -> Stream {
        Stream {
            session: self.clone(),
            id: options.id.unwrap_or_else(unique_id),
            max_bytes: options.max_bytes,
            collected: String::new(),
            escalated: None,
            ended: None,
        }
    }
}

impl Stream {
    /// The name of the stream in records.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Adds a chunk. Once enough is collected, it is decided.
    pub fn push(&mut self, chunk: &str) -> StreamStep {
        if self.ended.is_some() {
            return self.last_step();
        }
        self.collected.push_str(chunk);
        if self.collected.len() < self.max_bytes { StreamStep::default() } else { self.decide(false) }
    }

    /// Decides the collected text, however little it is. What may be the start of a secret stays held back.
    pub fn flush(&mut self) -> StreamStep {
        if self.ended.is_some() {
            self.last_step()
        } else if self.collected.is_empty() {
            StreamStep::default()
        } else {
            self.decide(false)
        }
    }

    /// Decides the rest. Nothing is held back any more.
    pub fn finish(&mut self) -> StreamStep {
        if self.ended.is_some() { self.last_step() } else { self.decide(true) }
    }

    /// The text that is held back or collected, as [`Stream::finish`] would return it now. Nothing is recorded, and the stream
    /// continues: use it where the reader may stop at any time.
    pub fn rest(&self) -> StreamStep {
        if self.ended.is_some() {
            return self.last_step();
        }
        let mut decision = self.session.preview(self.chunk(self.collected.clone(), true));
        let is_allowed = decision.effect.allows();
        let text = if is_allowed { decision.content.take().unwrap_or_default() } else { String::new() };
        StreamStep { text, decision: Some(decision), over: false }
    }

    /// Decides the escalated text again. Once it is approved, the stream continues.
    pub fn resume(&mut self) -> StreamStep {
        let Some((text, last)) = self.escalated.take() else { return self.last_step() };
        self.collected = text;
        self.ended = None;
        self.decide(last)
    }

    fn decide(&mut self, last: bool) -> StreamStep {
        let text = std::mem::take(&mut self.collected);
        let mut decision = self.session.decide(self.chunk(text.clone(), last));
        let is_allowed = decision.effect.allows();
        if decision.effect == Effect::Escalate {
            self.escalated = Some((text, last));
        }
        // INVARIANT: the decision about an allowed chunk has the text that may be shown.
        let text = if is_allowed { decision.content.take().unwrap_or_default() } else { String::new() };
        let over = last || !is_allowed;
        if over {
            self.ended = Some(decision.clone());
        }
        StreamStep { text, decision: Some(decision), over }
    }

    fn chunk(&self, text: String, last: bool) -> Event {
        Event {
            text: Some(text),
            stream: Some(self.id.clone()),
            last: Some(last),
            ..Event::new(EventKind::ModelChunk)
        }
    }

    /// The step for every chunk after the end.
    fn last_step(&self) -> StreamStep {
        StreamStep { text: String::new(), decision: self.ended.clone(), over: self.ended.is_some() }
    }
}
