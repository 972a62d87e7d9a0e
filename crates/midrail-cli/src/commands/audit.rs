//! `midrail audit`: recorded decisions, and proof that they were not changed.

pub(crate) mod records;
mod replay;
mod verify;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use midrail::core::Record;
use midrail::guardrails::label;
use midrail::pack::diagnostic::visible;
use midrail::store::{AuditEntry, AuditFilter, MAX_PAGE};
use serde_json::{Value, json};

use self::records::{Records, no_record};
use crate::admin_args::Group;
use crate::decision::subject;
use crate::error::{CliError, CliResult, count, without_nulls};
use crate::exit::Exit;
use crate::input::{StoreArgs, quoted};
use crate::output::{Output, short};
use crate::paint::Style;
use crate::table::{Table, cell, effect, styled};
use crate::time;

pub(crate) type Args = Group<Command, StoreArgs>;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List recorded decisions, the latest last.
    List {
        #[command(flatten)]
        records: Records,
        /// The most records listed, the latest ones; 0 for all
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show one record as it is in the log. `midrail explain --decision SEQ` explains it.
    Show {
        /// The record's number
        #[arg(value_name = "SEQ")]
        seq: u64,
    },
    Verify(verify::Args),
    /// Export the log as JSON lines, which `midrail audit verify FILE` verifies without the store.
    ///
    /// Records that the filters exclude are exported as hashes only, so the chain can still be verified.
    Export {
        #[command(flatten)]
        records: Records,
        /// Write to this file [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    Replay(replay::Args),
}

pub(crate) fn run(Group { command, shared: file }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::List { records, limit } => list(records, *limit, file, output),
        Command::Show { seq } => show(*seq, file, output),
        Command::Verify(args) => verify::run(args, file, output),
        Command::Export { records, out: None } => {
            file.read_only()?.export(&records.filter(), output.writer())?;
            Ok(Exit::Good)
        }
        Command::Export { records, out: Some(path) } => export(records, path, file, output),
        Command::Replay(args) => replay::run(args, file, output),
    }
}

fn list(records: &Records, limit: usize, file: &StoreArgs, output: &mut Output) -> CliResult {
    let store = file.open_for_list()?;
    let wanted = if limit == 0 { usize::MAX } else { limit };
    let mut filter = AuditFilter { newest_first: true, ..records.filter() };
    let mut entries: Vec<AuditEntry> = Vec::new();
    while entries.len() < wanted {
        filter.limit = Some((wanted - entries.len()).min(MAX_PAGE));
        let page = store.entries(&filter)?;
        let Some(last) = page.last() else { break };
        filter.after_seq = Some(last.seq);
        entries.extend(page);
    }
    let records = entries.into_iter().rev().map(|entry| Ok((entry.record()?, entry)));
    let records = records.collect::<CliResult<Vec<_>>>()?;
    if output.is_json() {
        records.iter().try_for_each(|(record, entry)| output.json(&as_json(entry, record)))?;
    } else if records.is_empty() {
        output.line("no such records")?;
    } else {
        let table = Table::of(
            &records,
            &[
                ("seq", &|(_, entry)| cell(entry.seq.to_string())),
                ("time", &|(record, _)| styled(time::date_time(record.time), Style::Dim)),
                ("session", &|(record, _)| cell(short(&record.session, 20))),
                ("effect", &|(record, _)| effect(record.decision.effect)),
                ("kind", &|(record, _)| cell(record.event.kind.as_str())),
                ("what", &|(record, _)| cell(short(&subject(&record.event), 48))),
                ("by", &|(record, _)| cell(decided_by(record))),
            ],
        );
        table.print(0, output)?;
    }
    Ok(Exit::Good)
}

fn decided_by(Record { decision, .. }: &Record) -> String {
    let by = decision.by.as_deref().map(|by| visible(&label(by)).into_owned()).unwrap_or_default();
    match decision.would {
        Some(would) => format!("{by} (shadow: {would})").trim_start().to_owned(),
        None => by,
    }
}

fn as_json(entry: &AuditEntry, record: &Record) -> Value {
    let decision = &record.decision;
    without_nulls(json!({
        "seq": entry.seq, "time": record.time, "session": record.session, "kind": record.event.kind,
        "tool": record.event.tool_name(), "effect": decision.effect, "by": decision.by, "reason": decision.reason,
        "would": decision.would, "guardrails": entry.labels.guardrails, "policy": decision.policy, "hash": entry.hash,
    }))
}

fn show(seq: u64, file: &StoreArgs, output: &mut Output) -> CliResult {
    let store = file.read_only()?;
    let entry = store.entry(seq)?.ok_or_else(|| no_record(file, &*store, seq))?;
    let json = records::as_json(&entry)?;
    let text =
        serde_json::to_string_pretty(&json.get("record")).map_err(|error| CliError::from_error(&error))?;
    let AuditEntry { prev, hash, .. } = &entry;
    output.show(&json, |output| {
        let heads = [("seq", &seq.to_string()), ("prev", prev), ("hash", hash)];
        let name = |name| output.paint().style(Style::Dim, format!("{name:<5}"));
        let heads = heads.iter().map(|(head, value)| format!("{} {}", name(head), visible(value)));
        heads.chain(text.lines().map(|line| visible(line).into_owned())).collect()
    })?;
    Ok(Exit::Good)
}

fn export(records: &Records, path: &Path, file: &StoreArgs, output: &mut Output) -> CliResult {
    let store = file.read_only()?;
    let cannot = |error: std::io::Error| CliError::new(format!("could not write {}: {error}", quoted(path)));
    let mut out = BufWriter::new(File::create(path).map_err(cannot)?);
    let done = store.export(&records.filter(), &mut out)?;
    out.flush().map_err(cannot)?;
    let counted = |number: u64, noun| count(usize::try_from(number).unwrap_or(usize::MAX), noun);
    let (shown, checkpoints) = (counted(done.shown, "record"), counted(done.checkpoints, "checkpoint"));
    let withheld = match done.withheld {
        0 => String::new(),
        withheld => format!(", {withheld} as hashes only"),
    };
    let json = json!({
        "file": path, "shown": done.shown, "withheld": done.withheld, "checkpoints": done.checkpoints,
    });
    output.done(&json, format!("{}: {shown}{withheld}, {checkpoints}", quoted(path)))
}
