//! Claude Code: hooks in its settings.

use super::agent::{Format, Hooked, Host, InstallScope, Moment, after, before, note, prompt, stop};
use super::jsonc::Field;
use super::places::Environment;
use super::strict::{PLAIN, Reads, Shape};

pub(super) const HOST: Host = Host {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    traces: |places| vec![places.project.join(".claude"), places.claude.clone()],
    file: |places, scope| match scope {
        InstallScope::Project => Some(places.project.join(".claude/settings.json")),
        InstallScope::User => Some(places.claude.join("settings.json")),
        InstallScope::Managed => {
            Some(places.system("claude-code", "ClaudeCode").join("managed-settings.json"))
        }
    },
    format: |_| Format::Groups,
    // Left out: PermissionRequest (PreToolUse was asked already), PostToolBatch (the same results again), MessageDisplay
    // (one process for each piece of text), and what neither acts nor tells anything: compaction, notifications, folders.
    events: &[
        note("SessionStart"),
        prompt("UserPromptSubmit"),
        before("PreToolUse"),
        after("PostToolUse"),
        after("PostToolUseFailure"),
        note("SubagentStart"),
        stop("SubagentStop"),
        stop("Stop"),
        note("StopFailure"),
        // All hooks together have 1.5 s when a session ends.
        Hooked { event: "SessionEnd", moment: Moment::Note, seconds: 1 },
    ],
    handler: |hooked, command| {
        let mut fields = vec![
            ("type", Field::text("command")),
            ("command", Field::Text(command)),
            ("timeout", Field::Number(hooked.seconds)),
        ];
        if hooked.moment.is_gate() {
            // From 2.1.295 on: what takes too long is stopped, too. Older versions pass over it.
            fields.push(("onFailure", Field::text("block")));
        }
        fields
    },
    remarks: |_, scope| {
        match scope {
        InstallScope::Project => vec![
            "Cursor and Copilot CLI read this file, too, and then ask about a call twice; each answer is on record, and \
             the stricter one holds."
                .to_owned(),
        ],
        InstallScope::User | InstallScope::Managed => Vec::new(),
    }
    },
    reads: Reads { mark: true, shape: Shape::Groups, ..PLAIN },
    any_shell: false,
};

/// Files in which hooks can be switched off.
pub(super) fn switches(places: &Environment) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        InstallScope::ALL.into_iter().filter_map(|scope| (HOST.file)(places, scope)).collect();
    files.insert(0, places.project.join(".claude/settings.local.json"));
    files
}
