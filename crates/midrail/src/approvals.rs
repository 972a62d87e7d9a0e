//! Approvals: the requests of decisions to people, and the effects of their answers.

mod answer;
mod changes;
mod common;
mod due;
mod emergency;
mod guidance;
mod handle;
mod justification;
mod late;
pub(crate) mod overdue_reviews;
mod policies;
mod request;
mod revoke;
mod script_requests;
mod wait;

pub(crate) use changes::{changes, has_used_name};
pub(crate) use common::sentence;
pub use due::due_approvals;
pub use handle::Approvals;
pub(crate) use justification::check_justification;
pub use late::is_about_earlier_event;
pub use policies::{policy_for_approval, policy_for_record, record_for_approval};
pub use request::BypassRequest;
pub(crate) use script_requests::urgency_in_record;
