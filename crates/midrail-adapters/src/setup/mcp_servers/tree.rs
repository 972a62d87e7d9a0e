//! A settings file as values with their places, so that a change can leave every other byte as it is.

use std::ops::Range;
use std::path::Path;

use jsonc_parser::{CollectOptions, ast, parse_to_ast};
use toml_edit::{Document, Item, Key, Table as TomlTable, Value as TomlValue};

use crate::setup::files::{LEFT_UNCHANGED, SettingsError, SettingsResult, position};
use crate::setup::json;

/// A value and its place in the text.
pub(super) struct Value {
    pub(super) range: Range<usize>,
    pub(super) node: Node,
}

/// What a value is.
pub(super) enum Node {
    Text(String),
    List(Vec<Value>),
    Table {
        fields: Vec<Field>,
        /// Each field has a line of its own and no commas.
        is_in_lines: bool,
    },
    Other,
}

/// A field of a table.
pub(super) struct Field {
    pub(super) name: String,
    /// The place of its name, with quotes.
    pub(super) key: Range<usize>,
    pub(super) value: Value,
}

impl Value {
    pub(super) fn text(&self) -> Option<&str> {
        match &self.node {
            Node::Text(text) => Some(text),
            Node::List(_) | Node::Table { .. } | Node::Other => None,
        }
    }

    /// The texts of a list. `None`: it is no list, or has other values.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        let Node::List(items) = &self.node else { return None };
        items.iter().map(|item| item.text().map(str::to_owned)).collect()
    }

    pub(super) fn fields(&self) -> &[Field] {
        match &self.node {
            Node::Table { fields, .. } => fields,
            Node::Text(_) | Node::List(_) | Node::Other => &[],
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fields().iter().any(|field| field.name == name)
    }

    pub(super) fn is_in_lines(&self) -> bool {
        matches!(self.node, Node::Table { is_in_lines: true, .. })
    }

    /// A field. If there are two of one name, a client could use either.
    pub(super) fn field(&self, name: &str) -> SettingsResult<Option<&Field>> {
        let mut found = self.fields().iter().filter(|field| field.name == name);
        let first = found.next();
        match found.next() {
            None => Ok(first),
            Some(_) => Err(SettingsError::new(format!("`{name}` occurs twice"))
                .help("merge the two, then run this command again")),
        }
    }
}

/// Parses a file, which is TOML if its name says so, else JSON with comments.
pub(super) fn parse(text: &str, path: &Path) -> SettingsResult<Value> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        return toml(text);
    }
    // A byte order mark is no part of the text, but counts in its places.
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let parsed = parse_to_ast(
        text.get(start..).unwrap_or_default(),
        &CollectOptions::default(),
        &json::options(true, true),
    );
    let parsed = parsed.map_err(json::invalid)?;
    Ok(parsed.value.map_or(Value { range: 0..0, node: Node::Other }, |value| from_json(&value, start)))
}

fn from_json(value: &ast::Value<'_>, start: usize) -> Value {
    let place = |range: &jsonc_parser::common::Range| start + range.start..start + range.end;
    match value {
        ast::Value::StringLit(text) => {
            Value { range: place(&text.range), node: Node::Text(text.value.to_string()) }
        }
        ast::Value::Array(list) => {
            let items = list.elements.iter().map(|item| from_json(item, start)).collect();
            Value { range: place(&list.range), node: Node::List(items) }
        }
        ast::Value::Object(object) => {
            let field = |property: &ast::ObjectProp<'_>| {
                let name = property.name.as_str().to_owned();
                let key = start + property.range.start..start + property.range.end;
                Field { name, key, value: from_json(&property.value, start) }
            };
            let fields = object.properties.iter().map(field).collect();
            Value { range: place(&object.range), node: Node::Table { fields, is_in_lines: false } }
        }
        other @ (ast::Value::NumberLit(_) | ast::Value::BooleanLit(_) | ast::Value::NullKeyword(_)) => {
            use jsonc_parser::common::Ranged;
            Value { range: place(&other.range()), node: Node::Other }
        }
    }
}

fn toml(text: &str) -> SettingsResult<Value> {
    let document = Document::parse(text).map_err(|error| {
        let invalid = SettingsError::new(format!("is not valid TOML: {}", error.message()))
            .help(format!("fix the file, then run this command again; {LEFT_UNCHANGED}"));
        match error.span() {
            Some(span) => invalid.at(position(text, span.start)),
            None => invalid,
        }
    })?;
    Ok(from_table(document.as_table()))
}

fn from_table(table: &TomlTable) -> Value {
    let field = |(name, item): (&str, &Item)| {
        let key = table.key(name).and_then(Key::span).unwrap_or_default();
        Field { name: name.to_owned(), key, value: from_item(item) }
    };
    let fields = table.iter().map(field).collect();
    Value { range: table.span().unwrap_or_default(), node: Node::Table { fields, is_in_lines: true } }
}

fn from_item(item: &Item) -> Value {
    match item {
        Item::Table(table) => from_table(table),
        Item::Value(value) => from_toml(value),
        Item::None | Item::ArrayOfTables(_) => {
            Value { range: item.span().unwrap_or_default(), node: Node::Other }
        }
    }
}

fn from_toml(value: &TomlValue) -> Value {
    let node = match value {
        TomlValue::String(text) => Node::Text(text.value().clone()),
        TomlValue::Array(items) => Node::List(items.iter().map(from_toml).collect()),
        TomlValue::InlineTable(table) => {
            let field = |(name, value): (&str, &TomlValue)| {
                let key = table.key(name).and_then(Key::span).unwrap_or_default();
                Field { name: name.to_owned(), key, value: from_toml(value) }
            };
            Node::Table { fields: table.iter().map(field).collect(), is_in_lines: false }
        }
        TomlValue::Integer(_) | TomlValue::Float(_) | TomlValue::Boolean(_) | TomlValue::Datetime(_) => {
            Node::Other
        }
    };
    Value { range: value.span().unwrap_or_default(), node }
}
