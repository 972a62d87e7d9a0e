//! Pure text analysis: what an event does, and what hides in its texts. Findings only; what follows from them is
//! decided by guardrails.

pub mod action;
pub mod injection;
pub mod patch;
pub mod secrets;
