//! An expression that has to hold.

use midrail_core::{Fault, Found, Missing};

use super::part::{Look, Moment, State};
use super::settings::Holds;

impl Look<'_, '_> {
    pub(super) fn holds(&self, holds: &Holds) -> Result<State, Fault> {
        let Holds { source, condition } = holds;
        let held = match condition {
            Some(condition) => self.had(condition.holds(self.context))?,
            None => Err(Missing("the expression cannot be read".to_owned())),
        };
        // It may well be about what the agent ends with.
        let found = Found::in_output(source.trim());
        Ok(match held {
            Ok(true) => State::Complete,
            Ok(false) => State::Incomplete(format!("This has to hold: {}", source.trim()), found),
            // What an agent ends with is not known before it ends, and neither is much else.
            Err(_) if self.moment != Moment::Stop => State::Unknown,
            Err(why) => State::Incomplete(format!("This has to hold, and {why}: {}", source.trim()), found),
        })
    }
}
