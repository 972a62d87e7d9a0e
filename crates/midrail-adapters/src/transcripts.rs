//! Recorded sessions of coding agents as events. Reads line by line, and keeps only open calls in memory.

mod files;
pub(crate) mod reader;
#[cfg(test)]
mod tests;

pub use files::{ImportItem, InvalidLine, RecordedSession, SessionEvents, find_sessions, read_sessions};
pub use reader::{LineError, Transcript, Transcripts};
