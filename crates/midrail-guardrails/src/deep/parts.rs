//! The parts of an event that a question can hold, and the places for them in a template.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of an event that a question can hold. In a template it stands in braces, such as `{text}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The text of the event.
    Text,
    /// The name of the tool.
    Tool,
    /// The arguments of the tool.
    Args,
    /// What the agent is to reach.
    Goal,
    /// The scope of the task.
    Scope,
    /// What the agent said last.
    LastAssistant,
    /// The tools that the agent has.
    AvailableTools,
    /// The whole event.
    Event,
}

impl Part {
    /// Every part.
    pub const ALL: &'static [Part] = &[
        Part::Text,
        Part::Tool,
        Part::Args,
        Part::Goal,
        Part::Scope,
        Part::LastAssistant,
        Part::AvailableTools,
        Part::Event,
    ];

    /// Its name in packs.
    pub fn word(self) -> &'static str {
        match self {
            Part::Text => "text",
            Part::Tool => "tool",
            Part::Args => "args",
            Part::Goal => "goal",
            Part::Scope => "scope",
            Part::LastAssistant => "last_assistant",
            Part::AvailableTools => "available_tools",
            Part::Event => "event",
        }
    }
}

/// One stretch of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot<'t> {
    /// Words that stand for themselves.
    Words(&'t str),
    /// A place that a part fills.
    Part(Part),
    /// A name in braces that is no part.
    Unknown(&'t str),
}

/// A template, taken apart. Braces around anything but a lower-case name stand for themselves.
pub fn slots(template: &str) -> Vec<Slot<'_>> {
    let mut slots = Vec::new();
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
            slots.push(Slot::Words(before));
        }
        slots.push(match Part::ALL.iter().find(|part| part.word() == name) {
            Some(part) => Slot::Part(*part),
            None => Slot::Unknown(name),
        });
        at += length + 1;
        words = at;
    }
    if let Some(rest) = template.get(words..).filter(|rest| !rest.is_empty()) {
        slots.push(Slot::Words(rest));
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_in_packs_are_the_words() {
        for part in Part::ALL {
            assert_eq!(serde_json::to_value(part).unwrap(), json!(part.word()));
        }
    }

    #[test]
    fn templates_come_apart() {
        use Slot::{Part as P, Unknown, Words};
        assert_eq!(slots("{text}"), [P(Part::Text)]);
        assert_eq!(slots("a {tool}{args} b"), [Words("a "), P(Part::Tool), P(Part::Args), Words(" b")]);
        assert_eq!(slots("{nobody}"), [Unknown("nobody")]);
        for plain in ["{", "}", "{}", "{ text }", "{text", "{\"a\": 1}", "{Text}", "$5"] {
            assert_eq!(slots(plain), [Words(plain)]);
        }
        assert_eq!(slots("{{text}}"), [Words("{"), P(Part::Text), Words("}")]);
        assert_eq!(slots("ä{goal}ö"), [Words("ä"), P(Part::Goal), Words("ö")]);
        assert!(slots("").is_empty());
    }
}
