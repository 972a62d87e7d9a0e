//! capability-scope (scope-003): blocks actions that need a capability which the agent does not declare.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use midrail_core::{Action, ActionType, glob};
use midrail_shell::command;
use serde::Deserializer;

use crate::prelude::*;
use crate::shared::data::PROGRAMS;
use crate::shared::file_access::known_actions;
use crate::shared::file_paths::is_device;
use crate::shared::one_or_many::OneOrMany;
use crate::shared::settings::{Pattern, any_matches};

pub(crate) const BUILTIN: Builtin =
    SCOPE.builtin::<CapabilityScope>("scope-003", &[EventKind::BeforeTool]).supports(CALLS);

/// The settings of capability-scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CapabilityScope {
    /// Rules that map actions to capabilities. Every rule that matches an action must be met.
    pub needs: Vec<CapabilityRule>,
}

/// A rule: if everything it names matches the action, the agent needs one of the capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CapabilityRule {
    /// Tools: names or glob patterns. Absent: every tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Pattern>>,
    /// The kind of action. A command that writes files or contacts a host counts as that as well. Absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionType>,
    /// Programs that a command starts: names or glob patterns. Absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<Pattern>>,
    /// The capability, or a list of which one is enough.
    #[serde(deserialize_with = "capabilities")]
    pub capability: OneOrMany,
}

fn capabilities<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMany, D::Error> {
    let list = OneOrMany::deserialize(deserializer)?;
    if list.is_empty() || list.iter().any(|name: &String| name.trim().is_empty()) {
        return Err(serde::de::Error::custom("a rule names at least one capability"));
    }
    Ok(list)
}

/// The default rules.
static DEFAULT_RULES: LazyLock<Vec<CapabilityRule>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/capabilities.json")).unwrap_or_default());

impl Default for CapabilityScope {
    fn default() -> Self {
        CapabilityScope { needs: DEFAULT_RULES.clone() }
    }
}

/// The effects of a call, including scripts that the agent wrote.
struct CallEffects<'a> {
    tool: &'a str,
    kinds: BTreeSet<ActionType>,
    programs: BTreeSet<&'a str>,
}

impl<'a> CallEffects<'a> {
    fn from_context(context: &Context<'a>) -> Result<Self, Missing> {
        let kinds = BTreeSet::from([context.action()?.kind]);
        let mut effects = CallEffects { tool: context.tool()?, kinds, programs: BTreeSet::new() };
        known_actions(context)?.into_iter().for_each(|(_, action)| effects.add(action));
        Ok(effects)
    }

    fn add(&mut self, action: &'a Action) {
        self.programs.extend(action.programs.iter().map(String::as_str));
        if !action.programs.is_empty() {
            self.kinds.insert(ActionType::Command);
        }
        if action.writes.iter().any(|file| !is_device(file)) {
            self.kinds.insert(ActionType::FileWrite);
        }
        // Registries belong to the work with code, and configured servers to the capability of their program.
        let is_client = |program: &String| PROGRAMS.has("network clients", program);
        if action.hosts.iter().any(|host| !command::is_registry(host))
            || (action.has_unknown_hosts && action.programs.iter().any(is_client))
        {
            self.kinds.insert(ActionType::Network);
        }
    }

    fn fits(&self, need: &CapabilityRule) -> bool {
        need.tools.as_deref().is_none_or(|list| any_matches(list, self.tool))
            && need.action.is_none_or(|kind| self.kinds.contains(&kind))
            && need
                .programs
                .as_deref()
                .is_none_or(|list| self.programs.iter().any(|name| any_matches(list, name)))
    }
}

/// Whether a declared capability, a name or glob pattern, matches a needed one. Case is ignored.
fn provides(declared: &str, needed: &str) -> bool {
    let (declared, needed) = (declared.trim().to_lowercase(), needed.trim().to_lowercase());
    declared == needed || glob::name_matches(&declared, &needed)
}

impl Guardrail for CapabilityScope {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let own = context.event.agent.as_ref().and_then(|agent| agent.capabilities.as_deref());
        let defined = context.definitions().filter_map(|it| it.agent.capabilities.as_deref());
        let declared: Vec<&[String]> = own.into_iter().chain(defined).collect();
        if declared.is_empty() || context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let effects = CallEffects::from_context(context)?;
        for need in self.needs.iter().filter(|need| effects.fits(need)) {
            let is_met = |list: &&[String]| {
                list.iter().any(|declared| need.capability.iter().any(|needed| provides(declared, needed)))
            };
            let Some(lacking) = declared.iter().find(|list| !is_met(list)) else { continue };
            let has = match lacking {
                [] => "declares none".to_owned(),
                list => format!("declares {}", list.join(", ")),
            };
            let what = match need.action.filter(|_| need.programs.is_none()) {
                Some(ActionType::FileWrite) => "changes files",
                Some(ActionType::FileRead) => "reads files",
                Some(ActionType::Command) => "runs a command",
                Some(ActionType::Network) => "contacts a host",
                Some(ActionType::Other) | None => "performs an action",
            };
            let needed = need.capability.join(" or ");
            return Ok(Verdict::block(format!(
                "'{}' {what}, which needs the capability {needed}; this agent {has}.",
                effects.tool
            ))
            .advise("Hand this step to an agent with that capability.")
            .with("tool", effects.tool)
            .with("needs", serde_json::json!(need.capability)));
        }
        Ok(Verdict::allow())
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Use only the capabilities that you declare.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Agent, Event};
    use serde_json::{Value, json};

    fn effect_with(
        guardrail: CapabilityScope,
        capabilities: Option<&[&str]>,
        tool: &str,
        args: Value,
    ) -> Effect {
        let capabilities = capabilities.map(|list| list.iter().map(|it| (*it).to_owned()).collect());
        let event = Event {
            agent: Some(Agent { capabilities, ..Agent::default() }),
            ..Event::before_tool(tool, args)
        };
        Run::of(guardrail).decide(&event).effect
    }

    fn effect(capabilities: &[&str], tool: &str, args: Value) -> Effect {
        effect_with(CapabilityScope::default(), Some(capabilities), tool, args)
    }

    fn bash(line: &str) -> Value {
        json!({"command": line})
    }

    #[test]
    fn absent_list_sets_no_limit_and_empty_list_allows_no_capability() {
        let write = || json!({"file_path": "a"});
        assert_eq!(effect_with(CapabilityScope::default(), None, "Write", write()), Effect::Allow);
        assert_eq!(effect(&[], "Write", write()), Effect::Block);
        assert_eq!(effect(&[], "Read", write()), Effect::Allow);
        assert_eq!(effect(&[], "think", json!({})), Effect::Allow);
    }

    #[test]
    fn default_rules_cover_everyday_work() {
        assert_eq!(effect(&["code"], "Write", json!({"file_path": "a"})), Effect::Allow);
        assert_eq!(effect(&["Code"], "Bash", bash("cargo test > out.txt")), Effect::Allow);
        assert_eq!(effect(&["review"], "Bash", bash("ls")), Effect::Block);
        assert_eq!(effect(&["code"], "WebFetch", json!({"url": "https://example.com"})), Effect::Block);
        assert_eq!(effect(&["research"], "WebFetch", json!({"url": "https://example.com"})), Effect::Allow);
        assert_eq!(effect(&["code"], "Bash", bash("kubectl apply -f a.yaml")), Effect::Block);
        assert_eq!(effect(&["code", "ops"], "Bash", bash("kubectl apply -f a.yaml")), Effect::Allow);
        assert_eq!(effect(&["*"], "Bash", bash("psql -c 'select 1'")), Effect::Allow);
    }

    #[test]
    fn command_needs_the_capabilities_of_its_effects() {
        assert_eq!(effect(&["shell"], "Bash", bash("ls 2>/dev/null")), Effect::Allow);
        assert_eq!(effect(&["shell"], "Bash", bash("echo x > a")), Effect::Block);
        assert_eq!(effect(&["shell"], "Bash", bash("bash -c 'touch a'")), Effect::Block);
        assert_eq!(effect(&["code"], "Bash", bash("curl https://example.com")), Effect::Block);
        assert_eq!(effect(&["code"], "Bash", bash("sudo env helm upgrade x")), Effect::Block);
    }

    #[test]
    fn scripts_that_the_agent_wrote_are_checked() {
        let event = Event {
            agent: Some(Agent { capabilities: Some(vec!["code".into()]), ..Agent::default() }),
            ..Event::before_tool("Bash", bash("./run.sh"))
        };
        let run = |content: &str| {
            let mut run = Run::of(CapabilityScope::default())
                .with_file("run.sh", content)
                .with_slice("written/run.sh", json!(true));
            run.decide(&event).effect
        };
        assert_eq!(run("terraform apply"), Effect::Block);
        assert_eq!(run("cargo build"), Effect::Allow);
    }

    #[test]
    fn rules_are_configurable() {
        let guardrail = || -> CapabilityScope {
            serde_json::from_value(json!({"needs": [
                {"tools": ["deploy*"], "capability": "release"},
                {"programs": ["git"], "action": "command", "capability": ["vcs", "code"]},
            ]}))
            .unwrap()
        };
        let effect = |has: &[&str], tool: &str, args| effect_with(guardrail(), Some(has), tool, args);
        assert_eq!(effect(&["code"], "deploy_prod", json!({})), Effect::Block);
        assert_eq!(effect(&["release"], "deploy_prod", json!({})), Effect::Allow);
        assert_eq!(effect(&["release"], "Bash", bash("git status")), Effect::Block);
        assert_eq!(effect(&["vcs"], "Bash", bash("git status")), Effect::Allow);
        assert_eq!(effect(&["release"], "Bash", bash("ls")), Effect::Allow);
        for wrong in [
            json!([{"tools": ["a"]}]),
            json!([{"capability": []}]),
            json!([{"capability": "a", "tool": "x"}]),
        ] {
            assert!(serde_json::from_value::<CapabilityScope>(json!({"needs": wrong})).is_err(), "{wrong}");
        }
    }
}
