//! Behaviour of the YAML reader.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn documents(source: &str) -> Vec<Node> {
    parse(source).unwrap_or_else(|problems| panic!("{source:?}: {problems:#?}"))
}

fn one(source: &str) -> Node {
    let mut nodes = documents(source);
    assert_eq!(nodes.len(), 1, "{source:?}");
    nodes.remove(0)
}

fn problems(source: &str) -> Vec<Diagnostic> {
    match parse(source) {
        Ok(_) => panic!("no problem in {:?}", source.chars().take(40).collect::<String>()),
        Err(problems) => problems,
    }
}

fn messages(source: &str) -> Vec<String> {
    problems(source).into_iter().map(|problem| problem.message).collect()
}

fn slice<'s>(source: &'s str, node: &Node) -> &'s str {
    &source[node.span.clone()]
}

#[test]
fn yaml_and_json_give_the_same_values() {
    let value = json!({"a": [1, -2.5, null, true, "x"], "b": {"c": "y: z"}, "on": "yes"});
    let yaml = "a: [1, -2.5, ~, true, x]\nb:\n  c: 'y: z'\non: yes\n";
    let tabs = "{\n\t\"a\": [\n\t\t1,\n\t\t-2.5,\n\t\tnull, true, \"x\"\n\t],\n\t\"b\": {\"c\": \"y: z\"},\n\t\"on\": \"yes\"\n}\n";
    let sources = [
        yaml.to_owned(),
        value.to_string(),
        serde_json::to_string_pretty(&value).unwrap(),
        serde_json::to_string_pretty(&value).unwrap().replace('\n', "\r\n"),
        serde_json::to_string_pretty(&value).unwrap().replace("  ", "                "),
        tabs.to_owned(),
        // Not strict JSON: a comma at the end and a comment, with tabs.
        tabs.replace("\"yes\"", "\"yes\", # why"),
        format!("\u{feff}{yaml}"),
    ];
    for source in sources {
        assert_eq!(to_json(&one(&source)), value, "{source}");
    }
}

#[test]
fn json_escapes_and_surrogate_pairs_are_read() {
    let source = r#"{"a":"\ud83d\ude00\u00e9\n\/\"","b":[],"c":{}}"#;
    assert_eq!(to_json(&one(source)), json!({"a": "😀é\n/\"", "b": [], "c": {}}));
}

#[test]
fn streams_of_documents_are_read() {
    assert_eq!(documents("a: 1\n---\n- 2\n...\n---\nx\n").len(), 3);
    assert_eq!(documents("").len(), 0);
    assert_eq!(documents("# nothing\n").len(), 0);
}

#[test]
fn spans_are_bytes_of_the_value() {
    for prefix in ["", "\u{feff}", "# größer 😀\n", &"é: é # ü\n---\n".repeat(50)] {
        let source = format!(
            "{prefix}größe: 5\nliste:\n  - 'é''y'\n  - {{k: \"v\", ü: [ä, ö ]}}\ntext: |-\n  foo\n   bär\n\nleer:\nend: &a !!str 7\n"
        );
        let node = documents(&source).pop().unwrap();
        let get = |key: &str| node.get(key).unwrap();
        assert_eq!(slice(&source, get("größe")), "5");
        assert_eq!(slice(&source, get("liste")), "- 'é''y'\n  - {k: \"v\", ü: [ä, ö ]}");
        let list = get("liste").as_list().unwrap();
        assert_eq!(slice(&source, &list[0]), "'é''y'");
        assert_eq!(slice(&source, &list[1]), "{k: \"v\", ü: [ä, ö ]}");
        assert_eq!(slice(&source, list[1].get("ü").unwrap()), "[ä, ö ]");
        assert_eq!(slice(&source, get("text")), "foo\n   bär");
        assert_eq!(slice(&source, get("leer")), "");
        assert_eq!(slice(&source, get("end")), "7");
        assert_eq!(get("end").as_text(), Some("7"));
        let (key, _) = &node.as_map().unwrap()[1];
        assert_eq!(&source[key.span.clone()], "liste");
        assert!(slice(&source, &node).starts_with("größe: 5") && slice(&source, &node).ends_with('7'));
    }
}

#[test]
fn keys_keep_their_source_text() {
    assert_eq!(
        to_json(&one("1: a\ntrue: b\non: c\n1.50: d\n")),
        json!({"1": "a", "true": "b", "on": "c", "1.50": "d"})
    );
}

#[test]
fn aliases_and_merge_keys_are_expanded() {
    let source =
        "base: &b {x: 1, y: 2}\nmore: &m\n  y: 3\n  z: 4\na:\n  <<: *b\n  y: 9\nc:\n  <<: [*b, *m]\nd: *b\n";
    let value = to_json(&one(source));
    assert_eq!(value["a"], json!({"x": 1, "y": 9}));
    assert_eq!(value["c"], json!({"x": 1, "y": 2, "z": 4}));
    assert_eq!(value["d"], json!({"x": 1, "y": 2}));
    let node = one(source);
    assert_eq!(slice(source, node.get("d").unwrap()), "{x: 1, y: 2}");
}

#[test]
fn problems_are_described_and_located() {
    let cases = [
        ("a: 1\nb: 2\na: 3\n", "duplicate key `a`", "a"),
        ("{\"a\": 1, \"a\": 2}", "duplicate key `a`", "\"a\""),
        ("a: *nope\n", "unknown anchor `nope`", "*nope"),
        ("ä: &x 1\n---\nb: *x\n", "unknown anchor `x`", "*x"),
        ("a: &x [*x]\n", "the anchor `x` contains itself", "*x"),
        ("a: !secret x\n", "unknown tag `!secret`", "!secret"),
        ("a: &b !secret\n  c: d\n", "unknown tag `!secret`", "!secret"),
        ("a: !!int x\n", "`x` does not match the tag `!!int`", "x"),
        ("a: !!map [1]\n", "the tag `!!map` does not match this value", "!!map"),
        ("? [a, b]\n: c\n", "a key cannot be a list", "[a, b]"),
        ("? {a: b}\n: c\n", "a key cannot be a map", "{a: b}"),
        ("x: &a b\n*a : c\n", "a key cannot be an alias", "*a"),
        (": c\n", "a key is missing", ""),
        ("a:\n  <<: 5\n", "`<<` needs a map or a list of maps, not a number", "5"),
        ("a: \0b\n", "control character U+0000 is not allowed", "\0"),
    ];
    for (source, message, place) in cases {
        let problems = problems(source);
        let problem = problems.first().unwrap();
        assert_eq!(problem.message, message, "{source:?}");
        assert_eq!(&source[problem.span.clone()], place, "{source:?}");
    }
    assert_eq!(problems("a: 1\nb: 2\na: 3\n")[0].span, 10..11);
}

#[test]
fn all_problems_are_listed() {
    let found = messages("a: 1\na: 2\nb: !x 3\n? [k]\n: v\nc: 1\nc: 1\n");
    assert_eq!(
        found,
        ["duplicate key `a`", "unknown tag `!x`", "a key cannot be a list", "duplicate key `c`"]
    );
}

#[test]
fn common_mistakes_get_advice() {
    let cases = [
        ("a:\n\tb: 1\n", "indent with spaces"),
        ("a: b\n\tc: d\n", "indent with spaces"),
        ("check: 'rm' in action.command\n", "put the whole value in quotes"),
        ("check: \"rm\" in action.command\n", "put the whole value in quotes"),
        ("message: stop: now\n", "put a value that contains `: ` in quotes"),
        ("check: !(a or b)\n", "a text that starts with `!` needs quotes"),
        ("glob: **/test_*\n", "a text that starts with `*` needs quotes"),
        ("a: @b\n", "in quotes"),
        ("a: \"\\d\"\n", "use single quotes"),
        ("a:\n  - b\n c: d\n", "check the indentation"),
    ];
    for (source, help) in cases {
        let problem = problems(source).remove(0);
        assert!(problem.help.as_deref().unwrap_or_default().contains(help), "{source}: {problem:?}");
    }
}

#[test]
fn hostile_texts_are_rejected() {
    let bomb = {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..30 {
            let previous = format!("*a{}", level - 1);
            text.push_str(&format!("a{level}: &a{level} [{}]\n", [previous.as_str(); 9].join(", ")));
        }
        text
    };
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), ["*a"; 1000].join(","));
    let nested_anchors = format!(
        "{}[{}]{}",
        (0..60).map(|level| format!("&a{level} [")).collect::<String>(),
        ["1"; 50_000].join(","),
        "]".repeat(60)
    );
    let merges = {
        let mut text = String::from("a0: &a0 {k: 1}\n");
        for level in 1..100 {
            text.push_str(&format!(
                "a{level}: &a{level} {{<<: *a{}, k{level}: *a{}}}\n",
                level - 1,
                level - 1
            ));
        }
        text
    };
    let cases = [
        (bomb, "more than 100000 values"),
        (long, "aliases repeat too much text"),
        (nested_anchors, "more than 100000 values"),
        (merges, ""),
        ("[".repeat(10_000), "nested more than 64 levels deep"),
        ("{\"a\":".repeat(10_000), "nested more than 64 levels deep"),
        ("- ".repeat(10_000), "nested more than 64 levels deep"),
        ("? ".repeat(10_000), "nested more than 64 levels deep"),
        ("{? ".repeat(10_000), ""),
        (format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)), "nested more than 64 levels deep"),
        ((0..10_000).map(|level| format!("{}a:\n", " ".repeat(level % 150))).collect(), ""),
        ("- 1\n".repeat(200_000), "more than 100000 values"),
        (format!("[{}]", ["1"; 200_000].join(",")), "more than 100000 values"),
        ("a: 1\n".repeat(150_000), "duplicate key `a`"),
        ("x".repeat((1 << 20) + 1), "the text is 1048577 bytes long"),
    ];
    for (source, expected) in cases {
        let found = messages(&source);
        assert!(
            found[0].starts_with(expected),
            "{:?}: {}",
            found[0],
            source.chars().take(40).collect::<String>()
        );
        assert!(found.len() <= 100);
    }
}

#[test]
fn depth_of_the_limit_is_allowed() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&nested(64)).is_ok());
    assert!(parse(&nested(65)).is_err());
    let aliased = format!("- &a {}\n- {}*a{}\n", nested(40), "[".repeat(30), "]".repeat(30));
    assert_eq!(messages(&aliased), ["nested more than 64 levels deep"]);
}

#[test]
fn text_offsets_are_mapped_to_the_source() {
    let cases = [
        "k: ü foo BAD\n",
        "k: 'ü foo BAD'\n",
        "k: \"ü foo BAD\"\n",
        "k: 'it''s BAD'\n",
        "k: \"say \\\"x\\\" \\u00e9 \\x41 \\n BAD\"\n",
        "{\"k\": \"say \\\"x\\\" BAD\"}",
        "k: |\n  ü one\n\n    two BAD\n",
        "k: &x !!str |\n  ü one\n  two BAD\n",
        "k: >-\n  ü one\n  two BAD\n\n  three\n",
        "k: one\n  two BAD\n  three\n",
        "k: 'one\n\n  two BAD'\n",
        "k: |2\n    one BAD\n",
    ];
    for source in cases {
        let node = one(source).get("k").unwrap().clone();
        let text = node.as_text().unwrap();
        let at = node.source_offset(source, text.find("BAD").unwrap());
        assert_eq!(&source[at..at + 3], "BAD", "{source:?}");
        let end = node.source_offset(source, text.find("BAD").unwrap() + 3);
        assert_eq!(end, at + 3, "{source:?}");
    }
}

#[test]
fn offsets_of_blanks_are_mapped_to_nearby_places() {
    let source = "k: |\n  one  two\n  three\n";
    let node = one(source).get("k").unwrap().clone();
    let at = |offset| node.source_offset(source, offset) - source.find("one").unwrap();
    assert_eq!([at(0), at(3), at(4), at(5)], [0, 3, 4, 5]);
    assert_eq!(at(9), "one  two\n  ".len());
    assert_eq!(at(1000), "one  two\n  three".len());
}

proptest! {
    #[test]
    fn no_text_panics(source in "\\PC*|[-a-z0-9:{}\\[\\],&*!|>'\"#%@`?<~ \t\n\r\u{feff}é\\\\]{0,120}") {
        check(&source);
    }

    #[test]
    fn no_mutation_of_a_pack_panics(at in 0usize..400, length in 0usize..20, insert in "[-:{}\\[\\],&*!|>'\"#?< \t\n\\\\é]{0,4}") {
        let pack = "# ü\nbase: &b\n  x: 1\nguardrails:\n  - id: 'a''b'\n    <<: *b\n    check: |\n      a == 'x'\n      AND b\n    on: [\"before\\ttool\", {k: v}]\n---\n{\"a\": [1, \"\\ud83d\\ude00\"]}\n";
        let from = pack.floor_char_boundary(at.min(pack.len()));
        let to = pack.floor_char_boundary((from + length).min(pack.len()));
        check(&format!("{}{insert}{}", &pack[..from], &pack[to..]));
    }
}

fn check(source: &str) {
    match parse(source) {
        Ok(nodes) => nodes.iter().for_each(|node| check_node(source, node)),
        Err(problems) => {
            assert!(!problems.is_empty());
            crate::diagnostic::DiagnosticReport::new("p", source, problems).render(true);
        }
    }
}

fn check_node(source: &str, node: &Node) {
    assert!(source.get(node.span.clone()).is_some(), "{node:?}");
    match &node.value {
        NodeValue::Text(text, _) => {
            for offset in 0..=text.len() + 1 {
                let at = node.source_offset(source, offset);
                assert!(
                    node.span.start <= at && at <= node.span.end && source.is_char_boundary(at),
                    "{node:?}"
                );
            }
        }
        NodeValue::List(nodes) => nodes.iter().for_each(|node| check_node(source, node)),
        NodeValue::Map(entries) => entries.iter().for_each(|(key, node)| {
            assert!(source.get(key.span.clone()).is_some());
            check_node(source, node);
        }),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_) => {}
    }
}
