//! Expressions and settings without effect.

use midrail_pack::{DiagnosticLevel, lint};

use crate::lint::{codes, shows};
use crate::world::project;

#[test]
fn constant_expressions_are_reported() {
    let pack = |guard: &str| format!("pack: p\nguardrails:\n  - {{id: g, {guard}}}\n");
    let near = pack("check: \"tool.args.n < 5\", when: \"agent.role == 'a' OR agent.role == 'b'\"");
    shows(
        "never-applies",
        DiagnosticLevel::Error,
        (3, 19),
        "`when` can never be true, so `g` never applies",
        &pack("when: \"agent.role == 'a' AND agent.role == 'b'\""),
        &near,
    );
    shows(
        "always-applies",
        DiagnosticLevel::Warning,
        (3, 19),
        "`when` is always true",
        &pack("when: \"1 < 2\""),
        &near,
    );
    shows(
        "never-objects",
        DiagnosticLevel::Error,
        (3, 20),
        "`check` always holds, so `g` never finds a violation",
        &pack("check: \"agent.role != 'a' OR agent.role != 'b'\""),
        &near,
    );
    shows(
        "always-objects",
        DiagnosticLevel::Warning,
        (3, 20),
        "`check` can never hold, so `g` finds a violation whenever it applies",
        &pack("check: \"usage.cost > 5 AND usage.cost < 3\""),
        &near,
    );
}

#[test]
fn guardrails_that_fail_open_are_reported() {
    for (more, words) in [
        ("", "requires approval (`on_error: escalate`)"),
        (", on_error: allow", "is allowed (`on_error: allow`)"),
        (", on_error: block", "is blocked (`on_error: block`)"),
    ] {
        shows(
            "unconfigured",
            DiagnosticLevel::Warning,
            (3, 5),
            words,
            &format!("pack: p\nguardrails:\n  - {{use: scope-classifier{more}}}\n"),
            "pack: p\nguardrails:\n  - {use: injection-patterns}\n",
        );
    }
    let pack = |more: &str| format!("pack: p\nguardrails:\n  - {{use: injection-patterns{more}}}\n");
    shows(
        "fails-open",
        DiagnosticLevel::Warning,
        (3, 41),
        "`injection-patterns` is a safety guardrail and allows everything when it fails",
        &pack(", on_error: allow"),
        &pack(", on_error: escalate"),
    );
    assert_eq!(codes(&pack(", on_missing: allow")), ["fails-open"]);
    assert_eq!(
        codes("pack: p\nguardrails:\n  - {id: a, tools: x, category: quality, on_error: allow}\n"),
        Vec::<&str>::new()
    );
    // In the words of a gateway, the setting is pointed at.
    let gateway =
        "policy_pack: p\ngateway:\n  sync: {fail_open: true}\nsync_rules:\n  - {id: injection-patterns}\n";
    let lints = lint(&project(gateway));
    assert_eq!((lints[0].code, lints[0].line, lints[0].column), ("fails-open", 3, 21));
    assert_eq!(lints[0].help.as_deref(), Some("set `fail_open: false`, or leave it out"));
}

#[test]
fn settings_without_effect_are_reported() {
    shows(
        "locked-shadow",
        DiagnosticLevel::Warning,
        (3, 7),
        "its locked guardrails stop nothing",
        "pack: p\nlock: true\nmode: shadow\n",
        "pack: p\nlock: true\nmode: enforce\n",
    );
    let hook = |more: &str, audit: bool| {
        format!(
            "guardrail:\n  id: g\n  type: pre_execution\n  validation: {{check: \"session.n < 5\"{more}}}\n  bypass: {{allowed: true, audit_required: {audit}}}\n"
        )
    };
    shows(
        "always-audited",
        DiagnosticLevel::Warning,
        (5, 43),
        "every bypass is audited",
        &hook("", false),
        &hook("", true),
    );
    shows(
        "unused-threshold",
        DiagnosticLevel::Warning,
        (4, 23),
        "`threshold` has no effect",
        &hook(", threshold: 0.9", true),
        &hook("", true),
    );
}

#[test]
fn unknown_values_of_names_are_reported() {
    shows(
        "unknown-value",
        DiagnosticLevel::Warning,
        (3, 37),
        "`action.type` is never `filewrite`",
        "pack: p\nguardrails:\n  - {id: a, check: \"action.type == 'filewrite'\"}\n",
        "pack: p\nguardrails:\n  - {id: a, check: \"action.type == 'file_write'\"}\n",
    );
    assert_eq!(
        codes("pack: p\nguardrails:\n  - {id: a, when: \"task.risk == 'extreme'\"}\n"),
        ["unknown-value"]
    );
    assert_eq!(
        codes("pack: p\nguardrails:\n  - {id: a, when: \"event.kind == 'befor_tool'\"}\n"),
        ["unknown-value"]
    );
}

#[test]
fn tool_names_on_events_without_tools_are_reported() {
    shows(
        "no-tool",
        DiagnosticLevel::Warning,
        (3, 38),
        "`tools` has no effect here: before_model has no tool",
        "pack: p\nguardrails:\n  - {id: a, on: before_model, tools: x}\n",
        "pack: p\nguardrails:\n  - {id: a, on: [before_model, before_tool], tools: x}\n",
    );
    assert_eq!(
        codes("pack: p\nguardrails:\n  - {id: a, on: before_model, check: tool.name != 'x'}\n"),
        ["no-tool"]
    );
}

#[test]
fn guardrails_for_unknown_tools_and_tasks_are_reported() {
    shows(
        "tool-not-allowed",
        DiagnosticLevel::Warning,
        (4, 20),
        "no agent may call `deploy`, so `g` never applies",
        "pack: p\nagents: {dev: {allowed_tools: [Read]}}\nguardrails:\n  - {id: g, tools: deploy}\n",
        "pack: p\nagents: {dev: {allowed_tools: [Read, dep*]}}\nguardrails:\n  - {id: g, tools: deploy}\n",
    );
    shows(
        "unknown-task",
        DiagnosticLevel::Warning,
        (4, 20),
        "no definition is for a task `relase`",
        "pack: p\ntasks: {release: {token_budget: 5}}\nguardrails:\n  - {id: g, tasks: relase}\n",
        "pack: p\ntasks: {release: {token_budget: 5}}\nguardrails:\n  - {id: g, tasks: rel*}\n",
    );
}
