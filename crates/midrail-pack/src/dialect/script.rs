//! The configuration of scripts: `{"guardrails": {"enabled": true, "failMode": "closed"}}`.

use midrail_core::OnFault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Origin;
use crate::raw::{Pack, Scripts};

/// The name of the pack that a configuration of scripts is.
pub const SCRIPT_CONFIGURATION: &str = "script-configuration";

/// The configuration of scripts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptConfig {
    /// What holds for scripts.
    pub guardrails: ScriptRules,
}

/// What holds for scripts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptRules {
    /// Off with `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What a script that fails leads to: `closed` unless set.
    #[serde(default, rename = "failMode", skip_serializing_if = "Option::is_none")]
    pub fail_mode: Option<FailMode>,
}

/// What a script that fails leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailMode {
    /// The action goes on.
    Open,
    /// The action does not happen.
    Closed,
}

pub(super) fn script_config(document: ScriptConfig) -> (Pack, Origin) {
    let on_error = document.guardrails.fail_mode.map(|mode| match mode {
        FailMode::Open => OnFault::Allow,
        FailMode::Closed => OnFault::Block,
    });
    let scripts = Scripts { enabled: document.guardrails.enabled, on_error, ..Scripts::default() };
    let pack = Pack { pack: SCRIPT_CONFIGURATION.to_owned(), scripts, ..Pack::default() };
    (pack, [("/scripts".to_owned(), "/guardrails".to_owned())].into_iter().collect())
}
