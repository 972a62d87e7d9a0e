//! Joins the chunks of a stream: text that may start a secret is held back, and released text is scanned again together
//! with the text that follows. Between two chunks both are stored in a slice of the session, encrypted.

use midrail_core::{
    Decision, Effect, Event, FactKey, Facts, Finding, Hit, NoMeter, Policy, Session, evaluate,
};
use midrail_scan::personal;
use midrail_scan::secrets::resumable::ResumableScan;
use midrail_scan::secrets::{self, Mask};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{EngineError, EngineResult};
use crate::seal;

/// The most bytes that are held back. A stream that needs more is stopped.
const MAX_HELD: usize = 32 * 1024;

/// The number of released bytes that are scanned again.
const WINDOW: usize = 1024;

/// The JSON pointer of the text in an event.
pub(crate) const TEXT: &str = "/text";

/// The slice that keeps what is held back of a stream.
pub(crate) fn held_key(stream: &str) -> String {
    format!("stream/held/{stream}")
}

/// The state between two chunks.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StreamState {
    tail: ResumableScan,
    /// The end of the released text, without secrets.
    passed: String,
}

/// A chunk, joined with the text that was held back before it.
pub(crate) struct StreamChunk {
    /// The slice of the state, with its version.
    pub(crate) slice: (String, u64),
    /// The number of bytes that were released before.
    pub(crate) passed: usize,
    /// The text to evaluate, after the released text.
    pub(crate) text: String,
    /// The secrets in the new text.
    pub(crate) secrets: Vec<Finding>,
    /// Personal data in the new text, if a guardrail scans for it.
    pub(crate) personal: Option<Vec<Finding>>,
    /// More text would have to be held back than is allowed.
    pub(crate) overlong: bool,
    is_last: bool,
    kept: StreamState,
    place: String,
}

impl StreamChunk {
    /// Puts a chunk behind what is kept of its stream. `slice` is what the store has under `name`, sealed for `place`;
    /// `mask` hides the secrets in the rest of the event.
    pub(crate) fn new(
        event: &Event,
        policy: &Policy,
        key: &[u8],
        mask: &Mask,
        (place, name): (String, String),
        slice: midrail_store::Slice,
    ) -> EngineResult<Self> {
        let mut kept = match &slice.value {
            None => StreamState::default(),
            Some(value) => value
                .as_str()
                .and_then(|sealed| seal::open(key, &place, sealed))
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())
                .ok_or_else(|| EngineError::Stream(event.stream.clone().unwrap_or_default()))?,
        };
        let is_last = event.last == Some(true);
        kept.tail.push(event.text.as_deref().unwrap_or_default(), is_last);

        let before = kept.passed.clone();
        let found = looks_for_personal_data(policy, event)
            .then(|| personal::scan(&format!("{before}{}", kept.tail.held())));
        let bytes = releasable(&kept.tail, found.as_deref(), before.len(), is_last);
        let words = policy.held_words();
        let bytes = if words == 0 || is_last { bytes } else { without_words(&kept.tail, bytes, words) };
        let (piece, hits) = kept.tail.take(bytes);
        let overlong = kept.tail.held().len() > MAX_HELD;

        // Where nothing is new, what has passed is not judged again.
        let before =
            if piece.is_empty() { String::new() } else { hidden(&mask.text(&before), &piece, &hits, key) };
        let passed = before.len();
        let text = format!("{before}{piece}");
        let personal = found.map(|hits| {
            let old = kept.passed.len();
            let in_piece = |hit: &Hit| old < hit.end && hit.end <= old + piece.len();
            let moved = hits.into_iter().filter(in_piece).map(|hit| Hit {
                start: hit.start.saturating_sub(old) + passed,
                end: hit.end - old + passed,
                ..hit
            });
            moved.map(|hit| finding(hit, &text, key)).collect()
        });
        let moved =
            hits.into_iter().map(|hit| Hit { start: hit.start + passed, end: hit.end + passed, ..hit });
        let secrets = moved.map(|hit| finding(hit, &text, key)).collect();
        let slice = (name, slice.version);
        Ok(StreamChunk { slice, passed, text, secrets, personal, overlong, is_last, kept, place })
    }

    /// The findings of another detector, less those in what has passed: they were judged then.
    pub(crate) fn new_ones(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        findings.retain(|finding| finding.at != TEXT || finding.end > self.passed);
        findings
    }

    /// Notes in a decision, as it is recorded, what is kept for the next chunk.
    pub(crate) fn conclude(&self, decision: &mut Decision, key: &[u8]) -> EngineResult {
        let (name, version) = &self.slice;
        if decision.effect == Effect::Escalate {
            // A person is asked about this chunk. It comes again, and meets the stream as it was.
            return Ok(());
        }
        if self.is_last || !decision.effect.allows() {
            if *version > 0 {
                decision.changes.remove(name);
            }
            return Ok(());
        }
        let passed = if has_consequences(decision) {
            // Text that had consequences must not have them again with every chunk.
            String::new()
        } else {
            let content = decision.content.as_deref().unwrap_or_default();
            last_window(&format!("{}{content}", self.kept.passed)).to_owned()
        };
        let kept = json!({"tail": self.kept.tail, "passed": passed});
        let sealed = seal::seal(key, &self.place, kept.to_string().as_bytes());
        let sealed = sealed.ok_or_else(|| EngineError::Stream(name.clone()))?;
        decision.changes.set(name, Value::String(sealed));
        Ok(())
    }
}

/// Whether a guardrail scans a chunk for personal data. More text is held back then.
fn looks_for_personal_data(policy: &Policy, event: &Event) -> bool {
    let nothing_known = (Session::default(), Facts::default());
    let needs = evaluate(policy, &nothing_known.0, &nothing_known.1, event, &NoMeter).needs;
    needs.facts.contains(&FactKey::PersonalData)
}

/// The number of bytes that can be released without cutting a finding in two.
fn releasable(tail: &ResumableScan, personal: Option<&[Hit]>, before: usize, is_last: bool) -> usize {
    let Some(hits) = personal.filter(|_| !is_last) else { return tail.fit(usize::MAX) };
    let mut bytes = tail.fit(tail.held().len().saturating_sub(2 * personal::CONTEXT_BYTES));
    loop {
        let end = before + bytes;
        let cut = hits.iter().find(|hit| hit.start < end && end < hit.end);
        let shorter = cut.map_or(bytes, |hit| tail.fit(hit.start.saturating_sub(before)));
        if shorter == bytes {
            return bytes;
        }
        bytes = shorter;
    }
}

/// The number of bytes that can be released, if the last words are held back. A word may go on with the next chunk.
fn without_words(tail: &ResumableScan, bytes: usize, words: usize) -> usize {
    let text = tail.held().get(..bytes).unwrap_or_default();
    let mut end = text.len();
    for _ in 0..words {
        let before = text.get(..end).unwrap_or_default().trim_end_matches(|c: char| !c.is_whitespace());
        end = before.trim_end_matches(char::is_whitespace).len();
    }
    tail.fit(end)
}

/// The released text, without the secrets that only the new text reveals.
fn hidden(before: &str, piece: &str, hits: &[Hit], key: &[u8]) -> String {
    if hits.is_empty() {
        return before.to_owned();
    }
    let findings: Vec<Finding> = hits.iter().map(|hit| finding(hit.clone(), piece, key)).collect();
    Mask::new(&json!({"text": piece}), &findings).text(before)
}

fn finding(hit: Hit, text: &str, key: &[u8]) -> Finding {
    Finding {
        kind: hit.kind.to_owned(),
        at: TEXT.to_owned(),
        start: hit.start,
        end: hit.end,
        severity: hit.severity,
        confidence: hit.confidence,
        fingerprint: secrets::fingerprint(text.get(hit.start..hit.end).unwrap_or_default(), key),
        explanation: hit.explanation.into_owned(),
    }
}

/// Whether a decision lets text pass and leads to something all the same: a warning, a strike, a note, an approval that
/// is used up.
fn has_consequences(decision: &Decision) -> bool {
    let warns =
        |verdict: &midrail_core::VerdictRecord| verdict.effect == Some(Effect::Warn) && !verdict.shadow;
    let uses_approval = || decision.changes.0.keys().any(|key| key.starts_with("approval/"));
    decision.verdicts.iter().any(warns)
        || !decision.effects.is_empty()
        || !decision.feedback.is_empty()
        || uses_approval()
}

/// The end of a text, from the start of a word if there is one.
fn last_window(text: &str) -> &str {
    let mut start = text.len().saturating_sub(WINDOW);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let end = text.get(start..).unwrap_or_default();
    let word = end.char_indices().take(WINDOW / 2).find(|(_, letter)| letter.is_whitespace());
    match word.filter(|_| start > 0) {
        Some((at, _)) => end.get(at..).unwrap_or_default(),
        None => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_text_is_bounded_and_starts_at_a_word() {
        assert_eq!(last_window("short text"), "short text");
        let long = "wörter und mehr ".repeat(200);
        let end = last_window(&long);
        assert!(end.len() <= WINDOW && long.ends_with(end) && end.starts_with(' '), "{end}");
        let one = "é".repeat(2_000);
        assert_eq!(last_window(&one).len(), WINDOW);
    }
}
