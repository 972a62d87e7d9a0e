//! An output of a form. What is made of the last one is kept, because the end of a session brings none.

use midrail_core::{Changes, Context, Event, EventKind, Fault, Found};
use serde_json::Value;

use super::part::{Look, Moment, NAMED, State};
use crate::asked::is_asked;
use crate::json_form::JsonForm;

impl Look<'_, '_> {
    pub(super) fn output(&self, name: &str, form: &JsonForm) -> Result<State, Fault> {
        let event = self.context.event;
        match self.moment {
            Moment::Call => Ok(State::Unknown),
            Moment::Stop => Ok(judged(form, event)),
            Moment::End if event.output.is_some() => Ok(judged(form, event)),
            Moment::End => Ok(match self.context.state(name)?.and_then(Value::as_str) {
                Some("") => State::Complete,
                Some(what) => State::lacks(what.to_owned()),
                None => State::lacks("No output was seen.".to_owned()),
            }),
        }
    }
}

fn judged(form: &JsonForm, event: &Event) -> State {
    let problems = form.problems(event.output.as_ref().unwrap_or(&Value::Null), true, NAMED);
    if problems.is_empty() {
        return State::Complete;
    }
    let problems: Vec<String> = problems.iter().map(|(at, what)| format!("`{at}` {what}")).collect();
    let what = format!("The output does not have the form that is asked for: {}.", problems.join("; "));
    State::Incomplete(what, Found::in_output("the form of the output"))
}

/// Keeps what is missing of the run's last output, whether or not it was looked at. Nothing: it is complete.
pub(super) fn observe(
    name: &str,
    form: &JsonForm,
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
