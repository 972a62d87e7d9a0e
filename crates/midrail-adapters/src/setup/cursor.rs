//! Cursor: hooks in `hooks.json`. It takes none at all from a file that names an event which it does not know, so the
//! names here are those that its own hook engine has.

use super::agent::{Format, Host, InstallScope, Moment, after, before, note, prompt, stop};
use super::jsonc::Field;
use super::strict::{PLAIN, Reads, Shape};

/// Every event that Cursor knows.
pub(super) const EVENTS: &[&str] = &[
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "beforeShellExecution",
    "afterShellExecution",
    "beforeMCPExecution",
    "afterMCPExecution",
    "beforeReadFile",
    "afterFileEdit",
    "beforeTabFileRead",
    "afterTabFileEdit",
    "beforeSubmitPrompt",
    "afterAgentResponse",
    "afterAgentThought",
    "sessionStart",
    "sessionEnd",
    "preCompact",
    "subagentStart",
    "subagentStop",
    "stop",
    "workspaceOpen",
];

pub(super) const HOST: Host = Host {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor-agent", "cursor"],
    traces: |places| vec![places.project.join(".cursor"), places.home.join(".cursor")],
    file: |places, scope| match scope {
        InstallScope::Project => Some(places.project.join(".cursor/hooks.json")),
        InstallScope::User => Some(places.home.join(".cursor/hooks.json")),
        InstallScope::Managed => Some(places.system("cursor", "Cursor").join("hooks.json")),
    },
    format: |_| Format::Flat,
    // Left out: beforeShellExecution, beforeMCPExecution and beforeReadFile (preToolUse was asked about the same call; a
    // second question would use an approval up twice), what comes after those, and what neither acts nor tells anything.
    events: &[
        note("sessionStart"),
        prompt("beforeSubmitPrompt"),
        before("preToolUse"),
        after("postToolUse"),
        after("postToolUseFailure"),
        before("subagentStart"),
        stop("subagentStop"),
        stop("stop"),
        note("sessionEnd"),
    ],
    handler: |hooked, command| {
        let mut fields = vec![("command", Field::Text(command)), ("timeout", Field::Number(hooked.seconds))];
        if matches!(hooked.moment, Moment::Prompt | Moment::Before) {
            fields.push(("failClosed", Field::Flag(true)));
        }
        fields
    },
    remarks: |_, _| Vec::new(),
    reads: Reads { comments: true, shape: Shape::Commands, ..PLAIN },
    // Cursor starts hooks with the user's own shell.
    any_shell: true,
};
