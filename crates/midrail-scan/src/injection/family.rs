//! The families of attacks: kind, intent, severity and explanation.

use midrail_core::Severity;

/// The intent of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Override the instructions.
    Override,
    /// Reveal the system prompt.
    PromptExfiltration,
    /// Gain permissions, or act without the user's knowledge.
    ToolEscalation,
    /// Make the model play a role without limits.
    RolePlay,
    /// Imitate a message of the system, the user or a tool.
    FakeTag,
    /// Exfiltrate data.
    DataExfiltration,
    /// Be seen by the model and not by people.
    HiddenText,
    /// Evade filters with another encoding.
    EncodedInstruction,
    /// Give orders from within data.
    EmbeddedInstruction,
    /// Unknown: the text resembles known attacks.
    Statistical,
}

impl Intent {
    /// Returns the code in verdicts.
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

/// Returns the intent of a kind of hit. An unknown kind counts as an override.
pub fn intent_for_kind(kind: &str) -> Intent {
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
            Family::Override => "The text tries to override earlier instructions.",
            Family::PromptExfiltration => "The text asks for the hidden instructions of the model.",
            Family::RolePlay => "The text asks the model to play a role without limits.",
            Family::ToolEscalation => {
                "The text tries to gain permissions, or to act without the user's knowledge."
            }
            Family::FakeTag => "The text imitates a system, user or tool message.",
            Family::DataExfiltration => "The text tries to exfiltrate data in a link or a message.",
            Family::Addressed => "The data addresses the model that reads it.",
            Family::HiddenText => "The text contains words that a model reads and people do not see.",
            Family::Encoded => "The text contains an encoded attack.",
            Family::DataInstruction => "A field of data gives an order to its reader.",
            Family::Statistical => "The text resembles known attacks.",
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
            assert_eq!(intent_for_kind(family.kind()), family.intent());
        }
        assert_eq!(intent_for_kind("statistical").code(), "JAILBREAK_STATISTICAL");
    }
}
