//! Midrail's wire format, version 1: one JSON object per event and per decision, within limits of size and depth.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};

use midrail::core::to_json;
use midrail::unique_keys::UniqueKeys;
use midrail::{Decision, Event, EventKind};
use serde_json::{Map, Value};

use crate::{gateway, misplaced};

/// The size of the largest event.
pub const MAX_EVENT_BYTES: u64 = 32 << 20;

/// Why bytes are not an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// They could not be read.
    #[error("could not read the event: {0}")]
    Io(#[source] io::Error),
    /// There are too many bytes.
    #[error("the event is larger than {MAX_EVENT_BYTES} bytes")]
    TooLarge,
    /// There are no bytes.
    #[error("no event: the input is empty")]
    Empty,
    /// The bytes are not text.
    #[error("the event is not UTF-8: byte {at} is invalid")]
    NotUtf8 {
        /// The first invalid byte.
        at: usize,
    },
    /// The text is not JSON.
    #[error("the event is not JSON: line {line}, column {column}: {message}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// The JSON is not an event.
    #[error("not a valid event: {message}{}", position(*line, *column))]
    NotAnEvent {
        /// The line, from 1; 0 if it is not known.
        line: usize,
        /// The column, from 1; 0 if it is not known.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// Only the engine creates events of this kind.
    #[error("only the engine creates events of the kind `{0}`")]
    EngineKind(EventKind),
    /// It has two kinds.
    #[error("`kind` is `{kind}`, but `event_type` is `{other}`")]
    ConflictingKinds {
        /// The value of `kind`.
        kind: String,
        /// The value of `event_type`.
        other: String,
    },
    /// It has a field that the wire format does not have.
    #[error("unknown field `{field}`")]
    UnknownField {
        /// The path of the field.
        field: String,
    },
    /// A field has the wrong name or place, and the right one is empty.
    #[error("unknown field `{field}`: did you mean `{expected}`?")]
    MisplacedField {
        /// The path of the field.
        field: String,
        /// The right path.
        expected: &'static str,
    },
    /// Its working directory is relative, so no folder is known.
    #[error("`cwd` is `{0}`, which is not an absolute path")]
    RelativeFolder(String),
    /// It is nested too deeply to be recorded.
    #[error("the event is nested more than {} levels deep", Event::MAX_DEPTH)]
    TooDeep,
    /// It has too many values to be decided in time.
    #[error("the event has more than {} values", Event::MAX_VALUES)]
    TooManyValues,
}

/// The place of a problem at the end of a message: nothing if it is not known.
pub fn position(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(" (line {line}, column {column})") }
}

impl WireError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            WireError::Empty => Some(
                "send a JSON object such as {\"kind\":\"before_tool\",\"tool\":{\"name\":\"Write\"}}".into(),
            ),
            WireError::NotAnEvent { message, .. } if message.contains("kind") => {
                let kinds: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
                let add = if message.contains("missing") { "add `\"kind\": \"before_tool\"`; " } else { "" };
                Some(format!("{add}the kinds of event are {}", kinds.join(", ")))
            }
            WireError::ConflictingKinds { .. } => {
                Some("remove one of them: a wrong kind would be decided as another event".into())
            }
            WireError::MisplacedField { .. } => Some(
                "guardrails do not check other fields; a call is {\"tool\":{\"name\":…,\"args\":{…}}}".into(),
            ),
            WireError::RelativeFolder(_) => {
                Some("send the absolute path of the agent's working directory, or leave `cwd` out".into())
            }
            WireError::TooLarge | WireError::TooManyValues => {
                Some("truncate large contents before sending them".into())
            }
            _ => None,
        }
    }
}

/// Reads one event.
pub fn read_event(input: &mut dyn Read) -> Result<Event, WireError> {
    let mut bytes = Vec::new();
    input.take(MAX_EVENT_BYTES + 1).read_to_end(&mut bytes).map_err(WireError::Io)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_EVENT_BYTES {
        return Err(WireError::TooLarge);
    }
    decode(&bytes)
}

/// One event from its bytes.
pub fn decode(bytes: &[u8]) -> Result<Event, WireError> {
    let text = bounded(bytes)?;
    let event: Event = if gateway::may_be(text) {
        let mut event: Map<String, Value> = serde_json::from_str(text).map_err(refuse)?;
        if let Some((kind, other)) = gateway::conflicting_kinds(&event) {
            return Err(WireError::ConflictingKinds { kind, other });
        }
        gateway::translate(&mut event);
        serde_json::from_value(Value::Object(event)).map_err(refuse)?
    } else {
        serde_json::from_str(text).map_err(refuse)?
    };
    match event.kind {
        EventKind::ApprovalDecided | EventKind::Restored | EventKind::Administered => {
            Err(WireError::EngineKind(event.kind))
        }
        _ => match misplaced::field(&event) {
            Some((field, expected)) => Err(WireError::MisplacedField { field, expected }),
            None => with_known_folder(event),
        },
    }
}

/// An event whose working directory is absolute or absent. Paths below any other one would be resolved to files that it does not
/// mean.
fn with_known_folder(mut event: Event) -> Result<Event, WireError> {
    event.cwd = event.cwd.filter(|cwd| !cwd.is_empty());
    let is_drive = |cwd: &str| cwd.as_bytes().get(1) == Some(&b':');
    match &event.cwd {
        Some(cwd) if !cwd.starts_with(['/', '\\']) && !is_drive(cwd) => {
            Err(WireError::RelativeFolder(cwd.chars().take(60).collect()))
        }
        _ => Ok(event),
    }
}

/// The same, but rejects unknown fields.
pub fn decode_strict(bytes: &[u8]) -> Result<Event, WireError> {
    let event = decode(bytes)?;
    match unknown_field(&event) {
        Some(field) => Err(WireError::UnknownField { field: field.chars().take(60).collect() }),
        None => Ok(event),
    }
}

/// The first field of an event that the wire format does not have.
fn unknown_field(event: &Event) -> Option<String> {
    fn first(path: &str, extra: &BTreeMap<String, Value>) -> Option<String> {
        extra.keys().next().map(|name| format!("{path}{name}"))
    }
    first("", &event.extra)
        .or_else(|| first("agent.", &event.agent.as_ref()?.extra))
        .or_else(|| first("task.", &event.task.as_ref()?.extra))
        .or_else(|| first("usage.", &event.usage.as_ref()?.extra))
        .or_else(|| first("tool.", &event.tool.as_ref()?.extra))
        .or_else(|| first("result.", &event.result.as_ref()?.extra))
        .or_else(|| first("handoff.", &event.handoff.as_ref()?.extra))
        .or_else(|| first("error.", &event.error.as_ref()?.extra))
        .or_else(|| first("host.", &event.host.as_ref()?.extra))
}

/// A JSON object as hosts send it.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Value>, WireError> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_EVENT_BYTES {
        return Err(WireError::TooLarge);
    }
    serde_json::from_str(bounded(&replace_lone_surrogates(bytes))?).map_err(refuse)
}

/// Replaces lone surrogates (`\\ud83d`) with U+FFFD. Hosts written in JavaScript cut texts within a character.
pub(crate) fn replace_lone_surrogates(bytes: &[u8]) -> Cow<'_, [u8]> {
    let unit_at = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let is_high = |unit: Option<u16>| unit.is_some_and(|unit| (0xd800..0xdc00).contains(&unit));
    let is_low = |unit: Option<u16>| unit.is_some_and(|unit| (0xdc00..0xe000).contains(&unit));
    let mut replaced: Cow<'_, [u8]> = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += found;
        let unit = unit_at(at);
        let step = match unit {
            // Any other escape, such as `\\\\`, has two bytes.
            None => 2,
            Some(_) if is_high(unit) && is_low(unit_at(at + 6)) => 12,
            Some(_) if is_high(unit) || is_low(unit) => {
                if let Some(digits) = replaced.to_mut().get_mut(at + 2..at + 6) {
                    digits.copy_from_slice(b"fffd");
                }
                6
            }
            Some(_) => 6,
        };
        at += step;
    }
    replaced
}

/// Any JSON, within the same limits.
pub fn value(bytes: &[u8]) -> Result<Value, WireError> {
    serde_json::from_str(bounded(bytes)?).map_err(refuse)
}

/// JSON within the limit of depth, without duplicate keys.
fn bounded(bytes: &[u8]) -> Result<&str, WireError> {
    let text = std::str::from_utf8(bytes).map_err(|error| WireError::NotUtf8 { at: error.valid_up_to() })?;
    if text.trim().is_empty() {
        return Err(WireError::Empty);
    }
    let Extent { depth, values } = extent(text);
    if depth > Event::MAX_DEPTH {
        return Err(WireError::TooDeep);
    }
    if values > Event::MAX_VALUES {
        return Err(WireError::TooManyValues);
    }
    // Two readers could see different values of a duplicate key: one is decided, the other is executed.
    serde_json::from_str::<UniqueKeys>(text).map_err(refuse)?;
    Ok(text)
}

fn refuse(error: serde_json::Error) -> WireError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    match error.classify() {
        serde_json::error::Category::Data => WireError::NotAnEvent { line, column, message },
        _ => WireError::NotJson { line, column, message },
    }
}

/// A decision as one line.
pub fn encode(decision: &Decision) -> String {
    // A decision has only string keys, so this cannot fail.
    to_json(decision).unwrap_or_else(|_| r#"{"effect":"block","by":"midrail","mode":"enforce"}"#.to_owned())
}

/// The size of a JSON text, before a recursive parser reads it.
struct Extent {
    /// How deep brackets are nested outside of strings.
    depth: usize,
    /// How many values it has at most.
    values: usize,
}

fn extent(text: &str) -> Extent {
    let (mut depth, mut deepest, mut values) = (0_usize, 0_usize, 1_usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' if !in_string => values += 1,
            b'{' | b'[' if !in_string => {
                depth += 1;
                values += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Extent { depth: deepest, values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(bytes: &[u8]) -> String {
        decode(bytes).unwrap_err().to_string()
    }

    #[test]
    fn working_directory_is_absolute_or_absent() {
        let decoded = |cwd: &str| decode(format!(r#"{{"kind":"before_stop","cwd":"{cwd}"}}"#).as_bytes());
        for cwd in ["rel", "~", "./x", "~/x"] {
            assert!(decoded(cwd).unwrap_err().to_string().contains("not an absolute path"), "{cwd}");
        }
        assert_eq!(decoded("").unwrap().cwd, None);
        assert_eq!(decoded("/repo").unwrap().cwd.as_deref(), Some("/repo"));
    }

    #[test]
    fn error_names_position_and_cause() {
        assert_eq!(message(b""), "no event: the input is empty");
        assert_eq!(message(b"\xff\xfe"), "the event is not UTF-8: byte 0 is invalid");
        assert_eq!(
            message(b"{\"kind\": \n nope}"),
            "the event is not JSON: line 2, column 3: expected ident"
        );
        assert!(message(br#"{"kind":"explode"}"#).contains("unknown kind of event `explode`"));
        assert!(message(br#"{"tool":{"name":"x"}}"#).contains("missing field `kind`"));
        assert!(message(br#"{"kind":"before_tool","tool":"x"}"#).contains("not a valid event"));
        assert!(message(b"[]").contains("not a valid event"));
        assert_eq!(
            message(br#"{"kind":"before_tool","tool":{"name":"Bash"},"args":{"command":"ls"}}"#),
            "unknown field `args`: did you mean `tool.args`?"
        );
        assert!(message(br#"{"kind":"approval_decided"}"#).contains("only the engine creates"));
        let deep = format!("{{\"kind\":\"before_tool\",\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(message(deep.as_bytes()), "the event is nested more than 100 levels deep");
        let wide = format!("{{\"kind\":\"before_tool\",\"x\":[{}0]}}", "0,".repeat(1_000_000));
        assert_eq!(message(wide.as_bytes()), "the event has more than 100000 values");
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        let text = |bytes: &[u8]| object(bytes).unwrap().get("a").unwrap().as_str().unwrap().to_owned();
        assert_eq!(text(br#"{"a":"x\ud83d y"}"#), "x\u{fffd} y");
        assert_eq!(text(br#"{"a":"\ude00"}"#), "\u{fffd}");
        assert_eq!(text(br#"{"a":"\ud83d\ude00"}"#), "\u{1f600}");
        assert_eq!(text(br#"{"a":"\\ud83d"}"#), "\\ud83d");
        assert!(object(br#"{"a":"\u12"}"#).is_err());
    }

    #[test]
    fn endless_input_is_rejected() {
        let error = read_event(&mut io::repeat(b' ')).unwrap_err();
        assert!(matches!(error, WireError::TooLarge), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
