//! An expression that must be true.

use midrail_core::{Fault, Missing, StopFinding};

use super::checks::{Evaluation, Moment, State};
use super::settings::CheckExpression;

impl Evaluation<'_, '_> {
    pub(super) fn expression(&self, check: &CheckExpression) -> Result<State, Fault> {
        let CheckExpression { source, condition } = check;
        let held = match condition {
            Some(condition) => self.available(condition.holds(self.context))?,
            None => Err(Missing("the expression is invalid".to_owned())),
        };
        // It may depend on the output of the agent.
        let found = StopFinding::in_output(source.trim());
        Ok(match held {
            Ok(true) => State::Complete,
            Ok(false) => State::Incomplete(format!("This must be true: {}", source.trim()), found),
            // The output of an agent is unknown before it stops.
            Err(_) if self.moment != Moment::Stop => State::Unknown,
            Err(why) => State::Incomplete(format!("This must be true, but {why}: {}", source.trim()), found),
        })
    }
}
