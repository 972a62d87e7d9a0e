//! OpenCode: a plugin in its own process, which hands every call to `midrail hook`.

use serde_json::{Value, json};

use super::agent::{Format, Host, InstallScope, after, before, prompt};
use super::strict::PLAIN;
use crate::hosts::OPENCODE_PLUGIN;

/// What stands in the plugin for the program.
const PROGRAM: &str = "\"@PROGRAM@\"";

/// The first words of the plugin, by which it is known.
const HEAD: &str = "// Midrail for OpenCode";

pub(super) const HOST: Host = Host {
    name: "opencode",
    title: "OpenCode",
    programs: &["opencode"],
    traces: |places| {
        vec![
            places.project.join(".opencode"),
            places.project.join("opencode.json"),
            places.project.join("opencode.jsonc"),
            places.config.join("opencode"),
        ]
    },
    file: |places, scope| match scope {
        InstallScope::Project => Some(places.project.join(".opencode/plugin/midrail.js")),
        InstallScope::User => Some(places.config.join("opencode/plugin/midrail.js")),
        InstallScope::Managed => None,
    },
    format: |_| Format::Plugin,
    // What the plugin asks about before something happens, or is passed on. It also tells how sessions begin and end.
    events: &[prompt("chat.message"), before("tool.execute.before"), after("tool.execute.after")],
    handler: |_, _| Vec::new(),
    remarks: |_, _| Vec::new(),
    reads: PLAIN,
    any_shell: false,
};

/// The plugin with the program in it.
pub(super) fn plugin(program: &str) -> String {
    // The program is started without a shell, so its path stands there as it is.
    OPENCODE_PLUGIN.replace(PROGRAM, &Value::from(program).to_string())
}

/// Whether a text is the plugin, of this version or another.
pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with(HEAD)
}

fn program_of(text: &str) -> String {
    let program = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = ")).unwrap_or_default();
    serde_json::from_str(program.trim_end_matches(';')).unwrap_or_default()
}

/// Whether a text is the plugin of this version, whatever its program.
pub(super) fn is_as_written(text: &str) -> bool {
    text == plugin(&program_of(text))
}

/// What is registered by a plugin: all of it, or nothing.
pub(super) fn registered(text: &str) -> Vec<(String, Value)> {
    if !is_ours(text) {
        return Vec::new();
    }
    let program = program_of(text);
    let one = |hooked: &super::agent::Hooked| {
        let command = super::command::line(&super::command::quote(&program), &HOST, hooked);
        (hooked.event.to_owned(), json!({"command": command}))
    };
    HOST.events.iter().map(one).collect()
}
