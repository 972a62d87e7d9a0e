//! Guardrails and parts that never apply, repeat others, or are locked.

use midrail_pack::{DiagnosticLevel, Layer, lint};

use crate::lint::{ORG, codes, found, shows};
use crate::world::project;

#[test]
fn unreachable_guardrails_are_reported() {
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
        "{id: wall, check: \"session.y == 1\"}",
        "{id: wall, on: after_tool}",
    ] {
        assert_eq!(codes(&pack(wall, later)), Vec::<&str>::new(), "{wall}");
    }
    assert_eq!(codes(&pack("{id: wall, effect: halt}", later)), ["unreachable-guardrail"]);
    assert_eq!(codes(&pack("{id: wall, enabled: false}", later)), ["disabled"]);
    // A halt is more than a block, and is still asked for.
    assert_eq!(
        codes(&pack("{id: wall}", "{id: later, effect: halt, check: \"session.x == 1\"}")),
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
fn duplicate_guardrails_are_reported() {
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
fn unused_names_are_reported() {
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
    // Without declarations, only a likely typo is reported.
    assert_eq!(codes(&role("  implementer: {}\n  dev: {id: x}\n", "operator")), Vec::<&str>::new());
    assert_eq!(codes(&role("  implementer: {}\n  dev: {id: x}\n", "implementor")), ["unknown-role"]);
    let listed = "pack: p\nagents: {tester: {}}\nguardrails:\n  - {id: g, check: \"agent.role in ['tester', 'auditor']\"}\n";
    assert_eq!(codes(listed), ["unknown-role"]);
}

#[test]
fn unused_parts_are_reported() {
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
fn overlapping_locks_are_reported() {
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
fn redefined_lock_names_the_locking_pack() {
    let org = "pack: o\nlock: true\nguardrails:\n  - {id: g, tools: x}\n";
    let lints = found(&[
        (ORG, "o.yaml", org),
        (Layer::Project, "p.yaml", "pack: p\nguardrails:\n  - {id: g, tools: x, reason: No.}\n"),
    ]);
    let [only] = lints.as_slice() else { panic!("{lints:#?}") };
    assert_eq!(only.code, "redefines-locked");
    assert!(only.message.contains("locked by the organisation pack `o`"), "{only:#?}");
}

/// A guardrail for one command stops no other command.
#[test]
fn a_guardrail_for_commands_shadows_no_other() {
    let pack = "pack: p\nguardrails:\n  - {id: a, command: git push, effect: block}\n  - {id: b, command: npm publish, effect: escalate}\n";
    assert_eq!(codes(pack), Vec::<&str>::new());
}
