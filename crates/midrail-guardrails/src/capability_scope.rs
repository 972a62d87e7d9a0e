//! scope-003: an agent does only what it is declared to be capable of.

use std::collections::BTreeSet;

use midrail_core::{Action, ActionType, Context, Effect, Fault, Guardrail, Missing, Verdict, glob};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::settings::Pattern;
use crate::touched::scripts;

/// The settings of scope-003.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CapabilityScope {
    /// Which actions need which capability. Every row that fits an action has to be met.
    pub needs: Vec<Need>,
}

/// A row: what of an action is named has to fit, and the agent then needs one of the capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Tools: names or glob patterns. Absent: every tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Pattern>>,
    /// What is done. A command that writes files or talks to a host does that as well. Absent: anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionType>,
    /// Programs that a command starts: names or glob patterns. Absent: any or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<Pattern>>,
    /// The capability, or several of which one is enough.
    #[serde(deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany")]
    pub capability: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let list = match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(name) => vec![name],
        OneOrMany::Many(list) => list,
    };
    match list.is_empty() || list.iter().any(|name| name.trim().is_empty()) {
        true => Err(serde::de::Error::custom("a row names at least one capability")),
        false => Ok(list),
    }
}

/// What actions need where a pack does not say: an action, programs, and the capabilities of which one is enough.
const NEEDS: &[(Option<ActionType>, &[&str], &[&str])] = &[
    (
        Some(ActionType::FileWrite),
        &[],
        &[
            "code",
            "coding",
            "write",
            "edit",
            "file_write",
            "files",
            "docs",
            "documentation",
            "test",
            "testing",
        ],
    ),
    (
        Some(ActionType::Command),
        &[],
        &["code", "coding", "shell", "command", "commands", "test", "testing", "build", "ops", "deploy"],
    ),
    (Some(ActionType::Network), &[], &["web", "network", "research", "browse", "search", "fetch"]),
    (
        None,
        &[
            "kubectl",
            "helm",
            "terraform",
            "tofu",
            "pulumi",
            "ansible",
            "ansible-playbook",
            "flyctl",
            "heroku",
        ],
        &["deploy", "deployment", "ops", "infrastructure"],
    ),
    (
        None,
        &["psql", "mysql", "mariadb", "sqlite3", "mongosh", "redis-cli", "sqlcmd", "clickhouse-client"],
        &["database", "data", "sql"],
    ),
];

impl Default for CapabilityScope {
    fn default() -> Self {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let row = |(action, programs, capability): &(Option<ActionType>, &[&str], &[&str])| Need {
            tools: None,
            action: *action,
            programs: Some(names(programs).into_iter().map(Pattern).collect())
                .filter(|it: &Vec<_>| !it.is_empty()),
            capability: names(capability),
        };
        CapabilityScope { needs: NEEDS.iter().map(row).collect() }
    }
}

/// What a call does, with the scripts of the agent's own that it runs.
struct Does<'a> {
    tool: &'a str,
    kinds: BTreeSet<ActionType>,
    programs: BTreeSet<&'a str>,
}

impl<'a> Does<'a> {
    fn of(context: &Context<'a>) -> Result<Self, Missing> {
        let action = context.action()?;
        let tool = context.tool()?;
        let mut does = Does { tool, kinds: BTreeSet::from([action.kind]), programs: BTreeSet::new() };
        does.add(action)?;
        for (_, script) in scripts(context, action)? {
            does.add(script)?;
        }
        Ok(does)
    }

    fn add(&mut self, action: &'a Action) -> Result<(), Missing> {
        if action.is_partial {
            return Err(Missing("the command line is more than is looked into".to_owned()));
        }
        self.programs.extend(action.programs.iter().map(String::as_str));
        if !action.programs.is_empty() {
            self.kinds.insert(ActionType::Command);
        }
        if action.writes.iter().any(|file| !crate::places::is_nobodys(file)) {
            self.kinds.insert(ActionType::FileWrite);
        }
        if !action.hosts.is_empty() {
            self.kinds.insert(ActionType::Network);
        }
        Ok(())
    }

    fn fits(&self, need: &Need) -> bool {
        let any = |list: &[Pattern], name: &str| list.iter().any(|pattern| pattern.fits_name(name));
        need.tools.as_deref().is_none_or(|list| any(list, self.tool))
            && need.action.is_none_or(|kind| self.kinds.contains(&kind))
            && need.programs.as_deref().is_none_or(|list| self.programs.iter().any(|name| any(list, name)))
    }
}

/// Whether a capability that is declared, as a name or a glob pattern, is one that is needed. Case does not count.
fn is(declared: &str, needed: &str) -> bool {
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
        let does = Does::of(context)?;
        for need in self.needs.iter().filter(|need| does.fits(need)) {
            let is_met = |list: &&[String]| {
                list.iter().any(|declared| need.capability.iter().any(|needed| is(declared, needed)))
            };
            let Some(lacking) = declared.iter().find(|list| !is_met(list)) else { continue };
            let has = match lacking {
                [] => "it is declared to have none".to_owned(),
                list => format!("it has {}", list.join(", ")),
            };
            let what = match need.action.filter(|_| need.programs.is_none()) {
                Some(ActionType::FileWrite) => "changes files",
                Some(ActionType::FileRead) => "reads files",
                Some(ActionType::Command) => "runs a command",
                Some(ActionType::Network) => "talks to the network",
                Some(ActionType::Other) | None => "does something",
            };
            let needed = need.capability.join(" or ");
            return Ok(Verdict::block(format!(
                "'{}' {what} that this agent is not declared to be capable of: it needs {needed}, and {has}.",
                does.tool
            ))
            .advise("Hand this step to an agent that has the capability.")
            .with("tool", does.tool)
            .with("needs", serde_json::json!(need.capability)));
        }
        Ok(Verdict::allow())
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do only what you are declared to be capable of.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
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
    fn absent_is_no_limit_and_empty_is_nothing_that_needs_one() {
        let write = || json!({"file_path": "a"});
        assert_eq!(effect_with(CapabilityScope::default(), None, "Write", write()), Effect::Allow);
        assert_eq!(effect(&[], "Write", write()), Effect::Block);
        assert_eq!(effect(&[], "Read", write()), Effect::Allow);
        assert_eq!(effect(&[], "think", json!({})), Effect::Allow);
    }

    #[test]
    fn the_table_knows_everyday_work() {
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
    fn a_command_that_does_more_needs_more() {
        assert_eq!(effect(&["shell"], "Bash", bash("ls 2>/dev/null")), Effect::Allow);
        assert_eq!(effect(&["shell"], "Bash", bash("echo x > a")), Effect::Block);
        assert_eq!(effect(&["shell"], "Bash", bash("bash -c 'touch a'")), Effect::Block);
        assert_eq!(effect(&["code"], "Bash", bash("curl https://example.com")), Effect::Block);
        assert_eq!(effect(&["code"], "Bash", bash("sudo env helm upgrade x")), Effect::Block);
    }

    #[test]
    fn scripts_of_the_agents_own_count() {
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
    fn rows_are_the_packs() {
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
