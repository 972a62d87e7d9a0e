//! The state of a compilation, and the steps for one guardrail: its built-in, its id, its spec and its check.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::tz::TimeZone;
use midrail_core::{
    Bypass, Category, Condition, Definition, EventKind, Guardrail, OnFault, PolicyEntry, RESERVED_IDS, Spec,
    glob,
};
use midrail_guardrails::{Builtin, CATALOGUE, Feedback, PackKey, configured_by, guardrail_id};
use midrail_scan::secrets::is_secret_variable;

use crate::diagnostic::{Diagnostic, did_you_mean, excerpt};
use crate::expr::{Expected, Expression};
use crate::hints;
use crate::issue::Issue;
use crate::names::{alert_expression, event_expression};
use crate::raw::{AgentDefinition, AlertRule, CommandText, Guard, Pack};
use crate::rule::Deferred;
use crate::template::{Template, with_texts};

/// The id of decisions that no guardrail makes.
const ENGINE_ID: &str = "midrail";

/// The ids of scripts next to the packs.
const SCRIPT_IDS: [&str; 5] =
    ["organisation-script", "project-script", "user-script", "project-deft-script", "user-deft-script"];

/// How often an agent that is not done continues, unless a pack sets a number.
const CONTINUATIONS: u32 = 10;

/// The default role of people.
pub(super) const HUMAN: &str = "human_operator";

/// A compiled guardrail, with what layering and lint need.
pub(crate) struct CompiledGuard<'p> {
    pub(crate) entry: PolicyEntry,
    /// Its place in the pack.
    pub(crate) at: String,
    /// Its raw form.
    pub(crate) guard: &'p Guard,
    /// Its built-in, if it is one.
    pub(crate) builtin: Option<&'static Builtin>,
    /// The definition that it belongs to.
    pub(crate) agent: Option<(&'p str, &'p AgentDefinition)>,
    /// The tools of the section that it belongs to.
    pub(crate) section: Option<&'p [String]>,
    pub(crate) locked: bool,
    pub(crate) enabled: bool,
}

/// The definition and section that a guardrail belongs to.
#[derive(Clone, Default)]
pub(super) struct Binding<'p> {
    pub(super) definition: Option<Arc<Definition>>,
    pub(super) agent: Option<(&'p str, &'p AgentDefinition)>,
    /// The tools of a section.
    pub(super) tools: Option<&'p [String]>,
}

/// Whether a pack is known to be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Everything is checked.
    Unchecked,
    /// It was checked when it was read: expressions are parsed on first use.
    CheckedBefore,
}

pub(super) struct Compiler<'p> {
    pub(super) pack: &'p Pack,
    checked_before: bool,
    /// The time zone of the pack.
    zone: Option<TimeZone>,
    pub(super) issues: Vec<Issue>,
    ids: BTreeSet<String>,
    entries: Vec<CompiledGuard<'p>>,
}

impl<'p> Compiler<'p> {
    pub(super) fn new(pack: &'p Pack, trust: Trust) -> Self {
        let checked_before = trust == Trust::CheckedBefore;
        Compiler {
            pack,
            checked_before,
            zone: None,
            issues: Vec::new(),
            ids: BTreeSet::new(),
            entries: Vec::new(),
        }
    }

    /// Whether the pack was checked when it was read, and the loader has read its files.
    pub(super) fn is_checked_before(&self) -> bool {
        self.checked_before
    }

    pub(super) fn finish(self) -> Result<Vec<CompiledGuard<'p>>, Vec<Issue>> {
        if self.issues.is_empty() { Ok(self.entries) } else { Err(self.issues) }
    }

    pub(super) fn issue(
        &mut self,
        at: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.issues.push(Issue::new(at, message).help(help));
    }

    /// Compiles a guardrail.
    pub(super) fn guard(&mut self, at: &str, guard: &'p Guard, binding: &Binding<'p>) {
        let builtin = self.builtin(at, guard);
        let Some(id) = self.id(at, guard, builtin, binding) else { return };
        let mut spec = builtin.map_or_else(|| Spec::new(id.as_str()), builtin_spec);
        spec.id = id.as_str().into();
        let key = builtin.map(|builtin| builtin.pack_key);
        if key == Some(PackKey::Completion) {
            (spec.max_attempts, spec.warn_limit) = (CONTINUATIONS, 0);
        }
        if key == Some(PackKey::Count) {
            // A reminder stays one.
            spec.warn_limit = 0;
        }
        if key == Some(PackKey::Script) {
            spec.on_exhausted = Some(OnFault::Allow);
        }
        self.fill(at, &mut spec, guard, builtin, binding);
        if let Some(builtin) = builtin {
            self.unsupported_events(at, guard, builtin);
        }
        let when = if key == Some(PackKey::Flow) { None } else { self.when(at, guard) };
        if key == Some(PackKey::Completion) {
            Self::completion_events(guard, &mut spec);
        }
        let Some(guardrail) = self.check(at, guard, builtin, &spec) else { return };
        let guardrail = self.texts(at, &mut spec, guardrail);
        self.entries.push(CompiledGuard {
            entry: PolicyEntry { spec, when, guardrail },
            at: at.to_owned(),
            guard,
            builtin,
            agent: binding.agent,
            section: binding.tools,
            locked: guard.lock.unwrap_or(self.pack.lock),
            enabled: guard.enabled.unwrap_or(true),
        });
    }

    /// Fills the placeholders in the texts of the pack.
    fn texts(&mut self, at: &str, spec: &mut Spec, inner: Arc<dyn Guardrail>) -> Arc<dyn Guardrail> {
        let mut template = |name: &str, text: &Option<String>| {
            let place = format!("{at}/{name}");
            Template::new(text.as_ref()?, |name| self.expression(&place, name, Expected::Any))
        };
        let (reason, advice) = (template("reason", &spec.reason), template("advice", &spec.advice));
        spec.reason.take_if(|_| reason.is_some());
        spec.advice.take_if(|_| advice.is_some());
        with_texts(inner, reason, advice)
    }

    /// Reports kinds of event that a built-in cannot check: it would never object there.
    fn unsupported_events(&mut self, at: &str, guard: &Guard, builtin: &Builtin) {
        for (i, kind) in guard.on.iter().enumerate().filter(|(_, kind)| !builtin.events.contains(kind)) {
            let message = format!("`{}` cannot check `{}`", builtin.name, kind.as_str());
            let known: Vec<String> =
                builtin.events.iter().map(|kind| format!("`{}`", kind.as_str())).collect();
            self.issue(format!("{at}/on/{i}"), message, format!("it checks {}", known.join(", ")));
        }
    }

    /// Completes the kinds of event of a completion check.
    fn completion_events(guard: &Guard, spec: &mut Spec) {
        let with = || guard.with.as_ref()?.get("also_after_tool")?.as_bool();
        let also_after_tool =
            guard.completion.as_ref().map_or_else(|| with().unwrap_or(false), |it| it.also_after_tool);
        if also_after_tool && guard.on.is_empty() {
            spec.on.push(EventKind::AfterTool);
        }
    }

    /// The built-in of a guardrail, if it is one.
    fn builtin(&mut self, at: &str, guard: &Guard) -> Option<&'static Builtin> {
        let key = match guard {
            Guard { uses: Some(_), .. } => PackKey::Use,
            Guard { read_before_write: Some(_), .. } => PackKey::ReadBeforeWrite,
            Guard { completion: Some(_), .. } => PackKey::Completion,
            Guard { count: Some(_), .. } => PackKey::Count,
            Guard { flow: Some(_), .. } => PackKey::Flow,
            Guard { redact: Some(_), .. } => PackKey::Redact,
            Guard { modify: Some(_), .. } => PackKey::Modify,
            Guard { script: Some(_), .. } => PackKey::Script,
            Guard { cedar: Some(_), .. } => PackKey::Cedar,
            Guard { deep: Some(_), .. } => PackKey::Deep,
            Guard { require_before: Some(_), .. }
            | Guard { sequential: Some(_), .. }
            | Guard { keyed: Some(_), .. }
            | Guard { rules: Some(_), .. } => PackKey::Rules,
            Guard { feedback: Some(_), .. } => PackKey::Feedback,
            _ => return None,
        };
        let Some(name) = guard.uses.as_deref() else { return configured_by(key) };
        let found = midrail_guardrails::builtin(name);
        if let Some(builtin) = found.filter(|builtin| builtin.pack_key.allows_use()) {
            return Some(builtin);
        }
        let (message, help) = match found.map(|builtin| builtin.pack_key) {
            Some(PackKey::Feedback) => ("needs a text or another source", "write `feedback: {static: …}`"),
            Some(PackKey::Count) => ("needs its limit", "write `count: {most: NUMBER}`"),
            Some(PackKey::Flow) => {
                ("needs its rule", "write `flow: {after: untrusted, does: send, unless: named}`")
            }
            Some(PackKey::Redact) => ("needs its patterns", "write `redact: [{match: TEXT}]`"),
            Some(PackKey::Modify) => ("needs its changes", "write `modify: {args.NAME: VALUE}`"),
            Some(PackKey::Script) => ("needs its file", "write `script: FILE`"),
            Some(PackKey::Cedar) => (
                "needs its policies",
                "write `cedar: {policies: [FILE], principal: …, action: …, resource: …}`",
            ),
            Some(PackKey::Deep) => ("needs a service to call", "write `deep: {http: …}`"),
            Some(PackKey::Rules | PackKey::Use | PackKey::Completion | PackKey::ReadBeforeWrite) => {
                ("needs its rules", "write `require_before: {tool: …, requires: …}`")
            }
            None => {
                let usable = CATALOGUE.iter().filter(|builtin| builtin.pack_key.allows_use());
                let names: Vec<&str> = usable.clone().flat_map(Builtin::names).collect();
                let readable: Vec<&str> = usable.map(|builtin| builtin.name).collect();
                let help = did_you_mean(name, names, |_| hints::builtins(name, &readable));
                self.issue(format!("{at}/use"), format!("unknown guardrail `{}`", excerpt(name)), help);
                return None;
            }
        };
        self.issue(format!("{at}/use"), format!("`{name}` {message}"), help);
        None
    }

    fn id(
        &mut self,
        at: &str,
        guard: &Guard,
        builtin: Option<&Builtin>,
        binding: &Binding<'_>,
    ) -> Option<String> {
        let id = match (guard, builtin) {
            (Guard { id: Some(id), .. }, _) => guardrail_id(id),
            (Guard { name: Some(name), .. }, None) => name.clone(),
            (Guard { require_before: Some(rule), .. }, _) => {
                let commands = rule.command.iter().flat_map(CommandText::texts).map(|text| to_id(&text));
                let names: Vec<String> = rule.tool.iter().cloned().chain(commands).collect();
                format!("require_before:{}", names.join("+"))
            }
            (Guard { sequential: Some(_), .. }, _) => "sequential_dependency".to_owned(),
            (Guard { keyed: Some(_), .. }, _) => "keyed_dependency".to_owned(),
            (Guard { feedback: Some(feedback), name, .. }, _) => {
                match feedback.name.as_ref().or(name.as_ref()) {
                    Some(name) => to_id(name),
                    None => self.unnamed_feedback(feedback),
                }
            }
            (Guard { flow: Some(_), .. }, _) => {
                self.issue(at, "a flow rule needs an `id`", "add `id: NAME`");
                return None;
            }
            // Each agent has its own.
            (Guard { completion: Some(_), .. }, Some(builtin)) => match binding.agent {
                Some((agent, _)) => format!("{}:{agent}", builtin.id),
                None => builtin.id.to_owned(),
            },
            (_, Some(builtin)) if guard.rules.is_none() => builtin.id.to_owned(),
            // An unknown built-in is reported already.
            (Guard { uses: Some(_), .. }, None) => return None,
            _ => {
                self.issue(at, "a custom guardrail needs an `id`", "add `id: NAME`");
                return None;
            }
        };
        let place = if guard.id.is_some() { format!("{at}/id") } else { at.to_owned() };
        if id.is_empty() || id.len() > 128 || !id.chars().all(is_allowed_in_id) {
            let message = format!("`{}` is not a valid id", excerpt(&id));
            let rule = "an id has 1 to 128 characters, and no space, `/` or `@`";
            let fixed = to_id(&id);
            let is_fixed = fixed != id && !fixed.is_empty() && fixed.len() <= 128;
            let help = if is_fixed { format!("write `{fixed}`: {rule}") } else { rule.to_owned() };
            self.issue(&place, message, help);
        } else if id == ENGINE_ID || RESERVED_IDS.contains(&id.as_str()) {
            self.issue(&place, format!("the id `{id}` is reserved"), "choose another id");
        } else if guard.script.is_none() && SCRIPT_IDS.contains(&id.as_str()) {
            let message = format!("`{id}` is the id of a script next to the packs");
            self.issue(&place, message, "configure the script under `scripts:`, and choose another id");
        } else if CATALOGUE.iter().any(|known| known.id == id && builtin.is_none_or(|it| it.id != id)) {
            // INVARIANT: only a built-in has its id, so that no other guardrail can replace it.
            let help = format!("write `use: {id}` for it, or choose another id");
            self.issue(&place, format!("`{id}` is the id of a built-in guardrail"), help);
        }
        if !self.ids.insert(id.clone()) {
            let message = format!("there are two guardrails `{id}` in this pack");
            self.issue(&place, message, "give this one its own `id`");
        }
        Some(id)
    }

    /// A unique id for a feedback provider without a name.
    fn unnamed_feedback(&self, feedback: &Feedback) -> String {
        let source = feedback.sources().first().map_or("feedback", |(key, _)| key);
        let pack: String = to_id(&self.pack.pack).chars().take(32).collect();
        let first = format!("{pack}:{source}");
        let more = (2..).map(|i: u32| format!("{first}-{i}"));
        std::iter::once(first.clone()).chain(more).find(|id| !self.ids.contains(id)).unwrap_or(first)
    }

    /// Checks the patterns of a list, or of a single text.
    pub(super) fn patterns(&mut self, at: &str, patterns: &[String]) {
        for (i, pattern) in patterns.iter().enumerate() {
            self.pattern(&format!("{at}/{i}"), pattern);
        }
    }

    pub(super) fn pattern(&mut self, at: &str, pattern: &str) {
        if let Err(why) = glob::check(pattern) {
            let message = format!("the pattern `{}` {why}", excerpt(pattern));
            self.issue(at, message, "write `\\` before a literal special character");
        }
    }

    pub(super) fn expression(&mut self, at: &str, source: &str, expected: Expected) -> Option<Deferred> {
        let zone = self.zone.clone();
        if self.checked_before {
            return Some(Deferred::later(source, expected).in_zone(zone));
        }
        match event_expression(source, expected) {
            Ok(expression) => {
                self.check_variables(at, &expression);
                Some(Deferred::ready(expression, expected).in_zone(zone))
            }
            Err(problems) => {
                self.expression_problems(at, problems);
                None
            }
        }
    }

    /// Reports environment variables that the pack does not list.
    fn check_variables(&mut self, at: &str, expression: &Expression) {
        for name in expression.names().iter().filter(|name| name.term() == "env.*") {
            let variable = name.tail().first().and_then(|key| key.key()).unwrap_or_default().to_owned();
            if !self.pack.env_vars.contains(&variable) {
                let message = format!("the pack does not list the variable `{}`", excerpt(&variable));
                self.issue(at, message, format!("add `env_vars: [{variable}]` to the pack"));
            }
        }
    }

    /// Checks the time zone and the environment variables of the pack.
    pub(super) fn surroundings(&mut self) {
        if let Some(name) = &self.pack.time_zone {
            match TimeZone::get(name) {
                Ok(zone) => self.zone = Some(zone),
                Err(_) => {
                    let message = format!("the time zone `{}` is not known on this machine", excerpt(name));
                    self.issue("/time_zone", message, "write a name such as `Europe/Zurich` or `UTC`");
                }
            }
        }
        for (i, name) in self.pack.env_vars.iter().enumerate() {
            let place = format!("/env_vars/{i}");
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_word) {
                let message = format!("`{}` is not the name of a variable", excerpt(name));
                self.issue(place, message, "write its name without `$`");
            } else if is_secret_variable(name) {
                let message = format!("`{name}` looks like the name of a secret, which no rule may read");
                self.issue(place, message, "use a variable that holds no secret");
            }
        }
    }

    pub(super) fn condition(&mut self, at: &str, source: &str) -> Option<Arc<dyn Condition>> {
        Some(Arc::new(self.expression(at, source, Expected::Bool)?))
    }

    fn expression_problems(&mut self, at: &str, problems: Vec<Diagnostic>) {
        self.issues.extend(problems.into_iter().map(|problem| Issue::in_expression(at, problem)));
    }

    pub(super) fn alerts(&mut self, alerts: &[AlertRule]) {
        if self.checked_before {
            return;
        }
        let mut names = BTreeSet::new();
        for (i, alert) in alerts.iter().enumerate() {
            let at = format!("/alerts/{i}");
            for (key, text, help) in [
                ("name", &alert.name, "write `name: NAME`"),
                ("action", &alert.action, "describe what to do, such as `notify the team`"),
            ] {
                if text.trim().is_empty() {
                    self.issue(format!("{at}/{key}"), format!("an alert needs a `{key}`"), help);
                }
            }
            if !names.insert(&alert.name) {
                let message = format!("there are two alerts `{}` in this pack", excerpt(&alert.name));
                self.issue(format!("{at}/name"), message, "give this one its own `name`");
            }
            if let Err(problems) = alert_expression(&alert.condition) {
                self.expression_problems(&format!("{at}/condition"), problems);
            }
        }
    }
}

/// The default spec of a built-in.
pub(super) fn builtin_spec(builtin: &Builtin) -> Spec {
    let spec = Spec::new(builtin.id);
    let limits_budget = builtin.category == Category::Budget;
    Spec {
        priority: builtin.priority,
        category: builtin.category,
        on: builtin.on.to_vec(),
        from_risk: builtin.from_risk,
        bypass: if builtin.never_bypassed { Bypass::Never } else { spec.bypass },
        approver: if builtin.needs_person { HUMAN.to_owned() } else { spec.approver },
        // The thresholds of a budget hold as written, however often they warn.
        warn_limit: if limits_budget { 0 } else { spec.warn_limit },
        limits_budget,
        ..spec
    }
}

fn is_allowed_in_id(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && c != '/' && c != '@'
}

/// A name as an id.
pub(crate) fn to_id(name: &str) -> String {
    name.trim().chars().map(|c| if is_allowed_in_id(c) { c } else { '-' }).collect()
}
