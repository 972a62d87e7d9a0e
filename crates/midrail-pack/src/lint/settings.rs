//! Settings that leave a guardrail without force, or do not do what they seem to.

use midrail_core::{Category, Mode, OnFault};

use super::{DiagnosticLevel, Issue, Linter};
use crate::expr::{Expected, Expression};
use crate::names::{EVENT_NAMES, GLOBS};

/// Conditions and checks whose answer is settled before anything happens.
pub(super) fn expressions(linter: &mut Linter<'_>) {
    let always = |source: &Option<String>| {
        Expression::parse(source.as_ref()?, &EVENT_NAMES, Expected::Bool, GLOBS).ok()?.always()
    };
    linter.each_guard("never-applies", DiagnosticLevel::Error, |it| {
        let message = format!("`when` can never be true, so `{}` never applies", it.id());
        let issue = Issue::new(format!("{}/when", it.guard.at), message)
            .help("check the names and the ANDs, or switch it off with `enabled: false`");
        (always(&it.guard.guard.when) == Some(false)).then_some(issue)
    });
    linter.each_guard("always-applies", DiagnosticLevel::Warning, |it| {
        let issue = Issue::new(format!("{}/when", it.guard.at), "`when` is always true");
        (always(&it.guard.guard.when) == Some(true)).then_some(issue.help("leave it out"))
    });
    linter.each_guard("never-objects", DiagnosticLevel::Error, |it| {
        let message = format!("`check` always holds, so `{}` never objects", it.id());
        let issue = Issue::new(format!("{}/check", it.guard.at), message);
        (always(&it.guard.guard.check) == Some(true)).then_some(issue.help("say what has to hold"))
    });
    linter.each_guard("always-objects", DiagnosticLevel::Warning, |it| {
        let message = format!("`check` can never hold, so `{}` objects whenever it applies", it.id());
        let issue = Issue::new(format!("{}/check", it.guard.at), message)
            .help("leave `check` out, if that is what it is for");
        (always(&it.guard.guard.check) == Some(false)).then_some(issue)
    });
}

/// Guardrails that let pass what they could not check.
pub(super) fn failing_open(linter: &mut Linter<'_>) {
    linter.each_guard("unconfigured", DiagnosticLevel::Warning, |it| {
        let answer = match it.guard.entry.spec.on_error {
            OnFault::Allow => "is allowed (`on_error: allow`)",
            OnFault::Escalate => "waits for a person (`on_error: escalate`)",
            OnFault::Block => "is blocked (`on_error: block`)",
        };
        let message =
            format!("`{}` has no classifier behind it: everything that it is asked about {answer}", it.id());
        let issue = Issue::new(&it.guard.at, message).help("configure a classifier, or take it out");
        let is_deep = it.guard.page.is_some_and(|page| page.is_deep)
            && it.guard.entry.guardrail.external_request().is_none();
        (is_deep && it.guard.enabled).then_some(issue)
    });
    // A gateway's pack has one switch in the place of the ladder's words.
    let gateways: Vec<usize> = linter
        .packs()
        .filter(|(_, document)| document.node.get("policy_pack").is_some())
        .map(|(at, _)| at)
        .collect();
    for key in ["on_error", "on_missing"] {
        linter.each_guard("fails-open", DiagnosticLevel::Warning, |it| {
            let spec = &it.guard.entry.spec;
            let (on_fault, what) = match key {
                "on_error" => (spec.on_error, "it fails"),
                _ => (spec.on_missing, "it lacks a fact"),
            };
            // One setting for both is told once.
            let inherits = key == "on_missing" && it.guard.guard.on_missing.is_none();
            let is_open = on_fault == OnFault::Allow && spec.category == Category::Safety && !inherits;
            let message = format!("`{}` guards safety and allows everything when {what}", spec.id);
            let issue = Issue::new(format!("{}/{key}", it.guard.at), message);
            let help = match gateways.contains(&it.document) {
                true => "set `fail_open: false`, or leave it out",
                false => "use `block` or `escalate`",
            };
            (is_open && it.guard.enabled).then_some(issue.help(help))
        });
    }
}

/// Settings that do not do what they seem to.
pub(super) fn without_effect(linter: &mut Linter<'_>) {
    for (at, document) in linter.packs() {
        if document.pack.lock && document.pack.mode == Some(Mode::Shadow) {
            let issue =
                Issue::new("/mode", "the pack is locked and in shadow mode: what it locks stops nothing")
                    .help("enforce it, or take the lock out until it is");
            linter.found("locked-shadow", DiagnosticLevel::Warning, at, issue);
        }
        for key in ["guardrail", "custom_guardrail"] {
            let validation = document.node.get(key).and_then(|hook| hook.get("validation"));
            if validation.is_some_and(|validation| validation.get("threshold").is_some()) {
                let index = usize::from(key == "custom_guardrail" && document.pack.guardrails.len() > 1);
                let message = "`threshold` is not used: a check holds or does not";
                let issue = Issue::new(format!("/guardrails/{index}/check"), message)
                    .help("write a second guardrail that warns earlier");
                linter.found("unused-threshold", DiagnosticLevel::Warning, at, issue);
            }
        }
    }
    linter.each_guard("always-audited", DiagnosticLevel::Warning, |it| {
        let bypass = it.guard.guard.bypass.as_ref()?;
        let issue = Issue::new(
            format!("{}/bypass/audit_required", it.guard.at),
            "every bypass is audited, whatever this says",
        );
        (bypass.audit_required == Some(false)).then_some(issue.help("leave it out"))
    });
}
