//! Somebody outside who judges whether the work is done.

use midrail_core::{DeepEnd, Effect, Fault};

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
        Ok(match self.had(self.context.deep(within))? {
            Ok(DeepEnd::Answered(answer)) => match judge.judged(self.context, answer)? {
                verdict if verdict.effect == Effect::Allow => State::Complete,
                verdict => State::Incomplete(format!("{}.", verdict.reason.trim_end_matches('.'))),
            },
            Ok(DeepEnd::Late) => State::Incomplete(format!(
                "Whoever judges whether it is done did not answer within {within} ms."
            )),
            Err(why) => State::Incomplete(format!("It is not known whether it is done: {why}.")),
        })
    }
}
