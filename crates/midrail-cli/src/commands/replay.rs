//! `midrail replay`: decides a sequence of events.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use midrail::files::RecordedFiles;
use midrail::pack::diagnostic::visible;
use midrail::replay::{self, GuardrailReport, Replay, ReplayError, ReplayReport, ReplayStep, ReportBuilder};
use midrail::{Clock, Effect, Engine, Files, LoadedPolicy, ManualClock, SqliteStore, SystemClock};
use midrail_adapters::wire;
use serde_json::json;

use crate::decision::Timeline;
use crate::error::{CliError, CliResult, count, with_fields};
use crate::exit::{self, Exit};
use crate::input::{self, PackArgs};
use crate::limits::LimitArgs;
use crate::output::{Output, short, wrap};
use crate::paint::{Paint, Style, effect_style};
use crate::table::{Table, cell, guardrail, styled};
use crate::time;

/// Decide a sequence of events, one JSON object per line.
///
/// The clock follows the times of the events. Without times it is fixed, or the current time with --store. These
/// lines are instructions; the last three accept a "session":
///
/// {"kind":"advance","seconds":N} advances the clock
///
/// {"kind":"set","key":K,"value":V} sets the session variable K, which is session.K in expressions
///
/// {"kind":"snapshot","as":NAME} saves the session under a name
///
/// {"kind":"restore","from":NAME} restores it
#[derive(Debug, clap::Args)]
#[command(after_help = exit::REPLAY)]
pub(crate) struct Args {
    /// The events, one JSON object per line; `-`: standard input
    #[arg(value_name = "EVENTS.jsonl")]
    events: PathBuf,
    #[command(flatten)]
    packs: PackArgs,
    /// The directory that file facts are read from [default: each event's cwd, else the current directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Keep sessions and the audit log in this SQLite file [default: in memory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Show what would have been blocked, by which guardrail, and settings that would allow it. Nothing is stored,
    /// no file is read, and no command is run
    #[arg(long, conflicts_with_all = ["store", "root"])]
    report: bool,
    /// Show up to this many examples of each guardrail in the report
    #[arg(long, value_name = "N", default_value_t = replay::SHOWN, requires = "report")]
    examples: usize,
}

/// Help for a text in place of the file of events.
const NOT_A_FILE: &str =
    "name a file with one event per line; to check one command, use `midrail check --bash COMMAND`";

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let loaded = args.packs.here().load()?;
    if args.report {
        return run_report(args, loaded, output);
    }
    let mut input = BufReader::new(input::open_or(Some(&args.events), NOT_A_FILE)?);
    // A store file may contain records of other days.
    let start = if args.store.is_some() { SystemClock.now() } else { replay::start_time() };
    let clock = Arc::new(ManualClock::at(start));
    let mut engine = Engine::builder(loaded.policy, &loaded.source).clock(clock.clone());
    if let Some(path) = &args.store {
        engine = engine.store(Arc::new(SqliteStore::open(path)?));
    }
    if let Some(root) = &args.root {
        if !root.is_dir() {
            return Err(CliError::new(format!("{} is not a directory", input::quoted(root)))
                .help("`--root` is the directory that file facts are read from"));
        }
        engine = engine.root(root);
    }
    let mut replay = Replay::new(Arc::new(engine.build()?), clock.clone()).limits(args.limits.limits());
    if let (None, Ok(here)) = (&args.root, env::current_dir()) {
        replay = replay.cwd(here.to_string_lossy());
    }

    let mut timeline = Timeline::new();
    let mut undecided = 0;
    each(&replay, &mut input, |line, _, played| {
        match played {
            Ok(ReplayStep::Decided(_, decision)) if output.is_json => {
                output.json_text(&wire::encode(&decision))?
            }
            Ok(ReplayStep::Decided(event, decision)) => {
                output.lines(timeline.add(clock.now(), &event, &decision, output))?;
            }
            Ok(other) => {
                if let Some(text) = in_words(&other).filter(|_| !output.is_json) {
                    output.line(output.paint.style(Style::Dim, format!("          {}", visible(&text))))?;
                }
            }
            Err(error) => {
                undecided += 1;
                let failure = CliError::from_error(&error);
                if output.is_json {
                    output.json(&with_fields(&failure.to_json(), json!({"line": line})))?;
                }
                output.remark(&failure);
            }
        }
        Ok(())
    })?;
    if !output.is_json {
        let failed = match undecided {
            0 => String::new(),
            number => output.paint.style(Style::Bad, format!("; {} not decided", count(number, "line"))),
        };
        output.line(format!("\n{}{failed}", timeline.summary(output.paint)))?;
    }
    Ok(Exit::good_if(undecided == 0))
}

/// An executed instruction in words.
fn in_words(played: &ReplayStep) -> Option<String> {
    match played {
        ReplayStep::Advanced(seconds) => Some(format!("the clock advances by {seconds} s")),
        ReplayStep::Set { session, key } => Some(format!("session.{key} is set in session {session}")),
        ReplayStep::Kept { session, name } => Some(format!("session {session} is saved as {name}")),
        ReplayStep::Restored { session, name } => Some(format!("session {session} is restored from {name}")),
        ReplayStep::Decided(..) | ReplayStep::Nothing => None,
    }
}

/// The most undecided lines that are named. All of them are counted.
const NAMED: usize = 10;

/// Suggestions that are shown.
const SUGGESTED: usize = 12;

fn run_report(args: &Args, loaded: LoadedPolicy, output: &mut Output) -> CliResult {
    let events = args.events.as_path();
    let size = std::fs::metadata(events).ok().filter(|it| it.is_file()).map_or(0, |it| it.len());
    let mut input = BufReader::new(input::open_or(Some(events), NOT_A_FILE)?);
    let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
    let names: Vec<String> =
        loaded.documents.iter().map(|(_, document)| document.pack.pack.clone()).collect();
    // Current files are not read, and nothing is stored.
    let engine = Engine::builder(loaded.policy, &loaded.source)
        .clock(clock.clone())
        .files(Arc::new(Files::Recorded(RecordedFiles::default())));
    let replay = Replay::new(Arc::new(engine.build()?), clock).limits(args.limits.limits());
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
    let report = maker.finish(args.examples);
    if output.is_json {
        output.json(&with_fields(&report, json!({"packs": names, "undecided": undecided})))?;
        return Ok(Exit::good_if(undecided == 0));
    }
    output.lines(lines(&report, &names, undecided, output))?;
    Ok(Exit::good_if(undecided == 0))
}

/// Replays every line. `work` receives the number and the length of a line, and what came of it.
fn each(
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
    let paint = output.paint;
    let mut lines = head(report, packs, undecided, paint);
    if !report.guardrails.is_empty() {
        lines.push(String::new());
        lines.extend(table(report).lines(paint, 0, output.width));
        for of in report.guardrails.iter().filter(|of| !of.examples.is_empty()) {
            lines.push(String::new());
            lines.extend(examples(of, output));
        }
    }
    lines.extend(suggestions(report, output));
    lines.push(String::new());
    lines.push(paint.style(Style::Strong, "assumptions"));
    for assumed in &report.assumed {
        let wrapped = wrap(assumed, output.width.saturating_sub(4).max(40));
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
    let mut lines = vec![
        paint.style(Style::Strong, format!("What {packs} would have blocked")),
        format!(
            "{}, {}, {}{span}",
            count(report.sessions, "session"),
            count(report.calls, "call"),
            count(report.events, "event")
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
    if report.vouched > 0 {
        let part = self::share(report.vouched, report.calls);
        let text =
            format!("{} of {} calls ({part}) would be made without a question", report.vouched, report.calls);
        lines.push(paint.style(Style::Good, text));
        for (grounds, number) in report.grounds.iter().take(SUGGESTED) {
            lines.push(format!("{number:>7}  {grounds}"));
        }
    }
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
    let paint = output.paint;
    let room = output.width.saturating_sub(9).clamp(30, 200);
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
    let paint = output.paint;
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
            let stops = count(it.stops, "stop");
            let note = paint.style(Style::Dim, format!("# removes up to {stops}{broad}"));
            lines.push(format!("          - {}  {note}", short(&value, 200)));
        }
    }
    lines
}
