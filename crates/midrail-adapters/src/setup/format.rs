//! The formats of settings files in which hooks are registered.

use serde_json::Value;

use super::files::SettingsResult;

/// The hooks that Midrail registers with a host.
pub(crate) struct HookSet<'h> {
    /// The host's name.
    pub(crate) host: &'h str,
    /// The program that hooks run.
    pub(crate) program: &'h str,
    /// Each event with the fields of its registration.
    pub(crate) hooks: Vec<(&'static str, Vec<(&'static str, Value)>)>,
}

/// A format of settings files.
pub(crate) trait SettingsFormat: Sync {
    /// Registers hooks and replaces those of an older version.
    fn install(&self, text: &str, set: &HookSet<'_>) -> SettingsResult<String>;

    /// Removes Midrail's hooks; `None` if there are none. Containers that are empty then are removed unless `before` had
    /// them.
    fn remove(&self, text: &str, host: &str, before: Option<&str>) -> SettingsResult<Option<String>>;

    /// Midrail's hooks: event and registration.
    fn registered(&self, text: &str, host: &str) -> SettingsResult<Vec<(String, Value)>>;

    /// The program of a plugin, which calls it for every event.
    fn plugin_program(&self, _: &str) -> Option<String> {
        None
    }

    /// Rejects a file that the host would ignore.
    fn check(&self, _: &str) -> SettingsResult {
        Ok(())
    }

    /// Whether a file is as this version writes it, apart from its hooks.
    fn is_current(&self, _: &str) -> bool {
        true
    }
}
