//! From a raw pack to guardrails that can be asked. Whatever is wrong is told by its place in the pack.

mod approvals;
mod check;
mod definitions;
mod routing;
mod spec;

pub(crate) use check::provider_name;

use std::collections::BTreeSet;
use std::sync::Arc;

use midrail_core::{
    Authorities, Bypass, Definition, EventKind, OnFault, PolicyEntry, RESERVED_IDS, Spec, StrikeRule, glob,
};
use midrail_guardrails::{
    Builtin, CATALOGUE, COMPLETION_EVENTS, Feedback, MissingClassifier, PackKey, configured_by,
};

use crate::diagnostic::{Span, excerpt, nearest};
use crate::expr::{Expected, ExprProblem, Expression};
use crate::names::{ALERT_GROUPS, ALERT_NAMES, EVENT_NAMES, GLOBS};
use crate::raw::{AgentDefinition, AlertRule, Guard, Pack};
use crate::rule::Deferred;

/// The name of verdicts that no guardrail reached.
const MIDRAIL: &str = "midrail";

/// The ids of scripts that lie beside the packs.
const SCRIPT_IDS: [&str; 5] =
    ["organisation-script", "project-script", "user-script", "project-deft-script", "user-deft-script"];

/// How often an agent that is not done is sent back to work, unless a pack says otherwise.
const CONTINUATIONS: u32 = 10;

/// The role of people, where a pack names no other.
pub(crate) const HUMAN: &str = "human_operator";

pub(crate) use routing::{routing, unknown_ids};

/// A pack compiled on its own.
pub(crate) struct Compiled<'p> {
    pub(crate) entries: Vec<CompiledGuard<'p>>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) authorities: Option<Authorities>,
    pub(crate) strikes: Vec<StrikeRule>,
}

/// A guardrail of a pack, with what layering and lint have to know of it.
pub(crate) struct CompiledGuard<'p> {
    pub(crate) entry: PolicyEntry,
    /// Its place in the pack.
    pub(crate) at: String,
    /// As it is written.
    pub(crate) guard: &'p Guard,
    /// The built-in that it is, if it is one.
    pub(crate) page: Option<&'static Builtin>,
    /// The definition that it is bound to.
    pub(crate) agent: Option<(&'p str, &'p AgentDefinition)>,
    /// The tools of the section that it is bound to.
    pub(crate) section: Option<&'p [String]>,
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

/// Compiles a pack, or lists everything that is wrong with it.
pub(crate) fn compile(pack: &Pack, trust: Trust) -> Result<Compiled<'_>, Vec<Issue>> {
    let mut compiler = Compiler {
        pack,
        checked_before: trust == Trust::CheckedBefore,
        issues: Vec::new(),
        ids: BTreeSet::new(),
        entries: Vec::new(),
    };
    if pack.pack.trim().is_empty() {
        compiler.issues.push(Issue::new("/pack", "a pack needs a name").help("write `pack: NAME`"));
    }
    for (at, guard) in pack.guardrails.iter().enumerate() {
        compiler.guard(&format!("/guardrails/{at}"), guard, &Bound::default());
    }
    let mut definitions = Vec::new();
    for (name, agent) in &pack.agents {
        definitions.push(compiler.agent(name, agent));
    }
    definitions.extend(definitions::of_pack(pack));
    for (name, task) in &pack.tasks {
        definitions.push(compiler.task(name, task));
    }
    let authorities = pack.approvals.as_ref().map(|rules| compiler.authorities(rules));
    compiler.channels(&pack.notify);
    compiler.alerts(&pack.alerts);
    compiler.tool_risks();
    let strikes = compiler.strikes();
    if compiler.issues.is_empty() {
        Ok(Compiled { entries: compiler.entries, definitions, authorities, strikes })
    } else {
        Err(compiler.issues)
    }
}

/// The always-on built-ins, as every policy has them.
pub(crate) fn always_on() -> Vec<PolicyEntry> {
    let pages = CATALOGUE.iter().filter(|page| page.always_on);
    let entry = |page: &'static Builtin| {
        // A test holds that every built-in can be made without settings; one that could not has no answer, and fails
        // closed.
        let guardrail = page.settings.default().unwrap_or_else(|| Arc::new(MissingClassifier));
        PolicyEntry::new(Spec { always_on: true, ..page_spec(page) }, guardrail)
    };
    pages.map(entry).collect()
}

/// What a guardrail is bound to, beyond what it says itself.
#[derive(Clone, Default)]
struct Bound<'p> {
    definition: Option<Arc<Definition>>,
    agent: Option<(&'p str, &'p AgentDefinition)>,
    /// The tools of a section.
    tools: Option<&'p [String]>,
}

/// Whether a pack is known to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It is not: everything is checked.
    Unchecked,
    /// It was checked when it was read: expressions are parsed when they are first asked.
    CheckedBefore,
}

struct Compiler<'p> {
    pack: &'p Pack,
    checked_before: bool,
    issues: Vec<Issue>,
    ids: BTreeSet<String>,
    entries: Vec<CompiledGuard<'p>>,
}

impl<'p> Compiler<'p> {
    fn guard(&mut self, at: &str, guard: &'p Guard, bound: &Bound<'p>) {
        let page = self.page(at, guard);
        let Some(id) = self.id(at, guard, page, bound) else { return };
        let mut spec = match page {
            Some(page) => page_spec(page),
            None => Spec::new(id.as_str()),
        };
        spec.id = id.as_str().into();
        let is_completion = page.is_some_and(|page| page.pack_key == PackKey::Completion);
        if is_completion {
            (spec.max_attempts, spec.warn_limit) = (CONTINUATIONS, 0);
        }
        if page.is_some_and(|page| page.pack_key == PackKey::Script) {
            spec.on_exhausted = Some(OnFault::Allow);
        }
        self.fill(at, &mut spec, guard, page, bound);
        let when = self.when(at, guard);
        if is_completion {
            self.kinds_of_completion(at, guard);
        }
        let with =
            |name: &str| guard.with.as_ref().and_then(|with| with.get(name)?.as_bool()).unwrap_or(false);
        let is_told =
            guard.completion.as_ref().map_or_else(|| with("also_after_tool"), |it| it.also_after_tool);
        if is_completion && is_told && guard.on.is_empty() {
            spec.on.push(EventKind::AfterTool);
        }
        let Some(guardrail) = self.check(at, guard, page, &spec) else { return };
        self.entries.push(CompiledGuard {
            entry: PolicyEntry { spec, when, guardrail },
            at: at.to_owned(),
            guard,
            page,
            agent: bound.agent,
            section: bound.tools,
            locked: guard.lock.unwrap_or(self.pack.lock),
            enabled: guard.enabled.unwrap_or(true),
        });
    }

    /// Completion has something to say of a few kinds of event only.
    fn kinds_of_completion(&mut self, at: &str, guard: &Guard) {
        let others = guard.on.iter().enumerate().filter(|(_, kind)| !COMPLETION_EVENTS.contains(kind));
        let issues: Vec<Issue> = others
            .map(|(i, kind)| {
                let message = format!("`{}` does not tell whether work is complete", kind.as_str());
                let known = COMPLETION_EVENTS.map(|kind| format!("`{}`", kind.as_str())).join(", ");
                Issue::new(format!("{at}/on/{i}"), message).help(format!("leave `on` out, or use {known}"))
            })
            .collect();
        self.issues.extend(issues);
    }

    /// The built-in that a guardrail is, if it is one.
    fn page(&mut self, at: &str, guard: &Guard) -> Option<&'static Builtin> {
        let key = match guard {
            Guard { uses: Some(_), .. } => PackKey::Use,
            Guard { read_before_write: Some(_), .. } => PackKey::ReadBeforeWrite,
            Guard { completion: Some(_), .. } => PackKey::Completion,
            Guard { script: Some(_), .. } => PackKey::Script,
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
        if let Some(page) = found.filter(|page| page.pack_key.allows_use()) {
            return Some(page);
        }
        let usable = || CATALOGUE.iter().filter(|page| page.pack_key.allows_use());
        let (message, help) = match found.map(|page| page.pack_key) {
            Some(PackKey::Feedback) => (
                format!("`{name}` needs a text or another source"),
                "write `feedback: {static: …}`".to_owned(),
            ),
            Some(PackKey::Script) => (format!("`{name}` needs its file"), "write `script: FILE`".to_owned()),
            Some(PackKey::Deep) => {
                (format!("`{name}` needs a service to call"), "write `deep: {http: …}`".to_owned())
            }
            Some(PackKey::Rules | PackKey::Use | PackKey::Completion | PackKey::ReadBeforeWrite) => (
                format!("`{name}` needs its rules"),
                "write `require_before: {tool: …, requires: …}`".to_owned(),
            ),
            None => {
                let help = match nearest(name, usable().flat_map(Builtin::names)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        let ids: Vec<&str> = usable().map(|page| page.id).collect();
                        format!("the built-in guardrails are {}", ids.join(", "))
                    }
                };
                (format!("unknown guardrail `{}`", excerpt(name)), help)
            }
        };
        self.issues.push(Issue::new(format!("{at}/use"), message).help(help));
        None
    }

    fn id(&mut self, at: &str, guard: &Guard, page: Option<&Builtin>, bound: &Bound<'_>) -> Option<String> {
        let id = match (guard, page) {
            (Guard { id: Some(id), .. }, _) => id.clone(),
            (Guard { name: Some(name), .. }, None) => name.clone(),
            (Guard { require_before: Some(rule), .. }, _) => {
                format!("require_before:{}", rule.tool.join("+"))
            }
            (Guard { sequential: Some(_), .. }, _) => "sequential_dependency".to_owned(),
            (Guard { keyed: Some(_), .. }, _) => "keyed_dependency".to_owned(),
            (Guard { feedback: Some(feedback), name, .. }, _) => {
                match feedback.name.as_ref().or(name.as_ref()) {
                    Some(name) => clean(name),
                    None => self.unnamed(feedback),
                }
            }
            // Each agent has its own.
            (Guard { completion: Some(_), .. }, Some(page)) => match bound.agent {
                Some((agent, _)) => format!("{}:{agent}", page.id),
                None => page.id.to_owned(),
            },
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
            let issue = Issue::new(&place, format!("`{}` cannot be an id", excerpt(&id)));
            self.issues.push(issue.help("an id has 1 to 128 characters, and no blank, `/` or `@`"));
        } else if id == MIDRAIL || RESERVED_IDS.contains(&id.as_str()) {
            self.issues
                .push(Issue::new(&place, format!("the id `{id}` is reserved")).help("choose another one"));
        } else if guard.script.is_none() && SCRIPT_IDS.contains(&id.as_str()) {
            let issue =
                Issue::new(&place, format!("`{id}` is the id of a script that lies beside the packs"));
            self.issues.push(issue.help("say under `scripts:` how it is run, and choose another id"));
        } else if CATALOGUE.iter().any(|known| known.id == id && page.is_none_or(|page| page.id != id)) {
            // INVARIANT: nothing but a built-in itself bears its id, so that none can be put in its place.
            let issue = Issue::new(&place, format!("`{id}` is the id of a built-in guardrail"));
            self.issues.push(issue.help(format!("write `use: {id}` for it, or choose another id")));
        }
        if !self.ids.insert(id.clone()) {
            self.issues.push(
                Issue::new(&place, format!("there are two guardrails `{id}` in this pack"))
                    .help("give this one an `id` of its own"),
            );
        }
        Some(id)
    }

    /// The id of a feedback provider that its pack gives no name: each has its own.
    fn unnamed(&self, feedback: &Feedback) -> String {
        let what = feedback.sources().first().map_or("feedback", |(key, _)| key);
        let pack: String = clean(&self.pack.pack).chars().take(32).collect();
        let first = format!("{pack}:{what}");
        let more = (2..).map(|i: u32| format!("{first}-{i}"));
        std::iter::once(first.clone()).chain(more).find(|id| !self.ids.contains(id)).unwrap_or(first)
    }

    /// Checks the patterns of a list, or of a single text in its place.
    fn patterns(&mut self, at: &str, patterns: &[String]) {
        for (i, pattern) in patterns.iter().enumerate() {
            self.pattern(&format!("{at}/{i}"), pattern);
        }
    }

    fn pattern(&mut self, at: &str, pattern: &str) {
        if let Err(why) = glob::check(pattern) {
            let message = format!("the pattern `{}` {why}", excerpt(pattern));
            self.issues
                .push(Issue::new(at, message).help("write `\\` before a character that stands for itself"));
        }
    }

    fn expression(&mut self, at: &str, source: &str, expected: Expected) -> Option<Deferred> {
        if self.checked_before {
            return Some(Deferred::later(source, expected));
        }
        match Expression::parse(source, &EVENT_NAMES, expected, GLOBS) {
            Ok(expression) => Some(Deferred::ready(expression, expected)),
            Err(problems) => {
                self.wrong(at, problems);
                None
            }
        }
    }

    fn wrong(&mut self, at: &str, problems: Vec<ExprProblem>) {
        self.issues.extend(problems.into_iter().map(|problem| Issue {
            at: at.to_owned(),
            span: Some(problem.span),
            message: problem.message,
            help: problem.help,
        }));
    }

    fn alerts(&mut self, alerts: &[AlertRule]) {
        if self.checked_before {
            return;
        }
        let mut names = BTreeSet::new();
        for (i, alert) in alerts.iter().enumerate() {
            let at = format!("/alerts/{i}");
            for (key, text, help) in [
                ("name", &alert.name, "write `name: NAME`"),
                ("action", &alert.action, "say in words what is to be done, such as `notify the team`"),
            ] {
                if text.trim().is_empty() {
                    let issue = Issue::new(format!("{at}/{key}"), format!("an alert needs its `{key}`"));
                    self.issues.push(issue.help(help));
                }
            }
            if !names.insert(&alert.name) {
                let message = format!("there are two alerts `{}` in this pack", excerpt(&alert.name));
                self.issues.push(
                    Issue::new(format!("{at}/name"), message).help("give this one a `name` of its own"),
                );
            }
            let expected = Expected::Alert { groups: ALERT_GROUPS };
            if let Err(problems) = Expression::parse(&alert.condition, &ALERT_NAMES, expected, GLOBS) {
                self.wrong(&format!("{at}/condition"), problems);
            }
        }
    }
}

fn page_spec(page: &Builtin) -> Spec {
    let spec = Spec::new(page.id);
    Spec {
        priority: page.priority,
        category: page.category,
        on: page.on.to_vec(),
        from_risk: page.from_risk,
        bypass: if page.never_bypassed { Bypass::Never } else { spec.bypass },
        approver: if page.needs_person { HUMAN.to_owned() } else { spec.approver },
        ..spec
    }
}

/// A name as an id.
fn clean(name: &str) -> String {
    let is_clean = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != '@';
    name.trim().chars().map(|c| if is_clean(c) { c } else { '-' }).collect()
}

/// A key as a segment of a JSON pointer.
pub(crate) fn key(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
