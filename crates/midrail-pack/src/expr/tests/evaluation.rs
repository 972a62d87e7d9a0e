//! Values and answers of expressions.

use serde_json::json;

use super::*;

#[test]
fn conditions_are_evaluated() {
    let cases = [
        (
            "agent.role == 'implementer' AND action.type == 'file_write'",
            json!({"agent.role": "implementer", "action.type": "file_write"}),
            json!({"agent.role": "implementer", "action.type": "file_read"}),
        ),
        (
            "action.target_file does not match '**/test_*' AND '**/*_test.*'",
            json!({"action.target_file": "src/lib.rs"}),
            json!({"action.target_file": "src/a_test.rs"}),
        ),
        (
            "action.target_file does not match '**/test_*' OR '**/*_test.*'",
            json!({"action.target_file": ["src/lib.rs", "b"]}),
            json!({"action.target_file": ["src/lib.rs", "test_x"]}),
        ),
        (
            "statements(t) all match ['select', 'with']",
            json!({"t": " -- x\nWITH a AS (SELECT 1) SELECT 1;"}),
            json!({"t": "select 1; delete from a"}),
        ),
        ("t matches 'a*' OR '*z'", json!({"t": "xz"}), json!({"t": "xy"})),
        ("t matches 'a*' AND '*z'", json!({"t": "az"}), json!({"t": "ab"})),
        ("t matches ['a*', '*z']", json!({"t": "xz"}), json!({"t": "xy"})),
        ("t matches 'a*' and '*z' and n > 1", json!({"t": "az", "n": 2}), json!({"t": "az", "n": 1})),
        (
            "t matches 'a*' OR 'rm' in action.command",
            json!({"t": "x", "action.command": "rm"}),
            json!({"t": "x", "action.command": "ls"}),
        ),
        (
            "current_tokens + estimated_action_tokens <= task.token_budget",
            json!({"current_tokens": 90, "estimated_action_tokens": 10, "task.token_budget": 100}),
            json!({"current_tokens": 91, "estimated_action_tokens": 10, "task.token_budget": 100}),
        ),
        (
            "current_elapsed + estimated_action_duration <= task.time_budget",
            json!({"current_elapsed": 1, "estimated_action_duration": 1, "task.time_budget": 3}),
            json!({"current_elapsed": 3, "estimated_action_duration": 1, "task.time_budget": 3}),
        ),
        (
            "action.target_files all match task.scope.files.write patterns\nAND action.target_files none match task.scope.files.deny patterns\n",
            json!({"action.target_files": ["src/a", "src/b"], "task.scope.files.write": ["src/*"], "task.scope.files.deny": ["**/.env"]}),
            json!({"action.target_files": ["src/a", "src/.env"], "task.scope.files.write": ["src/*"], "task.scope.files.deny": ["**/.env"]}),
        ),
        (
            "action.tool_name in agent.allowed_tools OR action.tool_name in task.additional_tools",
            json!({"action.tool_name": "Bash", "agent.allowed_tools": ["Read"], "task.additional_tools": ["Bash"]}),
            json!({"action.tool_name": "Bash", "agent.allowed_tools": ["Read"], "task.additional_tools": []}),
        ),
        (
            "session.strict_mode",
            json!({"session": {"strict_mode": true}}),
            json!({"session": {"strict_mode": false}}),
        ),
        (
            "session.approval.granted == true",
            json!({"session": {"approval": {"granted": true}}}),
            json!({"session": {"approval": {"granted": false}}}),
        ),
        (
            "tool.args.amount > 100",
            json!({"tool.args": {"amount": 101}}),
            json!({"tool.args": {"amount": 100}}),
        ),
        ("result.exit_code != 0", json!({"result.exit_code": 1}), json!({"result.exit_code": 0})),
        ("not (a or b)", json!({"a": false, "b": false}), json!({"a": false, "b": true})),
        ("!(a || b) && !a", json!({"a": false, "b": false}), json!({"a": true, "b": true})),
        ("agent.role not in ['x', 'y']", json!({"agent.role": "z"}), json!({"agent.role": "y"})),
        ("n in [1, 2]", json!({"n": 2}), json!({"n": 3})),
        ("'rm' in action.command", json!({"action.command": "rm -rf"}), json!({"action.command": "ls"})),
        ("action.command contains 'x'", json!({"action.command": "axb"}), json!({"action.command": "ab"})),
        (
            "action.command does not contain 'x'",
            json!({"action.command": "ab"}),
            json!({"action.command": "axb"}),
        ),
        (
            "action.command starts with 'git '",
            json!({"action.command": "git push"}),
            json!({"action.command": "sudo git "}),
        ),
        (
            "action.command does not end with '.rs'",
            json!({"action.command": "a.py"}),
            json!({"action.command": "a.rs"}),
        ),
        (
            "action.target_files any match '*.rs'",
            json!({"action.target_files": ["a", "b.rs"]}),
            json!({"action.target_files": []}),
        ),
        (
            "action.target_files all match '*.rs'",
            json!({"action.target_files": []}),
            json!({"action.target_files": ["a.rs", "b"]}),
        ),
        (
            "agent.allowed_tools contains 'Read'",
            json!({"agent.allowed_tools": ["Read"]}),
            json!({"agent.allowed_tools": ["ReadAll"]}),
        ),
        (
            "action.target_file contains 'secret'",
            json!({"action.target_file": ["a", "x/secrets"]}),
            json!({"action.target_file": ["a"]}),
        ),
        (
            "len(action.target_files) < 3",
            json!({"action.target_files": ["a"]}),
            json!({"action.target_files": ["a", "b", "c"]}),
        ),
        ("len(t) == 2", json!({"t": "üb"}), json!({"t": "u"})),
        ("lower(t) == 'abc'", json!({"t": "aBC"}), json!({"t": "x"})),
        (
            "lower(action.target_file) matches '*.md'",
            json!({"action.target_file": ["a", "README.MD"]}),
            json!({"action.target_file": "x"}),
        ),
        ("n * 2 - 1 >= 10 / 2", json!({"n": 3}), json!({"n": 2})),
        ("-n < -(2 + 1)", json!({"n": 4}), json!({"n": 3})),
        ("n > 30%", json!({"n": 0.31}), json!({"n": 0.3})),
        ("n <= 5m", json!({"n": 300}), json!({"n": 301})),
        ("n == 1_000", json!({"n": 1000}), json!({"n": 1})),
        (
            "tool.args['file-path'] == \"x\"",
            json!({"tool.args": {"file-path": "x"}}),
            json!({"tool.args": {"file-path": "y"}}),
        ),
        (
            "tool.args.edits[1].path == 'p'",
            json!({"tool.args": {"edits": [{}, {"path": "p"}]}}),
            json!({"tool.args": {"edits": [{}, {"path": "q"}]}}),
        ),
        ("tool.args.x is known", json!({"tool.args": {"x": null}}), json!({"tool.args": {}})),
        ("tool.args.x is unknown", json!({}), json!({"tool.args": {"x": 1}})),
        ("tool.args.x is not known", json!({}), json!({"tool.args": {"x": 1}})),
        ("tool.args.x == null", json!({"tool.args": {"x": null}}), json!({"tool.args": {"x": [null]}})),
        ("tool.args.x != null", json!({"tool.args": {"x": "a"}}), json!({"tool.args": {"x": null}})),
        ("'a' in tool.args.x", json!({"tool.args": {"x": ["b", "a"]}}), json!({"tool.args": {"x": "bcd"}})),
        ("a == false OR TRUE AND b", json!({"a": true, "b": true}), json!({"a": true, "b": false})),
    ];
    for (source, holds, fails) in cases {
        assert_eq!(known(source, holds.clone()), Some(true), "{source} with {holds}");
        assert_eq!(known(source, fails.clone()), Some(false), "{source} with {fails}");
        let names: Vec<String> =
            parse(source, Expected::Bool).names().iter().map(ToString::to_string).collect();
        assert!(!names.is_empty() && names.iter().all(|name| source.contains(name.as_str())), "{names:?}");
    }
}

#[test]
fn unknown_values_follow_kleene_logic() {
    let values = [("true", Some(true)), ("false", Some(false)), ("tool.args.missing", None)];
    for (left, l) in values {
        for (right, r) in values {
            let and = match (l, r) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            let or = match (l, r) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            assert_eq!(known(&format!("{left} AND {right}"), json!({})), and, "{left} AND {right}");
            assert_eq!(known(&format!("{left} OR {right}"), json!({})), or, "{left} OR {right}");
        }
        assert_eq!(known(&format!("NOT {left}"), json!({})), l.map(|l| !l), "NOT {left}");
    }
}

#[test]
fn unknown_names_are_returned() {
    let cases = [
        ("agent.role == 'x'", json!({}), vec!["agent.role"]),
        ("agent.role != 'x'", json!({}), vec!["agent.role"]),
        ("tool.args.amount > 100", json!({"tool.args": {"amount": "101"}}), vec!["tool.args.amount"]),
        ("tool.args.amount > 100", json!({"tool.args": {"amount": null}}), vec!["tool.args.amount"]),
        ("tool.args.x == 'a'", json!({"tool.args": {"x": 1}}), vec!["tool.args.x"]),
        ("tool.args.x.y == 'a'", json!({"tool.args": {"x": 1}}), vec!["tool.args.x.y"]),
        ("tool.args.x in ['a']", json!({"tool.args": {"x": true}}), vec!["tool.args.x"]),
        ("session.strict_mode", json!({"session": {"strict_mode": "yes"}}), vec!["session.strict_mode"]),
        ("n / 0 > 1", json!({"n": 1}), vec!["n"]),
        (
            "current_tokens + estimated_action_tokens <= task.token_budget",
            json!({"current_tokens": 1, "task.token_budget": 5}),
            vec!["estimated_action_tokens"],
        ),
        ("a AND t == 'x' AND n > 1", json!({"n": 2}), vec!["a", "t"]),
        ("(a OR n > 1) AND b", json!({"n": 2}), vec!["b"]),
        (
            "action.target_files all match task.scope.files.write",
            json!({"action.target_files": ["a"]}),
            vec!["task.scope.files.write"],
        ),
        ("t matches '*.rs'", json!({}), vec!["t"]),
        (
            "len(action.target_file) > 3",
            json!({"action.target_file": ["a", "b"]}),
            vec!["action.target_file"],
        ),
        ("tool.args.x starts with 'a'", json!({"tool.args": {"x": {"a": 1}}}), vec!["tool.args.x"]),
    ];
    for (source, value, expected) in cases {
        let expression = parse(source, Expected::Bool);
        let Err(names) = expression.evaluate(&world(value.clone())) else {
            panic!("{source} with {value} is known")
        };
        assert_eq!(
            names.iter().map(ToString::to_string).collect::<Vec<_>>(),
            expected,
            "{source} with {value}"
        );
    }
}

#[test]
fn lists_match_by_any_element_and_negations_by_none() {
    let files = |files: &[&str]| json!({"action.target_file": files, "tool.args": {"n": [1, 200]}});
    let cases = [
        ("action.target_file == 'a'", &["b", "a"][..], Some(true)),
        ("action.target_file == 'a'", &["b"], Some(false)),
        ("action.target_file != 'a'", &["b", "a"], Some(false)),
        ("action.target_file != 'a'", &["b", "c"], Some(true)),
        ("action.target_file != 'a'", &[], Some(true)),
        ("action.target_file in ['a', 'b']", &["x", "b"], Some(true)),
        ("action.target_file not in ['a', 'b']", &["x", "b"], Some(false)),
        ("action.target_file not in ['a', 'b']", &["x"], Some(true)),
        ("action.target_file matches 'a*'", &["x", "ab"], Some(true)),
        ("action.target_file matches 'a*'", &[], Some(false)),
        ("action.target_file does not match 'a*'", &["x", "ab"], Some(false)),
        ("action.target_file does not match 'a*'", &["x"], Some(true)),
        ("action.target_file none match 'a*'", &["x", "ab"], Some(false)),
        ("action.target_file all match 'a*'", &["ab", "ac"], Some(true)),
        ("tool.args.n > 100", &[], Some(true)),
        ("tool.args.n > 200", &[], Some(false)),
    ];
    for (source, list, expected) in cases {
        assert_eq!(known(source, files(list)), expected, "{source} with {list:?}");
    }
}

#[test]
fn alert_conditions_are_parsed() {
    let cases = [
        ("block_rate > 30% over 10 minute window", ("block_rate", Comparison::Greater, 0.3, Some(600), None)),
        (
            "bypass_requests > 5 per agent per hour",
            ("bypass_requests", Comparison::Greater, 5.0, Some(3600), Some("agent")),
        ),
        ("avg_duration_ms > 500", ("avg_duration_ms", Comparison::Greater, 500.0, None, None)),
        (
            "block_rate >= 0.5 over 2h per guardrail",
            ("block_rate", Comparison::GreaterOrEqual, 0.5, Some(7200), Some("guardrail")),
        ),
        ("n < -5 PER day", ("n", Comparison::Less, -5.0, Some(86_400), None)),
    ];
    for (source, (metric, op, threshold, window_seconds, group_by)) in cases {
        let expression = parse(source, ALERT);
        let alert = expression.alert().unwrap();
        assert_eq!(alert.metric.to_string(), metric);
        assert_eq!(
            (alert.op, alert.threshold, alert.window_seconds),
            (op, threshold, window_seconds),
            "{source}"
        );
        assert_eq!(alert.group_by.as_deref(), group_by, "{source}");
    }
    let alert = parse("block_rate > 30% over 10 minute window", ALERT);
    assert_eq!(alert.evaluate(&world(json!({"block_rate": 0.4}))), Ok(true));
    assert_eq!(alert.source(), "block_rate > 30% over 10 minute window");
}

#[test]
fn keys_are_evaluated() {
    let scope = world(json!({"t": "x", "tool.args": {"path": "p", "n": 5}}));
    assert_eq!(parse("t", Expected::Any).value(&scope), Value::text("x"));
    assert_eq!(parse("tool.args.path", Expected::Any).value(&scope), Value::text("p"));
    assert_eq!(parse("tool.args.n", Expected::Any).value(&scope), Value::Number(5.0));
    assert_eq!(parse("tool.args.missing", Expected::Any).value(&scope), Value::Unknown);
    assert_eq!(parse("a OR true", Expected::Any).value(&scope), Value::Bool(true));
}

#[test]
fn constant_expressions_are_found() {
    let cases = [
        ("true", Some(true)),
        ("1 > 2", Some(false)),
        ("a AND false", Some(false)),
        ("a OR 'x' in 'xyz'", Some(true)),
        ("t == 'x' AND t == 'y'", Some(false)),
        ("t == 'x' AND t != 'x'", Some(false)),
        ("t == 'x' AND t not in ['x', 'y']", Some(false)),
        ("t in ['x', 'y'] AND t in ['z']", Some(false)),
        ("t in ['x', 'y'] AND t == 'y'", None),
        ("t in []", None),
        ("n > 5 AND n < 3", Some(false)),
        ("n > 5 AND a AND 5 > n", Some(false)),
        ("n >= 5 AND n <= 5", None),
        ("n >= 5 AND n < 5", Some(false)),
        ("n == 4 AND n > 5", Some(false)),
        ("n in [1, 2] AND n > 2", Some(false)),
        ("n == 5 AND n != 5", Some(false)),
        ("n > 3 AND n < 5", None),
        ("a AND NOT a", Some(false)),
        ("a OR NOT a", Some(true)),
        ("n > 5 OR n <= 5", Some(true)),
        ("t != 'x' OR t != 'y'", Some(true)),
        ("NOT (t == 'x' AND t == 'y')", Some(true)),
        ("(t == 'x' AND t == 'y') OR a", None),
        // Several files can be equal to one and to another, and so can a JSON list.
        ("action.target_file == 'x' AND action.target_file == 'y'", None),
        ("tool.args.x == 'x' AND tool.args.x == 'y'", None),
        ("tool.args.x is known", None),
        ("a", None),
    ];
    for (source, expected) in cases {
        assert_eq!(parse(source, Expected::Bool).always(), expected, "{source}");
    }
}
