//! Strict JSON, read by its own rules: YAML has no surrogate pairs and requires short keys on one line.

use crate::diagnostic::Diagnostic;
use crate::yaml::build::{Builder, Scalar, Stop};
use crate::yaml::node::{Node, TextStyle};

/// Parses a text that is one JSON list or object. `None`: it is not JSON, but may be YAML.
pub(super) fn parse(source: &str) -> Option<(Vec<Node>, Vec<Diagnostic>)> {
    let start = source.len() - source.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).len();
    if !source.get(start..)?.starts_with(['{', '[']) {
        return None;
    }
    let mut reader = Reader { source, at: start, builder: Builder::new(source) };
    reader.builder.start_document();
    match reader.value() {
        Ok(()) if reader.peek().is_some() => None,
        Ok(()) | Err(Exit::Stop) => Some(reader.builder.finish()),
        Err(Exit::NotJson) => None,
    }
}

enum Exit {
    NotJson,
    Stop,
}

impl From<Stop> for Exit {
    fn from(Stop: Stop) -> Exit {
        Exit::Stop
    }
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    builder: Builder<'a>,
}

impl Reader<'_> {
    /// The recursion is limited by the depth limit of the builder.
    fn value(&mut self) -> Result<(), Exit> {
        match self.peek() {
            Some('{') => {
                self.builder.start_map(self.at, 0)?;
                self.items('}', true)
            }
            Some('[') => {
                self.builder.start_list(self.at, 0)?;
                self.items(']', false)
            }
            Some('"') => self.text(),
            Some(_) => self.word(),
            None => Err(Exit::NotJson),
        }
    }

    /// The items of a list or map up to its end.
    fn items(&mut self, end: char, have_keys: bool) -> Result<(), Exit> {
        self.at += 1;
        let mut is_first = true;
        loop {
            if is_first && self.peek() == Some(end) {
                return self.close();
            }
            is_first = false;
            if have_keys {
                if self.peek() != Some('"') {
                    return Err(Exit::NotJson);
                }
                self.text()?;
                if self.peek() != Some(':') {
                    return Err(Exit::NotJson);
                }
                self.at += 1;
            }
            self.value()?;
            match self.peek() {
                Some(',') => self.at += 1,
                Some(found) if found == end => return self.close(),
                _ => return Err(Exit::NotJson),
            }
        }
    }

    fn text(&mut self) -> Result<(), Exit> {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let mut is_escaped = false;
        let is_end = |(_, byte): &(usize, u8)| {
            let is_end = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            is_end
        };
        let (end, _) = rest.bytes().enumerate().skip(1).find(is_end).ok_or(Exit::NotJson)?;
        let text = serde_json::from_str(rest.get(..=end).unwrap_or_default()).map_err(|_| Exit::NotJson)?;
        self.scalar(text, TextStyle::DoubleQuoted, end + 1)
    }

    /// `true`, `false`, `null` or a number.
    fn word(&mut self) -> Result<(), Exit> {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let length = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(word).map_err(|_| Exit::NotJson)?;
        self.scalar(word.to_owned(), TextStyle::Plain, length)
    }

    fn scalar(&mut self, text: String, style: TextStyle, length: usize) -> Result<(), Exit> {
        let span = self.at..self.at + length;
        self.at = span.end;
        Ok(self.builder.scalar(Scalar { text, style, span, anchor: 0, tag: None })?)
    }

    fn close(&mut self) -> Result<(), Exit> {
        let span = self.at..self.at + 1;
        self.at += 1;
        Ok(self.builder.end(span)?)
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.source.get(self.at..)?;
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next()
    }
}
