//! The parts of an event that a request can contain, and templates with placeholders for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of an event that a request can contain. In a template it is written in braces: `{text}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventPart {
    /// The text of the event.
    Text,
    /// The name of the tool.
    Tool,
    /// The arguments of the tool.
    Args,
    /// The goal of the task.
    Goal,
    /// The scope of the task.
    Scope,
    /// The last message of the agent.
    LastAssistant,
    /// The available tools.
    AvailableTools,
    /// The whole event.
    Event,
}

impl EventPart {
    /// Every part with its name in packs.
    pub const ALL: [(EventPart, &'static str); 8] = [
        (EventPart::Text, "text"),
        (EventPart::Tool, "tool"),
        (EventPart::Args, "args"),
        (EventPart::Goal, "goal"),
        (EventPart::Scope, "scope"),
        (EventPart::LastAssistant, "last_assistant"),
        (EventPart::AvailableTools, "available_tools"),
        (EventPart::Event, "event"),
    ];

    /// Its name in packs.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(part, _)| *part == self).map_or("", |(_, name)| *name)
    }
}

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePiece<'t> {
    /// Literal text.
    Words(&'t str),
    /// A placeholder for a part.
    Part(EventPart),
    /// An unknown name in braces.
    Unknown(&'t str),
}

/// Splits a template into pieces. Braces around anything but a lower-case name are literal text.
pub fn parse_template(template: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let mut words = 0;
    let mut at = 0;
    while let Some(open) = template.get(at..).and_then(|rest| rest.find('{')).map(|found| at + found) {
        at = open + 1;
        let rest = template.get(at..).unwrap_or_default();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_lowercase() || *byte == b'_').count();
        let (name, after) = rest.split_at(length);
        if name.is_empty() || !after.starts_with('}') {
            continue;
        }
        if let Some(before) = template.get(words..open).filter(|before| !before.is_empty()) {
            pieces.push(TemplatePiece::Words(before));
        }
        pieces.push(match EventPart::ALL.iter().find(|(_, known)| *known == name) {
            Some((part, _)) => TemplatePiece::Part(*part),
            None => TemplatePiece::Unknown(name),
        });
        at += length + 1;
        words = at;
    }
    if let Some(rest) = template.get(words..).filter(|rest| !rest.is_empty()) {
        pieces.push(TemplatePiece::Words(rest));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pack_names_match_serialization() {
        for (part, name) in EventPart::ALL {
            assert_eq!(serde_json::to_value(part).unwrap(), json!(name));
        }
    }

    #[test]
    fn templates_are_split_into_pieces() {
        use TemplatePiece::{Part as P, Unknown, Words};
        assert_eq!(parse_template("{text}"), [P(EventPart::Text)]);
        assert_eq!(
            parse_template("a {tool}{args} b"),
            [Words("a "), P(EventPart::Tool), P(EventPart::Args), Words(" b")]
        );
        assert_eq!(parse_template("{unknown}"), [Unknown("unknown")]);
        for plain in ["{", "}", "{}", "{ text }", "{text", "{\"a\": 1}", "{Text}", "$5"] {
            assert_eq!(parse_template(plain), [Words(plain)]);
        }
        assert_eq!(parse_template("{{text}}"), [Words("{"), P(EventPart::Text), Words("}")]);
        assert_eq!(parse_template("ä{goal}ö"), [Words("ä"), P(EventPart::Goal), Words("ö")]);
        assert!(parse_template("").is_empty());
    }
}
