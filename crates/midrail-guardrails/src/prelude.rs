//! The names that every guardrail uses.

pub(crate) use midrail_core::{
    Category, Changes, Context, Effect, EventKind, Fault, Guardrail, Key, Missing, Risk, Verdict,
};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::{Deserialize, Serialize};

pub(crate) use crate::builtin::{BUDGET, Builtin, CALLS, COMPLIANCE, HANDOFF, QUALITY, SAFETY, SCOPE};
