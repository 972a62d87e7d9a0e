//! Which variables of a module are found.

use super::super::scan::variables;

fn names(source: &str) -> String {
    let found = variables(source);
    let name = |variable: &super::super::scan::Variable| {
        if variable.is_const { format!("{}!", variable.name) } else { variable.name.clone() }
    };
    found.iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn declarations_at_the_top_level() {
    for (source, expected) in [
        ("let a = 1; var b; const c = 2", "a b c!"),
        ("let a, b = 2, c", "a b c"),
        ("export let a = 1\nexport const b = 2\nexport default {}", "a b!"),
        ("let a = 1\nlet b = 2\nfoo(), c = 3", "a b"),
        ("const a = {\n b: 1, c: [2, 3] }, d = (1, 2)", "a! d!"),
        ("const { a, b: c, d = 1, ...e } = f, g = 2", "a! c! d! e! g!"),
        ("let [a, , [b], { c: { d = x, e } }] = f", "a b d e"),
        ("let { a = { b, c }, d = [e, f] } = {}", "a d"),
        ("function f() { let a; } class C { x = 1; } { let b; } if (1) { var c; }", ""),
        ("for (let i = 0; i < 1; i++) {}\nfor (const x of y) {}", ""),
        ("let a = () => { let b; }\nlet c", "a c"),
        ("#!/usr/bin/env node\nlet a", "a"),
        ("x.let\nlet a", "a"),
        ("let a = b ? c : d, e", "a e"),
        ("let a = b\n  .c()\n  .d(), e = 1", "a e"),
        ("const a = async x => x\nawait a()\nlet b", "a! b"),
        ("let ünï = 1, $ = 2, _ = 3", "ünï $ _"),
        ("let a = new Map();\nlet a2 = a", "a a2"),
        ("import { x as y } from './z.js'; import d from './d.js'; let a", "a"),
    ] {
        assert_eq!(names(source), expected, "{source}");
    }
}

#[test]
fn texts_are_not_read_as_code() {
    for (source, expected) in [
        (r#"let a = "let x; \" let y"; let b = 'let z'; let c"#, "a b c"),
        ("let a = `let x ${ { y: `let ${1}` }.y } let z`; let b", "a b"),
        ("let a = `${1}${2} {` ; let b", "a b"),
        ("// let x\n/* let y\n */ let a // let z", "a"),
        (r"let a = /[/'\]]let x;/g, b = 1 / 2 / 3; let c", "a b c"),
        ("let a = b / c; let d = e / f", "a d"),
        ("if (x) /'/.test(y); let a", "a"),
        ("let a = (b) / c / d, e", "a e"),
        ("let a = x++ / 2; let b = '/'", "a b"),
        ("return_ = typeof /'/; let a", "a"),
        ("const f = () => {}\n/'/.test(x); let a", "f! a"),
        ("let a = [1][0] / 2; let b = '/'", "a b"),
    ] {
        assert_eq!(names(source), expected, "{source}");
    }
}

#[test]
fn anything_ends() {
    for source in [
        "`${",
        "/",
        "/*",
        "'",
        "let",
        "let {",
        "let [a",
        "}}}",
        "`${`${`",
        "let a = /[",
        "\\",
        "let \u{feff}",
    ] {
        names(source);
        names(&source.repeat(500));
    }
}
