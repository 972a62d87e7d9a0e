//! All problems of a pack are reported with place and advice.

use midrail_pack::PackDocument;

use crate::world::{World, read, refused};

const TEN_MISTAKES: &str = "pack: ten
mode: enforced
guardrails:
  - id: a
    prioritty: 5
    on: befor_tool
    check: agent.roll == 'x'
  - {id: b, priority: 7, check: 'len(tool.name) > \"x\"'}
  - {id: a, tools: ['x[']}
  - use: secret-redactoin
  - {id: c, effect: explode}
  - {id: d, enabled: maybe}
";

#[test]
fn events_that_a_built_in_cannot_check_are_errors() {
    for (guard, words) in [
        ("{use: injection-patterns, on: before_tool}", "`injection-patterns` cannot check `before_tool`"),
        (
            "{use: secret-redaction, on: [after_tool, session_start]}",
            "`secret-redaction` cannot check `session_start`",
        ),
        ("{use: safety-003, on: on_error}", "`output-secret-scan` cannot check `on_error`"),
        ("{use: result-limit, on: before_tool}", "`result-limit` cannot check `before_tool`"),
        ("{feedback: {static: x}, on: before_tool}", "`feedback` cannot check `before_tool`"),
        ("{use: circuit-breaker, on: before_model}", "`circuit-breaker` cannot check `before_model`"),
    ] {
        let problems = refused(&format!("pack: p\nguardrails:\n  - {guard}\n"));
        assert!(problems.contains(words), "{guard}: {problems}");
    }
    for guard in [
        "{use: safety-003, on: before_tool, tools: WebSearch}",
        "{use: secret-redaction, on: [before_tool, before_handoff, before_stop]}",
        "{use: injection-patterns, on: [after_tool, before_handoff]}",
        "{use: destructive-command, on: [before_tool, after_tool]}",
    ] {
        read("pack.yaml", &format!("pack: p\nguardrails:\n  - {guard}\n"));
    }
}

#[test]
fn lists_are_not_compared_with_one_text() {
    for check in [
        "action.hosts == 'github.com'",
        "'github.com' != action.hosts",
        "action.hosts in ['github.com']",
        "action.programs in action.command",
    ] {
        let problems = refused(&format!("pack: p\nguardrails:\n  - {{id: a, check: \"{check}\"}}\n"));
        assert!(problems.contains("is a list, where one value is needed"), "{check}: {problems}");
        assert!(problems.contains("all match"), "{check}: {problems}");
    }
}

#[test]
fn keys_of_other_gateways_name_the_key_to_use() {
    for (key, words) in [("denied_tools: [rm]", "`tool-allowlist`"), ("parallel: true", "leave it out")] {
        for head in ["policy_pack: p", "pack: p"] {
            let problems = refused(&format!("{head}\n{key}\n"));
            assert!(problems.contains(words), "{head} {key}: {problems}");
        }
    }
    let problems = refused("pack: p\nenvironments: {prod: {}}\n");
    assert!(problems.contains("use `env:"), "{problems}");
}

#[test]
fn all_problems_are_reported() {
    let expected = "\
error: unknown value `enforced`
 --> pack.yaml:2:7
  |
2 | mode: enforced
  |       ^^^^^^^^
  |
  = help: did you mean `enforce`?

error: unknown key `prioritty`
 --> pack.yaml:5:5
  |
5 |     prioritty: 5
  |     ^^^^^^^^^
  |
  = help: did you mean `priority`?

error: unknown kind of event `befor_tool`
 --> pack.yaml:6:9
  |
6 |     on: befor_tool
  |         ^^^^^^^^^^
  |
  = help: did you mean `before_tool`?

error: unknown name `agent.roll`
 --> pack.yaml:7:12
  |
7 |     check: agent.roll == 'x'
  |            ^^^^^^^^^^
  |
  = help: did you mean `agent.role`?

error: priority must be >= 100 for custom rules, and is 7
 --> pack.yaml:8:23
  |
8 |   - {id: b, priority: 7, check: 'len(tool.name) > \"x\"'}
  |                       ^
  |
  = help: 1 to 99 are for built-in guardrails

error: `\"x\"` is a text, where a number is needed
 --> pack.yaml:8:51
";
    let report = refused(TEN_MISTAKES);
    let (first, rest) = report.split_at(expected.len().min(report.len()));
    assert_eq!(first, expected);
    for place in [
        "pack.yaml:9:10\n",
        "pack.yaml:9:21\n",
        "pack.yaml:10:10\n",
        "pack.yaml:11:21\n",
        "pack.yaml:12:22\n",
    ] {
        assert!(rest.contains(place), "{place} is not in\n{rest}");
    }
    assert_eq!(report.matches("error:").count(), 11);
}

#[test]
fn missing_name_does_not_hide_other_problems() {
    let report = refused("guardrails:\n  - {id: a, check: agent.roll == 'x'}\n");
    assert_eq!(report.matches("error:").count(), 2, "{report}");
    assert!(report.contains("`pack` is missing") && report.contains("pack.yaml:2:20"), "{report}");
}

#[test]
fn consequences_of_a_problem_are_not_reported() {
    let report = refused(
        "pack: p\nguardrails:\n  - id: 5\n    check: [1]\n  - require_before: {tool: 5, requires: a}\n",
    );
    assert_eq!(report.matches("error:").count(), 3, "{report}");
}

#[test]
fn problems_use_the_terms_of_packs() {
    for (source, message, help) in [
        ("- a\n- b\n", "expected a pack, found a list", "a pack is a map that starts with `pack: NAME`"),
        ("pack", "expected a pack, found a text", "a pack is a map"),
        ("pack: ''\n", "a pack needs a name", "write `pack: NAME`"),
        ("pack: p\nguardrails:\n  - {check: 'true'}\n", "a custom guardrail needs an `id`", "add `id: NAME`"),
        (
            "pack: p\nguardrails: [sequential_dependency]\n",
            "`sequential_dependency` needs its rules",
            "write `require_before:",
        ),
        (
            "pack: p\nguardrails: [nothing]\n",
            "unknown guardrail `nothing`",
            "the built-in guardrails are `agent-tool-allowlist`, `api-call-limit`,",
        ),
        (
            "pack: p\nguardrails:\n  - {use: safety-001, with: {alow: [x]}}\n",
            "unknown key `alow`",
            "did you mean `allow`?",
        ),
        (
            "pack: p\nguardrails:\n  - {use: safety-001, with: {allow: [x], block_from: huge}}\n",
            "unknown value `huge`",
            "use one of",
        ),
        (
            "pack: p\nguardrails:\n  - {use: safety-001, with: {ignore: ['a[']}}\n",
            "the pattern `a[` ",
            "write `\\` before a literal special character",
        ),
        (
            "pack: p\nguardrails:\n  - {use: safety-003, with: {locales: [zz]}}\n",
            "no formats are known for the country `zz`",
            "the known countries are ae, ar",
        ),
        (
            "pack: p\nguardrails:\n  - {use: builtin-004, with: {allow: [x]}}\n",
            "this guardrail has no settings",
            "`midrail explain builtin-004`",
        ),
        (
            "pack: p\nguardrails:\n  - {id: a, check: 'true', with: {}}\n",
            "`with` gives settings to a built-in guardrail",
            "add `use: NAME`",
        ),
        ("pack: p\nguardrails:\n  - {id: a b}\n", "`a b` is not a valid id", "no space"),
        ("pack: p\nguardrails:\n  - {id: halted}\n", "the id `halted` is reserved", "choose another id"),
        (
            "pack: p\nguardrails:\n  - {id: a, effect: redact}\n",
            "this guardrail checks events without a text to redact",
            "add `on: after_tool`",
        ),
        (
            "pack: p\nguardrails:\n  - {id: a, check: 'true', use: builtin-001}\n",
            "`check` cannot be combined with `use`",
            "a separate guardrail",
        ),
        (
            "pack: p\nguardrails:\n  - require_before: {tool: a}\n",
            "the prerequisites are missing",
            "add `requires: TOOL`",
        ),
        (
            "pack: p\nguardrails:\n  - require_before: {tool: a, requires: b, reads: c}\n",
            "`reads` cannot be combined with `requires`",
            "two rules",
        ),
        (
            "pack: p\nguardrails:\n  - require_before: {tool: a, requires: b, mount: /w}\n",
            "`mount` needs `reads`",
            "leave it out",
        ),
        (
            "pack: p\nguardrails:\n  - {keyed: [{tool: a, requires: b}]}\n",
            "a rule of `keyed` needs a `key`",
            "add `key: ARGUMENT`",
        ),
        (
            "pack: p\nguardrails:\n  - {sequential: {a: []}}\n",
            "the prerequisites of `a` are missing",
            "list the tools",
        ),
        ("policy: p\nrules: []\n", "the list of rules is empty", "add a rule"),
        (
            "pack: p\nguardrails:\n  - {id: a, approval_timeout: soon}\n",
            "`soon` is not a duration",
            "a number of seconds",
        ),
        ("pack: p\nagents: {a: {time_budget: -5}}\n", "a duration cannot be negative", ""),
        (
            "pack: p\nagents: {a: {risk: huge}}\n",
            "unknown value `huge`",
            "use one of `low`, `medium`, `high`, `critical`",
        ),
        (
            "pack: p\ntests:\n  - id: t\n    events: [{before_tool: x, argz: {}}]\n",
            "unknown key `argz`",
            "did you mean `args`?",
        ),
        ("pack: p\nrules: []\n", "unknown key `rules`", "a list below `guardrails:`"),
    ] {
        let report = refused(source);
        assert!(report.contains(message) && report.contains(help), "{source}\n{report}");
        assert_eq!(report.matches("error:").count(), 1, "{source}\n{report}");
    }
}

#[test]
fn problems_of_deep_settings_are_located() {
    for (more, at, message) in [
        (
            "guardrails:\n  - {id: d, deep: {command: a, max_windows: 0}}",
            ":3:45",
            "`0` is not a number from 1 to 64",
        ),
        (
            "guardrails:\n  - {use: scope-classifier, with: {command: a, max_windows: 0}}",
            ":3:61",
            "`0` is not a number from 1 to 64",
        ),
        (
            "guardrails:\n  - {id: d, deep: {http: {url: 'https://a'}, ca_file: ca.pem}}",
            ":3:55",
            "`ca_file` is an absolute path, and `ca.pem` is not",
        ),
        ("risk_router: {on_timeout: {critical: blokc}}", ":2:38", "unknown value `blokc`"),
        ("risk_router: {on_timeout: {hgh: allow}}", ":2:28", "unknown key `hgh`"),
        (
            "risk_router: {require: {low: [x], high: 5}}",
            ":2:41",
            "expected a text or a list of texts, found a number",
        ),
        ("risk_router: {require: {hih: [x]}}", ":2:25", "unknown key `hih`"),
    ] {
        let report = refused(&format!("pack: p\n{more}\n"));
        assert!(report.contains(message) && report.contains(at), "{report}");
    }
}

#[test]
fn json_packs_are_read() {
    let source = r#"{"pack": "p", "guardrails": [{"id": "a", "tools": ["x"]}, "secret-redaction"]}"#;
    assert_eq!(World::of(source).effect("x", serde_json::json!({})), midrail_core::Effect::Block);
    let report = refused("{\"pack\": \"p\",\n \"guardrails\": [{\"id\": \"a\", \"chekc\": \"true\"}]}");
    assert!(report.contains("pack.yaml:2:29") && report.contains("did you mean `check`?"), "{report}");
}

#[test]
fn file_with_several_packs_is_read() {
    let source = "# First.\npack: one\nguardrails: [secret-redaction]\n---\n---\npolicy: two\nrules:\n  - require_before: {tool: a, requires: b}\n";
    let names: Vec<String> = read("p.yaml", source).into_iter().map(|document| document.pack.pack).collect();
    assert_eq!(names, ["one", "two"]);
    let report = refused("pack: one\nmodes: x\n---\npack: two\nlocks: true\n");
    assert!(report.contains("pack.yaml:2:1") && report.contains("pack.yaml:5:1"), "{report}");
}

#[test]
fn file_without_a_pack_is_reported() {
    for source in ["", "\n\n", "# Nothing here.\n", "---\n---\n", "null\n"] {
        assert!(refused(source).contains("this file contains no pack"), "{source:?}");
    }
}

#[test]
fn hostile_files_are_rejected() {
    let bomb: String = std::iter::once("a0: &a0 [x, x]\n".to_owned())
        .chain((1..40).map(|i| format!("a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1)))
        .collect();
    let cases = [
        ("pack: a\0b\n".to_owned(), "control character U+0000"),
        (format!("pack: {}", "[".repeat(10_000)), "nested more than 64 levels deep"),
        (format!("{{\"pack\": {}", "[".repeat(10_000)), "nested more than 64 levels deep"),
        (
            format!(
                "pack: p\nguardrails:\n  - {{id: a, check: '{}true{}'}}\n",
                "(".repeat(5_000),
                ")".repeat(5_000)
            ),
            "levels deep",
        ),
        (bomb, "values, including those that aliases repeat"),
        ("x".repeat(2 << 20), "bytes long"),
        ("pack: p\nguardrails: &a [*a]\n".to_owned(), "contains itself"),
        ("pack: p\npack: q\n".to_owned(), "pack"),
        ("pack: \"unclosed\n".to_owned(), "invalid YAML"),
    ];
    for (source, message) in cases {
        let report = refused(&source);
        assert!(report.contains(message), "{message} is not in {}", &report[..report.len().min(600)]);
        assert!(report.len() < 20_000, "{message}");
    }
}

#[test]
fn pack_with_a_thousand_guardrails_is_read() {
    let guards: String = (0..1_000)
        .map(|i| format!("  - {{id: g{i}, tools: t{i}, check: \"tool.args.x == {i}\"}}\n"))
        .collect();
    let documents = PackDocument::read("p.yaml", &format!("pack: p\nguardrails:\n{guards}"), None).unwrap();
    assert_eq!(documents[0].pack.guardrails.len(), 1_000);
}

#[test]
fn problems_of_alert_conditions_are_located() {
    let text = refused(
        "pack: p\nalerts:\n  - {name: a, condition: block_rat > 30%, action: x}\n  - {name: a, condition: block_rate > 1 per planet, action: x}\n",
    );
    for part in ["pack.yaml:3:26", "did you mean `block_rate`?", "unknown group `planet`", "two alerts `a`"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn alerts_of_monitoring_documents_are_read() {
    let documents = read(
        "pack.yaml",
        "monitoring:\n  metrics:\n    - guardrail_blocks_total (counter, by category)\n  alerts:\n    - name: guardrail_slow\n      condition: avg_duration_ms > 500\n      action: log warning, consider optimization\n",
    );
    assert_eq!(documents[0].pack.alerts[0].name, "guardrail_slow");
    let text = refused("monitoring:\n  alerts:\n    - {name: a, condition: avg_duration > 1, action: x}\n");
    assert!(text.contains("pack.yaml:3:28"), "{text}");
}

#[test]
fn duplicate_key_does_not_hide_other_problems() {
    let text = refused("pack: p\nmode: enforce\nmode: shadow\nguardrails:\n  - {id: a, prioritty: 5}\n");
    for part in ["duplicate key `mode`", "unknown key `prioritty`"] {
        assert!(text.contains(part), "{text}");
    }
}
