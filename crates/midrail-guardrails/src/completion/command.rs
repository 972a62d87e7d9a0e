//! A command that has to end well.

use midrail_core::{Effect, Fault, Verdict};

use super::part::{Look, Moment, Part, State};

impl Look<'_, '_> {
    /// A command is run when the agent wants to stop. Afterwards its last outcome counts.
    pub(super) fn command(&self, part: &Part) -> Result<State, Fault> {
        let Some((required, context)) = part.required(self.context) else { return Ok(State::Unknown) };
        let said = match self.moment {
            Moment::Call => return Ok(State::Unknown),
            Moment::End => match required.last(&context) {
                Ok(Some(said)) => Ok(said),
                // What runs every time has no files that it could have run on.
                Ok(None) if required.files.is_empty() => return Ok(State::Unknown),
                Ok(None) => {
                    return Ok(State::lacks(format!(
                        "`{}` has not run on the files as they are.",
                        required.run.0
                    )));
                }
                Err(fault) => Err(fault),
            },
            Moment::Stop => {
                self.whole.each(&mut |part| {
                    if let Some((other, context)) = part.required(self.context) {
                        other.prime_files(&context);
                    }
                });
                required.verdict(&context)
            }
        };
        Ok(match said {
            Ok(said) if said.effect == Effect::Allow => State::Complete,
            Ok(Verdict { reason, found: Some(found), .. }) => State::Incomplete(reason, found),
            Ok(said) => State::lacks(said.reason),
            Err(fault) if self.context.awaits() => return Err(fault),
            Err(fault) => {
                State::lacks(format!("It is not known whether `{}` ends well: {fault}.", required.run.0))
            }
        })
    }
}
