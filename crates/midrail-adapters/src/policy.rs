//! Permission rules of hosts: read into a pack, and written from a pack.
//!
//! Every host has its own format and its own order of rules. `import` reads them into one representation
//! (`rule::PolicyRule`), which `Imported` writes as a pack; `export` goes the other way. Nothing here reads files, except
//! `places`, which only names them.

mod claude_code;
mod codex;
mod command;
mod copilot;
mod cursor;
mod export;
mod gemini;
mod host;
mod json;
mod opencode;
mod ordered;
mod pack;
mod pattern;
mod places;
mod regex;
mod rule;
mod shell_words;
mod starlark;
mod unpack;

pub use export::Exported;
pub use host::PolicyHost;
pub use pack::Imported;
pub use places::usual_files;
pub use rule::{
    CommandPattern, Example, FileScope, Finding, HostPolicy, PolicyFile, PolicyRule, RuleSource, Subject,
    Verdict,
};

impl PolicyHost {
    /// Reads the rules of files, the highest scope first. Files that cannot be read are reported as left out.
    pub fn read(self, files: &[PolicyFile]) -> HostPolicy {
        let mut policy = match self {
            PolicyHost::ClaudeCode => claude_code::read(files),
            PolicyHost::Codex => codex::read(files),
            PolicyHost::Gemini => gemini::read(files),
            PolicyHost::Cursor => cursor::read(files),
            PolicyHost::OpenCode => opencode::read(files),
            PolicyHost::Copilot => copilot::read(files),
        };
        policy.check_patterns();
        policy
    }

    /// Reads the rules of files and writes them as a pack.
    pub fn import(self, files: &[PolicyFile]) -> Imported {
        Imported::new(self, self.read(files))
    }

    /// Writes the rules of a pack (as JSON, as it is serialized) in the host's own format.
    pub fn export(self, pack: &serde_json::Value) -> Exported {
        let unpacked = unpack::unpack(pack);
        match self {
            PolicyHost::ClaudeCode => export::claude_code(unpacked),
            PolicyHost::Codex => export::codex(unpacked),
            PolicyHost::Gemini => export::gemini(unpacked),
            PolicyHost::Cursor => export::cursor(unpacked),
            PolicyHost::OpenCode => export::opencode(unpacked),
            PolicyHost::Copilot => export::copilot(unpacked),
        }
    }
}
