//! The rules of a pack in the formats of hosts.

mod flags;
mod lists;
mod ordered;
mod writer;

pub(super) use flags::{codex, copilot};
pub(super) use lists::{claude_code, cursor};
pub(super) use ordered::{gemini, opencode};
pub use writer::Exported;
