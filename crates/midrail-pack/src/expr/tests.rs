//! Behaviour of expressions, from text to answer.

mod evaluation;
mod problems;

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
    Term::new("action.target_file", Type::Path, "the file, or files"),
    Term::new("action.target_files", Type::Paths, "all files"),
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
        Ok(expression) => panic!("{source} parsed as {expression:?}"),
        Err(problems) => problems,
    }
}

fn known(source: &str, value: serde_json::Value) -> Option<bool> {
    parse(source, Expected::Bool).evaluate(&world(value)).ok()
}

#[test]
fn expressions_are_cheap_to_share() {
    fn shared<T: Clone + Send + Sync + std::fmt::Debug + 'static>(_: &T) {}
    let expression = parse("t matches 'a*'", Expected::Bool);
    shared(&expression);
    assert!(format!("{expression:?}").contains("a*"));
}

#[test]
fn names_have_terms_and_tails() {
    let expression =
        parse("agent.role == 'x' AND tool.args.a['b c'][2] == 1 AND agent.role != 'y'", Expected::Bool);
    let names = expression.names();
    assert_eq!(names.len(), 2);
    assert_eq!((names[0].term(), names[0].kind()), ("agent.role", Type::Text));
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
    fn parentheses_and_negation_keep_the_meaning(source in conditions(), scope in worlds()) {
        // Joining parts can put a pattern list and an AND side by side in a way that is refused.
        let Ok(expression) = Expression::parse(&source, &VOCABULARY, Expected::Bool) else { return Ok(()) };
        let again = parse(&format!("( {source} )"), Expected::Bool);
        prop_assert_eq!(&again, &expression, "{}", source);
        prop_assert_eq!(again.meaning(), expression.meaning());
        prop_assert_eq!(again.evaluate(&scope), expression.evaluate(&scope));
        if let (Some(always), Some(known)) = (expression.always(), expression.evaluate(&scope).ok()) {
            prop_assert_eq!(always, known, "{}", source);
        }
        let negated = parse(&format!("NOT ({source})"), Expected::Bool);
        prop_assert_eq!(negated.evaluate(&scope).ok(), expression.evaluate(&scope).ok().map(|known| !known));
    }

    #[test]
    fn no_text_panics(source in "\\PC*|[-a-z0-9 .'\"()\\[\\]<>=!&|+*/%,_\\\\\n]{0,60}|((a|n|t|and|or|not|in|is|does|match|'x'|\\(|\\)|\\[|\\]|over|per|5m|==|,|\\.) ?){0,20}") {
        for expected in [Expected::Bool, Expected::Any, ALERT] {
            match Expression::parse(&source, &VOCABULARY, expected) {
                Ok(expression) => {
                    let _ = expression.evaluate(&world(json!({})));
                    expression.always();
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
