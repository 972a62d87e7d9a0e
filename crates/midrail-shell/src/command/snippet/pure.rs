//! Functions of values that have no effect: joining, decoding, formatting.

use super::value::{Piece, Text, Value};
use crate::command::decode;
use crate::tables::Effect;
use crate::words::code::{ENVIRONMENTS, HOMES, KEYWORDS};

pub(super) fn member(value: Value, name: &str) -> Value {
    match value {
        // Longer names belong to no function that is known.
        Value::Name(before) if before.len() > 200 => Value::Unknown,
        Value::Name(before) => {
            if name == "__dict__" {
                return Value::Name(before);
            }
            let full = format!("{before}.{name}");
            if !is_home(&full) {
                return Value::Name(full);
            }
            let home = Text::known("~");
            if full.ends_with("Path.home") { Value::Path(home) } else { Value::Text(home) }
        }
        Value::Fetched => Value::Fetched,
        Value::Decoded => Value::Decoded,
        Value::Method(..) => Value::Unknown,
        Value::Path(path) if name == "parent" => Value::Path(parent(&path)),
        value @ (Value::Text(_) | Value::Number(_) | Value::List(_) | Value::Path(_) | Value::Unknown) => {
            Value::Method(Box::new(value), name.to_owned())
        }
    }
}

/// The folder that a path lies in.
pub(super) fn parent(path: &Text) -> Text {
    let Some(path) = path.all() else { return Text::unknown() };
    let path = path.trim_end_matches('/');
    Text::known(match path.rsplit_once('/') {
        _ if matches!(path, "" | "." | ".." | "~") || path.ends_with("/..") => format!("{path}/.."),
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None => ".".to_owned(),
    })
}

/// A path below another. One that begins at the root takes its place.
pub(super) fn below(mut folder: Text, path: Text) -> Text {
    if matches!(path.0.first(), Some(Piece::Known(start)) if start.starts_with('/')) {
        return path;
    }
    folder.append(Text::known("/"));
    folder.append(path);
    folder
}

/// A placeholder for some of the names in a folder.
pub(super) const SOME: &str = "…";

/// A list of names of which only some are left.
pub(super) fn narrowed(value: Value) -> Value {
    match value {
        Value::Text(text) if text.all() == Some("*") => Value::Text(Text::known(SOME)),
        value => value,
    }
}

pub(super) fn is_environment(name: &str) -> bool {
    ENVIRONMENTS.contains(&name)
}

pub(super) fn is_home(name: &str) -> bool {
    HOMES.contains(&name.trim())
}

pub(super) fn module_name(name: &str) -> String {
    let name = name.strip_prefix("node:").unwrap_or(name);
    name.replace('/', ".")
}

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

pub(super) fn parse_number(text: &str) -> Value {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_or(Value::Unknown, Value::Number)
}

pub(super) fn characters(values: &[Value]) -> Value {
    let letters: Option<String> = values
        .iter()
        .map(|value| if let Value::Number(number) = value { char::from_u32(*number) } else { None })
        .collect();
    letters.map_or(Value::Decoded, |text| Value::Text(Text::known(text)))
}

pub(super) fn reverse(value: Value) -> Value {
    match value {
        Value::Text(text) => decoded(Effect::Reverse, &text, None),
        Value::List(values) => Value::List(values.into_iter().rev().collect()),
        other => other,
    }
}

pub(super) fn decoded(decoder: Effect, text: &Text, name: Option<&str>) -> Value {
    let Some(text) = text.all() else {
        // Text of unknown origin in plain form: `Buffer.from(x)`.
        let is_plain = decoder == Effect::NamedDecoder
            && !matches!(name, Some("base64" | "hex" | "rot13" | "rot_13" | "H*"));
        return if is_plain || decoder == Effect::Percent { Value::Unknown } else { Value::Decoded };
    };
    let result = match (decoder, name) {
        (Effect::Base64, _) | (Effect::NamedDecoder, Some("base64" | "m")) => decode::base64(text),
        (Effect::Hex, _) | (Effect::NamedDecoder, Some("hex" | "hex_codec" | "H*")) => decode::hex(text),
        (Effect::Percent, _) => decode::percent(text),
        (Effect::Rot13, _) | (Effect::NamedDecoder, Some("rot13" | "rot_13")) => Some(decode::rot13(text)),
        (Effect::Reverse, _) => Some(text.chars().rev().collect()),
        (Effect::NamedDecoder, _) => Some(text.to_owned()),
        _ => None,
    };
    result.map_or(Value::Decoded, |text| Value::Text(Text::known(text)))
}

pub(super) fn join(joint: &Text, list: Option<&Value>) -> Value {
    let Some(Value::List(values)) = list else {
        return match list {
            Some(Value::Decoded) => Value::Decoded,
            Some(value @ Value::Text(_)) if joint.len() == 0 => value.clone(),
            _ => Value::Unknown,
        };
    };
    let mut text = Text::default();
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            text.append(joint.clone());
        }
        text.append(value.text());
    }
    Value::Text(text)
}

pub(super) fn split(text: &Text, by: Option<&Value>) -> Value {
    // Longer ones are data: a list of their letters would take far more room than they do.
    let Some(text) = text.all().filter(|text| text.len() < 64 * 1024) else { return Value::Unknown };
    let word = |word: &str| Value::Text(Text::known(word));
    let by = by.map(Value::text);
    match by.as_ref().and_then(Text::all) {
        None | Some(" ") => Value::List(text.split_ascii_whitespace().map(word).collect()),
        Some("") => Value::List(text.chars().map(|letter| Value::Text(Text::known(letter))).collect()),
        Some(by) => Value::List(text.split(by).map(word).collect()),
    }
}

/// `"rm %s" % x`
pub(super) fn format(text: Text, with: &Value) -> Text {
    let mut values = with.each().iter();
    let mut out = Text::default();
    for piece in text.0 {
        let Piece::Known(known) = piece else {
            out.append(Text::unknown());
            continue;
        };
        let mut rest = known.as_str();
        while let Some((before, after)) = rest.split_once('%') {
            out.append(Text::known(before));
            match after.chars().next() {
                Some('s' | 'd' | 'r' | 'i') => {
                    out.append(values.next().map_or_else(Text::unknown, Value::text));
                    rest = after.get(1..).unwrap_or("");
                }
                Some('%') => {
                    out.append(Text::known("%"));
                    rest = after.get(1..).unwrap_or("");
                }
                _ => {
                    out.append(Text::known("%"));
                    rest = after;
                }
            }
        }
        out.append(Text::known(rest));
    }
    out
}

/// `"rm {}".format(x)`
pub(super) fn braces(text: &Text, values: &[Value]) -> Text {
    let mut values = values.iter();
    let mut out = Text::default();
    for piece in &text.0 {
        let Piece::Known(known) = piece else {
            out.append(Text::unknown());
            continue;
        };
        let mut rest = known.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            out.append(Text::known(before));
            let Some((name, after)) = after.split_once('}') else { break };
            let is_next = name.is_empty() || name.parse::<u8>().is_ok();
            out.append(if is_next {
                values.next().map_or_else(Text::unknown, Value::text)
            } else {
                Text::unknown()
            });
            rest = after;
        }
        out.append(Text::known(rest));
    }
    out
}
