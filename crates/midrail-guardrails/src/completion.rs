//! completion: an agent that wants to stop has done what it was to do. What is missing is told, and it goes on.
//!
//! What a pack writes is in `settings`, how checks are put together in `part`, and each kind of check has its own file.

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
    Autonomy, Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, Notice, Tools, Verdict,
};
use serde_json::Value;

use crate::asked::is_asked;
use crate::feedback::block as feedback_block;
use crate::todo_list;
use part::{Look, Moment, Part, State};
pub use settings::{Bind, Checks, Completion, CompletionProblem, Holds, Output, SubAgents, Todos};

/// The kinds of event that it can be asked about.
pub const COMPLETION_KINDS: [EventKind; 4] =
    [EventKind::BeforeStop, EventKind::SessionEnd, EventKind::AfterTool, EventKind::BeforeHandoff];

/// Characters of what is told to be missing after a call.
const MAX_FEEDBACK: usize = 2_000;

impl Completion {
    /// The guardrail, with its expressions made into conditions, or all that is wrong with the settings.
    pub fn compiled(&self, bind: &mut Bind<'_>) -> Result<Arc<dyn Guardrail>, Vec<CompletionProblem>> {
        let part = Part::of(&self.bound(bind)?);
        let mut watches = Vec::new();
        if self.also_after_tool || part.has(|part| matches!(part, Part::Todos)) {
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

/// Settings alone have no expressions that could be asked: a check by one is never complete.
impl Guardrail for Completion {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        self.as_checker()?.check(context)
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.as_checker()?.observe(context, effect, changes)
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::AfterTool, EventKind::BeforeStop, EventKind::BeforeHandoff]
    }

    fn ceiling(&self) -> Effect {
        Effect::Retry
    }
}

/// The guardrail.
struct Checker {
    part: Part,
    also_after_tool: bool,
    sub_agents: SubAgents,
    watches: Vec<EventKind>,
}

impl Checker {
    fn look<'l, 'a>(&'l self, context: &'l Context<'a>, moment: Moment) -> Result<State, Fault> {
        let look = Look { whole: &self.part, context, moment };
        look.prime();
        look.state(&self.part)
    }

    fn is_exempt(&self, context: &Context<'_>) -> bool {
        context.event.is_sub_agent() && self.sub_agents == SubAgents::Exempt
    }

    /// Why nothing is checked, if nothing is.
    fn passes_over(&self, context: &Context<'_>) -> Result<Option<&'static str>, Missing> {
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
        let passes_over = self.passes_over(context);
        if matches!(passes_over, Ok(None) | Err(_)) {
            // Asked for before anything is lacking, so that all of it is fetched together.
            Look { whole: &self.part, context, moment: Moment::Stop }.prime();
        }
        if let Some(why) = passes_over? {
            return Ok(Verdict::pass_over(why));
        }
        let State::Incomplete(what, found) = self.look(context, Moment::Stop)? else {
            return Ok(Verdict::allow());
        };
        let advice = "Go on with the work until this is done, and stop then.";
        let mut verdict =
            Verdict::new(Effect::Retry, format!("The work is not complete. {what}")).advise(advice);
        verdict.retry_message = Some(format!("{}\n\n{advice}", verdict.reason));
        Ok(verdict.with("missing", what).finding(found))
    }

    /// How far the work is after a call, and what the agent was last told of it. `None`: it is not to be told.
    fn at_call<'a>(&self, context: &Context<'a>) -> Result<Option<(State, Option<&'a str>)>, Fault> {
        if !self.also_after_tool || !context.succeeded(Effect::Allow)? {
            return Ok(None);
        }
        let (told, state) = (context.state(&told_key(context)), self.look(context, Moment::Call));
        Ok(Some((state?, told?.and_then(Value::as_str))))
    }

    fn at_end(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let State::Incomplete(what, _) = self.look(context, Moment::End)? else {
            return Ok(Verdict::allow());
        };
        let mut verdict = Verdict::warn(format!("The run ended with its work not complete. {what}"));
        let message = format!("`{}`: {}", context.session(), verdict.reason);
        verdict.notices.push(Notice { to: "orchestrator".to_owned(), message });
        Ok(verdict.with("missing", what))
    }

    /// Keeps what the agent is told after this call.
    fn keep_told(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
        match self.at_call(context)? {
            Some((State::Incomplete(what, _), told)) if told != Some(&what) => {
                changes.set(context.key(&told_key(context)), what);
            }
            Some((State::Complete | State::Unknown, Some(_))) => {
                changes.remove(context.key(&told_key(context)));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The slice that holds what an agent was last told between two calls.
fn told_key(context: &Context<'_>) -> String {
    format!("told/{}", context.actor())
}

impl Guardrail for Checker {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if self.is_exempt(context) {
            return Ok(Verdict::pass_over("not checked: sub-agents are exempt"));
        }
        match context.event.kind {
            EventKind::SessionEnd => self.at_end(context),
            EventKind::AfterTool => {
                let feedback =
                    match self.at_call(context)? {
                        Some((State::Incomplete(what, _), told)) if told != Some(&what) => Some(
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
        self.part.observe(context, changes)?;
        if context.event.kind != EventKind::AfterTool {
            return Ok(());
        }
        if self.part.has(|part| matches!(part, Part::Todos)) {
            todos::observe(context, effect, changes)?;
        }
        // A result that is withheld brings no note, so nothing was told.
        if effect.goes_on() && is_asked(context) && !self.is_exempt(context) {
            self.keep_told(context, changes)?;
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &self.watches
    }

    fn tools(&self) -> Tools {
        match self.part.has(|part| matches!(part, Part::Todos)) && !self.also_after_tool {
            true => Tools::only(todo_list::TOOLS.iter().copied()),
            false => Tools::All,
        }
    }

    fn ceiling(&self) -> Effect {
        Effect::Retry
    }

    fn outside(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let mut found: Option<Arc<dyn Any + Send + Sync>> = None;
        self.part.each(&mut |part| {
            if let Part::Ask(settings) = part {
                found = Some(settings.clone());
            }
        });
        found
    }

    fn summary(&self) -> Option<String> {
        self.part.in_words().map(|needs| format!("Before you stop, this is needed: {needs}."))
    }
}
