//! Scripts that misbehave. Each ends in an error, and the next call of the same script works.

use super::*;

/// The error of a script's `input`.
fn error(source: &str) -> String {
    let bench = Bench::new(source);
    let error = bench.input(json!({})).expect_err(source).to_string();
    assert!(error.starts_with(".midrail/guardrails.js"), "{error}");
    error
}

/// The error of a hook that misbehaves on the first call. The next call, without the misbehaviour, passes.
fn recovers(bad: &str) -> String {
    let source = format!(
        "export default {{ async input(ctx) {{ if (!ctx.tool.args.good) {{ {bad} }} return {{ allowed: true }}; }} }};"
    );
    let bench = Bench::new(&source);
    let error = bench.brief().expect_err(bad).to_string();
    let again = bench.input(json!({"good": true}));
    assert_eq!(again.expect(bad).answer, HookAnswer::Pass);
    error
}

#[test]
fn endless_loops_are_stopped() {
    for bad in [
        "for (;;) {}",
        "while (true) { try { for (;;) {} } catch {} }",
        "await null; for (;;) {}",
        "try { for (;;) {} } finally { for (;;) {} }",
        "for (;;) await null;",
        "const go = () => Promise.resolve().then(go); await go();",
        "(async () => { for (;;) await null; })();",
        "const go = () => queueMicrotask(go); go();",
        "'a'.repeat(30) + '!'; /^(a+)+$/.test('a'.repeat(40) + '!');",
        "[...{ *[Symbol.iterator]() { for (;;) yield 1; } }].length;",
        "[3, 1, 2].sort(() => { for (;;) {} });",
        "JSON.stringify({ toJSON() { for (;;) {} } });",
        "ctx.std.argMatches({ a: 'a'.repeat(40) + '!' }, 'a', /^(a+)+$/);",
    ] {
        let error = recovers(bad);
        assert!(error.contains("stopped: `input` took longer than 150ms"), "{bad}: {error}");
    }
}

#[test]
fn a_script_that_never_loads_is_stopped() {
    let error = |source: &str| Bench::new(source).brief().expect_err(source).to_string();
    assert!(error("for (;;) {}\nexport default { input() {} };").contains("stopped"));
    assert!(error("await new Promise(() => {});\nexport default { input() {} };").contains("never settles"));
    assert!(error("for (;;) await null;\nexport default { input() {} };").contains("stopped"));
    let slow = "await new Promise((go) => setTimeout(go, 1e6));\nexport default { input() {} };";
    assert!(error(slow).contains("stopped"));
}

#[test]
fn promises_that_never_settle_are_given_up() {
    let error = recovers("await new Promise(() => {});");
    assert!(error.contains("the promise of `input` never settles"), "{error}");
    // A timer might still settle it, until the time is up.
    let error = recovers("setInterval(() => {}, 5); await new Promise(() => {});");
    assert!(error.contains("took longer than 150ms"), "{error}");
    let error = recovers("await ctx.system.cmd.exec('wait');");
    assert!(error.contains("took longer than 150ms") || error.contains("stopped"), "{error}");
}

#[test]
fn memory_is_bounded() {
    for bad in [
        "const all = []; for (;;) all.push(new Array(1000).fill(all.length));",
        "let text = 'x'; for (;;) text += text;",
        "new ArrayBuffer(1e9);",
        "const all = []; for (;;) all.push('x'.repeat(1e6) + all.length);",
        "const map = new Map(); for (let i = 0; ; i++) map.set(i, {});",
        "globalThis.kept = []; for (;;) kept.push(new Uint8Array(1e6));",
    ] {
        let source = format!(
            "export default {{ async input(ctx) {{ if (!ctx.tool.args.good) {{ {bad} }} return {{ allowed: true }}; }} }};"
        );
        let bench = Bench::new(&source);
        let error = bench.input(json!({})).expect_err(bad).to_string();
        assert!(error.contains("memory") || error.contains("too long"), "{bad}: {error}");
        assert_eq!(bench.input(json!({"good": true})).expect(bad).answer, HookAnswer::Pass);
    }
}

#[test]
fn the_stack_is_bounded() {
    for bad in [
        "const down = () => down() + 1; down();",
        "let deep = []; for (let i = 0; i < 1e5; i++) deep = [deep]; JSON.stringify(deep);",
        "JSON.parse('['.repeat(1e6));",
        "new RegExp('('.repeat(1e6));",
        "new Function('('.repeat(1e6));",
        "const down = async () => { await down(); }; await down();",
    ] {
        let error = recovers(bad);
        assert!(!error.is_empty(), "{bad}");
    }
}

#[test]
fn a_huge_answer_is_an_error_and_a_huge_refusal_none() {
    let bench = Bench::new(&input("() => ({ allowed: false, message: 'x'.repeat(2e6) })"));
    let said = bench.refusal(json!({}));
    assert!(said.starts_with("refused with a message longer than 1048576 characters: it may"), "{said}");
    let bench = Bench::new("export default { output: () => ({ override: true, result: 'x'.repeat(2e6) }) };");
    assert!(bench.output().unwrap_err().to_string().contains("with a result longer than"));
}

#[test]
fn a_function_that_cannot_be_interrupted_is_left_behind() {
    let bench = Bench::new(&input("() => { Array.prototype.indexOf.call({ length: 5e7 }, 1); return {}; }"));
    let call = Call { within: Duration::ZERO, ..bench.call(Hook::Input) };
    let error = bench.scripts.call(&bench.script, "s", call).unwrap_err().to_string();
    assert!(error.contains("stopped"), "{error}");
}

#[test]
fn inherited_properties_allow_nothing() {
    for spoil in [
        "Object.prototype.allowed = true;",
        "Object.defineProperty(Object.prototype, 'allowed', { get: () => true });",
        "Object.prototype.value = true; Object.prototype.allowed = true;",
        "Object.prototype.get = () => true; Object.prototype.allowed = true;",
    ] {
        let error = error(&format!("{spoil}\n{}", input("() => ({})")));
        assert!(!error.is_empty(), "{spoil}");
    }
}

#[test]
fn arguments_cannot_spoil_all_objects() {
    let source = "
        const merge = (to, from) => {
          for (const key in from) {
            if (typeof from[key] === 'object' && typeof to[key] === 'object') merge(to[key], from[key]);
            else to[key] = from[key];
          }
          return to;
        };
        export default { input(ctx) {
          merge({}, ctx.tool.args);
          return { allowed: false, message: String({}.safe) + String(ctx.tool.args.safe) };
        } };";
    let bench = Bench::new(source);
    let args: Value = serde_json::from_str(r#"{"__proto__": {"safe": true, "allowed": true}}"#).unwrap();
    assert_eq!(bench.refusal(args), "undefinedundefined");
    assert_eq!(bench.refusal(json!({})), "undefinedundefined");
}

#[test]
fn replaced_built_ins_change_nothing_here() {
    let spoil = "
        const lie = () => true;
        JSON.parse = JSON.stringify = lie; globalThis.JSON = { parse: lie, stringify: lie };
        Map.prototype.get = Map.prototype.set = Map.prototype.forEach = lie; globalThis.Map = lie;
        Set.prototype.add = Set.prototype.has = lie; globalThis.Set = lie;
        Reflect.getOwnPropertyDescriptor = Reflect.ownKeys = Reflect.apply = lie;
        Object.prototype.hasOwnProperty = Object.freeze = lie; Function.prototype.call = Function.prototype.bind = lie;
        Array.isArray = lie; Array.prototype[Symbol.iterator] = lie; Array.prototype.push = lie;
        String.prototype.slice = String.prototype.toWellFormed = lie; Promise.prototype.then = lie;
        RegExp.prototype.test = lie; globalThis.Promise = lie; Object.prototype.toString = lie;
        let count = 1;";
    let bench = Bench::new(&format!(
        "{spoil}
         export default {{
           async input(ctx) {{
             count += 1;
             await ctx.system.cmd.exec('ls');
             return ctx.tool.args.path === 'a' ? {{ allowed: false, message: 'no ' + count }} : {{}};
           }},
         }};"
    ));
    assert_eq!(bench.refusal(json!({"path": "a"})), "no 2");
    let error = bench.input(json!({"path": "b"})).unwrap_err().to_string();
    assert!(error.contains("`input` returned {}"), "{error}");
    let end = bench.input(json!({"path": "a"})).unwrap();
    assert_eq!(text_of(end.state).unwrap(), r#"{"guardrails.js":{"count":2}}"#);
}

#[test]
fn a_script_reaches_nothing_but_ctx() {
    let globals = "typeof process + typeof require + typeof fetch + typeof std + typeof os + typeof Deno";
    assert_eq!(Bench::new(&script_returning(globals)).refusal(json!({})), "undefined".repeat(6));
    for name in [
        "std",
        "os",
        "fs",
        "node:fs",
        "http://localhost/x.js",
        "/etc/passwd",
        "../outside.js",
        "./a.json",
        "./a",
    ] {
        let bench = Bench::new(&input(&format!(
            "async () => {{ await import({name:?}); return {{ allowed: true }}; }}"
        )));
        let error = bench.input(json!({})).expect_err(name).to_string();
        assert!(error.contains(&format!("cannot import `{name}`")), "{name}: {error}");
    }
}

#[test]
fn errors_after_an_allow_count() {
    for bad in [
        "queueMicrotask(() => { throw new Error('late') });",
        // The `await` was forgotten.
        "(async () => { await null; throw new Error('late') })();",
        "Promise.reject(new Error('late'));",
        "setTimeout(() => { throw new Error('late') }, 1); await new Promise((go) => setTimeout(go, 50));",
    ] {
        let error = recovers(bad);
        assert!(error.contains("late"), "{bad}: {error}");
    }
}

#[test]
fn errors_that_are_caught_do_not_count() {
    let bench = Bench::new(&input(
        "async () => {
           const bad = async () => { throw new Error('x'); };
           await bad().catch(() => {});
           try { await bad(); } catch {}
           await Promise.allSettled([bad(), bad()]);
           const later = bad();
           await null;
           later.catch(() => {});
           return { allowed: true };
         }",
    ));
    assert_eq!(bench.input(json!({})).unwrap().answer, HookAnswer::Pass);
    let error = error(&format!("Promise.reject(new Error('top'));\n{}", input("() => ({ allowed: true })")));
    assert!(error.contains(":1:") && error.contains("top"), "{error}");
}

/// What is compiled at run time is compiled with memory to spare, or not at all.
#[test]
fn nothing_is_compiled_where_memory_runs_out() {
    let blocks =
        "try { if (1) { for (let i = 0; i < 1; i++) { let j = i; } } } catch (e) { { let k = e; } }\n";
    let mut bench = Bench::new(
        "const all = [];
         const fill = (left) => { try { for (;;) all.push(new ArrayBuffer(left)); } catch {} };
         export default { async input(ctx) {
           for (let size = 1 << 20; size > ctx.tool.args.left; size >>= 1) fill(size);
           try { await import('./more.js'); } catch { /* this time not */ }
           ctx.std.argMatches(ctx.tool.args, 'path', /x/);
           return { allowed: true };
         } };",
    )
    .file("more.js", &blocks.repeat(200));
    bench.script.memory = 4 << 20;
    for left in [16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10] {
        let end = bench.input(json!({"left": left})).map(|end| end.answer);
        assert!(matches!(end, Ok(HookAnswer::Pass) | Err(_)), "{end:?}");
    }
}

#[test]
fn no_code_is_made_of_text() {
    for code in [
        "eval('1')",
        "globalThis.eval('1')",
        "new Function('1')",
        "Function('1')",
        "(() => 1).constructor('1')",
        "(async () => 1).constructor('1')",
        "(function* () {}).constructor('1')",
        "(async function* () {}).constructor('1')",
        "Reflect.construct(Function, ['1'])",
    ] {
        let script = format!("export default {{ input() {{ {code}; return {{ allowed: true }}; }} }};");
        let end = Bench::new(&script).input(json!({}));
        assert!(end.is_err(), "{code}: {end:?}");
    }
    let script = "export default { input() { return { allowed: (() => 1) instanceof Function && typeof Function === 'function' }; } };";
    assert_eq!(Bench::new(script).input(json!({})).unwrap().answer, HookAnswer::Pass);
}

#[test]
fn memory_may_run_out_anywhere() {
    // Little enough that it runs out while a realm loads, or answers.
    for memory in (1000..3000).step_by(23) {
        let mut bench = Bench::new(
            "let all = []; for (let i = 0; i < 2000; i++) all.push({ i });
             export default { async input(ctx) { await ctx.system.cmd.exec('ls'); all = []; for (let i = 0; i < 2000; i++) all.push([i]); return { allowed: true }; } };",
        );
        bench.script.memory = memory << 10;
        let first = bench.input(json!({"path": "x".repeat(10_000)})).map(|end| end.answer);
        assert!(matches!(first, Ok(HookAnswer::Pass) | Err(_)), "{first:?}");
    }
}
