//! Hooks in JSON files, with or without comments. Every byte that is not Midrail's stays.

use std::path::Path;

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{ParseOptions, parse_to_value};
use serde_json::{Map, Value};

use super::command;
use super::files::{self, LEFT_UNCHANGED, SettingsError, SettingsResult, position};
use super::format::{HookSet, SettingsFormat};

/// How a host reads a JSON file with hooks. Most hosts ignore a whole file for one thing that they do not accept.
pub(crate) struct JsonFormat {
    pub(crate) layout: Layout,
    /// The host ignores a file in which any hook has another layout.
    pub(crate) strict: bool,
    /// The host accepts comments.
    pub(crate) comments: bool,
    /// The host accepts a byte order mark.
    pub(crate) mark: bool,
    /// The host accepts no other key than `hooks` at the top.
    pub(crate) only_hooks: bool,
}

/// How hooks are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Lists of groups, each with a list of hooks.
    Groups,
    /// A version, and lists of hooks.
    Flat,
}

impl SettingsFormat for JsonFormat {
    /// A hook of an older version is replaced in place.
    fn install(&self, text: &str, set: &HookSet<'_>) -> SettingsResult<String> {
        let (mark, text) = split_mark(text);
        let root = parse(text)?;
        let Some(top) = root.object_value_or_create() else {
            return Err(not_an("object", "the file", root.value().as_ref(), text));
        };
        // Everything is checked before anything changes, while positions are those of the text.
        let hooks = match member(&top, "hooks", text)? {
            None => None,
            Some(property) => {
                let hooks = property
                    .object_value()
                    .ok_or_else(|| not_an("object", "`hooks`", property.value().as_ref(), text))?;
                for (event, _) in &set.hooks {
                    event_hooks(&hooks, event, text)?;
                }
                Some(hooks)
            }
        };
        if self.layout == Layout::Flat && member(&top, "version", text)?.is_none() {
            top.append("version", 1_u32.into());
        }
        let hooks = hooks.unwrap_or_else(|| top.object_value_or_set("hooks"));
        for (event, fields) in &set.hooks {
            let Some(list) = event_hooks(&hooks, event, text)? else {
                hooks.append(event, CstInputValue::Array(vec![self.input(fields)]));
                continue;
            };
            let mut is_registered = false;
            for item in list.elements() {
                match self.ownership(&item, set.host) {
                    Ownership::None => {}
                    Ownership::Partial(ours) => ours.into_iter().for_each(CstNode::remove),
                    Ownership::Full if is_registered => item.remove(),
                    Ownership::Full => {
                        is_registered = true;
                        if item.to_serde_value() != Some(self.value(fields))
                            && let Some(object) = item.as_object()
                        {
                            object.replace_with(self.input(fields));
                        }
                    }
                }
            }
            if !is_registered {
                list.append(self.input(fields));
            }
        }
        // Remove what an older version registered and this one does not.
        for property in hooks.properties() {
            let name = property.decoded_name();
            let is_wanted = set.hooks.iter().any(|(event, _)| name.as_deref() == Some(*event));
            if !is_wanted
                && let Some(list) = property.array_value()
                && self.remove_ours(&list, set.host)
                && list.elements().is_empty()
            {
                property.remove();
            }
        }
        Ok(format!("{mark}{root}"))
    }

    fn remove(&self, text: &str, host: &str, before: Option<&str>) -> SettingsResult<Option<String>> {
        let (mark, text) = split_mark(text);
        let root = parse(text)?;
        let Some(hooks) = root.object_value().and_then(|top| top.object_value("hooks")) else {
            return Ok(None);
        };
        let before = before.and_then(|before| value(before).ok()).unwrap_or_default();
        let had = before.get("hooks");
        let mut is_changed = false;
        for property in hooks.properties() {
            let Some(list) = property.array_value() else { continue };
            if self.remove_ours(&list, host) {
                is_changed = true;
                let name = property.decoded_name().unwrap_or_default();
                if list.elements().is_empty() && had.is_none_or(|had| had.get(&*name).is_none()) {
                    property.remove();
                }
            }
        }
        if !is_changed {
            return Ok(None);
        }
        if hooks.properties().is_empty()
            && had.is_none()
            && let Some(property) = hooks.parent()
        {
            property.remove();
        }
        Ok(Some(format!("{mark}{root}")))
    }

    fn registered(&self, text: &str, host: &str) -> SettingsResult<Vec<(String, Value)>> {
        let settings = value(text)?;
        let mut found = Vec::new();
        for (event, list) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            let items = list.as_array().into_iter().flatten();
            let handlers: Vec<&Value> = match self.layout {
                Layout::Groups => items
                    .filter(|group| covers_all_tools(group))
                    .filter_map(|group| group.get("hooks")?.as_array())
                    .flatten()
                    .collect(),
                Layout::Flat => items.filter(|item| item.get("matcher").is_none()).collect(),
            };
            let ours = handlers.into_iter().filter(|handler| is_ours(handler, host));
            found.extend(ours.map(|handler| (event.clone(), handler.clone())));
        }
        Ok(found)
    }

    fn check(&self, text: &str) -> SettingsResult {
        if text.trim().is_empty() {
            return Ok(());
        }
        let rejected = |message: String, fix: &str| {
            SettingsError::new(message).help(format!("{fix}, then run this command again; {LEFT_UNCHANGED}"))
        };
        let (mark, text) = split_mark(text);
        if !mark.is_empty() && !self.mark {
            return Err(rejected("starts with a byte order mark".to_owned(), "save it as UTF-8 without one")
                .at((1, 1)));
        }
        parse_to_value(text, &options(self.comments, false)).map_err(invalid)?;
        let settings = value(text)?;
        let find = |name: &str| {
            let offset = text.find(&Value::from(name).to_string());
            position(text, offset.unwrap_or_default())
        };
        let mut names = settings.as_object().into_iter().flat_map(Map::keys);
        if let Some(name) = names.find(|name| self.only_hooks && *name != "hooks") {
            let message = format!("contains `{name}` next to `hooks`");
            return Err(rejected(message, &format!("remove `{name}`")).at(find(name)));
        }
        for (event, list) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            let problem = match self.layout {
                _ if !self.strict => None,
                Layout::Groups => problem_of_groups(list),
                Layout::Flat => problem_of_commands(list),
            };
            if let Some(problem) = problem {
                return Err(rejected(format!("`hooks.{event}` {problem}"), "fix it").at(find(event)));
            }
        }
        Ok(())
    }
}

/// How much of an item is Midrail's.
enum Ownership {
    None,
    /// Some handlers of a group.
    Partial(Vec<CstNode>),
    Full,
}

impl JsonFormat {
    fn value(&self, fields: &[(&'static str, Value)]) -> Value {
        let handler = as_value(fields);
        match self.layout {
            Layout::Groups => serde_json::json!({"hooks": [handler]}),
            Layout::Flat => handler,
        }
    }

    fn input(&self, fields: &[(&'static str, Value)]) -> CstInputValue {
        let field = |value: &Value| match value {
            Value::Bool(flag) => CstInputValue::Bool(*flag),
            Value::Number(number) => CstInputValue::Number(number.to_string()),
            other => CstInputValue::String(other.as_str().unwrap_or_default().to_owned()),
        };
        let handler = fields.iter().map(|(name, value)| ((*name).to_owned(), field(value))).collect();
        let handler = CstInputValue::Object(handler);
        match self.layout {
            Layout::Groups => {
                CstInputValue::Object(vec![("hooks".to_owned(), CstInputValue::Array(vec![handler]))])
            }
            Layout::Flat => handler,
        }
    }

    fn ownership(&self, item: &CstNode, host: &str) -> Ownership {
        let is_ours = |node: &CstNode| node.to_serde_value().is_some_and(|handler| is_ours(&handler, host));
        if self.layout == Layout::Flat {
            return if is_ours(item) { Ownership::Full } else { Ownership::None };
        }
        let list = item.as_object().and_then(|group| group.array_value("hooks"));
        let handlers = list.map(|list| list.elements()).unwrap_or_default();
        let all = handlers.len();
        let ours: Vec<CstNode> = handlers.into_iter().filter(is_ours).collect();
        match ours.len() {
            0 => Ownership::None,
            number if number == all => Ownership::Full,
            _ => Ownership::Partial(ours),
        }
    }

    fn remove_ours(&self, list: &CstArray, host: &str) -> bool {
        let mut is_changed = false;
        for item in list.elements() {
            match self.ownership(&item, host) {
                Ownership::None => continue,
                Ownership::Partial(ours) => ours.into_iter().for_each(CstNode::remove),
                Ownership::Full => item.remove(),
            }
            is_changed = true;
        }
        is_changed
    }
}

/// Whether a group applies to every tool. An unknown field could restrict it.
fn covers_all_tools(group: &Value) -> bool {
    group.as_object().into_iter().flatten().all(|(key, value)| {
        matches!((key.as_str(), value.as_str()), ("hooks", _) | ("matcher", Some("" | "*" | ".*")))
    })
}

fn problem_of_groups(list: &Value) -> Option<&'static str> {
    let Some(groups) = list.as_array() else { return Some("is not an array") };
    groups.iter().find_map(|group| {
        if group.get("matcher").is_some_and(|matcher| !matcher.is_string()) {
            return Some("has a `matcher` that is not a string");
        }
        let Some(handlers) = group.get("hooks").and_then(Value::as_array) else {
            return Some("has a group without a list of `hooks`");
        };
        handlers.iter().find_map(|handler| {
            let Some(kind) = handler.get("type").and_then(Value::as_str) else {
                return Some("has a hook without a `type`");
            };
            let has_command = handler.get("command").is_some_and(Value::is_string);
            (kind == "command" && !has_command).then_some("has a hook without a `command`")
        })
    })
}

fn problem_of_commands(list: &Value) -> Option<&'static str> {
    let Some(handlers) = list.as_array() else { return Some("is not an array") };
    let is_valid = |handler: &Value| {
        handler.get("command").is_some_and(Value::is_string)
            // A hook that calls a model has a prompt instead of a command.
            || (handler.get("type").is_some_and(|kind| kind == "prompt")
                && handler.get("prompt").is_some_and(Value::is_string))
    };
    (!handlers.iter().all(is_valid)).then_some("has an entry that is not an object with a `command`")
}

/// A JSON file as a value; null if it cannot be read.
pub(crate) fn settings(path: &Path) -> Value {
    files::read(path).ok().flatten().and_then(|text| value(&text).ok()).unwrap_or_default()
}

/// A JSON text as a value. A text without a value is an empty object.
pub(crate) fn value(text: &str) -> SettingsResult<Value> {
    let root = parse(split_mark(text).1)?;
    Ok(root.to_serde_value().unwrap_or_else(|| Value::Object(Map::new())))
}

/// The fields of a registration as a value.
pub(crate) fn as_value(fields: &[(&'static str, Value)]) -> Value {
    Value::Object(fields.iter().map(|(name, field)| ((*name).to_owned(), field.clone())).collect())
}

fn is_ours(handler: &Value, host: &str) -> bool {
    let mut commands = ["command", "bash"].iter().filter_map(|key| handler.get(key)?.as_str());
    commands.any(|command| command::is_ours(command, host))
}

/// A member of an object. If there are two of one name, a host could use either.
fn member(object: &CstObject, name: &str, text: &str) -> SettingsResult<Option<CstObjectProp>> {
    let named = |property: &CstObjectProp| property.decoded_name().is_some_and(|it| it == name);
    let mut found = object.properties().into_iter().filter(named);
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(second) => Err(SettingsError::new(format!("`{name}` occurs twice"))
            .at(position(text, offset(&second.into())))
            .help("merge the two, then run this command again")),
    }
}

/// The hooks of an event.
fn event_hooks(hooks: &CstObject, event: &str, text: &str) -> SettingsResult<Option<CstArray>> {
    let Some(property) = member(hooks, event, text)? else { return Ok(None) };
    let list = property.array_value();
    let name = format!("`hooks.{event}`");
    list.map(Some).ok_or_else(|| not_an("array", &name, property.value().as_ref(), text))
}

fn not_an(kind: &str, name: &str, node: Option<&CstNode>, text: &str) -> SettingsError {
    let error = SettingsError::new(format!("{name} is not an {kind}"))
        .help(format!("fix the file, then run this command again; {LEFT_UNCHANGED}"));
    match node {
        Some(node) => error.at(position(text, offset(node))),
        None => error,
    }
}

/// Where a node starts.
fn offset(node: &CstNode) -> usize {
    let before: usize = node.previous_siblings().map(|sibling| sibling.to_string().len()).sum();
    before + node.parent().map_or(0, |parent| offset(&parent.into()))
}

/// Splits a byte order mark off.
fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

fn parse(text: &str) -> SettingsResult<CstRootNode> {
    CstRootNode::parse(text, &options(true, true)).map_err(invalid)
}

pub(super) fn options(comments: bool, trailing_commas: bool) -> ParseOptions {
    ParseOptions {
        allow_comments: comments,
        allow_trailing_commas: trailing_commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

pub(super) fn invalid(error: ParseError) -> SettingsError {
    let (message, fix) = match error.kind() {
        ParseErrorKind::CommentsNotAllowed => ("contains a comment".to_owned(), "remove the comments"),
        ParseErrorKind::TrailingCommasNotAllowed => {
            ("contains a trailing comma".to_owned(), "remove the comma")
        }
        kind => (format!("is not valid JSON: {}", kind.to_string().to_lowercase()), "fix the file"),
    };
    SettingsError::new(message)
        .at((error.line_display(), error.column_display()))
        .help(format!("{fix}, then run this command again; {LEFT_UNCHANGED}"))
}

#[cfg(test)]
mod tests {
    use crate::hosts;
    use crate::setup::environment::InstallScope;

    #[test]
    fn error_has_its_position() {
        for (host, text, place, message) in [
            (
                "claude-code",
                "{\n  \"u\": \"http://x,]\", // c\n  \"b\": 1}",
                (2, 22),
                "contains a comment, and Claude Code ignores such a file",
            ),
            ("cursor", "{\"a\": [1, 2 /* c */ , ]}", (1, 21), "contains a trailing comma"),
            ("codex", "{\n  \"hooks\": {}, \"x\": 1}", (2, 16), "contains `x` next to `hooks`"),
            ("claude-code", "{\"hooks\": {\"Stop\": [{}]}}", (1, 12), "a group without a list of `hooks`"),
            ("codex", "{\"hooks\": {\"Stop\": [{\"hooks\": [{}]}]}}", (1, 12), "a hook without a `type`"),
            ("cursor", "{\"hooks\": {\"stop\": [1]}}", (1, 12), "not an object with a `command`"),
        ] {
            let host = hosts::find(host).unwrap();
            let error = host.install(InstallScope::Project, text, "midrail").unwrap_err();
            assert_eq!(error.place, Some(place), "{error:?}");
            assert!(error.message.contains(message), "{error:?}");
        }
    }
}
