//! Colours and marks of text on a terminal.

use std::fmt::Display;

use midrail::Effect;

/// Styles text, if colours are on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Paint(bool);

/// The role of a text, which determines its colour.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    /// A heading, or what a line is about.
    Strong,
    /// Less important text.
    Dim,
    /// Success.
    Good,
    /// A warning.
    Caution,
    /// An error, or a blocked action.
    Bad,
    /// The run was halted.
    Over,
    /// Something was changed.
    Changed,
    /// A remark.
    Note,
}

impl Paint {
    pub(crate) fn new(is_on: bool) -> Self {
        Paint(is_on)
    }

    /// No colours.
    #[cfg(test)]
    pub(crate) const PLAIN: Paint = Paint(false);

    /// Whether there are colours.
    pub(crate) fn is_on(self) -> bool {
        self.0
    }

    /// Text in a style. The caller pads it first.
    pub(crate) fn style(self, style: Style, text: impl Display) -> String {
        if !self.0 {
            return text.to_string();
        }
        let code = match style {
            Style::Strong => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Caution => "33",
            Style::Bad => "1;31",
            Style::Over => "1;37;41",
            Style::Changed => "35",
            Style::Note => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// The mark and the word of an effect.
    pub(crate) fn effect(self, effect: Effect) -> String {
        let (mark, style) = look(effect);
        self.style(style, format!("{mark} {effect}"))
    }

    /// The mark and the padded word of an effect.
    pub(crate) fn effect_column(self, effect: Effect) -> String {
        let (mark, style) = look(effect);
        self.style(style, format!("{mark} {effect:<8}"))
    }
}

/// The style of an effect.
pub(crate) fn effect_style(effect: Effect) -> Style {
    look(effect).1
}

/// The mark and the style of the status or urgency of a request.
pub(crate) fn status_style(status: &str) -> (&'static str, Style) {
    match status {
        "approved" | "used" => ("✓", Style::Good),
        "pending" => ("?", Style::Caution),
        "override" => ("!", Style::Bad),
        "denied" => ("✗", Style::Bad),
        "normal" => ("", Style::Dim),
        "urgent" | "emergency" => ("", Style::Bad),
        _ => ("–", Style::Dim),
    }
}

/// The mark and the style of an effect.
fn look(effect: Effect) -> (char, Style) {
    match effect {
        Effect::Allow => ('✓', Style::Good),
        Effect::Warn => ('!', Style::Caution),
        Effect::Redact => ('~', Style::Changed),
        Effect::Contain => ('□', Style::Changed),
        Effect::Retry => ('↻', Style::Caution),
        Effect::Escalate => ('?', Style::Caution),
        Effect::Block => ('✗', Style::Bad),
        Effect::Halt => ('■', Style::Over),
    }
}
