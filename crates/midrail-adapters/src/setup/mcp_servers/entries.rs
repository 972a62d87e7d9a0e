//! The entries of servers in a settings file, and their commands.

use super::tree::{Node, Value};
use crate::setup::files::SettingsResult;

/// The fields with an address.
pub(super) const ADDRESSES: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// The names and fields of all servers.
pub(super) fn entries<'t>(tree: &'t Value, fields: &[&str]) -> SettingsResult<Vec<(&'t str, &'t Value)>> {
    let mut found = Vec::new();
    for path in fields {
        let mut level = vec![tree];
        for name in path.split('.').filter(|name| !name.is_empty()) {
            let mut next = Vec::new();
            for value in level {
                match name {
                    "*" => next.extend(value.fields().iter().map(|field| &field.value)),
                    name => next.extend(value.field(name)?.map(|field| &field.value)),
                }
            }
            level = next;
        }
        for field in level.into_iter().flat_map(Value::fields) {
            if matches!(field.value.node, Node::Table { .. }) {
                found.push((field.name.as_str(), &field.value));
            }
        }
    }
    Ok(found)
}

/// The words of a server's command, which is a list, or a program next to a list of arguments.
pub(super) fn words(server: &Value) -> Option<Vec<String>> {
    let field =
        |name: &str| server.fields().iter().find(|field| field.name == name).map(|field| &field.value);
    let command = field("command")?;
    if let Some(program) = command.text() {
        let args = field("args").map_or(Some(Vec::new()), Value::texts)?;
        let words: Vec<String> = [program.to_owned()].into_iter().chain(args).collect();
        return (!program.is_empty()).then_some(words);
    }
    command.texts().filter(|words| !words.is_empty())
}
