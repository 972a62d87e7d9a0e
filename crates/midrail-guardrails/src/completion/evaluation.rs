//! The state of each check: what is complete, and what is missing.

use midrail_core::path::{self, Place, Roots};
use midrail_core::{DeepOutcome, FileState, StopFinding};

use super::settings::{Completion, Conditions};
use crate::deep::{DeepGuardrail, DeepSettings};
use crate::prelude::*;
use crate::shared::required_command::RequiredCommand;
use crate::shared::settings::Pattern;

/// How many missing items are named.
pub(super) const NAMED: usize = 3;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Complete,
    /// What is missing, as a sentence and as an exact finding.
    Incomplete(String, StopFinding),
    /// It is not checked now.
    Unknown,
}

/// When it is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The agent wants to stop or to hand off.
    Stop,
    /// After a tool call.
    Call,
    /// At the end of the session.
    End,
}

impl State {
    /// Something missing that is identified by its sentence.
    pub(super) fn lacks(what: String) -> Self {
        let found = StopFinding::new(what.as_str());
        State::Incomplete(what, found)
    }
}

/// Evaluates the checks at one moment.
pub(super) struct Evaluation<'l, 'a> {
    pub(super) whole: &'l Completion,
    pub(super) conditions: &'l Conditions,
    pub(super) context: &'l Context<'a>,
    pub(super) moment: Moment,
}

impl Evaluation<'_, '_> {
    /// The place of a path of the pack, relative to the root.
    pub(super) fn place(&self, file: &str) -> Place {
        path::resolve(file, None, Roots { root: self.context.root(), aliases: &[] }, None)
    }

    /// A fact, or why it is unavailable. A fact that is still to be fetched ends the evaluation.
    pub(super) fn available<T>(&self, fact: Result<T, Missing>) -> Result<Result<T, Missing>, Fault> {
        match fact {
            Err(missing) if self.context.has_pending_needs() => Err(missing.into()),
            available => Ok(available),
        }
    }

    /// The state of the map at a place, the most expensive checks last.
    pub(super) fn state(&self, at: &str, checks: &Completion) -> Result<State, Fault> {
        let parts: [&dyn Fn() -> Option<Result<State, Fault>>; 12] = [
            &|| Some(self.files(checks.files.as_deref()?)),
            &|| Some(self.glob(checks.glob.as_ref()?, checks.at_least.unwrap_or(1))),
            &|| Some(self.changed(checks.changed.as_ref()?)),
            &|| Some(self.unchanged(checks.unchanged.as_ref()?)),
            &|| Some(self.texts(checks)),
            &|| checks.todos.map(|_| self.todos()),
            &|| Some(self.output(at, &checks.output.as_ref()?.schema)),
            &|| Some(self.expression(at, checks.check.as_deref()?)),
            &|| Some(self.all(at, checks.all.as_deref()?)),
            &|| Some(self.any(at, checks.any.as_deref()?)),
            &|| self.command(at, checks),
            &|| Some(self.judge(checks.ask.as_ref()?)),
        ];
        first_incomplete(parts.iter().filter_map(|part| part()))
    }

    fn all(&self, at: &str, parts: &[Completion]) -> Result<State, Fault> {
        let parts = parts.iter().enumerate();
        first_incomplete(parts.map(|(i, part)| self.state(&format!("{at}/all/{i}"), part)))
    }

    fn any(&self, at: &str, parts: &[Completion]) -> Result<State, Fault> {
        let mut is_known = true;
        let mut missing = Vec::new();
        let mut found: Vec<StopFinding> = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            match self.state(&format!("{at}/any/{i}"), part)? {
                State::Complete => return Ok(State::Complete),
                State::Unknown => is_known = false,
                State::Incomplete(what, exactly) => {
                    missing.push(what);
                    found.push(exactly);
                }
            }
        }
        if !is_known {
            return Ok(State::Unknown);
        }
        let what = match missing.as_slice() {
            [one] => one.clone(),
            _ => format!("One of these must be fixed: {}", missing.join(" Or: ")),
        };
        let in_output = found.iter().any(|found| found.in_output);
        let exactly: Vec<String> = found.into_iter().map(|found| found.what).collect();
        Ok(State::Incomplete(what, StopFinding { what: exactly.join("\n"), in_output }))
    }

    fn files(&self, files: &[String]) -> Result<State, Fault> {
        let mut missing: Vec<&str> = Vec::new();
        for file in files {
            match self.available(self.context.file(&self.place(file)))? {
                Ok(FileState::File { .. }) if !file.ends_with('/') => {}
                Ok(FileState::Special) if file.ends_with('/') => {}
                Ok(_) => missing.push(file),
                Err(why) => {
                    let (are, count) = (if files.len() == 1 { "file" } else { "files" }, files.len());
                    return Ok(State::lacks(format!(
                        "No filesystem is available: cannot verify the {count} required output {are} ({why})."
                    )));
                }
            }
        }
        let count = missing.len();
        let what = match count {
            0 => return Ok(State::Complete),
            1 => format!("1 required output file is missing: {}.", named(&missing)),
            _ => format!("{count} required output files are missing: {}", named(&missing)),
        };
        Ok(State::Incomplete(what, StopFinding::new(format!("missing: {}", missing.join("\n")))))
    }

    fn glob(&self, pattern: &Pattern, at_least: u64) -> Result<State, Fault> {
        let Pattern(pattern, _) = pattern;
        Ok(match self.available(self.context.count_files(std::slice::from_ref(pattern)))? {
            Ok(count) if count >= at_least => State::Complete,
            Ok(count) => State::lacks(format!(
                "At least {at_least} {} must match `{pattern}`, but {count} {}.",
                if at_least == 1 { "file" } else { "files" },
                if count == 1 { "does" } else { "do" },
            )),
            Err(why) => State::lacks(format!(
                "No filesystem is available: cannot verify the files that must match `{pattern}` ({why})."
            )),
        })
    }

    /// An expression that must be true.
    fn expression(&self, at: &str, source: &str) -> Result<State, Fault> {
        let held = match self.conditions.get(at) {
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

    /// Runs the command when the agent wants to stop. Later its last result counts.
    fn command(&self, at: &str, checks: &Completion) -> Option<Result<State, Fault>> {
        let (required, context) = checks.required(at, self.context)?;
        Some(self.required(&required, &context))
    }

    fn required(&self, required: &RequiredCommand<'_>, context: &Context<'_>) -> Result<State, Fault> {
        let verdict = match self.moment {
            Moment::Call => return Ok(State::Unknown),
            Moment::End => match required.last_verdict(context) {
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
                for (at, checks) in self.whole.maps() {
                    if let Some((other, context)) = checks.required(&at, self.context) {
                        other.prefetch_files(&context);
                    }
                }
                required.verdict(context)
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

    /// Calls the judge when the agent wants to stop, and waits for the answer.
    fn judge(&self, settings: &DeepSettings) -> Result<State, Fault> {
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

/// The first incomplete state, if there is one.
fn first_incomplete(states: impl Iterator<Item = Result<State, Fault>>) -> Result<State, Fault> {
    let mut whole = State::Complete;
    for state in states {
        match state? {
            State::Complete => {}
            State::Unknown => whole = State::Unknown,
            incomplete @ State::Incomplete(..) => return Ok(incomplete),
        }
    }
    Ok(whole)
}

/// The first names of a list.
pub(super) fn named(names: &[&str]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).copied().collect();
    let more = if names.len() > NAMED { "..." } else { "" };
    format!("{}{more}", first.join(", "))
}
