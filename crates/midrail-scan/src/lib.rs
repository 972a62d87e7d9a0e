//! Detectors for texts: secrets, personal data and injected instructions, each with its position.
//!
//! The crate reports what it finds; it does not decide what follows from it. The formats, phrases and words that it knows
//! are data files under `data/`, which the build script validates and compiles.
//!
//! `outline` passes over a text once and classifies its bytes, a bit for each. Personal data and injections are looked for at
//! the places that this leaves; [`event::OutlinedEvent`] shares it between them.
//!
//! ```
//! let text = "export GITHUB_TOKEN=ghp_9f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9";
//! let hits = midrail_scan::secrets::scan(text);
//! assert_eq!(hits[0].kind, "github-token");
//! assert_eq!(&text[hits[0].start..hits[0].start + 4], "ghp_");
//! assert_eq!(midrail_scan::secrets::redact(text), "export GITHUB_TOKEN=[redacted:github-token]");
//! ```

mod bytes;
mod choices;
mod data;
pub mod event;
pub mod injection;
mod json_texts;
pub mod names;
mod outline;
pub mod output_digest;
pub mod personal;
pub mod secrets;
pub mod text_pattern;
mod word_sign;
mod words;
