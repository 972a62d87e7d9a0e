//! `midrail audit list`: recorded decisions in short.

use midrail::core::Record;
use midrail::guardrails::label;
use midrail::pack::diagnostic::visible;
use midrail::store::{AuditEntry, AuditFilter, MAX_PAGE};
use serde_json::json;

use super::records::Records;
use crate::decision::subject;
use crate::error::{CliError, without_nulls};
use crate::exit::Exit;
use crate::input::StoreArgs;
use crate::output::{Output, short};
use crate::paint::{Style, effect_style};
use crate::table::{Table, cell, styled};
use crate::time;

/// List recorded decisions, the latest last.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    records: Records,
    /// The most records listed, the latest ones; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let store = args.store.open_for_list()?;
    let wanted = if args.limit == 0 { usize::MAX } else { args.limit };
    let mut filter = AuditFilter { newest_first: true, ..args.records.filter() };
    let mut entries: Vec<AuditEntry> = Vec::new();
    while entries.len() < wanted {
        filter.limit = Some((wanted - entries.len()).min(MAX_PAGE));
        let page = store.entries(&filter)?;
        let Some(last) = page.last() else { break };
        filter.after_seq = Some(last.seq);
        entries.extend(page);
    }
    entries.reverse();
    let mut records = Vec::new();
    for entry in entries {
        let record = entry.record()?;
        records.push((entry, record));
    }
    if output.is_json() {
        records.iter().try_for_each(|(entry, record)| output.json(&as_json(entry, record)))?;
    } else if records.is_empty() {
        output.line("no such records")?;
    } else {
        let mut table = Table::new(&["seq", "time", "session", "effect", "kind", "what", "by"]);
        records.iter().for_each(|(entry, record)| table.row(row(entry, record)));
        output.table(&table, 0)?;
    }
    Ok(Exit::Good)
}

fn as_json(entry: &AuditEntry, record: &Record) -> serde_json::Value {
    let decision = &record.decision;
    without_nulls(json!({
        "seq": entry.seq, "time": record.time, "session": record.session, "kind": record.event.kind,
        "tool": record.event.tool_name(), "effect": decision.effect, "by": decision.by, "reason": decision.reason,
        "would": decision.would, "guardrails": entry.labels.guardrails, "policy": decision.policy, "hash": entry.hash,
    }))
}

fn row(entry: &AuditEntry, record: &Record) -> Vec<(String, Option<Style>)> {
    let decision = &record.decision;
    let mut by = decision.by.as_deref().map(|by| visible(&label(by)).into_owned()).unwrap_or_default();
    if let Some(would) = decision.would {
        by = format!("{by} (shadow: {would})").trim_start().to_owned();
    }
    vec![
        cell(entry.seq.to_string()),
        styled(time::date_time(record.time), Style::Dim),
        cell(short(&record.session, 20)),
        styled(decision.effect.as_str(), effect_style(decision.effect)),
        cell(record.event.kind.as_str()),
        cell(short(&subject(&record.event), 48)),
        cell(by),
    ]
}
