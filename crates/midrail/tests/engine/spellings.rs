//! Both spellings of a numbered guardrail, its id and its readable name, wherever a pack or a case names one.

use std::path::Path;

use midrail::cases::{CaseSet, read};

const SPELLINGS: [&str; 3] = ["safety-001", "destructive-command", "destructive_command"];

/// Runs cases with a name of the guardrail in place of NAME.
fn run(cases: &str, name: &str) {
    let text = cases.replace("NAME", name);
    let sets = read(Path::new("spellings.yaml"), &text).unwrap_or_else(|report| panic!("{report}"));
    for result in sets.iter().flat_map(CaseSet::run) {
        assert!(result.is_good(), "{name}: {}: {:#?}", result.id, result.checks);
    }
}

#[test]
fn use_and_by_accept_both_spellings() {
    for name in SPELLINGS {
        run(
            "cases:
  - id: use and by
    guardrails: [NAME]
    events:
      - {before_tool: Bash, args: {command: git push --force origin main}, expect: {effect: block, by: NAME}}
  - id: use in a map
    guardrails:
      - {use: NAME, effect: warn}
    events:
      - {before_tool: Bash, args: {command: git push --force origin main}, expect: {effect: warn, by: safety-001}}
",
            name,
        );
    }
}

#[test]
fn overrides_accept_both_spellings() {
    for name in SPELLINGS {
        run(
            "cases:
  - id: id of a copy
    guardrails:
      - {id: NAME, use: safety-001}
    events:
      - {before_tool: Bash, args: {command: git push --force origin main}, expect: {effect: block, by: safety-001}}
",
            name,
        );
    }
}

#[test]
fn strikes_and_required_guardrails_accept_both_spellings() {
    for name in SPELLINGS {
        run(
            "cases:
  - id: strikes of a guardrail
    guardrails:
      - {use: NAME, effect: warn, warn_limit: 0, effects: [increment_strike]}
    strikes: [{count: 2, of: NAME, effect: halt}]
    events:
      - {before_tool: Bash, args: {command: git push --force origin main}, expect: {effect: warn, by: NAME}}
      - {before_tool: Bash, args: {command: git push --force origin main}, expect: halt}
  - id: required guardrail
    guardrails: [NAME]
    risk_router: {require: {high: [NAME]}}
    events:
      - {before_tool: Bash, args: {command: ls}, expect: allow}
",
            name,
        );
    }
}
