//! Tools that can never be called.

use midrail_pack::{DiagnosticLevel, Layer};

use crate::lint::{ORG, codes, found, shows};

#[test]
fn prerequisite_cycles_are_reported() {
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
fn incomplete_cycles_are_not_reported() {
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
    assert_eq!(codes(&circle("", ", tools: c")), ["never-applies"]);
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
fn cycle_over_two_packs_is_reported_once() {
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
fn tools_that_no_agent_may_call_are_reported() {
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
fn commands_that_can_never_be_run_are_reported() {
    let rule = |rule: &str| format!("pack: p\nguardrails:\n  - require_before: {{{rule}}}\n");
    shows(
        "prerequisite-cycle",
        DiagnosticLevel::Error,
        (3, 21),
        "`cargo test` can never be run: it needs itself first",
        &rule("command: cargo test, requires: {command: cargo test}"),
        &rule("command: cargo test, requires: {command: cargo build}"),
    );
    shows(
        "prerequisite-cycle",
        DiagnosticLevel::Error,
        (3, 21),
        "it needs itself first",
        &rule("command: deploy, requires: {command: deploy check}"),
        &rule("command: deploy prod, requires: {command: deploy check}"),
    );
    let two = "pack: p\nguardrails:\n  - require_before: {command: make a, requires: {command: make b}}\n  - require_before: {command: make b, requires: {command: make a}}\n";
    shows(
        "prerequisite-cycle",
        DiagnosticLevel::Error,
        (3, 21),
        "`make a` can never be run: `make a` needs `make b`, `make b` needs `make a`",
        two,
        &two.replace("make b, requires: {command: make a}", "make b, requires: {command: [make a, make c]}"),
    );
    shows(
        "unmet-requirement",
        DiagnosticLevel::Error,
        (3, 49),
        "`since` applies to the required call itself",
        &rule("command: deploy, requires: {command: cargo test}, since: {command: cargo test}"),
        &rule("command: deploy, requires: {command: cargo test}, since: {command: cargo build}"),
    );
    shows(
        "unmet-requirement",
        DiagnosticLevel::Error,
        (3, 49),
        "`cargo test --no-run` proves nothing",
        &rule("command: deploy, requires: {command: cargo test --no-run}"),
        &rule("command: deploy, requires: {command: cargo test --locked}"),
    );
    shows(
        "empty-commands",
        DiagnosticLevel::Warning,
        (3, 22),
        "this list of commands is empty",
        "pack: p\nguardrails:\n  - {id: a, command: []}\n",
        "pack: p\nguardrails:\n  - {id: a, command: [make]}\n",
    );
    shows(
        "assigned-command",
        DiagnosticLevel::Warning,
        (3, 22),
        "`FOO=1` sets a variable",
        "pack: p\nguardrails:\n  - {id: a, command: FOO=1 make}\n",
        "pack: p\nguardrails:\n  - {id: a, command: make FOO=1}\n",
    );
}
