//! JSON files of hosts, with comments, in the order of the file and with lines.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::rule::{HostPolicy, PolicyFile, RuleSource};

/// Calls a function with the top object of a file. A file that cannot be read is left out.
pub(super) fn with_object(
    file: &PolicyFile,
    policy: &mut HostPolicy,
    read: impl FnOnce(&mut HostPolicy, &Object<'_>),
) {
    let text = file.text.trim_start_matches('\u{feff}');
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let source = RuleSource::new(file, 0, "");
    match parsed.map(|parsed| parsed.value) {
        Ok(Some(Value::Object(object))) => read(policy, &object),
        Ok(None) => {}
        Ok(Some(other)) => {
            let source = RuleSource { line: line(file, &other), ..source };
            policy.leave_out(&source, "the file is not an object, so the host ignores it");
        }
        Err(error) => {
            let at = error.range().start.min(text.len());
            let source = RuleSource { line: line_at(text, at), ..source };
            policy.leave_out(&source, format!("the file is not valid JSON: {}", error.kind()));
        }
    }
}

/// The line of a value in its file, from 1.
pub(super) fn line(file: &PolicyFile, value: &impl Ranged) -> usize {
    line_at(file.text.trim_start_matches('\u{feff}'), value.range().start)
}

/// The line of a place in a text, from 1.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The texts of a list with their lines. Other values are left out.
pub(super) fn texts(
    file: &PolicyFile,
    policy: &mut HostPolicy,
    object: &Object<'_>,
    key: &str,
) -> Vec<(usize, String)> {
    let Some(property) = property(object, key) else { return Vec::new() };
    let Value::Array(list) = &property.value else {
        let source = RuleSource::new(file, line(file, property), key);
        policy.leave_out(&source, format!("`{key}` is not a list"));
        return Vec::new();
    };
    let mut texts = Vec::new();
    for value in &list.elements {
        match value {
            Value::StringLit(text) => texts.push((line(file, value), text.value.to_string())),
            _ => policy.leave_out(&RuleSource::new(file, line(file, value), key), "a rule is a text"),
        }
    }
    texts
}

/// The name of a property.
pub(super) fn name(property: &ObjectProp<'_>) -> String {
    property.name.as_str().to_owned()
}

/// The property of an object with a name. Hosts take the last one.
pub(super) fn property<'o, 'a>(object: &'o Object<'a>, key: &str) -> Option<&'o ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key)
}

/// The object in a property.
pub(super) fn object<'o, 'a>(object: &'o Object<'a>, key: &str) -> Option<&'o Object<'a>> {
    property(object, key)?.value.as_object()
}

/// The text of a value.
pub(super) fn text<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.as_string_lit().map(|text| text.value.as_ref())
}
