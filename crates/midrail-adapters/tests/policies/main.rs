//! Permission rules of hosts: realistic settings with the verdicts of the host itself, and what Midrail decides with the
//! imported pack.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are not in a #[test] function"
)]

mod claude_code;
mod codex;
mod codex_program;
mod copilot;
mod corpora;
mod cursor;
mod decided;
mod files;
mod gemini;
mod hostile;
mod opencode;
mod round_trip;
mod samples;
mod vouched;
mod world;
