//! tool-allowlist: ends the run if the agent calls a tool that the gateway's list does not allow.

use crate::prelude::*;
use crate::shared::settings::{Pattern, any_matches, list};

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<ToolAllowlist>("tool-allowlist", Category::Safety, 10, &[EventKind::BeforeTool])
        .aliases(&["tool_list"])
        .supports(CALLS);

/// The settings of tool-allowlist.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolAllowlist {
    /// Tools that may be called: names or glob patterns. Absent: all; empty: none.
    #[serde(skip_serializing_if = "Option::is_none", alias = "allowed_tools")]
    pub allow: Option<Vec<Pattern>>,
    /// Tools that may not be called, even if `allow` lists them.
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "denied_tools")]
    pub deny: Vec<Pattern>,
}

impl Guardrail for ToolAllowlist {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if self.allow.is_none() && self.deny.is_empty() {
            return Ok(Verdict::allow());
        }
        let tool = context.tool()?;
        let matches = |list: &[Pattern]| any_matches(list, tool);
        if !matches(&self.deny) && self.allow.as_deref().is_none_or(matches) {
            return Ok(Verdict::allow());
        }
        let (code, why) = if matches(&self.deny) {
            ("TOOL_DENIED", "is denied in")
        } else {
            ("TOOL_NOT_ALLOWED", "is not in the list of allowed tools of")
        };
        let mut verdict = Verdict::new(Effect::Halt, format!("Tool '{tool}' {why} this run."))
            .with("code", code)
            .with("tool", tool);
        verdict.user_message =
            Some(format!("The run was ended because it called `{tool}`, which is not allowed."));
        Ok(verdict)
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }

    fn summary(&self) -> Option<String> {
        match (&self.allow, self.deny.as_slice()) {
            (Some(allow), []) if allow.is_empty() => Some("Call no tool; a call ends the run.".to_owned()),
            (Some(allow), _) => {
                Some(format!("Call only these tools: {}. Any other call ends the run.", list(allow)))
            }
            (None, deny) if !deny.is_empty() => {
                Some(format!("Never call these tools: {}. Such a call ends the run.", list(deny)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use serde_json::json;

    fn effect(settings: serde_json::Value, tool: &str) -> Effect {
        let list: ToolAllowlist = serde_json::from_value(settings).unwrap();
        Run::of(list).before(tool, json!({})).effect
    }

    #[test]
    fn code_distinguishes_denied_from_unlisted_tools() {
        let code = |tool: &str| {
            let list: ToolAllowlist = serde_json::from_value(json!({"allow": ["a"], "deny": ["b"]})).unwrap();
            Run::of(list).before(tool, json!({})).metadata["code"].clone()
        };
        assert_eq!(code("b"), json!("TOOL_DENIED"));
        assert_eq!(code("c"), json!("TOOL_NOT_ALLOWED"));
    }

    #[test]
    fn deny_overrides_allow_and_absent_sets_no_limit() {
        assert_eq!(effect(json!({"deny": ["danger"]}), "danger"), Effect::Halt);
        assert_eq!(effect(json!({"deny": ["danger"]}), "ok"), Effect::Allow);
        assert_eq!(effect(json!({"allow": ["fs.*"], "deny": ["fs.rm"]}), "fs.rm"), Effect::Halt);
        assert_eq!(effect(json!({"allow": ["fs.*"]}), "fs.read"), Effect::Allow);
        assert_eq!(effect(json!({"allow": ["fs.*"]}), "net.get"), Effect::Halt);
        assert_eq!(effect(json!({"allow": []}), "a"), Effect::Halt);
        assert_eq!(effect(json!({}), "a"), Effect::Allow);
    }
}
