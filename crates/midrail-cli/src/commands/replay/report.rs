//! `midrail replay --report`: what a pack would have blocked.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use midrail::files::RecordedFiles;
use midrail::replay::{self, GuardrailReport, Replay, ReplayError, ReplayReport, ReplayStep, ReportBuilder};
use midrail::{Effect, Engine, Files, Limits, LoadedPolicy, ManualClock};
use serde_json::json;

use crate::error::{CliError, CliResult, count};
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, short, wrap};
use crate::paint::{Paint, Style, effect_style};
use crate::table::{Table, cell, guardrail, styled};
use crate::time;

/// The most undecided lines that are named. All of them are counted.
const NAMED: usize = 10;

/// Suggestions that are shown.
const SUGGESTED: usize = 12;

pub(super) fn run(events: &Path, limits: Limits, loaded: LoadedPolicy, output: &mut Output) -> CliResult {
    let size = std::fs::metadata(events).ok().filter(|it| it.is_file()).map_or(0, |it| it.len());
    let mut input = BufReader::new(input::open(Some(events))?);
    let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
    let names: Vec<String> =
        loaded.documents.iter().map(|(_, document)| document.pack.pack.clone()).collect();
    // Current files are not read, and nothing is stored.
    let engine = Engine::builder(loaded.policy, &loaded.source)
        .clock(clock.clone())
        .files(Arc::new(Files::Recorded(RecordedFiles::default())));
    let replay = Replay::new(Arc::new(engine.build()?), clock).limits(limits);
    let mut progress = output.progress("deciding");
    let mut maker = ReportBuilder::default();
    let (mut undecided, mut read) = (0_usize, 0_u64);
    let mut named = Vec::new();
    each(&replay, &mut input, |line, length, played| {
        read = read.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        match size {
            0 => progress.count(line),
            size => progress.show(read, size),
        }
        match played {
            Ok(ReplayStep::Decided(event, decision)) => maker.add(&event, &decision),
            Ok(_) => {}
            Err(error) => {
                undecided += 1;
                if named.len() < NAMED {
                    named.push(CliError::from_error(&error));
                }
            }
        }
        Ok(())
    })?;
    drop(progress);
    named.iter().for_each(|failure| output.remark(failure));
    let report = maker.finish();
    if output.is_json() {
        let mut value = serde_json::to_value(&report).map_err(|error| CliError::from_error(&error))?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("packs".to_owned(), json!(names));
            fields.insert("undecided".to_owned(), json!(undecided));
        }
        output.json(&value)?;
        return Ok(Exit::good_if(undecided == 0));
    }
    output.lines(lines(&report, &names, undecided, output))?;
    Ok(Exit::good_if(undecided == 0))
}

/// Replays every line. `work` receives the number and the length of a line, and what came of it.
pub(super) fn each(
    replay: &Replay,
    input: &mut dyn BufRead,
    mut work: impl FnMut(usize, usize, Result<ReplayStep, ReplayError>) -> CliResult<()>,
) -> CliResult<()> {
    for line in 1.. {
        let (length, played) = match replay::next_line(input, line) {
            Ok(Some(text)) => (text.len(), replay.line(line, &text)),
            Ok(None) => break,
            // A read error affects all further lines.
            Err(error @ ReplayError::Io { .. }) => return Err(CliError::from_error(&error)),
            Err(error) => (0, Err(error)),
        };
        work(line, length, played)?;
    }
    Ok(())
}

fn lines(report: &ReplayReport, packs: &[String], undecided: usize, output: &Output) -> Vec<String> {
    let paint = output.paint();
    let mut lines = head(report, packs, undecided, paint);
    if !report.guardrails.is_empty() {
        lines.push(String::new());
        lines.extend(table(report).lines(paint, 0, output.width()));
        for of in report.guardrails.iter().filter(|of| !of.examples.is_empty()) {
            lines.push(String::new());
            lines.extend(examples(of, output));
        }
    }
    lines.extend(suggestions(report, output));
    lines.push(String::new());
    lines.push(paint.style(Style::Strong, "assumptions"));
    for assumed in &report.assumed {
        let wrapped = wrap(assumed, output.width().saturating_sub(4).max(40));
        for (at, line) in wrapped.iter().enumerate() {
            let mark = if at == 0 { "·" } else { " " };
            lines.push(paint.style(Style::Dim, format!("  {mark} {line}")));
        }
    }
    lines
}

fn head(report: &ReplayReport, packs: &[String], undecided: usize, paint: Paint) -> Vec<String> {
    let packs: Vec<String> = packs.iter().map(|name| format!("`{}`", short(name, 40))).collect();
    let packs = if packs.is_empty() { "only the built-ins".to_owned() } else { packs.join(", ") };
    let span = match (report.first, report.last) {
        (Some(first), Some(last)) if report.days > 1 => {
            format!(" on {} from {} to {}", count(report.days, "day"), time::day(first), time::day(last))
        }
        (Some(first), _) => format!(" on {}", time::day(first)),
        _ => String::new(),
    };
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let mut lines = vec![
        paint.style(Style::Strong, format!("What {packs} would have blocked")),
        format!(
            "{}, {}, {}{span}",
            count(report.sessions, "session"),
            count(number(report.calls), "call"),
            count(number(report.events), "event")
        ),
    ];
    let effects: Vec<String> = report
        .effects
        .iter()
        .map(|(effect, number)| paint.style(effect_style(*effect), format!("{number} {effect}")))
        .collect();
    let share = match report.calls {
        0 => String::new(),
        calls => {
            format!(" ({} of {} calls, {})", report.stopped_calls, calls, share(report.stopped_calls, calls))
        }
    };
    let style = if report.stopped > 0 { Style::Bad } else { Style::Good };
    lines.push(format!(
        "{}{share}: {}",
        paint.style(style, format!("{} blocked", report.stopped)),
        effects.join(", ")
    ));
    if report.unjudged > 0 {
        let text = format!("{} not judged, because their inputs were not recorded", report.unjudged);
        lines.push(paint.style(Style::Caution, text));
    }
    if undecided > 0 {
        lines.push(paint.style(Style::Bad, format!("{} could not be read", count(undecided, "line"))));
    }
    lines
}

/// A share in percent.
fn share(part: u64, of: u64) -> String {
    let tenths = part.saturating_mul(1_000).checked_div(of).unwrap_or(0);
    match (part, tenths) {
        (0, _) => "0%".to_owned(),
        (_, 0) => "less than 0.1%".to_owned(),
        _ => format!("{}.{}%", tenths / 10, tenths % 10),
    }
}

fn table(report: &ReplayReport) -> Table {
    let shown = |effect: Effect| report.guardrails.iter().any(|of| of.effects.contains_key(&effect));
    let effects: Vec<Effect> =
        Effect::LADDER.into_iter().filter(|effect| *effect > Effect::Allow && shown(*effect)).collect();
    let is_unjudged = report.guardrails.iter().any(|of| of.unjudged > 0);
    let mut heads = vec!["guardrail", "blocked", "of calls"];
    heads.extend(effects.iter().map(|effect| effect.as_str()));
    heads.extend(is_unjudged.then_some("not judged"));
    heads.push("sessions");
    let row = |of: &GuardrailReport| {
        let mut row =
            vec![guardrail(&of.guardrail), cell(of.stopped.to_string()), cell(format!("{:.2}%", of.share))];
        row.extend(effects.iter().map(|effect| match of.effects.get(effect) {
            Some(number) => styled(number.to_string(), effect_style(*effect)),
            None => cell("·"),
        }));
        row.extend(is_unjudged.then(|| cell(of.unjudged.to_string())));
        row.push(cell(of.sessions.to_string()));
        row
    };
    Table { heads, rows: report.guardrails.iter().map(row).collect() }
}

fn examples(of: &GuardrailReport, output: &Output) -> Vec<String> {
    let paint = output.paint();
    let room = output.width().saturating_sub(9).clamp(30, 200);
    let mut lines = vec![paint.style(Style::Strong, short(&midrail::guardrails::label(&of.guardrail), 60))];
    for example in &of.examples {
        let times = format!("{:>5}×", example.count);
        let what = paint.style(effect_style(example.effect), short(&example.what, room));
        lines.push(format!("{times}  {what}"));
        lines.push(paint.style(Style::Dim, format!("        {}", short(&example.reason, room))));
    }
    lines
}

/// Settings that would allow the most frequent blocks, in the format of a pack.
fn suggestions(report: &ReplayReport, output: &Output) -> Vec<String> {
    let paint = output.paint();
    let shown: Vec<_> = report.suggestions.iter().take(SUGGESTED).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        paint.style(Style::Strong, "To allow what was blocked most often"),
        paint.style(
            Style::Dim,
            "  if those calls were right; each line is one entry of the list, and optional",
        ),
        "  guardrails:".to_owned(),
    ];
    let mut guardrails: Vec<&str> = Vec::new();
    for suggestion in &shown {
        if !guardrails.contains(&suggestion.guardrail.as_str()) {
            guardrails.push(&suggestion.guardrail);
        }
    }
    for guardrail in guardrails {
        lines.push(format!("    - use: {}", short(guardrail, 60)));
        lines.push("      with:".to_owned());
        let mut own: Vec<_> = shown.iter().filter(|it| it.guardrail == guardrail).collect();
        own.sort_by_key(|it| it.setting);
        let mut setting = "";
        for it in own {
            if setting != it.setting {
                setting = it.setting;
                // An own list replaces the default one.
                let note = if setting == "except" { "  # in addition to the defaults" } else { "" };
                lines.push(format!("        {setting}:{}", paint.style(Style::Dim, note)));
            }
            let value = serde_json::to_string(&it.value).unwrap_or_default();
            let broad = if it.different > 1 { ", of different calls" } else { "" };
            let stops = count(usize::try_from(it.stops).unwrap_or(usize::MAX), "stop");
            let note = paint.style(Style::Dim, format!("# removes up to {stops}{broad}"));
            lines.push(format!("          - {}  {note}", short(&value, 200)));
        }
    }
    lines
}
