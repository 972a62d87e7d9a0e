//! The arguments of `midrail check`, and how it prints a decision.

use std::path::PathBuf;
use std::time::Duration;

use midrail::{Decision, Event};
use midrail_adapters::wire;

use crate::decision;
use crate::error::CliResult;
use crate::exit;
use crate::input::{PackArgs, StoreArgs};
use crate::limits::LimitArgs;
use crate::output::Output;
use crate::time;

/// Decide one event, or a stream of them, and record the decisions.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::CHECK)]
pub(crate) struct Args {
    /// The event as a JSON object; `-` or absent: standard input
    #[arg(value_name = "EVENT.json")]
    pub(super) event: Option<PathBuf>,
    #[command(flatten)]
    pub(super) packs: PackArgs,
    #[command(flatten)]
    pub(super) store: StoreArgs,
    /// The directory that paths are resolved against [default: the event's cwd, else the current directory]
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// Decide a stream: one event per line, one answer per event. Uses the packs of the current directory and
    /// reloads them when they change
    #[arg(long)]
    pub(super) stream: bool,
    /// Wait this long for the answer to an escalation: 500ms, 45s, 10m. Keep it below the timeout of the host
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    pub(super) wait: Option<Duration>,
}

pub(super) fn print(
    event: &Event,
    decision: &Decision,
    ask: Option<String>,
    output: &mut Output,
) -> CliResult<()> {
    if output.is_json() {
        // Hosts show the advice to the agent.
        let advice: Vec<String> = decision.advice.clone().into_iter().chain(ask).collect();
        let advice = (!advice.is_empty()).then(|| advice.join(" "));
        return output.json_text(&wire::encode(&Decision { advice, ..decision.clone() }));
    }
    output.lines(decision::block(event, decision, ask.as_deref(), output))
}
