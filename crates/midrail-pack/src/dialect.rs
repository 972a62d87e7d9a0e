//! Packs in the formats of other systems: validation hooks (`guardrail:`, `custom_guardrail:`), policy packs
//! (`policy_pack:`) and tool policies (`policy:` with `rules:`). Each is translated to an equivalent native pack.

mod gateway;
mod hook;
mod origin;
mod script;

use midrail_core::Mode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use gateway::{AsyncRuleSettings, Gateway, PolicyPack, RuleRef, SyncRuleSettings};
pub use hook::{
    AppliesTo, BuiltInGuardrail, CatalogueEntry, ChainLink, HookCondition, HookDocument, HookGuardrail,
    HookType, HookValidation, LooseEffect, LooseShare, Monitoring,
};
pub(crate) use origin::Origin;
pub use script::{FailMode, SCRIPT_CONFIGURATION, ScriptConfig, ScriptRules};

use crate::case::Case;
use crate::decode::{Decoded, read};
use crate::diagnostic::Diagnostic;
use crate::raw::{Guard, Pack, Rule};
use crate::yaml::Node;

/// Reads a document of any dialect: its pack, and the original places of renamed parts. A document with the key `pack` is
/// native.
pub(crate) fn translate(node: &Node) -> Decoded<(Pack, Origin)> {
    let Some(keys) = node.as_map() else {
        let problem = Diagnostic::new(format!("expected a pack, found {}", node.kind()), node.span.clone())
            .with_help("a pack is a map that starts with `pack: NAME`");
        return Decoded { value: None, rest: node.clone(), problems: vec![problem], echoes: Vec::new() };
    };
    let has = |names: &[&str]| keys.iter().any(|(key, _)| names.contains(&key.text.as_str()));
    if has(&["pack"]) {
        into_pack(node, native)
    } else if keys.iter().any(|(key, _)| hook::is_hook_key(&key.text)) {
        into_pack(node, hook::hook)
    } else if has(&["policy_pack", "sync_rules", "async_rules", "gateway"]) {
        into_pack(node, gateway::policy_pack)
    } else if node.get("guardrails").is_some_and(|guardrails| guardrails.as_map().is_some()) {
        into_pack(node, script::script_config)
    } else if has(&["policy", "rules"]) {
        into_pack(node, tool_policy)
    } else {
        into_pack(node, native)
    }
}

fn into_pack<T: DeserializeOwned>(node: &Node, convert: fn(T) -> (Pack, Origin)) -> Decoded<(Pack, Origin)> {
    let Decoded { value, rest, problems, echoes } = read(node);
    Decoded { value: value.map(convert), rest, problems, echoes }
}

fn native(pack: Pack) -> (Pack, Origin) {
    (pack, Origin::default())
}

/// A tool policy: a list of rules.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPolicy {
    /// Its name.
    pub policy: String,
    /// Its purpose.
    pub description: Option<String>,
    /// `shadow` or `enforce`.
    pub mode: Option<Mode>,
    /// Its rules; the first violated rule decides.
    pub rules: Vec<Rule>,
    /// Test cases.
    #[serde(default)]
    pub tests: Vec<Case>,
}

fn tool_policy(document: ToolPolicy) -> (Pack, Origin) {
    let guard = Guard {
        id: Some(document.policy.clone()),
        description: document.description.clone(),
        rules: Some(document.rules),
        ..Guard::default()
    };
    let pack = Pack {
        pack: document.policy,
        description: document.description,
        mode: document.mode,
        guardrails: vec![guard],
        tests: document.tests,
        ..Pack::default()
    };
    let origin = [
        ("/pack", "/policy"),
        ("/guardrails/0/id", "/policy"),
        ("/guardrails/0/rules", "/rules"),
        ("/guardrails/0", ""),
    ];
    (pack, origin.into())
}
