//! Texts of decisions, for agents and for users.

use midrail::core::VerdictRecord;
use midrail::{Decision, Effect, Policy};

/// The text of a refusal without a reason. Some hosts ignore an empty refusal.
pub(crate) const NO_REASON: &str = "Midrail made no decision, so this is blocked.";

/// For the agent: why something is blocked, and what to do instead.
pub fn refusal(decision: &Decision) -> String {
    let by = guardrail(decision);
    let mut lines = Vec::new();
    match (&decision.retry, decision.effect) {
        (Some(retry), Effect::Retry) => {
            lines.extend(error_text(decision).map(str::to_owned));
            if lines.first().is_none_or(|text| !text.contains(&retry.message)) {
                lines.push(retry.message.clone());
            }
            lines.push(format!("(`{by}`, attempt {} of {})", retry.attempt, retry.max_attempts));
        }
        (_, effect) => {
            let head = match (decision.requested.unwrap_or(effect), effect) {
                (Effect::Escalate, _) => "Midrail holds this until a person has decided",
                (Effect::Halt, _) => "Midrail ended this run",
                (Effect::Redact, Effect::Block) => {
                    "Midrail blocked this, because this program cannot replace parts of it"
                }
                _ => "Midrail blocked this",
            };
            lines.push(format!("{head} (`{by}`): {}", decision.reason));
        }
    }
    // The message of a retry often ends with its advice.
    let is_new = |advice: &&String| !lines.iter().any(|line| line.contains(advice.as_str()));
    let advice = decision.advice.as_ref().filter(is_new).cloned();
    lines.extend(advice);
    lines.extend(decision.feedback.iter().cloned());
    lines.join("\n")
}

fn guardrail(decision: &Decision) -> String {
    midrail::guardrails::label(decision.by.as_deref().unwrap_or("midrail"))
}

/// The text that the agent sees as an error, instead of a result.
fn error_text(decision: &Decision) -> Option<&str> {
    decision.content.as_deref().filter(|_| decision.effect == Effect::Retry)
}

/// A decision that agents may see. The content of a retried result is shown only if all guardrails that request the retry
/// write a text of their own: another guardrail may object to the content.
pub fn for_agent(mut decision: Decision, policy: &Policy) -> Decision {
    let is_retry = |verdict: &&VerdictRecord| verdict.effect == Some(Effect::Retry) && !verdict.shadow;
    let rewrites = |verdict: &VerdictRecord| {
        policy.get(&verdict.guardrail).is_some_and(|entry| entry.guardrail.can_rewrite())
    };
    let mut retries = decision.verdicts.iter().filter(is_retry).peekable();
    if decision.effect == Effect::Retry && (retries.peek().is_none() || !retries.all(rewrites)) {
        decision.content = None;
    }
    decision
}

/// Notes for the agent with an answer that allows.
pub fn notes(decision: &Decision) -> Option<String> {
    let lines: Vec<String> = decision.feedback.iter().cloned().chain(decision.warning()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Whether the run is halted, but the host cannot end it with this event.
pub(crate) fn is_halted(decision: &Decision) -> bool {
    decision.requested == Some(Effect::Halt)
}

/// Context for the agent with an answer that blocks nothing: notes, that the run is halted, or what the agent must take for
/// an error although it has the result.
pub(crate) fn context(decision: &Decision) -> Option<String> {
    if is_halted(decision) {
        Some(refusal(decision))
    } else if error_text(decision).is_some() {
        Some(withheld_result(decision))
    } else {
        notes(decision)
    }
}

/// For the user: why a call is made without a question.
pub(crate) fn grounds(decision: &Decision) -> String {
    format!("Midrail vouches for this call: {}.", decision.grounds.as_deref().unwrap_or_default())
}

/// For the user: why a run ends.
pub fn halt_message(decision: &Decision) -> String {
    match &decision.user_message {
        Some(message) if !message.trim().is_empty() => message.clone(),
        _ => format!("Midrail ended this run (`{}`): {}", guardrail(decision), decision.reason),
    }
}

/// The text that replaces a withheld result.
pub fn withheld_result(decision: &Decision) -> String {
    let head = if error_text(decision).is_some() { "[error]" } else { "[result withheld]" };
    format!("{head} {}", refusal(decision))
}

/// A changed result, for hosts that accept it only as the reason for withholding the original, or have no place for it.
pub fn replaced_result(decision: &Decision, content: &str) -> String {
    let by = guardrail(decision);
    let notes = notes(decision).map(|notes| format!("\n\n{notes}")).unwrap_or_default();
    format!("Midrail replaced this result, or parts of it (`{by}`). The result is now:\n{content}{notes}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail::core::Retry;

    fn retry(content: Option<&str>, message: &str) -> Decision {
        Decision {
            effect: Effect::Retry,
            by: Some("g".into()),
            content: content.map(str::to_owned),
            retry: Some(Retry { message: message.to_owned(), attempt: 1, max_attempts: 3 }),
            ..Decision::default()
        }
    }

    #[test]
    fn text_in_place_of_a_result_is_an_error() {
        for (content, message, expected) in [
            (Some("2 failed"), "it is an error", "[error] 2 failed\nit is an error\n(`g`, attempt 1 of 3)"),
            (Some("2 failed"), "2 failed", "[error] 2 failed\n(`g`, attempt 1 of 3)"),
            (None, "no table", "[result withheld] no table\n(`g`, attempt 1 of 3)"),
        ] {
            assert_eq!(withheld_result(&retry(content, message)), expected);
        }
        assert!(context(&retry(Some("2 failed"), "m")).unwrap().starts_with("[error] 2 failed"));
        assert_eq!(context(&retry(None, "m")), None);
        let redacted = Decision { effect: Effect::Redact, ..retry(Some("x"), "m") };
        assert!(withheld_result(&redacted).starts_with("[result withheld]"));
    }
}
