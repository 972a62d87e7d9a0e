//! Approvers, recipients, feedback and completion.

use midrail_pack::{DiagnosticLevel, Layer, lint};

use crate::lint::{ORG, codes, found, shows};
use crate::world::project;

#[test]
fn unreachable_approvers_and_recipients_are_reported() {
    let asks = "pack: p\nguardrails:\n  - {id: g, tools: x, effect: escalate, approver: reviewr}\n";
    shows(
        "unknown-role",
        DiagnosticLevel::Warning,
        (3, 51),
        "the role `reviewr` has no rank",
        asks,
        &asks.replace("reviewr", "reviewer"),
    );
    assert!(lint(&project(asks))[0].help.as_ref().unwrap().contains("did you mean `reviewer`?"));
    let ranked = asks.replace("pack: p\n", "pack: p\napprovals: {order: [reviewr, human_operator]}\n");
    assert_eq!(codes(&ranked), Vec::<&str>::new());
    let lifts =
        "pack: p\nguardrails:\n  - {id: g, tools: x, bypass: {allowed: true, requires_approval: boss}}\n";
    shows(
        "unknown-role",
        DiagnosticLevel::Warning,
        (3, 66),
        "`boss`",
        lifts,
        &lifts.replace("allowed: true", "allowed: false"),
    );
    let at_once = "pack: p\nguardrails:\n  - {id: g, tools: x, effect: escalate, approval_timeout: 0s}\n";
    shows(
        "no-time-to-answer",
        DiagnosticLevel::Warning,
        (3, 59),
        "times out at once",
        at_once,
        &at_once.replace("0s", "1s"),
    );
    let struck = "pack: p\nstrikes: [{count: 2, effect: escalate, approval_timeout: 0s}]\n";
    let words = "times out at once";
    shows("no-time-to-answer", DiagnosticLevel::Warning, (2, 58), words, struck, &struck.replace("0s", "1s"));
    let alone = "pack: p\nrisk_router: {critical_risk_wait_ms: 0, on_timeout: {critical: allow}}\n";
    assert_eq!(codes(alone), Vec::<&str>::new(), "there is no deep guardrail");
    let hasty = &format!("{alone}guardrails:\n  - {{id: d, deep: {{command: ./judge}}, effect: block}}\n");
    let words = "calls of critical risk do not wait and are allowed";
    shows(
        "answers-always-late",
        DiagnosticLevel::Warning,
        (2, 38),
        words,
        hasty,
        &hasty.replace("allow", "escalate"),
    );
    assert_eq!(codes(&hasty.replace("ms: 0", "ms: 1")), Vec::<&str>::new());
    // Calls wait for this one in any case; that one is not asked about calls.
    assert_eq!(codes(&hasty.replace("./judge", "./judge, required: true")), Vec::<&str>::new());
    assert_eq!(codes(&hasty.replace("id: d", "id: d, on: before_model")), Vec::<&str>::new());
    // What a higher layer says holds.
    let org = "pack: org\nrisk_router: {critical_risk_wait_ms: 300}\n";
    assert_eq!(found(&[(ORG, "org.yaml", org), (Layer::Project, "mine.yaml", hasty)]), []);
    // And a guardrail of a lower one is too late by it.
    let lower = "pack: mine\nguardrails:\n  - {id: d, deep: {command: ./judge}, effect: block}\n";
    let lints = found(&[(ORG, "org.yaml", alone), (Layer::Project, "mine.yaml", lower)]);
    assert_eq!(
        lints.iter().map(|lint| (lint.path.as_str(), lint.code)).collect::<Vec<_>>(),
        [("org.yaml", "answers-always-late")]
    );
    let steps =
        "pack: p\nguardrails:\n  - {use: budget-001, with: {thresholds: {warn: 0.9, escalate: 80%}}}\n";
    shows(
        "steps-out-of-order",
        DiagnosticLevel::Warning,
        (3, 49),
        "`warn` comes after `escalate`",
        steps,
        &steps.replace("80%", "95%"),
    );
    let nowhere = "pack: p\nnotify: {reviewer: {}}\n";
    shows(
        "empty-channel",
        DiagnosticLevel::Warning,
        (2, 20),
        "notices to `reviewer` are not delivered",
        nowhere,
        &nowhere.replace("{}", "{log: true}"),
    );
    assert_eq!(codes("pack: p\nnotify: {reviewer: {command: cat}}\n"), Vec::<&str>::new());
}

#[test]
fn ineffective_required_guardrails_are_reported() {
    let pack = |more: &str| {
        format!(
            "pack: p\nrisk_router: {{require: {{high: [d]}}}}\nguardrails:\n  - {{id: d, deep: {{command: ./judge}}{more}}}\n"
        )
    };
    let near = &pack(", effect: block, tools: other");
    for (code, more, words) in [
        ("required-but-narrow", ", effect: block, when: \"agent.role == 'x'\"", "restricted by its `when`"),
        ("required-but-narrow", ", effect: block, agents: [x]", "restricted by its `agents`"),
        ("required-but-narrow", ", effect: block, tasks: [x]", "restricted by its `tasks`"),
        ("required-but-shadow", ", effect: block, mode: shadow", "in shadow mode: it stops nothing"),
        ("required-but-allows", ", effect: allow", "its violations allow the call"),
    ] {
        shows(code, DiagnosticLevel::Warning, (2, 32), words, &pack(more), near);
    }
    let one = &pack(", effect: allow").replace("[d]", "d");
    shows(
        "required-but-allows",
        DiagnosticLevel::Warning,
        (2, 31),
        "allow the call",
        one,
        &near.replace("[d]", "d"),
    );
}

#[test]
fn feedback_and_completion_without_effect_are_reported() {
    let error = DiagnosticLevel::Error;
    let of = |what: &str| format!("pack: p\nguardrails:\n  - {what}\n");
    for (code, at, words, what, near_miss) in [
        (
            "silent-feedback",
            (3, 24),
            "`static` without a trigger is never shown",
            "feedback: {static: x}",
            "feedback: {static: x, every_n_calls: 1}",
        ),
        (
            "silent-feedback",
            (3, 26),
            "`deadline`",
            "feedback: {deadline: {}}",
            "feedback: {deadline: {}, on_file_created: A.md}",
        ),
        ("silent-feedback", (3, 24), "`budget`", "feedback: {budget: {at: []}}", "feedback: {budget: {}}"),
        (
            "empty-completion",
            (3, 17),
            "the agent can always stop",
            "completion: {}",
            "completion: {files: [a]}",
        ),
        (
            "empty-completion",
            (3, 17),
            "the agent can always stop",
            "completion: {all: [], files: []}",
            "{use: completion, with: {todos: none_open}}",
        ),
        (
            "effect-unused",
            (3, 44),
            "can stop",
            "{completion: {files: [a.txt]}, effect: allow}",
            "{completion: {files: [a.txt]}, effect: warn}",
        ),
        (
            "effect-unused",
            (3, 14),
            "finds no violations",
            "{effect: warn, feedback: {budget: {}}}",
            "{feedback: {budget: {}}}",
        ),
        (
            "unused-also-after-tool",
            (3, 52),
            "has no effect with this `on`",
            "{completion: {files: [a.txt], also_after_tool: true}, \"on\": before_stop}",
            "{completion: {files: [a.txt], also_after_tool: true}, \"on\": [before_stop, after_tool]}",
        ),
        (
            "feedback-not-counted",
            (3, 20),
            "`feedback.calls` is counted only if a policy has feedback",
            "{id: a, check: feedback.calls < 5}",
            "{id: a, check: session.calls < 5}",
        ),
    ] {
        shows(code, error, at, words, &of(what), &of(near_miss));
    }
    let by = |name: &str| {
        format!(
            "pack: p\nguardrails:\n  - feedback: {{budget: {{}}}}\n  - {{id: a, check: feedback.calls_since_by.{name} < 5}}\n"
        )
    };
    shows(
        "unknown-provider",
        error,
        (4, 20),
        "there is no feedback provider `Budgets`",
        &by("Budgets"),
        &by("Budget"),
    );
}

#[test]
fn feedback_with_the_same_name_is_reported() {
    let pack = |name: &str, text: &str| {
        format!("pack: {name}\nguardrails:\n  - feedback: {{static: {text}, every_n_calls: 1}}\n")
    };
    let (one, other) = (pack("one", "x"), pack("two", "y"));
    let lints = found(&[(ORG, "org.yaml", &one), (Layer::Project, "p.yaml", &other)]);
    let [only] = lints.as_slice() else { panic!("{lints:#?}") };
    assert_eq!((only.code, only.path.as_str(), only.line), ("same-provider", "p.yaml", 3));
    assert!(only.help.as_deref().unwrap().contains("`name`"));
    let named = other.replace("static: y", "static: y, name: Mine");
    assert_eq!(found(&[(ORG, "org.yaml", &one), (Layer::Project, "p.yaml", &named)]), []);
}
