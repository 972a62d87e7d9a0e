//! `midrail approvals request`: an agent requests approval. Agents may use this subcommand, so it has no option that
//! could change the policy.

use midrail::admin::ApprovalView;
use midrail::approvals::{BypassRequest, policy_for_record};
use midrail::core::duration::span;
use midrail::store::{UnknownUrgency, Urgency};

use super::format;
use crate::commands::audit::records::no_record;
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::input::{StoreArgs, guardrail_name};
use crate::output::{Output, short};
use crate::paint::Style;

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
    let now = engine.now();
    let view = ApprovalView::new(engine.approvals().request(&ask)?, now);
    let (paint, request) = (output.paint(), &view.approval);
    let id = short(&request.id, 40);
    let authority = short(view.authority.as_deref().unwrap_or(&request.approver), 40);
    let within =
        view.deadline.map(|end| format!(" within {}", span(end.duration_since(now)))).unwrap_or_default();
    let mut lines = vec![
        format::head(&view, output),
        paint.style(
            Style::Dim,
            format!(
                "  for a person (`{authority}`) to answer{within}: midrail approvals approve {id} --as NAME"
            ),
        ),
    ];
    if let Some(why) = format::no_override_reason(request) {
        lines.push(paint.style(Style::Caution, format!("  {why}")));
    } else if let Some(at) = request.override_at {
        let within = span(at.max(now).duration_since(now));
        lines.push(
            paint.style(
                Style::Dim,
                format!("  without an answer, an emergency override grants it in {within}"),
            ),
        );
    }
    let next = format!("  once it is approved, repeat the same call; midrail approvals wait {id}");
    lines.push(paint.style(Style::Dim, next));
    output.done(&view, lines.join("\n"))
}
