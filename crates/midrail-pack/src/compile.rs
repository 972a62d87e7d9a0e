//! From a raw pack to guardrails that can be asked. Whatever is wrong is told by its place in the pack.

use std::collections::BTreeSet;
use std::sync::Arc;

use midrail_core::{
    Agent, Condition, Context, Definition, Effect, Entry, Guardrail, Missing, Mode, OnFault, Spec, Task,
    Tools, glob,
};
use midrail_guardrails::{
    InjectionPatterns, Key, KeyedDependency, KeyedRule, Page, ReadBeforeWrite, RuleSet, ScopeBoundary,
    SecretRedaction, SequentialDependency, TimeBudget, TokenBudget, ToolAllowlist, Unconfigured,
};

use crate::diagnostic::{Span, nearest};
use crate::expr::{Expected, Expression};
use crate::names::{EVENT_NAMES, GLOBS};
use crate::raw::{AgentDefinition, Guard, KeySource, Pack, RequireBefore, StateScope, TaskDefinition};
use crate::rule::{All, CustomCheck, When, key};

/// A pack compiled on its own.
pub(crate) struct Compiled {
    pub(crate) entries: Vec<CompiledGuard>,
    pub(crate) definitions: Vec<Definition>,
}

/// A guardrail of a pack, with what layering has to know of it.
pub(crate) struct CompiledGuard {
    pub(crate) entry: Entry,
    /// Its place in the pack.
    pub(crate) at: String,
    pub(crate) locked: bool,
    pub(crate) enabled: bool,
}

/// Something wrong with a pack, at a place given as a JSON pointer, and there within a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) at: String,
    pub(crate) span: Option<Span>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Issue {
    pub(crate) fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Issue { at: at.into(), span: None, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Ids that the law keeps its own state under.
const RESERVED: &[&str] = &["midrail", "var", "warn", "retry", "approval", "halted", "shadow"];

/// Compiles a pack, or lists everything that is wrong with it.
pub(crate) fn compile(pack: &Pack) -> Result<Compiled, Vec<Issue>> {
    let mut compiler = Compiler { pack, issues: Vec::new(), ids: BTreeSet::new(), entries: Vec::new() };
    if pack.pack.trim().is_empty() {
        compiler.issues.push(Issue::new("/pack", "a pack needs a name"));
    }
    for (at, guard) in pack.guardrails.iter().enumerate() {
        compiler.guard(&format!("/guardrails/{at}"), guard, &Binding::default());
    }
    let mut definitions = Vec::new();
    for (name, agent) in &pack.agents {
        definitions.push(compiler.agent(name, agent));
    }
    for (name, task) in &pack.tasks {
        definitions.push(compiler.task(name, task));
    }
    for pattern in pack.tool_risks.keys() {
        compiler.pattern("/tool_risks", pattern);
    }
    if compiler.issues.is_empty() {
        Ok(Compiled { entries: compiler.entries, definitions })
    } else {
        Err(compiler.issues)
    }
}

/// The always-on built-ins, as every policy has them.
pub(crate) fn always_on() -> Vec<Entry> {
    let pages = midrail_guardrails::CATALOGUE.iter().filter(|page| page.always_on);
    pages.map(|page| Entry { spec: page_spec(page), guardrail: built_in(page) }).collect()
}

/// What a guardrail is bound to, beyond what it says itself.
#[derive(Default)]
struct Binding {
    definition: Option<Definition>,
    tools: Option<Vec<String>>,
}

struct Compiler<'p> {
    pack: &'p Pack,
    issues: Vec<Issue>,
    ids: BTreeSet<String>,
    entries: Vec<CompiledGuard>,
}

impl Compiler<'_> {
    fn guard(&mut self, at: &str, guard: &Guard, binding: &Binding) {
        let page = self.page(at, guard);
        let Some(id) = self.id(at, guard, page) else { return };
        let mut spec = match page {
            Some(page) => page_spec(page),
            None => Spec::new(id.as_str()),
        };
        spec.id = id.as_str().into();
        self.fill(at, &mut spec, guard, page, binding);
        let Some(guardrail) = self.check(at, guard, page, &spec) else { return };
        let locked = guard.lock.unwrap_or(self.pack.lock);
        let enabled = guard.enabled.unwrap_or(true);
        if page.is_some_and(|page| page.always_on) && (!enabled || spec.mode == Mode::Shadow) {
            let issue = Issue::new(at, format!("`{id}` is always on"));
            self.issues.push(issue.help("it can only be lifted for one action, by an emergency override"));
        }
        self.entries.push(CompiledGuard {
            entry: Entry { spec, guardrail },
            at: at.to_owned(),
            locked,
            enabled,
        });
    }

    /// The built-in that a guardrail is, if it is one.
    fn page(&mut self, at: &str, guard: &Guard) -> Option<&'static Page> {
        let name = match guard {
            Guard { uses: Some(name), .. } => name.as_str(),
            Guard { read_before_write: Some(_), .. } => "read_before_write",
            Guard { require_before: Some(_), .. }
            | Guard { sequential: Some(_), .. }
            | Guard { keyed: Some(_), .. }
            | Guard { rules: Some(_), .. } => "require_before",
            _ => return None,
        };
        let page = midrail_guardrails::page(name);
        if page.is_none() || (guard.uses.is_some() && name == "require_before") {
            let known = midrail_guardrails::CATALOGUE.iter().flat_map(|page| {
                std::iter::once(page.id).chain(std::iter::once(page.name)).chain(page.aliases.iter().copied())
            });
            let usable: Vec<&str> = known.filter(|id| !matches!(*id, "require_before")).collect();
            let help = match nearest(name, usable.iter().copied()) {
                Some(near) if near != name => format!("did you mean `{near}`?"),
                _ if name == "require_before" => "write `require_before: {tool: …, requires: …}`".to_owned(),
                _ => format!("the built-in guardrails are {}", usable.join(", ")),
            };
            let place = if guard.uses.is_some() { format!("{at}/use") } else { at.to_owned() };
            self.issues.push(Issue::new(place, format!("unknown guardrail `{name}`")).help(help));
            return None;
        }
        page
    }

    fn id(&mut self, at: &str, guard: &Guard, page: Option<&Page>) -> Option<String> {
        let id = match (guard, page) {
            (Guard { id: Some(id), .. }, _) => id.clone(),
            (Guard { name: Some(name), .. }, None) => name.clone(),
            (Guard { require_before: Some(rule), .. }, _) => {
                format!("require_before:{}", rule.tool.join("+"))
            }
            (Guard { sequential: Some(_), .. }, _) => "sequential_dependency".to_owned(),
            (Guard { keyed: Some(_), .. }, _) => "keyed_dependency".to_owned(),
            (_, Some(page)) if guard.rules.is_none() => page.id.to_owned(),
            // An unknown built-in has been told already.
            (Guard { uses: Some(_), .. }, None) => return None,
            _ => {
                self.issues
                    .push(Issue::new(at, "a guardrail of your own needs an `id`").help("add `id: NAME`"));
                return None;
            }
        };
        let place = if guard.id.is_some() { format!("{at}/id") } else { at.to_owned() };
        let is_clean = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != '@';
        if id.is_empty() || id.len() > 128 || !id.chars().all(is_clean) {
            let issue = Issue::new(&place, format!("`{}` cannot be an id", crate::diagnostic::excerpt(&id)));
            self.issues.push(issue.help("an id has 1 to 128 characters, and no blank, `/` or `@`"));
        } else if RESERVED.contains(&id.as_str()) {
            self.issues
                .push(Issue::new(&place, format!("the id `{id}` is reserved")).help("choose another one"));
        }
        if !self.ids.insert(id.clone()) {
            self.issues.push(
                Issue::new(&place, format!("there are two guardrails `{id}` in this pack"))
                    .help("give this one an `id` of its own"),
            );
        }
        Some(id)
    }

    /// Everything around the check.
    fn fill(&mut self, at: &str, spec: &mut Spec, guard: &Guard, page: Option<&Page>, binding: &Binding) {
        let defaults = &self.pack.defaults;
        spec.description = guard.description.clone().or_else(|| guard.name.clone()).unwrap_or_default();
        spec.mode = guard
            .mode
            .or(self.pack.mode.filter(|_| !page.is_some_and(|page| page.always_on)))
            .unwrap_or_default();
        let deep = page.is_some_and(|page| page.id == "scope-classifier");
        let fault = if deep { OnFault::Escalate } else { OnFault::Block };
        spec.on_error = guard.on_error.or(defaults.on_error).unwrap_or(fault);
        spec.on_missing = guard.on_missing.or(defaults.on_missing).unwrap_or(spec.on_error);
        spec.warn_limit = guard.warn_limit.or(defaults.warn_limit).unwrap_or(spec.warn_limit);
        spec.max_attempts = guard.max_attempts.or(defaults.max_attempts).unwrap_or(spec.max_attempts);
        spec.on_exhausted = guard.on_exhausted.or(defaults.on_exhausted).unwrap_or(spec.on_exhausted);
        if let Some(approver) = guard.approver.as_ref().or(defaults.approver.as_ref()) {
            spec.approver.clone_from(approver);
        }
        if let Some(timeout) = guard.approval_timeout.or(defaults.approval_timeout) {
            spec.approval_timeout_s = whole_seconds(timeout.0);
        }
        spec.category = guard.category.unwrap_or(spec.category);
        spec.reason.clone_from(&guard.reason);
        spec.advice.clone_from(&guard.advice);
        spec.per_prompt = guard.scope == Some(StateScope::Prompt);
        if !guard.on.is_empty() {
            spec.on.clone_from(&guard.on);
        }
        if let Some(priority) = guard.priority {
            if page.is_none() && priority < 100 {
                let message = format!("priority must be >= 100 for custom rules, and is {priority}");
                self.issues.push(
                    Issue::new(format!("{at}/priority"), message).help("1 to 99 belong to the built-ins"),
                );
            }
            spec.priority = priority;
        }
        for (name, patterns) in [("tools", &guard.tools), ("agents", &guard.agents), ("tasks", &guard.tasks)]
        {
            for pattern in patterns.iter() {
                self.pattern(&format!("{at}/{name}"), pattern);
            }
        }
        spec.agents.clone_from(&guard.agents);
        spec.tasks.clone_from(&guard.tasks);
        if !guard.tools.is_empty() {
            spec.tools = Tools::Only(guard.tools.0.clone());
        }
        if let Some(tools) = &binding.tools {
            // Within a section, a guardrail's own list narrows the section's.
            spec.tools = match &spec.tools {
                Tools::All => Tools::Only(tools.clone()),
                Tools::Only(own) => Tools::Only(own.clone()),
            };
        }
        if page.is_some() {
            spec.effect = guard.effect;
        }
        if guard.effect == Some(Effect::Redact) && page.is_none_or(|page| page.id != "secret-redaction") {
            let issue = Issue::new(format!("{at}/effect"), "this guardrail cannot say what to replace");
            self.issues.push(issue.help("use `warn`, `retry`, `escalate`, `block` or `halt`"));
        }
        let mut conditions: Vec<Arc<dyn Condition>> = Vec::new();
        if let Some(definition) = binding.definition.clone() {
            conditions.push(Arc::new(move |context: &Context<'_>| -> Result<bool, Missing> {
                Ok(definition.concerns(context.event))
            }));
        }
        if let Some(when) = &guard.when
            && let Some(when) = self.expression(&format!("{at}/when"), when, Expected::Bool)
        {
            conditions.push(Arc::new(When(when)));
        }
        spec.when = match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Arc::new(All(conditions))),
        };
    }

    /// The check itself.
    fn check(
        &mut self,
        at: &str,
        guard: &Guard,
        page: Option<&'static Page>,
        spec: &Spec,
    ) -> Option<Arc<dyn Guardrail>> {
        let kinds: Vec<&str> = [
            ("use", guard.uses.is_some()),
            ("check", guard.check.is_some()),
            ("read_before_write", guard.read_before_write.is_some()),
            ("require_before", guard.require_before.is_some()),
            ("sequential", guard.sequential.is_some()),
            ("keyed", guard.keyed.is_some()),
            ("rules", guard.rules.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect();
        if let [first, second, ..] = kinds.as_slice() {
            let issue =
                Issue::new(format!("{at}/{second}"), format!("`{second}` does not go with `{first}`"));
            self.issues.push(issue.help("make it a guardrail of its own"));
            return None;
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
            return self.rule_set(rules.collect());
        }
        if let Some(rules) = &guard.rules {
            if rules.is_empty() {
                self.issues.push(Issue::new(format!("{at}/rules"), "a policy needs at least one rule"));
            }
            let rules = rules.iter().enumerate();
            let rules =
                rules.map(|(i, rule)| (format!("{at}/rules/{i}/require_before"), &rule.require_before));
            return self.rule_set(rules.collect());
        }
        if let Some(page) = page {
            return Some(built_in(page));
        }
        self.custom(at, guard, spec)
    }

    fn custom(&mut self, at: &str, guard: &Guard, spec: &Spec) -> Option<Arc<dyn Guardrail>> {
        let check = match &guard.check {
            Some(check) => Some(self.expression(&format!("{at}/check"), check, Expected::Bool)?),
            None => None,
        };
        let reason = match (&guard.reason, &check) {
            (Some(reason), _) => reason.clone(),
            (None, _) if !spec.description.is_empty() => spec.description.clone(),
            (None, Some(check)) => format!("`{}` requires: {}", spec.id, check.source().trim()),
            (None, None) => format!("`{}` forbids this", spec.id),
        };
        Some(Arc::new(CustomCheck {
            check,
            effect: guard.effect.unwrap_or(Effect::Block),
            reason,
            user_message: guard.user_message.clone(),
            corrective_message: guard.corrective_message.clone(),
        }))
    }

    fn read_before_write(&mut self, at: &str, settings: &ReadBeforeWrite) -> Option<Arc<dyn Guardrail>> {
        for (name, patterns) in [("read_tools", &settings.read_tools), ("write_tools", &settings.write_tools)]
        {
            for pattern in patterns {
                self.pattern(&format!("{at}/{name}"), pattern);
            }
        }
        Some(Arc::new(settings.clone()))
    }

    fn require_before(&mut self, at: &str, rule: &RequireBefore) -> Option<Arc<dyn Guardrail>> {
        for (name, patterns) in [("tool", &rule.tool), ("requires", &rule.requires), ("reads", &rule.reads)] {
            for pattern in patterns.iter() {
                self.pattern(&format!("{at}/{name}"), pattern);
            }
        }
        if rule.tool.is_empty() {
            self.issues.push(Issue::new(format!("{at}/tool"), "name at least one tool"));
        }
        match (rule.requires.is_empty(), rule.reads.is_empty()) {
            (true, true) => {
                let issue = Issue::new(at, "what does it require?");
                self.issues.push(issue.help("add `requires: TOOL` or `reads: TOOL`"));
                None
            }
            (false, false) => {
                let issue = Issue::new(format!("{at}/reads"), "`reads` does not go with `requires`");
                self.issues.push(issue.help("make them two rules"));
                None
            }
            (true, false) => self.reads(at, rule),
            (false, true) => self.requires(at, rule),
        }
    }

    fn reads(&mut self, at: &str, rule: &RequireBefore) -> Option<Arc<dyn Guardrail>> {
        let key = match &rule.key {
            None => Vec::new(),
            Some(KeySource::Args(names)) => names.0.clone(),
            Some(KeySource::Expression { .. }) => {
                let issue = Issue::new(format!("{at}/key"), "with `reads`, the key is a path");
                self.issues.push(issue.help("name the argument that holds the path"));
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
        }))
    }

    fn requires(&mut self, at: &str, rule: &RequireBefore) -> Option<Arc<dyn Guardrail>> {
        for (name, is_there) in [
            ("new_files", rule.new_files.is_some()),
            ("freshness", rule.freshness.is_some()),
            ("own_writes", rule.own_writes.is_some()),
            ("mount", rule.mount.is_some()),
        ] {
            if is_there {
                let issue = Issue::new(format!("{at}/{name}"), format!("`{name}` goes with `reads` only"));
                self.issues.push(issue.help("leave it out"));
            }
        }
        let key = match &rule.key {
            None => {
                let dependencies =
                    rule.tool.iter().map(|tool| (tool.clone(), rule.requires.0.clone())).collect();
                return Some(Arc::new(SequentialDependency { dependencies }));
            }
            Some(KeySource::Args(names)) => Key::Args(names.0.clone()),
            Some(KeySource::Expression { expression }) => {
                let expression =
                    self.expression(&format!("{at}/key/expression"), expression, Expected::Any)?;
                Key::Computed(Arc::new(move |context: &Context<'_>| Ok(key(&expression, context))))
            }
        };
        let rules = rule.tool.iter().map(|tool| KeyedRule {
            tool: tool.clone(),
            prerequisites: rule.requires.0.clone(),
            key: key.clone(),
        });
        Some(Arc::new(KeyedDependency { rules: rules.collect() }))
    }

    fn sequential(
        &mut self,
        at: &str,
        rules: &std::collections::BTreeMap<String, crate::scalar::Many>,
    ) -> Option<Arc<dyn Guardrail>> {
        for (tool, requires) in rules {
            self.pattern(at, tool);
            for pattern in requires.iter() {
                self.pattern(&format!("{at}/{}", tool.replace('~', "~0").replace('/', "~1")), pattern);
            }
        }
        let dependencies = rules.iter().map(|(tool, requires)| (tool.clone(), requires.0.clone())).collect();
        Some(Arc::new(SequentialDependency { dependencies }))
    }

    fn rule_set(&mut self, rules: Vec<(String, &RequireBefore)>) -> Option<Arc<dyn Guardrail>> {
        let rules = rules.into_iter().filter_map(|(at, rule)| self.require_before(&at, rule)).collect();
        Some(Arc::new(RuleSet { rules }))
    }

    fn agent(&mut self, name: &str, agent: &AgentDefinition) -> Definition {
        let at = format!("/agents/{}", name.replace('~', "~0").replace('/', "~1"));
        for pattern in agent.id.iter().chain(agent.task_ids.iter()) {
            self.pattern(&format!("{at}/id"), pattern);
        }
        let role = agent.role.clone().or_else(|| agent.id.is_empty().then(|| name.to_owned()));
        let definition = Definition {
            name: name.to_owned(),
            agents: agent.id.0.clone(),
            tasks: agent.task_ids.0.clone(),
            agent: Agent {
                role,
                capabilities: agent.capabilities.clone(),
                allowed_tools: agent.allowed_tools.clone(),
                autonomy_level: agent.autonomy_level.clone(),
                ..Agent::default()
            },
            task: Task {
                goal: agent.goal.clone(),
                risk: agent.risk,
                scope: agent.scope.clone(),
                token_budget: agent.token_budget,
                time_budget_s: agent.time_budget.map(|time| time.0),
                api_call_budget: agent.api_call_budget,
                cost_budget: agent.cost_budget,
                additional_tools: agent.additional_tools.clone(),
                ..Task::default()
            },
        };
        self.scope(&at, definition.task.scope.as_ref());
        for (i, guard) in agent.guardrails.iter().enumerate() {
            let binding = Binding { definition: Some(definition.clone()), tools: None };
            self.guard(&format!("{at}/guardrails/{i}"), guard, &binding);
        }
        for (section_name, section) in &agent.sections {
            let at = format!("{at}/sections/{}", section_name.replace('~', "~0").replace('/', "~1"));
            for pattern in section.tools.iter() {
                self.pattern(&format!("{at}/tools"), pattern);
            }
            for (i, guard) in section.guardrails.iter().enumerate() {
                let tools = Some(section.tools.0.clone());
                let binding = Binding { definition: Some(definition.clone()), tools };
                self.guard(&format!("{at}/guardrails/{i}"), guard, &binding);
            }
        }
        definition
    }

    fn task(&mut self, name: &str, task: &TaskDefinition) -> Definition {
        let at = format!("/tasks/{}", name.replace('~', "~0").replace('/', "~1"));
        for pattern in task.id.iter() {
            self.pattern(&format!("{at}/id"), pattern);
        }
        self.scope(&at, task.scope.as_ref());
        Definition {
            name: name.to_owned(),
            tasks: if task.id.is_empty() { vec![name.to_owned()] } else { task.id.0.clone() },
            task: Task {
                goal: task.goal.clone(),
                risk: task.risk,
                scope: task.scope.clone(),
                token_budget: task.token_budget,
                time_budget_s: task.time_budget.map(|time| time.0),
                api_call_budget: task.api_call_budget,
                cost_budget: task.cost_budget,
                additional_tools: task.additional_tools.clone(),
                ..Task::default()
            },
            ..Definition::default()
        }
    }

    fn scope(&mut self, at: &str, scope: Option<&midrail_core::Scope>) {
        let Some(files) = scope.map(|scope| &scope.files) else { return };
        for (name, patterns) in [("read", &files.read), ("write", &files.write), ("deny", &files.deny)] {
            for pattern in patterns.iter().flatten() {
                self.pattern(&format!("{at}/scope/files/{name}"), pattern);
            }
        }
    }

    fn pattern(&mut self, at: &str, pattern: &str) {
        if let Err(why) = glob::check(pattern) {
            let message = format!("the pattern `{}` {why}", crate::diagnostic::excerpt(pattern));
            self.issues.push(Issue::new(at, message));
        }
    }

    fn expression(&mut self, at: &str, source: &str, expected: Expected) -> Option<Expression> {
        match Expression::parse(source, &EVENT_NAMES, expected, GLOBS) {
            Ok(expression) => Some(expression),
            Err(problems) => {
                self.issues.extend(problems.into_iter().map(|problem| Issue {
                    at: at.to_owned(),
                    span: Some(problem.span),
                    message: problem.message,
                    help: problem.help,
                }));
                None
            }
        }
    }
}

fn page_spec(page: &Page) -> Spec {
    Spec { priority: page.priority, category: page.category, on: page.on.to_vec(), ..Spec::new(page.id) }
}

/// The built-in of a page, with its defaults.
fn built_in(page: &Page) -> Arc<dyn Guardrail> {
    match page.id {
        "builtin-001" => Arc::new(TokenBudget::default()),
        "builtin-002" => Arc::new(TimeBudget::default()),
        "builtin-003" => Arc::new(ScopeBoundary),
        "builtin-004" => Arc::new(ToolAllowlist),
        "read_before_write" => Arc::new(ReadBeforeWrite::default()),
        "secret-redaction" => Arc::new(SecretRedaction),
        "injection-patterns" => Arc::new(InjectionPatterns),
        // A page without a line here has no answer, and fails closed; a test forbids it.
        _ => Arc::new(Unconfigured),
    }
}

fn whole_seconds(seconds: f64) -> u32 {
    let most = f64::from(u32::MAX);
    #[expect(
        clippy::as_conversions,
        reason = "clamped to the range of u32 just before, and `as` rounds towards zero"
    )]
    let whole = seconds.clamp(0.0, most) as u32;
    whole
}
