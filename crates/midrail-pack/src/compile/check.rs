//! The check of a guardrail: one kind, or none.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{Condition, Context, Effect, Guardrail, Spec, Tools};
use midrail_guardrails::{
    Builtin, CallKey, Calls, Completion, DeepGuardrail, Feedback, PackKey, PrerequisiteRule, Prerequisites,
    ReadBeforeWrite, RuleSet, Script, SettingsProblem,
};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::compile::compiler::Compiler;
use crate::decode::{describe_serde_error, split_keys};
use crate::expr::Expected;
use crate::hints::misplaced_setting;
use crate::issue::{Issue, pointer_key};
use crate::raw::{Guard, KeySource, RequireBefore};
use crate::rule::{CustomCheck, Required, key, with_messages};
use crate::scalar::OneOrMany;

type Check = Option<Arc<dyn Guardrail>>;

impl Compiler<'_> {
    /// The check, with the messages of the pack.
    pub(super) fn check(&mut self, at: &str, guard: &Guard, builtin: Option<&Builtin>, spec: &Spec) -> Check {
        let kinds: Vec<&str> = [
            ("use", guard.uses.is_some()),
            ("check", guard.check.is_some() && guard.deep.is_none()),
            ("read_before_write", guard.read_before_write.is_some()),
            ("require_before", guard.require_before.is_some()),
            ("sequential", guard.sequential.is_some()),
            ("keyed", guard.keyed.is_some()),
            ("rules", guard.rules.is_some()),
            ("count", guard.count.is_some()),
            ("flow", guard.flow.is_some()),
            ("redact", guard.redact.is_some()),
            ("modify", guard.modify.is_some()),
            ("feedback", guard.feedback.is_some()),
            ("completion", guard.completion.is_some()),
            ("script", guard.script.is_some()),
            ("cedar", guard.cedar.is_some()),
            ("deep", guard.deep.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect();
        if let [first, others @ ..] = kinds.as_slice()
            && !others.is_empty()
        {
            for other in others {
                let message = format!("`{other}` cannot be combined with `{first}`");
                self.issue(format!("{at}/{other}"), message, "make it a separate guardrail");
            }
            return None;
        }
        if guard.with.is_some() && guard.uses.is_none() {
            let help = "add `use: NAME` of the guardrail that they are for";
            self.issue(format!("{at}/with"), "`with` gives settings to a built-in guardrail", help);
            return None;
        }
        let inner = match builtin {
            Some(builtin) => self.built_in(at, guard, builtin, spec)?,
            None => return self.custom(at, guard, spec),
        };
        if guard.user_message.is_none() && guard.corrective_message.is_none() {
            return Some(inner);
        }
        Some(with_messages(inner, guard.user_message.clone(), guard.corrective_message.clone()))
    }

    fn built_in(&mut self, at: &str, guard: &Guard, builtin: &Builtin, spec: &Spec) -> Check {
        if let Some(feedback) = &guard.feedback {
            return self.feedback(at, guard, feedback, spec);
        }
        if let Some(settings) = &guard.read_before_write {
            return self.read_before_write(&format!("{at}/read_before_write"), settings);
        }
        if let Some(rule) = &guard.require_before {
            return self.require_before(&format!("{at}/require_before"), rule);
        }
        if let Some(rules) = &guard.sequential {
            return self.sequential(&format!("{at}/sequential"), rules);
        }
        if let Some(rules) = &guard.keyed {
            let rules = rules.iter().enumerate().map(|(i, rule)| (format!("{at}/keyed/{i}"), rule));
            return self.keyed(&format!("{at}/keyed"), rules.collect());
        }
        if let Some(rules) = &guard.rules {
            let rules = rules.iter().enumerate();
            let rules =
                rules.map(|(i, rule)| (format!("{at}/rules/{i}/require_before"), &rule.require_before));
            return self.rule_set(&format!("{at}/rules"), rules.collect());
        }
        if let Some(count) = &guard.count {
            return self.count(&format!("{at}/count"), count, &guard.command);
        }
        if let Some(flow) = &guard.flow {
            // The condition limits what it checks, and not what it records.
            let when = self.when(at, guard);
            return self.flow(&format!("{at}/flow"), flow, when);
        }
        if let Some(redact) = &guard.redact {
            return self.redact(&format!("{at}/redact"), redact, guard);
        }
        if let Some(changes) = &guard.modify {
            return self.modify(&format!("{at}/modify"), changes, guard);
        }
        if let Some(completion) = &guard.completion {
            // In a definition, its settings are next to the keys of the guardrail.
            let at = if at.ends_with("/completion") { at.to_owned() } else { format!("{at}/completion") };
            return self.completion(&at, completion);
        }
        if let Some(script) = &guard.script {
            return self.script(&format!("{at}/script"), script);
        }
        if let Some(settings) = &guard.cedar {
            return self.cedar(&format!("{at}/cedar"), settings);
        }
        if let Some(settings) = &guard.deep {
            let condition: Option<Arc<dyn Condition>> = match &guard.check {
                Some(check) => Some(Arc::new(self.required(at, check)?)),
                None => None,
            };
            return Some(Arc::new(DeepGuardrail::new(settings.clone(), condition.zip(guard.check.clone()))));
        }
        let at = format!("{at}/with");
        if builtin.pack_key == PackKey::Completion
            && let Ok(completion) =
                guard.with.as_ref().map_or(Ok(Completion::default()), Completion::deserialize)
        {
            return self.completion(&at, &completion);
        }
        self.with_settings(&at, guard.with.as_ref(), builtin)
    }

    /// A condition, if there is one. `None`: it is invalid.
    fn condition_at(&mut self, at: &str, source: Option<&String>) -> Option<Option<Arc<dyn Condition>>> {
        let Some(source) = source else { return Some(None) };
        self.condition(at, source).map(Some)
    }

    /// A check that must hold.
    fn required(&mut self, at: &str, check: &str) -> Option<Required> {
        self.expression(&format!("{at}/check"), check, Expected::Bool).map(Required)
    }

    fn script(&mut self, at: &str, script: &Script) -> Check {
        let problems = script.problems();
        let is_valid = problems.is_empty();
        for (below, message) in problems {
            self.issue(format!("{at}{below}"), message, "`midrail explain javascript` lists its settings");
        }
        if is_valid { Some(Arc::new(script.clone())) } else { None }
    }

    fn completion(&mut self, at: &str, completion: &Completion) -> Check {
        let mut is_valid = true;
        let compiled = completion.compiled(&mut |below, source| {
            let condition = self.condition(&format!("{at}{below}"), source);
            is_valid &= condition.is_some();
            condition
        });
        match compiled {
            Ok(guardrail) => Some(guardrail).filter(|_| is_valid),
            Err(problems) => {
                let issue = |SettingsProblem { at: below, message, help }| {
                    Issue::new(format!("{at}{below}"), message).help(help)
                };
                self.issues.extend(problems.into_iter().map(issue));
                None
            }
        }
    }

    /// A guardrail of the catalogue with settings. Reports all problems: an invalid setting is removed, and the rest is read
    /// again.
    fn with_settings(&mut self, at: &str, settings: Option<&Value>, builtin: &Builtin) -> Check {
        if let Some(other) = settings.filter(|settings| !settings.is_object()) {
            let noun = if other.is_array() { "a list" } else { "one value" };
            let example = format!(
                "write them by name: `with: {{NAME: VALUE}}`; `midrail explain {}` lists them",
                builtin.id
            );
            self.issue(at, format!("the settings of a guardrail are a map, not {noun}"), example);
            return None;
        }
        let mut rest = settings.cloned().unwrap_or_else(|| json!({}));
        let mut is_valid = true;
        for _ in 0..MAX_PROBLEMS {
            let problem = match builtin.settings.build(&rest) {
                Ok(guardrail) => return Some(guardrail).filter(|_| is_valid),
                Err(problem) => problem,
            };
            is_valid = false;
            let (keys, message) = split_keys(&problem.message);
            let below =
                keys.iter().fold(problem.at.clone(), |at, name| format!("{at}/{}", pointer_key(name)));
            let (message, help) = describe_serde_error(message);
            let misplaced =
                keys.is_empty().then(|| problem.at.strip_prefix('/').and_then(misplaced_setting)).flatten();
            let help = misplaced.or(help);
            let help = help.unwrap_or_else(|| format!("`midrail explain {}` lists its settings", builtin.id));
            self.issue(format!("{at}{below}"), message, help);
            if !remove(&mut rest, &below) {
                break;
            }
        }
        None
    }

    fn custom(&mut self, at: &str, guard: &Guard, spec: &Spec) -> Check {
        let check = match &guard.check {
            Some(check) => Some(self.required(at, check)?),
            None => None,
        };
        let effect = guard.effect.unwrap_or(Effect::Block);
        let reason = match &guard.reason {
            Some(reason) => reason.clone(),
            None if !spec.description.is_empty() => spec.description.clone(),
            None => default_reason(spec, effect, check.as_ref().map(|check| check.0.source())),
        };
        Some(Arc::new(CustomCheck {
            check,
            effect,
            reason,
            user_message: guard.user_message.clone(),
            corrective_message: guard.corrective_message.clone(),
        }))
    }

    fn feedback(&mut self, at: &str, guard: &Guard, feedback: &Feedback, spec: &Spec) -> Check {
        let at = feedback_place(at);
        for key in feedback.empty_texts() {
            self.issue(format!("{at}/{key}"), format!("`{key}` is empty"), "write a text, or leave it out");
        }
        match feedback.sources().as_slice() {
            [_] => {}
            [] => {
                let help = "add `static: TEXT`; `midrail explain feedback` lists the other sources";
                self.issue(&at, "this feedback has no text or other source", help);
                return None;
            }
            [(first, _), others @ ..] => {
                for (other, _) in others {
                    let message = format!("`{other}` cannot be combined with `{first}`");
                    self.issue(format!("{at}/{other}"), message, "make it a separate feedback");
                }
                return None;
            }
        }
        let should_run = self.condition_at(&format!("{at}/should_run"), feedback.should_run.as_ref())?;
        let name = provider_name(guard, &spec.id)?;
        Some(Arc::new(feedback.provider(name, should_run)?))
    }

    fn read_before_write(&mut self, at: &str, settings: &ReadBeforeWrite) -> Check {
        self.patterns(&format!("{at}/read_tools"), &settings.read_tools);
        self.patterns(&format!("{at}/write_tools"), &settings.write_tools);
        Some(Arc::new(settings.clone()))
    }

    fn require_before(&mut self, at: &str, rule: &RequireBefore) -> Check {
        for (name, patterns) in [("tool", &rule.tool), ("reads", &rule.reads)] {
            self.patterns(&format!("{at}/{name}"), patterns);
        }
        if rule.tool.is_empty() && rule.command.is_empty() {
            let help = "add `tool: NAME` or `command: TEXT`";
            self.issue(format!("{at}/tool"), "at least one tool or command is needed", help);
        }
        match (rule.requires.is_empty(), rule.reads.is_empty()) {
            (true, true) => {
                self.issue(at, "the prerequisites are missing", "add `requires: TOOL` or `reads: TOOL`");
                None
            }
            (false, false) => {
                let message = "`reads` cannot be combined with `requires`";
                self.issue(format!("{at}/reads"), message, "make them two rules");
                None
            }
            (true, false) => self.reads(at, rule),
            (false, true) => self.requires(at, rule),
        }
    }

    fn reads(&mut self, at: &str, rule: &RequireBefore) -> Check {
        for (name, is_there) in [("command", !rule.command.is_empty()), ("since", rule.since.is_some())] {
            if is_there {
                self.issue(format!("{at}/{name}"), format!("`{name}` needs `requires`"), "leave it out");
            }
        }
        let key = match &rule.key {
            None => Vec::new(),
            Some(KeySource::Args(names)) => names.0.clone(),
            Some(KeySource::Expression { .. }) => {
                let help = "use the name of the argument with the path";
                self.issue(format!("{at}/key"), "with `reads`, the key is a path", help);
                return None;
            }
        };
        Some(Arc::new(ReadBeforeWrite {
            read_tools: rule.reads.0.clone(),
            write_tools: rule.tool.0.clone(),
            new_files: rule.new_files.unwrap_or_default(),
            freshness: rule.freshness.unwrap_or_default(),
            own_writes: rule.own_writes.unwrap_or_default(),
            mount: rule.mount.clone(),
            key,
            ..ReadBeforeWrite::default()
        }))
    }

    fn requires(&mut self, at: &str, rule: &RequireBefore) -> Check {
        for (name, is_there) in [
            ("new_files", rule.new_files.is_some()),
            ("freshness", rule.freshness.is_some()),
            ("own_writes", rule.own_writes.is_some()),
            ("mount", rule.mount.is_some()),
        ] {
            if is_there {
                self.issue(format!("{at}/{name}"), format!("`{name}` needs `reads`"), "leave it out");
            }
        }
        let key = match &rule.key {
            None => None,
            Some(KeySource::Args(names)) if names.is_empty() => {
                let help = "leave `key` out for a rule without one";
                self.issue(format!("{at}/key"), "a key needs the name of an argument", help);
                return None;
            }
            Some(KeySource::Args(names)) => Some(CallKey::Args(names.0.clone())),
            Some(KeySource::Expression { expression }) => {
                let expression =
                    self.expression(&format!("{at}/key/expression"), expression, Expected::Any)?;
                Some(CallKey::Computed(Arc::new(move |context: &Context<'_>| key(&expression, context))))
            }
        };
        let requires = rule.requires.iter().enumerate();
        let requires: Vec<Calls> = requires
            .map(|(i, calls)| self.calls(&format!("{at}/requires/{i}"), calls))
            .collect::<Option<_>>()?;
        let since = match &rule.since {
            Some(calls) => Some(self.calls(&format!("{at}/since"), calls)?),
            None => None,
        };
        let mut gates: Vec<Calls> = rule.tool.iter().map(Calls::from).collect();
        if !rule.command.is_empty() {
            gates.push(Calls::Commands(self.commands(&format!("{at}/command"), &rule.command)?));
        }
        let rules = gates.into_iter().map(|gate| PrerequisiteRule {
            gate,
            requires: requires.clone(),
            key: key.clone(),
            since: since.clone(),
        });
        Some(Arc::new(Prerequisites { rules: rules.collect() }))
    }

    fn sequential(&mut self, at: &str, rules: &BTreeMap<String, OneOrMany>) -> Check {
        for (tool, requires) in rules {
            let place = format!("{at}/{}", pointer_key(tool));
            self.pattern(&place, tool);
            self.patterns(&place, requires);
            if requires.is_empty() {
                let message = format!("the prerequisites of `{tool}` are missing");
                self.issue(place, message, "list the tools that must succeed first");
            }
        }
        let rules = rules.iter().flat_map(|(tool, requires)| Prerequisites::new(tool, requires.iter()).rules);
        Some(Arc::new(Prerequisites { rules: rules.collect() }))
    }

    /// Rules of `keyed`, each of which needs a key.
    fn keyed(&mut self, at: &str, rules: Vec<(String, &RequireBefore)>) -> Check {
        for (at, _) in rules.iter().filter(|(_, rule)| rule.key.is_none() && !rule.requires.is_empty()) {
            let help = "add `key: ARGUMENT`, or use `require_before` for a rule without one";
            self.issue(at, "a rule of `keyed` needs a `key`", help);
        }
        self.rule_set(at, rules)
    }

    fn rule_set(&mut self, at: &str, rules: Vec<(String, &RequireBefore)>) -> Check {
        if rules.is_empty() {
            self.issue(at, "the list of rules is empty", "add a rule, or leave it out");
        }
        let rules = rules.into_iter().filter_map(|(at, rule)| self.require_before(&at, rule)).collect();
        Some(Arc::new(RuleSet { rules }))
    }
}

/// The place of the settings of feedback. In a definition, they are the item itself.
pub(crate) fn feedback_place(at: &str) -> String {
    if at.rsplit('/').nth(1) == Some("feedback") { at.to_owned() } else { format!("{at}/feedback") }
}

/// The name of a feedback provider for agents: its own, or that of its source.
pub(crate) fn provider_name(guard: &Guard, id: &str) -> Option<String> {
    let feedback = guard.feedback.as_ref()?;
    let (_, title) = feedback.sources().first().copied()?;
    let named = feedback.name.as_ref().or(guard.name.as_ref()).or(guard.id.as_ref());
    Some(named.cloned().unwrap_or_else(|| {
        // The number distinguishes it from others of its kind.
        match id.rsplit_once('-') {
            Some((_, number)) if number.parse::<u32>().is_ok() => format!("{title}-{number}"),
            _ => title.to_owned(),
        }
    }))
}

/// The maximum number of reported problems in the settings of one guardrail.
const MAX_PROBLEMS: usize = 16;

/// Removes the value at a JSON pointer.
fn remove(value: &mut Value, at: &str) -> bool {
    let Some((parent, last)) = at.rsplit_once('/') else { return false };
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => map.remove(last).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// The reason of a custom guardrail without one: "`x` does not allow deploy."
fn default_reason(spec: &Spec, effect: Effect, check: Option<&str>) -> String {
    let does = match effect {
        Effect::Block | Effect::Halt => "does not allow",
        Effect::Escalate => "asks a person about",
        Effect::Warn => "warns about",
        Effect::Redact => "changes",
        Effect::Contain => "runs in a sandbox",
        Effect::Retry => "sends back",
        Effect::Allow => "notes",
    };
    let tools = match &spec.tools {
        Tools::All => "this".to_owned(),
        Tools::Only(names) => match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => "this".to_owned(),
        },
    };
    match check {
        Some(check) => format!("`{}` {does} {tools} unless this holds: {}", spec.id, check.trim()),
        None => format!("`{}` {does} {tools}.", spec.id),
    }
}
