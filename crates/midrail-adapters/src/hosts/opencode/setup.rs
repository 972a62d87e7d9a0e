//! OpenCode: a plugin in its process, which calls `midrail hook` for every call.

use serde_json::{Value, json};

use crate::host::{HookEvent, Setup};
use crate::setup::command::{self, HookShell};
use crate::setup::environment::InstallScope;
use crate::setup::files::SettingsError;
use crate::setup::format::{HookSet, SettingsFormat};

/// The plugin. It starts the program without a shell.
const PLUGIN: &str = include_str!("plugin.js");

/// The program in the plugin.
const PROGRAM: &str = "\"@PROGRAM@\"";

/// The first words of the plugin of any version.
const HEAD: &str = "// Midrail for OpenCode";

pub(super) const SETUP: Setup = Setup {
    programs: &["opencode"],
    traces: |env| {
        let project = [".opencode", "opencode.json", "opencode.jsonc"].map(|name| env.project.join(name));
        project.into_iter().chain([env.config.join("opencode")]).collect()
    },
    file: |env, scope| match scope {
        InstallScope::Project => Some(env.project.join(".opencode/plugin/midrail.js")),
        InstallScope::User => Some(env.config.join("opencode/plugin/midrail.js")),
        InstallScope::Managed => None,
    },
    format: |_| &Plugin { hook_events: &[] },
    handler: |_, _, command| vec![("command", json!(command))],
    follows_links: true,
    shell: HookShell::Sh,
    remarks: |_, _| Vec::new(),
    trust: None,
    check: |_| Vec::new(),
    disabled_in: |_| Vec::new(),
    blocks_on_timeout_since: None,
    probe: |command, folder| {
        json!({
            "hook_event_name": "tool.execute.before", "cwd": folder, "tool_name": "bash",
            "input": {"tool": "bash", "sessionID": "midrail-doctor", "callID": "call-1"},
            "output": {"args": {"command": command}},
        })
    },
    is_denial: |_| false,
};

/// The plugin as a settings file.
pub(super) struct Plugin {
    pub(super) hook_events: &'static [HookEvent],
}

impl SettingsFormat for Plugin {
    fn install(&self, text: &str, set: &HookSet<'_>) -> Result<String, SettingsError> {
        if !text.is_empty() && !is_ours(text) {
            return Err(
                SettingsError::new("is not Midrail's plugin").help("rename it, then run this command again")
            );
        }
        Ok(plugin(set.program))
    }

    fn remove(&self, text: &str, _: &str, _: Option<&str>) -> Result<Option<String>, SettingsError> {
        Ok(is_ours(text).then(String::new))
    }

    /// All events, or none.
    fn registered(&self, text: &str, host: &str) -> Result<Vec<(String, Value)>, SettingsError> {
        let events = self.hook_events.iter().filter(|_| is_ours(text));
        let hook = |event: &HookEvent| {
            let line = command::line(&program_of(text), host, event.name, event.registration?, HookShell::Sh);
            Some((event.name.to_owned(), json!({"command": line})))
        };
        Ok(events.filter_map(hook).collect())
    }

    fn is_current(&self, text: &str) -> bool {
        text == plugin(&program_of(text))
    }
}

/// The plugin with a program.
pub(super) fn plugin(program: &str) -> String {
    PLUGIN.replace(PROGRAM, &Value::from(program).to_string())
}

fn is_ours(text: &str) -> bool {
    text.starts_with(HEAD)
}

fn program_of(text: &str) -> String {
    let program = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = ")).unwrap_or_default();
    serde_json::from_str(program.trim_end_matches(';')).unwrap_or_default()
}
