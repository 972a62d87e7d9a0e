//! `midrail approvals approve` and `deny`: a person answers.

use midrail::{Approval, EventKind};

use super::desk;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::input::StoreFile;
use crate::key::{self, Signer};
use crate::output::{Output, Style, short};
use crate::when;

/// Who answers which request.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_APPROVALS)]
pub(super) struct Args {
    /// The request
    id: String,
    #[command(flatten)]
    who: Signer,
    /// What there is to say about it, for the record
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    store: StoreFile,
}

pub(super) fn run(args: &Args, approve: bool, output: &mut Output) -> Result<Exit, Failure> {
    let engine = desk::of_request(args.store.existing()?, &args.id)?;
    let person = key::ask(&args.who, &engine)?;
    let answered = engine.answer(&args.id, approve, &person, args.note.as_deref())?;
    let now = engine.now();
    if output.is_json() {
        output.json(&desk::as_json(&answered, now)?)?;
        return Ok(Exit::Good);
    }
    let status = answered.status_at(now);
    let head = output.paint().style(desk::style(status), format!("{} {status}", desk::mark(status)));
    output.line(format!("{head}  {}  {}", short(&answered.id, 40), desk::what(&answered, 60)))?;
    output.line(output.paint().style(Style::Dim, what_follows(&answered, approve, now)))?;
    Ok(Exit::Good)
}

fn what_follows(answered: &Approval, approve: bool, now: jiff::Timestamp) -> String {
    let role = answered.decided_role.as_deref().unwrap_or_default();
    let by = short(answered.decided_by.as_deref().unwrap_or_default(), 60);
    if !approve && let Some(was) = &answered.taken_back {
        let whose = short(was.by.as_deref().unwrap_or("someone"), 60);
        let by = if role.is_empty() { by.into_owned() } else { format!("{by} as {role}") };
        return format!("  by {by}; the approval by {whose} is taken back, and the call is blocked");
    }
    if !approve {
        let what = if is_stop(answered) { "the agent has to go on" } else { "the call stays blocked" };
        return format!("  by {by} as {role}; {what}");
    }
    let within = answered.deadline().map(|end| format!(", within {}", when::between(now, end)));
    let what = match answered.event {
        Some(EventKind::BeforeStop) => "the agent may stop once with what is missing now",
        // An agent that was quarantined for it is let go on by another verb.
        Some(EventKind::OnError) => {
            return format!(
                "  by {by} as {role}; no call passes by that, and a quarantine stays: midrail quarantine lift"
            );
        }
        _ => "the very same call passes once",
    };
    format!("  by {by} as {role}; {what}{}", within.unwrap_or_default())
}

fn is_stop(approval: &Approval) -> bool {
    approval.event == Some(EventKind::BeforeStop)
}
