//! A command that must succeed.

use midrail_core::{Effect, Fault, Verdict};

use super::checks::{Check, Evaluation, Moment, State};

impl Evaluation<'_, '_> {
    /// Runs the command when the agent wants to stop. Later its last result counts.
    pub(super) fn command(&self, part: &Check) -> Result<State, Fault> {
        let Some((required, context)) = part.required(self.context) else { return Ok(State::Unknown) };
        let verdict = match self.moment {
            Moment::Call => return Ok(State::Unknown),
            Moment::End => match required.last_verdict(&context) {
                Ok(Some(verdict)) => Ok(verdict),
                // A command that runs every time has no relevant files.
                Ok(None) if required.files.is_empty() => return Ok(State::Unknown),
                Ok(None) => {
                    return Ok(State::lacks(format!(
                        "`{}` has not run since the files changed.",
                        required.run.0
                    )));
                }
                Err(fault) => Err(fault),
            },
            Moment::Stop => {
                self.whole.each(&mut |part| {
                    if let Some((other, context)) = part.required(self.context) {
                        other.prefetch_files(&context);
                    }
                });
                required.verdict(&context)
            }
        };
        Ok(match verdict {
            Ok(verdict) if verdict.effect == Effect::Allow => State::Complete,
            Ok(Verdict { reason, stop_finding: Some(found), .. }) => State::Incomplete(reason, found),
            Ok(verdict) => State::lacks(verdict.reason),
            Err(fault) if self.context.has_pending_needs() => return Err(fault),
            Err(fault) => State::lacks(format!("The result of `{}` is unknown: {fault}.", required.run.0)),
        })
    }
}
