//! An external classifier, LLM judge or command that decides whether the work is complete.

use midrail_core::{DeepOutcome, Effect, Fault, StopFinding};

use super::checks::{Evaluation, Moment, State};
use crate::deep::{DeepGuardrail, DeepSettings};

impl Evaluation<'_, '_> {
    /// Calls the judge when the agent wants to stop, and waits for the answer.
    pub(super) fn judge(&self, settings: &DeepSettings) -> Result<State, Fault> {
        if self.moment != Moment::Stop {
            return Ok(State::Unknown);
        }
        let within = settings.timeout.0;
        let judge = DeepGuardrail::new(settings.clone(), None);
        // The wording of a judge differs each time; the judged output identifies the finding.
        let lacks =
            |what: String| State::Incomplete(what, StopFinding::in_output("the judgement of the output"));
        Ok(match self.available(self.context.deep(within))? {
            Ok(DeepOutcome::Answered(answer)) => match judge.verdict(self.context, answer)? {
                verdict if verdict.effect == Effect::Allow => State::Complete,
                verdict => lacks(format!("{}.", verdict.reason.trim_end_matches('.'))),
            },
            Ok(DeepOutcome::Late) => {
                lacks(format!("The judge of the completion did not answer within {within} ms."))
            }
            Err(why) => lacks(format!("Whether the work is complete is unknown: {why}.")),
        })
    }
}
