//! `boxes`: what contained calls may do.

use midrail_core::{SandboxBackground, SandboxLimits, SandboxNetwork, SandboxRules};
use midrail_guardrails::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scalar::OneOrMany;

/// What a contained call may do. What is absent is as in the box that it extends.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BoxSettings {
    /// The box that this one differs from: `default` unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// The network that the call reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<SandboxNetwork>,
    /// Whether the call changes nothing but the files and folders of `write`: no other file of the project, and no cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Files and folders to read in addition to the project, the system and toolchains: absolute, or relative to the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: OneOrMany,
    /// Files and folders to change in addition to the project, the temporary folder and the caches of package managers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: OneOrMany,
    /// Files and folders of the project that must stay as they are, in addition to the settings of git, agents and editors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_write: OneOrMany,
    /// Variables of the environment that the call keeps, although their names are those of secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: OneOrMany,
    /// When the processes end that the call leaves in the background: with the coding agent unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<SandboxBackground>,
    /// How much the call may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BoxLimits>,
}

/// How much a contained call may use.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BoxLimits {
    /// The time until it is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Seconds>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Memory of each process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Size of each file that it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<Bytes>,
}

impl BoxSettings {
    /// These settings on top of the box that they extend.
    pub(crate) fn on(&self, mut rules: SandboxRules) -> SandboxRules {
        rules.network = self.network.unwrap_or(rules.network);
        rules.read_only = self.read_only.unwrap_or(rules.read_only);
        rules.background = self.background.unwrap_or(rules.background);
        rules.read.extend(self.read.iter().cloned());
        rules.write.extend(self.write.iter().cloned());
        rules.deny_write.extend(self.deny_write.iter().cloned());
        rules.env.extend(self.env.iter().cloned());
        let BoxLimits { time, processes, memory, file_size } = self.limits.unwrap_or_default();
        rules.limits = SandboxLimits {
            time_s: time.map(|time| time.whole().into()).or(rules.limits.time_s),
            processes: processes.or(rules.limits.processes),
            memory: memory.map(|it| it.0).or(rules.limits.memory),
            file_size: file_size.map(|it| it.0).or(rules.limits.file_size),
        };
        rules
    }
}

/// A number of bytes, such as `512M` or `8G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(extend("anyOf" = [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+[KMGT]$"}]))]
pub struct Bytes(pub u64);

impl TryFrom<Value> for Bytes {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let parsed = match &value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => parse_bytes(text),
            _ => None,
        };
        parsed.map(Bytes).ok_or("this is not a number of bytes; write a number such as `512M` or `8G`")
    }
}

fn parse_bytes(text: &str) -> Option<u64> {
    let shift = match text.trim().chars().next_back()? {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        'T' => 40,
        digit if digit.is_ascii_digit() => 0,
        _ => return None,
    };
    let digits = text.trim().trim_end_matches(['K', 'M', 'G', 'T']);
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_are_numbers_with_a_unit() {
        let bytes = |value: Value| Bytes::try_from(value).ok().map(|it| it.0);
        assert_eq!(bytes(json!("8G")), Some(8 << 30));
        assert_eq!(bytes(json!("512M")), Some(512 << 20));
        assert_eq!(bytes(json!(4096)), Some(4096));
        assert_eq!(bytes(json!("4096")), Some(4096));
        for wrong in [json!("much"), json!(-1), json!(1.5), json!("G"), json!("99999999999T"), json!("1 GB")]
        {
            assert_eq!(bytes(wrong.clone()), None, "{wrong}");
        }
    }
}
