//! YAML text to a tree in which every value knows its place; what the values mean is decided elsewhere.
//!
//! JSON is accepted too. Plain scalars follow the core schema of YAML 1.2, so `on`, `yes` and `no`
//! are texts.

mod build;
mod json;
mod offset;
mod scalar;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

pub use crate::diagnostic::Span;
use crate::diagnostic::{Diagnostic, excerpt};
use build::{Builder, Scalar, Step, Stop};
use offset::Offsets;

/// Bounds on what a text may ask for, so that no input exhausts memory or stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Length of the text in bytes.
    pub bytes: usize,
    /// Lists and maps inside one another.
    pub depth: usize,
    /// Values in the tree, those that aliases repeat included.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 1 << 20, depth: 64, nodes: 100_000 }
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The bytes that hold the value: quotes and brackets included, anchors and tags not. A value
    /// that came by an alias has the place of its anchor.
    pub span: Span,
    /// The value.
    pub value: NodeValue,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// Nothing, also where a value is absent.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number, among them whole ones beyond 64 bits.
    Float(f64),
    /// A text and how it was written.
    Text(String, TextStyle),
    /// Values in order.
    List(Vec<Node>),
    /// Named values in order; no name twice.
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key; of a number or truth value, its source text.
    pub text: String,
    /// The bytes that hold the key.
    pub span: Span,
}

/// How a text was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextStyle {
    /// Without quotes.
    Plain,
    /// In `'`.
    SingleQuoted,
    /// In `"`.
    DoubleQuoted,
    /// As a block after `|`.
    Literal,
    /// As a block after `>`.
    Folded,
}

/// Parses a stream of YAML documents into one node each, or lists what is wrong with it.
pub fn parse(source: &str, limits: &Limits) -> Result<Vec<Node>, Vec<Diagnostic>> {
    let (nodes, problems) = parse_leniently(source, limits);
    if problems.is_empty() { Ok(nodes) } else { Err(problems) }
}

/// The same, with what is left where a key is there twice (the first counts), so that the rest can be checked too.
pub(crate) fn parse_leniently(source: &str, limits: &Limits) -> (Vec<Node>, Vec<Diagnostic>) {
    let (nodes, problems) = parse_all(source, limits);
    // What other problems leave behind would be wrong in ways that nobody wrote.
    let is_whole = problems.iter().all(|problem| problem.message.starts_with("duplicate key"));
    (if is_whole { nodes } else { Vec::new() }, problems)
}

fn parse_all(source: &str, limits: &Limits) -> (Vec<Node>, Vec<Diagnostic>) {
    if source.len() > limits.bytes {
        let message =
            format!("the text is {} bytes long, more than the limit of {}", source.len(), limits.bytes);
        return (Vec::new(), vec![Diagnostic::new(message, 0..0)]);
    }
    if let Some((at, control)) = source
        .char_indices()
        .find(|(_, c)| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{7f}'))
    {
        let message = format!("control character U+{:04X} is not allowed", u32::from(control));
        let problem =
            Diagnostic::new(message, at..at + 1).with_help("write it as an escape in double quotes");
        return (Vec::new(), vec![problem]);
    }
    if let Some(outcome) = json::parse(source, limits) {
        return outcome;
    }
    let mut builder = Builder::new(source, limits);
    // What stopped the walk is among the builder's problems.
    let _ = read_events(source, &mut builder);
    builder.finish()
}

/// The value of a node as JSON; numbers that JSON cannot hold (`.inf`, `.nan`) become null.
pub fn to_json(node: &Node) -> serde_json::Value {
    use serde_json::Value;
    match &node.value {
        NodeValue::Null => Value::Null,
        NodeValue::Bool(value) => Value::Bool(*value),
        NodeValue::Int(value) => Value::from(*value),
        NodeValue::Float(value) => Value::from(*value),
        NodeValue::Text(text, _) => Value::String(text.clone()),
        NodeValue::List(nodes) => Value::Array(nodes.iter().map(to_json).collect()),
        NodeValue::Map(entries) => {
            Value::Object(entries.iter().map(|(key, node)| (key.text.clone(), to_json(node))).collect())
        }
    }
}

impl Node {
    /// The text, where the node is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text, _) => Some(text),
            _ => None,
        }
    }

    /// The values, where the node is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// The entries, where the node is a map.
    pub fn as_map(&self) -> Option<&[(Key, Node)]> {
        match &self.value {
            NodeValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value under a key, where the node is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|(candidate, _)| candidate.text == key).map(|(_, node)| node)
    }

    /// What the node is, in words for a message: "a text", "a list".
    pub fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "true or false",
            NodeValue::Int(_) | NodeValue::Float(_) => "a number",
            NodeValue::Text(..) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }

    /// The byte offset in `source` of the byte `value_offset` of this node's text.
    ///
    /// Points at the start of the node where the two cannot be aligned.
    pub fn source_offset(&self, source: &str, value_offset: usize) -> usize {
        match &self.value {
            NodeValue::Text(text, style) => {
                offset::align(source, &self.span, text, *style, value_offset).unwrap_or(self.span.start)
            }
            _ => self.span.start,
        }
    }
}

fn read_events(source: &str, builder: &mut Builder<'_>) -> Step {
    let offsets = Offsets::new(source);
    let mut parser = Parser::new_from_str(source);
    while let Some(event) = parser.next_event() {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) if error.info().contains("recursion limit") => {
                let at = offsets.byte(source, error.marker().index());
                return builder.stop(builder.too_deep(at..at + 1));
            }
            Err(error) => return builder.stop(syntax_problem(source, &offsets, &error)),
        };
        let span = offsets.byte(source, span.start.index())..offsets.byte(source, span.end.index());
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) => builder.start_document(),
            Event::Alias(anchor) => builder.alias(anchor, span)?,
            Event::Scalar(text, style, anchor, tag) => {
                let tagged = tag.is_some() || anchor != 0;
                let style = text_style(style);
                let tag = core_tag(tag.as_deref(), &tag_span(source, &span), builder)?;
                let span = scalar_span(source, span, style, tagged);
                builder.scalar(Scalar { text: text.into_owned(), style, span, anchor, tag })?;
            }
            Event::SequenceStart(anchor, tag) => {
                expect_tag(tag.as_deref(), "seq", &tag_span(source, &span), builder)?;
                let span = strip_properties(source, span, anchor != 0 || tag.is_some());
                builder.start_list(span.start, anchor)?;
            }
            Event::MappingStart(anchor, tag) => {
                expect_tag(tag.as_deref(), "map", &tag_span(source, &span), builder)?;
                let span = strip_properties(source, span, anchor != 0 || tag.is_some());
                builder.start_map(span.start, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => builder.end(span)?,
        }
    }
    Ok(())
}

fn syntax_problem(source: &str, offsets: &Offsets, error: &ScanError) -> Diagnostic {
    let at = offsets.byte(source, error.marker().index());
    let rest = source.get(at..).unwrap_or_default();
    let info = error.info();
    if info.contains("unknown anchor") {
        let length =
            rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}')).unwrap_or(rest.len());
        let name = rest.get(1..length).unwrap_or_default();
        return Diagnostic::new(format!("unknown anchor `{}`", excerpt(name)), at..at + length)
            .with_help("define it before its use with `&`; a text that starts with `*` needs quotes");
    }
    let length = rest.chars().next().map_or(0, char::len_utf8);
    let problem = Diagnostic::new(format!("invalid YAML: {info}"), at..at + length);
    match ADVICE.iter().find(|(part, _)| info.contains(part)) {
        Some((_, help)) => problem.with_help(*help),
        None => problem,
    }
}

/// Advice for the parser's messages, found by a part of their text.
const ADVICE: [(&str, &str); 8] = [
    ("found a tab", "indent with spaces, not with tabs"),
    ("tabs disallowed", "indent with spaces, not with tabs"),
    ("trailing content", "put the whole value in quotes, or write it as a block after `|`"),
    ("mapping values are not allowed", "put a value that holds `: ` in quotes, or check the indentation"),
    ("unexpected character", "put a value that starts with this character in quotes"),
    ("unknown escape", "write a backslash as `\\\\`, or use single quotes"),
    ("did not find expected key", "check the indentation"),
    ("did not find expected '-'", "check the indentation"),
];

fn text_style(style: ScalarStyle) -> TextStyle {
    match style {
        ScalarStyle::Plain => TextStyle::Plain,
        ScalarStyle::SingleQuoted => TextStyle::SingleQuoted,
        ScalarStyle::DoubleQuoted => TextStyle::DoubleQuoted,
        ScalarStyle::Literal => TextStyle::Literal,
        ScalarStyle::Folded => TextStyle::Folded,
    }
}

/// The suffix of a core tag (`str`, `int`, …); any other tag is a problem.
fn core_tag<'t>(
    tag: Option<&'t Tag>,
    span: &Span,
    builder: &mut Builder<'_>,
) -> Result<Option<&'t str>, Stop> {
    let Some(tag) = tag else { return Ok(None) };
    let suffix = if tag.is_yaml_core_schema() {
        Some(tag.suffix.as_str())
    } else if tag.handle.is_empty() {
        if tag.suffix == "!" { Some("str") } else { tag.suffix.strip_prefix("tag:yaml.org,2002:") }
    } else {
        None
    };
    match suffix {
        Some("str" | "int" | "float" | "bool" | "null" | "seq" | "map") => Ok(suffix),
        _ => {
            let name = format!("{}{}", tag.handle, tag.suffix);
            let help = "known are `!!str`, `!!int`, `!!float`, `!!bool` and `!!null`; a text that starts with `!` needs quotes";
            builder.problem(
                Diagnostic::new(format!("unknown tag `{}`", excerpt(&name)), span.clone()).with_help(help),
            )?;
            Ok(None)
        }
    }
}

fn expect_tag(tag: Option<&Tag>, wanted: &str, span: &Span, builder: &mut Builder<'_>) -> Step {
    // The non-specific tag `!` leaves a list or map what it is.
    if tag.is_some_and(|tag| tag.handle.is_empty() && tag.suffix == "!") {
        return Ok(());
    }
    match core_tag(tag, span, builder)? {
        Some(found) if found != wanted => builder
            .problem(Diagnostic::new(format!("the tag `!!{found}` does not fit this value"), span.clone())),
        _ => Ok(()),
    }
}

/// The place of the tag before a value that has one.
fn tag_span(source: &str, span: &Span) -> Span {
    let text = source.get(span.clone()).unwrap_or_default();
    // An anchor may stand first; it cannot hold a blank.
    let at = if text.starts_with('!') { 0 } else { text.find(" !").map_or(0, |at| at + 1) };
    let tag = text.get(at..).unwrap_or_default();
    let length = tag.find(char::is_whitespace).unwrap_or(tag.len());
    span.start + at..span.start + at + length
}

/// The place of a scalar without its anchor, tag, block header and the blank lines after it.
fn scalar_span(source: &str, span: Span, style: TextStyle, tagged: bool) -> Span {
    let mut span = strip_properties(source, span, tagged);
    if !matches!(style, TextStyle::Literal | TextStyle::Folded) {
        return span;
    }
    let text = source.get(span.clone()).unwrap_or_default();
    if tagged && text.starts_with(['|', '>']) {
        let header = text.find('\n').unwrap_or(text.len());
        let rest = text.get(header..).unwrap_or_default();
        span.start += header + (rest.len() - rest.trim_start().len());
    }
    let text = source.get(span.clone()).unwrap_or_default();
    span.start..span.start + text.trim_end().len()
}

/// The place of a value without the anchor and tag before it.
fn strip_properties(source: &str, span: Span, tagged: bool) -> Span {
    if !tagged {
        return span;
    }
    let mut start = span.start;
    loop {
        let rest = source.get(start..span.end).unwrap_or_default();
        start += match rest.chars().next() {
            Some('#') => rest.find('\n').unwrap_or(rest.len()),
            Some('&' | '!') => rest.find(char::is_whitespace).unwrap_or(rest.len()),
            Some(c) if c.is_whitespace() => rest.len() - rest.trim_start().len(),
            _ => return start..span.end.max(start),
        };
    }
}

#[cfg(test)]
mod tests;
