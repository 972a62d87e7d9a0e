//! Permission rules of hosts: read into a pack, and written from a pack.
//!
//! Every host has its own format and its own order of rules, which its folder contains (`hosts/NAME/policy.rs`). An import
//! reads them into one representation (`rule::PolicyRule`), which `Imported` writes as a pack; an export goes the other
//! way. Nothing here reads files.

mod cover;
pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod ordered;
mod pack;
pub(crate) mod pattern;
pub(crate) mod precedence;
mod regex;
pub(crate) mod rule;
pub(crate) mod shell_words;
mod stopped;
pub(crate) mod translate;
mod unpack;
pub(crate) mod writer;
mod yaml;

pub use format::PolicyFormat;
pub use pack::Imported;
pub use rule::{FileScope, Finding, PolicyFile, RuleSource};
pub use writer::Exported;
