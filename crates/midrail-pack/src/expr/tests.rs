//! Behaviour of expressions, from text to answer.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const TERMS: &[Term] = &[
    Term::new("agent.role", Type::Text, "the agent's role"),
    Term::new("agent.allowed_tools", Type::List, "the tools that the agent may call"),
    Term::new("action.type", Type::Text, "the kind of action"),
    Term::new("action.tool_name", Type::Text, "the tool"),
    Term::new("action.command", Type::Text, "the command line"),
    Term::new("action.target_file", Type::Texts, "the file, or files"),
    Term::new("action.target_files", Type::List, "all files"),
    Term::new("task.token_budget", Type::Number, "tokens"),
    Term::new("task.time_budget", Type::Number, "seconds"),
    Term::new("task.additional_tools", Type::List, "more tools"),
    Term::new("task.scope.files.write", Type::Patterns, "what may be written"),
    Term::new("task.scope.files.deny", Type::Patterns, "what may not be touched"),
    Term::new("current_tokens", Type::Number, "tokens used"),
    Term::new("estimated_action_tokens", Type::Number, "tokens of the action"),
    Term::new("current_elapsed", Type::Number, "seconds used"),
    Term::new("estimated_action_duration", Type::Number, "seconds of the action"),
    Term::new("block_rate", Type::Number, "share of blocks"),
    Term::new("bypass_requests", Type::Number, "bypass requests"),
    Term::new("avg_duration_ms", Type::Number, "mean duration"),
    Term::new("result.exit_code", Type::Number, "exit code"),
    Term::new("tool.args.*", Type::Any, "arguments of the tool"),
    Term::new("session.*", Type::Any, "what the session holds"),
    Term::new("a", Type::Bool, ""),
    Term::new("b", Type::Bool, ""),
    Term::new("n", Type::Number, ""),
    Term::new("t", Type::Text, ""),
];
const VOCABULARY: Vocabulary = Vocabulary::new(TERMS);
const ALERT: Expected = Expected::Alert { groups: &["agent", "guardrail"] };

/// Values by name; JSON under the prefix of a `.*` term.
#[derive(Debug)]
struct World(BTreeMap<&'static str, serde_json::Value>);

impl Scope for World {
    fn lookup<'s>(&'s self, name: &Name) -> Value<'s> {
        let prefix = name.term().trim_end_matches(".*");
        self.0.get(prefix).map_or(Value::Unknown, |root| walk(name.tail(), root))
    }
}

fn world(value: serde_json::Value) -> World {
    let names = TERMS.iter().map(|term| term.name.trim_end_matches(".*"));
    World(names.filter_map(|name| Some((name, value.get(name)?.clone()))).collect())
}

fn parse(source: &str, expected: Expected) -> Expression {
    Expression::parse(source, &VOCABULARY, expected)
        .unwrap_or_else(|problems| panic!("{source}: {problems:#?}"))
}

fn problems(source: &str, expected: Expected) -> Vec<Diagnostic> {
    match Expression::parse(source, &VOCABULARY, expected) {
        Ok(expression) => panic!("{source} parsed as {expression}"),
        Err(problems) => problems,
    }
}

fn known(source: &str, value: serde_json::Value) -> Option<bool> {
    parse(source, Expected::Bool).evaluate(&world(value)).known()
}

#[test]
fn lines_of_the_packs_are_answered() {
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
        let printed = parse(source, Expected::Bool).to_string();
        assert_eq!(parse(&printed, Expected::Bool), parse(source, Expected::Bool), "{source} -> {printed}");
        let names: Vec<String> =
            parse(source, Expected::Bool).names().iter().map(ToString::to_string).collect();
        assert!(!names.is_empty() && names.iter().all(|name| source.contains(name.as_str())), "{names:?}");
    }
}

#[test]
fn unknowns_follow_kleene() {
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
fn unknown_values_are_named() {
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
        let Truth::Unknown(names) = expression.evaluate(&world(value.clone())) else {
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
fn lists_hold_where_one_element_does_and_negations_where_none() {
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
fn alerts_have_metric_threshold_window_and_group() {
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
        assert_eq!(parse(&expression.to_string(), ALERT), expression);
    }
    let alert = parse("block_rate > 30% over 10 minute window", ALERT);
    assert_eq!(alert.evaluate(&world(json!({"block_rate": 0.4}))), Truth::True);
    assert_eq!(alert.source(), "block_rate > 30% over 10 minute window");
}

#[test]
fn problems_say_what_is_wrong_and_what_to_do() {
    let cases = [
        ("agent.rol == 'x'", "unknown name `agent.rol`", "did you mean `agent.role`?", "agent.rol"),
        (
            "agent.shoe_size == 1",
            "unknown name `agent.shoe_size`",
            "known names are `agent.role`, `agent.allowed_tools`",
            "agent.shoe_size",
        ),
        ("tool.arg.x == 1", "unknown name `tool.arg.x`", "did you mean `tool.args.x`?", "tool.arg.x"),
        (
            "agent.role == implementer",
            "unknown name `implementer`",
            "a text needs quotes: `'implementer'`",
            "implementer",
        ),
        ("agent.role.x == 'a'", "`agent.role` is a text and has no parts", "", "agent.role.x"),
        (
            "agent.role > 5",
            "`agent.role` is a text, where a number is needed",
            "a text supports `==`",
            "agent.role",
        ),
        (
            "agent.role == 5",
            "`agent.role` is a text and cannot be compared with a number",
            "a text supports `==`",
            "5",
        ),
        (
            "agent.role",
            "`agent.role` is a text, where true or false is needed",
            "a text supports `==`",
            "agent.role",
        ),
        ("n AND a", "`n` is a number, where true or false is needed", "a number supports", "n"),
        ("n + t > 1", "`t` is a text, where a number is needed", "a text supports", "t"),
        ("n > null", "`null` is nothing, where a number is needed", "", "null"),
        ("n matches '*'", "`n` is a number, where a text is needed", "a number supports", "n"),
        ("t matches 5", "`5` is a number, where a pattern is needed", "", "5"),
        ("t matches '[['", "invalid pattern `[[`: has a `[` without its `]`", "", "'[['"),
        ("t matches []", "a list of patterns cannot be empty", "", "[]"),
        ("t in ['a', 5]", "`5` is a number, where a text is needed", "", "5"),
        ("t in n", "`n` is a number, where a text or a list is needed", "", "n"),
        ("5 in t", "`5` is a number, where a text is needed", "", "5"),
        ("5 in task.scope.files.write", "`5` is a number, where a text is needed", "", "5"),
        ("t == ['a']", "a list cannot be compared as a whole", "use `in [...]`", "['a']"),
        ("len(n) > 1", "`n` is a number, where a text or a list is needed", "", "n"),
        ("a = b", "unknown operator `=`", "use `==` to compare", "="),
        ("t matches regex 'a+'", "regular expressions are not supported", "use a glob", "regex"),
        ("upper(t) == 'A'", "unknown function `upper`", "known functions are `len` and `lower`", "upper"),
        ("1 < n < 5", "comparisons cannot be chained", "join two comparisons with AND", "<"),
        ("a AND", "expected a value, found the end", "", ""),
        ("a b", "expected AND, OR or the end, found `b`", "", "b"),
        ("(a", "expected `)`, found the end", "", ""),
        ("t does match 'a'", "expected `not` after `does`, found `match`", "", "match"),
        ("t is 'a'", "expected `known` or `unknown` after `is`, found `'a'`", "use `==`", "'a'"),
        ("t not 'a'", "expected `in` or `match` after `not`, found `'a'`", "", "'a'"),
        ("t all 'a'", "expected `match` after `all`, found `'a'`", "", "'a'"),
        (
            "t matches 'a' AND 'b' OR 'c'",
            "patterns are joined by both AND and OR",
            "write the match twice",
            "OR",
        ),
        ("and", "expected a value, found `and`", "", "and"),
        ("", "the expression is empty", "", ""),
        ("tool.args[x] == 1", "expected a key in quotes or a whole number, found `x`", "", "x"),
        (
            "n > 5 over 10 minute window",
            "only an alert can have a window or a group",
            "",
            "over 10 minute window",
        ),
    ];
    for (source, message, help, place) in cases {
        let problems = problems(source, Expected::Bool);
        let problem = problems.first().unwrap();
        assert_eq!(problem.message, message, "{source}");
        assert!(problem.help.as_deref().unwrap_or_default().contains(help), "{source}: {:?}", problem.help);
        assert_eq!(&source[problem.span.clone()], place, "{source}");
        assert_eq!(problems.len(), 1, "{source}: {problems:#?}");
    }
}

#[test]
fn alerts_and_keys_have_problems_of_their_own() {
    let cases = [
        ("block_rate > 30% per agnt", ALERT, "unknown group `agnt`"),
        ("block_rate > n", ALERT, "an alert compares one metric with a number"),
        ("a AND b", ALERT, "an alert compares one metric with a number"),
        ("block_rate > 1 over 10", ALERT, "expected a unit of time, found the end"),
        ("block_rate > 1 over 0s", ALERT, "a window lasts one second or longer"),
        ("block_rate > 1 over 1h per day", ALERT, "a second window"),
        ("block_rat > 1", ALERT, "unknown name `block_rat`"),
        ("n + 1", Expected::Text, "`n + 1` is a number, where a text is needed"),
    ];
    for (source, expected, message) in cases {
        assert_eq!(problems(source, expected)[0].message, message, "{source}");
    }
}

#[test]
fn every_unknown_name_and_wrong_type_is_listed() {
    let source = "agent.rol == 'x' AND n == 'y'\nAND (foo OR t > 1) AND len(a) > 1";
    let found: Vec<String> =
        problems(source, Expected::Bool).into_iter().map(|problem| problem.message).collect();
    assert_eq!(
        found,
        [
            "unknown name `agent.rol`",
            "`n` is a number and cannot be compared with a text",
            "unknown name `foo`",
            "`t` is a text, where a number is needed",
            "`a` is true or false, where a text or a list is needed",
        ]
    );
}

#[test]
fn keys_yield_their_value() {
    let scope = world(json!({"t": "x", "tool.args": {"path": "p", "n": 5}}));
    assert_eq!(parse("t", Expected::Text).value(&scope).as_text(), Some("x"));
    assert_eq!(parse("tool.args.path", Expected::Text).value(&scope), Value::text("p"));
    assert_eq!(parse("tool.args.n", Expected::Any).value(&scope), Value::Number(5.0));
    assert_eq!(parse("tool.args.missing", Expected::Any).value(&scope), Value::Unknown);
    assert_eq!(parse("a OR true", Expected::Any).value(&scope), Value::Bool(true));
}

#[test]
fn contradictions_and_constants_are_found() {
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

#[test]
fn hostile_expressions_end_in_a_problem() {
    let nested =
        |open: &str, close: &str, times: usize| format!("{}a{}", open.repeat(times), close.repeat(times));
    let cases = [
        nested("(", ")", 5000),
        nested("NOT ", "", 4000),
        nested("!", "", 10_000),
        nested("len(", ")", 3000),
        format!("n == {}1", "-".repeat(10_000)),
        format!("t in {}", "[".repeat(10_000)),
        format!("{}1 > 0", "1 + ".repeat(4000)),
        format!("{}1{} > 0", "(1 + 1 + 1 + 1 + 1 + ".repeat(500), ")".repeat(500)),
        format!("a {}", "is known ".repeat(1000)),
        format!("'{}'", "x".repeat(MAX_LENGTH)),
        "9".repeat(4000),
    ];
    for source in cases {
        assert_eq!(problems(&source, Expected::Bool).len(), 1);
    }
    let long_chain = format!("{}a", "a AND ".repeat(2700));
    assert_eq!(known(&long_chain, json!({"a": true})), Some(true));
    assert!(Expression::parse(&nested("(", ")", 50), &VOCABULARY, Expected::Bool).is_ok());
}

#[test]
fn problems_point_into_the_file() {
    let source = "guardrails:\n  - check: |\n      a AND\n      agent.rol == 'x'\n  - check: \"t == \\\"x\\\" AND foo\"\n";
    let node = crate::yaml::parse(source, &crate::yaml::Limits::default()).unwrap().remove(0);
    let found: Vec<&str> = node
        .get("guardrails")
        .and_then(crate::yaml::Node::as_list)
        .unwrap()
        .iter()
        .map(|guardrail| {
            let check = guardrail.get("check").unwrap();
            let problem = problems(check.as_text().unwrap(), Expected::Bool).remove(0);
            let start = check.source_offset(source, problem.span.start);
            &source[start..check.source_offset(source, problem.span.end)]
        })
        .collect();
    assert_eq!(found, ["agent.rol", "foo"]);
}

#[test]
fn expressions_are_cheap_to_share() {
    fn shared<T: Clone + Send + Sync + std::fmt::Debug + 'static>(_: &T) {}
    let expression = parse("t matches 'a*'", Expected::Bool);
    shared(&expression);
    assert!(format!("{expression:?}").contains("a*"));
}

#[test]
fn names_carry_ids_and_tails() {
    let expression =
        parse("agent.role == 'x' AND tool.args.a['b c'][2] == 1 AND agent.role != 'y'", Expected::Bool);
    let names = expression.names();
    assert_eq!(names.len(), 2);
    assert_eq!((names[0].id(), names[0].term(), names[0].kind()), (0, "agent.role", Type::Text));
    assert!(names[0].tail().is_empty() && !names[0].is_dynamic());
    assert_eq!(names[1].term(), "tool.args.*");
    assert_eq!(
        names[1].tail(),
        [Segment::Key("a".to_owned()), Segment::Key("b c".to_owned()), Segment::Index(2)]
    );
    assert_eq!(names[1].to_string(), "tool.args.a['b c'][2]");
}

/// Expressions that parse, as text.
fn conditions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("true".to_owned()),
        Just("session.x".to_owned()),
        Just("tool.args['k']['\\u{7}é'] is known".to_owned()),
        ("t|action.target_file|action.target_files|tool.args.p", "==|!=", "'[a-c]{0,2}'")
            .prop_map(|(l, o, r)| format!("{l} {o} {r}")),
        (
            "n|n \\+ 1|n \\* \\(n - 2\\)|-n / 3|len\\(t\\)|tool.args.q",
            "==|!=|<|<=|>|>=",
            "[0-9]{1,2}(%|s|m)?"
        )
            .prop_map(|(l, o, r)| format!("{l} {o} {r}")),
        (
            "t|lower\\(t\\)|action.target_file",
            "matches|does not match|any match|all match|none match",
            "'a\\*'( AND '\\*b')?|'a\\*' OR '\\*b'|\\['a', '\\*c'\\]|task.scope.files.write patterns"
        )
            .prop_map(|(l, o, r)| format!("{l} {o} {r}")),
        (
            "t|'a'|action.target_file",
            "in|not in",
            "\\['a', 'b'\\]|agent.allowed_tools|action.command|tool.args.p|\\[\\]"
        )
            .prop_map(|(l, o, r)| format!("{l} {o} {r}")),
        ("t|action.target_files|tool.args.p", "contains|does not contain", "'a'|t")
            .prop_map(|(l, o, r)| format!("{l} {o} {r}")),
        ("t|action.target_files", "starts with|does not start with|ends with|does not end with", "'a'|t")
            .prop_map(|(l, o, r)| format!("{l} {o} {r}")),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.join(" AND ")),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.join(" || ")),
            inner.clone().prop_map(|part| format!("not {part}")),
            inner.clone().prop_map(|part| format!("!({part})")),
            inner.clone().prop_map(|part| format!("({part})")),
            inner.prop_map(|part| format!("({part}) is unknown")),
        ]
    })
}

fn worlds() -> impl Strategy<Value = World> {
    let text = || prop::option::of("[a-c]{0,2}");
    (prop::option::of(any::<bool>()), text(), text(), prop::option::of(-2i64..100), prop::collection::vec("[a-c]{0,2}", 0..3)).prop_map(
        |(a, t, command, n, list)| {
            let mut value = json!({"action.target_files": list, "action.target_file": list, "task.scope.files.write": list, "tool.args": {"p": list, "q": n}});
            let object = value.as_object_mut().unwrap();
            a.map(|a| object.insert("a".to_owned(), json!(a)));
            t.map(|t| object.insert("t".to_owned(), json!(t)));
            n.map(|n| object.insert("n".to_owned(), json!(n)));
            command.map(|command| object.insert("action.command".to_owned(), json!(command)));
            world(value)
        },
    )
}

proptest! {
    #[test]
    fn printing_and_reparsing_gives_an_equal_expression(source in conditions(), scope in worlds()) {
        // Joining parts can put a pattern list and an AND side by side in a way that is refused.
        let Ok(expression) = Expression::parse(&source, &VOCABULARY, Expected::Bool) else { return Ok(()) };
        let printed = expression.to_string();
        let again = parse(&printed, Expected::Bool);
        prop_assert_eq!(&again, &expression, "{} -> {}", source, printed);
        prop_assert_eq!(again.to_string(), printed);
        prop_assert_eq!(again.evaluate(&scope), expression.evaluate(&scope));
        if let (Some(always), Some(known)) = (expression.always(), expression.evaluate(&scope).known()) {
            prop_assert_eq!(always, known, "{}", source);
        }
        let negated = parse(&format!("NOT ({source})"), Expected::Bool);
        prop_assert_eq!(negated.evaluate(&scope).known(), expression.evaluate(&scope).known().map(|known| !known));
    }

    #[test]
    fn no_text_panics(source in "\\PC*|[-a-z0-9 .'\"()\\[\\]<>=!&|+*/%,_\\\\\n]{0,60}|((a|n|t|and|or|not|in|is|does|match|'x'|\\(|\\)|\\[|\\]|over|per|5m|==|,|\\.) ?){0,20}") {
        for expected in [Expected::Bool, Expected::Text, Expected::Any, ALERT] {
            match Expression::parse(&source, &VOCABULARY, expected) {
                Ok(expression) => {
                    expression.evaluate(&world(json!({})));
                    expression.always();
                    prop_assert_eq!(&parse(&expression.to_string(), expected), &expression);
                }
                Err(problems) => {
                    prop_assert!(!problems.is_empty());
                    prop_assert!(problems.iter().all(|problem| source.get(problem.span.clone()).is_some()));
                }
            }
        }
    }

    #[test]
    fn no_mutation_of_a_condition_panics(source in conditions(), at in any::<prop::sample::Index>(), insert in "[-a-z0-9 .'\"()\\[\\]<>=!]{0,3}") {
        let at = source.floor_char_boundary(at.index(source.len()));
        let rest = source[at..].char_indices().nth(1).map_or("", |(next, _)| &source[at + next..]);
        let mutated = format!("{}{insert}{rest}", &source[..at]);
        if let Err(problems) = Expression::parse(&mutated, &VOCABULARY, Expected::Bool) {
            prop_assert!(problems.iter().all(|problem| mutated.get(problem.span.clone()).is_some()));
        }
    }
}
