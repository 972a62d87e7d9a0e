//! The adapters, one module a host.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod opencode;
mod result;

use crate::host::Adapter;

/// Every host that calls `midrail hook`.
pub const ALL: &[&dyn Adapter] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &copilot::Copilot,
    &cursor::Cursor,
    &opencode::OpenCode,
];

/// The plugin through which OpenCode asks Midrail. `@PROGRAM@` in it stands for the program's path.
pub const OPENCODE_PLUGIN: &str = include_str!("hosts/opencode.js");
