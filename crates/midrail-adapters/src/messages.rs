//! Decisions in words, for agents and for the people beside them.

use midrail::core::VerdictRecord;
use midrail::{Decision, Effect, Policy};

/// What is said where nobody gave a reason. An empty refusal is no refusal to some hosts.
pub(crate) const NO_REASON: &str = "Midrail did not decide this, so it does not happen.";

/// Why something does not happen, and what to do instead: for the agent.
pub fn refusal(decision: &Decision) -> String {
    let by = decision.by.as_deref().unwrap_or("midrail");
    let mut lines = Vec::new();
    match (&decision.retry, decision.effect) {
        (Some(retry), Effect::Retry) => {
            lines.extend(sent_back(decision).map(str::to_owned));
            if lines.first().is_none_or(|text| !text.contains(&retry.message)) {
                lines.push(retry.message.clone());
            }
            lines.push(format!("(`{by}`, try {} of {})", retry.attempt, retry.max_attempts));
        }
        (_, effect) => {
            let head = match (decision.requested.unwrap_or(effect), effect) {
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

/// The text that the agent is to see as an error, in place of a result that is sent back.
fn sent_back(decision: &Decision) -> Option<&str> {
    decision.content.as_deref().filter(|_| decision.effect == Effect::Retry)
}

/// A decision as agents may hear it. A result that is sent back is shown only where those that do so put a text of their own
/// in its place: who else sends one back may do so because of what is in it.
pub fn for_agent(mut decision: Decision, policy: &Policy) -> Decision {
    let is_sender = |said: &&VerdictRecord| said.effect == Some(Effect::Retry) && !said.shadow;
    let rewrites =
        |said: &VerdictRecord| policy.get(&said.guardrail).is_some_and(|entry| entry.guardrail.can_rewrite());
    let mut senders = decision.verdicts.iter().filter(is_sender).peekable();
    if decision.effect == Effect::Retry && (senders.peek().is_none() || !senders.all(rewrites)) {
        decision.content = None;
    }
    decision
}

/// What the agent is told beside an answer that lets pass.
pub fn notes(decision: &Decision) -> Option<String> {
    let lines: Vec<String> = decision.feedback.iter().cloned().chain(decision.warning()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Whether a run is over that its host cannot end at this moment: it can only be told so.
pub(crate) fn is_halted(decision: &Decision) -> bool {
    decision.requested == Some(Effect::Halt)
}

/// What is told beside an answer that stops nothing: notes, that the run is over where this moment cannot end it, and what
/// the agent is to take for an error where it has the result already.
pub(crate) fn context(decision: &Decision) -> Option<String> {
    match (is_halted(decision), sent_back(decision)) {
        (true, _) => Some(refusal(decision)),
        (false, Some(_)) => Some(withheld_result(decision)),
        (false, None) => notes(decision),
    }
}

/// What people are told when a run ends.
pub fn halt_message(decision: &Decision) -> String {
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
pub fn withheld_result(decision: &Decision) -> String {
    let head = if sent_back(decision).is_some() { "[error]" } else { "[result withheld]" };
    format!("{head} {}", refusal(decision))
}

/// A result that was replaced, or parts of it: for hosts that take it only as the reason for withholding what it was, or have
/// no place for it.
pub fn replaced_result(decision: &Decision, content: &str) -> String {
    let by = decision.by.as_deref().unwrap_or("midrail");
    let mut text =
        format!("Midrail replaced this result, or parts of it (`{by}`). This is the result now:\n{content}");
    if let Some(notes) = notes(decision) {
        text.push_str("\n\n");
        text.push_str(&notes);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail::core::Retry;

    fn sent(content: Option<&str>, message: &str) -> Decision {
        Decision {
            effect: Effect::Retry,
            by: Some("g".into()),
            content: content.map(str::to_owned),
            retry: Some(Retry { message: message.to_owned(), attempt: 1, max_attempts: 3 }),
            ..Decision::default()
        }
    }

    #[test]
    fn what_stands_in_place_of_a_result_is_seen_as_an_error() {
        for (content, message, told) in [
            (Some("2 failed"), "it is an error", "[error] 2 failed\nit is an error\n(`g`, try 1 of 3)"),
            (Some("2 failed"), "2 failed", "[error] 2 failed\n(`g`, try 1 of 3)"),
            (None, "no table", "[result withheld] no table\n(`g`, try 1 of 3)"),
        ] {
            assert_eq!(withheld_result(&sent(content, message)), told);
        }
        assert!(context(&sent(Some("2 failed"), "m")).unwrap().starts_with("[error] 2 failed"));
        assert_eq!(context(&sent(None, "m")), None);
        let passed = Decision { effect: Effect::Redact, ..sent(Some("x"), "m") };
        assert!(withheld_result(&passed).starts_with("[result withheld]"));
    }
}
