//! Everything around a guardrail's check: when it is asked, and what its answer leads to.

use std::sync::Arc;

use midrail_core::{Bypass, Condition, Effect, Mode, OnFault, Spec, Tools};
use midrail_guardrails::{Builtin, PackKey};

use super::{Bound, Compiler, Issue};
use crate::expr::Expected;
use crate::pattern::{is_everything, within};
use crate::raw::{Guard, StateScope};
use crate::rule::ExpressionCondition;
use crate::scalar::Seconds;

impl Compiler<'_> {
    /// Fills in what a guardrail says of itself, then what its pack says for all.
    pub(super) fn fill(
        &mut self,
        at: &str,
        spec: &mut Spec,
        guard: &Guard,
        page: Option<&Builtin>,
        bound: &Bound<'_>,
    ) {
        let always_on = page.filter(|page| page.always_on && *spec.id == *page.id);
        if let Some(page) = always_on {
            self.stays_on(at, page, guard, bound);
        }
        // INVARIANT: what a pack says for all of its guardrails never loosens one that is always on.
        let pack = self.pack;
        let defaults = &pack.defaults;
        let for_all = |on_fault: Option<OnFault>| on_fault.filter(|_| always_on.is_none());
        let is_feedback = page.is_some_and(|page| page.pack_key == PackKey::Feedback);
        let fault = page.map_or(OnFault::Block, Builtin::on_error);
        // What a pack says for its gates is not meant for what only speaks.
        let for_all = |on_fault: Option<OnFault>| for_all(on_fault).filter(|_| !is_feedback);
        spec.always_on = always_on.is_some();
        spec.mode = guard.mode.or(pack.mode.filter(|_| always_on.is_none())).unwrap_or_default();
        spec.on_error = guard.on_error.or(for_all(defaults.on_error)).unwrap_or(fault);
        spec.on_missing = guard.on_missing.or(for_all(defaults.on_missing)).unwrap_or(spec.on_error);
        spec.warn_limit = guard.warn_limit.or(defaults.warn_limit).unwrap_or(spec.warn_limit);
        spec.max_attempts = guard.max_attempts.or(defaults.max_attempts).unwrap_or(spec.max_attempts);
        spec.on_exhausted = guard.on_exhausted.or(defaults.on_exhausted).or(spec.on_exhausted);
        if let Some(approver) = guard.approver.as_ref().or(defaults.approver.as_ref()) {
            spec.approver.clone_from(approver);
        }
        if let Some(timeout) = guard.approval_timeout.or(defaults.approval_timeout) {
            spec.approval_timeout_s = timeout.whole();
        }
        spec.description = guard.description.clone().or_else(|| guard.name.clone()).unwrap_or_default();
        spec.category = guard.category.unwrap_or(spec.category);
        spec.effects = guard.effects.iter().map(|effect| effect.word().to_owned()).collect();
        spec.within_ms = guard.timeout.map(Seconds::millis);
        spec.reason.clone_from(&guard.reason);
        spec.advice.clone_from(&guard.advice);
        spec.per_prompt = match guard.scope {
            Some(scope) => scope == StateScope::Prompt,
            None => is_feedback,
        };
        if !guard.on.is_empty() {
            spec.on.clone_from(&guard.on);
        }
        self.priority(at, spec, guard, page);
        self.patterns(&format!("{at}/agents"), &guard.agents);
        self.patterns(&format!("{at}/tasks"), &guard.tasks);
        spec.agents.clone_from(&guard.agents);
        spec.tasks.clone_from(&guard.tasks);
        self.tools(at, spec, guard, bound);
        if page.is_some() {
            spec.effect = guard.effect;
        } else {
            spec.effect_by_risk = guard.effect.is_none();
        }
        self.bypass(spec, guard);
        if guard.effect == Some(Effect::Redact) && !page.is_some_and(|page| page.redacts) {
            let issue = Issue::new(format!("{at}/effect"), "this guardrail cannot say what to replace");
            self.issues.push(issue.help("use `warn`, `retry`, `escalate`, `block` or `halt`"));
        }
        spec.bound = bound.definition.clone();
    }

    /// Nothing in a pack may take a built-in that is always on out of force.
    fn stays_on(&mut self, at: &str, page: &Builtin, guard: &Guard, bound: &Bound<'_>) {
        let narrows =
            |patterns: &[String]| !patterns.is_empty() && !patterns.iter().any(|it| is_everything(it));
        let kinds =
            |guard: &Guard| !guard.on.is_empty() && !page.on.iter().all(|kind| guard.on.contains(kind));
        let loosening = [
            ("enabled", guard.enabled == Some(false)),
            ("mode", guard.mode == Some(Mode::Shadow)),
            ("on", kinds(guard)),
            ("tools", narrows(&guard.tools)),
            ("agents", narrows(&guard.agents)),
            ("tasks", narrows(&guard.tasks)),
            ("when", guard.when.is_some()),
            ("effect", guard.effect.is_some_and(|effect| effect < Effect::Block)),
            ("on_error", guard.on_error.is_some_and(|fault| fault != OnFault::Block)),
            ("on_missing", guard.on_missing.is_some_and(|fault| fault != OnFault::Block)),
            ("scope", guard.scope == Some(StateScope::Prompt)),
            ("bypass", guard.bypass.as_ref().is_some_and(|bypass| bypass.allowed)),
        ];
        let help = "it can only be lifted for one action, by an emergency override; a copy with an `id` of its own may \
                    differ";
        for (name, _) in loosening.into_iter().filter(|(_, loosens)| *loosens) {
            let message = format!("`{}` is always on, and `{name}` would loosen it", page.id);
            self.issues.push(Issue::new(format!("{at}/{name}"), message).help(help));
        }
        if let Some((agent, _)) = bound.agent {
            let message = format!("`{}` is always on, for all agents and not for `{agent}` alone", page.id);
            self.issues.push(Issue::new(at, message).help(help));
        }
    }

    /// Whether and by whom it can be lifted. What a pack does not say is left to emergencies.
    fn bypass(&self, spec: &mut Spec, guard: &Guard) {
        let Some(bypass) = &guard.bypass else { return };
        let role = bypass.requires_approval.as_ref().or(self.pack.defaults.approver.as_ref());
        spec.bypass = match (bypass.allowed, role) {
            (false, _) => Bypass::Never,
            (true, Some(role)) => Bypass::By(role.clone()),
            (true, None) => Bypass::By(super::HUMAN.to_owned()),
        };
    }

    fn priority(&mut self, at: &str, spec: &mut Spec, guard: &Guard, page: Option<&Builtin>) {
        let Some(priority) = guard.priority else { return };
        if page.is_none() && priority < 100 {
            let message = format!("priority must be >= 100 for custom rules, and is {priority}");
            self.issues
                .push(Issue::new(format!("{at}/priority"), message).help("1 to 99 belong to the built-ins"));
        }
        spec.priority = priority;
    }

    /// The tools that it governs. Within a section, its own list narrows the section's.
    fn tools(&mut self, at: &str, spec: &mut Spec, guard: &Guard, bound: &Bound<'_>) {
        self.patterns(&format!("{at}/tools"), &guard.tools);
        spec.tools = match (guard.tools.is_empty(), bound.tools) {
            (true, None) => Tools::All,
            (false, None) => Tools::Only(guard.tools.0.clone()),
            (true, Some(section)) => Tools::Only(section.to_vec()),
            (false, Some(section)) => {
                let (inside, strangers) = within(&guard.tools, section);
                for (i, stranger) in strangers {
                    let message = format!("`{stranger}` is not among the tools of this section");
                    self.issues.push(
                        Issue::new(format!("{at}/tools/{i}"), message)
                            .help(format!("the section's tools are {}", section.join(", "))),
                    );
                }
                Tools::Only(inside)
            }
        };
    }

    /// The condition under which a guardrail applies.
    pub(super) fn when(&mut self, at: &str, guard: &Guard) -> Option<Arc<dyn Condition>> {
        let when = self.expression(&format!("{at}/when"), guard.when.as_ref()?, Expected::Bool)?;
        Some(Arc::new(ExpressionCondition(when)))
    }
}
