//! Parses YAML into a tree in which every value has its place. The meaning of the values is defined elsewhere.
//!
//! JSON is accepted, too. Plain scalars follow the core schema of YAML 1.2, so `on`, `yes` and `no` are texts.

mod build;
mod json;
mod node;
mod offset;
mod scalar;

use saphyr_parser::{Event, Parser, ScanError, Tag};

use crate::diagnostic::{Diagnostic, excerpt};
use build::{Builder, MAX_BYTES, Scalar, Step, Stop};
pub use node::{Key, Node, NodeValue, Span, TextStyle, to_json};
use offset::Offsets;

/// Parses a stream of YAML documents into one node each, or lists its problems.
pub fn parse(source: &str) -> Result<Vec<Node>, Vec<Diagnostic>> {
    let (nodes, problems) = parse_leniently(source);
    if problems.is_empty() { Ok(nodes) } else { Err(problems) }
}

/// The same, but also returns the tree if the only problems are duplicate keys (the first one counts), so that the rest
/// can be checked.
pub(crate) fn parse_leniently(source: &str) -> (Vec<Node>, Vec<Diagnostic>) {
    let (nodes, problems) = parse_all(source);
    // After any other problem the tree would have errors that the user did not write.
    let is_whole = problems.iter().all(|problem| problem.message.starts_with("duplicate key"));
    (if is_whole { nodes } else { Vec::new() }, problems)
}

fn parse_all(source: &str) -> (Vec<Node>, Vec<Diagnostic>) {
    if source.len() > MAX_BYTES {
        let message = format!("the text is {} bytes long, more than the limit of {MAX_BYTES}", source.len());
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
    if let Some(outcome) = json::parse(source) {
        return outcome;
    }
    let mut builder = Builder::new(source);
    // The reason for an early stop is among the problems of the builder.
    let _ = read_events(source, &mut builder);
    builder.finish()
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
    if info.contains("trailing content") && source.get(..at).is_some_and(|before| before.ends_with('\'')) {
        return Diagnostic::new("a text in single quotes ends here, and more follows", at..at + length)
            .with_help("write an apostrophe within single quotes twice: `'Don''t'`, or use double quotes");
    }
    // `{when: time.weekday in ['sat', 'sun']}`: in braces, a text without quotes ends at a bracket.
    let is_bracket = info.contains("flow") && rest.starts_with(['[', '{', ']', '}', ',']);
    let line = source.get(..at).and_then(|before| before.lines().next_back()).unwrap_or_default();
    if is_bracket && ["when:", "check:", "condition:"].iter().any(|key| line.contains(key)) {
        return Diagnostic::new("invalid YAML: a text without quotes ends here", at..at + length)
            .with_help("put an expression with `[`, `{` or `,` in double quotes: `when: \"time.weekday in ['saturday']\"`");
    }
    let Some((_, message, help)) = ADVICE.iter().find(|(part, ..)| info.contains(part)) else {
        return Diagnostic::new(format!("invalid YAML: {info}"), at..at + length)
            .with_help("check the indentation and the quotes of this line and of the one before it");
    };
    let message = if message.is_empty() { info } else { message };
    Diagnostic::new(format!("invalid YAML: {message}"), at..at + length).with_help(*help)
}

/// What is wrong and advice, by a part of the parser's message. An empty message: that of the parser.
const ADVICE: [(&str, &str, &str); 10] = [
    ("found a tab", "a tab in the indentation", "indent with spaces, not with tabs"),
    ("tabs disallowed", "a tab in the indentation", "indent with spaces, not with tabs"),
    (
        "trailing content",
        "a text in quotes ends here, and more follows",
        "put the whole value in quotes, or write it as a block after `|`",
    ),
    (
        "anchor or alias",
        "`*` and `&` have a meaning of their own at the start of a value",
        "put a text that starts with `*` or `&` in quotes: `\"*\"`",
    ),
    ("found unexpected end of stream", "a text in quotes does not end", "add the closing quote"),
    (
        "mapping values are not allowed",
        "a colon where no key can be",
        "put a value that contains `: ` in quotes, write a space after the colon of every key, and check the indentation",
    ),
    ("unexpected character", "", "put a value that starts with this character in quotes"),
    (
        "unknown escape",
        "an unknown escape in double quotes",
        "write a backslash as `\\\\`, or use single quotes",
    ),
    (
        "did not find expected key",
        "this line has another indentation than those before it",
        "check the indentation: the keys of one map start in the same column",
    ),
    (
        "did not find expected '-'",
        "this line has another indentation than those before it",
        "check the indentation: the keys of one item start in the same column",
    ),
];

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
            let help = "use `!!str`, `!!int`, `!!float`, `!!bool` or `!!null`; a text that starts with `!` needs quotes";
            builder.problem(
                Diagnostic::new(format!("unknown tag `{}`", excerpt(&name)), span.clone()).with_help(help),
            )?;
            Ok(None)
        }
    }
}

fn expect_tag(tag: Option<&Tag>, wanted: &str, span: &Span, builder: &mut Builder<'_>) -> Step {
    // The non-specific tag `!` does not change a list or map.
    if tag.is_some_and(|tag| tag.handle.is_empty() && tag.suffix == "!") {
        return Ok(());
    }
    match core_tag(tag, span, builder)? {
        Some(found) if found != wanted => builder
            .problem(Diagnostic::new(format!("the tag `!!{found}` does not match this value"), span.clone())),
        _ => Ok(()),
    }
}

/// The place of the tag of a value.
fn tag_span(source: &str, span: &Span) -> Span {
    let text = source.get(span.clone()).unwrap_or_default();
    // An anchor may come first; it cannot contain a space.
    let at = if text.starts_with('!') { 0 } else { text.find(" !").map_or(0, |at| at + 1) };
    let tag = text.get(at..).unwrap_or_default();
    let length = tag.find(char::is_whitespace).unwrap_or(tag.len());
    span.start + at..span.start + at + length
}

/// The place of a scalar without its anchor, tag, block header and trailing blank lines.
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

/// The place of a value without its anchor and tag.
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
