//! A text that the agent is sending: its chunks, and which of them can be forwarded as they came.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

/// A text that the agent is sending.
#[derive(Default)]
pub(super) struct TextStream {
    pub(super) name: String,
    /// Which text it is.
    pub(super) key: TextKey,
    /// Chunks that were not forwarded completely.
    chunks: VecDeque<Chunk>,
    /// What is not decided yet.
    pub(super) collected: String,
    /// Something was replaced: from then on, Midrail writes the lines.
    is_rewritten: bool,
    /// A part of it was decided.
    pub(super) is_begun: bool,
    /// It was blocked: nothing more of it is forwarded.
    pub(super) is_blocked: bool,
    /// The last chunk, as a template for lines of Midrail.
    template: Option<Value>,
    pub(super) due: Option<u64>,
}

/// Message or thought, and its id.
pub(super) type TextKey = (String, Option<Value>);

struct Chunk {
    text: String,
    /// `None`: a part of it was forwarded.
    line: Option<String>,
}

/// Whether updates of a kind are text of the agent.
pub(super) fn is_chunk(kind: &str) -> bool {
    matches!(kind, "agent_message_chunk" | "agent_thought_chunk")
}

/// The text of a chunk, and which text it belongs to.
pub(super) fn chunk(update: &Map<String, Value>) -> Option<(String, TextKey)> {
    let kind = update.get("sessionUpdate")?.as_str()?;
    let text = update.get("content")?.get("text")?.as_str()?;
    Some((text.to_owned(), (kind.to_owned(), update.get("messageId").cloned())))
}

impl TextStream {
    pub(super) fn new(name: String, key: TextKey) -> Self {
        TextStream { name, key, ..TextStream::default() }
    }

    pub(super) fn add(&mut self, text: &str, line: String, template: Value) {
        self.template = Some(template);
        self.collected.push_str(text);
        self.chunks.push_back(Chunk { text: text.to_owned(), line: Some(line) });
    }

    /// Whether there are chunks to decide.
    pub(super) fn is_due(&self) -> bool {
        !self.is_blocked && !self.chunks.is_empty() && self.due.is_some()
    }

    pub(super) fn block(&mut self) {
        self.is_blocked = true;
        self.chunks.clear();
    }

    /// The lines for a part that was allowed.
    pub(super) fn forward(&mut self, content: &str, last: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = content;
        while !self.is_rewritten {
            let Some(chunk) = self.chunks.front_mut() else { break };
            if let Some(after) = rest.strip_prefix(chunk.text.as_str()) {
                rest = after;
                let chunk = self.chunks.pop_front();
                lines.extend(chunk.and_then(|chunk| chunk.line.or_else(|| self.line(&chunk.text))));
            } else if let Some(left) = chunk.text.strip_prefix(rest) {
                if !rest.is_empty() {
                    *chunk = Chunk { text: left.to_owned(), line: None };
                    lines.extend(self.line(rest));
                    rest = "";
                }
                break;
            } else {
                self.is_rewritten = true;
            }
        }
        if !rest.is_empty() {
            // INVARIANT: only decided text is forwarded.
            self.is_rewritten = true;
            lines.extend(self.line(rest));
        }
        if self.is_rewritten || last {
            self.chunks.clear();
        }
        lines
    }

    /// A line of Midrail in the format of the agent's.
    fn line(&self, text: &str) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        let mut line = self.template.clone()?;
        let update = line.pointer_mut("/params/update")?.as_object_mut()?;
        update.remove("_meta");
        update.insert("content".to_owned(), json!({"type": "text", "text": text}));
        Some(line.to_string())
    }
}
