//! Gemini CLI: hooks in its settings. Its time limits are milliseconds.

use super::agent::{Format, Host, InstallScope, after, before, note, prompt, stop};
use super::jsonc::Field;
use super::strict::{PLAIN, Reads};

/// The name of our hooks, by which they could be switched off.
pub(super) const NAME: &str = "midrail";

pub(super) const HOST: Host = Host {
    name: "gemini-cli",
    title: "Gemini CLI",
    programs: &["gemini"],
    traces: |places| vec![places.project.join(".gemini"), places.gemini.clone()],
    file: |places, scope| match scope {
        InstallScope::Project => Some(places.project.join(".gemini/settings.json")),
        InstallScope::User => Some(places.gemini.join("settings.json")),
        InstallScope::Managed => Some(places.system("gemini-cli", "GeminiCli").join("settings.json")),
    },
    format: |_| Format::Groups,
    // Left out: BeforeModel, AfterModel and BeforeToolSelection (a process for every request and every piece of an
    // answer), PreCompress and Notification (they neither act nor tell anything).
    events: &[
        note("SessionStart"),
        prompt("BeforeAgent"),
        before("BeforeTool"),
        after("AfterTool"),
        stop("AfterAgent"),
        note("SessionEnd"),
    ],
    handler: |hooked, command| {
        vec![
            ("type", Field::text("command")),
            ("name", Field::text(NAME)),
            ("command", Field::Text(command)),
            ("timeout", Field::Number(hooked.seconds.saturating_mul(1000))),
        ]
    },
    remarks: |_, scope| match scope {
        InstallScope::Project => {
            vec!["Gemini CLI reads a project's settings only in a folder that it trusts: answer its question so.".to_owned()]
        }
        InstallScope::User | InstallScope::Managed => Vec::new(),
    },
    reads: Reads { comments: true, ..PLAIN },
    any_shell: false,
};
