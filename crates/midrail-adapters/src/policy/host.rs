//! The hosts whose permission rules can be read and written.

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
}
