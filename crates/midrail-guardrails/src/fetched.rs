//! Files that came from the network in this session: running one that nobody has looked at is running what a stranger
//! wrote.

use std::collections::BTreeSet;

use midrail_core::{Action, Changes, Context, FETCHED, Fault, Missing};
use serde_json::{Value, json};

/// How many of them are kept in mind.
const MAX_FETCHED: usize = 64;

/// The places of files that came from the network.
pub(crate) fn places<'a>(context: &Context<'a>) -> Result<BTreeSet<&'a str>, Missing> {
    let kept = context.slice(FETCHED)?.and_then(Value::as_array);
    Ok(kept.into_iter().flatten().filter_map(Value::as_str).collect())
}

/// Keeps in mind which files an action fetches. One that is read, or written again, is no longer a stranger's.
pub(crate) fn observe(context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
    let action = context.action()?;
    if action.fetched.is_empty() && action.reads.is_empty() && action.writes.is_empty() {
        return Ok(());
    }
    let before = places(context)?;
    if action.fetched.is_empty() && before.is_empty() {
        return Ok(());
    }
    let fetched = keys(context, &action.fetched)?;
    let looked_at = keys(context, &looked_at(action))?;
    let mut after: Vec<String> = before.iter().map(|place| (*place).to_owned()).collect();
    after.retain(|place| !looked_at.contains(place) && !fetched.contains(place));
    after.extend(fetched);
    after.drain(..after.len().saturating_sub(MAX_FETCHED));
    if after.iter().map(String::as_str).ne(before.iter().copied()) {
        changes.set(FETCHED, json!(after));
    }
    Ok(())
}

/// What an action reads or writes by itself.
fn looked_at(action: &Action) -> Vec<String> {
    let run: BTreeSet<&String> = action.scripts.iter().collect();
    action.reads.iter().chain(&action.writes).filter(|path| !run.contains(path)).cloned().collect()
}

fn keys(context: &Context<'_>, paths: &[String]) -> Result<BTreeSet<String>, Missing> {
    let asked: Vec<_> = paths.iter().map(|path| context.real_place(path, None)).collect();
    asked.into_iter().map(|place| Ok(place?.key)).collect()
}
