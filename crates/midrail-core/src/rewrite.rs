//! Rewrites an event before guardrails check it: the arguments of a call, or the result of a tool. Each guardrail that rewrites a
//! result sees it as the one before it left it.

use std::sync::Arc;

use serde_json::Value;

use crate::context::Context;
use crate::decision::Mode;
use crate::effect::Effect;
use crate::event::{Event, EventKind, ToolResult};
use crate::facts::{Needs, PrefetchedReads};
use crate::inputs::{Inputs, Modification};
use crate::modify::modify_call;
use crate::policy::PolicyEntry;
use crate::run;
use crate::spec::Spec;
use crate::tally::limits::attempts_key;

/// The result of all rewrites.
#[derive(Default)]
pub(crate) struct RewrittenEvent {
    /// The event, if its arguments or its result were changed.
    pub(crate) event: Option<Event>,
    /// The guardrails that can rewrite, in order, and whether each of them did.
    pub(crate) by: Vec<(Arc<str>, bool)>,
    /// What became of the changes of a call's arguments.
    pub(crate) modifications: Vec<Modification>,
    /// Missing values. Nothing else is worth fetching before them: it would be looked up for another text, or for guardrails that
    /// do not apply.
    pub(crate) needs: Needs,
    /// Prefetched values that were read.
    pub(crate) prefetched: PrefetchedReads,
}

impl RewrittenEvent {
    /// Adds what was changed to the inputs of the decision on an event.
    pub(crate) fn describe_to<'a>(&self, inputs: &mut Inputs<'a>, arrived: &'a Event) {
        inputs.arrived = arrived;
        inputs.rewrites = self.by.clone().into();
        inputs.modifications.clone_from(&self.modifications);
        // Facts are prefetched for the event as it arrived.
        inputs.ignores_prefetched_facts = self.event.is_some() || !self.needs.is_empty();
    }
}

/// Runs the guardrails that rewrite the event.
pub(crate) fn rewrite<'p>(
    entries: impl Iterator<Item = &'p PolicyEntry>,
    inputs: Inputs<'_>,
) -> RewrittenEvent {
    match inputs.event.kind {
        EventKind::BeforeTool => {
            let (event, modifications) = modify_call(entries, &inputs);
            let by = modifications.iter().map(|it| (it.by.clone(), it.is_applied)).collect();
            let (needs, prefetched) = (inputs.needs.into_inner(), inputs.prefetched.into_inner());
            RewrittenEvent { event, by, modifications, needs, prefetched }
        }
        EventKind::AfterTool => rewrite_result(entries, inputs),
        _ => RewrittenEvent::default(),
    }
}

fn rewrite_result<'p>(entries: impl Iterator<Item = &'p PolicyEntry>, inputs: Inputs<'_>) -> RewrittenEvent {
    let mut event: Option<Event> = None;
    for entry in entries.filter(|entry| entry.guardrail.can_rewrite()) {
        let context = Context::new(&inputs, &entry.spec);
        // If it fails, it replaces nothing. Its verdict on the event reports the failure.
        let rewrite = if entry.spec.mode == Mode::Enforce { run::rewrite(entry, &context) } else { None };
        let rewrite = rewrite.filter(|rewrite| !(rewrite.is_error && is_exhausted(&entry.spec, &inputs)));
        inputs.rewrites.borrow_mut().push((entry.spec.id.clone(), rewrite.is_some()));
        // A guardrail runs only once those before it have answered.
        if !inputs.needs.borrow().is_empty() {
            break;
        }
        let Some(rewrite) = rewrite else { continue };
        let event = event.get_or_insert_with(|| inputs.event.clone());
        let result = event.result.get_or_insert_with(ToolResult::default);
        result.content = Some(Value::String(rewrite.content));
        if rewrite.is_error {
            result.ok = Some(false);
        }
    }
    RewrittenEvent {
        event,
        by: inputs.rewrites.into_inner(),
        modifications: Vec::new(),
        needs: inputs.needs.into_inner(),
        prefetched: inputs.prefetched.into_inner(),
    }
}

/// Whether a guardrail has no attempts left, so that it cannot send the result back.
fn is_exhausted(spec: &Spec, inputs: &Inputs<'_>) -> bool {
    if spec.effect.is_some_and(|effect| effect != Effect::Retry) {
        return false;
    }
    match inputs.slice(&attempts_key(spec, inputs)) {
        Ok(attempts) => attempts.and_then(Value::as_u64).unwrap_or(0) >= u64::from(spec.max_attempts),
        Err(_) => false,
    }
}
