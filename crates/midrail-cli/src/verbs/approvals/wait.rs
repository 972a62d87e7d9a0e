//! `midrail approvals wait`: until somebody has answered.

use std::time::Duration;

use super::desk;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::input::StoreFile;
use crate::output::{Output, short};
use crate::when;

/// Wait for the answer to a request, wherever it is given.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_WAIT)]
pub(crate) struct Args {
    /// The request
    id: String,
    /// At most so long: 500ms, 45s, 10m
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = when::duration)]
    timeout: Duration,
    #[command(flatten)]
    store: StoreFile,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let engine = desk::of_request(crate::desk::to_look_at(&args.store)?, &args.id)?;
    let approval = engine.wait(&args.id, args.timeout)?;
    let now = engine.now();
    let status = approval.status_at(now);
    if output.is_json() {
        output.json(&desk::as_json(&approval, now)?)?;
    } else {
        let head = output.paint().style(desk::style(status), format!("{} {status}", desk::mark(status)));
        let by =
            approval.decided_by.as_deref().map(|by| format!("  by {}", short(by, 60))).unwrap_or_default();
        output.line(format!("{head}  {}{by}", short(&approval.id, 40)))?;
    }
    Ok(match status {
        "approved" | "used" | "override" => Exit::Good,
        "denied" => Exit::Denied,
        "timed out" | "expired" => Exit::TimedOut,
        _ => Exit::Pending,
    })
}
