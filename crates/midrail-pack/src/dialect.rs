//! Packs in the words of other systems: validation hooks (`guardrail:`, `custom_guardrail:`), policy packs
//! (`policy_pack:`) and tool policies (`policy:` with `rules:`). Each becomes a native pack and means the same.

mod gateway;
mod hook;
mod script;

use std::collections::BTreeMap;

use midrail_core::Mode;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use gateway::{AsyncRuleSettings, Gateway, PolicyPack, RuleRef, SyncRuleSettings};
pub use hook::{
    AppliesTo, BuiltInGuardrail, CatalogueEntry, ChainLink, HookCondition, HookDocument, HookGuardrail,
    HookType, HookValidation, LooseEffect, LooseShare, Monitoring,
};
pub use script::{FailMode, SCRIPT_CONFIGURATION, ScriptConfig, ScriptRules};

use crate::case::Case;
use crate::decode::{Decoded, read};
use crate::diagnostic::{Diagnostic, Span};
use crate::raw::{Guard, Pack, Rule};
use crate::yaml::Node;

/// A pack as far as it could be read, and where the parts of it that were renamed stand in the text.
pub(crate) struct Translated {
    pub(crate) pack: Option<Pack>,
    pub(crate) origin: Origin,
    /// The tree without the parts that are wrong.
    pub(crate) node: Node,
    pub(crate) problems: Vec<Diagnostic>,
    /// Places where a further problem is an echo of one of these.
    pub(crate) echoes: Vec<Span>,
}

/// Pairs of a native place and the place in the text, as JSON pointers. The longest native prefix counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin(BTreeMap<String, String>);

impl Origin {
    /// The place in the text of a native place.
    pub(crate) fn of(&self, native: &str) -> String {
        let mut from = native;
        loop {
            if let Some(to) = self.0.get(from) {
                return format!("{to}{}", native.get(from.len()..).unwrap_or_default());
            }
            match from.rfind('/') {
                Some(end) => from = from.get(..end).unwrap_or_default(),
                None => return native.to_owned(),
            }
        }
    }
}

impl FromIterator<(String, String)> for Origin {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        Origin(pairs.into_iter().collect())
    }
}

/// Reads a document in whichever dialect it is written. One that calls itself a `pack` is a native one.
pub(crate) fn translate(node: &Node) -> Translated {
    let has = |keys: &[&str]| keys.iter().any(|key| node.get(key).is_some());
    if node.as_map().is_none() {
        let problem = Diagnostic::new(format!("expected a pack, found {}", node.kind()), node.span.clone())
            .with_help("a pack is a map that starts with `pack: NAME`");
        let (origin, node) = (Origin::default(), node.clone());
        return Translated { pack: None, origin, node, problems: vec![problem], echoes: Vec::new() };
    }
    if has(&["pack"]) {
        into_pack(node, native)
    } else if has(hook::KEYS) {
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

fn into_pack<T: DeserializeOwned>(node: &Node, of: fn(T) -> (Pack, Origin)) -> Translated {
    let Decoded { value, rest, problems, echoes } = read(node);
    let (pack, origin) = value.map(of).unzip();
    Translated { pack, origin: origin.unwrap_or_default(), node: rest, problems, echoes }
}

fn native(pack: Pack) -> (Pack, Origin) {
    (pack, Origin::default())
}

/// A tool policy made of rules.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPolicy {
    /// Its name, under which it denies.
    pub policy: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `shadow` or `enforce`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Its rules; the first that denies speaks.
    pub rules: Vec<Rule>,
    /// Cases that it has to decide as they say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
    ]
    .map(|(native, text)| (native.to_owned(), text.to_owned()));
    (pack, origin.into_iter().collect())
}
