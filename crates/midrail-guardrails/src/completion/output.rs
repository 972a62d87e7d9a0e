//! An output that must conform to a schema. The result is stored, because the end of a session has no output.

use midrail_core::{Event, StopFinding};
use serde_json::Value;

use super::checks::state_name;
use super::evaluation::{Evaluation, Moment, NAMED, State};
use crate::prelude::*;
use crate::shared::applicability::is_checked;
use crate::shared::compiled_schema::CompiledSchema;

impl Evaluation<'_, '_> {
    pub(super) fn output(&self, at: &str, schema: &CompiledSchema) -> Result<State, Fault> {
        let event = self.context.event;
        match self.moment {
            Moment::Call => Ok(State::Unknown),
            Moment::Stop => Ok(validate(schema, event)),
            Moment::End if event.output.is_some() => Ok(validate(schema, event)),
            Moment::End => Ok(match key(self.context, at).read(self.context)? {
                Some(what) if what.is_empty() => State::Complete,
                Some(what) => State::lacks(what),
                None => State::lacks("There was no output.".to_owned()),
            }),
        }
    }
}

fn validate(schema: &CompiledSchema, event: &Event) -> State {
    let problems = schema.problems(event.output.as_ref().unwrap_or(&Value::Null), true, NAMED);
    if problems.is_empty() {
        return State::Complete;
    }
    let problems: Vec<String> = problems.iter().map(|(at, what)| format!("`{at}` {what}")).collect();
    let what = format!("The output does not conform to its schema: {}.", problems.join("; "));
    State::Incomplete(what, StopFinding::in_output("the schema of the output"))
}

/// Stores the problems of the run's last output. Empty: it conforms.
pub(super) fn observe(
    at: &str,
    schema: &CompiledSchema,
    context: &Context<'_>,
    changes: &mut Changes,
) -> Result<(), Fault> {
    let event = context.event;
    if event.kind != EventKind::BeforeStop || event.is_sub_agent() || !is_checked(context) {
        return Ok(());
    }
    let what = match validate(schema, event) {
        State::Incomplete(what, _) => what,
        State::Complete | State::Unknown => String::new(),
    };
    if key(context, at).read(context)?.as_ref() != Some(&what) {
        key(context, at).write(changes, &what)?;
    }
    Ok(())
}

/// The slice with the problems of the last output.
fn key(context: &Context<'_>, at: &str) -> Key<String> {
    Key::own(context, &state_name("output", at))
}
