//! What stands in place of a tool's result before anyone else looks at it. Guardrails that rewrite are heard first, one
//! after the other, each with what the last one left; everyone else sees what comes out.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::ask;
use crate::context::{Context, World};
use crate::decision::Mode;
use crate::effect::Effect;
use crate::event::{Event, EventKind, ToolResult};
use crate::facts::Needs;
use crate::guardrail::Spec;
use crate::policy::PolicyEntry;
use crate::tally::tries_key;

/// Another result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Its text.
    pub content: String,
    /// Whether the call counts as failed.
    pub is_error: bool,
}

/// The event as those that rewrite leave it.
#[derive(Default)]
pub(crate) struct Rewritten {
    /// The event, where anything was replaced.
    pub(crate) event: Option<Event>,
    /// Those that rewrite, in order, and whether what each put in place stands.
    pub(crate) by: Vec<(Arc<str>, bool)>,
    /// What is lacking. Nothing else is worth fetching before: it would be looked up for another text.
    pub(crate) needs: Needs,
    /// Slices that were read and that somebody had prefetched.
    pub(crate) prefetched: BTreeSet<String>,
}

/// Hears those that rewrite.
pub(crate) fn rewritten<'p>(entries: impl Iterator<Item = &'p PolicyEntry>, world: World<'_>) -> Rewritten {
    let mut event: Option<Event> = None;
    for entry in entries.filter(|entry| entry.guardrail.can_rewrite()) {
        let context = Context::new(&world, &entry.spec);
        // One that fails replaces nothing. It is asked for its verdict as well, and answers for it there.
        let rewrite = match entry.spec.mode {
            Mode::Enforce => ask::rewrite(entry, &context),
            Mode::Shadow => None,
        };
        let rewrite = rewrite.filter(|rewrite| !(rewrite.is_error && is_used_up(&entry.spec, &world)));
        world.rewritten_by.borrow_mut().push((entry.spec.id.clone(), rewrite.is_some()));
        // Nobody is asked about a text before those before them have answered.
        if !world.needs.borrow().is_empty() {
            break;
        }
        let Some(rewrite) = rewrite else { continue };
        let event = event.get_or_insert_with(|| world.event.clone());
        let result = event.result.get_or_insert_with(ToolResult::default);
        result.content = Some(Value::String(rewrite.content));
        if rewrite.is_error {
            result.ok = Some(false);
        }
    }
    Rewritten {
        event,
        by: world.rewritten_by.into_inner(),
        needs: world.needs.into_inner(),
        prefetched: world.prefetched.into_inner(),
    }
}

/// Whether the tries of a guardrail are used up, so that it can send nothing back any more.
fn is_used_up(spec: &Spec, world: &World<'_>) -> bool {
    if spec.effect.is_some_and(|effect| effect != Effect::Retry) {
        return false;
    }
    match world.slice(&tries_key(spec, world)) {
        Ok(tries) => tries.and_then(Value::as_u64).unwrap_or(0) >= u64::from(spec.max_attempts),
        Err(_) => false,
    }
}

/// Whether anything can be rewritten at all.
pub(crate) fn can_be_rewritten(event: &Event) -> bool {
    event.kind == EventKind::AfterTool
}
