//! Variables of modules, across calls and across processes.

use super::*;

/// Calls `input` in a new engine, as another process would, with the variables of the one before.
fn anew(bench: &Bench, state: Option<Value>) -> (String, Option<Value>) {
    let call = Call { state: text_of(state), ..bench.call(Hook::Input) };
    let end = Scripts::default().call(&bench.script, "s", call).unwrap();
    match end.answer {
        HookAnswer::Refuse { message, .. } => (message, end.state),
        other => panic!("{other:?}"),
    }
}

/// The messages of a script in each of these processes.
fn outputs(source: &str, times: usize) -> Vec<String> {
    let bench = Bench::new(source);
    let mut state = None;
    let mut all = Vec::new();
    for _ in 0..times {
        let (message, now) = anew(&bench, state.clone());
        all.push(message);
        state = now.or(state);
    }
    all
}

#[test]
fn variables_outlive_the_process() {
    let source = "
        let count = 0; var list = []; const map = new Map(), set = new Set(); const object = { deep: { n: 0 } };
        const date = new Date(0), array = [1]; let [first, { second = 5 }] = [1, {}]; let nothing; let big = 1n;
        export let odd = -0;
        export default { input() {
          count++; list.push({ count }); map.set('k' + count, new Map([[count, new Set([1])]])); set.add(count);
          object.deep.n++; object.$ = 'tag'; date.setTime(date.getTime() + 1); array.push(array.length); first *= 2; second++;
          big *= 2n; odd = odd === 0 && 1 / odd < 0 ? NaN : odd !== odd ? undefined : -0;
          return { allowed: false, message: [count, list.length, list.at(-1).count, map.size, [...map.values()][0].get(1).has(1),
            set.size, object.deep.n, object.$, date.getTime(), array.length, first, second, nothing, big, odd].join() };
        } };";
    assert_eq!(
        outputs(source, 4),
        [
            "1,1,1,1,true,1,1,tag,1,2,2,6,,2,NaN",
            "2,2,2,2,true,2,2,tag,2,3,4,7,,4,",
            "3,3,3,3,true,3,3,tag,3,4,8,8,,8,0",
            "4,4,4,4,true,4,4,tag,4,5,16,9,,16,NaN",
        ]
    );
}

/// What the guide says of values that are computed when a module is loaded.
#[test]
fn variables_set_by_hooks_are_stored() {
    let source = "
        const loaded = Math.random(); let started;
        export default { input() {
          started ??= Math.random();
          return { allowed: false, message: loaded + ' ' + started };
        } };";
    let outputs: Vec<(String, String)> = outputs(source, 2)
        .iter()
        .map(|said| said.split_once(' ').map(|(loaded, started)| (loaded.into(), started.into())).unwrap())
        .collect();
    assert_ne!(outputs[0].0, outputs[1].0);
    assert_eq!(outputs[0].1, outputs[1].1);
}

#[test]
fn breaker_applies_within_a_process() {
    let bench =
        Bench::new("let n = 0; export default { input: () => ({ allowed: false, message: `${++n}` }) };");
    let call = |state| {
        let call = Call { state: text_of(state), ..bench.call(Hook::Input) };
        let end = bench.scripts.call(&bench.script, "s", call).unwrap();
        let HookAnswer::Refuse { message, .. } = end.answer else { panic!() };
        (message, end.state)
    };
    let (first, one) = call(None);
    let (second, two) = call(one.clone());
    assert_eq!((first.as_str(), second.as_str()), ("1", "2"));
    // The session did not keep what the second call changed: the third begins where the second did.
    assert_eq!(call(one).0, "2");
    assert_eq!(call(None).0, "1");
    assert_eq!(call(two).0, "3");
}

#[test]
fn unchanged_variables_are_not_returned() {
    let bench =
        Bench::new("let n = 0; const m = new Map(); export default { input: () => ({ allowed: true }) };");
    assert_eq!(bench.input(json!({})).unwrap().state, None);
    let state = Some(json!({"guardrails.js": {"n": 7, "m": {"$": "map", "v": []}}}));
    let call = Call { state: text_of(state), ..bench.call(Hook::Input) };
    assert_eq!(bench.scripts.call(&bench.script, "s", call).unwrap().state, None);
}

#[test]
fn changes_of_a_failed_call_are_undone() {
    let bench = Bench::new(
        "let n = 0; export default { input(ctx) { n++; if (ctx.tool.args.bad) throw 1; return { allowed: false, message: `${n}` }; } };",
    );
    assert!(bench.input(json!({"bad": true})).is_err());
    assert_eq!(bench.refusal(json!({})), "1");
}

#[test]
fn objects_keep_the_order_of_their_keys() {
    let source = "const seen = { z: 1 }; export default { input: () => {
        const said = Object.keys(seen).join(); seen.a = 1; seen.k = 1; return { allowed: false, message: said }; } };";
    assert_eq!(outputs(source, 2), ["z", "z,a,k"]);
}

#[test]
fn imported_files_keep_theirs() {
    let bench = Bench::new("import { next } from './count.js'; export default { input: () => ({ allowed: false, message: `${next()}` }) };")
        .file("count.js", "let n = 0;\nexport const next = () => ++n;");
    let (first, state) = anew(&bench, None);
    assert_eq!((first.as_str(), &state), ("1", &Some(json!(r#"{"count.js":{"n":1}}"#))));
    assert_eq!(anew(&bench, state).0, "2");
}

#[test]
fn state_that_cannot_be_stored_starts_again() {
    let source = "
        class Box { n = 0; }
        const box = new Box(); let fn = () => 1; const weak = new WeakMap(); const mixed = new Map([['f', () => 1]]);
        const loop = {}; loop.self = loop; const proxy = new Proxy({}, {}); let n = 0;
        export default { input() { box.n++; n++; mixed.set('n', n); return { allowed: false, message: [box.n, n, mixed.size].join() }; } };";
    assert_eq!(outputs(source, 2), ["1,1,2", "1,2,2"]);
    let bench = Bench::new(source);
    bench.input(json!({})).unwrap();
    let lines = bench.world.lines().join("\n");
    for said in ["`box` holds an instance of a class", "`loop` holds a cycle", "`mixed` holds a function"] {
        assert!(lines.contains(said), "{said}: {lines}");
    }
    assert!(!lines.contains("`fn`"), "{lines}");
}

#[test]
fn too_much_is_an_error() {
    let bench = Bench::new(
        "let text = ''; export default { input(ctx) { text = 'x'.repeat(ctx.tool.args.n); return { allowed: true }; } };",
    );
    assert!(bench.input(json!({"n": 200_000})).unwrap().state.is_some());
    let error = bench.input(json!({"n": 300_000})).unwrap_err().to_string();
    assert!(error.contains("more than 256 KB"), "{error}");
    // The next call finds what the session keeps.
    assert!(bench.input(json!({"n": 100_000})).unwrap().state.is_some());
    // Few objects can spell out to very much.
    let source = "let all = []; export default { input() { for (let i = 0; i < 30; i++) all = [all, all]; return { allowed: true }; } };";
    let error = Bench::new(source).input(json!({})).unwrap_err().to_string();
    assert!(error.contains("more than 256 KB"), "{error}");
}

#[test]
fn lines_and_columns_stay() {
    let source = "let a = 1; const b = new Map();\nexport default { input() {\n  return a.b.c;\n} };";
    let error = Bench::new(source).input(json!({})).unwrap_err();
    assert_eq!(error.at.map(|(line, _)| line), Some(3));
}

#[test]
fn constants_can_be_edited() {
    let source = |list: &str| {
        format!(
            "const list = {list}; let n = 0; export default {{ input: () => ({{ allowed: false, message: list.join() + ++n }}) }};"
        )
    };
    let mut bench = Bench::new(&source("['a']"));
    let (first, state) = anew(&bench, None);
    assert_eq!((first.as_str(), &state), ("a1", &Some(json!(r#"{"guardrails.js":{"n":1}}"#))));
    bench.rewrite(&source("['a', 'b']"));
    assert_eq!(anew(&bench, state.clone()).0, "a,b2");
    // Frozen and very large ones are constants too.
    bench.rewrite(&source("Object.freeze(['x'])"));
    assert_eq!(anew(&bench, Some(json!({"guardrails.js": {"n": 1, "list": ["y"]}}))).0, "x2");
    bench.rewrite(&source("['x'.repeat(3e5)]"));
    assert_eq!(anew(&bench, state).0.len(), 300_001);
}

#[test]
fn deep_and_endless_values_are_errors() {
    for (change, said) in [
        ("value.self = value", "`value` holds a cycle"),
        ("for (let i = 0; i < 50; i++) value = [value]", "`value` holds values nested more than 40 deep"),
    ] {
        let source = format!(
            "let value = {{}}; export default {{ input() {{ {change}; return {{ allowed: true }}; }} }};"
        );
        let error = Bench::new(&source).input(json!({})).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let source = "let value = 1; export default { input() {
        for (let i = 0; i < 39; i++) value = new Map([[1, value]]);
        let depth = 0; for (let at = value; at instanceof Map; at = at.get(1)) depth++;
        value = depth > 39 ? 1 : value; return { allowed: false, message: `${depth}` }; } };";
    assert_eq!(outputs(source, 2), ["39", "78"]);
}
