//! `midrail approvals wait`: waits for the answer to a request.

use std::time::Duration;

use midrail::admin::ApprovalView;

use super::format;
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::input::StoreArgs;
use crate::output::{Output, short};
use crate::time;

/// Wait for the answer to a request.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::WAIT)]
pub(crate) struct Args {
    /// The request
    id: String,
    /// The longest wait: 500ms, 45s, 10m
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = time::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let engine = format::engine_for_request(crate::admin_args::open_for_reading(&args.store)?, &args.id)?;
    let view = ApprovalView::new(engine.approvals().wait(&args.id, args.timeout)?, engine.now());
    let by =
        view.approval.decided_by.as_deref().map(|by| format!("  by {}", short(by, 60))).unwrap_or_default();
    let text = format!("{}  {}{by}", format::status(&view, output), short(&view.approval.id, 40));
    output.done(&view, text)?;
    Ok(match view.status.as_str() {
        "approved" | "used" | "override" => Exit::Good,
        "denied" => Exit::Denied,
        "timed out" | "expired" => Exit::TimedOut,
        _ => Exit::Pending,
    })
}
