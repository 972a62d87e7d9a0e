//! The configuration of scripts: `{"guardrails": {"enabled": true, "failMode": "closed"}}`.

use midrail_core::OnFault;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::dialect::origin::Origin;
use crate::raw::{Pack, Scripts};

/// The name of the pack of a script configuration.
pub const SCRIPT_CONFIGURATION: &str = "script-configuration";

/// The configuration of scripts.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptConfig {
    /// The settings of scripts.
    pub guardrails: ScriptRules,
}

/// The settings of scripts.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptRules {
    /// Off with `false`.
    pub enabled: Option<bool>,
    /// The effect of a failing script: `closed` unless set.
    #[serde(rename = "failMode")]
    pub fail_mode: Option<FailMode>,
}

/// The effect of a failing script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailMode {
    /// The action continues.
    Open,
    /// The action is blocked.
    Closed,
}

pub(super) fn script_config(document: ScriptConfig) -> (Pack, Origin) {
    let on_error = document.guardrails.fail_mode.map(|mode| match mode {
        FailMode::Open => OnFault::Allow,
        FailMode::Closed => OnFault::Block,
    });
    let scripts = Scripts { enabled: document.guardrails.enabled, on_error, ..Scripts::default() };
    let pack = Pack { pack: SCRIPT_CONFIGURATION.to_owned(), scripts, ..Pack::default() };
    (pack, [("/scripts", "/guardrails")].into())
}
