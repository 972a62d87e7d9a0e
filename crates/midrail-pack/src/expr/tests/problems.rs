//! Problems of expressions.

use serde_json::json;

use super::*;

#[test]
fn problems_have_message_help_and_place() {
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
            "a text has no order",
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
            "compare it, as in `agent.role == 'TEXT'`",
            "agent.role",
        ),
        ("n AND a", "`n` is a number, where true or false is needed", "compare it, as in `n > 0`", "n"),
        ("n + t > 1", "`t` is a text, where a number is needed", "a text has no order", "t"),
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
        ("upper(t) == 'A'", "unknown function `upper`", "use `lower(…)`", "upper"),
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
fn alerts_and_keys_are_checked() {
    let cases = [
        ("block_rate > 30% per agnt", ALERT, "unknown group `agnt`"),
        ("block_rate > n", ALERT, "an alert compares one metric with a number"),
        ("a AND b", ALERT, "an alert compares one metric with a number"),
        ("block_rate > 1 over 10", ALERT, "expected a unit of time, found the end"),
        ("block_rate > 1 over 0s", ALERT, "a window lasts one second or longer"),
        ("block_rate > 1 over 1h per day", ALERT, "a second window"),
        ("block_rat > 1", ALERT, "unknown name `block_rat`"),
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
fn hostile_expressions_are_rejected() {
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
fn problems_are_located_in_the_file() {
    let source = "guardrails:\n  - check: |\n      a AND\n      agent.rol == 'x'\n  - check: \"t == \\\"x\\\" AND foo\"\n";
    let node = crate::yaml::parse(source).unwrap().remove(0);
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
