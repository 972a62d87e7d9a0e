//! `midrail explain`: a guardrail's page, a guardrail of a pack, or why a decision came out as it did.

use midrail::admin::fact_text;
use midrail::core::Record;
use midrail::guardrails::{Builtin, CATALOGUE, builtin};
use midrail::pack::diagnostic::{nearest, visible};
use midrail::pack::{GuardrailPlacement, locate_guardrails};
use midrail::{Decision, LoadedPolicy};
use serde_json::json;

use crate::commands::audit::records::{as_json, no_record};
use crate::decision;
use crate::error::{CliError, CliResult, without_nulls};
use crate::exit::Exit;
use crate::input::{PackArgs, StoreArgs};
use crate::markdown;
use crate::output::{Output, short, wrap};
use crate::paint::Style;
use crate::table::{Column, Table, cell};
use crate::time;
use crate::yaml;

/// Explain a guardrail or a recorded decision.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Args {
    /// A built-in guardrail by id or name, or one of the packs in force
    #[arg(group = "what")]
    id: Option<String>,
    /// A recorded decision, by its number in the audit log
    #[arg(long, value_name = "SEQ", group = "what")]
    decision: Option<u64>,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    match (&args.id, args.decision) {
        (Some(id), _) => explain_guardrail(id, &args.packs, output)?,
        (None, Some(seq)) => explain_decision(seq, &args.store, output)?,
        (None, None) => {
            return Err(CliError::new("nothing to explain").help("name a guardrail, or `--decision SEQ`"));
        }
    }
    Ok(Exit::Good)
}

fn explain_decision(seq: u64, store: &StoreArgs, output: &mut Output) -> CliResult<()> {
    let file = store;
    let store = file.read_only()?;
    let entry = store.entry(seq)?.ok_or_else(|| no_record(file, &*store, seq))?;
    let record = entry.record()?;
    if output.is_json {
        return output.json(&as_json(&entry)?);
    }
    let paint = output.paint;
    let Record { time, session, event, decision, .. } = &record;
    output.line(paint.style(
        Style::Dim,
        format!("record {seq} · {} · session {}", time::date_time(*time), visible(session)),
    ))?;
    // The table of verdicts is printed below.
    let alone = Decision { verdicts: Vec::new(), ..decision.clone() };
    output.lines(decision::block(event, &alone, None, output))?;
    output.section("the chain")?;
    let table = decision::verdicts(decision);
    if table.is_empty() {
        output.line("  no guardrail was evaluated")?;
    } else {
        table.print(2, output)?;
    }
    known(&record, output)?;
    if let Some(denied) = &record.denied {
        output.section("the denial")?;
        output.fields(&[
            ("event", "PolicyDenied".to_owned()),
            ("policy", denied.policy_name.clone()),
            ("tool", denied.tool_name.clone()),
            ("event id", denied.event_id.clone()),
        ])?;
        for (key, value) in &denied.metadata {
            output.fields(&[(key, short(&value.to_string(), 200).into_owned())])?;
        }
    }
    output.section("the record")?;
    output.fields(&[("policy", decision.policy.to_string()), ("hash", entry.hash), ("prev", entry.prev)])
}

/// The facts and slices that the decision was based on.
fn known(record: &Record, output: &mut Output) -> CliResult<()> {
    output.section("inputs")?;
    let root = record.facts.root.iter().map(|root| ("root".to_owned(), root.clone()));
    let facts = record.facts.known.iter().map(|(key, fact)| (key.to_string(), fact_text(fact)));
    let slices = record.slices.iter().map(|(key, slice)| {
        (format!("session:{key}"), slice.as_ref().map_or("none".to_owned(), ToString::to_string))
    });
    let columns: [Column<'_, (String, String)>; 2] =
        [("input", &|(name, _)| cell(short(name, 60))), ("value", &|(_, text)| cell(short(text, 240)))];
    Table::of(root.chain(facts).chain(slices), &columns).print(2, output)
}

fn explain_guardrail(id: &str, packs: &PackArgs, output: &mut Output) -> CliResult<()> {
    if let Some(page) = builtin(id) {
        return built_in(page, output);
    }
    let loaded = packs.here().documents()?;
    let placements = locate_guardrails(&loaded.documents);
    match placements.iter().find(|placement| placement.id == id) {
        Some(placement) => of_pack(placement, &loaded, output),
        None => Err(unknown(id, &placements)),
    }
}

fn unknown(id: &str, placements: &[GuardrailPlacement]) -> CliError {
    let failure = CliError::new(format!("unknown guardrail `{}`", visible(id)));
    let mut known: Vec<&str> = CATALOGUE.iter().flat_map(Builtin::names).collect();
    known.extend(placements.iter().map(|placement| placement.id.as_str()));
    match nearest(id, known.iter().copied()) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("`midrail policy` lists the guardrails in force"),
    }
}

fn built_in(page: &Builtin, output: &mut Output) -> CliResult<()> {
    let on: Vec<&str> = page.on.iter().map(|kind| kind.as_str()).collect();
    if output.is_json {
        return output.json(&json!({
            "id": page.id, "name": page.name, "aliases": page.aliases, "category": page.category.as_str(),
            "priority": page.priority, "on": on, "always_on": page.always_on, "page": page.page,
        }));
    }
    // Piped output stays Markdown.
    if !output.is_terminal && !output.paint.is_on() {
        return output.text(page.page);
    }
    output.lines(markdown::lines(page.page, output.width, output.paint))?;
    let always = if page.always_on { ", always on" } else { "" };
    let text = format!(
        "{} · {} · priority {} · {}{always}",
        midrail::guardrails::label(page.id),
        page.category.as_str(),
        page.priority,
        on.join(", ")
    );
    output.line(format!("\n{}", output.paint.style(Style::Dim, text)))
}

fn of_pack(placement: &GuardrailPlacement, loaded: &LoadedPolicy, output: &mut Output) -> CliResult<()> {
    let Some((layer, document)) = loaded.documents.get(placement.document) else {
        return Err(CliError::new("the guardrail's pack is missing"));
    };
    let settings = serde_json::to_value(&placement.guard).map_err(|error| CliError::from_error(&error))?;
    let uses = placement.guard.uses.as_deref().and_then(builtin);
    if output.is_json {
        return output.json(&without_nulls(json!({
            "id": placement.id, "layer": layer.as_str(), "pack": document.pack.pack, "file": document.path,
            "line": placement.line, "column": placement.column, "locked": placement.locked,
            "enabled": placement.enabled, "agent": placement.agent, "settings": settings,
            "built_in": uses.map(|page| page.id),
        })));
    }
    let paint = output.paint;
    output.line(paint.style(Style::Strong, visible(&placement.id)))?;
    let description = placement.guard.description.as_ref().or(placement.guard.name.as_ref());
    let width = output.width;
    output.lines(description.into_iter().flat_map(|text| wrap(text, width)))?;
    output.line("")?;
    let lines = written(&document.source, placement).unwrap_or_else(|| yaml::lines(&settings));
    for line in lines {
        output.line(format!("    {line}").trim_end())?;
    }
    let mut place = format!(
        "{} pack `{}`, {}:{}:{}",
        layer.as_str(),
        visible(&document.pack.pack),
        visible(&document.path),
        placement.line,
        placement.column
    );
    if let Some(agent) = &placement.agent {
        place.push_str(&format!(", for agent `{}`", visible(agent)));
    }
    if placement.locked {
        place.push_str(", locked");
    }
    if !placement.enabled {
        place.push_str(", disabled");
    }
    output.line(format!("\n{}", paint.style(Style::Dim, place)))?;
    if let Some(page) = uses {
        output.line(paint.style(Style::Dim, format!("what it does: midrail explain {}", page.id)))?;
    }
    Ok(())
}

/// The source of the guardrail in its pack: a list item in block style with its indented lines.
fn written(source: &str, placement: &GuardrailPlacement) -> Option<Vec<String>> {
    let mut lines = source.lines().skip(placement.line.checked_sub(1)?);
    let indent = placement.column.checked_sub(1)?;
    let first = lines.next()?;
    let is_item = first.get(..indent)?.trim() == "-";
    let body = first.get(indent..)?;
    if !is_item || body.starts_with(['{', '"', '[']) {
        return None;
    }
    let is_below = |line: &&str| line.trim().is_empty() || line.len() - line.trim_start().len() >= indent;
    let rest = lines.take_while(is_below).map(|line| line.get(indent..).unwrap_or_default());
    let mut written: Vec<String> =
        std::iter::once(body).chain(rest).map(|line| visible(line).into_owned()).collect();
    while written.last().is_some_and(|line| line.trim().is_empty()) {
        written.pop();
    }
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guardrail_is_shown_as_written() {
        let source = "pack: a\nguardrails:\n  - id: x\n    tools: y # why\n\n  - {id: z}\n";
        let at = |line, column| GuardrailPlacement {
            id: String::new(),
            document: 0,
            line,
            column,
            guard: Default::default(),
            agent: None,
            locked: false,
            enabled: true,
        };
        assert_eq!(written(source, &at(3, 5)).unwrap(), ["id: x", "tools: y # why"]);
        assert_eq!(written(source, &at(6, 5)), None);
        assert_eq!(written(source, &at(99, 5)), None);
    }
}
