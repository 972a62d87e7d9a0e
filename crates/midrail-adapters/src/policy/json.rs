//! JSON files of hosts, with comments, in the order of the file and with lines.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

use super::rule::{HostPolicy, PolicyFile, RuleSource};

/// Calls a function with the top object of a file. A file that cannot be read is left out.
pub(crate) fn with_object(
    file: &PolicyFile,
    policy: &mut HostPolicy,
    read: impl FnOnce(&mut HostPolicy, &Object<'_>),
) {
    let text = file.text.trim_start_matches('\u{feff}');
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    match parsed.map(|parsed| parsed.value) {
        Ok(Some(Value::Object(object))) => read(policy, &object),
        Ok(None) => {}
        Ok(Some(other)) => {
            policy.leave_out(&source(file, &other, ""), "the file is not an object, so the host ignores it");
        }
        Err(error) => {
            let source = RuleSource::new(file, line_at(text, error.range().start), "");
            policy.leave_out(&source, format!("the file is not valid JSON: {}", error.kind()));
        }
    }
}

/// Whether a file is JSON without comments and without commas after the last value.
pub(crate) fn is_strict(file: &PolicyFile) -> bool {
    serde_json::from_str::<IgnoredAny>(file.text.trim_start_matches('\u{feff}')).is_ok()
}

/// The line of a value in its file, from 1.
fn line(file: &PolicyFile, value: &impl Ranged) -> usize {
    line_at(file.text.trim_start_matches('\u{feff}'), value.range().start)
}

/// The source of a rule that a value stands for.
pub(crate) fn source(file: &PolicyFile, value: &impl Ranged, rule: impl Into<String>) -> RuleSource {
    RuleSource::new(file, line(file, value), rule)
}

/// The line of a place in a text, from 1.
pub(crate) fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The rules in a list of texts. Other values are left out.
pub(crate) fn texts(
    file: &PolicyFile,
    policy: &mut HostPolicy,
    object: &Object<'_>,
    key: &str,
) -> Vec<RuleSource> {
    let Some(property) = property(object, key) else { return Vec::new() };
    let Value::Array(list) = &property.value else {
        policy.leave_out(&source(file, property, key), format!("`{key}` is not a list"));
        return Vec::new();
    };
    let mut texts = Vec::new();
    for value in &list.elements {
        match text(value) {
            Some(text) => texts.push(source(file, value, text)),
            None => policy.leave_out(&source(file, value, key), "a rule is a text"),
        }
    }
    texts
}

/// The name of a property.
pub(crate) fn name(property: &ObjectProp<'_>) -> String {
    property.name.as_str().to_owned()
}

/// The property of an object with a name. Hosts take the last one.
pub(crate) fn property<'o, 'a>(object: &'o Object<'a>, key: &str) -> Option<&'o ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key)
}

/// The object in a property.
pub(crate) fn object<'o, 'a>(object: &'o Object<'a>, key: &str) -> Option<&'o Object<'a>> {
    property(object, key)?.value.as_object()
}

/// The text of a value.
pub(crate) fn text<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.as_string_lit().map(|text| text.value.as_ref())
}
