//! Lint: each finding with a pack that shows it, and a near miss that stays silent.

use midrail_pack::{DiagnosticLevel, DiagnosticReport, Layer, LintFinding, lint};

use crate::world::{in_layers, project};

const ORG: Layer = Layer::Organisation;

fn found(packs: &[(Layer, &str, &str)]) -> Vec<LintFinding> {
    lint(&in_layers(packs))
}

fn codes(source: &str) -> Vec<&'static str> {
    lint(&project(source)).iter().map(|lint| lint.code).collect()
}

/// The first pack shows exactly this finding, at a place and with words; the second shows nothing.
fn shows(
    code: &str,
    severity: DiagnosticLevel,
    at: (usize, usize),
    words: &str,
    shows: &str,
    near_miss: &str,
) {
    let lints = lint(&project(shows));
    let [only] = lints.as_slice() else { panic!("{code}: {lints:#?}\n{shows}") };
    assert_eq!(
        (only.code, only.severity, (only.line, only.column)),
        (code, severity, at),
        "{only:#?}\n{shows}"
    );
    assert!(only.message.contains(words), "{only:#?}");
    assert_eq!(codes(near_miss), Vec::<&str>::new(), "{near_miss}");
}

#[test]
fn tools_that_wait_for_one_another() {
    let two = "pack: p\nguardrails:\n  - require_before: {tool: a, requires: b}\n  - require_before: {tool: b, requires: a}\n";
    shows(
        "prerequisite-cycle",
        DiagnosticLevel::Error,
        (3, 21),
        "`a` can never be called: `a` needs `b`, `b` needs `a`",
        two,
        &two.replace("tool: b, requires: a", "tool: b, requires: c"),
    );
    shows(
        "prerequisite-cycle",
        DiagnosticLevel::Error,
        (3, 21),
        "`a` can never be called: it needs itself first",
        "pack: p\nguardrails:\n  - require_before: {tool: a, requires: a}\n",
        "pack: p\nguardrails:\n  - require_before: {tool: a, requires: aa}\n",
    );
    // Longer, over several kinds of rules.
    shows(
        "prerequisite-cycle",
        DiagnosticLevel::Error,
        (3, 22),
        "`a` needs `b`, `b` needs `c`, `c` needs `d`, `d` needs `a`",
        "pack: p\nguardrails:\n  - {sequential: {a: [x, b], b: [c]}}\n  - {id: r, rules: [{require_before: {tool: c, requires: [d]}}]}\n  - {keyed: [{tool: d, requires: [a], key: k}]}\n",
        "pack: p\nguardrails:\n  - {sequential: {a: [x, b], b: [c]}}\n  - {id: r, rules: [{require_before: {tool: c, requires: [d]}}]}\n  - {keyed: [{tool: d, requires: [y], key: k}]}\n",
    );
    // Of several alternatives, all have to be in the circle.
    shows(
        "prerequisite-cycle",
        DiagnosticLevel::Error,
        (3, 14),
        "`a` needs `b` or `c`",
        "pack: p\nguardrails:\n  - {keyed: [{tool: a, requires: [b, c], key: k}]}\n  - {sequential: {b: a, c: a}}\n",
        "pack: p\nguardrails:\n  - {keyed: [{tool: a, requires: [b, c], key: k}]}\n  - {sequential: {b: a, c: x}}\n",
    );
    // Patterns: every tool of the pattern waits, or only some do.
    shows(
        "prerequisite-cycle",
        DiagnosticLevel::Error,
        (3, 26),
        "can never be called",
        "pack: p\nguardrails:\n  - {sequential: {'db_*': check, check: 'db_*'}}\n"
            .replace("{'db_*': check, check: 'db_*'}", "{check: 'db_*', 'db_*': check}")
            .as_str(),
        "pack: p\nguardrails:\n  - {sequential: {check: 'db_*', db_write: check}}\n",
    );
}

#[test]
fn a_circle_that_cannot_close_is_none() {
    let circle = |one: &str, other: &str| {
        format!(
            "pack: p\nguardrails:\n  - {{require_before: {{tool: a, requires: b}}{one}}}\n  - {{require_before: {{tool: b, requires: a}}{other}}}\n"
        )
    };
    let when = |role: &str| format!(", when: \"agent.role == '{role}'\"");
    assert_eq!(codes(&circle("", "")), ["prerequisite-cycle"]);
    assert_eq!(codes(&circle(&when("x"), &when("x"))), ["prerequisite-cycle"]);
    assert_eq!(codes(&circle(&when("x"), "")), ["prerequisite-cycle"]);
    assert_eq!(codes(&circle(&when("x"), &when("y"))), Vec::<&str>::new());
    assert_eq!(codes(&circle("", ", effect: warn")), Vec::<&str>::new());
    assert_eq!(codes(&circle("", ", mode: shadow")), Vec::<&str>::new());
    assert_eq!(codes(&circle("", ", tools: c")), Vec::<&str>::new());
    // A new file needs no read, unless the rule says so.
    let reads = |more: &str| {
        format!(
            "pack: p\nguardrails:\n  - require_before: {{tool: w, reads: r{more}}}\n  - require_before: {{tool: r, requires: w}}\n"
        )
    };
    assert_eq!(codes(&reads("")), Vec::<&str>::new());
    assert_eq!(codes(&reads(", new_files: require_read")), ["prerequisite-cycle"]);
}

#[test]
fn circle_over_two_packs_is_reported_once() {
    let lints = found(&[
        (ORG, "org.yaml", "pack: org\nguardrails:\n  - require_before: {tool: a, requires: b}\n"),
        (
            Layer::Project,
            "mine.yaml",
            "pack: mine\nguardrails:\n  - require_before: {tool: b, requires: a}\n",
        ),
    ]);
    assert_eq!(lints.len(), 1, "{lints:#?}");
    assert_eq!((lints[0].path.as_str(), lints[0].code), ("org.yaml", "prerequisite-cycle"));
}

#[test]
fn tools_that_no_agent_may_call() {
    let pack = |agents: &str, rule: &str| format!("pack: p\nagents:\n{agents}guardrails:\n  - {rule}\n");
    let agents = "  dev: {allowed_tools: [deploy, 'fs_*']}\n  ops: {allowed_tools: [merge], additional_tools: [review]}\n";
    shows(
        "tool-not-allowed",
        DiagnosticLevel::Error,
        (6, 21),
        "`deploy` can never be called: no agent may call `test`, which it needs",
        &pack(agents, "require_before: {tool: deploy, requires: test}"),
        &pack(agents, "require_before: {tool: deploy, requires: fs_read}"),
    );
    shows(
        "tool-not-allowed",
        DiagnosticLevel::Warning,
        (6, 21),
        "no agent may call `release`, so this rule never applies",
        &pack(agents, "require_before: {tool: release, requires: merge}"),
        &pack(&format!("{agents}  any: {{}}\n"), "require_before: {tool: release, requires: merge}"),
    );
    // Added tools count, and one alternative is enough.
    assert_eq!(codes(&pack(agents, "require_before: {tool: merge, requires: review}")), Vec::<&str>::new());
    assert_eq!(
        codes(&pack(agents, "require_before: {tool: merge, requires: [x, fs_read], key: k}")),
        Vec::<&str>::new()
    );
    assert_eq!(
        codes(&pack(agents, "require_before: {tool: merge, requires: [x, fs_read]}")),
        ["tool-not-allowed"]
    );
    let task = format!(
        "{}tasks: {{t: {{additional_tools: [test]}}}}\n",
        pack(agents, "require_before: {tool: deploy, requires: test}")
    );
    assert_eq!(codes(&task), Vec::<&str>::new());
}

#[test]
fn guardrails_that_never_have_a_say() {
    let pack = |wall: &str, later: &str| format!("pack: p\nguardrails:\n  - {wall}\n  - {later}\n");
    let later = "{id: later, tools: [deploy], check: \"tool.args.x == 1\"}";
    shows(
        "unreachable-guardrail",
        DiagnosticLevel::Warning,
        (4, 5),
        "`later` never decides: `wall` stops everything that it applies to",
        &pack("{id: wall, tools: ['dep*']}", later),
        &pack("{id: wall, tools: ['dep*'], when: \"agent.role == 'x'\"}", later),
    );
    for wall in [
        "{id: wall, tools: build}",
        "{id: wall, effect: escalate}",
        "{id: wall, mode: shadow}",
        "{id: wall, priority: 200}",
        "{id: wall, agents: x}",
        "{id: wall, tasks: x}",
        "{id: wall, check: \"tool.args.y == 1\"}",
        "{id: wall, on: after_tool}",
    ] {
        assert_eq!(codes(&pack(wall, later)), Vec::<&str>::new(), "{wall}");
    }
    assert_eq!(codes(&pack("{id: wall, effect: halt}", later)), ["unreachable-guardrail"]);
    assert_eq!(codes(&pack("{id: wall, enabled: false}", later)), ["disabled"]);
    // A halt is more than a block, and is still asked for.
    assert_eq!(
        codes(&pack("{id: wall}", "{id: later, effect: halt, check: \"tool.args.x == 1\"}")),
        Vec::<&str>::new()
    );
    // The order is that of the chain, not that of the file; built-ins are first in it.
    assert_eq!(codes(&pack(later, "{id: wall, priority: 100, category: safety}")), ["unreachable-guardrail"]);
    assert_eq!(codes(&pack("{id: wall}", "{require_before: {tool: a, requires: b}}")), Vec::<&str>::new());
    assert_eq!(
        codes(&pack("{id: wall}", "{require_before: {tool: a, requires: b}, priority: 150}")),
        ["unreachable-guardrail"]
    );
}

#[test]
fn guardrails_that_say_the_same() {
    let one = "pack: p\nguardrails:\n  - {id: one, tools: x, check: \"tool.args.n<5\", reason: small}\n";
    let other = |other: &str| format!("{one}  - {other}\n");
    shows(
        "duplicate-guardrail",
        DiagnosticLevel::Warning,
        (4, 5),
        "`two` checks the same as `one`",
        &other("{id: two, tools: [x], check: tool.args.n < 5, effect: warn}"),
        &other("{id: two, tools: [x], check: tool.args.n < 6}"),
    );
    for different in [
        "{id: two, tools: y, check: tool.args.n < 5}",
        "{id: two, tools: x, check: tool.args.n < 5, when: \"agent.role == 'x'\"}",
        "{id: two, tools: x, check: tool.args.n < 5, mode: shadow}",
        "{id: two, tools: x, check: tool.args.n < 5, on: after_tool}",
    ] {
        assert_eq!(codes(&other(different)), Vec::<&str>::new(), "{different}");
    }
    assert_eq!(
        codes("pack: p\nguardrails:\n  - secret-redaction\n  - {id: mine, use: secret_redaction}\n"),
        ["duplicate-guardrail"]
    );
    assert_eq!(
        codes(
            "pack: p\nguardrails:\n  - secret-redaction\n  \
             - {id: mine, use: secret-redaction, with: {personal_data: true}}\n"
        ),
        Vec::<&str>::new(),
        "the same built-in with other settings checks something else"
    );
    assert_eq!(
        codes(
            "pack: p\nagents:\n  a: {guardrails: [{id: x, tools: t}]}\n  b: {guardrails: [{id: y, tools: t}]}\n"
        ),
        Vec::<&str>::new()
    );
}

#[test]
fn expressions_that_are_settled() {
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
fn names_that_fit_nothing() {
    let agents = |agents: &str, pattern: &str| {
        format!("pack: p\nagents:\n{agents}guardrails:\n  - {{id: g, tools: t, agents: {pattern}}}\n")
    };
    let with_ids = "  dev: {id: ['dev-*']}\n  ops: {id: ops-1}\n";
    shows(
        "unknown-agent",
        DiagnosticLevel::Warning,
        (6, 32),
        "no definition is for an agent `tester-*`",
        &agents(with_ids, "['tester-*']"),
        &agents(with_ids, "[dev-7, 'o*']"),
    );
    assert_eq!(
        codes(&agents("  dev: {id: ['dev-*']}\n  any: {role: any}\n", "['tester-*']")),
        Vec::<&str>::new()
    );
    assert_eq!(
        codes("pack: p\nguardrails:\n  - {id: g, tools: t, agents: 'tester-*'}\n"),
        Vec::<&str>::new()
    );

    let role = |agents: &str, role: &str| {
        format!(
            "pack: p\nagents:\n{agents}guardrails:\n  - {{id: g, tools: t, when: \"agent.role == '{role}'\"}}\n"
        )
    };
    let roles = "  implementer: {}\n  dev: {id: x, role: reviewer}\n";
    shows(
        "unknown-role",
        DiagnosticLevel::Warning,
        (6, 45),
        "no definition declares the role `implementor`",
        &role(roles, "implementor"),
        &role(roles, "reviewer"),
    );
    assert_eq!(
        lint(&project(&role(roles, "implementor")))[0].help.as_deref(),
        Some("did you mean `implementer`?")
    );
    assert_eq!(codes(&role(roles, "operator")), ["unknown-role"]);
    // Where a definition declares none, only what looks like a slip is told.
    assert_eq!(codes(&role("  implementer: {}\n  dev: {id: x}\n", "operator")), Vec::<&str>::new());
    assert_eq!(codes(&role("  implementer: {}\n  dev: {id: x}\n", "implementor")), ["unknown-role"]);
    let listed = "pack: p\nagents: {tester: {}}\nguardrails:\n  - {id: g, check: \"agent.role in ['tester', 'auditor']\"}\n";
    assert_eq!(codes(listed), ["unknown-role"]);
}

#[test]
fn parts_that_do_nothing() {
    shows(
        "idle-overlay",
        DiagnosticLevel::Warning,
        (4, 9),
        "the overlay `prod` changes nothing",
        "pack: p\nmode: enforce\nenv:\n  prod: {mode: enforce}\n",
        "pack: p\nmode: enforce\nenv:\n  prod: {mode: shadow}\n",
    );
    shows(
        "idle-defaults",
        DiagnosticLevel::Warning,
        (2, 11),
        "these defaults apply to no guardrail",
        "pack: p\ndefaults: {on_error: escalate}\nagents: {a: {}}\n",
        "pack: p\ndefaults: {on_error: escalate}\nagents: {a: {guardrails: [read_before_write]}}\n",
    );
    shows(
        "disabled",
        DiagnosticLevel::Note,
        (3, 22),
        "`a` is disabled",
        "pack: p\nguardrails:\n  - {id: a, enabled: false}\n",
        "pack: p\nguardrails:\n  - {id: a, enabled: true}\n",
    );
}

#[test]
fn locks_that_overlap() {
    let org = "pack: org\nguardrails:\n  - {id: a, tools: x, lock: true}\n";
    let codes = |mine: &str| -> Vec<(&str, usize)> {
        let lints = found(&[(ORG, "org.yaml", org), (Layer::Project, "mine.yaml", mine)]);
        assert!(lints.iter().all(|lint| lint.path == "mine.yaml"));
        lints.iter().map(|lint| (lint.code, lint.line)).collect()
    };
    assert_eq!(
        codes("pack: mine\nlock: true\nguardrails:\n  - {id: a, tools: y}\n"),
        [("overlapping-lock", 4)]
    );
    assert_eq!(
        codes("pack: mine\nguardrails:\n  - {id: a, tools: x, lock: true}\n"),
        [("repeats-locked", 3)]
    );
    assert_eq!(codes("pack: mine\nguardrails:\n  - {id: a, tools: y}\n"), [("redefines-locked", 3)]);
    assert_eq!(codes("pack: mine\nlock: true\nguardrails:\n  - {id: b, tools: y}\n"), []);
}

#[test]
fn guardrails_that_fail_open() {
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
fn settings_that_do_not_do_what_they_seem_to() {
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
            "guardrail:\n  id: g\n  type: pre_execution\n  validation: {{check: \"tool.args.n < 5\"{more}}}\n  bypass: {{allowed: true, audit_required: {audit}}}\n"
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
fn lints_are_in_order_and_can_be_shown() {
    let source = "pack: p\nguardrails:\n  - {id: b, enabled: false}\n  - {id: a, when: \"1 < 2\", tools: x}\ndefaults: {}\n";
    let documents = project(source);
    let lints = lint(&documents);
    assert_eq!(lints.iter().map(|lint| lint.code).collect::<Vec<_>>(), ["disabled", "always-applies"]);
    let problems = lints.iter().map(|lint| lint.problem.clone()).collect();
    let expected = "\
note: `b` is disabled
 --> pack.yaml:3:22
  |
3 |   - {id: b, enabled: false}
  |                      ^^^^^

warning: `when` is always true
 --> pack.yaml:4:19
  |
4 |   - {id: a, when: \"1 < 2\", tools: x}
  |                   ^^^^^^^
  |
  = help: leave it out
";
    assert_eq!(DiagnosticReport::new("pack.yaml", source, problems).render(false), expected);
    let json = serde_json::to_value(&lints[1]).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "code": "always-applies", "severity": "warning", "path": "pack.yaml", "line": 4, "column": 19,
            "message": "`when` is always true", "help": "leave it out",
        })
    );
}

#[test]
fn sound_packs_are_left_in_peace() {
    let source = "pack: p\nlock: true\ndefaults: {on_error: escalate}\nguardrails:\n  - read_before_write\n  - secret-redaction\n  - injection-patterns\n  - require_before: {tool: deploy, requires: [test, build]}\n  - {id: fridays, tools: deploy, when: \"session.friday == true\"}\nagents:\n  tester: {allowed_tools: [test, Read]}\n  dev: {allowed_tools: ['*']}\nenv:\n  prod: {mode: enforce}\n";
    assert_eq!(codes(source), Vec::<&str>::new());
}

#[test]
fn words_that_a_name_never_stands_for() {
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
fn tools_where_there_are_none() {
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
fn guardrails_for_unknown_tools_and_tasks() {
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

#[test]
fn what_redefines_a_lock_names_the_lock() {
    let org = "pack: o\nlock: true\nguardrails:\n  - {id: g, tools: x}\n";
    let lints = found(&[
        (ORG, "o.yaml", org),
        (Layer::Project, "p.yaml", "pack: p\nguardrails:\n  - {id: g, tools: x, reason: No.}\n"),
    ]);
    let [only] = lints.as_slice() else { panic!("{lints:#?}") };
    assert_eq!(only.code, "redefines-locked");
    assert!(only.message.contains("locked by the organisation pack `o`"), "{only:#?}");
}

#[test]
fn alerts_are_checked_and_not_remarked_on() {
    let pack = "pack: p\nalerts:\n  - {name: a, condition: bypass_requests > 5 per agent per hour, action: tell ada}\n";
    let lints = lint(&project(pack));
    assert!(lints.is_empty(), "{lints:#?}");
}

/// Thousands of guardrails are looked at in about the time of their number, not of its square.
#[test]
fn thousands_of_guardrails_are_linted() {
    let rules: String = (0..4000)
        .map(|i| format!("  - {{id: g{i}, tools: t{i}, reason: No.}}\n  - {{id: r{i}, require_before: {{tool: t{i}, requires: t{}}}}}\n", i + 1))
        .collect();
    let lints = lint(&project(&format!("pack: p\nguardrails:\n{rules}")));
    assert!(lints.iter().all(|lint| lint.code == "unreachable-guardrail"), "{:#?}", lints.first());
}

#[test]
fn approvers_and_recipients_that_cannot_be_reached() {
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
        "never-judged",
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
        [("org.yaml", "never-judged")]
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
fn guardrails_that_are_required_in_vain() {
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
fn feedback_and_completion_that_do_nothing() {
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
            "untold",
            (3, 52),
            "has no effect with this `on`",
            "{completion: {files: [a.txt], also_after_tool: true}, \"on\": before_stop}",
            "{completion: {files: [a.txt], also_after_tool: true}, \"on\": [before_stop, after_tool]}",
        ),
        (
            "uncounted",
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
fn feedback_of_two_packs_under_one_name() {
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
