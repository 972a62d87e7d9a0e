//! Patterns that never match, path patterns on texts, and misspelt tools.

use midrail_pack::DiagnosticLevel;

use crate::lint::{codes, shows};

fn check(expression: &str) -> String {
    format!("pack: p\nguardrails:\n  - {{id: a, check: \"{expression}\"}}\n")
}

#[test]
fn patterns_that_never_match_are_reported() {
    for (wrong, right, words) in [
        (
            "action.hosts all match ['https://github.com']",
            "action.hosts all match ['github.com']",
            "no scheme",
        ),
        ("action.hosts contains 'GitHub.com'", "action.hosts contains 'github.com'", "lower case"),
        ("action.hosts any match ['evil.com:443']", "action.hosts any match ['evil.com']", "no port"),
        ("action.hosts contains '*.evil.com'", "action.hosts any match ['*.evil.com']", "whole values"),
        ("action.reads contains 'secrets/*'", "action.reads any match ['secrets/*']", "whole values"),
        ("action.dangers contains 'rm-rf'", "action.dangers contains 'rm-recursive'", "no rule"),
        ("action.programs contains '/bin/rm'", "action.programs contains 'rm'", "no folder"),
        ("action.programs none match ['git push']", "action.programs none match ['git']", "no arguments"),
        ("lower(action.command) matches '*DROP*'", "lower(action.command) matches '*drop*'", "lower case"),
        ("action.type matches 'files_*'", "action.type matches 'file_*'", "it has other values"),
        ("tool.name matches ''", "tool.name matches '*'", "it is empty"),
    ] {
        shows(
            "impossible-pattern",
            DiagnosticLevel::Warning,
            (3, 22 + wrong.find('\'').unwrap_or(0)),
            words,
            &check(wrong),
            &check(right),
        );
    }
}

#[test]
fn every_spelling_of_a_path_pattern_is_fine() {
    for check_of in [
        "action.target_file matches './src/**'",
        "action.writes none match ['src/../.env']",
        "action.reads none match ['secrets/']",
        "action.target_file == './x'",
        "action.programs none match ['./ls', '/tmp/*']",
    ] {
        assert_eq!(codes(&check(check_of)), Vec::<&str>::new(), "{check_of}");
    }
}

#[test]
fn names_that_no_tool_has_are_reported() {
    for tool in ["Bash|Write", "Bash, Write", "Bash(rm *)"] {
        let source = format!("pack: p\nguardrails:\n  - {{id: a, tools: '{tool}', effect: warn}}\n");
        assert_eq!(codes(&source), ["impossible-pattern"], "{tool}");
        let source = format!("pack: p\ntool_risks: {{'{tool}': critical}}\n");
        assert_eq!(codes(&source), ["impossible-pattern"], "{tool}");
    }
    assert_eq!(codes("pack: p\ntool_risks: {Bsh: critical}\n"), ["misspelt-tool"]);
    assert_eq!(codes("pack: p\ntool_risks: {Bash: critical, '{Read,Write}': low}\n"), Vec::<&str>::new());
    assert_eq!(codes(&check("signals.max_tool_risk == 'severe'")), ["unknown-value"]);
}

#[test]
fn path_patterns_on_texts_are_reported() {
    let source = check("action.command matches '**/bin/rm **'");
    assert_eq!(codes(&source), ["path-pattern-on-text"]);
    assert_eq!(codes(&check("action.command matches '*/bin/rm *'")), Vec::<&str>::new());
    let path = "tool.args.file_path is unknown OR tool.args.file_path matches 'src/**'";
    assert_eq!(codes(&check(path)), Vec::<&str>::new());
}

#[test]
fn misspelt_tools_are_reported() {
    let guard = |tool: &str| format!("pack: p\nguardrails:\n  - {{id: a, tools: {tool}, effect: warn}}\n");
    shows(
        "misspelt-tool",
        DiagnosticLevel::Warning,
        (3, 20),
        "no known tool is named `Bsh`",
        &guard("Bsh"),
        &guard("Bash"),
    );
    for fine in ["deploy", "'Bas*'", "mcp__fs__reed", "[Bash, Read]"] {
        assert_eq!(codes(&guard(fine)), Vec::<&str>::new(), "{fine}");
    }
    // A tool that a case of the pack calls exists.
    let tested =
        format!("{}tests:\n  - {{id: t, events: [{{before_tool: Bsh, expect: warn}}]}}\n", guard("Bsh"));
    assert_eq!(codes(&tested), Vec::<&str>::new());
}

#[test]
fn rules_limited_to_other_tools_never_apply() {
    let rule = |tools: &str| {
        format!(
            "pack: p\nguardrails:\n  - {{require_before: {{tool: deploy, requires: test}}, tools: {tools}}}\n"
        )
    };
    assert_eq!(codes(&rule("other")), ["never-applies"]);
    assert_eq!(codes(&rule("'dep*'")), Vec::<&str>::new());
}
