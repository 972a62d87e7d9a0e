//! A recorded decision explained: the event, every verdict, and the inputs.

use midrail::Decision;
use midrail::admin::fact_text;
use midrail::core::Record;
use midrail::pack::diagnostic::visible;

use crate::commands::audit::records::{as_json, no_record};
use crate::decision::{self, field};
use crate::error::CliResult;
use crate::input::StoreArgs;
use crate::output::{Output, short};
use crate::paint::Style;
use crate::table::{Column, Table, cell};
use crate::time;

pub(super) fn explain(seq: u64, store: &StoreArgs, output: &mut Output) -> CliResult<()> {
    let file = store;
    let store = file.read_only()?;
    let entry = store.entry(seq)?.ok_or_else(|| no_record(file, &*store, seq))?;
    let record = entry.record()?;
    if output.is_json() {
        return output.json(&as_json(&entry)?);
    }
    let paint = output.paint();
    let Record { time, session, event, decision, .. } = &record;
    output.line(paint.style(
        Style::Dim,
        format!("record {seq} · {} · session {}", time::date_time(*time), visible(session)),
    ))?;
    // The table of verdicts is printed below.
    let alone = Decision { verdicts: Vec::new(), ..decision.clone() };
    output.lines(decision::block(event, &alone, None, output))?;
    section("the chain", output)?;
    let table = decision::verdicts(decision);
    if table.is_empty() {
        output.line("  no guardrail was evaluated")?;
    } else {
        table.print(2, output)?;
    }
    known(&record, output)?;
    if let Some(denied) = &record.denied {
        section("the denial", output)?;
        fields(
            output,
            &[
                ("event", "PolicyDenied".to_owned()),
                ("policy", denied.policy_name.clone()),
                ("tool", denied.tool_name.clone()),
                ("event id", denied.event_id.clone()),
            ],
        )?;
        for (key, value) in &denied.metadata {
            fields(output, &[(key, short(&value.to_string(), 200).into_owned())])?;
        }
    }
    section("the record", output)?;
    fields(output, &[("policy", decision.policy.to_string()), ("hash", entry.hash), ("prev", entry.prev)])
}

/// The facts and slices that the decision was based on.
fn known(record: &Record, output: &mut Output) -> CliResult<()> {
    section("inputs", output)?;
    let root = record.facts.root.iter().map(|root| ("root".to_owned(), root.clone()));
    let facts = record.facts.known.iter().map(|(key, fact)| (key.to_string(), fact_text(fact)));
    let slices = record.slices.iter().map(|(key, slice)| {
        (format!("session:{key}"), slice.as_ref().map_or("none".to_owned(), ToString::to_string))
    });
    let columns: [Column<'_, (String, String)>; 2] =
        [("input", &|(name, _)| cell(short(name, 60))), ("value", &|(_, text)| cell(short(text, 240)))];
    Table::of(root.chain(facts).chain(slices), &columns).print(2, output)
}

fn section(title: &str, output: &mut Output) -> CliResult<()> {
    let title = output.paint().style(Style::Strong, title);
    output.line(format!("\n{title}"))
}

fn fields(output: &mut Output, fields: &[(&str, String)]) -> CliResult<()> {
    for (name, text) in fields {
        output.lines(field(name, text, output.paint(), output.width()))?;
    }
    Ok(())
}
