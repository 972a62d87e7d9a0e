//! An output that must conform to a schema. The result is stored, because the end of a session has no output.

use midrail_core::{Changes, Context, Event, EventKind, Fault, StopFinding};
use serde_json::Value;

use super::part::{Evaluation, Moment, NAMED, State};
use crate::asked::is_asked;
use crate::json_form::CompiledSchema;

impl Evaluation<'_, '_> {
    pub(super) fn output(&self, name: &str, form: &CompiledSchema) -> Result<State, Fault> {
        let event = self.context.event;
        match self.moment {
            Moment::Call => Ok(State::Unknown),
            Moment::Stop => Ok(judged(form, event)),
            Moment::End if event.output.is_some() => Ok(judged(form, event)),
            Moment::End => Ok(match self.context.state(name)?.and_then(Value::as_str) {
                Some("") => State::Complete,
                Some(what) => State::lacks(what.to_owned()),
                None => State::lacks("There was no output.".to_owned()),
            }),
        }
    }
}

fn judged(form: &CompiledSchema, event: &Event) -> State {
    let problems = form.problems(event.output.as_ref().unwrap_or(&Value::Null), true, NAMED);
    if problems.is_empty() {
        return State::Complete;
    }
    let problems: Vec<String> = problems.iter().map(|(at, what)| format!("`{at}` {what}")).collect();
    let what = format!("The output does not conform to its schema: {}.", problems.join("; "));
    State::Incomplete(what, StopFinding::in_output("the schema of the output"))
}

/// Stores the problems of the run's last output. Empty: it conforms.
pub(super) fn observe(
    name: &str,
    form: &CompiledSchema,
    context: &Context<'_>,
    changes: &mut Changes,
) -> Result<(), Fault> {
    let event = context.event;
    if event.kind != EventKind::BeforeStop || event.is_sub_agent() || !is_asked(context) {
        return Ok(());
    }
    let what = match judged(form, event) {
        State::Incomplete(what, _) => what,
        State::Complete | State::Unknown => String::new(),
    };
    if context.state(name)?.and_then(Value::as_str) != Some(&what) {
        changes.set(context.key(name), what);
    }
    Ok(())
}
