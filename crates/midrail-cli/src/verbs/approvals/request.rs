//! `midrail approvals request`: an agent asks for what it was denied. It is the one verb that agents may use to change
//! anything, so it takes nothing that could change the rules.

use midrail::store::{UnknownUrgency, Urgency};
use midrail::{Ask, policy_of_record};

use super::desk;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::input::StoreFile;
use crate::output::{Output, Style, short};
use crate::verbs::audit::no_record;
use crate::when;

/// Ask a person to let one action pass that was stopped, or to look at an escalation sooner.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_APPROVALS)]
pub(crate) struct Args {
    /// The record of the decision that stopped it, as `check` tells it
    #[arg(long = "decision", value_name = "SEQ")]
    seq: u64,
    /// What is to be done, and why it cannot be done otherwise
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// normal: no answer is a no. urgent: no answer goes to the next authority. emergency: as the pack says
    #[arg(long, value_name = "URGENCY", default_value = "normal", value_parser = ["normal", "urgent", "emergency"])]
    urgency: String,
    /// The guardrail to lift [default: the one that decided]
    #[arg(long, value_name = "ID")]
    guardrail: Option<String>,
    #[command(flatten)]
    store: StoreFile,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let entry = store.entry(args.seq)?.ok_or_else(|| no_record(&args.store, &*store, args.seq))?;
    let policy = policy_of_record(&*store, args.seq)?;
    let engine = crate::desk::of_policy(store, policy, &entry.labels.session)?;
    let urgency: Urgency = args.urgency.parse().map_err(|error: UnknownUrgency| Failure::of(&error))?;
    let ask = Ask { seq: args.seq, guardrail: args.guardrail.clone(), reason: args.reason.clone(), urgency };
    let asked = engine.request(&ask)?;
    let now = engine.now();
    if output.is_json() {
        output.json(&desk::as_json(&asked, now)?)?;
        return Ok(Exit::Good);
    }
    let id = short(&asked.id, 40);
    let status = asked.status_at(now);
    let head = output.paint().style(desk::style(status), format!("{} {status}", desk::mark(status)));
    output.line(format!("{head}  {id}  {}", desk::what(&asked, 60)))?;
    let authority = short(asked.authority_at(now).unwrap_or(&asked.approver), 40).into_owned();
    let within =
        asked.deadline().map(|end| format!(" within {}", when::between(now, end))).unwrap_or_default();
    let paint = output.paint();
    output.line(paint.style(
        Style::Dim,
        format!("  for a person (`{authority}`) to answer{within}: midrail approvals approve {id} --as NAME"),
    ))?;
    if let Some(why) = desk::why_not_by_itself(&asked) {
        output.line(paint.style(Style::Caution, format!("  {why}")))?;
    } else if let Some(at) = asked.override_at {
        let within = when::between(now, at.max(now));
        output.line(paint.style(Style::Dim, format!("  with no answer it grants itself in {within}")))?;
    }
    output.line(paint.style(
        Style::Dim,
        format!("  once it is approved, repeat the very same call; midrail approvals wait {id}"),
    ))?;
    Ok(Exit::Good)
}
