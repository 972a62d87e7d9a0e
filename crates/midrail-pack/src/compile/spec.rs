//! The spec of a guardrail: when it is evaluated, and the effects of its verdict.

use std::sync::Arc;

use midrail_core::{Bypass, Condition, Effect, EventKind, Mode, OnFault, Spec, Tools};
use midrail_guardrails::{Builtin, PackKey, Seconds};

use crate::compile::calls::with_commands;
use crate::compile::compiler::{Binding, Compiler, HUMAN};
use crate::pattern::{is_everything, within};
use crate::raw::{Guard, StateScope};

impl Compiler<'_> {
    /// Applies the settings of a guardrail, then the defaults of its pack.
    pub(super) fn fill(
        &mut self,
        at: &str,
        spec: &mut Spec,
        guard: &Guard,
        builtin: Option<&Builtin>,
        binding: &Binding<'_>,
    ) {
        let always_on = builtin.filter(|builtin| builtin.always_on && *spec.id == *builtin.id);
        if let Some(builtin) = always_on {
            self.check_always_on(at, builtin, guard, binding);
        }
        // INVARIANT: the defaults of a pack never loosen an always-on guardrail, and do not apply to feedback.
        let pack = self.pack;
        let defaults = &pack.defaults;
        let is_feedback = builtin.is_some_and(|builtin| builtin.pack_key == PackKey::Feedback);
        let fault = builtin.map_or(OnFault::Block, Builtin::on_error);
        let for_all = |on_fault: Option<OnFault>| on_fault.filter(|_| always_on.is_none() && !is_feedback);
        spec.always_on = always_on.is_some();
        spec.mode = guard.mode.or(pack.mode.filter(|_| always_on.is_none())).unwrap_or_default();
        spec.on_error = guard.on_error.or(for_all(defaults.on_error)).unwrap_or(fault);
        spec.on_missing = guard.on_missing.or(for_all(defaults.on_missing)).unwrap_or(spec.on_error);
        let default = defaults.warn_limit.filter(|_| !spec.limits_budget);
        spec.warn_limit = guard.warn_limit.or(default).unwrap_or(spec.warn_limit);
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
        spec.sandbox.clone_from(&guard.sandbox);
        self.known_box(at, guard);
        spec.effects = guard.effects.iter().map(|effect| effect.as_str().to_owned()).collect();
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
        self.priority(at, spec, guard, builtin);
        self.patterns(&format!("{at}/agents"), &guard.agents);
        self.patterns(&format!("{at}/tasks"), &guard.tasks);
        spec.agents.clone_from(&guard.agents);
        spec.tasks.clone_from(&guard.tasks);
        self.tools(at, spec, guard, binding);
        if builtin.is_some() {
            spec.effect = guard.effect;
        } else {
            spec.effect_by_risk = guard.effect.is_none();
        }
        self.bypass(spec, guard);
        // Without parts of its own, a guardrail redacts the whole text.
        let has_text = |kind: &EventKind| {
            matches!(
                kind,
                EventKind::AfterTool | EventKind::BeforeModel | EventKind::ModelChunk | EventKind::AfterModel
            )
        };
        let can_redact = builtin.is_some_and(|builtin| builtin.redacts) || spec.on.iter().all(has_text);
        if guard.effect == Some(Effect::Redact) && !can_redact {
            let help = "add `on: after_tool`, or use `warn`, `retry`, `escalate`, `block` or `halt`";
            self.issue(format!("{at}/effect"), "this guardrail checks events without a text to redact", help);
        }
        spec.bound = binding.definition.clone();
    }

    /// Checks that a pack does not loosen an always-on built-in.
    fn check_always_on(&mut self, at: &str, builtin: &Builtin, guard: &Guard, binding: &Binding<'_>) {
        let narrows =
            |patterns: &[String]| !patterns.is_empty() && !patterns.iter().any(|it| is_everything(it));
        let kinds =
            |guard: &Guard| !guard.on.is_empty() && !builtin.on.iter().all(|kind| guard.on.contains(kind));
        let loosening = [
            ("enabled", guard.enabled == Some(false)),
            ("mode", guard.mode == Some(Mode::Shadow)),
            ("on", kinds(guard)),
            ("tools", narrows(&guard.tools)),
            ("command", !guard.command.is_empty()),
            ("agents", narrows(&guard.agents)),
            ("tasks", narrows(&guard.tasks)),
            ("when", guard.when.is_some()),
            ("effect", guard.effect.is_some_and(|effect| effect < Effect::Block)),
            ("on_error", guard.on_error.is_some_and(|fault| fault != OnFault::Block)),
            ("on_missing", guard.on_missing.is_some_and(|fault| fault != OnFault::Block)),
            ("scope", guard.scope == Some(StateScope::Prompt)),
            ("bypass", guard.bypass.as_ref().is_some_and(|bypass| bypass.allowed)),
        ];
        let help =
            "only an emergency override can bypass it, for one action; a copy with its own `id` may differ";
        for (name, _) in loosening.into_iter().filter(|(_, loosens)| *loosens) {
            let message = format!("`{}` is always on, and `{name}` would loosen it", builtin.id);
            self.issue(format!("{at}/{name}"), message, help);
        }
        if let Some((agent, _)) = binding.agent {
            let message = format!("`{}` is always on for all agents, not for `{agent}` only", builtin.id);
            self.issue(at, message, help);
        }
    }

    /// Whether it can be bypassed, and who decides. Without a setting, only emergencies can.
    fn bypass(&self, spec: &mut Spec, guard: &Guard) {
        let Some(bypass) = &guard.bypass else { return };
        let role = bypass.requires_approval.as_ref().or(self.pack.defaults.approver.as_ref());
        spec.bypass = match (bypass.allowed, role) {
            (false, _) => Bypass::Never,
            (true, Some(role)) => Bypass::By(role.clone()),
            (true, None) => Bypass::By(HUMAN.to_owned()),
        };
    }

    fn priority(&mut self, at: &str, spec: &mut Spec, guard: &Guard, builtin: Option<&Builtin>) {
        let Some(priority) = guard.priority else { return };
        if builtin.is_none() && priority < 100 {
            let message = format!("priority must be >= 100 for custom rules, and is {priority}");
            self.issue(format!("{at}/priority"), message, "1 to 99 are for built-in guardrails");
        }
        spec.priority = priority;
    }

    /// The tools of the guardrail. In a section, its list narrows the list of the section.
    fn tools(&mut self, at: &str, spec: &mut Spec, guard: &Guard, binding: &Binding<'_>) {
        self.patterns(&format!("{at}/tools"), &guard.tools);
        spec.tools = match (guard.tools.is_empty(), binding.tools) {
            (true, None) => Tools::All,
            (false, None) => Tools::Only(guard.tools.0.clone()),
            (true, Some(section)) => Tools::Only(section.to_vec()),
            (false, Some(section)) => {
                let (inside, outside) = within(&guard.tools, section);
                for (i, tool) in outside {
                    let help = format!("the tools of the section are {}", section.join(", "));
                    let message = format!("`{tool}` is not a tool of this section");
                    self.issue(format!("{at}/tools/{i}"), message, help);
                }
                Tools::Only(inside)
            }
        };
    }

    /// The condition under which a guardrail applies.
    pub(super) fn when(&mut self, at: &str, guard: &Guard) -> Option<Arc<dyn Condition>> {
        let when = guard.when.as_ref().and_then(|when| self.condition(&format!("{at}/when"), when));
        let except = self.exceptions(at, guard);
        if guard.command.is_empty() {
            return when;
        }
        let patterns = self.commands(&format!("{at}/command"), &guard.command)?;
        Some(with_commands(patterns, except, when))
    }
}
