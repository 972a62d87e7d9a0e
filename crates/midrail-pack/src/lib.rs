//! Packs: parses text into a raw [`Pack`], compiles its guardrails, and merges the packs of all layers into one policy.
//! Also expressions, lint and JSON Schema. Reads no file, clock or network.

#![forbid(unsafe_code)]

pub mod case;
mod compile;
mod decode;
pub mod diagnostic;
mod dialect;
mod document;
pub mod expr;
mod issue;
mod layers;
mod lint;
mod names;
mod narrowing;
mod outline;
mod overlay;
mod pattern;
pub mod raw;
mod rule;
mod scalar;
pub mod schema;
mod template;
mod words;
pub mod yaml;

pub use decode::{decode, describe_serde_error};
pub use diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticReport, Span};
pub use dialect::{
    AppliesTo, AsyncRuleSettings, BuiltInGuardrail, CatalogueEntry, ChainLink, FailMode, Gateway,
    HookCondition, HookDocument, HookGuardrail, HookType, HookValidation, LooseEffect, LooseShare,
    Monitoring, PolicyPack, RuleRef, SCRIPT_CONFIGURATION, ScriptConfig, ScriptRules, SyncRuleSettings,
    ToolPolicy,
};
pub use document::PackDocument;
pub use expr::{AlertCondition, Expression};
pub use layers::{Layer, LayeredPack, PolicySource, SourceError, compile_policy};
pub use lint::{LintFinding, lint};
pub use midrail_guardrails::Seconds;
pub use names::{ALERT_GROUPS, ALERT_NAMES, EVENT_NAMES};
pub use outline::{GuardrailPlacement, locate_guardrails};
pub use raw::{AlertRule, Channel, Pack};
pub use scalar::{OneOrMany, TextOrNumber, TimeOrDuration};
