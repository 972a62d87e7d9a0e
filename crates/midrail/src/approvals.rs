//! Approvals: the requests of decisions to people, and the effects of their answers.

mod answer;
mod changes;
mod common;
mod due;
mod guidance;
mod handle;
mod justification;
pub(crate) mod overdue_reviews;
mod policies;
mod request;
mod script_requests;

pub(crate) use changes::{changes, has_used_name};
pub use common::is_about_earlier_event;
pub(crate) use common::sentence;
pub use due::due_approvals;
pub use handle::Approvals;
pub(crate) use justification::check_justification;
pub use policies::{policy_for_approval, policy_for_record, record_for_approval};
pub use request::BypassRequest;
pub(crate) use script_requests::urgency_in_record;
