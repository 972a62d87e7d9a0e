//! Where hosts keep their permission rules.

use std::path::PathBuf;

use super::host::PolicyHost;
use super::rule::FileScope;
use crate::setup::Environment;

/// The files in which a host looks for rules, the highest scope first. A path that ends in `*.EXTENSION` stands for all such
/// files of a folder. Some of them may not exist.
pub fn usual_files(host: PolicyHost, env: &Environment) -> Vec<(FileScope, PathBuf)> {
    let (home, project) = (&env.home, &env.project);
    let etc = env.root.join("etc");
    match host {
        PolicyHost::ClaudeCode => {
            let own = env.variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude"));
            vec![
                (FileScope::Managed, etc.join("claude-code/managed-settings.json")),
                (FileScope::Managed, etc.join("claude-code/managed-settings.d/*.json")),
                (FileScope::Local, project.join(".claude/settings.local.json")),
                (FileScope::Project, project.join(".claude/settings.json")),
                (FileScope::User, own.join("settings.json")),
            ]
        }
        PolicyHost::Codex => {
            let own = env.variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
            vec![
                (FileScope::Managed, etc.join("codex/rules/*.rules")),
                (FileScope::Project, project.join(".codex/rules/*.rules")),
                (FileScope::User, own.join("rules/*.rules")),
            ]
        }
        PolicyHost::Gemini => vec![
            (FileScope::Managed, etc.join("gemini-cli/policies/*.toml")),
            (FileScope::Project, project.join(".gemini/policies/*.toml")),
            (FileScope::User, home.join(".gemini/policies/*.toml")),
        ],
        PolicyHost::Cursor => {
            let own = env.variable("CURSOR_CONFIG_DIR").unwrap_or_else(|| home.join(".cursor"));
            vec![
                (FileScope::Project, project.join(".cursor/cli.json")),
                (FileScope::Project, project.join(".cursor/permissions.json")),
                (FileScope::User, own.join("cli-config.json")),
                (FileScope::User, own.join("permissions.json")),
            ]
        }
        PolicyHost::OpenCode => vec![
            (FileScope::Project, project.join("opencode.json")),
            (FileScope::Project, project.join("opencode.jsonc")),
            (FileScope::User, env.config.join("opencode/opencode.json")),
            (FileScope::User, env.config.join("opencode/opencode.jsonc")),
        ],
        PolicyHost::Copilot => vec![
            (FileScope::Project, project.join(".vscode/settings.json")),
            (FileScope::User, env.config.join("Code/User/settings.json")),
        ],
    }
}
