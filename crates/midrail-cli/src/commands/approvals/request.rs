//! `midrail approvals request`: an agent asks for what it was denied. It is the one verb that agents may use to change
//! anything, so it takes nothing that could change the rules.

use midrail::approvals::{BypassRequest, policy_for_record};
use midrail::store::{UnknownUrgency, Urgency};

use super::format;
use crate::commands::audit::records::no_record;
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::input::{StoreArgs, guardrail_name};
use crate::output::{Output, short};
use crate::paint::Style;
use crate::time;

/// Request approval for a blocked action, or make an escalation urgent.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::APPROVALS)]
pub(crate) struct Args {
    /// The record of the decision that blocked the action, as `check` prints it
    #[arg(long = "decision", value_name = "SEQ")]
    seq: u64,
    /// Why the action is needed
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// normal: no answer means no. urgent: no answer escalates to the next authority. emergency: as the pack
    /// defines
    #[arg(long, value_name = "URGENCY", default_value = "normal", value_parser = ["normal", "urgent", "emergency"])]
    urgency: String,
    /// The guardrail to bypass [default: the one that decided]
    #[arg(long, value_name = "ID", value_parser = guardrail_name)]
    guardrail: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let store = args.store.open_existing()?;
    let entry = store.entry(args.seq)?.ok_or_else(|| no_record(&args.store, &*store, args.seq))?;
    let policy = policy_for_record(&*store, args.seq)?;
    let engine = crate::admin_args::engine_for_policy(store, policy, &entry.labels.session)?;
    let urgency: Urgency =
        args.urgency.parse().map_err(|error: UnknownUrgency| CliError::from_error(&error))?;
    let ask = BypassRequest {
        seq: args.seq,
        guardrail: args.guardrail.clone(),
        reason: args.reason.clone(),
        urgency,
    };
    let asked = engine.approvals().request(&ask)?;
    let now = engine.now();
    if output.is_json() {
        output.json(&format::as_json(&asked, now)?)?;
        return Ok(Exit::Good);
    }
    let id = short(&asked.id, 40);
    let status = asked.status_at(now);
    let head = output.paint().style(format::style(status), format!("{} {status}", format::mark(status)));
    output.line(format!("{head}  {id}  {}", format::action(&asked, 60)))?;
    let authority = short(asked.authority_at(now).unwrap_or(&asked.approver), 40).into_owned();
    let within =
        asked.deadline().map(|end| format!(" within {}", time::span_between(now, end))).unwrap_or_default();
    let paint = output.paint();
    output.line(paint.style(
        Style::Dim,
        format!("  for a person (`{authority}`) to answer{within}: midrail approvals approve {id} --as NAME"),
    ))?;
    if let Some(why) = format::no_override_reason(&asked) {
        output.line(paint.style(Style::Caution, format!("  {why}")))?;
    } else if let Some(at) = asked.override_at {
        let within = time::span_between(now, at.max(now));
        output.line(paint.style(Style::Dim, format!("  with no answer it grants itself in {within}")))?;
    }
    output.line(paint.style(
        Style::Dim,
        format!("  once it is approved, repeat the same call; midrail approvals wait {id}"),
    ))?;
    Ok(Exit::Good)
}
