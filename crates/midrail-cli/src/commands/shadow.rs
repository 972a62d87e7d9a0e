//! `midrail shadow report`: what guardrails in shadow mode would have done.

use jiff::Timestamp;
use midrail::approvals::policy_for_record;
use midrail::pack::diagnostic::nearest;
use midrail::shadow::{ShadowQuery, ShadowReport, ShadowedGuardrail, shadow_report};
use midrail::store::Store;

use crate::error::{CliError, CliResult, count};
use crate::exit::Exit;
use crate::input::{StoreArgs, guardrail_name};
use crate::output::{Output, short};
use crate::paint::Style;
use crate::table::{Table, cell, guardrail};
use crate::time;

/// Report what guardrails in shadow mode would have done.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show what would have been blocked, how often, by which guardrail, with examples
    Report(Report),
}

#[derive(Debug, clap::Args)]
struct Report {
    /// Only decisions since this time: 2026-11-01, 2026-11-01T08:00:00Z, 7d, 12h, 30m
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<Timestamp>,
    /// Only decisions before this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    until: Option<Timestamp>,
    /// Only this guardrail
    #[arg(long, value_name = "ID", value_parser = guardrail_name)]
    guardrail: Option<String>,
    /// Examples per guardrail
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let Command::Report(args) = &args.command;
    let store = args.store.read_only()?;
    let query = ShadowQuery {
        since: args.since,
        until: args.until,
        guardrail: args.guardrail.clone(),
        examples: args.examples,
        at_most: None,
    };
    let report = shadow_report(&*store, &query, &mut |_| {})?;
    if let Some(id) = args.guardrail.as_deref().filter(|_| report.guardrails.is_empty()) {
        check_known(id, &report, &*store)?;
    }
    if output.is_json {
        output.json(&report)?
    } else {
        print(&report, args.guardrail.as_deref(), output)?
    }
    Ok(Exit::Good)
}

/// Checks that a guardrail exists, if the report has nothing about it.
fn check_known(id: &str, report: &ShadowReport, store: &dyn Store) -> CliResult<()> {
    let mut names = report.guardrails_seen.clone();
    if let Some(head) = store.head()?
        && let Some((policy, _)) = policy_for_record(store, head.seq)?
    {
        names.extend(policy.entries().iter().map(|entry| entry.spec.id.to_string()));
    }
    if names.is_empty() || names.contains(id) {
        return Ok(());
    }
    let help = match nearest(id, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}`?", short(near, 40)),
        None => {
            let some: Vec<String> =
                names.iter().take(MOST_NAMES).map(|name| short(name, 40).into_owned()).collect();
            let more = if names.len() > MOST_NAMES { ", …" } else { "" };
            format!("there are {}{more}", some.join(", "))
        }
    };
    Err(CliError::new(format!("unknown guardrail `{}`", short(id, 40))).help(help))
}

/// The most names that are listed if none is similar.
const MOST_NAMES: usize = 20;

fn print(report: &ShadowReport, only: Option<&str>, output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
    if let (Some(id), true) = (only, report.guardrails.is_empty()) {
        output.line(format!("`{}` was never evaluated in shadow mode", short(id, 40)))?;
        return output.line("`midrail policy` lists the guardrails and their modes");
    }
    if report.guardrails.is_empty() {
        output.line(format!(
            "no guardrail was evaluated in shadow mode in {}",
            count(report.decisions, "decision")
        ))?;
        return output.line("set `mode: shadow` for a pack or a guardrail");
    }
    output.line(format!(
        "{} of {} would have been stricter{}",
        paint.style(Style::Strong, report.stricter.to_string()),
        count(report.decisions, "decision"),
        only.map(|id| format!(" with `{}`", short(id, 40))).unwrap_or_default(),
    ))?;
    output.line("")?;
    let table = Table::of(
        &report.guardrails,
        &[
            ("guardrail", &|it| guardrail(&it.guardrail)),
            ("evaluated", &|it| cell(it.asked.to_string())),
            ("findings", &|it| cell(it.objections().to_string())),
            ("would block", &|it| cell(format!("{} ({})", it.stopped, share(it.stopped, it.asked)))),
            ("sessions", &|it| cell(it.sessions.to_string())),
            ("failed", &|it| cell(it.failed.to_string())),
            ("most often", &|it| cell(most_often(it))),
        ],
    );
    table.print(0, output)?;
    for shadowed in report.guardrails.iter().filter(|shadowed| !shadowed.examples.is_empty()) {
        output.line("")?;
        output
            .line(paint.style(Style::Strong, short(&midrail::guardrails::label(&shadowed.guardrail), 60)))?;
        for example in &shadowed.examples {
            output.line(format!(
                "  #{:<5} {}  {}  {}  {}",
                example.seq,
                paint.style(Style::Dim, time::date_time(example.time)),
                example.effect,
                short(&example.what, 30),
                short(&example.reason, 200),
            ))?;
        }
    }
    Ok(())
}

fn share(part: u64, whole: u64) -> String {
    match part.saturating_mul(100).checked_div(whole) {
        Some(0) if part > 0 => "<1%".to_owned(),
        Some(share) => format!("{share}%"),
        None => "-".to_owned(),
    }
}

/// The tools that it would have blocked most often.
fn most_often(shadowed: &ShadowedGuardrail) -> String {
    let mut tools: Vec<(&String, &u64)> = shadowed.tools.iter().collect();
    tools.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let names = tools.iter().take(3).map(|(tool, count)| format!("{} {count}", short(tool, 24)));
    names.collect::<Vec<_>>().join(", ")
}
