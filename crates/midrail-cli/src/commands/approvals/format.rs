//! Shared by the subcommands: the engine that a request is answered in, and the head line of a request.

use std::sync::Arc;

use midrail::admin::ApprovalView;
use midrail::store::{Approval, Urgency};
use midrail::{Engine, Store};

use crate::admin_args;
use crate::error::CliError;
use crate::output::{Output, short};
use crate::paint::status_style;

/// The engine in which a request is answered.
pub(super) fn engine_for_request(store: Arc<dyn Store>, id: &str) -> Result<Engine, CliError> {
    let approval = find(&*store, id)?;
    admin_args::engine_for_approval(store, &approval)
}

/// A request by its id.
pub(super) fn find(store: &dyn Store, id: &str) -> Result<Approval, CliError> {
    let found = store.approval(id)?;
    found.ok_or_else(|| {
        CliError::new(format!("there is no approval `{}`", short(id, 60)))
            .help("`midrail approvals list --all` shows all of them")
    })
}

/// The status with its mark.
pub(super) fn status(view: &ApprovalView, output: &Output) -> String {
    let (mark, style) = status_style(&view.status);
    output.paint().style(style, format!("{mark} {}", view.status))
}

/// The status, id and action of a request in one line.
pub(super) fn head(view: &ApprovalView, output: &Output) -> String {
    format!("{}  {}  {}", status(view, output), short(&view.approval.id, 40), short(&view.action(), 60))
}

/// Why an emergency request is not granted by an override. `None`: it is, or it is no emergency.
pub(super) fn no_override_reason(approval: &Approval) -> Option<&'static str> {
    match (approval.urgency, approval.override_at, &approval.denied_before) {
        (Urgency::Normal | Urgency::Urgent, _, _) | (Urgency::Emergency, Some(_), None) => None,
        (Urgency::Emergency, _, Some(_)) => Some(
            "no emergency override, because a person denied this action before: only a person can answer",
        ),
        (Urgency::Emergency, None, None) => Some(
            "no emergency override, because the packs do not enable it for this action: only a person can answer",
        ),
    }
}
