//! `midrail approvals approve` and `deny`: a person answers.

use midrail::EventKind;
use midrail::admin::ApprovalView;
use midrail::core::duration::span;
use midrail::store::Approval;

use super::format;
use crate::approver_key::{self, Signer};
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::input::StoreArgs;
use crate::output::{Output, short};
use crate::paint::Style;

/// The answer to a request.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::APPROVALS)]
pub(super) struct Args {
    /// The request
    id: String,
    #[command(flatten)]
    who: Signer,
    /// A note for the record
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args, approve: bool, output: &mut Output) -> Result<Exit, CliError> {
    let engine = format::engine_for_request(args.store.open_existing()?, &args.id)?;
    let person = approver_key::read(&args.who, &engine)?;
    let answered = engine.approvals().answer(&args.id, approve, &person, args.note.as_deref())?;
    let now = engine.now();
    let view = ApprovalView::new(answered, now);
    let text = output.paint().style(Style::Dim, consequence(&view.approval, approve, now));
    output.done(&view, format!("{}\n{text}", format::head(&view, output)))
}

fn consequence(answered: &Approval, approve: bool, now: jiff::Timestamp) -> String {
    let role = answered.decided_role.as_deref().unwrap_or_default();
    let by = short(answered.decided_by.as_deref().unwrap_or_default(), 60);
    if !approve && let Some(was) = &answered.taken_back {
        let whose = short(was.by.as_deref().unwrap_or("someone"), 60);
        let by = if role.is_empty() { by.into_owned() } else { format!("{by} as {role}") };
        return format!("  by {by}; the approval by {whose} is revoked, and the call is blocked");
    }
    if !approve {
        let what = if is_stop(answered) { "the agent has to continue" } else { "the call stays blocked" };
        return format!("  by {by} as {role}; {what}");
    }
    let within = answered.deadline().map(|end| format!(", within {}", span(end.duration_since(now))));
    let what = match answered.event {
        Some(EventKind::BeforeStop) => "the agent may stop once although work is missing",
        // The quarantine of an agent is lifted with another subcommand.
        Some(EventKind::OnError) => {
            return format!(
                "  by {by} as {role}; this allows no call, and a quarantine stays in force: midrail quarantine lift"
            );
        }
        _ => "the same call is allowed once",
    };
    format!("  by {by} as {role}; {what}{}", within.unwrap_or_default())
}

fn is_stop(approval: &Approval) -> bool {
    approval.event == Some(EventKind::BeforeStop)
}
