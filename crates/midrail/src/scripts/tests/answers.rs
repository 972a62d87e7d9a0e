//! What hooks may return, and what becomes of the rest.

use super::*;

fn answer(hook: Hook, returned: &str) -> Result<HookAnswer, String> {
    let source =
        format!("const hook = async () => ({returned});\nexport default {{ input: hook, output: hook }};");
    let bench = Bench::new(&source);
    let end = match hook {
        Hook::Input => bench.input(json!({})),
        Hook::Output => bench.output(),
    };
    end.map(|end| end.answer).map_err(|error| error.to_string())
}

#[test]
fn the_answers_of_input() {
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
    for (request, why) in [
        ("true", "with a request that is no object"),
        ("'The outage'", "with a request that is no object"),
        ("new Proxy({ reason: 'x' }, {})", "with a request that is no object"),
        ("{}", "with a request without a reason"),
        ("{ reason: ' ' }", "with a request without a reason"),
        ("{ reason: 7 }", "with a request without a reason"),
        ("{ get reason() { return 'x' } }", "with a request without a reason"),
        ("{ reason: 'The outage', urgency: 'high' }", "with a request of the urgency \"high\""),
        ("{ reason: 'The outage', urgency: 1 }", "with a request of the urgency 1"),
        ("{ get reason() { throw new Error('x') } }", "with a request without a reason"),
        (
            "{ reason: 'The outage', get urgency() { throw new Error('x') } }",
            "with a request of the urgency undefined",
        ),
    ] {
        let returned = format!("{{ allowed: false, message: 'no', request: {request} }}");
        let error = answer(Hook::Input, &returned).expect_err(&returned);
        assert!(error.contains(why) && error.contains("request: {"), "{returned}: {error}");
    }
    for returned in [
        "{ allowed: true, request: { reason: 'The outage' } }",
        "{ allowed: true, get request() { throw new Error('x') } }",
    ] {
        let error = answer(Hook::Input, returned).unwrap_err();
        assert!(error.contains("lets the call pass and asks for it at once"), "{error}");
    }
    let getter = "{ allowed: false, message: 'no', get request() { throw new Error('x') } }";
    let error = answer(Hook::Input, getter).unwrap_err();
    assert!(error.contains("with a request that is no object"), "{error}");
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
fn the_answers_of_output() {
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
        "{ allowed: false }",
        "{ allowed: false, message: '' }",
        "{ allowed: false, message: '  ' }",
        "{ allowed: false, message: 3 }",
        "{ allowed: false, message: 'x', suggestion: 3 }",
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
    assert!(error.contains("returned { allowed: \"yes\" };"), "{error}");
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
        ("export default 3;", "the default export is 3"),
        ("export default () => {};", "the default export is a function"),
        ("export default null;", "the default export is null"),
        ("export default {};", "the default export is {}"),
        ("export default { inputs() {} };", "the default export is { inputs: … }"),
        ("export default { input: 3 };", "`input` of the default export is 3"),
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
            "cannot import `fs`: a script may import files beside it",
        ),
        ("export default { input() { throw 'text' } };", "it threw \"text\""),
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
fn a_dry_run_calls_each_hook() {
    let bench = Bench::new(
        "export default { input(ctx) { return { allowed: true } }, output: (ctx) => ctx.no.thing };",
    );
    assert_eq!(Scripts::check(&bench.script.path, false), []);
    let errors = Scripts::check(&bench.script.path, true);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].to_string().starts_with(".midrail/guardrails.js:1:"), "{errors:?}");
}
