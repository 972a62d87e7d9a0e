//! Decisions in words, for agents and for the people beside them.

use midrail::{Decision, Effect};

/// What is said where nobody gave a reason. An empty refusal is no refusal to some hosts.
pub(crate) const NO_REASON: &str = "Midrail did not decide this, so it does not happen.";

/// Why something does not happen, and what to do instead: for the agent.
pub fn refusal(decision: &Decision) -> String {
    let by = decision.by.as_deref().unwrap_or("midrail");
    let mut lines = Vec::new();
    match (&decision.retry, decision.effect) {
        (Some(retry), Effect::Retry) => {
            lines.push(retry.message.clone());
            lines.push(format!("(`{by}`, try {} of {})", retry.attempt, retry.max_attempts));
        }
        (_, effect) => {
            let head = match (decision.meant.unwrap_or(effect), effect) {
                (Effect::Escalate, _) => "Midrail holds this until a person has decided",
                (Effect::Halt, _) => "Midrail ended this run",
                (Effect::Redact, Effect::Block) => {
                    "Midrail stopped this, because this program cannot pass on the text with parts replaced"
                }
                _ => "Midrail stopped this",
            };
            lines.push(format!("{head} (`{by}`): {}", decision.reason));
        }
    }
    // What a retry says mostly ends with its advice.
    let is_new = |advice: &&String| !lines.iter().any(|line| line.contains(advice.as_str()));
    let advice = decision.advice.as_ref().filter(is_new).cloned();
    lines.extend(advice);
    lines.extend(decision.feedback.iter().cloned());
    let text = lines.join("\n");
    if text.trim().is_empty() { NO_REASON.to_owned() } else { text }
}

/// What the agent is told beside an answer that lets pass.
pub fn notes(decision: &Decision) -> Option<String> {
    let lines: Vec<String> = decision.feedback.iter().cloned().chain(decision.warning()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Whether a run is over that its host cannot end at this moment: it can only be told so.
pub(crate) fn is_over(decision: &Decision) -> bool {
    decision.meant == Some(Effect::Halt)
}

/// What is told beside an answer that stops nothing: notes, and that the run is over where this moment cannot end it.
pub(crate) fn beside(decision: &Decision) -> Option<String> {
    if is_over(decision) { Some(refusal(decision)) } else { notes(decision) }
}

/// What people are told when a run ends.
pub fn farewell(decision: &Decision) -> String {
    match &decision.user_message {
        Some(message) if !message.trim().is_empty() => message.clone(),
        _ => format!(
            "Midrail ended this run (`{}`): {}",
            decision.by.as_deref().unwrap_or("midrail"),
            decision.reason
        ),
    }
}

/// What is in place of a result that does not pass.
pub fn withheld(decision: &Decision) -> String {
    format!("[result withheld] {}", refusal(decision))
}

/// A result with parts replaced, for hosts that take a changed result only as the reason for withholding it.
pub fn passed_on(decision: &Decision, content: &str) -> String {
    let by = decision.by.as_deref().unwrap_or("midrail");
    let mut text = format!(
        "Midrail replaced parts of this result (`{by}`). This is the result without them:\n{content}"
    );
    if let Some(notes) = notes(decision) {
        text.push_str("\n\n");
        text.push_str(&notes);
    }
    text
}
