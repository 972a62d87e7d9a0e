//! Files of Midrail and settings of agents that the arguments of an unknown tool name, wherever in them.

use midrail_core::{Action, ActionType, Danger, Severity, ToolCall};
use serde_json::Value;

use super::names::{bare_name, has_word, kind_by_words, known};
use crate::command::named::{QUOTES, paths_in_code, paths_in_word};
use crate::words::tools::{
    DATABASE_WORDS, EDITORS, PROSE_ARGS, QUERY_ARGS, RUNNABLE_ARGS, SEARCHES, SETTING_ARGS, TERMINAL_WORDS,
    TYPED_ARGS, VALUE_ARGS,
};

/// How deep arguments are read.
const MAX_DEPTH: usize = 16;

/// The finding for a tool whose arguments name such a file, unless it is known what the tool does with it.
pub(super) fn danger(tool: &ToolCall, action: &Action) -> Option<Danger> {
    let name = bare_name(&tool.name);
    if known(name).is_some() || SEARCHES.contains(name) || EDITORS.contains(name) {
        return None;
    }
    if changes_hooks(tool) {
        return Some(Danger {
            rule: "midrail-agent-settings".to_owned(),
            severity: Severity::Medium,
            reason: "changes a setting of the agent's hooks, which call its guardrails".to_owned(),
            safer: "report to the user which change you need".to_owned(),
            command: tool.name.clone(),
            ..Danger::default()
        });
    }
    let is_database = DATABASE_WORDS.iter().any(|word| has_word(&tool.name, word));
    if !is_database
        && (action.kind == ActionType::FileRead || kind_by_words(name) == Some(ActionType::FileRead))
    {
        return None;
    }
    let is_terminal = TERMINAL_WORDS.iter().any(|word| has_word(&tool.name, word));
    let mut targets = Vec::new();
    for (name, value) in &tool.args {
        collect(name, value, [is_database, is_terminal], 0, &mut targets);
    }
    targets.retain(|path| !action.reads.contains(path));
    let first = targets.first()?;
    Some(Danger {
        rule: "midrail-named".to_owned(),
        severity: Severity::Medium,
        reason: format!("is given '{first}' and may change it"),
        safer: "use a tool that only reads the file, or ask a person to change it".to_owned(),
        command: tool.name.clone(),
        targets,
        ..Danger::default()
    })
}

/// Adds the paths in an argument of a tool that is of a database or of a terminal.
fn collect(name: &str, value: &Value, kinds: [bool; 2], depth: usize, paths: &mut Vec<String>) {
    let [is_database, is_terminal] = kinds;
    let is_query = (is_database && QUERY_ARGS.contains(name)) || (is_terminal && TYPED_ARGS.contains(name));
    if depth > MAX_DEPTH || (PROSE_ARGS.contains(name) && !is_query) {
        return;
    }
    match value {
        Value::String(text) if text.contains(char::is_whitespace) || is_query => {
            paths.extend(paths_in_code(
                text,
                &[QUOTES, &['`']].concat(),
                is_query || RUNNABLE_ARGS.contains(name),
            ));
        }
        Value::String(text) => paths.extend(paths_in_word(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(name, item, kinds, depth + 1, paths)),
        Value::Object(map) => {
            map.iter().for_each(|(name, value)| collect(name, value, kinds, depth + 1, paths));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a tool gives a setting about hooks a value: `Config {"setting": "disableAllHooks", "value": true}`.
fn changes_hooks(tool: &ToolCall) -> bool {
    let is_about_hooks = |name: &&str| {
        let setting = tool.args.get(*name).and_then(Value::as_str);
        setting.is_some_and(|setting| setting.len() < 64 && setting.to_ascii_lowercase().contains("hook"))
    };
    let is_settings = ["config", "setting", "settings", "option", "options", "preference", "preferences"]
        .iter()
        .any(|word| has_word(&tool.name, word));
    is_settings
        && SETTING_ARGS.iter().any(is_about_hooks)
        && VALUE_ARGS.iter().any(|name| tool.args.contains_key(*name))
}
