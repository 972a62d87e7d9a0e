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
mod json;
mod opencode;
mod ordered;
mod pack;
mod places;
mod regex;
mod rule;
mod shell_words;
mod starlark;
mod unpack;

pub use export::Exported;
pub use pack::Imported;
pub use places::usual_files;
pub use rule::{
    CommandPattern, Example, FileScope, Finding, HostPolicy, PolicyFile, PolicyRule, RuleSource, Subject,
    Verdict,
};

/// A host whose permission rules can be read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyHost {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// OpenCode.
    OpenCode,
    /// Copilot CLI and VS Code.
    Copilot,
}

impl PolicyHost {
    /// All hosts.
    pub const ALL: [PolicyHost; 6] = [
        PolicyHost::ClaudeCode,
        PolicyHost::Codex,
        PolicyHost::Gemini,
        PolicyHost::Cursor,
        PolicyHost::OpenCode,
        PolicyHost::Copilot,
    ];

    /// Its name on the command line, and in the ids of imported guardrails.
    pub fn name(self) -> &'static str {
        match self {
            PolicyHost::ClaudeCode => "claude-code",
            PolicyHost::Codex => "codex",
            PolicyHost::Gemini => "gemini",
            PolicyHost::Cursor => "cursor",
            PolicyHost::OpenCode => "opencode",
            PolicyHost::Copilot => "copilot",
        }
    }

    /// Its name in texts.
    pub fn title(self) -> &'static str {
        match self {
            PolicyHost::ClaudeCode => "Claude Code",
            PolicyHost::Codex => "Codex",
            PolicyHost::Gemini => "Gemini CLI",
            PolicyHost::Cursor => "Cursor",
            PolicyHost::OpenCode => "OpenCode",
            PolicyHost::Copilot => "Copilot",
        }
    }

    /// The host with a name.
    pub fn find(name: &str) -> Option<PolicyHost> {
        PolicyHost::ALL.into_iter().find(|host| host.name() == name)
    }

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
