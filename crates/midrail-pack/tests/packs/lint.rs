//! Lint: each finding with a pack that shows it, and a near miss that stays silent.

mod patterns;
mod people;
mod prerequisites;
mod reach;
mod settings;

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
fn findings_are_sorted_and_rendered() {
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
fn valid_packs_have_no_findings() {
    let source = "pack: p\nlock: true\ndefaults: {on_error: escalate}\nguardrails:\n  - read_before_write\n  - secret-redaction\n  - injection-patterns\n  - require_before: {tool: deploy, requires: [test, build]}\n  - {id: fridays, tools: deploy, when: \"session.friday == true\"}\nagents:\n  tester: {allowed_tools: [test, Read]}\n  dev: {allowed_tools: ['*']}\nenv:\n  prod: {mode: enforce}\n";
    assert_eq!(codes(source), Vec::<&str>::new());
}

#[test]
fn valid_alerts_have_no_findings() {
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
