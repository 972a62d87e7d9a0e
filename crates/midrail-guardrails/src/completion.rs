//! completion: checks that the work is complete when an agent wants to stop.
//!
//! `settings` holds the settings of a pack, `part` the tree of checks; each kind of check has its own file.

mod ask;
mod command;
mod files;
mod holds;
mod output;
mod part;
mod settings;
#[cfg(test)]
mod tests;
mod todos;

use std::any::Any;
use std::sync::Arc;

use midrail_core::{
    Autonomy, Category, Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, Notice, Tools,
    Verdict,
};
use serde_json::Value;

use crate::asked::is_asked;
use crate::builtin::{Builtin, PackKey};
use crate::feedback::block as feedback_block;
use crate::todo_list;
use part::{Evaluation, Moment, Part, State};
use settings::SubAgentStops;
pub use settings::{CompileCondition, Completion, CompletionProblem};

pub(crate) const BUILTIN: Builtin = Builtin {
    pack_key: PackKey::Completion,
    ..Builtin::new::<Completion>(
        "completion",
        Category::Quality,
        90,
        &[EventKind::BeforeStop, EventKind::SessionEnd],
    )
    .aliases(&["task_completion", "completion_checker"])
};

/// The kinds of event that it can check.
pub const COMPLETION_EVENTS: [EventKind; 4] =
    [EventKind::BeforeStop, EventKind::SessionEnd, EventKind::AfterTool, EventKind::BeforeHandoff];

/// Maximum length of the feedback after a call.
const MAX_FEEDBACK: usize = 2_000;

impl Completion {
    /// The guardrail with compiled expressions, or all errors in the settings.
    pub fn compiled(
        &self,
        bind: &mut CompileCondition<'_>,
    ) -> Result<Arc<dyn Guardrail>, Vec<CompletionProblem>> {
        let part = Part::of(&self.bound(bind)?);
        let mut watches = Vec::new();
        if self.also_after_tool || part.has(|part| matches!(part, Part::TodoCheck)) {
            watches.push(EventKind::AfterTool);
        }
        if part.has(|part| matches!(part, Part::Command { .. } | Part::Output { .. })) {
            watches.extend([EventKind::BeforeStop, EventKind::BeforeHandoff]);
        }
        let (also_after_tool, sub_agents) = (self.also_after_tool, self.sub_agents);
        Ok(Arc::new(Checker { part, also_after_tool, sub_agents, watches }))
    }

    fn as_checker(&self) -> Result<Arc<dyn Guardrail>, Fault> {
        let wrong = |problems: Vec<CompletionProblem>| {
            let problems: Vec<String> =
                problems.into_iter().map(|it| format!("`{}`: {}", it.at, it.message)).collect();
            Fault::Failed(problems.join("; "))
        };
        self.compiled(&mut |_, _| None).map_err(wrong)
    }
}

/// Settings without compiled expressions: a check by an expression always fails.
impl Guardrail for Completion {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        self.as_checker()?.check(context)
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.as_checker()?.observe(context, effect, changes)
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool, EventKind::BeforeStop, EventKind::BeforeHandoff]
    }

    fn max_effect(&self) -> Effect {
        Effect::Retry
    }
}

/// The guardrail.
struct Checker {
    part: Part,
    also_after_tool: bool,
    sub_agents: SubAgentStops,
    watches: Vec<EventKind>,
}

impl Checker {
    fn inspect<'l, 'a>(&'l self, context: &'l Context<'a>, moment: Moment) -> Result<State, Fault> {
        let evaluation = Evaluation { whole: &self.part, context, moment };
        prime(&evaluation);
        evaluation.state(&self.part)
    }

    /// Stores the results of commands and the output for the check at the end of the session.
    fn observe_parts(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
        let mut outcome = Ok(());
        self.part.each(&mut |part| {
            if outcome.is_err() {
                return;
            }
            outcome = match part {
                Part::Command { .. } => part
                    .required(context)
                    .map_or(Ok(()), |(required, context)| required.observe(&context, changes)),
                Part::Output { name, form } => output::observe(name, form, context, changes),
                Part::Files(_) | Part::Glob { .. } | Part::TodoCheck | Part::CheckExpression(_) => Ok(()),
                Part::Ask(_) | Part::All(_) | Part::Any(_) => Ok(()),
            };
        });
        outcome
    }

    fn is_exempt(&self, context: &Context<'_>) -> bool {
        context.event.is_sub_agent() && self.sub_agents == SubAgentStops::Exempt
    }

    /// Why nothing is checked, if so.
    fn skip_reason(&self, context: &Context<'_>) -> Result<Option<&'static str>, Missing> {
        let (deadline, autonomy) = (context.deadline(), context.autonomy());
        let (deadline, autonomy) = (deadline?, autonomy?);
        if let Some(deadline) = deadline
            && context.now()? >= deadline
        {
            return Ok(Some("not checked: the deadline has passed"));
        }
        Ok((autonomy == Autonomy::Halt).then_some("not checked: the budget is used up"))
    }

    fn at_stop(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let skip_reason = self.skip_reason(context);
        if matches!(skip_reason, Ok(None) | Err(_)) {
            // Request all facts before the first one is missing, so that they are fetched together.
            prime(&Evaluation { whole: &self.part, context, moment: Moment::Stop });
        }
        if let Some(why) = skip_reason? {
            return Ok(Verdict::not_checked(why));
        }
        let State::Incomplete(what, found) = self.inspect(context, Moment::Stop)? else {
            return Ok(Verdict::allow());
        };
        let advice = "Continue until this is done, then stop.";
        let mut verdict =
            Verdict::new(Effect::Retry, format!("The work is not complete. {what}")).advise(advice);
        verdict.retry_message = Some(format!("{}\n\n{advice}", verdict.reason));
        Ok(verdict.with("missing", what).with_stop_finding(found))
    }

    /// The state of the work after a call, and the last report to the agent. `None`: nothing is reported.
    fn at_call<'a>(&self, context: &Context<'a>) -> Result<Option<(State, Option<&'a str>)>, Fault> {
        if !self.also_after_tool || !context.succeeded(Effect::Allow)? {
            return Ok(None);
        }
        let (reported, state) = (context.state(&report_key(context)), self.inspect(context, Moment::Call));
        Ok(Some((state?, reported?.and_then(Value::as_str))))
    }

    fn at_end(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let State::Incomplete(what, _) = self.inspect(context, Moment::End)? else {
            return Ok(Verdict::allow());
        };
        let mut verdict = Verdict::warn(format!("The run ended with incomplete work. {what}"));
        let message = format!("`{}`: {}", context.session(), verdict.reason);
        verdict.notices.push(Notice { to: "orchestrator".to_owned(), message });
        Ok(verdict.with("missing", what))
    }

    /// Stores what is reported to the agent after this call.
    fn store_report(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
        match self.at_call(context)? {
            Some((State::Incomplete(what, _), reported)) if reported != Some(&what) => {
                changes.set(context.key(&report_key(context)), what);
            }
            Some((State::Complete | State::Unknown, Some(_))) => {
                changes.remove(context.key(&report_key(context)));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Requests all cheap facts, so that they are fetched together.
fn prime(evaluation: &Evaluation<'_, '_>) {
    evaluation.whole.each(&mut |part| match part {
        Part::Files(files) => files.iter().for_each(|file| {
            let _ = evaluation.context.file(&evaluation.place(file));
        }),
        Part::Glob { pattern, .. } => {
            let _ = evaluation.context.count_files(std::slice::from_ref(&pattern.0));
        }
        Part::TodoCheck => {
            let _ = evaluation.context.state(&todos::key(evaluation.context));
        }
        Part::Command { .. } if evaluation.moment != Moment::Call => {
            if let Some((required, context)) = part.required(evaluation.context) {
                required.prime(&context);
            }
        }
        Part::Output { .. }
        | Part::CheckExpression(_)
        | Part::Command { .. }
        | Part::Ask(_)
        | Part::All(_)
        | Part::Any(_) => {}
    });
}

/// The slice with the last report to an agent.
fn report_key(context: &Context<'_>) -> String {
    format!("told/{}", context.actor())
}

impl Guardrail for Checker {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if self.is_exempt(context) {
            return Ok(Verdict::not_checked("not checked: sub-agents are exempt"));
        }
        match context.event.kind {
            EventKind::SessionEnd => self.at_end(context),
            EventKind::AfterTool => {
                let feedback = match self.at_call(context)? {
                    Some((State::Incomplete(what, _), reported)) if reported != Some(&what) => Some(
                        feedback_block(&context.spec.id, &format!("Still missing: {what}"), MAX_FEEDBACK),
                    ),
                    _ => None,
                };
                Ok(Verdict { feedback, ..Verdict::allow() })
            }
            _ => self.at_stop(context),
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.observe_parts(context, changes)?;
        if context.event.kind != EventKind::AfterTool {
            return Ok(());
        }
        if self.part.has(|part| matches!(part, Part::TodoCheck)) {
            todos::observe(context, effect, changes)?;
        }
        // A withheld result carries no feedback, so nothing was reported.
        if effect.allows() && is_asked(context) && !self.is_exempt(context) {
            self.store_report(context, changes)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &self.watches
    }

    fn tools(&self) -> Tools {
        match self.part.has(|part| matches!(part, Part::TodoCheck)) && !self.also_after_tool {
            true => Tools::only(todo_list::TOOLS.iter().copied()),
            false => Tools::All,
        }
    }

    fn max_effect(&self) -> Effect {
        Effect::Retry
    }

    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let mut found: Option<Arc<dyn Any + Send + Sync>> = None;
        self.part.each(&mut |part| {
            if let Part::Ask(settings) = part {
                found = Some(settings.clone());
            }
        });
        found
    }

    fn summary(&self) -> Option<String> {
        self.part.description().map(|needs| format!("Before you stop, this is required: {needs}."))
    }
}
