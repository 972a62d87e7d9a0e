//! Changes the arguments of a call before guardrails check it. Every change is made of the call as the agent wrote it. If two
//! guardrails disagree about an argument, neither change is made and both require an approval, so that their order never decides.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::context::Context;
use crate::decision::Mode;
use crate::event::{Event, EventKind};
use crate::guardrail::{ArgumentChange, Fault};
use crate::inputs::{Inputs, Modification, ModifiedArgument, NotModified};
use crate::json_pointer;
use crate::policy::PolicyEntry;
use crate::redact;
use crate::run;
use crate::verdict::Redaction;

/// The call with its changed arguments, if there are any, and what became of each change.
pub(crate) fn modify_call<'p>(
    entries: impl Iterator<Item = &'p PolicyEntry>,
    inputs: &Inputs<'_>,
) -> (Option<Event>, Vec<Modification>) {
    if inputs.event.kind != EventKind::BeforeTool || inputs.event.tool.is_none() {
        return (None, Vec::new());
    }
    let wanted: Vec<(&PolicyEntry, Result<Vec<ArgumentChange>, Fault>)> = entries
        .filter(|entry| entry.guardrail.can_modify())
        .filter_map(|entry| Some((entry, run::modify(entry, &Context::new(inputs, &entry.spec))?)))
        .collect();
    let mut changed: Option<Event> = None;
    let mut modifications = Vec::new();
    for (entry, changes) in &wanted {
        let conflict = |change: &ArgumentChange| {
            let others = wanted.iter().filter(|(other, _)| other.spec.mode == Mode::Enforce);
            let disagrees = |(other, changes): &&(&PolicyEntry, Result<Vec<ArgumentChange>, Fault>)| {
                let is_other = other.spec.id != entry.spec.id;
                is_other && changes.iter().flatten().any(|other| disagree(change, other))
            };
            others.into_iter().find(disagrees).map(|(other, _)| other.spec.id.clone())
        };
        let mut is_applied = false;
        let mut apply = |change: &ArgumentChange| -> Result<Option<ModifiedArgument>, Fault> {
            let before = argument(inputs.event, change.argument());
            let after = match change {
                ArgumentChange::Set { value, .. } => value.clone(),
                ArgumentChange::Redact(part) => before
                    .as_ref()
                    .and_then(Value::as_str)
                    .map(|text| redact::apply(text, std::slice::from_ref(part)).into()),
            };
            if before == after && matches!(change, ArgumentChange::Set { .. }) {
                return Ok(None);
            }
            let conflicts_with = conflict(change);
            if entry.spec.mode == Mode::Enforce && conflicts_with.is_none() {
                let changed = changed.get_or_insert_with(|| inputs.event.clone());
                is_applied = true;
                if let ArgumentChange::Set { argument, value } = change {
                    set(changed, argument, value.as_ref())?;
                }
            }
            Ok(Some(ModifiedArgument {
                argument: change.argument().to_owned(),
                before,
                after,
                conflicts_with,
            }))
        };
        let arguments: Result<_, Fault> = match changes {
            Ok(changes) => changes.iter().filter_map(|change| apply(change).transpose()).collect(),
            Err(fault) => Err(fault.clone()),
        };
        let arguments = arguments.map_err(|fault| match fault {
            Fault::Missing(missing) => NotModified::Missing(missing),
            Fault::Failed(why) | Fault::FailedAfter(_, why) => NotModified::Failed(why),
        });
        modifications.push(Modification { by: entry.spec.id.clone(), is_applied, arguments });
    }
    // Parts of texts are replaced together, so that those that overlap leave nothing between them.
    let parts = wanted.iter().filter(|(entry, _)| entry.spec.mode == Mode::Enforce);
    let parts = parts.flat_map(|(_, changes)| changes.iter().flatten()).filter_map(|change| match change {
        ArgumentChange::Redact(part) if !is_in_conflict(part, &modifications) => Some(part.clone()),
        _ => None,
    });
    if let Some(changed) = &mut changed {
        with_args(changed, |args| redact::apply_inside(args, "", &parts.collect::<Vec<_>>()));
    }
    (changed, modifications)
}

/// Whether another guardrail sets the argument of a redaction.
fn is_in_conflict(part: &Redaction, modifications: &[Modification]) -> bool {
    let arguments = modifications.iter().flat_map(|modification| modification.arguments.iter().flatten());
    let same = arguments.filter(|it| Some(it.argument.as_str()) == part.at.as_deref());
    same.into_iter().any(|it| it.conflicts_with.is_some())
}

/// Whether two changes cannot both be made.
fn disagree(one: &ArgumentChange, other: &ArgumentChange) -> bool {
    use ArgumentChange::{Redact, Set};
    match (one, other) {
        (Redact(_), Redact(_)) => return false,
        (Set { argument: a, value: x }, Set { argument: b, value: y }) if a == b => return x != y,
        _ => {}
    }
    let plain = |change: &'_ ArgumentChange| {
        let pointer = change.argument();
        pointer.strip_suffix(json_pointer::KEY).unwrap_or(pointer).to_owned()
    };
    let (one, other) = (plain(one), plain(other));
    let is_below =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    one == other || is_below(&one, &other) || is_below(&other, &one)
}

/// The value of an argument, or the name of one.
fn argument(event: &Event, pointer: &str) -> Option<Value> {
    let args = Value::Object(event.tool.as_ref()?.args.clone());
    match pointer.ends_with(json_pointer::KEY) {
        true => json_pointer::text_at(&args, pointer).map(|name| name.into_owned().into()),
        false => args.pointer(pointer).cloned(),
    }
}

fn set(event: &mut Event, argument: &str, value: Option<&Value>) -> Result<(), Fault> {
    let mut result = Ok(None);
    with_args(event, |args| result = json_pointer::set(args, argument, value));
    result.map(drop).map_err(|_| Fault::Failed(format!("the arguments have no place `{argument}`")))
}

/// Changes the arguments of an event. If they are no object any more, none is left.
fn with_args(event: &mut Event, change: impl FnOnce(&mut Value)) {
    let Some(tool) = &mut event.tool else { return };
    let mut args = Value::Object(std::mem::take(&mut tool.args));
    change(&mut args);
    if let Value::Object(args) = args {
        tool.args = args;
    }
}

/// What distinguishes a changed call from the same call as the agent wrote it: which guardrails changed which arguments.
pub(crate) fn changed_arguments(modifications: &[Modification]) -> BTreeMap<&str, Vec<&str>> {
    let applied = modifications.iter().filter(|modification| modification.is_applied);
    applied
        .map(|modification| {
            let arguments = modification.arguments.iter().flatten();
            let changed = arguments.filter(|it| it.conflicts_with.is_none());
            (&*modification.by, changed.map(|it| it.argument.as_str()).collect())
        })
        .collect()
}
