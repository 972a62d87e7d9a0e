//! Tests that test nothing, or expect a guardrail that the pack does not have.

use std::collections::BTreeSet;

use midrail_guardrails::{CATALOGUE, guardrail_id};

use serde_json::Value;

use crate::case::StepAction;
use crate::diagnostic::did_you_mean;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Found, Packs};

/// Tests without an expectation.
pub(super) fn without_expectation(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        for (i, case) in document.pack.tests.iter().enumerate() {
            if case.problems.is_empty() && case.events.iter().all(|step| step.expect.is_none()) {
                let message = format!("the test `{}` expects nothing, so it never fails", case.id);
                let help = "add `expect: EFFECT` to an event: `{before_tool: NAME, expect: block}`";
                out.warn("idle-test", at, Issue::new(format!("/tests/{i}"), message).help(help));
            }
        }
    }
}

/// Results of calls that do not say whether the call succeeded, in packs with guardrails that need a call which did.
pub(super) fn unknown_outcomes(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        let needs_success = |found: &Found<'_>| {
            let guard = &found.guard.guard;
            guard.require_before.is_some() || guard.count.as_ref().is_some_and(|count| count.since.is_some())
        };
        if !packs.guards.iter().any(|found| found.document == at && needs_success(found)) {
            continue;
        }
        for (i, case) in document.pack.tests.iter().enumerate() {
            for (j, step) in case.events.iter().enumerate() {
                let StepAction::Event(event) = &step.action else { continue };
                let is_result = event.get("kind").and_then(Value::as_str) == Some("after_tool");
                let says = |name: &str| {
                    [Some(event), event.get("result")].iter().flatten().any(|it| it.get(name).is_some())
                };
                if is_result && !["ok", "exit_code", "error"].iter().any(|name| says(name)) {
                    let message =
                        "the test does not say whether this call succeeded, so it counts as if it did not";
                    let issue = Issue::new(format!("/tests/{i}/events/{j}"), message);
                    out.warn("unknown-outcome", at, issue.help("add `ok: true` or `ok: false`"));
                }
            }
        }
    }
}

/// Expected guardrails that no pack has. Decisions of the engine itself have other names.
pub(super) fn unknown_guardrails(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let ids: BTreeSet<&str> = packs.guards.iter().map(|found| found.id()).collect();
    for (at, document) in packs.iter() {
        // The guardrails of a base are not always among the packs.
        if !document.pack.extends.is_empty() {
            continue;
        }
        for (i, case) in document.pack.tests.iter().enumerate() {
            for (j, step) in case.events.iter().enumerate() {
                let Some(by) = step.expect.as_ref().and_then(|expect| expect.by.as_deref()) else { continue };
                let id = guardrail_id(by);
                let is_builtin = CATALOGUE.iter().any(|builtin| builtin.id == id);
                if is_builtin || ids.contains(id.as_str()) || id == "midrail" || id.ends_with("-script") {
                    continue;
                }
                let help =
                    did_you_mean(by, ids.iter().copied(), |known| format!("the guardrails are {known}"));
                let message = format!("no guardrail is named `{by}`, so this test always fails");
                let place = format!("/tests/{i}/events/{j}/expect/by");
                out.warn("unknown-guardrail", at, Issue::new(place, message).help(help));
            }
        }
    }
}
