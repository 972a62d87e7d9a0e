//! Where each host keeps its permission rules.

use std::path::{Path, PathBuf};

use midrail_adapters::hosts;
use midrail_adapters::policy::FileScope;
use midrail_adapters::setup::Environment;

const FILES: [(&str, &[&str]); 6] = [
    (
        "claude-code",
        &[
            "/r/etc/claude-code/managed-settings.json",
            "/r/etc/claude-code/managed-settings.d/*.json",
            "/p/.claude/settings.local.json",
            "/p/.claude/settings.json",
            "/h/.claude/settings.json",
        ],
    ),
    ("codex", &["/r/etc/codex/rules/*.rules", "/p/.codex/rules/*.rules", "/h/.codex/rules/*.rules"]),
    ("copilot", &["/p/.vscode/settings.json", "/h/.config/Code/User/settings.json"]),
    (
        "cursor",
        &[
            "/p/.cursor/cli.json",
            "/p/.cursor/permissions.json",
            "/h/.cursor/cli-config.json",
            "/h/.cursor/permissions.json",
        ],
    ),
    (
        "gemini",
        &["/r/etc/gemini-cli/policies/*.toml", "/p/.gemini/policies/*.toml", "/h/.gemini/policies/*.toml"],
    ),
    (
        "opencode",
        &[
            "/p/opencode.json",
            "/p/opencode.jsonc",
            "/h/.config/opencode/opencode.json",
            "/h/.config/opencode/opencode.jsonc",
        ],
    ),
];

#[test]
fn each_host_has_its_files_the_highest_scope_first() {
    let mut env = Environment::at(Path::new("/p"), Path::new("/h"));
    env.root = PathBuf::from("/r");
    assert_eq!(hosts::ALL.len(), FILES.len());
    for (host, (name, expected)) in hosts::ALL.iter().zip(FILES) {
        assert_eq!(host.policy.name, name);
        let files = host.policy_files(&env);
        assert!(files.is_sorted_by_key(|(scope, _)| *scope), "{name}: {files:?}");
        let paths: Vec<String> = files.iter().map(|(_, path)| path.display().to_string()).collect();
        assert_eq!(paths, expected, "{name}");
        let folder = |scope: &FileScope| match scope {
            FileScope::Managed => "/r",
            FileScope::Local | FileScope::Project => "/p",
            FileScope::User => "/h",
        };
        assert!(files.iter().all(|(scope, path)| path.starts_with(folder(scope))), "{name}: {files:?}");
    }
}
