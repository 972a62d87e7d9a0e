//! completion: checks that the work is complete when an agent wants to stop.
//!
//! `settings` contains the settings of a pack, `checks` describes them, and `evaluation` has their state; `content` is about the
//! content of files, `todos` about to-do lists and `output` about the output.

mod checks;
mod content;
mod evaluation;
mod output;
mod settings;
#[cfg(test)]
mod tests;
mod todos;

use std::any::Any;
use std::sync::Arc;

use midrail_core::{Autonomy, Notice, Tools};
use schemars::SchemaGenerator;
use serde_json::Value;

use crate::builtin::{Constructor, PackKey, parse_settings};
use crate::prelude::*;
use crate::shared::applicability::is_checked;
use crate::shared::data::TOOLS;
use crate::shared::feedback_block::feedback_block;
use crate::shared::settings::SettingsProblem;
use evaluation::{Evaluation, Moment, State};
pub use settings::{CompileCondition, Completion};
use settings::{Conditions, SubAgentStops};

pub(crate) const BUILTIN: Builtin = Builtin {
    events: EVENTS,
    pack_key: PackKey::Completion,
    ..Builtin::with("completion", Category::Quality, 90, DEFAULT_EVENTS, CONSTRUCTOR)
        .aliases(&["task_completion", "completion_checker"])
};

const DEFAULT_EVENTS: &[EventKind] = &[EventKind::BeforeStop, EventKind::SessionEnd];

const CONSTRUCTOR: Constructor =
    Constructor { build, schema: Some(SchemaGenerator::subschema_for::<Completion>) };

/// The kinds of event that it can check.
const EVENTS: &[EventKind] =
    &[EventKind::BeforeStop, EventKind::SessionEnd, EventKind::AfterTool, EventKind::BeforeHandoff];

/// Maximum length of the feedback after a call.
const MAX_FEEDBACK: usize = 2_000;

impl Completion {
    /// The guardrail with compiled expressions, or all errors in the settings.
    pub fn compiled(
        &self,
        bind: &mut CompileCondition<'_>,
    ) -> Result<Arc<dyn Guardrail>, Vec<SettingsProblem>> {
        let conditions = self.conditions(bind)?;
        let mut watches = Vec::new();
        if self.also_after_tool || self.has_todos() {
            watches.push(EventKind::AfterTool);
        }
        if self.maps().iter().any(|(_, checks)| checks.command.is_some() || checks.output.is_some()) {
            watches.extend([EventKind::BeforeStop, EventKind::BeforeHandoff]);
        }
        if self.compares_content() {
            watches.extend(content::STARTS);
        }
        Ok(Arc::new(Checker { checks: self.clone(), conditions, watches }))
    }

    /// Whether there are no checks at all.
    pub fn is_empty(&self) -> bool {
        self.description().is_none()
    }
}

/// Builds the guardrail from settings without a pack: a check by an expression always fails.
fn build(settings: &Value) -> Result<Arc<dyn Guardrail>, SettingsProblem> {
    let completion: Completion = parse_settings(settings)?;
    completion.compiled(&mut |_, _| None).map_err(|problems| problems.into_iter().next().unwrap_or_default())
}

/// The guardrail.
struct Checker {
    checks: Completion,
    conditions: Conditions,
    watches: Vec<EventKind>,
}

impl Checker {
    fn inspect(&self, context: &Context<'_>, moment: Moment) -> Result<State, Fault> {
        let evaluation = self.evaluation(context, moment);
        prefetch(&evaluation);
        evaluation.state("", &self.checks)
    }

    fn evaluation<'l, 'a>(&'l self, context: &'l Context<'a>, moment: Moment) -> Evaluation<'l, 'a> {
        Evaluation { whole: &self.checks, conditions: &self.conditions, context, moment }
    }

    /// Stores the results of commands and the output for the check at the end of the session.
    fn observe_parts(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
        for (at, checks) in self.checks.maps() {
            if let Some((required, context)) = checks.required(&at, context) {
                required.observe(&context, changes)?;
            }
            if let Some(output) = &checks.output {
                output::observe(&at, &output.schema, context, changes)?;
            }
        }
        Ok(())
    }

    fn is_exempt(&self, context: &Context<'_>) -> bool {
        context.event.is_sub_agent() && self.checks.sub_agents == SubAgentStops::Exempt
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
            prefetch(&self.evaluation(context, Moment::Stop));
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
    fn at_call(&self, context: &Context<'_>) -> Result<Option<(State, Option<String>)>, Fault> {
        if !self.checks.also_after_tool || !context.succeeded(Effect::Allow)? {
            return Ok(None);
        }
        let (reported, state) = (report_key(context).read(context), self.inspect(context, Moment::Call));
        Ok(Some((state?, reported?)))
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
            Some((State::Incomplete(what, _), reported)) if reported.as_ref() != Some(&what) => {
                report_key(context).write(changes, &what)?;
            }
            Some((State::Complete | State::Unknown, Some(_))) => {
                report_key(context).remove(changes);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Requests all cheap facts, so that they are fetched together.
fn prefetch(evaluation: &Evaluation<'_, '_>) {
    let context = evaluation.context;
    for (at, checks) in evaluation.whole.maps() {
        for file in checks.files.iter().flatten() {
            let _ = context.file(&evaluation.place(file));
        }
        evaluation.prefetch_content(checks);
        if let Some(pattern) = &checks.glob {
            let _ = context.count_files(std::slice::from_ref(&pattern.0));
        }
        if checks.todos.is_some() {
            let _ = todos::key(context).exists(context);
        }
        if evaluation.moment != Moment::Call
            && let Some((required, context)) = checks.required(&at, context)
        {
            required.prefetch_result(&context);
        }
    }
}

/// The slice with the last report to an agent.
fn report_key(context: &Context<'_>) -> Key<String> {
    Key::own(context, &format!("told/{}", context.actor()))
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
                    Some((State::Incomplete(what, _), reported)) if reported.as_ref() != Some(&what) => Some(
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
        let kind = context.event.kind;
        if self.checks.compares_content() && content::STARTS.contains(&kind) {
            content::observe(&self.evaluation(context, Moment::Stop), changes)?;
        }
        if !matches!(kind, EventKind::SessionStart | EventKind::BeforeModel | EventKind::BeforeTool) {
            self.observe_parts(context, changes)?;
        }
        if context.event.kind != EventKind::AfterTool {
            return Ok(());
        }
        if self.checks.has_todos() {
            todos::observe(context, effect, changes)?;
        }
        // A withheld result carries no feedback, so nothing was reported.
        if effect.allows() && is_checked(context) && !self.is_exempt(context) {
            self.store_report(context, changes)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &self.watches
    }

    fn tools(&self) -> Tools {
        if self.checks.has_todos() && !self.checks.also_after_tool && !self.checks.compares_content() {
            return Tools::only(TOOLS.list("to-do tools").iter().copied());
        }
        Tools::All
    }

    fn max_effect(&self) -> Effect {
        Effect::Retry
    }

    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let judge = self.checks.maps().into_iter().find_map(|(_, checks)| checks.ask.clone())?;
        Some(Arc::new(judge))
    }

    fn summary(&self) -> Option<String> {
        self.checks.description().map(|needs| format!("Before you stop, this is required: {needs}."))
    }
}
