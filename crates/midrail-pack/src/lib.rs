//! Packs: text becomes a raw [`Pack`], a pack becomes guardrails, and the packs of all layers become one policy.
//! Expressions, lint and JSON Schema live here too; no file, clock or network does.

#![forbid(unsafe_code)]

mod alerts;
pub mod case;
mod compile;
mod decode;
pub mod diagnostic;
mod dialect;
mod document;
pub mod expr;
mod layers;
mod lint;
mod names;
mod outline;
mod overlay;
mod pattern;
pub mod raw;
mod rule;
mod scalar;
pub mod schema;
mod words;
pub mod yaml;

pub use alerts::AlertCondition;
pub use decode::{decode, in_plain_words};
pub use diagnostic::{Problem, Report, Severity, Span};
pub use dialect::{
    AppliesTo, BuiltIn, Deep, FailMode, FirstEffect, Gateway, HookCondition, HookDocument, HookGuardrail,
    HookType, HookValidation, Linked, Listed, Monitoring, PolicyPack, RuleRef, SCRIPT_CONFIGURATION,
    ScriptConfig, ScriptRules, Share, Sync, ToolPolicy,
};
pub use document::Document;
pub use expr::Expression;
pub use layers::{Layer, LayeredPack, PolicySource, policy};
pub use lint::{Lint, lint};
pub use names::{ALERT_GROUPS, ALERT_NAMES, EVENT_NAMES, GLOBS};
pub use outline::{Placement, outline};
pub use raw::{AlertRule, Channel, Pack};
pub use scalar::{Many, Seconds, Text, When};
