//! Where the texts of a session came from and where its calls go. All `flow` guardrails of a policy share this state: each computes
//! the same changes from the same event.

pub(crate) mod available;
pub(crate) mod call;
pub(crate) mod expressions;
pub(crate) mod files;
pub(crate) mod labels;
pub(crate) mod named;
pub(crate) mod observe;
mod rows;
mod seen;
mod words;
