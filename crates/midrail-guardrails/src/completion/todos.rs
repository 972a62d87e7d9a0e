//! A to-do list without open items.

use midrail_core::StopFinding;

use super::evaluation::{Evaluation, Moment, State, named};
use crate::prelude::*;
use crate::shared::data::TOOLS;
use crate::shared::todo_list::TodoList;

/// The slice with an agent's to-do list. Each agent and sub-agent has its own.
pub(super) fn key(context: &Context<'_>) -> Key<TodoList> {
    Key::own(context, &format!("todos/{}", context.actor()))
}

impl Evaluation<'_, '_> {
    pub(super) fn todos(&self) -> Result<State, Fault> {
        let mut list = key(self.context).read(self.context)?.unwrap_or_default();
        // The list of this call is not stored yet.
        if self.moment == Moment::Call
            && let Some(after) = list.after(self.context.event)
        {
            list = after;
        }
        let open = list.open();
        let what = match open.len() {
            0 => return Ok(State::Complete),
            1 => format!("1 item of the to-do list is open: {}.", named(&open)),
            count => format!("{count} items of the to-do list are open: {}", named(&open)),
        };
        Ok(State::Incomplete(what, StopFinding::new(format!("open: {}", open.join("\n")))))
    }
}

/// Stores the list after a call.
pub(super) fn observe(context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
    let is_todo_tool = context.event.tool_name().is_some_and(|name| TOOLS.has("to-do tools", name));
    if !is_todo_tool || !context.succeeded(effect)? {
        return Ok(());
    }
    let before = key(context).read(context)?.unwrap_or_default();
    if let Some(after) = before.after(context.event).filter(|after| *after != before) {
        key(context).write(changes, &after)?;
    }
    Ok(())
}
