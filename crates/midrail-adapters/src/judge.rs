//! Decides the events of a proxy, which has no host of its own: approvers decide instead of the user where there are any, and the agent
//! receives what it can do next.

use std::panic::{self, AssertUnwindSafe};

use midrail::{Decision, Effect, Engine, EngineResult, Event, summary};

use crate::{hook, messages};

/// Decides an event. What cannot be decided is blocked.
pub fn decide(engine: &Engine, event: Event, decide: impl FnOnce(&Engine, Event) -> Decision) -> Decision {
    // INVARIANT: an internal error is a no.
    let decided = panic::catch_unwind(AssertUnwindSafe(|| try_decide(engine, event, decide)));
    match decided {
        Ok(Ok(decision)) => decision,
        Ok(Err(error)) => refusal(&error.to_string()),
        Err(_) => refusal("an internal error"),
    }
}

/// Decides an event. `Err`: it could not be prepared.
pub fn try_decide(
    engine: &Engine,
    mut event: Event,
    decide: impl FnOnce(&Engine, Event) -> Decision,
) -> EngineResult<Decision> {
    let begins = hook::is_agent_start(&event);
    let has_approvers = leave_to_approvers(engine, &mut event)?;
    let mut decision = decide(engine, event);
    if has_approvers && decision.effect == Effect::Escalate && decision.approval.is_none() {
        // No approver was asked, and the user of the client may not decide.
        decision.effect = Effect::Block;
    }
    let mut decision = messages::for_agent(engine.approvals().with_guidance(decision), &engine.policy());
    if begins {
        decision.feedback.splice(0..0, session_limits(engine));
    }
    Ok(decision)
}

/// If there are approvers with keys, they decide, not the user of the agent. Returns whether there are.
pub fn leave_to_approvers(engine: &Engine, event: &mut Event) -> EngineResult<bool> {
    let has_approvers = engine.admin().has_approvers()?;
    if let Some(host) = event.host.as_mut().filter(|_| has_approvers) {
        host.asks_user = false;
    }
    Ok(has_approvers)
}

/// The limits of the agent, sent when its session starts.
pub fn session_limits(engine: &Engine) -> Option<String> {
    let sentences = summary::sentences(&engine.policy());
    // Some hosts put this before the prompt, where it is checked: it must not look like an attempt to lift limits.
    let limits = || format!("What Midrail holds you to in this session:\n- {}", sentences.join("\n- "));
    (!sentences.is_empty()).then(limits)
}

/// The decision if none could be made: a block.
fn refusal(failure: &str) -> Decision {
    Decision {
        effect: Effect::Block,
        by: Some("midrail".into()),
        reason: format!("the decision could not be made and recorded, so the action is blocked: {failure}"),
        ..Decision::default()
    }
}
