//! What hooks may return, and what becomes of the rest.

use super::*;

fn answer(hook: Hook, returned: &str) -> Result<HookAnswer, String> {
    let source =
        format!("const hook = async () => ({returned});\nexport default {{ input: hook, output: hook }};");
    let bench = Bench::new(&source);
    let end = match hook {
        Hook::Input => bench.input(json!({})),
        Hook::Output => bench.output(),
        Hook::Load => panic!("it calls no hook"),
    };
    end.map(|end| end.answer).map_err(|error| error.to_string())
}

/// What a refusal says.
fn refused(returned: &str) -> String {
    match answer(Hook::Input, returned) {
        Ok(HookAnswer::Refuse { message, .. }) => message,
        other => panic!("{returned}: {other:?}"),
    }
}

#[test]
fn answers_of_input_hooks() {
    assert_eq!(answer(Hook::Input, "{ allowed: true }"), Ok(HookAnswer::Pass));
    assert_eq!(answer(Hook::Input, "{ allowed: true, note: 1 }"), Ok(HookAnswer::Pass));
    let refuse = |message: &str, suggestion: Option<&str>| {
        let suggestion = suggestion.map(str::to_owned);
        Ok(HookAnswer::Refuse { message: message.into(), suggestion, request: None })
    };
    assert_eq!(answer(Hook::Input, "{ allowed: false, message: 'no' }"), refuse("no", None));
    assert_eq!(
        answer(Hook::Input, "{ allowed: false, message: 'no', suggestion: 'read first' }"),
        refuse("no", Some("read first"))
    );
    // Half of an emoji is not text, and must not cost the refusal.
    assert_eq!(
        answer(Hook::Input, "{ allowed: false, message: '😀'.slice(0, 1) }"),
        refuse("\u{fffd}", None)
    );
}

#[test]
fn pending_work_is_awaited() {
    for returned in [
        "() => no",
        "async () => no",
        "async () => { await null; return no; }",
        "() => new Promise((go) => setTimeout(() => go(no), 1))",
        "() => Promise.resolve(Promise.resolve(no))",
        "() => Promise.reject(1).catch(() => no)",
        "() => ({ allowed: true, then(go) { go(no); } })",
        "async () => ({ allowed: true, then(go) { setTimeout(() => go(no), 1); } })",
        "() => Object.create({ then(go) { go(no); } }, { allowed: { value: true } })",
        "() => ({ allowed: true, get then() { return (go) => go(no); } })",
        "() => new (class extends Promise {})((go) => go(no))",
        "() => { const there = Promise.resolve(no); there.allowed = true; return there; }",
    ] {
        let source = format!(
            "const no = {{ allowed: false, message: 'no' }};\nexport default {{ input: {returned} }};"
        );
        assert_eq!(Bench::new(&source).refusal(json!({})), "no", "{returned}");
    }
    for (returned, part) in [
        ("() => Promise.reject(new Error('oh'))", "Error: oh"),
        ("() => ({ allowed: true, then(_, stop) { stop(new Error('oh')); } })", "Error: oh"),
        ("() => ({ allowed: true, get then() { throw new Error('oh'); } })", "Error: oh"),
        ("() => ({ allowed: true, then() {} })", "never settles"),
        ("() => Promise.resolve(new Proxy({ allowed: true }, {}))", "returned a Proxy"),
        ("() => new Proxy({ allowed: true }, {})", "returned a Proxy"),
        ("() => Promise.resolve(1)", "returned a number"),
        ("() => {}", "returned undefined"),
        ("async () => {}", "returned undefined"),
    ] {
        let error = Bench::new(&input(returned)).input(json!({})).unwrap_err().to_string();
        assert!(error.contains(part), "{returned}: {error}");
    }
}

#[test]
fn a_refusal_can_ask_a_person() {
    let asks = |reason: &str, urgency: &str| {
        let request = Some(HookRequest { reason: reason.into(), urgency: urgency.into() });
        Ok(HookAnswer::Refuse { message: "no".into(), suggestion: None, request })
    };
    for (request, expected) in [
        ("{ reason: 'The outage' }", asks("The outage", "normal")),
        ("{ reason: 'The outage', urgency: undefined }", asks("The outage", "normal")),
        ("{ reason: 'The outage', urgency: 'urgent' }", asks("The outage", "urgent")),
        ("{ reason: 'The outage', urgency: 'emergency' }", asks("The outage", "emergency")),
        ("null", Ok(HookAnswer::Refuse { message: "no".into(), suggestion: None, request: None })),
    ] {
        let returned = format!("{{ allowed: false, message: 'no', request: {request} }}");
        assert_eq!(answer(Hook::Input, &returned), expected, "{returned}");
    }
    // An invalid request requests no approval, and the refusal counts.
    for (request, why) in [
        ("true", "with a request that is no object"),
        ("'The outage'", "with a request that is no object"),
        ("new Proxy({ reason: 'x' }, {})", "with a request that is no object"),
        ("{}", "with a request without a reason"),
        ("{ reason: ' ' }", "with a request without a reason"),
        ("{ reason: 7 }", "with a request without a reason"),
        ("{ get reason() { return 'x' } }", "with a request without a reason"),
        ("{ reason: 'The outage', urgency: 'high' }", "with a request of an urgency that there is not"),
        ("{ reason: 'The outage', urgency: 1 }", "with a request of an urgency that there is not"),
        ("{ get reason() { throw new Error('x') } }", "with a request without a reason"),
        (
            "{ reason: 'The outage', get urgency() { throw new Error('x') } }",
            "with a request of an urgency that there is not",
        ),
    ] {
        let returned = format!("{{ allowed: false, message: 'no', request: {request} }}");
        let Ok(HookAnswer::Refuse { message, suggestion: None, request: None }) =
            answer(Hook::Input, &returned)
        else {
            panic!("{returned}");
        };
        let begin = format!("no (refused {why}: it may return");
        assert!(message.starts_with(&begin) && message.contains("request: {"), "{returned}: {message}");
    }
    for returned in [
        "{ allowed: true, request: { reason: 'The outage' } }",
        "{ allowed: true, get request() { throw new Error('x') } }",
    ] {
        let error = answer(Hook::Input, returned).unwrap_err();
        assert!(error.contains("lets the call pass and asks for it at once"), "{error}");
    }
    let getter = "{ allowed: false, message: 'no', get request() { throw new Error('x') } }";
    let said = refused(getter);
    assert!(said.contains("with a request that is no object"), "{said}");
    for returned in [
        "{ override: false, request: { reason: 'The outage' } }",
        "{ override: false, get request() { throw new Error('x') } }",
        "{ override: true, result: 'x', request: { reason: 'The outage' } }",
    ] {
        let error = answer(Hook::Output, returned).unwrap_err();
        assert!(error.contains("only `input` asks a person"), "{returned}: {error}");
    }
}

#[test]
fn answers_of_output_hooks() {
    assert_eq!(answer(Hook::Output, "{ override: false }"), Ok(HookAnswer::Pass));
    assert_eq!(answer(Hook::Output, "{ override: false, request: null }"), Ok(HookAnswer::Pass));
    let replace = |is_error| Ok(HookAnswer::Replace { result: "x".into(), is_error });
    assert_eq!(answer(Hook::Output, "{ override: true, result: 'x' }"), replace(false));
    assert_eq!(answer(Hook::Output, "{ override: true, result: 'x', isError: true }"), replace(true));
}

#[test]
fn anything_else_is_an_error() {
    for returned in [
        "undefined",
        "null",
        "true",
        "'allowed'",
        "[]",
        "{}",
        "{ allowed: 1 }",
        "{ allowed: 'true' }",
        "{ get allowed() { return false } }",
        "new Proxy({ allowed: false, message: 'x' }, {})",
        "{ get allowed() { return true } }",
        "{ get allowed() { throw new Error('x') } }",
        "new Proxy({ allowed: true }, {})",
        "Object.create({ allowed: true })",
        "() => ({ allowed: true })",
        "Symbol()",
        "new Proxy({}, { getOwnPropertyDescriptor() { throw 1 } })",
        "{ override: false }",
    ] {
        let error = answer(Hook::Input, returned).expect_err(returned);
        assert!(error.contains("`input` returned"), "{returned}: {error}");
        assert!(error.contains("{ allowed: true }"), "{returned}: {error}");
    }
    for returned in [
        "undefined",
        "{}",
        "{ override: true }",
        "{ override: true, result: 3 }",
        "{ override: true, result: 'x', isError: 1 }",
        "{ allowed: true }",
    ] {
        let error = answer(Hook::Output, returned).expect_err(returned);
        assert!(error.contains("`output` returned"), "{returned}: {error}");
    }
    let error = answer(Hook::Input, "{ allowed: 'yes' }").unwrap_err();
    assert!(error.starts_with(".midrail/guardrails.js"), "{error}");
    assert!(error.contains("returned { allowed: a text of 3 characters };"), "{error}");
}

/// Where scripts that fail let calls pass, a refusal without a reason must not.
#[test]
fn refusal_holds_despite_an_invalid_message() {
    for (rest, said) in [
        ("", "refused without a message: it may return { allowed: true } or"),
        (", message: ''", "refused without a message: "),
        (", message: '  '", "refused without a message: "),
        (", message: 3", "refused without a message: "),
        (", message: { text: 'x' }", "refused without a message: "),
        (", get message() { throw new Error('x') }", "refused without a message: "),
        (", message: 'x', suggestion: 3", "x (refused with a suggestion that is no text: it may"),
        (
            ", message: 'x', suggestion: 'y'.repeat(2e6)",
            "x (refused with a suggestion that is too long: it may",
        ),
        (
            ", suggestion: [], request: 1",
            "refused without a message, with a suggestion that is no text, with a request that is no object: it may",
        ),
    ] {
        let returned = format!("{{ allowed: false{rest} }}");
        let message = refused(&returned);
        assert!(message.starts_with(said), "{returned}: {message}");
    }
}

/// No detector recognises the rest of a secret in a quotation.
#[test]
fn nothing_of_an_answer_is_quoted() {
    for (returned, said) in [
        ("'hunter2'.repeat(20)", "a text of 140 characters"),
        ("''", "an empty text"),
        ("'x'", "a text of 1 character;"),
        ("4111111111111111", "a number"),
        ("4111111111111111n", "a bigint"),
        ("false", "false"),
        ("undefined", "undefined"),
        ("['hunter2']", "an array"),
        ("new Map([['hunter2', 1]])", "{}"),
        ("{ hunter2: 1 }", "{ … }"),
        ("{ [Symbol('hunter2')]: 1 }", "{ … }"),
        (
            "{ allowed: 'hunter2', message: { hunter2: 1 } }",
            "{ allowed: a text of 7 characters, message: … }",
        ),
        ("{ hunter2: 1, allow: false, message: 'hunter2' }", "{ message: a text of 7 characters, … }"),
        ("{ allowed: null, request: { reason: 'hunter2' } }", "{ allowed: null, request: … }"),
    ] {
        let error = answer(Hook::Input, returned).expect_err(returned);
        assert!(error.contains(&format!("`input` returned {said}")), "{returned}: {error}");
        assert!(!error.contains("hunter"), "{returned}: {error}");
    }
    for (call, said) in [
        ("ctx.std.computeChecksum({ hunter2: 1 })", "std.computeChecksum needs a string, not { … }"),
        ("ctx.memory.snapshot.get(['hunter2'])", "memory.snapshot.get needs a path, not an array"),
        ("setTimeout('hunter2')", "setTimeout needs a function, not a text of 7 characters"),
        ("queueMicrotask('hunter2')", "queueMicrotask needs a function, not a text of 7 characters"),
    ] {
        let error = Bench::new(&input(&format!("(ctx) => {call}"))).input(json!({})).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains("hunter"), "{call}: {error}");
    }
}

#[test]
fn a_hook_that_is_not_there_passes() {
    let bench = Bench::new("export default { output: () => ({ override: false }) };");
    assert_eq!(bench.input(json!({})).unwrap().answer, HookAnswer::Pass);
}

#[test]
fn hooks_may_be_plain_functions_and_methods() {
    let bench = Bench::new(
        "class Guard { word = 'no'; input(ctx) { return { allowed: false, message: this.word }; } }
         export default new Guard();",
    );
    assert_eq!(bench.refusal(json!({})), "no");
    assert_eq!(bench.output().unwrap().answer, HookAnswer::Pass);
}

#[test]
fn a_default_export_of_another_shape_is_an_error() {
    for (source, said) in [
        ("export const input = 1;", "the default export is missing"),
        ("export default 3;", "the default export is a number"),
        ("export default () => {};", "the default export is a function"),
        ("export default null;", "the default export is null"),
        ("export default {};", "the default export is {}"),
        ("export default { inputs() {} };", "the default export has a function `inputs`, and"),
        ("export default { inputs: 1 };", "the default export is { … }"),
        ("export default { input: 3 };", "`input` of the default export is a number"),
        ("export default new Proxy({}, {});", "a Proxy"),
    ] {
        let bench = Bench::new(source);
        let error = bench.input(json!({})).expect_err(source).to_string();
        assert!(error.contains(said), "{source}: {error}");
        assert_eq!(Scripts::check(&bench.script.path, false)[0].to_string(), error);
    }
}

#[test]
fn errors_say_where() {
    for (source, said) in [
        ("const a = 1;\nexport default { input() { nothing.here(); } };", ":2:"),
        (
            "export default {\n  input: async () => {\n    throw new TypeError('bad');\n  } };",
            ":3:15: TypeError: bad",
        ),
        ("const a = 1;\n  throw new Error('top');\nexport default {};", ":2:13: Error: top"),
        ("export default {\n  input( { }\n};", ":3:1: SyntaxError: "),
        (
            "\n\nimport x from 'fs';\nexport default {};",
            ":3:15: TypeError: cannot import `fs`: a script may import files next to it",
        ),
        ("export default { input() { throw 'text' } };", "it threw: text"),
        ("export default { input() { throw null } };", "it threw null, or"),
        ("export default { input() { throw new Proxy({}, { get() { throw 1 } }) } };", "it threw a Proxy"),
        (
            "export default { input() { throw { get message() { throw 1 } } } };",
            "it threw { message: a getter }",
        ),
        (
            "class E extends Error { get message() { throw 1 } }\nexport default { input() { throw new E() } };",
            "cannot be shown",
        ),
    ] {
        let error = Bench::new(source).input(json!({})).expect_err(source).to_string();
        assert!(error.starts_with(".midrail/guardrails.js"), "{source}: {error}");
        assert!(error.contains(said), "{source}: {error}");
    }
    let missing = Scripts::check(std::path::Path::new("/nowhere/.midrail/guardrails.js"), false);
    assert!(missing[0].to_string().starts_with(".midrail/guardrails.js: cannot be read"), "{missing:?}");
}

#[test]
fn imports_that_fail_say_where() {
    const FINE: &str = "export default { input: () => ({ allowed: true }) };";
    for (source, said) in [
        ("import './gone.js';", "guardrails.js:1:8: TypeError: cannot load `.midrail/gone.js`: No such file"),
        (
            "// './x.ts'\nimport {\n  x,\n} from './x.ts';",
            "guardrails.js:4:8: TypeError: cannot import `./x.ts`",
        ),
        ("const s = './x';\n  export * from \"./x\";", "guardrails.js:2:17: TypeError: cannot import `./x`"),
        (
            "/* ü */ import '../../outside.js';",
            "guardrails.js:1:16: TypeError: cannot import `../../outside.js`",
        ),
        ("const x = await import(`fs`);", "guardrails.js:1:24: TypeError: cannot import `fs`"),
        ("import './lib/far.js';", ".midrail/lib/far.js:2:8: TypeError: cannot load `.midrail/lib/gone.js`"),
        ("import './lib/near.js';\nimport './gone.js';", "guardrails.js:2:8: TypeError: cannot load"),
        ("await import('./' + 'gone.js');", "guardrails.js: TypeError: cannot load `.midrail/gone.js`"),
    ] {
        let bench = Bench::new(&format!("{source}\n{FINE}"))
            .file("lib/far.js", "\nimport './gone.js';")
            .file("lib/near.js", "export const x = 1;");
        let error = bench.input(json!({})).expect_err(source).to_string();
        assert!(error.contains(said), "{source}: {error}");
        assert_eq!(Scripts::check(&bench.script.path, false)[0].to_string(), error);
    }
    let bench = Bench::new(&input("async () => {\n  await import('./gone.js');\n}"));
    let error = bench.input(json!({})).unwrap_err().to_string();
    assert!(error.contains("guardrails.js:2:16: TypeError: cannot load `.midrail/gone.js`"), "{error}");
}

#[test]
fn a_dry_run_calls_each_hook() {
    let bench = Bench::new(
        "export default { input(ctx) { return { allowed: true } }, output: (ctx) => ctx.no.thing };",
    );
    assert_eq!(Scripts::check(&bench.script.path, false), []);
    let errors = Scripts::check(&bench.script.path, true);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].to_string().starts_with(".midrail/guardrails.js:1:"), "{errors:?}");
}
