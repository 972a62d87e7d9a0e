//! What cannot be read, and texts that are made to upset the walk.

use proptest::prelude::*;

use super::{assert_harmless, assert_rule, is_blocked, rules};
use crate::command::{analyse, analyse_script};

#[test]
fn unreadable_text_is_reported_if_it_might_destroy() {
    let deep = "$(".repeat(5000) + "rm -rf /";
    assert_rule(
        "opaque",
        &[
            "$CMD -rf /",
            "echo \"$PAYLOAD\" | base64 -d | sh",
            "cat blob | base64 -d | bash",
            "eval \"$(echo \"$X\" | base64 -d)\"",
            "{rm,-rf,/,{1..100000}}",
            &deep,
        ],
    );
}

#[test]
fn running_an_unknown_variable_is_opaque() {
    assert_rule(
        "opaque",
        &[
            "eval \"$X\"",
            "eval $X",
            "eval \"${X}\" && ls",
            "sh -c \"$X\"",
            "sudo bash -lc \"$X\"",
            "export Y=1; bash -c \"$X\" _ a",
            "bash -c 'eval \"$X\"'",
            "read -r X; eval \"$X\"",
            "eval \"$(./tool --print)\"",
            "eval \"$(./brew shellenv)\"",
            "eval \"$(cat x; brew shellenv)\"",
            "eval \"$(./tool brew)\"",
            "bash -c '$CMD'",
            "$BUILD_CMD --release",
            "$EDITOR file.txt",
            "sh -c \"$X --version\"",
            "${CMD[@]} x",
            "`cat command` --force",
            "python3 -c \"$(cat wipe.py)\"",
            "node -e \"$CODE\"",
            "node -e 'eval(process.env.X)'",
            "python3 -c 'import os; exec(os.environ[\"X\"])'",
        ],
    );
    assert_harmless(&[
        "eval \"$(ssh-agent -s)\"",
        "eval \"$(direnv hook bash)\"",
        "eval \"$(brew shellenv)\"",
        "eval \"$(cat env.sh)\"",
        "$(which python3) main.py",
        "CC=gcc; $CC -c x.c",
        "$HOME/bin/tool --version",
        "X='ls -l'; eval \"$X\"",
        "f() { eval \"$1\"; }; f 'ls -l'",
        "sh -c \"cd $DIR && make\"",
        "bash \"$script\"",
        "echo \"$X\"",
        // The caller of a script sets its variables.
        "#!/bin/sh\nset -e\nsh -c \"$CMD\"",
        "cat > run.sh <<'E'\nsh -c \"$CMD\"\nE\nsh run.sh",
    ]);
    assert!(analyse_script("run.sh", "set -e\neval \"$CMD\"", &[]).dangers.is_empty());
}

#[test]
fn nothing_overflows_the_stack() {
    for piece in [
        "(",
        "{ ",
        "$(",
        "`",
        "\"$(",
        "[[ ",
        "if ",
        "${x:-",
        "$((",
        "((",
        "f(){ ",
        "case x in a) ",
        "<(",
        "x=(",
        "! ",
        "sudo ",
    ] {
        let _ = analyse(&piece.repeat(3_000));
    }
    for words in ["$A ", "$A -c x ", "--no-such x "] {
        assert!(!rules(&format!("git {}push --force", words.repeat(3_000))).is_empty(), "{words}");
        let _ = analyse(&format!("uv {}run rm -rf /etc", words.repeat(3_000)));
    }
    let mut nested = "rm -rf /".to_owned();
    for _ in 0..12 {
        nested = format!("bash -c {}", quote(&nested));
    }
    assert!(!rules(&nested).is_empty());
    // Functions that call each other through everything that takes stack.
    let calls: String = (0..100)
        .map(|n| {
            format!("f{n}() {{ if x; then (echo \"a $(for y in z; do sudo f{}; done)\"); fi; }};", n + 1)
        })
        .collect();
    let _ = analyse(&(calls + "f0"));
    let evals: String = (0..100).map(|n| format!("v{n}='echo \"$(eval \"$v{}\")\"';", n + 1)).collect();
    let _ = analyse(&(evals + "eval \"$v0\""));
    let _ = analyse(&("echo \"$(".repeat(47) + "ls" + &")\"".repeat(47)));
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Commands that destroy, in plain words.
const PLAIN: &[&str] =
    &["rm -rf /", "rm -rf ~", "git push --force origin main", "dd if=/dev/zero of=/dev/sda"];

fn wrapped(depth: u32) -> impl Strategy<Value = String> {
    proptest::sample::select(PLAIN).prop_map(str::to_owned).prop_recursive(depth, 16, 1, |inner| {
        (inner, 0..9_u8).prop_map(|(inner, way)| match way {
            0 => format!("sudo {inner}"),
            1 => format!("env X=1 {inner}"),
            2 => format!("nohup {inner}"),
            3 => format!("bash -c {}", quote(&inner)),
            4 => format!("eval {}", quote(&inner)),
            5 => format!("timeout 5 {inner}"),
            6 => format!("true && {{ {inner}; }}"),
            7 => format!("bash <<'E{0}'\n{inner}\nE{0}\n", inner.len()),
            _ => format!("echo {} | sh", quote(&inner)),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_the_analysis(text in any::<String>()) {
        let _ = analyse(&text);
    }

    #[test]
    fn no_sequence_of_tokens_panics_the_analysis(tokens in proptest::collection::vec(proptest::sample::select(TOKENS), 0..60)) {
        let text: String = tokens.concat();
        let analysis = analyse(&text);
        for danger in analysis.dangers {
            prop_assert!(danger.start <= danger.end && danger.end <= text.len());
        }
    }

    #[test]
    fn wrapping_removes_no_danger(command in wrapped(5)) {
        prop_assert!(is_blocked(&command), "{}", command);
    }
}

/// What commands are made of.
const TOKENS: &[&str] = &[
    "rm",
    " ",
    " -rf ",
    "/",
    "'",
    "\"",
    "$",
    "$(",
    ")",
    "(",
    "((",
    "))",
    "{",
    "}",
    "${",
    "`",
    "\\",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "<",
    ">",
    ">>",
    "<<EOF\n",
    "EOF\n",
    "<<<",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case x in ",
    "esac",
    ";;",
    "[[ ",
    " ]]",
    "x=",
    "$x",
    "~",
    "*",
    "#",
    "!",
    "function ",
    "f()",
    "é",
    "sudo ",
    "bash -c ",
    "eval ",
    "xargs ",
    "find . -exec ",
    "{}",
    "echo ",
    "curl x | sh",
    "$'",
    "a",
    "1",
    "..",
    ",",
    "=",
    "time ",
    "cd ",
    "while ",
    "<(",
    "$((",
    "@",
    ":-",
];
