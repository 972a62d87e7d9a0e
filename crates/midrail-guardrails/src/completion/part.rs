//! What has to be complete, as one tree: kinds of checks at its leaves, `all` and `any` between them.

use std::sync::Arc;

use midrail_core::path::{self, Place, Roots};
use midrail_core::{Changes, Context, Effect, Fault, Found, Missing};

use super::settings::{Checks, Holds, Todos};
use crate::deep::DeepSettings;
use crate::json_form::JsonForm;
use crate::ran::{CommandLine, Required, Timeout, all_files};
use crate::settings::Pattern;

/// How many missing things of a kind are named.
pub(super) const NAMED: usize = 3;

/// Something that has to be complete.
pub(super) enum Part {
    Files(Vec<String>),
    Glob { pattern: Pattern, at_least: u64 },
    Todos,
    Output { name: String, form: JsonForm },
    Holds(Holds),
    Command { name: String, run: CommandLine, timeout: Timeout, files: Vec<Pattern> },
    Ask(Arc<DeepSettings>),
    All(Vec<Part>),
    Any(Vec<Part>),
}

/// How far something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Complete,
    /// What is missing, in a sentence, and exactly.
    Incomplete(String, Found),
    /// It is not looked at now.
    Unknown,
}

/// When it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The agent wants to stop, or to hand on.
    Stop,
    /// The agent is at work.
    Call,
    /// All is over.
    End,
}

impl State {
    /// Something that is missing and is the same as long as the sentence is.
    pub(super) fn lacks(what: String) -> Self {
        let found = Found::new(what.as_str());
        State::Incomplete(what, found)
    }
}

impl Part {
    pub(super) fn of(checks: &Checks) -> Part {
        Part::below(checks, "")
    }

    /// The parts of a map, what costs most last. `place` tells those that keep something from the others.
    fn below(checks: &Checks, place: &str) -> Part {
        let mut parts = Vec::new();
        parts.extend(checks.files.clone().map(Part::Files));
        if let Some(pattern) = checks.glob.clone() {
            parts.push(Part::Glob { pattern, at_least: checks.at_least.unwrap_or(1) });
        }
        parts.extend(checks.todos.map(|Todos::NoneOpen| Part::Todos));
        parts.extend(
            checks
                .output
                .clone()
                .map(|output| Part::Output { name: format!("output{place}"), form: output.schema }),
        );
        parts.extend(checks.check.clone().map(Part::Holds));
        let below = |of: &[Checks], word: &str| {
            let of = of.iter().enumerate();
            of.map(|(i, checks)| Part::below(checks, &format!("{place}-{word}-{i}"))).collect::<Vec<_>>()
        };
        parts.extend(checks.all.as_deref().map(|all| Part::All(below(all, "all"))));
        parts.extend(checks.any.as_deref().map(|any| Part::Any(below(any, "any"))));
        if let Some(run) = checks.command.clone() {
            let timeout = checks.timeout.unwrap_or(Timeout::minutes(10));
            let files = checks.when_changed.clone().unwrap_or_else(all_files);
            parts.push(Part::Command { name: format!("command{place}"), run, timeout, files });
        }
        parts.extend(checks.ask.clone().map(|settings| Part::Ask(Arc::new(settings))));
        match parts.len() {
            1 => parts.pop().unwrap_or(Part::All(Vec::new())),
            _ => Part::All(parts),
        }
    }

    pub(super) fn each<'p>(&'p self, visit: &mut dyn FnMut(&'p Part)) {
        visit(self);
        if let Part::All(parts) | Part::Any(parts) = self {
            parts.iter().for_each(|part| part.each(visit));
        }
    }

    pub(super) fn has(&self, is_it: impl Fn(&Part) -> bool) -> bool {
        let mut has = false;
        self.each(&mut |part| has |= is_it(part));
        has
    }

    /// The command of a part, with the context that holds its state.
    pub(super) fn required<'p, 'a>(&'p self, context: &Context<'a>) -> Option<(Required<'p>, Context<'a>)> {
        let Part::Command { name, run, timeout, files } = self else { return None };
        let required = Required {
            run,
            timeout: *timeout,
            files,
            tries_again: true,
            effect: Effect::Retry,
            wrong: "A command that has to end well does not",
            advice: String::new(),
        };
        Some((required, context.part(name)))
    }

    /// Keeps how commands ended and what the output was like, for the last look.
    pub(super) fn observe(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
        let mut outcome = Ok(());
        self.each(&mut |part| {
            if outcome.is_err() {
                return;
            }
            outcome = match part {
                Part::Command { .. } => part
                    .required(context)
                    .map_or(Ok(()), |(required, context)| required.observe(&context, changes)),
                Part::Output { name, form } => super::output::observe(name, form, context, changes),
                Part::Files(_) | Part::Glob { .. } | Part::Todos | Part::Holds(_) => Ok(()),
                Part::Ask(_) | Part::All(_) | Part::Any(_) => Ok(()),
            };
        });
        outcome
    }

    /// What is needed, in words. `None`: nothing is.
    pub(super) fn in_words(&self) -> Option<String> {
        let joined = |parts: &[Part], word: &str| {
            let parts: Vec<String> = parts.iter().filter_map(Part::in_words).collect();
            (!parts.is_empty()).then(|| parts.join(word))
        };
        match self {
            Part::Files(files) if files.is_empty() => None,
            Part::Files(files) => {
                Some(files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", "))
            }
            Part::Glob { pattern, at_least } => Some(format!("{at_least} of `{}`", pattern.0)),
            Part::Todos => Some("no open item on the to-do list".to_owned()),
            Part::Output { .. } => Some("an output in the form that is asked for".to_owned()),
            Part::Holds(holds) => Some(holds.source.trim().to_owned()),
            Part::Command { run, .. } => Some(format!("`{}` to end well", run.0)),
            Part::Ask(_) => Some("the agreement of whoever judges it".to_owned()),
            Part::All(parts) => joined(parts, "; "),
            // One that asks for nothing is always enough.
            Part::Any(parts) if parts.iter().any(|part| part.in_words().is_none()) => None,
            Part::Any(parts) => match parts.as_slice() {
                [one] => one.in_words(),
                parts => joined(parts, ", or ").map(|either| format!("one of these ({either})")),
            },
        }
    }
}

/// What looks at the parts at one moment.
pub(super) struct Look<'l, 'a> {
    pub(super) whole: &'l Part,
    pub(super) context: &'l Context<'a>,
    pub(super) moment: Moment,
}

impl Look<'_, '_> {
    /// Asks for all that is had cheaply, so that it is fetched at once.
    pub(super) fn prime(&self) {
        self.whole.each(&mut |part| match part {
            Part::Files(files) => files.iter().for_each(|file| {
                let _ = self.context.file(&self.place(file));
            }),
            Part::Glob { pattern, .. } => {
                let _ = self.context.count(std::slice::from_ref(&pattern.0));
            }
            Part::Todos => {
                let _ = self.context.state(&super::todos::key(self.context));
            }
            Part::Command { .. } if self.moment != Moment::Call => {
                if let Some((required, context)) = part.required(self.context) {
                    required.prime(&context);
                }
            }
            Part::Output { .. }
            | Part::Holds(_)
            | Part::Command { .. }
            | Part::Ask(_)
            | Part::All(_)
            | Part::Any(_) => {}
        });
    }

    /// Where a path of the pack leads: it is meant from the root, wherever the agent is.
    pub(super) fn place(&self, file: &str) -> Place {
        path::place(file, None, Roots { root: self.context.root(), aliases: &[] }, None)
    }

    /// What was asked for, or why it cannot be had. What is still to be fetched ends the look.
    pub(super) fn had<T>(&self, asked: Result<T, Missing>) -> Result<Result<T, Missing>, Fault> {
        match asked {
            Err(missing) if self.context.awaits() => Err(missing.into()),
            had => Ok(had),
        }
    }

    pub(super) fn state(&self, part: &Part) -> Result<State, Fault> {
        match part {
            Part::Files(files) => self.files(files),
            Part::Glob { pattern, at_least } => self.glob(pattern, *at_least),
            Part::Todos => self.todos(),
            Part::Output { name, form } => self.output(name, form),
            Part::Holds(holds) => self.holds(holds),
            Part::Command { .. } => self.command(part),
            Part::Ask(settings) => self.ask(settings),
            Part::All(parts) => self.all(parts),
            Part::Any(parts) => self.any(parts),
        }
    }

    fn all(&self, parts: &[Part]) -> Result<State, Fault> {
        let mut state = State::Complete;
        for part in parts {
            match self.state(part)? {
                State::Complete => {}
                State::Unknown => state = State::Unknown,
                incomplete @ State::Incomplete(..) => return Ok(incomplete),
            }
        }
        Ok(state)
    }

    fn any(&self, parts: &[Part]) -> Result<State, Fault> {
        let mut is_known = true;
        let mut missing = Vec::new();
        let mut found: Vec<Found> = Vec::new();
        for part in parts {
            match self.state(part)? {
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
            _ => format!("One of these is needed: {}", missing.join(" Or: ")),
        };
        let in_output = found.iter().any(|found| found.in_output);
        let exactly: Vec<String> = found.into_iter().map(|found| found.what).collect();
        Ok(State::Incomplete(what, Found { what: exactly.join("\n"), in_output }))
    }
}

/// The first of several names.
pub(super) fn named(names: &[&str]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).copied().collect();
    let more = if names.len() > NAMED { "..." } else { "" };
    format!("{}{more}", first.join(", "))
}
