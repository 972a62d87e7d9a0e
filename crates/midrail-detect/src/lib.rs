//! Pure text analysis: what an event does, and what hides in its texts. Findings only; what follows from them is
//! decided by guardrails.

pub mod action;
mod base64;
mod byte_set;
pub mod finding;
pub mod injection;
pub mod of_event;
pub mod patch;
pub mod personal;
pub mod secrets;
pub mod shell;
pub mod sql;
pub mod steady;
pub mod texts;
