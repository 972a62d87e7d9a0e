//! Hooks in JSON with comments: put in, replaced and taken out, with every other byte left as it is.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

use super::agent::Host;
use super::files::place;

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) place: Option<(usize, usize)>,
    pub(super) what: String,
    pub(super) help: Option<String>,
}

/// A value of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Text(String),
    Number(u32),
    Flag(bool),
}

impl Field {
    pub(super) fn text(text: &str) -> Self {
        Field::Text(text.to_owned())
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Field::Text(text) => Value::from(text.as_str()),
            Field::Number(number) => Value::from(*number),
            Field::Flag(flag) => Value::from(*flag),
        }
    }

    fn input(&self) -> CstInputValue {
        match self {
            Field::Text(text) => text.as_str().into(),
            Field::Number(number) => (*number).into(),
            Field::Flag(flag) => (*flag).into(),
        }
    }
}

/// An event, and what is registered for it.
pub(super) type Wanted = (&'static str, Vec<(&'static str, Field)>);

/// Registers hooks. One of ours that is there is replaced where it stands.
pub(super) fn install(text: &str, host: &Host, groups: bool, wanted: &[Wanted]) -> Result<String, Flaw> {
    let (mark, text) = split_mark(text);
    let root = parse(text)?;
    let Some(top) = root.object_value_or_create() else {
        return Err(not_an("object", "the whole file", root.value().as_ref(), text));
    };
    // Everything is looked at before anything changes, while places still are those of the text.
    let hooks = match member(&top, "hooks", text)? {
        None => None,
        Some(property) => {
            let hooks = property
                .object_value()
                .ok_or_else(|| not_an("object", "`hooks`", property.value().as_ref(), text))?;
            for (event, _) in wanted {
                if let Some(property) = member(&hooks, event, text)? {
                    list_of(&property, event, text)?;
                }
            }
            Some(hooks)
        }
    };
    if !groups && member(&top, "version", text)?.is_none() {
        top.append("version", 1_u32.into());
    }
    let hooks = hooks.unwrap_or_else(|| top.object_value_or_set("hooks"));
    for (event, fields) in wanted {
        let entry = || {
            let handler = fields.iter().map(|(name, field)| ((*name).to_owned(), field.input())).collect();
            let handler = CstInputValue::Object(handler);
            match groups {
                true => {
                    CstInputValue::Object(vec![("hooks".to_owned(), CstInputValue::Array(vec![handler]))])
                }
                false => handler,
            }
        };
        let list = match member(&hooks, event, text)? {
            None => {
                hooks.append(event, CstInputValue::Array(vec![entry()]));
                continue;
            }
            Some(property) => list_of(&property, event, text)?,
        };
        let mut is_there = false;
        for item in list.elements() {
            match share(&item, host, groups) {
                Share::None => {}
                Share::Some(ours) => ours.into_iter().for_each(CstNode::remove),
                Share::All if is_there => item.remove(),
                Share::All => {
                    is_there = true;
                    if item.to_serde_value() != Some(as_value(fields, groups)) {
                        replace(item, entry());
                    }
                }
            }
        }
        if !is_there {
            list.append(entry());
        }
    }
    // What an earlier version registered and this one does not.
    for property in hooks.properties() {
        let is_wanted = |name: &str| wanted.iter().any(|(event, _)| *event == name);
        if property.decoded_name().is_some_and(|name| is_wanted(&name)) {
            continue;
        }
        if let Some(list) = property.array_value()
            && take_out(&list, host, groups)
            && list.elements().is_empty()
        {
            property.remove();
        }
    }
    Ok(format!("{mark}{root}"))
}

/// Takes our hooks out; `None` if there are none. Containers that are empty then go, unless `before` had them.
pub(super) fn remove(
    text: &str,
    host: &Host,
    groups: bool,
    before: Option<&str>,
) -> Result<Option<String>, Flaw> {
    let (mark, text) = split_mark(text);
    let root = parse(text)?;
    let Some(top) = root.object_value() else { return Ok(None) };
    let Some(hooks) = top.object_value("hooks") else { return Ok(None) };
    let before = before.and_then(|before| value(before).ok()).unwrap_or_default();
    let had = |path: &[&str]| path.iter().try_fold(&before, |value, key| value.get(key)).is_some();
    let mut is_changed = false;
    for property in hooks.properties() {
        let Some(list) = property.array_value() else { continue };
        if take_out(&list, host, groups) {
            is_changed = true;
            let name = property.decoded_name().unwrap_or_default();
            if list.elements().is_empty() && !had(&["hooks", &name]) {
                property.remove();
            }
        }
    }
    if !is_changed {
        return Ok(None);
    }
    if hooks.properties().is_empty()
        && !had(&["hooks"])
        && let Some(property) = hooks.parent()
    {
        property.remove();
    }
    Ok(Some(format!("{mark}{root}")))
}

/// Our registrations in a text.
pub(super) fn registered(text: &str, host: &Host, groups: bool) -> Result<Vec<(String, Value)>, Flaw> {
    let whole = value(text)?;
    let mut found = Vec::new();
    let events = whole.get("hooks").and_then(Value::as_object).into_iter().flatten();
    for (event, list) in events {
        let items = list.as_array().into_iter().flatten();
        let handlers: Vec<&Value> = match groups {
            // A group that fits some tools alone guards only those.
            true => items
                .filter(|group| {
                    let fields = group.as_object().into_iter().flatten();
                    fields.into_iter().all(|(key, value)| match (key.as_str(), value.as_str()) {
                        ("hooks", _) | ("matcher", Some("" | "*" | ".*")) => true,
                        // Whatever else stands there might keep it from being run.
                        _ => false,
                    })
                })
                .filter_map(|group| group.get("hooks")?.as_array())
                .flatten()
                .collect(),
            false => items.filter(|item| item.get("matcher").is_none()).collect(),
        };
        let ours = handlers.into_iter().filter(|handler| is_ours(handler, host));
        found.extend(ours.map(|handler| (event.clone(), handler.clone())));
    }
    Ok(found)
}

/// A text as a value. What holds nothing is an empty object.
pub(super) fn value(text: &str) -> Result<Value, Flaw> {
    let root = parse(split_mark(text).1)?;
    Ok(root.to_serde_value().unwrap_or_else(|| Value::Object(Map::new())))
}

/// A registration as a value.
pub(super) fn as_value(fields: &[(&'static str, Field)], groups: bool) -> Value {
    let handler = fields.iter().map(|(name, field)| ((*name).to_owned(), field.value())).collect();
    match groups {
        true => serde_json::json!({"hooks": [Value::Object(handler)]}),
        false => Value::Object(handler),
    }
}

fn is_ours(handler: &Value, host: &Host) -> bool {
    let commands = ["command", "bash"].iter().filter_map(|key| handler.get(key)?.as_str());
    commands.into_iter().any(|command| host.is_ours(command))
}

/// How much of an item is ours.
enum Share {
    None,
    /// These handlers of a group.
    Some(Vec<CstNode>),
    All,
}

fn share(item: &CstNode, host: &Host, groups: bool) -> Share {
    let is_ours = |node: &CstNode| node.to_serde_value().is_some_and(|handler| is_ours(&handler, host));
    if !groups {
        return if is_ours(item) { Share::All } else { Share::None };
    }
    let handlers = item.as_object().and_then(|group| group.array_value("hooks")).map(|list| list.elements());
    let handlers = handlers.unwrap_or_default();
    let all = handlers.len();
    let ours: Vec<CstNode> = handlers.into_iter().filter(is_ours).collect();
    match ours.len() {
        0 => Share::None,
        number if number == all => Share::All,
        _ => Share::Some(ours),
    }
}

/// Takes what is ours out of a list.
fn take_out(list: &CstArray, host: &Host, groups: bool) -> bool {
    let mut is_changed = false;
    for item in list.elements() {
        match share(&item, host, groups) {
            Share::None => continue,
            Share::Some(ours) => ours.into_iter().for_each(CstNode::remove),
            Share::All => item.remove(),
        }
        is_changed = true;
    }
    is_changed
}

fn replace(node: CstNode, with: CstInputValue) {
    if let Some(object) = node.as_object() {
        object.replace_with(with);
    }
}

/// A member of an object. Of two with one name an agent might take either, so that is no settings file to work with.
fn member(object: &CstObject, name: &str, text: &str) -> Result<Option<CstObjectProp>, Flaw> {
    let named = |property: &CstObjectProp| property.decoded_name().is_some_and(|it| it == name);
    let mut found = object.properties().into_iter().filter(named);
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(second) => Err(Flaw {
            place: Some(place(text, offset(&second.into()))),
            what: format!("`{name}` stands here twice"),
            help: Some("put both into one, then run this again".to_owned()),
        }),
    }
}

fn list_of(property: &CstObjectProp, event: &str, text: &str) -> Result<CstArray, Flaw> {
    property
        .array_value()
        .ok_or_else(|| not_an("array", &format!("`hooks.{event}`"), property.value().as_ref(), text))
}

fn not_an(kind: &str, what: &str, node: Option<&CstNode>, text: &str) -> Flaw {
    Flaw {
        place: node.map(|node| place(text, offset(node))),
        what: format!("{what} is no {kind}"),
        help: Some("mend the file, then run this again; it was left as it is".to_owned()),
    }
}

/// Where a node begins.
fn offset(node: &CstNode) -> usize {
    let before: usize = node.previous_siblings().map(|sibling| sibling.to_string().len()).sum();
    before + node.parent().map_or(0, |parent| offset(&parent.into()))
}

/// The mark of an encoding that some editors put first.
fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

fn parse(text: &str) -> Result<CstRootNode, Flaw> {
    // What agents read: JSON, comments, and a comma at the end.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| Flaw {
        place: Some((error.line_display(), error.column_display())),
        what: format!("is not valid JSON: {}", error.kind().to_string().to_lowercase()),
        help: Some("mend the file, then run this again; it was left as it is".to_owned()),
    })
}
