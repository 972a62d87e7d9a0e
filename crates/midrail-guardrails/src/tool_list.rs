//! tool-allowlist: a gateway's list of tools that may or may not be called. A call of another one ends the run.

use midrail_core::{Context, Effect, EventKind, Fault, Guardrail, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::Pattern;

/// The settings of tool-allowlist.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolList {
    /// Tools that may be called: names or glob patterns. Absent: all; empty: none.
    #[serde(skip_serializing_if = "Option::is_none", alias = "allowed_tools")]
    pub allow: Option<Vec<Pattern>>,
    /// Tools that may not be called, whatever `allow` says.
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "denied_tools")]
    pub deny: Vec<Pattern>,
}

impl Guardrail for ToolList {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if self.allow.is_none() && self.deny.is_empty() {
            return Ok(Verdict::allow());
        }
        let tool = context.tool()?;
        let fits = |list: &[Pattern]| list.iter().any(|pattern| pattern.fits_name(tool));
        if !fits(&self.deny) && self.allow.as_deref().is_none_or(fits) {
            return Ok(Verdict::allow());
        }
        let mut verdict = Verdict::new(Effect::Halt, format!("Tool '{tool}' may not be called in this run."))
            .with("code", "TOOL_DENIED")
            .with("tool", tool);
        verdict.user_message = Some(format!("The run was ended: it called `{tool}`, which is not allowed."));
        Ok(verdict)
    }

    fn may_retry(&self, _: EventKind) -> bool {
        false
    }

    fn summary(&self) -> Option<String> {
        let names = |list: &[Pattern]| list.iter().map(|it| it.0.as_str()).collect::<Vec<_>>().join(", ");
        match (&self.allow, self.deny.as_slice()) {
            (Some(allow), []) if allow.is_empty() => Some("Call no tool: a call ends the run.".to_owned()),
            (Some(allow), _) => {
                Some(format!("Call only these tools: {}. Another call ends the run.", names(allow)))
            }
            (None, deny) if !deny.is_empty() => {
                Some(format!("Never call these tools: {}. Such a call ends the run.", names(deny)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use serde_json::json;

    fn effect(settings: serde_json::Value, tool: &str) -> Effect {
        let list: ToolList = serde_json::from_value(settings).unwrap();
        Run::of(list).before(tool, json!({})).effect
    }

    #[test]
    fn deny_beats_allow_and_absent_is_no_limit() {
        assert_eq!(effect(json!({"deny": ["danger"]}), "danger"), Effect::Halt);
        assert_eq!(effect(json!({"deny": ["danger"]}), "ok"), Effect::Allow);
        assert_eq!(effect(json!({"allow": ["fs.*"], "deny": ["fs.rm"]}), "fs.rm"), Effect::Halt);
        assert_eq!(effect(json!({"allow": ["fs.*"]}), "fs.read"), Effect::Allow);
        assert_eq!(effect(json!({"allow": ["fs.*"]}), "net.get"), Effect::Halt);
        assert_eq!(effect(json!({"allow": []}), "a"), Effect::Halt);
        assert_eq!(effect(json!({}), "a"), Effect::Allow);
    }
}
