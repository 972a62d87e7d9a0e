//! Functions of values that have no effect: joining, decoding, formatting. Lookup of those that have one, in `data/code.toml`.

use super::value::{Value, unknown};
use crate::command::decode;
use crate::command::invocation::Arg;
use crate::tables::{Effect, FUNCTIONS, Language, METHODS, PATH_METHODS};
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
            let home = Arg::known("~");
            if full.ends_with("Path.home") { Value::Path(home) } else { Value::Text(home) }
        }
        Value::Fetched | Value::Decoded => value,
        Value::Method(..) => Value::Unknown,
        Value::Path(path) if name == "parent" => Value::Path(parent(&path)),
        value => Value::Method(Box::new(value), name.to_owned()),
    }
}

/// The folder that a path lies in.
pub(super) fn parent(path: &Arg) -> Arg {
    let Some(path) = path.all() else { return unknown() };
    let path = path.trim_end_matches('/');
    Arg::known(match path.rsplit_once('/') {
        _ if matches!(path, "" | "." | ".." | "~") || path.ends_with("/..") => format!("{path}/.."),
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None => ".".to_owned(),
    })
}

/// A path below another. One that begins at the root takes its place.
pub(super) fn below(mut folder: Arg, path: Arg) -> Arg {
    if path.text.starts_with('/') {
        return path;
    }
    folder.add(&Arg::known("/"));
    folder.add(&path);
    folder
}

/// One of the values of a list, whichever.
pub(super) fn one_of(value: Value) -> Value {
    match value {
        Value::List(values) => Value::Any(values),
        value => value,
    }
}

/// A placeholder for some of the names in a folder.
pub(super) const SOME: &str = "…";

/// A list of names of which only some are left.
pub(super) fn narrowed(value: Value) -> Value {
    match value {
        Value::Text(text) if text.all() == Some("*") => Value::known(SOME),
        value => value,
    }
}

pub(super) fn is_environment(name: &str) -> bool {
    ENVIRONMENTS.contains(name)
}

pub(super) fn is_home(name: &str) -> bool {
    HOMES.contains(name.trim())
}

pub(super) fn module_name(name: &str) -> String {
    let name = name.strip_prefix("node:").unwrap_or(name);
    name.replace('/', ".")
}

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(word)
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
    letters.map_or(Value::Decoded, Value::known)
}

pub(super) fn reverse(value: Value) -> Value {
    match value {
        Value::Text(text) => decoded(Effect::Reverse, &text, None),
        Value::List(values) => Value::List(values.into_iter().rev().collect()),
        other => other,
    }
}

pub(super) fn decoded(decoder: Effect, text: &Arg, name: Option<&str>) -> Value {
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
    result.map_or(Value::Decoded, Value::known)
}

pub(super) fn join(joint: &Arg, list: Option<&Value>) -> Value {
    let Some(Value::List(values)) = list else {
        return match list {
            Some(Value::Decoded) => Value::Decoded,
            Some(value @ Value::Text(_)) if joint.text.is_empty() => value.clone(),
            _ => Value::Unknown,
        };
    };
    let mut text = Arg::default();
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            text.add(&joint.clone());
        }
        text.add(&value.text());
    }
    Value::Text(text)
}

pub(super) fn split(text: &Arg, by: Option<&Value>) -> Value {
    // Longer ones are data: a list of their letters would take far more room than they do.
    let Some(text) = text.all().filter(|text| text.len() < 64 * 1024) else { return Value::Unknown };
    let word = |word: &str| Value::known(word);
    let by = by.map(Value::text);
    match by.as_ref().and_then(Arg::all) {
        None | Some(" ") => Value::List(text.split_ascii_whitespace().map(word).collect()),
        Some("") => Value::List(text.chars().map(Value::known).collect()),
        Some(by) => Value::List(text.split(by).map(word).collect()),
    }
}

/// `"rm %s" % x`
pub(super) fn format(text: Arg, with: &Value) -> Arg {
    let mut values = with.each().iter();
    let mut out = Arg::default();
    for (mut rest, is_known) in text.pieces() {
        if !is_known {
            out.add(&unknown());
            continue;
        }
        while let Some((before, after)) = rest.split_once('%') {
            out.add(&Arg::known(before));
            match after.chars().next() {
                Some('s' | 'd' | 'r' | 'i') => {
                    out.add(&values.next().map_or_else(unknown, Value::text));
                    rest = after.get(1..).unwrap_or("");
                }
                _ => {
                    out.add(&Arg::known("%"));
                    rest = after.strip_prefix('%').unwrap_or(after);
                }
            }
        }
        out.add(&Arg::known(rest));
    }
    out
}

/// `"rm {}".format(x)`
pub(super) fn braces(text: &Arg, values: &[Value]) -> Arg {
    let mut values = values.iter();
    let mut out = Arg::default();
    for (mut rest, is_known) in text.pieces() {
        if !is_known {
            out.add(&unknown());
            continue;
        }
        while let Some((before, after)) = rest.split_once('{') {
            out.add(&Arg::known(before));
            let Some((name, after)) = after.split_once('}') else { break };
            let is_next = name.is_empty() || name.parse::<u8>().is_ok();
            out.add(&if is_next { values.next().map_or_else(unknown, Value::text) } else { unknown() });
            rest = after;
        }
        out.add(&Arg::known(rest));
    }
    out
}

/// What calling the function of this full name does.
pub(super) fn effect_of(language: Language, name: &str) -> Option<Effect> {
    let last = name.rsplit('.').next().unwrap_or(name);
    // The functions of Perl and PHP are listed without their modules; those of Ruby's Kernel need none.
    let short = match language {
        Language::Perl | Language::Php => last,
        Language::Ruby => name.strip_prefix("Kernel.").unwrap_or(name),
        // `__import__('urllib.request')` is the package, not the module in it.
        Language::Python if name.starts_with("urllib.request.request.") => {
            name.get("urllib.request.".len()..).unwrap_or(name)
        }
        Language::Python => name.strip_prefix("builtins.").unwrap_or(name),
        _ => name.strip_prefix("globalThis.").unwrap_or(name),
    };
    in_language(language, FUNCTIONS.get(short)).or_else(|| in_language(language, FUNCTIONS.get(name)))
}

/// What calling a method of this name does, for any receiver.
pub(super) fn method_effect(language: Language, name: &str) -> Option<Effect> {
    in_language(language, METHODS.get(name))
}

fn in_language(language: Language, rows: Option<&&[(Language, Effect)]>) -> Option<Effect> {
    rows?.iter().find(|(known, _)| *known == language).map(|(_, effect)| *effect)
}

/// What calling a method of a path does.
pub(super) fn path_effect(name: &str) -> Option<Effect> {
    PATH_METHODS.get(name).copied()
}

/// Constructors of paths, whose methods [`path_effect`] knows.
pub(super) fn makes_path(name: &str) -> bool {
    matches!(name, "pathlib.Path" | "pathlib.PosixPath" | "Path" | "Pathname.new" | "Pathname" | "File")
}
