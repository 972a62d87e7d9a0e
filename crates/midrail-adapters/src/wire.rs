//! Midrail's own wire, version 1: one JSON object an event, one a decision. Bytes come in with limits; whatever does
//! not fit is an error that says where and what.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};

use midrail::unique_keys::UniqueKeys;
use midrail::{Decision, Event, EventKind};
use serde_json::{Map, Value};

use crate::{gateway, slips};

/// The largest event that is read.
pub const MAX_EVENT_BYTES: u64 = 32 << 20;

/// Why bytes are no event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// They could not be read.
    #[error("could not read the event: {0}")]
    Io(#[source] io::Error),
    /// There are too many.
    #[error("the event is larger than {MAX_EVENT_BYTES} bytes")]
    TooLarge,
    /// There are none.
    #[error("there is no event: the input is empty")]
    Empty,
    /// They are no text.
    #[error("the event is not UTF-8: byte {at} does not belong there")]
    NotUtf8 {
        /// The first byte that does not fit.
        at: usize,
    },
    /// The text is no JSON.
    #[error("the event is not JSON: line {line}, column {column}: {what}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// The JSON is no event.
    #[error("this is no event: {what} (line {line}, column {column})")]
    NotAnEvent {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// It is of a kind that the engine makes itself.
    #[error("events of the kind `{0}` are made by the engine itself, and come in by no adapter")]
    EngineKind(EventKind),
    /// It says of itself that it is of two kinds.
    #[error("`kind` says that the event is `{kind}`, and `event_type` that it is `{other}`")]
    ConflictingKinds {
        /// What `kind` says.
        kind: String,
        /// What `event_type` says.
        other: String,
    },
    /// It says something that the wire has no word for.
    #[error("unknown field `{field}`")]
    UnknownField {
        /// The field, with where it stands.
        field: String,
    },
    /// It says something in a place where nobody looks for it, and leaves the right place empty.
    #[error("unknown field `{field}`: did you mean `{meant}`?")]
    MisplacedField {
        /// The field, with where it stands.
        field: String,
        /// Where it would be heard.
        meant: &'static str,
    },
    /// It is nested deeper than can be recorded.
    #[error("the event is nested more than {} levels deep", Event::MAX_DEPTH)]
    TooDeep,
}

impl WireError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            WireError::Empty => Some(
                "give a JSON object such as {\"kind\":\"before_tool\",\"tool\":{\"name\":\"Write\"}}".into(),
            ),
            WireError::NotAnEvent { what, .. } if what.contains("kind") => {
                let kinds: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
                Some(format!("the kinds of event are {}", kinds.join(", ")))
            }
            WireError::ConflictingKinds { .. } => {
                Some("leave one of them out; one that is wrong is judged as another event".into())
            }
            WireError::MisplacedField { .. } => Some(
                "what stands elsewhere is not judged; a call is {\"tool\":{\"name\":…,\"args\":{…}}}".into(),
            ),
            WireError::TooLarge => Some("cut large contents short before they are sent".into()),
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
    let event: Event = match gateway::may_be(text) {
        true => {
            let mut event: Map<String, Value> = serde_json::from_str(text).map_err(refuse)?;
            if let Some((kind, other)) = gateway::contradiction(&event) {
                return Err(WireError::ConflictingKinds { kind, other });
            }
            gateway::translate(&mut event);
            serde_json::from_value(Value::Object(event)).map_err(refuse)?
        }
        false => serde_json::from_str(text).map_err(refuse)?,
    };
    match event.kind {
        EventKind::ApprovalDecided | EventKind::Restored | EventKind::Administered => {
            Err(WireError::EngineKind(event.kind))
        }
        _ => match slips::of(&event) {
            Some((field, meant)) => Err(WireError::MisplacedField { field, meant }),
            None => Ok(event),
        },
    }
}

/// One event from its bytes, of which every field is known. Whoever speaks this wire on purpose learns of a slip.
pub fn decode_strict(bytes: &[u8]) -> Result<Event, WireError> {
    let event = decode(bytes)?;
    match unknown(&event) {
        Some(field) => {
            let field = field.chars().take(60).collect();
            Err(WireError::UnknownField { field })
        }
        None => Ok(event),
    }
}

/// The first field of an event that is none of the wire's.
fn unknown(event: &Event) -> Option<String> {
    fn first(place: &str, extra: &BTreeMap<String, Value>) -> Option<String> {
        extra.keys().next().map(|name| format!("{place}{name}"))
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

/// One JSON object from its bytes, as hosts send it.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Value>, WireError> {
    let mended = halves_mended(bytes);
    serde_json::from_str(bounded(&mended)?).map_err(refuse)
}

/// Hosts in JavaScript cut texts in the middle of a character, and send the half of it: `\\ud83d`. It is read as the
/// character that stands for what cannot be read, as others do.
fn halves_mended(bytes: &[u8]) -> Cow<'_, [u8]> {
    let half = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let is_high = |unit: Option<u16>| unit.is_some_and(|unit| (0xd800..0xdc00).contains(&unit));
    let is_low = |unit: Option<u16>| unit.is_some_and(|unit| (0xdc00..0xe000).contains(&unit));
    let mut mended: Cow<'_, [u8]> = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += found;
        let unit = half(at);
        let step = match unit {
            // Any other escape, `\\\\` among them, is two bytes long.
            None => 2,
            Some(_) if is_high(unit) && is_low(half(at + 6)) => 12,
            Some(_) if is_high(unit) || is_low(unit) => {
                if let Some(digits) = mended.to_mut().get_mut(at + 2..at + 6) {
                    digits.copy_from_slice(b"fffd");
                }
                6
            }
            Some(_) => 6,
        };
        at += step;
    }
    mended
}

/// Any JSON from its bytes, within the same limits.
pub(crate) fn value(bytes: &[u8]) -> Result<Value, WireError> {
    serde_json::from_str(bounded(bytes)?).map_err(refuse)
}

/// JSON within the limits of depth, in which nothing is said twice.
fn bounded(bytes: &[u8]) -> Result<&str, WireError> {
    let text = std::str::from_utf8(bytes).map_err(|error| WireError::NotUtf8 { at: error.valid_up_to() })?;
    if text.trim().is_empty() {
        return Err(WireError::Empty);
    }
    if depth(text) > Event::MAX_DEPTH {
        return Err(WireError::TooDeep);
    }
    // Two readers of an object that says one thing twice may see two things: one is judged, the other done.
    serde_json::from_str::<UniqueKeys>(text).map_err(refuse)?;
    Ok(text)
}

fn refuse(error: serde_json::Error) -> WireError {
    let (line, column) = (error.line(), error.column());
    // serde puts the place behind its message; here it stands in a place of its own.
    let whole = error.to_string();
    let what = whole.split(" at line ").next().unwrap_or(&whole).to_owned();
    match error.classify() {
        serde_json::error::Category::Data => WireError::NotAnEvent { line, column, what },
        _ => WireError::NotJson { line, column, what },
    }
}

/// One decision as one line.
pub fn encode(decision: &Decision) -> String {
    // A decision holds nothing that JSON cannot: maps with text keys, texts, numbers.
    serde_json::to_string(decision)
        .unwrap_or_else(|_| r#"{"effect":"block","by":"midrail","mode":"enforce"}"#.to_owned())
}

/// How deep brackets are nested, outside of strings. Cheap, and before anything recursive sees the text.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(bytes: &[u8]) -> String {
        decode(bytes).unwrap_err().to_string()
    }

    #[test]
    fn bad_input_says_where_and_what() {
        assert_eq!(message(b""), "there is no event: the input is empty");
        assert_eq!(message(b"\xff\xfe"), "the event is not UTF-8: byte 0 does not belong there");
        assert_eq!(
            message(b"{\"kind\": \n nope}"),
            "the event is not JSON: line 2, column 3: expected ident"
        );
        assert!(message(br#"{"kind":"explode"}"#).contains("unknown kind of event `explode`"));
        assert!(message(br#"{"tool":{"name":"x"}}"#).contains("missing field `kind`"));
        assert!(message(br#"{"kind":"before_tool","tool":"x"}"#).contains("this is no event"));
        assert!(message(b"[]").contains("this is no event"));
        assert_eq!(
            message(br#"{"kind":"before_tool","tool":{"name":"Bash"},"args":{"command":"ls"}}"#),
            "unknown field `args`: did you mean `tool.args`?"
        );
        assert!(message(br#"{"kind":"approval_decided"}"#).contains("made by the engine itself"));
        let deep = format!("{{\"kind\":\"before_tool\",\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(message(deep.as_bytes()), "the event is nested more than 100 levels deep");
    }

    #[test]
    fn half_a_character_is_read_as_one_that_cannot_be() {
        let text = |bytes: &[u8]| object(bytes).unwrap().get("a").unwrap().as_str().unwrap().to_owned();
        assert_eq!(text(br#"{"a":"x\ud83d y"}"#), "x\u{fffd} y");
        assert_eq!(text(br#"{"a":"\ude00"}"#), "\u{fffd}");
        assert_eq!(text(br#"{"a":"\ud83d\ude00"}"#), "\u{1f600}");
        assert_eq!(text(br#"{"a":"\\ud83d"}"#), "\\ud83d");
        assert!(object(br#"{"a":"\u12"}"#).is_err());
    }

    #[test]
    fn a_flood_is_cut_off() {
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
