//! `midrail audit replay`: replays recorded decisions, with their own policies or with other packs.

use std::collections::BTreeMap;

use midrail::reproduce::{DecisionChange, Reproduction, ReproductionResult, WhatIfPolicy, compare};
use midrail::store::AuditFilter;
use midrail::{Effect, Event, Store};
use serde::Serialize;

use super::records::{Records, each};
use crate::decision::subject;
use crate::error::CliResult;
use crate::exit::{self, Exit};
use crate::input::{PackArgs, StoreArgs};
use crate::output::{Output, short};
use crate::paint::Style;

/// The most differences shown without `--verbose`.
const MAX_SHOWN: usize = 20;

/// Replay recorded decisions and report differences.
///
/// Each decision is replayed with its recorded policy. With --pack or --env, other packs are used: what they would
/// have decided.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::AUDIT_REPLAY)]
pub(crate) struct Args {
    #[command(flatten)]
    records: Records,
    #[command(flatten)]
    packs: PackArgs,
}

/// The totals of a replay.
#[derive(Default, Serialize)]
struct Totals {
    records: u64,
    same: u64,
    different: u64,
    #[serde(skip_serializing_if = "is_zero")]
    unknown: u64,
    /// Changes of effects, with their counts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    effects: BTreeMap<String, u64>,
    differences: Vec<Different>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A decision that differs.
#[derive(Serialize)]
struct Different {
    seq: u64,
    what: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<DecisionChange>,
    /// Why it could not be replayed, or is uncertain.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(super) fn run(args: &Args, file: &StoreArgs, output: &mut Output) -> CliResult {
    let store = file.read_only()?;
    let is_other = args.packs.is_named();
    let totals = if is_other { what_if(args, &*store, output)? } else { reproduce(args, &*store, output)? };
    if output.is_json {
        output.json(&totals)?;
    } else {
        print(&totals, is_other, output)?;
    }
    Ok(Exit::good_if(totals.different == 0 && totals.unknown == 0))
}

fn reproduce(args: &Args, store: &dyn Store, output: &Output) -> CliResult<Totals> {
    let mut progress = output.progress("replaying record");
    let end = store.head()?.map_or(0, |head| head.seq);
    let mut totals = Totals::default();
    let mut reproduction = Reproduction::new(store);
    each(store, args.records.filter(), |entry| {
        progress.show(entry.seq, end);
        if entry.is_erased() {
            return Ok(());
        }
        let record = entry.record()?;
        let Some(reproduced) = reproduction.reproduce(&record)? else { return Ok(()) };
        totals.records += 1;
        let (changes, note) = match reproduced {
            ReproductionResult::Same => {
                totals.same += 1;
                return Ok(());
            }
            ReproductionResult::Differs(changes) => {
                totals.different += 1;
                (changes, None)
            }
            ReproductionResult::Unknown(why) => {
                totals.unknown += 1;
                (Vec::new(), Some(why))
            }
        };
        totals.differences.push(Different { seq: entry.seq, what: what(&record.event), changes, note });
        Ok(())
    })?;
    Ok(totals)
}

fn what_if(args: &Args, store: &dyn Store, output: &Output) -> CliResult<Totals> {
    let loaded = args.packs.here().load()?;
    let mut progress = output.progress("replaying record");
    let end = store.head()?.map_or(0, |head| head.seq);
    let mut totals = Totals::default();
    let mut other = WhatIfPolicy::new(loaded.policy);
    let filter = args.records.filter();
    // The state of a session depends on all of its events, also on those that do not match.
    let session = AuditFilter { session: filter.session.clone(), ..AuditFilter::default() };
    each(store, session, |entry| {
        progress.show(entry.seq, end);
        if entry.is_erased() {
            return Ok(());
        }
        let record = entry.record()?;
        let Some(projection) = other.next(&record) else { return Ok(()) };
        if !filter.matches(&entry.labels) {
            return Ok(());
        }
        totals.records += 1;
        let (was, is) = (record.decision.effect, projection.decision.effect);
        if was == is {
            totals.same += 1;
            return Ok(());
        }
        totals.different += 1;
        *totals.effects.entry(format!("{was} -> {is}")).or_default() += 1;
        let unknown: Vec<String> = projection.unknown.iter().map(ToString::to_string).collect();
        let note = (!unknown.is_empty()).then(|| format!("not recorded: {}", unknown.join(", ")));
        let changes = compare(&record.decision, &projection.decision);
        totals.differences.push(Different { seq: entry.seq, what: what(&record.event), changes, note });
        Ok(())
    })?;
    Ok(totals)
}

fn what(event: &Event) -> String {
    format!("{} {}", event.kind, subject(event)).trim_end().to_owned()
}

fn print(totals: &Totals, is_other: bool, output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
    let shown = if output.is_verbose() { usize::MAX } else { MAX_SHOWN };
    for different in totals.differences.iter().take(shown) {
        output.line(format!(
            "{} {}",
            paint.style(Style::Strong, format!("record {}", different.seq)),
            different.what
        ))?;
        for DecisionChange { field, recorded, now } in &different.changes {
            output.line(format!("  {field:<7} {} → {}", value(recorded, paint), value(now, paint)))?;
        }
        if let Some(note) = &different.note {
            output.line(format!("  {}", paint.style(Style::Dim, short(note, 300))))?;
        }
    }
    if let Some(more) = totals.differences.len().checked_sub(shown).filter(|more| *more > 0) {
        output.line(paint.style(Style::Dim, format!("… and {more} more; -v shows all")))?;
    }
    if !totals.differences.is_empty() {
        output.line("")?;
    }
    let (same, different) =
        if is_other { ("as before", "different") } else { ("reproduced", "not reproduced") };
    let mut parts = vec![paint.style(Style::Good, format!("{} {same}", totals.same))];
    for (number, word) in [(totals.different, different), (totals.unknown, "that cannot be made again")] {
        if number > 0 {
            parts.push(paint.style(Style::Bad, format!("{number} {word}")));
        }
    }
    output.line(format!("{} decisions: {}", totals.records, parts.join(", ")))?;
    for (effects, number) in &totals.effects {
        output.line(format!("  {number:>5}  {effects}"))?;
    }
    Ok(())
}

/// A value of a field: an effect in its colour, and text made safe.
fn value(text: &str, paint: crate::paint::Paint) -> String {
    match text.parse::<Effect>() {
        Ok(effect) if effect.as_str() == text => paint.effect(effect),
        _ if text.is_empty() => "nothing".to_owned(),
        _ => short(text, 200).into_owned(),
    }
}
