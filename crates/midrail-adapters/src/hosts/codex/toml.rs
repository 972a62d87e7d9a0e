//! Hooks and trust in Codex's TOML files. Every byte that is not Midrail's stays.

use serde_json::{Map, Value as Json};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, value};

use crate::setup::command;
use crate::setup::files::{LEFT_UNCHANGED, SettingsError, SettingsResult, position};
use crate::setup::format::{HookSet, SettingsFormat};

/// The hooks of a machine, in its requirements.
pub(super) struct TomlFormat;

impl SettingsFormat for TomlFormat {
    /// Also enables the feature that runs hooks.
    fn install(&self, text: &str, set: &HookSet<'_>) -> SettingsResult<String> {
        let mut document = parse(text)?;
        let features = table(document.as_table_mut(), "features", false)?;
        match features.get_mut("hooks").and_then(Item::as_value_mut) {
            Some(old) if old.as_bool() == Some(true) => {}
            // Its comment stays.
            Some(old) => {
                let decor = old.decor().clone();
                *old = true.into();
                *old.decor_mut() = decor;
            }
            None => _ = features.insert("hooks", value(true)),
        }
        let hooks = table(document.as_table_mut(), "hooks", true)?;
        for (event, fields) in &set.hooks {
            let list = hooks.entry(event).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
            let Some(list) = list.as_array_of_tables_mut() else {
                return Err(not_a("list of tables", &format!("hooks.{event}")));
            };
            let ours = list.iter().find_map(|group| only_handler(group, set.host));
            let wanted: Map<String, Json> =
                fields.iter().map(|(name, field)| ((*name).to_owned(), field.clone())).collect();
            if ours.map(as_json) != Some(Json::Object(wanted)) {
                remove_ours(list, set.host);
                list.push(group(fields));
            }
        }
        Ok(with_line_ends(&document, text))
    }

    /// The feature is reset to what it was.
    fn remove(&self, text: &str, host: &str, before: Option<&str>) -> SettingsResult<Option<String>> {
        let mut document = parse(text)?;
        let before = before.and_then(|before| parse(before).ok()).unwrap_or_default();
        let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_mut) else { return Ok(None) };
        let mut is_changed = false;
        let events: Vec<String> = hooks.iter().map(|(event, _)| event.to_owned()).collect();
        for event in events {
            let Some(list) = hooks.get_mut(&event).and_then(Item::as_array_of_tables_mut) else { continue };
            is_changed |= remove_ours(list, host);
            if list.is_empty() {
                hooks.remove(&event);
            }
        }
        if !is_changed {
            return Ok(None);
        }
        if let Some(features) = document.get_mut("features").and_then(Item::as_table_mut) {
            match before.get("features").and_then(|features| features.get("hooks")) {
                Some(had) => _ = features.insert("hooks", had.clone()),
                None => _ = features.remove("hooks"),
            }
        }
        for name in ["hooks", "features"] {
            let is_empty = document.get(name).and_then(Item::as_table).is_some_and(Table::is_empty);
            if is_empty && !before.contains_key(name) {
                document.remove(name);
            }
        }
        Ok(Some(with_line_ends(&document, text)))
    }

    fn registered(&self, text: &str, host: &str) -> SettingsResult<Vec<(String, Json)>> {
        let document = parse(text)?;
        let mut found = Vec::new();
        for (event, list) in document.get("hooks").and_then(Item::as_table).into_iter().flat_map(Table::iter)
        {
            let groups = list.as_array_of_tables().into_iter().flat_map(ArrayOfTables::iter);
            // A group with a matcher covers some tools only.
            let ours = groups.filter(|group| group.len() == 1).filter_map(|group| only_handler(group, host));
            found.extend(ours.map(|handler| (event.to_owned(), as_json(handler))));
        }
        Ok(found)
    }
}

/// Trusts hooks: their keys with their hashes.
pub(super) fn trust(text: &str, hooks: &[(String, String)]) -> SettingsResult<String> {
    let mut document = parse(text)?;
    let state = table(table(document.as_table_mut(), "hooks", true)?, "state", true)?;
    for (key, hash) in hooks {
        let entry = table(state, key, false)?;
        if entry.get("trusted_hash").and_then(Item::as_str) != Some(hash) {
            entry.insert("trusted_hash", value(hash.as_str()));
        }
    }
    Ok(with_line_ends(&document, text))
}

/// Removes the trust in the hooks of a file; `None` if none is trusted.
pub(super) fn distrust(text: &str, file: &str, before: Option<&str>) -> SettingsResult<Option<String>> {
    let mut document = parse(text)?;
    let before = before.and_then(|before| parse(before).ok()).unwrap_or_default();
    let prefix = format!("{file}:");
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_mut) else { return Ok(None) };
    let Some(state) = hooks.get_mut("state").and_then(Item::as_table_mut) else { return Ok(None) };
    let trusted = state.len();
    state.retain(|key, _| !key.starts_with(&prefix));
    if state.len() == trusted {
        return Ok(None);
    }
    let had = before.get("hooks");
    if state.is_empty() && had.and_then(|hooks| hooks.get("state")).is_none() {
        hooks.remove("state");
    }
    if hooks.is_empty() && had.is_none() {
        document.remove("hooks");
    }
    Ok(Some(with_line_ends(&document, text)))
}

/// A string in a document.
pub(super) fn text_at(text: &str, path: &[&str]) -> Option<String> {
    let document = parse(text).ok()?;
    let item = path.iter().try_fold(document.as_item(), |item, key| item.get(key))?;
    item.as_str().map(str::to_owned)
}

/// A boolean in a document; `None` if it is not set.
pub(super) fn flag_at(text: &str, path: &[&str]) -> SettingsResult<Option<bool>> {
    let document = parse(text)?;
    let item = path.iter().try_fold(document.as_item(), |item, key| item.get(key));
    Ok(item.and_then(Item::as_bool))
}

/// The keys of hooks that are disabled one by one.
pub(super) fn disabled_hooks(text: &str) -> Vec<String> {
    let document = parse(text).unwrap_or_default();
    let state = document.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Item::as_table_like);
    let entries = state.into_iter().flat_map(TableLike::iter);
    let is_off = |item: &Item| item.get("enabled").is_some_and(|it| it.as_bool() != Some(true));
    entries.filter(|(_, item)| is_off(item)).map(|(key, _)| key.to_owned()).collect()
}

/// A table in a table. An implicit one has no line of its own.
fn table<'t>(parent: &'t mut Table, name: &str, implicit: bool) -> SettingsResult<&'t mut Table> {
    let item = parent.entry(name).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(implicit);
        Item::Table(table)
    });
    item.as_table_mut().ok_or_else(|| not_a("table with a line of its own", name))
}

fn group(fields: &[(&'static str, Json)]) -> Table {
    let mut handler = Table::new();
    for (name, field) in fields {
        let item = match field {
            Json::Number(number) => value(number.as_i64().unwrap_or_default()),
            field => value(field.as_str().unwrap_or_default()),
        };
        handler.insert(name, item);
    }
    let mut handlers = ArrayOfTables::new();
    handlers.push(handler);
    let mut group = Table::new();
    group.insert("hooks", Item::ArrayOfTables(handlers));
    group
}

fn handlers(group: &Table) -> Option<&ArrayOfTables> {
    group.get("hooks")?.as_array_of_tables()
}

/// The only handler of a group, if it is Midrail's.
fn only_handler<'g>(group: &'g Table, host: &str) -> Option<&'g Table> {
    handlers(group).filter(|handlers| handlers.len() == 1)?.get(0).filter(|handler| is_ours(handler, host))
}

fn is_ours(handler: &Table, host: &str) -> bool {
    handler.get("command").and_then(Item::as_str).is_some_and(|line| command::is_ours(line, host))
}

fn remove_ours(list: &mut ArrayOfTables, host: &str) -> bool {
    let mut is_changed = false;
    for group in list.iter_mut() {
        if let Some(handlers) = group.get_mut("hooks").and_then(Item::as_array_of_tables_mut) {
            let all = handlers.len();
            handlers.retain(|handler| !is_ours(handler, host));
            is_changed |= handlers.len() < all;
        }
    }
    list.retain(|group| handlers(group).is_none_or(|handlers| !handlers.is_empty()));
    is_changed
}

fn as_json(handler: &Table) -> Json {
    let field = |item: &Item| match (item.as_str(), item.as_integer(), item.as_bool()) {
        (Some(text), ..) => Json::from(text),
        (_, Some(number), _) => Json::from(number),
        (_, _, Some(flag)) => Json::from(flag),
        _ => Json::Null,
    };
    Json::Object(handler.iter().map(|(name, item)| (name.to_owned(), field(item))).collect())
}

fn not_a(kind: &str, name: &str) -> SettingsError {
    SettingsError::new(format!("`{name}` is not a {kind}"))
        .help(format!("write it as one, then run this command again; {LEFT_UNCHANGED}"))
}

/// A document with the line ends of its text.
fn with_line_ends(document: &DocumentMut, text: &str) -> String {
    let written = document.to_string();
    let ends = text.matches('\n').count();
    if ends == 0 || text.matches("\r\n").count() < ends {
        return written;
    }
    written.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn parse(text: &str) -> SettingsResult<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let invalid = SettingsError::new(format!("is not valid TOML: {}", error.message()))
            .help(format!("fix the file, then run this command again; {LEFT_UNCHANGED}"));
        match error.span() {
            Some(span) => invalid.at(position(text, span.start)),
            None => invalid,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;
    use crate::setup::environment::InstallScope;

    #[test]
    fn line_ends_are_kept() {
        let text = "a = 1\r\n\r\n[features]\r\nother = true\r\n";
        let installed =
            hosts::find("codex").unwrap().install(InstallScope::Managed, text, "midrail").unwrap();
        assert!(!installed.replace("\r\n", "").contains('\n'), "{installed:?}");
        assert_eq!(
            hosts::find("codex")
                .unwrap()
                .remove(InstallScope::Managed, &installed, Some(text))
                .unwrap()
                .as_deref(),
            Some(text)
        );
        let trusted = trust(text, &[("/p:x:0:0".to_owned(), "sha256:1".to_owned())]).unwrap();
        assert!(!trusted.replace("\r\n", "").contains('\n'), "{trusted:?}");
        assert_eq!(distrust(&trusted, "/p", Some(text)).unwrap().as_deref(), Some(text));
    }
}
