//! Strict JSON, read by its own rules: YAML knows no surrogate pairs and wants short keys on one line.

use super::build::{Builder, Scalar, Stop};
use super::{Limits, Node, NodeValue, TextStyle, scalar};
use crate::diagnostic::Diagnostic;

/// Parses a text that is one JSON list or object; nothing where it is not (it may still be YAML).
pub(super) fn parse(source: &str, limits: &Limits) -> Option<(Vec<Node>, Vec<Diagnostic>)> {
    let start = source.len() - source.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).len();
    if !source.get(start..)?.starts_with(['{', '[']) {
        return None;
    }
    let mut reader = Reader { source, at: start, builder: Builder::new(source, limits) };
    match reader.document() {
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
    fn document(&mut self) -> Result<(), Exit> {
        self.builder.start_document();
        self.value()?;
        if self.peek().is_none() { Ok(()) } else { Err(Exit::NotJson) }
    }

    /// Recursion is bounded, since the builder stops at its depth limit.
    fn value(&mut self) -> Result<(), Exit> {
        match self.peek() {
            Some('{') => self.object(),
            Some('[') => self.list(),
            Some('"') => self.text(),
            Some(_) => self.word(),
            None => Err(Exit::NotJson),
        }
    }

    fn object(&mut self) -> Result<(), Exit> {
        self.builder.start_map(self.at, 0)?;
        self.at += 1;
        if self.peek() == Some('}') {
            return self.close();
        }
        loop {
            if self.peek() != Some('"') {
                return Err(Exit::NotJson);
            }
            self.text()?;
            self.eat(':')?;
            self.value()?;
            match self.peek() {
                Some(',') => self.at += 1,
                Some('}') => return self.close(),
                _ => return Err(Exit::NotJson),
            }
        }
    }

    fn list(&mut self) -> Result<(), Exit> {
        self.builder.start_list(self.at, 0)?;
        self.at += 1;
        if self.peek() == Some(']') {
            return self.close();
        }
        loop {
            self.value()?;
            match self.peek() {
                Some(',') => self.at += 1,
                Some(']') => return self.close(),
                _ => return Err(Exit::NotJson),
            }
        }
    }

    fn text(&mut self) -> Result<(), Exit> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let rest = self.source.get(self.at..).unwrap_or_default();
            let plain = rest.find(['"', '\\', '\n', '\r', '\t']).ok_or(Exit::NotJson)?;
            text.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain + 1;
            match rest.get(plain..plain + 1) {
                Some("\"") => break,
                Some("\\") => text.push(self.escape()?),
                _ => return Err(Exit::NotJson),
            }
        }
        let span = start..self.at;
        let scalar = Scalar { text, style: TextStyle::DoubleQuoted, span, anchor: 0, tag: None };
        Ok(self.builder.scalar(scalar)?)
    }

    fn escape(&mut self) -> Result<char, Exit> {
        let kind = self.source.get(self.at..self.at + 1).ok_or(Exit::NotJson)?;
        self.at += 1;
        match kind {
            "\"" => Ok('"'),
            "\\" => Ok('\\'),
            "/" => Ok('/'),
            "b" => Ok('\u{8}'),
            "f" => Ok('\u{c}'),
            "n" => Ok('\n'),
            "r" => Ok('\r'),
            "t" => Ok('\t'),
            "u" => {
                let first = self.hex()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first).ok_or(Exit::NotJson);
                }
                if self.source.get(self.at..self.at + 2) != Some("\\u") {
                    return Err(Exit::NotJson);
                }
                self.at += 2;
                let second = self.hex()?;
                if !(0xdc00..0xe000).contains(&second) {
                    return Err(Exit::NotJson);
                }
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or(Exit::NotJson)
            }
            _ => Err(Exit::NotJson),
        }
    }

    fn hex(&mut self) -> Result<u32, Exit> {
        let digits = self.source.get(self.at..self.at + 4).ok_or(Exit::NotJson)?;
        self.at += 4;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Exit::NotJson);
        }
        u32::from_str_radix(digits, 16).map_err(|_| Exit::NotJson)
    }

    /// `true`, `false`, `null` or a number.
    fn word(&mut self) -> Result<(), Exit> {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let fits = match word {
            "true" | "false" | "null" => true,
            _ => {
                word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
                    && !word.starts_with("0x")
                    && !word.starts_with("0o")
                    && matches!(scalar::plain(word), NodeValue::Int(_) | NodeValue::Float(_))
            }
        };
        if !fits {
            return Err(Exit::NotJson);
        }
        let span = self.at..self.at + length;
        self.at = span.end;
        let scalar = Scalar { text: word.to_owned(), style: TextStyle::Plain, span, anchor: 0, tag: None };
        Ok(self.builder.scalar(scalar)?)
    }

    fn close(&mut self) -> Result<(), Exit> {
        let span = self.at..self.at + 1;
        self.at += 1;
        Ok(self.builder.end(span)?)
    }

    fn eat(&mut self, wanted: char) -> Result<(), Exit> {
        if self.peek() != Some(wanted) {
            return Err(Exit::NotJson);
        }
        self.at += 1;
        Ok(())
    }

    /// The next character that is not a blank.
    fn peek(&mut self) -> Option<char> {
        let rest = self.source.get(self.at..)?;
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        rest.trim_start_matches([' ', '\t', '\r', '\n']).chars().next()
    }
}
