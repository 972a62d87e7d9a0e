//! A recorded decision explained: the event, every guardrail of the chain, and what they knew.

use midrail::Decision;
use midrail::core::{DeepOutcome, Fact, FileState, HookAnswer, HookOutcome, Record};
use midrail::pack::diagnostic::visible;
use serde_json::{Value, json};

use crate::decision::{self, field};
use crate::error::CliError;
use crate::input::StoreArgs;
use crate::output::{Output, short};
use crate::paint::Style;
use crate::table::{Table, cell};
use crate::time;

pub(super) fn explain(seq: u64, store: &StoreArgs, output: &mut Output) -> Result<(), CliError> {
    let file = store;
    let store = file.read_only()?;
    let entry =
        store.entry(seq)?.ok_or_else(|| super::super::audit::records::no_record(file, &*store, seq))?;
    let record = entry.record()?;
    if output.is_json() {
        let body: Value = serde_json::from_str(&entry.body).map_err(|error| CliError::from_error(&error))?;
        return output
            .json(&json!({"seq": entry.seq, "prev": entry.prev, "hash": entry.hash, "record": body}));
    }
    let paint = output.paint();
    let Record { time, session, event, decision, .. } = &record;
    output.line(paint.style(
        Style::Dim,
        format!("record {seq} · {} · session {}", time::date_time(*time), visible(session)),
    ))?;
    // The table of verdicts comes in any case, and further below.
    for line in decision::block(event, &Decision { verdicts: Vec::new(), ..decision.clone() }, None, output) {
        output.line(line)?;
    }
    section("the chain", output)?;
    let table = decision::verdicts(decision);
    if table.is_empty() {
        output.line("  no guardrail was asked")?;
    } else {
        for line in table.lines(paint, 2, output.width()) {
            output.line(line)?;
        }
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

/// The facts and the slices that the decision was made from.
fn known(record: &Record, output: &mut Output) -> Result<(), CliError> {
    section("what was known", output)?;
    let mut table = Table::new(&["what", "was"]);
    let mut add = |name: &str, text: &str| table.row(vec![cell(short(name, 60)), cell(short(text, 240))]);
    if let Some(root) = &record.facts.root {
        add("root", root);
    }
    for (key, fact) in &record.facts.known {
        add(&key.to_string(), &in_words(fact));
    }
    for (key, slice) in &record.slices {
        let value = slice.as_ref().map_or("none".to_owned(), ToString::to_string);
        add(&format!("session:{key}"), &value);
    }
    for line in table.lines(output.paint(), 2, output.width()) {
        output.line(line)?;
    }
    Ok(())
}

fn in_words(fact: &Fact) -> String {
    match fact {
        Fact::Action(action) => {
            let files = match &action.target_files {
                Some(files) if files.is_empty() => String::new(),
                Some(files) => format!(" of {}", files.join(", ")),
                None => " of files that are not known".to_owned(),
            };
            let command = action.command.as_ref().map(|command| format!(" `{command}`")).unwrap_or_default();
            format!("{}{files}{command}", action.kind.as_str())
        }
        Fact::Secrets(found) | Fact::Findings(found) if found.is_empty() => "none".to_owned(),
        Fact::Secrets(found) | Fact::Findings(found) => {
            let found = found.iter().map(|finding| format!("{} at {}", finding.kind, finding.at));
            found.collect::<Vec<_>>().join(", ")
        }
        Fact::Script(action) if action.dangers.is_empty() => "destroys nothing".to_owned(),
        Fact::Script(action) => {
            action.dangers.iter().map(|danger| danger.reason.as_str()).collect::<Vec<_>>().join("; ")
        }
        Fact::Place(place) => place.clone(),
        Fact::File(FileState::Absent) => "not there".to_owned(),
        Fact::File(FileState::Special) => "a folder, or no ordinary file".to_owned(),
        Fact::File(FileState::File { checksum }) => format!("there, checksum {}", short(checksum, 24)),
        Fact::Command(end) => match end.exit_code {
            Some(code) => format!("exited with code {code} after {} ms", end.took_ms),
            None => format!("was ended by a signal after {} ms", end.took_ms),
        },
        Fact::Tree(digest) => format!("digest {}", short(digest, 24)),
        Fact::Count(count) => count.to_string(),
        Fact::Unsaved(lost) if lost.files.is_empty() && !lost.more => "nothing would be lost".to_owned(),
        Fact::Unsaved(lost) => {
            let more = if lost.more { " and more" } else { "" };
            format!("nowhere else: {}{more}", short(&lost.files.join(", "), 200))
        }
        Fact::Git(None) => "no repository".to_owned(),
        Fact::Git(Some(git)) => {
            let branch = git.branch.as_deref().unwrap_or("no branch");
            format!("{branch} at {}", git.head.as_deref().map_or("no commit".into(), |head| short(head, 12)))
        }
        Fact::Hook(end) => hook_text(end),
        Fact::Deep(DeepOutcome::Answered(answer)) => format!("answered {answer}"),
        Fact::Deep(DeepOutcome::Late) => "no answer in time".to_owned(),
        Fact::Answer(value) => value.to_string(),
        Fact::Unavailable(why) => format!("not known: {why}"),
    }
}

fn hook_text(end: &HookOutcome) -> String {
    let answer = match &end.answer {
        HookAnswer::Pass => "passes".to_owned(),
        HookAnswer::Refuse { message, request: Some(_), .. } => format!("asks a person: {message}"),
        HookAnswer::Refuse { message, .. } => format!("refuses: {message}"),
        HookAnswer::Replace { result, is_error: true } => format!("sends back: {}", short(result, 200)),
        HookAnswer::Replace { result, .. } => format!("shows instead: {}", short(result, 200)),
    };
    let failure = end.failure.as_ref().map(|why| format!(" (and then failed: {})", short(why, 200)));
    answer + &failure.unwrap_or_default()
}

fn section(title: &str, output: &mut Output) -> Result<(), CliError> {
    let title = output.paint().style(Style::Strong, title);
    output.line(format!("\n{title}"))
}

fn fields(output: &mut Output, fields: &[(&str, String)]) -> Result<(), CliError> {
    for (name, text) in fields {
        for line in field(name, text, output.paint(), output.width()) {
            output.line(line)?;
        }
    }
    Ok(())
}
