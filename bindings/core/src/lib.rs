//! What the Python and the Node package share: an engine that takes events and returns decisions, both as JSON, and
//! guardrails that are functions of the other language. It knows neither Python nor Node.

mod function;
mod guard;

pub use function::{Function, FunctionSpec};
pub use guard::{Guard, GuardError, Options};
