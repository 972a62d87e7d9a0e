//! The state of one session.

use std::collections::BTreeMap;

use super::call::ShownCall;
use super::masks::Masks;
use super::stream::TextStream;

/// The most calls of one session in memory.
pub(super) const MAX_CALLS: usize = 1024;
/// The most notes that wait for the next prompt.
const MAX_NOTES: usize = 32;
/// How much of the agent's text is kept as its output.
const MAX_OUTPUT: usize = 256 << 10;

/// One session.
#[derive(Default)]
pub(super) struct Session {
    pub(super) cwd: Option<String>,
    /// The calls that the agent shows, by id.
    pub(super) calls: BTreeMap<String, ShownCall>,
    /// The text that the agent is sending.
    pub(super) text: Option<TextStream>,
    /// The agent's text in this turn.
    pub(super) output: String,
    /// Notes for the agent with the next prompt.
    notes: Vec<String>,
    /// Guidance for the agent when its turn ends.
    pub(super) guidance: Vec<String>,
    /// Midrail cancelled the turn.
    pub(super) is_stopping: bool,
    /// The run is halted: no further text of the agent is shown.
    pub(super) is_halted: bool,
    /// The editor cancelled the turn.
    pub(super) is_cancelled: bool,
    /// The agent repeats what happened earlier.
    pub(super) is_loading: bool,
    /// What was redacted in files that the agent read.
    pub(super) masks: Masks,
    pub(super) has_started: bool,
    /// How many permission requests wait for the user.
    pub(super) permissions: usize,
}

impl Session {
    /// Adds a note for the next prompt.
    pub(super) fn note(&mut self, text: String) {
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    pub(super) fn add_output(&mut self, text: &str) {
        if self.output.len().saturating_add(text.len()) <= MAX_OUTPUT {
            self.output.push_str(text);
        }
    }

    /// When something is due.
    pub(super) fn next_tick(&self) -> Option<u64> {
        let calls = self.calls.values().filter(|call| !call.is_decided).filter_map(|call| call.due);
        calls.chain(self.text.as_ref().and_then(|text| text.due)).min()
    }
}
