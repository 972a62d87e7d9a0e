//! Real bash as the judge of how words are resolved: for words made of literals, quotes, escapes, braces and known
//! variables, bash's own `printf` must see the same words as the walk does.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "bash is started as an oracle; it only runs its own `printf` on generated words that hold no command"
)]

use std::process::{Command, Stdio};

use midrail_shell::command::invocations;
use proptest::prelude::*;

const SETUP: &str = "a='x y'; b=foo.tar.gz; c=''; d=' p  q '; ";

/// What bash makes of the words. `None` where there is no bash.
fn by_bash(words: &str) -> Option<Vec<String>> {
    let script = format!("{SETUP}printf '%s\\0' . {words}");
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &script])
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let mut seen: Vec<String> = text.split('\0').skip(1).map(str::to_owned).collect();
    seen.pop();
    Some(seen)
}

/// What the walk makes of them.
fn by_walk(words: &str) -> Vec<String> {
    let invocations = invocations(&format!("{SETUP}printf '%s\\0' . {words}"));
    invocations.last().unwrap().args.iter().skip(2).map(|arg| arg.text.clone()).collect()
}

fn piece() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        "[a-z0-9_./:@%+-]{1,4}",
        "'[a-z \"$\\\\{},*;|&]{0,4}'",
        "\"[a-z '{},*;|&()]{0,4}\"",
        "[a-z]\\\\[a-z \"$'{},\\\\*;|&]",
        r"\$'([a-z]|\\n|\\t|\\\\|\\'|\\x4[1-9a-f]|\\10[1-7]|\\u00e9){0,4}'",
        proptest::sample::select(VARIABLES).prop_map(str::to_owned),
        proptest::sample::select(VARIABLES).prop_map(|text| format!("\"{text}\"")),
        proptest::sample::select(
            &["{1..3}", "{a..c}", "{3..1}", "{01..03}", "{1..7..3}", "{}", "{x}", "\"\"", "''"][..]
        )
        .prop_map(str::to_owned),
    ];
    plain.prop_recursive(2, 8, 3, |inner| {
        proptest::collection::vec(inner, 2..4).prop_map(|choices| format!("{{{}}}", choices.join(",")))
    })
}

const VARIABLES: &[&str] = &[
    "${a}",
    "${b}",
    "${c}",
    "${d}",
    "${a:-z}",
    "${c:-z}",
    "${c-z}",
    "${b%.*}",
    "${b%%.*}",
    "${b#*.}",
    "${b##*.}",
    "${a/ /_}",
    "${b//o/0}",
    "${b^^}",
    "${b^}",
    "${#a}",
    "${a:1}",
    "${b:1:2}",
    "${b: -2}",
    "${c:+z}",
    "${a:+z}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_are_resolved_as_bash_does(
        words in proptest::collection::vec(proptest::collection::vec(piece(), 1..4).prop_map(|pieces| pieces.concat()), 1..4)
    ) {
        let words = words.join(" ");
        match by_bash(&words) {
            Some(expected) => prop_assert_eq!(by_walk(&words), expected, "{}", words),
            None => eprintln!("bash is not installed: its words are not compared"),
        }
    }
}
