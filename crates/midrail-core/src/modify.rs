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
use crate::run;

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
    let enforced = || wanted.iter().filter(|(entry, _)| entry.spec.mode == Mode::Enforce);
    let mut changed: Option<Event> = None;
    let mut modifications = Vec::new();
    for (entry, changes) in &wanted {
        let id = &entry.spec.id;
        let others = || enforced().filter(|(other, _)| other.spec.id != *id);
        let conflict = |change: &ArgumentChange| {
            let disagrees = |(_, changes): &&(_, Result<Vec<ArgumentChange>, Fault>)| {
                changes.iter().flatten().any(|other| disagree(change, other))
            };
            others().find(disagrees).map(|(other, _)| other.spec.id.clone())
        };
        let is_enforced = entry.spec.mode == Mode::Enforce;
        let mut is_applied = false;
        let mut apply = |change: &ArgumentChange| -> Result<Option<ModifiedArgument>, Fault> {
            let before = argument(inputs.event, &change.argument).cloned();
            if before == change.value {
                return Ok(None);
            }
            let conflicts_with = conflict(change);
            if is_enforced && conflicts_with.is_none() {
                set(changed.get_or_insert_with(|| inputs.event.clone()), change)?;
                is_applied = true;
            }
            let (argument, after) = (change.argument.clone(), change.value.clone());
            Ok(Some(ModifiedArgument { argument, before, after, conflicts_with }))
        };
        let arguments: Result<_, Fault> = match changes {
            Ok(changes) => changes.iter().filter_map(|change| apply(change).transpose()).collect(),
            Err(fault) => Err(fault.clone()),
        };
        let arguments = arguments.map_err(|fault| match fault {
            Fault::Missing(missing) => NotModified::Missing(missing),
            Fault::Failed(why) | Fault::FailedAfter(_, why) => NotModified::Failed(why),
        });
        modifications.push(Modification { by: id.clone(), is_applied, arguments });
    }
    (changed, modifications)
}

/// Whether two changes cannot both be made.
fn disagree(one: &ArgumentChange, other: &ArgumentChange) -> bool {
    if one.argument == other.argument {
        return one.value != other.value;
    }
    let is_below =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    is_below(&one.argument, &other.argument) || is_below(&other.argument, &one.argument)
}

fn argument<'e>(event: &'e Event, pointer: &str) -> Option<&'e Value> {
    let (first, rest) = match pointer.get(1..)?.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (pointer.get(1..)?, None),
    };
    let value = event.tool.as_ref()?.args.get(&first.replace("~1", "/").replace("~0", "~"))?;
    match rest {
        Some(rest) => value.pointer(&format!("/{rest}")),
        None => Some(value),
    }
}

fn set(event: &mut Event, change: &ArgumentChange) -> Result<(), Fault> {
    let Some(tool) = &mut event.tool else { return Ok(()) };
    let mut args = Value::Object(std::mem::take(&mut tool.args));
    let result = json_pointer::set(&mut args, &change.argument, change.value.as_ref());
    if let Value::Object(args) = args {
        tool.args = args;
    }
    let failed = |_| Fault::Failed(format!("the arguments have no place `{}`", change.argument));
    result.map(drop).map_err(failed)
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
