//! The families of attacks: what each is called, what it is after, how bad it is.

use midrail_core::Severity;

/// What a text is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// To set the instructions aside.
    Override,
    /// To get at the system prompt.
    PromptExfiltration,
    /// To get rights that were not given, or to act behind the user's back.
    ToolEscalation,
    /// To make the model play someone without limits.
    RolePlay,
    /// To pass for a message of the system, the user or a tool.
    FakeTag,
    /// To carry data away.
    DataExfiltration,
    /// To be read by the model and not by people.
    HiddenText,
    /// To get past filters in another encoding.
    EncodedInstruction,
    /// To give orders from within data.
    EmbeddedInstruction,
    /// Not told by a rule: the text reads like known attacks.
    Statistical,
}

impl Intent {
    /// The code in verdicts.
    pub fn code(self) -> &'static str {
        match self {
            Intent::Override => "JAILBREAK_JB_OVERRIDE",
            Intent::PromptExfiltration => "JAILBREAK_EXFIL_PROMPT",
            Intent::ToolEscalation => "JAILBREAK_TOOL_ESCALATION",
            Intent::RolePlay => "JAILBREAK_ROLE_PLAY",
            Intent::FakeTag => "JAILBREAK_FAKE_TAG",
            Intent::DataExfiltration => "JAILBREAK_EXFIL_DATA",
            Intent::HiddenText => "JAILBREAK_HIDDEN_TEXT",
            Intent::EncodedInstruction => "JAILBREAK_ENCODED",
            Intent::EmbeddedInstruction => "JAILBREAK_EMBEDDED_INSTRUCTION",
            Intent::Statistical => "JAILBREAK_STATISTICAL",
        }
    }
}

/// What the kind of a hit is after. A kind that is not known is taken for an override.
pub fn intent_of(kind: &str) -> Intent {
    FAMILIES.iter().find(|family| family.kind() == kind).map_or(Intent::Override, |family| family.intent())
}

/// A family of attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Override,
    PromptExfiltration,
    RolePlay,
    ToolEscalation,
    FakeTag,
    DataExfiltration,
    Addressed,
    HiddenText,
    Encoded,
    DataInstruction,
    Statistical,
}

pub(super) const FAMILIES: &[Family] = &[
    Family::Override,
    Family::PromptExfiltration,
    Family::RolePlay,
    Family::ToolEscalation,
    Family::FakeTag,
    Family::DataExfiltration,
    Family::Addressed,
    Family::HiddenText,
    Family::Encoded,
    Family::DataInstruction,
    Family::Statistical,
];

impl Family {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Family::Override => "instruction-override",
            Family::PromptExfiltration => "prompt-exfiltration",
            Family::RolePlay => "role-play",
            Family::ToolEscalation => "tool-escalation",
            Family::FakeTag => "fake-tag",
            Family::DataExfiltration => "exfiltration-link",
            Family::Addressed => "addressed-to-model",
            Family::HiddenText => "hidden-text",
            Family::Encoded => "encoded-instruction",
            Family::DataInstruction => "data-instruction",
            Family::Statistical => "statistical",
        }
    }

    pub(super) fn intent(self) -> Intent {
        match self {
            Family::Override => Intent::Override,
            Family::PromptExfiltration => Intent::PromptExfiltration,
            Family::RolePlay => Intent::RolePlay,
            Family::ToolEscalation => Intent::ToolEscalation,
            Family::FakeTag => Intent::FakeTag,
            Family::DataExfiltration => Intent::DataExfiltration,
            Family::HiddenText => Intent::HiddenText,
            Family::Encoded => Intent::EncodedInstruction,
            Family::Addressed | Family::DataInstruction => Intent::EmbeddedInstruction,
            Family::Statistical => Intent::Statistical,
        }
    }

    pub(super) fn severity(self) -> Severity {
        match self {
            Family::DataExfiltration | Family::ToolEscalation | Family::Encoded | Family::Override => {
                Severity::High
            }
            Family::PromptExfiltration
            | Family::RolePlay
            | Family::FakeTag
            | Family::Addressed
            | Family::HiddenText
            | Family::DataInstruction
            | Family::Statistical => Severity::Medium,
        }
    }

    pub(super) fn explanation(self) -> &'static str {
        match self {
            Family::Override => "The text tries to set earlier instructions aside.",
            Family::PromptExfiltration => "The text asks for the hidden instructions of the model.",
            Family::RolePlay => "The text asks the model to play someone without limits.",
            Family::ToolEscalation => "The text tries to get rights, or to act behind the user's back.",
            Family::FakeTag => "The text imitates the marks of a system, user or tool message.",
            Family::DataExfiltration => "The text tries to carry data away, in a link or a message.",
            Family::Addressed => "Data speaks to the model that reads it.",
            Family::HiddenText => "The text hides words from people that a model reads.",
            Family::Encoded => "The text holds an attack in another encoding.",
            Family::DataInstruction => "A field of data gives an order to whoever reads it.",
            Family::Statistical => "The text reads like known attacks.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_leads_to_its_intent_and_codes_are_unique() {
        let mut codes: Vec<&str> = FAMILIES.iter().map(|family| family.intent().code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), 10);
        for family in FAMILIES {
            assert_eq!(intent_of(family.kind()), family.intent());
        }
        assert_eq!(intent_of("statistical").code(), "JAILBREAK_STATISTICAL");
    }
}
