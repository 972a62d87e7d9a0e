//! Approvals: the requests of decisions to people, and the effects of their answers.

mod answer;
mod changes;
mod destinations;
mod due;
mod guidance;
mod handle;
mod justification;
mod policies;
mod request;
mod waiting;

pub(crate) use changes::{changes, has_used_name};
pub use due::due_approvals;
pub(crate) use due::note_reviews;
pub(crate) use handle::sentence;
pub use handle::{Approvals, is_about_earlier_event};
pub(crate) use justification::check_justification;
pub use policies::{policy_for_approval, policy_for_record, record_for_approval};
pub use request::BypassRequest;
pub(crate) use request::urgency_in_record;
pub(crate) use waiting::{Waiting, is_alike, is_noticed, makes_request, used_approvals};
