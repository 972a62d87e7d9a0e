//! OpenCode: a plugin in its process, which calls `midrail hook` for every call.

use serde_json::{Value, json};

use crate::host::Setup;
use crate::setup::files::{SettingsError, SettingsResult};
use crate::setup::format::{HookSet, SettingsFormat};

/// The plugin. It starts the program without a shell.
const PLUGIN: &str = include_str!("plugin.js");

/// The program in the plugin.
const PROGRAM: &str = "\"@PROGRAM@\"";

/// The first words of the plugin of any version.
const HEAD: &str = "// Midrail for OpenCode";

pub(in crate::hosts) const SETUP: Setup = Setup {
    format: |_| &Plugin,
    handler: |_, _, command| vec![("command", json!(command))],
    trust: None,
    check: |_| Vec::new(),
    disabled_in: |_| Vec::new(),
    probe: include_str!("probe.json"),
    is_denial: |_| false,
};

/// The plugin as a settings file.
struct Plugin;

impl SettingsFormat for Plugin {
    fn install(&self, text: &str, set: &HookSet<'_>) -> SettingsResult<String> {
        if !text.is_empty() && !is_ours(text) {
            return Err(
                SettingsError::new("is not Midrail's plugin").help("rename it, then run this command again")
            );
        }
        Ok(plugin(set.program))
    }

    fn remove(&self, text: &str, _: &str, _: Option<&str>) -> SettingsResult<Option<String>> {
        Ok(is_ours(text).then(String::new))
    }

    fn registered(&self, _: &str, _: &str) -> SettingsResult<Vec<(String, Value)>> {
        Ok(Vec::new())
    }

    fn plugin_program(&self, text: &str) -> Option<String> {
        is_ours(text).then(|| program_of(text))
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
