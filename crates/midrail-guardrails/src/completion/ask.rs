//! Somebody outside who judges whether the work is done.

use midrail_core::{DeepEnd, Effect, Fault, Found};

use super::part::{Look, Moment, State};
use crate::deep::{Deep, DeepSettings};

impl Look<'_, '_> {
    /// Whoever judges is asked when the agent wants to stop, and waited for.
    pub(super) fn ask(&self, settings: &DeepSettings) -> Result<State, Fault> {
        if self.moment != Moment::Stop {
            return Ok(State::Unknown);
        }
        let within = settings.timeout.0;
        let judge = Deep::new(settings.clone(), None);
        // Whoever judges says the same in other words each time; what is judged is what the agent ends with.
        let lacks = |what: String| State::Incomplete(what, Found::in_output("the judgement of the output"));
        Ok(match self.had(self.context.deep(within))? {
            Ok(DeepEnd::Answered(answer)) => match judge.judged(self.context, answer)? {
                verdict if verdict.effect == Effect::Allow => State::Complete,
                verdict => lacks(format!("{}.", verdict.reason.trim_end_matches('.'))),
            },
            Ok(DeepEnd::Late) => {
                lacks(format!("Whoever judges whether it is done did not answer within {within} ms."))
            }
            Err(why) => lacks(format!("It is not known whether it is done: {why}.")),
        })
    }
}
