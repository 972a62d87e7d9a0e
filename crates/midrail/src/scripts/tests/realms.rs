//! Realms: what they share, what they keep apart, and how they end.

use super::*;
use crate::scripts::MAX_AT_ONCE;

/// A script whose `output` waits for a command, and prints that it does.
const WAITING: &str = "output: async (ctx) => { calls++; console.log('waits'); const end = await ctx.system.cmd.exec('wait'); \
     return { override: true, result: end.stdout + calls }; }";

fn until_it_waits(bench: &Bench) {
    while !bench.world.lines().iter().any(|line| line.contains("waits")) {
        thread::yield_now();
    }
}

#[test]
fn concurrent_calls_are_isolated() {
    let bench = Bench::new(&format!(
        "let calls = 0; export default {{ {WAITING}, input: () => ({{ allowed: false, message: 'call ' + ++calls }}) }};"
    ));
    thread::scope(|scope| {
        let slow = scope.spawn(|| bench.output());
        until_it_waits(&bench);
        assert_eq!(bench.refusal(json!({})), "call 1");
        assert_eq!(bench.refusal(json!({})), "call 1");
        bench.world.gate.store(true, Ordering::Relaxed);
        let HookAnswer::Replace { result, .. } = slow.join().unwrap().unwrap().answer else { panic!() };
        assert!(result.starts_with("ran wait") && result.ends_with('1'), "{result}");
    });
}

#[test]
fn stopped_call_does_not_affect_others() {
    let bench = Bench::new(&format!(
        "let calls = 0; export default {{ {WAITING}, input: () => {{ for (;;) {{}} }} }};"
    ));
    thread::scope(|scope| {
        let slow = scope.spawn(|| bench.output());
        until_it_waits(&bench);
        let error = bench.brief().unwrap_err().to_string();
        assert!(error.contains("stopped: `input` took longer"), "{error}");
        bench.world.gate.store(true, Ordering::Relaxed);
        assert!(matches!(slow.join().unwrap().unwrap().answer, HookAnswer::Replace { .. }));
    });
}

#[test]
fn more_calls_than_realms_wait_for_their_turn() {
    let bench = Bench::new(&format!(
        "let calls = 0; export default {{ {WAITING}, input: () => ({{ allowed: true }}) }};"
    ));
    thread::scope(|scope| {
        let slow: Vec<_> = (0..MAX_AT_ONCE).map(|_| scope.spawn(|| bench.output())).collect();
        while bench.world.lines().iter().filter(|line| line.contains("waits")).count() < MAX_AT_ONCE {
            thread::yield_now();
        }
        let error = bench.brief().unwrap_err().to_string();
        assert!(error.contains("before it had its turn"), "{error}");
        bench.world.gate.store(true, Ordering::Relaxed);
        for slow in slow {
            assert!(slow.join().unwrap().is_ok());
        }
    });
    assert_eq!(bench.brief().unwrap().answer, HookAnswer::Pass);
}

#[test]
fn a_command_is_stopped_when_its_call_ends() {
    let bench = Bench::new(&input("(ctx) => { ctx.system.cmd.exec('wait'); return { allowed: true }; }"));
    assert_eq!(bench.input(json!({})).unwrap().answer, HookAnswer::Pass);
    while !bench.world.stopped.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    assert_eq!(bench.input(json!({})).unwrap().answer, HookAnswer::Pass);
}

#[test]
fn sessions_share_nothing() {
    let bench = Bench::new(
        "let count = 0; export default { input: () => ({ allowed: false, message: `${++count}` }) };",
    );
    let mut state = None;
    for (session, count) in [("a", "1"), ("b", "1")] {
        let end = bench.scripts.call(&bench.script, session, bench.call(Hook::Input)).unwrap();
        assert_eq!(end.answer, HookAnswer::Refuse { message: count.into(), suggestion: None, request: None });
        state = end.state;
    }
    let call = Call { state: text_of(state), ..bench.call(Hook::Input) };
    let end = bench.scripts.call(&bench.script, "a", call).unwrap();
    assert_eq!(end.answer, HookAnswer::Refuse { message: "2".into(), suggestion: None, request: None });
}

#[test]
fn realms_are_few() {
    let bench = Bench::new(&script_returning("globalThis.seen = (globalThis.seen ?? 0) + 1"));
    let count = |session: &str| match bench
        .scripts
        .call(&bench.script, session, bench.call(Hook::Input))
        .unwrap()
        .answer
    {
        HookAnswer::Refuse { message, .. } => message,
        other => panic!("{other:?}"),
    };
    assert_eq!(count("first"), "1");
    assert_eq!(count("second"), "1");
    for other in 0..super::super::MAX_REALMS - 1 {
        assert_eq!(count(&format!("other {other}")), "1");
        assert_eq!(count("second").parse::<usize>().unwrap(), other + 2);
    }
    // The first one was not used for longest.
    assert_eq!(count("first"), "1");
    let realms = bench.scripts.realms.lock();
    assert_eq!(realms.by_owner.len(), super::super::MAX_REALMS);
}

#[test]
fn imports_of_neighbouring_files() {
    let bench = Bench::new(
        "import { word } from './lib/words.js'; import more from './more.mjs';
         export default { input: async () => ({ allowed: false, message: word + more + (await import('./lib/late.js')).default }) };",
    )
    .file("lib/words.js", "import x from '../more.mjs';\nexport const word = 'a' + x;")
    .file("lib/late.js", "export default 'c';")
    .file("more.mjs", "export default 'b';");
    assert_eq!(bench.refusal(json!({})), "abbc");
}

#[test]
fn errors_of_imported_files_say_where() {
    let script = "import { check } from './lib/check.js';\nexport default { input: () => check() };";
    let bench =
        Bench::new(script).file("lib/check.js", "export function check() {\n  throw new Error('deep');\n}");
    let error = bench.input(json!({})).unwrap_err();
    assert_eq!(error.to_string(), ".midrail/lib/check.js:2:13: Error: deep");
    assert!(error.stack.contains(".midrail/guardrails.js:2"), "{}", error.stack);
    let bench = Bench::new(script).file("lib/check.js", "export function check( {\n  oops\n");
    let error = bench.input(json!({})).unwrap_err().to_string();
    assert!(error.starts_with(".midrail/lib/check.js:"), "{error}");
    let error = Bench::new(script).input(json!({})).unwrap_err().to_string();
    assert!(error.contains("cannot load `.midrail/lib/check.js`"), "{error}");
}

#[test]
fn names_that_are_not_exported_say_where() {
    let rest = "\nexport default { input: () => ({ allowed: true }) };";
    for (imports, rules, place) in [
        ("import { word,\n  nope as yes } from './rules.js';", "export const word = 1;", "guardrails.js:2:3"),
        (
            "import { word } from './rules.js';\nimport rules from './rules.js';",
            "export const word = 1;",
            "guardrails.js:2:8",
        ),
        ("import rules, { word } from './rules.js';", "export default 1;", "guardrails.js:1:17"),
        ("import { default as rules } from './rules.js';", "", "guardrails.js:1:10"),
        ("export { nope } from './rules.js';", "", "guardrails.js:1:10"),
        ("import { word as nope } from './rules.js';", "export const nope = 1;", "guardrails.js:1:10"),
        (
            "import * as rules from './rules.js';",
            "import { a as b } from './more.js';\nexport { c } from './more.js';",
            "rules.js:2:10",
        ),
    ] {
        let bench = Bench::new(&(imports.to_owned() + rest));
        let error = bench.file("rules.js", rules).file("more.js", "export const a = 1;").input(json!({}));
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with(&format!(".midrail/{place}: ")) && error.contains("find export"),
            "{imports}: {error}"
        );
    }
}

#[cfg(unix)]
#[test]
fn imports_stay_in_the_folder() {
    let bench = Bench::new("import x from './link.js'; export default { input: () => ({ allowed: true }) };");
    let outside = bench.folder.path().join("outside.js");
    fs::write(&outside, "export default 1;").unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("link.js")).unwrap();
    let error = bench.input(json!({})).unwrap_err().to_string();
    assert!(error.contains("leads out of the script's folder"), "{error}");
}

#[test]
fn a_changed_script_is_loaded_anew() {
    let mut bench = Bench::new(&script_returning("1"));
    assert_eq!(bench.refusal(json!({})), "1");
    bench.rewrite(&script_returning("2"));
    assert_eq!(bench.refusal(json!({})), "2");
    bench
        .rewrite("import x from './x.js'; export default { input: () => ({ allowed: false, message: x }) };");
    let bench = bench.file("x.js", "export default 'a';");
    assert_eq!(bench.refusal(json!({})), "a");
    let bench = bench.file("x.js", "export default 'longer';");
    assert_eq!(bench.refusal(json!({})), "longer");
}

#[test]
fn broken_script_works_once_it_is_fixed() {
    let mut bench = Bench::new("export default {");
    assert!(bench.input(json!({})).is_err());
    assert!(bench.input(json!({})).is_err());
    bench.rewrite(&script_returning("'ok'"));
    assert_eq!(bench.refusal(json!({})), "ok");
}

#[test]
fn top_level_await_and_timers() {
    let bench = Bench::new(
        "const word = await new Promise((go) => setTimeout(go, 2, 'late'));
         export default { input: () => ({ allowed: false, message: word }) };",
    );
    assert_eq!(bench.refusal(json!({})), "late");
}

#[test]
fn a_busy_call_is_not_stopped_for_another() {
    // Another call waits behind one that does not let go, and is out of time before it gets its turn.
    let bench = Bench::new(
        "export default {
           output: () => { console.log('busy'); const end = Date.now() + 3000; while (Date.now() < end); return { override: false }; },
           input: () => ({ allowed: true }),
         };",
    );
    thread::scope(|scope| {
        let busy = scope.spawn(|| bench.output());
        while bench.world.lines().is_empty() {
            thread::yield_now();
        }
        let call = Call { within: Duration::ZERO, ..bench.call(Hook::Input) };
        let error = bench.scripts.call(&bench.script, "s", call).unwrap_err().to_string();
        assert!(error.contains("stopped: "), "{error}");
        assert_eq!(busy.join().unwrap().unwrap().answer, HookAnswer::Pass);
    });
}
