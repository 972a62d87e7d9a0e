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
pub use decode::{decode, describe_serde_error};
pub use diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticReport, Span};
pub use dialect::{
    AppliesTo, AsyncRuleSettings, BuiltInGuardrail, CatalogueEntry, ChainLink, FailMode, Gateway,
    HookCondition, HookDocument, HookGuardrail, HookType, HookValidation, LooseEffect, LooseShare,
    Monitoring, PolicyPack, RuleRef, SCRIPT_CONFIGURATION, ScriptConfig, ScriptRules, SyncRuleSettings,
    ToolPolicy,
};
pub use document::PackDocument;
pub use expr::Expression;
pub use layers::{Layer, LayeredPack, PolicySource, compile_policy};
pub use lint::{LintFinding, lint};
pub use names::{ALERT_GROUPS, ALERT_NAMES, EVENT_NAMES, GLOBS};
pub use outline::{GuardrailPlacement, locate_guardrails};
pub use raw::{AlertRule, Channel, Pack};
pub use scalar::{OneOrMany, Seconds, TextOrNumber, TimeOrDuration};
