//! Decodes a tree into a raw type, and lists every problem instead of the first only.
//!
//! serde stops at the first error. So the tree is decoded again without the invalid part, until the rest is valid. Only a
//! pack with problems pays for it.

use midrail_core::EventKind;
use serde::de::DeserializeOwned;

use crate::diagnostic::{Diagnostic, Span, did_you_mean, excerpt};
use crate::hints::{self, Around};
use crate::strict::Strict;
use crate::yaml::{Key, Node, NodeValue, TextStyle, to_json};

/// The maximum number of reported problems.
const MAX_PROBLEMS: usize = 64;

/// Decodes a tree, or lists all of its problems.
pub fn decode<T: DeserializeOwned>(node: &Node) -> Result<T, Vec<Diagnostic>> {
    match read(node) {
        Decoded { value: Some(value), problems, .. } if problems.is_empty() => Ok(value),
        Decoded { problems, .. } => Err(problems),
    }
}

/// The readable part of a tree, so that it can be checked further.
pub(crate) struct Decoded<T> {
    pub(crate) value: Option<T>,
    /// The tree of the value, without the invalid parts.
    pub(crate) rest: Node,
    pub(crate) problems: Vec<Diagnostic>,
    /// Places of maps that lost a key, and of values that were added for a missing one. Later problems there are
    /// consequences.
    pub(crate) echoes: Vec<Span>,
}

/// Decodes the readable part of a tree.
pub(crate) fn read<T: DeserializeOwned>(node: &Node) -> Decoded<T> {
    let mut problems: Vec<Diagnostic> = Vec::new();
    let mut rest = node.clone();
    let mut cut: Vec<(Span, String)> = Vec::new();
    let mut echoes: Vec<Span> = Vec::new();
    remove_infinite(&mut rest, &mut problems, &mut echoes);
    loop {
        let error = match serde_path_to_error::deserialize::<_, T>(Strict(to_json(&rest))) {
            Ok(value) => return Decoded { value: Some(value), rest, problems, echoes },
            Err(error) => error,
        };
        let mut path: Vec<Step> = error.path().iter().filter_map(Step::from_segment).collect();
        let message = error.into_inner().to_string();
        let (inner, message) = split_keys(&message);
        path.extend(inner.into_iter().map(|key| Step::Key(key.to_owned())));
        let fault = Fault::parse(message);
        let place = place(&rest, &path, fault.field());
        let is_echo = match &fault {
            Fault::MissingField(field) => cut.contains(&(place.span.clone(), field.clone())),
            _ => echoes.contains(&place.span),
        };
        if !is_echo {
            problems.push(fault.problem(&place));
        }
        // No text can replace the missing value, so its parent is removed.
        let wrong = match place.path.split_last() {
            Some((_, parent)) if is_echo && place.span.is_empty() => parent,
            _ => &place.path,
        };
        let can_continue = problems.len() < MAX_PROBLEMS
            && match &fault {
                Fault::MissingField(field) => fill(&mut rest, &place, field, &mut echoes),
                _ => match remove(&mut rest, wrong) {
                    Some((span, key)) => {
                        echoes.push(span.clone());
                        cut.push((span, key));
                        true
                    }
                    None => false,
                },
            };
        if !can_continue {
            return Decoded { value: None, rest, problems, echoes };
        }
    }
}

/// Removes numbers that are not finite, which would otherwise be read as null.
fn remove_infinite(node: &mut Node, problems: &mut Vec<Diagnostic>, echoes: &mut Vec<Span>) {
    match &mut node.value {
        NodeValue::Float(number) if !number.is_finite() => {
            let problem = Diagnostic::new("not a finite number", node.span.clone());
            problems.push(problem.with_help("write a number such as 2.50, or leave it out"));
            echoes.push(node.span.clone());
            node.value = NodeValue::Null;
        }
        NodeValue::List(items) => items.iter_mut().for_each(|item| remove_infinite(item, problems, echoes)),
        NodeValue::Map(map) => map.iter_mut().for_each(|(_, item)| remove_infinite(item, problems, echoes)),
        _ => {}
    }
}

/// Adds an empty text for a missing key, so that the rest can be read. It has an empty place.
fn fill(root: &mut Node, place: &Place, field: &str, echoes: &mut Vec<Span>) -> bool {
    let Some(node) = descend(root, &place.path) else { return false };
    let span = node.span.start..node.span.start;
    let NodeValue::Map(map) = &mut node.value else { return false };
    if map.iter().any(|(key, _)| key.text == field) {
        return false;
    }
    let value = NodeValue::Text(String::new(), TextStyle::Plain);
    map.push((Key { text: field.to_owned(), span: span.clone() }, Node { span: span.clone(), value }));
    echoes.push(span);
    true
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    fn from_segment(segment: &serde_path_to_error::Segment) -> Option<Step> {
        match segment {
            serde_path_to_error::Segment::Seq { index } => Some(Step::Index(*index)),
            serde_path_to_error::Segment::Map { key } => Some(Step::Key(key.clone())),
            serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => None,
        }
    }
}

/// Splits the keys from a message such as "in `key`: unknown field", which a nested decoder returns.
pub(crate) fn split_keys(mut message: &str) -> (Vec<&str>, &str) {
    let mut keys = Vec::new();
    while let Some((key, rest)) = message.strip_prefix("in `").and_then(|rest| rest.split_once("`: ")) {
        keys.push(key);
        message = rest;
    }
    (keys, message)
}

/// The place of a fault: the path to remove, and the bytes to show.
struct Place {
    path: Vec<Step>,
    span: Span,
    found: &'static str,
    /// The text or number there.
    text: Option<String>,
    /// The map of an unknown key.
    around: Around,
}

/// Follows a path as far as possible; with a field, to that key of the map at its end (or of the map around it).
fn place(root: &Node, path: &[Step], field: Option<&str>) -> Place {
    let mut node = root;
    let mut whole = Vec::new();
    let mut span = root.span.clone();
    for step in path {
        let next = match (step, &node.value) {
            (Step::Index(index), NodeValue::List(items)) => items.get(*index).map(|item| (item, &item.span)),
            (Step::Key(name), NodeValue::Map(map)) => {
                let found = map.iter().find(|(key, _)| key.text == *name);
                found.map(|(key, item)| (item, if field == Some(name) { &key.span } else { &item.span }))
            }
            _ => None,
        };
        let Some((next, at)) = next else { break };
        node = next;
        span = at.clone();
        whole.push(step.clone());
    }
    let around = if field.is_some() { descend_to_map(root, &whole) } else { None };
    let around = around.map(surroundings).unwrap_or_default();
    if let Some(field) = field
        && whole.last() != Some(&Step::Key(field.to_owned()))
        && let Some((key, _)) = node.as_map().and_then(|map| map.iter().find(|(key, _)| key.text == field))
    {
        whole.push(Step::Key(field.to_owned()));
        span = key.span.clone();
    }
    let text = match &node.value {
        NodeValue::Text(text, _) => Some(excerpt(text)),
        NodeValue::Int(number) => Some(number.to_string()),
        NodeValue::Float(number) => Some(number.to_string()),
        _ => None,
    };
    Place { path: whole, span, found: node.kind(), text, around }
}

/// What hints need of the map of an unknown key.
fn surroundings(map: &Node) -> Around {
    let empty = map.as_map().into_iter().flatten().find(|(_, value)| value.value == NodeValue::Null);
    Around {
        uses: map.get("use").and_then(Node::as_text).map(str::to_owned),
        empty: empty.map(|(key, _)| key.text.clone()),
    }
}

/// The map at a path, or around its end.
fn descend_to_map<'n>(root: &'n Node, path: &[Step]) -> Option<&'n Node> {
    let mut map = Some(root).filter(|node| node.as_map().is_some());
    let mut node = root;
    for step in path {
        node = match (step, &node.value) {
            (Step::Index(index), NodeValue::List(items)) => items.get(*index)?,
            (Step::Key(key), NodeValue::Map(_)) => node.get(key)?,
            _ => return map,
        };
        map = if node.as_map().is_some() { Some(node) } else { map };
    }
    map
}

/// Removes the value at a path. Returns the span of its map or list, and its key in a map.
fn remove(root: &mut Node, path: &[Step]) -> Option<(Span, String)> {
    let (last, parents) = path.split_last()?;
    let node = descend(root, parents)?;
    let span = node.span.clone();
    match (last, &mut node.value) {
        (Step::Index(index), NodeValue::List(items)) if *index < items.len() => {
            items.remove(*index);
            Some((span, String::new()))
        }
        (Step::Key(key), NodeValue::Map(map)) => {
            map.retain(|(name, _)| name.text != *key);
            Some((span, key.clone()))
        }
        _ => None,
    }
}

fn descend<'n>(root: &'n mut Node, path: &[Step]) -> Option<&'n mut Node> {
    path.iter().try_fold(root, |node, step| match (step, &mut node.value) {
        (Step::Index(index), NodeValue::List(items)) => items.get_mut(*index),
        (Step::Key(key), NodeValue::Map(map)) => {
            map.iter_mut().find(|(name, _)| name.text == *key).map(|(_, node)| node)
        }
        _ => None,
    })
}

/// A parsed message of serde.
enum Fault {
    UnknownField(String, Vec<String>),
    MissingField(String),
    UnknownValue(String, Vec<String>),
    WrongType { expected: String },
    UnknownKind(String),
    Other(String),
}

impl Fault {
    fn parse(message: &str) -> Fault {
        let quoted = || message.split('`').skip(1).step_by(2).map(str::to_owned);
        let first = quoted().next().unwrap_or_default();
        if message.starts_with("unknown field") {
            Fault::UnknownField(first, quoted().skip(1).collect())
        } else if message.starts_with("missing field") {
            Fault::MissingField(first)
        } else if message.starts_with("unknown variant") {
            Fault::UnknownValue(first, quoted().skip(1).collect())
        } else if message.starts_with("unknown kind of event") {
            Fault::UnknownKind(first)
        } else if let Some((_, expected)) = message
            .strip_prefix("invalid type: ")
            .or_else(|| message.strip_prefix("invalid value: "))
            .and_then(|rest| rest.split_once(", expected "))
        {
            Fault::WrongType { expected: type_name(expected) }
        } else if let Some((_, expected)) =
            message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected "))
        {
            Fault::WrongType { expected: type_name(expected) }
        } else if message.starts_with("data did not match any variant") {
            Fault::Other("this value has a wrong form; `midrail schema pack` describes it".to_owned())
        } else {
            Fault::Other(message.to_owned())
        }
    }

    fn field(&self) -> Option<&str> {
        if let Fault::UnknownField(field, _) = self { Some(field) } else { None }
    }

    fn problem(&self, place: &Place) -> Diagnostic {
        let suggestion = |word: &str, known: &[String]| {
            let all = |_| match known {
                [one] => format!("use `{one}`"),
                known => format!("use one of `{}`", known.join("`, `")),
            };
            did_you_mean(word, known.iter().map(String::as_str), all)
        };
        match self {
            Fault::UnknownField(field, known) => {
                let problem = Diagnostic::new(format!("unknown key `{field}`"), place.span.clone());
                if let Some(help) = hints::key(field, known, &place.around) {
                    return problem.with_help(help);
                }
                if known.is_empty() {
                    return problem;
                }
                problem.with_help(suggestion(field, known))
            }
            Fault::MissingField(field) => {
                Diagnostic::new(format!("`{field}` is missing"), first_line(&place.span))
                    .with_help(hints::missing(field))
            }
            Fault::UnknownValue(value, known) => {
                let help = hints::value(value, known).map(str::to_owned);
                Diagnostic::new(format!("unknown value `{value}`"), place.span.clone())
                    .with_help(help.unwrap_or_else(|| suggestion(value, known)))
            }
            Fault::WrongType { expected } => {
                let problem = |found: &str| {
                    Diagnostic::new(format!("expected {expected}, found {found}"), place.span.clone())
                };
                let problem = match &place.text {
                    // A number is expected, so the message shows the number itself.
                    Some(number) if place.found == "a number" && expected.contains("number") => {
                        problem(number)
                    }
                    _ => problem(place.found),
                };
                match advice(expected, place) {
                    Some(advice) => problem.with_help(advice),
                    None => problem,
                }
            }
            Fault::UnknownKind(word) => {
                let is_sent = |kind: &&EventKind| {
                    !matches!(
                        kind,
                        EventKind::ApprovalDecided | EventKind::Restored | EventKind::Administered
                    )
                };
                let kinds: Vec<String> =
                    EventKind::ALL.iter().filter(is_sent).map(ToString::to_string).collect();
                let help = hints::kind(word).map(|kind| format!("did you mean `{kind}`?"));
                Diagnostic::new(format!("unknown kind of event `{word}`"), place.span.clone())
                    .with_help(help.unwrap_or_else(|| suggestion(word, &kinds)))
            }
            Fault::Other(message) => match message.split_once("; ") {
                Some((what, help)) => Diagnostic::new(what, place.span.clone()).with_help(help),
                None => Diagnostic::new(message.clone(), place.span.clone()),
            },
        }
    }
}

/// How to write a value of a type.
fn advice(expected: &str, place: &Place) -> Option<String> {
    let key = place.path.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    if expected.contains("duration") {
        return Some("for example `90s`, `15m`, `2h` or `1d`".to_owned());
    }
    let whole = |least: u32| match place.text.as_deref().and_then(hints::number) {
        Some(number) if place.found == "a text" => format!("write the number alone: `{number}`"),
        _ => format!("write a whole number such as {}", if key == Some("priority") { 110 } else { least }),
    };
    match (expected, &place.text) {
        ("a whole number of 0 or more" | "a whole number of 1 or more", _) => Some(whole(3)),
        ("a number", text) => match text.as_deref().and_then(hints::number) {
            Some(number) => Some(format!("write the number alone: `{number}`")),
            None => Some("write a number such as 0.5".to_owned()),
        },
        ("true or false", text) => match text.as_deref().and_then(hints::boolean) {
            Some(value) => {
                Some(format!("write `{value}` without quotes: only `true` and `false` are not texts"))
            }
            None => Some("write `true` or `false`".to_owned()),
        },
        _ if key.and_then(hints::shape).is_some() => key.and_then(hints::shape).map(str::to_owned),
        ("a list", Some(text)) => Some(format!("write `[{text}]`")),
        ("a text" | "a text or a list of texts", Some(number)) => Some(format!("write `\"{number}\"`")),
        _ => None,
    }
}

/// An error of serde without names of Rust types, and what to do about it.
pub fn describe_serde_error(message: &str) -> (String, Option<String>) {
    let message = message.split(" at line ").next().unwrap_or(message);
    let found = message.split_once(": ").and_then(|(_, rest)| rest.split_once(", expected "));
    let found = found.map(|(found, _)| match found.split([' ', '`']).next().unwrap_or_default() {
        "string" | "character" => "a text",
        "integer" | "floating" => "a number",
        "boolean" => "true or false",
        "sequence" => "a list",
        "map" | "struct" => "a map",
        "null" | "unit" | "Option" => "nothing",
        _ => "something else",
    });
    let fault = Fault::parse(message);
    let place = Place {
        path: Vec::new(),
        span: 0..0,
        found: found.unwrap_or("something else"),
        text: None,
        around: Around::default(),
    };
    let problem = fault.problem(&place);
    match fault {
        Fault::UnknownField(..) | Fault::UnknownValue(..) => (problem.message, problem.help),
        Fault::UnknownKind(_) => {
            let help = problem.help.map(|help| help.replace("use one of", "the kinds of event are"));
            (
                problem.message,
                help.map(|help| if help.starts_with("the") { help.replace('`', "") } else { help }),
            )
        }

        Fault::MissingField(field) => (problem.message, Some(format!("add `{field}`"))),
        Fault::WrongType { .. } => (problem.message, None),
        Fault::Other(_) => (problem.message, problem.help),
    }
}

/// The first character of a map.
fn first_line(span: &Span) -> Span {
    span.start..span.start.saturating_add(1).min(span.end)
}

/// The name of a type of serde or Rust in a message.
fn type_name(expected: &str) -> String {
    match expected {
        "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "a nonzero u8" | "a nonzero u16" | "a nonzero u32" | "a nonzero u64" => "a whole number of 1 or more",
        "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "unit" => "nothing",
        other if other.starts_with("struct ") || other.starts_with("a map") => "a map",
        other if other.starts_with("tuple ") || other.starts_with("an array") => "a list",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::Pack;
    use crate::yaml::parse;

    fn problems(source: &str) -> Vec<String> {
        let nodes = parse(source).unwrap();
        let problems = decode::<Pack>(&nodes[0]).unwrap_err();
        problems
            .iter()
            .map(|problem| {
                let (line, column) = problem.position(source);
                format!("{line}:{column} {} / {}", problem.message, problem.help.clone().unwrap_or_default())
            })
            .collect()
    }

    #[test]
    fn every_problem_is_listed_with_its_place() {
        let source = "pack: p\nmode: enforced\nguardrails:\n  - id: a\n    prioritty: 5\n    on: befor_tool\n    priority: high\n  - {check: 5, enabled: maybe}\nlimits: 1\n";
        let mut found = problems(source);
        found.sort();
        assert_eq!(
            found,
            [
                "2:7 unknown value `enforced` / did you mean `enforce`?",
                "5:5 unknown key `prioritty` / did you mean `priority`?",
                "6:9 unknown kind of event `befor_tool` / did you mean `before_tool`?",
                "7:15 expected a whole number of 0 or more, found a text / write a whole number such as 110",
                "8:13 expected a text, found a number / write an expression as one text, with `AND` or `OR` between its parts: `check: tool.args.amount <= 100`",
                "8:25 expected true or false, found a text / write `true` or `false`",
                "9:1 unknown key `limits` / use `budgets: {tokens: NUMBER, time: DURATION, cost: NUMBER}`",
            ]
        );
    }

    #[test]
    fn missing_key_is_reported_once() {
        assert_eq!(problems("version: 1\n"), ["1:1 `pack` is missing / start with `pack: NAME`"]);
        assert_eq!(problems("pack: [1]\n"), ["1:7 expected a text, found a list / "]);
    }

    #[test]
    fn advice_shows_how_to_write_a_value() {
        let source = "pack: p\ndefaults: {approval_timeout: 30 parsecs, warn_limit: -5}\nagents:\n  a: {allowed_tools: Read}\n";
        let mut found = problems(source);
        found.sort();
        assert_eq!(
            found,
            [
                "2:30 `30 parsecs` is not a duration / write a number of seconds, or a duration such as `90s`, `15m`, `2h` or `1d`",
                "2:54 expected a whole number of 0 or more, found -5 / write a whole number such as 3",
                "4:22 expected a list, found a text / write `[Read]`",
            ]
        );
    }

    #[test]
    fn mistakes_in_steps_have_their_place() {
        let source = "pack: p\ntests:\n  - id: t\n    events:\n      - {before_tol: x}\n      - {before_tool: x, expect: blok}\n      - {before_tool: x, expect: {efect: block}}\n      - {before_tool: x, argz: {}}\n";
        let mut found: Vec<String> = problems(source);
        found.sort();
        let starts = [
            "5:10 unknown key `before_tol` / did you mean `before_tool`?",
            "6:34 unknown value `blok` / did you mean `block`?",
            "7:35 unknown key `efect` / did you mean `effect`?",
            "8:26 unknown key `argz` / did you mean `args`?",
        ];
        assert_eq!(found, starts);
    }
}
