//! Hooks and trust in TOML: put in and taken out, with every other byte left as it is.

use serde_json::{Map, Value as Json};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::agent::Host;
use super::files::place;
use super::jsonc::{Field, Flaw, Wanted};

/// Registers hooks, and keeps the feature on that runs them.
pub(super) fn install(text: &str, host: &Host, wanted: &[Wanted]) -> Result<String, Flaw> {
    let mut document = parse(text)?;
    let features = table(document.as_table_mut(), "features", false)?;
    if features.get("hooks").and_then(Item::as_bool) != Some(true) {
        match features.get_mut("hooks").and_then(Item::as_value_mut) {
            // The comment behind it stays.
            Some(old) => {
                let decor = old.decor().clone();
                *old = true.into();
                *old.decor_mut() = decor;
            }
            None => {
                features.insert("hooks", value(true));
            }
        }
    }
    let hooks = table(document.as_table_mut(), "hooks", true)?;
    for (event, fields) in wanted {
        let list = hooks.entry(event).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        let Some(list) = list.as_array_of_tables_mut() else {
            return Err(not_a("list of tables", &format!("hooks.{event}")));
        };
        let at = list.iter().position(|group| is_ours_alone(group, host));
        if at.and_then(|at| list.get(at)).and_then(handler).map(as_json) == Some(wanted_json(fields)) {
            continue;
        }
        take_out(list, host);
        list.push(group(fields));
    }
    Ok(written(&document, text))
}

/// Takes our hooks out; `None` if there are none. The feature stays on if it was on before, and goes if it was not there.
pub(super) fn remove(text: &str, host: &Host, before: Option<&str>) -> Result<Option<String>, Flaw> {
    let mut document = parse(text)?;
    let before = before.and_then(|before| parse(before).ok()).unwrap_or_default();
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_mut) else { return Ok(None) };
    let mut is_changed = false;
    let events: Vec<String> = hooks.iter().map(|(event, _)| event.to_owned()).collect();
    for event in events {
        let Some(list) = hooks.get_mut(&event).and_then(Item::as_array_of_tables_mut) else { continue };
        is_changed |= take_out(list, host);
        if list.is_empty() {
            hooks.remove(&event);
        }
    }
    if !is_changed {
        return Ok(None);
    }
    if hooks.is_empty() && !before.contains_key("hooks") {
        document.remove("hooks");
    }
    if let Some(features) = document.get_mut("features").and_then(Item::as_table_mut) {
        match before.get("features").and_then(|features| features.get("hooks")) {
            // What the administrator had said.
            Some(had) => {
                features.insert("hooks", had.clone());
            }
            None => {
                features.remove("hooks");
                if features.is_empty() && !before.contains_key("features") {
                    document.remove("features");
                }
            }
        }
    }
    Ok(Some(written(&document, text)))
}

/// Our registrations in a text.
pub(super) fn registered(text: &str, host: &Host) -> Result<Vec<(String, Json)>, Flaw> {
    let document = parse(text)?;
    let mut found = Vec::new();
    for (event, list) in document.get("hooks").and_then(Item::as_table).into_iter().flat_map(Table::iter) {
        let groups = list.as_array_of_tables().into_iter().flat_map(ArrayOfTables::iter);
        let ours = groups.filter(|group| group.len() == 1 && is_ours_alone(group, host));
        found.extend(ours.filter_map(handler).map(|handler| (event.to_owned(), as_json(handler))));
    }
    Ok(found)
}

/// Writes down that hooks are trusted: their key and their hash.
pub(super) fn trust(text: &str, hooks: &[(String, String)]) -> Result<String, Flaw> {
    let mut document = parse(text)?;
    let state = table(table(document.as_table_mut(), "hooks", true)?, "state", true)?;
    for (key, hash) in hooks {
        let entry = table(state, key, false)?;
        if entry.get("trusted_hash").and_then(Item::as_str) != Some(hash) {
            entry.insert("trusted_hash", value(hash.as_str()));
        }
    }
    Ok(written(&document, text))
}

/// Forgets that the hooks of a file are trusted; `None` if none of them is.
pub(super) fn distrust(text: &str, file: &str, before: Option<&str>) -> Result<Option<String>, Flaw> {
    let mut document = parse(text)?;
    let before = before.and_then(|before| parse(before).ok()).unwrap_or_default();
    let begin = format!("{file}:");
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_mut) else { return Ok(None) };
    let Some(state) = hooks.get_mut("state").and_then(Item::as_table_mut) else { return Ok(None) };
    let keys: Vec<String> =
        state.iter().map(|(key, _)| key.to_owned()).filter(|key| key.starts_with(&begin)).collect();
    if keys.is_empty() {
        return Ok(None);
    }
    for key in keys {
        state.remove(&key);
    }
    let had = before.get("hooks");
    if state.is_empty() && had.and_then(|hooks| hooks.get("state")).is_none() {
        hooks.remove("state");
    }
    if hooks.is_empty() && had.is_none() {
        document.remove("hooks");
    }
    Ok(Some(written(&document, text)))
}

/// A text in a document.
pub(super) fn text_at(text: &str, path: &[&str]) -> Option<String> {
    let document = parse(text).ok()?;
    let item = path.iter().try_fold(document.as_item(), |item, key| item.get(key))?;
    item.as_str().map(str::to_owned)
}

/// A switch in a document; `None` if it is not set.
pub(super) fn flag_at(text: &str, path: &[&str]) -> Result<Option<bool>, Flaw> {
    let document = parse(text)?;
    let item = path.iter().try_fold(document.as_item(), |item, key| item.get(key));
    Ok(item.and_then(Item::as_bool))
}

/// The keys of hooks that are switched off one by one.
pub(super) fn switched_off(text: &str) -> Vec<String> {
    let document = parse(text).unwrap_or_default();
    let state = document.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Item::as_table_like);
    let entries = state.into_iter().flat_map(|state| state.iter());
    let is_off = |item: &Item| item.get("enabled").is_some_and(|it| it.as_bool() != Some(true));
    entries.filter(|(_, item)| is_off(item)).map(|(key, _)| key.to_owned()).collect()
}

/// A table in a table. One that only holds tables is not written out by itself.
fn table<'t>(parent: &'t mut Table, name: &str, implicit: bool) -> Result<&'t mut Table, Flaw> {
    let item = parent.entry(name).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(implicit);
        Item::Table(table)
    });
    item.as_table_mut().ok_or_else(|| not_a("table with a line of its own", name))
}

fn group(fields: &[(&'static str, Field)]) -> Table {
    let mut handler = Table::new();
    for (name, field) in fields {
        let item = match field {
            Field::Text(text) => value(text.as_str()),
            Field::Number(number) => value(i64::from(*number)),
            Field::Flag(flag) => value(*flag),
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

/// The only handler of a group.
fn handler(group: &Table) -> Option<&Table> {
    handlers(group).filter(|handlers| handlers.len() == 1)?.get(0)
}

fn is_ours(handler: &Table, host: &Host) -> bool {
    handler.get("command").and_then(Item::as_str).is_some_and(|command| host.is_ours(command))
}

fn is_ours_alone(group: &Table, host: &Host) -> bool {
    handler(group).is_some_and(|handler| is_ours(handler, host))
}

fn take_out(list: &mut ArrayOfTables, host: &Host) -> bool {
    let mut is_changed = false;
    for group in list.iter_mut() {
        if let Some(handlers) = group.get_mut("hooks").and_then(Item::as_array_of_tables_mut) {
            let all = handlers.len();
            handlers.retain(|handler| !is_ours(handler, host));
            is_changed |= handlers.len() < all;
        }
    }
    // A group that was left without any is gone.
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

fn wanted_json(fields: &[(&'static str, Field)]) -> Json {
    let fields: Map<String, Json> =
        fields.iter().map(|(name, field)| ((*name).to_owned(), field.value())).collect();
    Json::Object(fields)
}

fn not_a(kind: &str, what: &str) -> Flaw {
    Flaw {
        place: None,
        what: format!("`{what}` is no {kind}"),
        help: Some("write it as one, then run this again; the file was left as it is".to_owned()),
    }
}

/// A document with the ends of lines that its text had.
fn written(document: &DocumentMut, text: &str) -> String {
    let written = document.to_string();
    let ends = text.matches('\n').count();
    if ends == 0 || text.matches("\r\n").count() < ends {
        return written;
    }
    written.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn parse(text: &str) -> Result<DocumentMut, Flaw> {
    text.parse().map_err(|error: toml_edit::TomlError| Flaw {
        place: error.span().map(|span| place(text, span.start)),
        what: format!("is not valid TOML: {}", error.message()),
        help: Some("mend the file, then run this again; it was left as it is".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use crate::setup::{Agent, InstallScope, toml};

    #[test]
    fn toml_keeps_the_ends_of_its_lines() {
        let text = "a = 1\r\n\r\n[features]\r\nother = true\r\n";
        let host = Agent::Codex.host();
        let installed = host.installed(InstallScope::Managed, text, "midrail").unwrap();
        assert!(!installed.replace("\r\n", "").contains('\n'), "{installed:?}");
        assert_eq!(
            host.removed(InstallScope::Managed, &installed, Some(text)).unwrap().as_deref(),
            Some(text)
        );
        let trusted = toml::trust(text, &[("/p:x:0:0".to_owned(), "sha256:1".to_owned())]).unwrap();
        assert!(!trusted.replace("\r\n", "").contains('\n'), "{trusted:?}");
        assert_eq!(toml::distrust(&trusted, "/p", Some(text)).unwrap().as_deref(), Some(text));
    }
}
