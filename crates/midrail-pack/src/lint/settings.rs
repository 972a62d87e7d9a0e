//! Settings that disable a guardrail, or that have another effect than they seem to.

use midrail_core::{Category, Effect, Mode, OnFault};

use crate::diagnostic::DiagnosticLevel;
use crate::expr::Expected;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};
use crate::names::event_expression;

/// Conditions and checks with a constant result.
pub(super) fn expressions(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let always = |source: &Option<String>| event_expression(source.as_ref()?, Expected::Bool).ok()?.always();
    for found in &packs.guards {
        let (id, guard) = (found.id(), found.guard.guard);
        let mut add = |code, severity, key: &str, message: String, help: &str| {
            out.add(code, severity, found.document, Issue::new(found.at(key), message).help(help));
        };
        match always(&guard.when) {
            Some(false) => {
                let message = format!("`when` can never be true, so `{id}` never applies");
                let help = "check the names and the ANDs, or disable it with `enabled: false`";
                add("never-applies", DiagnosticLevel::Error, "when", message, help);
            }
            Some(true) => {
                let message = "`when` is always true".to_owned();
                add("always-applies", DiagnosticLevel::Warning, "when", message, "leave it out");
            }
            None => {}
        }
        match always(&guard.check) {
            Some(true) => {
                let message = format!("`check` always holds, so `{id}` never finds a violation");
                let help = "write a condition that can fail";
                add("never-objects", DiagnosticLevel::Error, "check", message, help);
            }
            Some(false) => {
                let message =
                    format!("`check` can never hold, so `{id}` finds a violation whenever it applies");
                let help = "leave `check` out, if that is intended";
                add("always-objects", DiagnosticLevel::Warning, "check", message, help);
            }
            None => {}
        }
    }
}

/// Guardrails that allow what they cannot check.
pub(super) fn failing_open(packs: &Packs<'_>, out: &mut Findings<'_>) {
    out.each(packs, "unconfigured", DiagnosticLevel::Warning, |found| {
        let effect = match found.guard.entry.spec.on_error {
            OnFault::Allow => "is allowed (`on_error: allow`)",
            OnFault::Escalate => "requires approval (`on_error: escalate`)",
            OnFault::Block => "is blocked (`on_error: block`)",
        };
        let message = format!("`{}` has no classifier: everything that it applies to {effect}", found.id());
        let is_deep = found.guard.builtin.is_some_and(|builtin| builtin.is_deep)
            && found.guard.entry.guardrail.external_request().is_none();
        let issue =
            Issue::new(&found.guard.at, message).help("configure a classifier, or remove the guardrail");
        (is_deep && found.guard.enabled).then_some(issue)
    });
    for found in packs.guards.iter().filter(|found| found.guard.enabled) {
        let spec = &found.guard.entry.spec;
        // The pack of a gateway has one setting for all of them.
        let document = packs.documents.get(found.document);
        let is_gateway = document.is_some_and(|(_, document)| document.node.get("policy_pack").is_some());
        let help =
            if is_gateway { "set `fail_open: false`, or leave it out" } else { "use `block` or `escalate`" };
        // A setting for both is reported once.
        let inherits = found.guard.guard.on_missing.is_none();
        for (key, on_fault, is_reported, when) in [
            ("on_error", spec.on_error, true, "it fails"),
            ("on_missing", spec.on_missing, !inherits, "a fact is missing"),
        ] {
            if on_fault == OnFault::Allow && spec.category == Category::Safety && is_reported {
                let message =
                    format!("`{}` is a safety guardrail and allows everything when {when}", spec.id);
                out.warn("fails-open", found.document, Issue::new(found.at(key), message).help(help));
            }
        }
    }
}

/// Settings that have another effect than they seem to.
pub(super) fn without_effect(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        if document.pack.lock && document.pack.mode == Some(Mode::Shadow) {
            let message = "the pack is locked and in shadow mode: its locked guardrails stop nothing";
            let help = "enforce it, or remove the lock until then";
            out.warn("locked-shadow", at, Issue::new("/mode", message).help(help));
        }
        for key in ["guardrail", "custom_guardrail"] {
            let validation = document.node.get(key).and_then(|hook| hook.get("validation"));
            if validation.is_some_and(|validation| validation.get("threshold").is_some()) {
                let index = usize::from(key == "custom_guardrail" && document.pack.guardrails.len() > 1);
                let message = "`threshold` has no effect: a check holds or does not";
                let issue = Issue::new(format!("/guardrails/{index}/check"), message);
                out.warn("unused-threshold", at, issue.help("write a second guardrail that warns earlier"));
            }
        }
    }
    out.each(packs, "always-audited", DiagnosticLevel::Warning, |found| {
        let bypass = found.guard.guard.bypass.as_ref()?;
        let message = "every bypass is audited, regardless of this setting";
        let issue = Issue::new(found.at("bypass/audit_required"), message);
        (bypass.audit_required == Some(false)).then_some(issue.help("leave it out"))
    });
}

/// Settings of custom guardrails that only another effect uses.
pub(super) fn of_other_effects(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in packs.guards.iter().filter(|found| found.guard.builtin.is_none()) {
        let guard = found.guard.guard;
        let effect = guard.effect.unwrap_or(Effect::Block);
        for (key, is_set, needed) in [
            ("corrective_message", guard.corrective_message.is_some(), Effect::Retry),
            ("max_attempts", guard.max_attempts.is_some(), Effect::Retry),
            ("on_exhausted", guard.on_exhausted.is_some(), Effect::Retry),
            ("warn_limit", guard.warn_limit.is_some(), Effect::Warn),
            ("box", guard.sandbox.is_some(), Effect::Contain),
        ] {
            if is_set && effect != needed {
                let message = format!("`{key}` has no effect here: the effect is `{effect}`");
                let help = format!("use `effect: {needed}`, or leave `{key}` out");
                out.warn("unused-setting", found.document, Issue::new(found.at(key), message).help(help));
            }
        }
    }
}
