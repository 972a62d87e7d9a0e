//! `midrail audit`: recorded decisions, and proof that they were not changed.

mod acknowledge;
mod publish;
pub(crate) mod records;
mod replay;
mod retention;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use midrail::audit_heads::{self, HeadComparison, HeadError, HeadPlace};
use midrail::core::Record;
use midrail::guardrails::label;
use midrail::pack::diagnostic::visible;
use midrail::store::{
    AuditEntry, AuditFilter, TrustAnchor, Verification, gzip_reader, is_gzip, pages, verify_export,
};
use serde_json::{Value, json};

use self::records::{Records, no_record};
use crate::admin_args::Group;
use crate::decision::subject;
use crate::error::{CliError, CliResult, InvalidValue, count, with_fields, without_nulls};
use crate::exit::{self, Exit};
use crate::input::{StoreArgs, open, quoted};
use crate::output::{Output, field, short};
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
    Verify(VerifyArgs),
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
    Acknowledge(acknowledge::Args),
    Publish(publish::Args),
    Archive(retention::ArchiveArgs),
    Erase(retention::EraseArgs),
    RotateKey(retention::RotateKeyArgs),
}

pub(crate) fn run(Group { command, shared: file }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::List { records, limit } => list(records, *limit, file, output),
        Command::Show { seq } => show(*seq, file, output),
        Command::Verify(args) => verify(args, file, output),
        Command::Export { records, out: None } => {
            file.read_only()?.export(&records.filter(), output.writer())?;
            Ok(Exit::Good)
        }
        Command::Export { records, out: Some(path) } => export(records, path, file, output),
        Command::Replay(args) => replay::run(args, file, output),
        Command::Acknowledge(args) => acknowledge::run(args, file, output),
        Command::Publish(args) => publish::run(args, file, output),
        Command::Archive(args) => retention::archive(args, file, output),
        Command::Erase(args) => retention::erase(args, file, output),
        Command::RotateKey(args) => retention::rotate_key(args, file, output),
    }
}

fn list(records: &Records, limit: usize, file: &StoreArgs, output: &mut Output) -> CliResult {
    let store = file.open_for_list()?;
    let wanted = if limit == 0 { usize::MAX } else { limit };
    let filter = AuditFilter { newest_first: true, ..records.filter() };
    let found = pages(&*store, filter, wanted).collect::<Result<Vec<_>, _>>()?;
    let records = found.into_iter().flatten().rev().map(|entry| Ok((entry.record()?, entry)));
    let records = records.collect::<CliResult<Vec<_>>>()?;
    if output.is_json {
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
        let name = |name| output.paint.style(Style::Dim, format!("{name:<5}"));
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
    let (shown, checkpoints) = (count(done.shown, "record"), count(done.checkpoints, "checkpoint"));
    let withheld = match done.withheld {
        0 => String::new(),
        withheld => format!(", {withheld} as hashes only"),
    };
    let json = json!({
        "file": path, "shown": done.shown, "withheld": done.withheld, "checkpoints": done.checkpoints,
    });
    output.done(&json, format!("{}: {shown}{withheld}, {checkpoints}", quoted(path)))
}

/// Verify that the audit log is intact, and report the first record that does not match.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::VERIFY)]
pub(crate) struct VerifyArgs {
    /// An export or an archive to check in place of the store; `-`: standard input
    #[arg(value_name = "FILE", conflicts_with = "store")]
    file: Option<PathBuf>,
    /// A record that must be there, as it was once noted down
    #[arg(long, value_name = "SEQ:HASH", value_parser = head)]
    expect_head: Option<(u64, String)>,
    /// The id of a key that may have signed. Can be given several times [default: the key of the store; for an export,
    /// every key that it lists]
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// Heads that `midrail audit publish` has published, which the log must contain: a file, `-` for standard input, or
    /// git:FOLDER
    #[arg(long, value_name = "PLACE", conflicts_with = "file")]
    against: Option<String>,
}

fn head(text: &str) -> Result<(u64, String), InvalidValue> {
    let wrong = || InvalidValue(format!("`{text}` is not of the form SEQ:HASH"));
    let (seq, hash) = text.split_once(':').ok_or_else(wrong)?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match seq.parse() {
        Ok(seq) if is_hash => Ok((seq, hash.to_ascii_lowercase())),
        _ => Err(wrong()),
    }
}

fn verify(args: &VerifyArgs, store: &StoreArgs, output: &mut Output) -> CliResult {
    let expect = TrustAnchor {
        head: args.expect_head.clone(),
        keys: (!args.key.is_empty()).then(|| args.key.clone()),
    };
    let (what, verification) = match &args.file {
        Some(file) if !is_store(file) => {
            let cannot = |error| CliError::new(format!("could not read {}: {error}", quoted(file)));
            let mut input = BufReader::new(open(Some(file))?);
            let is_archive = is_gzip(input.fill_buf().map_err(cannot)?);
            let verified = if is_archive {
                verify_export(&mut BufReader::new(gzip_reader(input)), &expect)
            } else {
                verify_export(&mut input, &expect)
            };
            (file.clone(), verified.map_err(cannot)?)
        }
        file => {
            let named = file.clone().map(|file| StoreArgs { store: Some(file), ..StoreArgs::default() });
            let named = named.as_ref().unwrap_or(store);
            let (path, store) = (named.display_path()?, named.read_only()?);
            let mut progress = output.progress("verifying record");
            let mut verification = store.verify(&expect, &mut |done, all| progress.show(done, all))?;
            drop(progress);
            if let Some(place) = args.against.as_deref().filter(|_| verification.is_intact()) {
                let failed = |error: HeadError| CliError::from_error(&error);
                let heads = HeadPlace::parse(place).read().map_err(failed)?;
                let compared = audit_heads::compare(&*store, &heads)?;
                let HeadComparison { matching, archived, misfit } = compared;
                output.note(&format!(
                    "{matching} of {} published heads are in the log, {archived} are archived",
                    heads.len()
                ));
                verification.misfit = misfit;
            }
            (path, verification)
        }
    };
    let json = with_fields(&verification, json!({"sound": verification.is_intact()}));
    output.show(&json, |output| verification_lines(&what, &verification, output))?;
    Ok(Exit::good_if(verification.is_intact()))
}

/// Whether a file is a store, named where an export was expected.
fn is_store(path: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = [0; 16];
    path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == *MAGIC
}

/// What was found, for people.
fn verification_lines(what: &Path, verification: &Verification, output: &Output) -> Vec<String> {
    let paint = output.paint;
    let mut lines = Vec::new();
    match &verification.misfit {
        None if verification.records == 0 => lines.push(format!("{} is an empty log", quoted(what))),
        None => {
            lines.push(format!("{} the audit log is intact: {}", paint.style(Style::Good, "✓"), quoted(what)))
        }
        Some(misfit) => lines.push(format!(
            "{} record {} does not match: {}",
            paint.style(Style::Bad, "✗"),
            misfit.seq,
            quoted(what)
        )),
    }
    let mut add = |name: &str, text: String| lines.extend(field(name, &text, paint, output.width));
    if let Some(misfit) = &verification.misfit {
        add("what", misfit.detail.clone());
    }
    let fit = if verification.is_intact() { "" } else { " intact, from the first on" };
    add("records", format!("{}{fit}", verification.records));
    if verification.archived > 0 {
        add("archived", format!("{} before them", verification.archived));
    }
    if verification.withheld > 0 {
        add("", format!("{} of them by their hashes alone", verification.withheld));
    }
    if let Some(head) = &verification.head {
        add("head", format!("{}:{}", head.seq, head.hash));
    }
    let signed = match verification.last_checkpoint {
        Some(last) => format!("{}, the last one at record {last}", verification.checkpoints),
        None => verification.checkpoints.to_string(),
    };
    add("signatures", signed);
    if verification.unsigned > 0 {
        add("unsigned", format!("{} after the last signature", verification.unsigned));
    }
    if !verification.keys.is_empty() {
        add("keys", verification.keys.join(", "));
    }
    lines
}
