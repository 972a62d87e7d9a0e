//! What a script finds in `ctx`.

use super::*;

#[test]
fn the_call_is_there() {
    let bench = Bench::new(
        "export default {
           input: (ctx) => ({ allowed: false, message: [ctx.tool.name, ctx.tool.args.a.b, ctx.workingDirectory, ctx.result].join() }),
           output: (ctx) => ({ override: true, result: ctx.result.content + '!', isError: !ctx.result.isError }),
         };",
    );
    assert_eq!(bench.refusal(json!({"a": {"b": [1, "x"]}})), "patch,1,x,/repo,");
    let replaced = HookAnswer::Replace { result: "done!".into(), is_error: true };
    assert_eq!(bench.output().unwrap().answer, replaced);
}

#[test]
fn the_history_is_there() {
    let history = vec![
        json!({"role": "user", "content": "first"}),
        json!({"role": "user", "content": [{"type": "text", "text": "last"}, {"type": "text", "text": "words"}]}),
        json!({"role": "assistant", "content": "ok"}),
    ];
    let source = script_returning("ctx.history.messages.length + ctx.history.lastUserMessage");
    let bench = Bench::in_world(TestHost { history, ..TestHost::default() }, &source);
    assert_eq!(bench.refusal(json!({})), "3last\nwords");
    assert_eq!(Bench::new(&script_returning("ctx.history.lastUserMessage")).refusal(json!({})), "null");
}

/// Some hosts hand over results of tools in the user's name.
#[test]
fn results_are_not_what_the_user_wrote() {
    let first = json!({"role": "user", "content": "first"});
    let result = json!({"type": "tool_result", "tool_use_id": "x", "content": "RESULT"});
    let text = json!({"type": "text", "text": "words"});
    for (last, expected) in [
        (json!([result]), "first"),
        (json!([result, result]), "first"),
        (json!([result, text]), "words"),
        (json!([text, result]), "words"),
        (json!([result, "words"]), "words"),
        (json!([{"type": "image"}]), ""),
        (json!([]), ""),
        (json!("words"), "words"),
    ] {
        let said = json!({"role": "user", "content": last});
        let history = vec![first.clone(), json!({"role": "assistant", "content": "ok"}), said.clone(), said];
        let source = script_returning("'[' + ctx.history.lastUserMessage + ']'");
        let bench = Bench::in_world(TestHost { history, ..TestHost::default() }, &source);
        assert_eq!(bench.refusal(json!({})), format!("[{expected}]"), "{last}");
    }
    let history = vec![json!({"role": "user", "content": [result]})];
    let source = script_returning("ctx.history.lastUserMessage");
    assert_eq!(
        Bench::in_world(TestHost { history, ..TestHost::default() }, &source).refusal(json!({})),
        "null"
    );
}

#[test]
fn files_and_commands() {
    let bench = Bench::new(&script_returning(
        "[await ctx.system.fs.readFile('a'), (await ctx.system.fs.getChecksum('a')) === ctx.std.computeChecksum('text'),
          await ctx.system.fs.getChecksum('b'), JSON.stringify(await ctx.system.cmd.exec('false')),
          await ctx.system.fs.readFile('b').catch((e) => e.message)].join()",
    ));
    bench.world.write("a", "text");
    let exec = r#"{"exitCode":1,"stdout":"ran false","stderr":""}"#;
    assert_eq!(bench.refusal(json!({})), format!("text,true,,{exec},no file `b`"));
}

#[test]
fn the_snapshot_is_a_map() {
    let bench = Bench::new(
        "export default { input(ctx) {
           const map = ctx.memory.snapshot;
           const said = [map instanceof Map, map.size, map.has('./a'), map.get('a').length, map.get('zz'), map.has(3)];
           map.set('./c', 'sum').delete('b');
           map.delete('nothing');
           said.push([...map.keys()], [...map].length, [...map.values()].length, map.size, map.get('c'), map.has('b'));
           map.forEach((sum, path, self) => said.push(path, self === map));
           said.push(new Map(map).size);
           return { allowed: false, message: said.join(' ') };
         } };",
    );
    bench.world.write("a", "1");
    bench.world.write("b", "2");
    bench.world.note_read("a");
    bench.world.note_read("b");
    let end = bench.input(json!({})).unwrap();
    let HookAnswer::Refuse { message, .. } = end.answer else { panic!() };
    assert_eq!(message, "true 2 true 64  false a,c 2 2 2 sum false a true c true 2");
    let said = BTreeMap::from([("b".to_owned(), None), ("c".to_owned(), Some("sum".to_owned()))]);
    assert_eq!(end.snapshot, said);
    let bench = Bench::new(&script_returning("(ctx.memory.snapshot.clear(), ctx.memory.snapshot.size)"));
    bench.world.write("a", "1");
    bench.world.note_read("a");
    assert_eq!(bench.refusal(json!({})), "0");
}

#[test]
fn stale_files() {
    let diff = "--- a/changed\n+++ b/changed\n@@ -1 +1 @@\n-a\n+b\n--- a/same\n+++ b/same\n--- a/unread\n+++ b/unread\n\
                --- /dev/null\n+++ b/new\n--- a/gone\n+++ /dev/null\n";
    let source = "export default { async input(ctx) {
        const stale = await ctx.std.checkStaleContext(ctx.tool.args.diff);
        const each = [];
        for (const path of ctx.std.parseUnifiedDiff(ctx.tool.args.diff)) each.push(path, await ctx.std.isFileStale(path));
        return { allowed: false, message: stale.join() + ' ' + each.join() };
      } };";
    let bench = Bench::new(source);
    for path in ["changed", "same", "gone"] {
        bench.world.write(path, "1");
        bench.world.note_read(path);
    }
    bench.world.write("changed", "2");
    bench.world.write("unread", "2");
    bench.world.files.lock().unwrap().remove("gone");
    assert_eq!(
        bench.refusal(json!({"diff": diff})),
        "changed,unread,gone changed,true,same,false,unread,true,new,false,gone,true"
    );
    let error = bench.input(json!({})).unwrap_err().to_string();
    assert!(error.contains("checkStaleContext needs the text of a diff, not undefined"), "{error}");
}

/// One file that cannot be looked at must not hide what is wrong with the others.
#[test]
fn unreadable_file_is_stale() {
    let bench = Bench::new(&script_returning(
        "[await ctx.std.checkStaleContext(ctx.tool.args.diff), await ctx.std.isFileStale('../n'),
          await ctx.std.isFileStale('same'), await ctx.system.fs.getChecksum('../n').catch((e) => e.message)].join(' ')",
    ));
    bench.world.write("unread", "1");
    bench.world.write("same", "1");
    bench.world.note_read("same");
    let diff = "--- a/same\n+++ b/same\n--- /dev/null\n+++ b/../n\n--- a/unread\n+++ b/unread\n";
    assert_eq!(
        bench.refusal(json!({"diff": diff})),
        "../n,unread true false `../n` lies outside of the working directory"
    );
}

#[test]
fn arguments_are_matched() {
    let source = "const global = /\\.env$/g;
      export default { input(ctx) {
        const { std, tool: { args } } = ctx;
        const said = [1, 2, 3].map(() => std.argMatches(args, 'path', global));
        said.push(std.argMatches(args, 'missing', /x/), std.argMatches(args, 'toString', /x/));
        said.push(std.argMatches(args, 'number', /^4/), std.argMatches(args, 'list', /b/), std.argMatches(args, 'none', /null/));
        said.push(std.argMatches(args, 'path', 'prod'), std.argMatches(null, 'path', /x/), std.argMatches(args, 'object', /x/));
        return { allowed: false, message: said.join() };
      } };";
    let args =
        json!({"path": "a.prod.env", "number": 42, "list": ["a", "b"], "none": null, "object": {"x": 1}});
    assert_eq!(
        Bench::new(source).refusal(args),
        "true,true,true,false,false,true,true,false,true,false,false"
    );
}

#[test]
fn git_is_clean_where_nothing_is_printed() {
    let bench = Bench::new(&script_returning(
        "[await ctx.std.isGitClean(ctx.system.cmd), await ctx.std.isGitClean(),
        await ctx.std.isGitClean({ exec: async () => ({ exitCode: 0, stdout: '\\n' }) })].join()",
    ));
    assert_eq!(bench.refusal(json!({})), "false,false,true");
}

#[test]
fn a_kept_context_has_its_own_call_and_sees_the_world_of_the_next() {
    let bench = Bench::new(
        "let log = '';
         export default { async input(ctx) {
           if (globalThis.kept === undefined) { globalThis.kept = ctx; return { allowed: true }; }
           if (ctx.tool.args.look) return { allowed: kept.tool.args.path !== '' };
           kept.memory.snapshot.set('b', '1');
           const seen = [await kept.system.fs.readFile('a'), ctx.memory.snapshot.get('b'), kept.system === ctx.system];
           return { allowed: false, message: seen.join() };
         } };",
    );
    bench.world.write("a", "text");
    assert_eq!(bench.input(json!({})).unwrap().answer, HookAnswer::Pass);
    let error = bench.input(json!({"look": true})).unwrap_err().to_string();
    assert!(error.contains("belongs to a call that has ended"), "{error}");
    assert_eq!(bench.refusal(json!({})), "text,1,true");
}

#[test]
fn between_calls_there_is_no_world() {
    let bench = Bench::new(
        "let report = '';
         export default { input(ctx) {
           const { exec } = ctx.system.cmd;
           const { isFileStale } = ctx.std;
           globalThis.look ??= async () => {
             const looks = [exec('true'), isFileStale('a')].map((look) => look.then(String, (error) => error.message));
             report = (await Promise.all(looks)).join();
           };
           return { allowed: report === '', message: report };
         } };
         const each = setInterval(() => { if (globalThis.look) { clearInterval(each); look(); } }, 1);",
    );
    let mut state = None;
    let report = (0..200_000).find_map(|_| {
        let call = Call { state: state.clone(), ..bench.call(Hook::Input) };
        let end = bench.scripts.call(&bench.script, "s", call).unwrap();
        std::thread::yield_now();
        state = end.state.as_ref().and_then(Value::as_str).map(str::to_owned).or(state.take());
        match end.answer {
            HookAnswer::Refuse { message, .. } => Some(message),
            _ => None,
        }
    });
    let report = report.unwrap_or_default();
    assert_eq!(report.matches("belongs to a call that has ended").count(), 2, "{report}");
}

#[test]
fn derived_contexts_see_the_same_values() {
    let bench = Bench::new(
        "let count = 0;
         const read = async ({ tool: { name }, system: { fs }, std, ...rest }) =>
           [name, await fs.readFile('a'), std.computeChecksum('').length, Object.keys(rest).sort().join(' ')].join();
         export default { async input(ctx) {
           count += 1;
           const made = [ctx, Object.create(ctx), new Proxy(ctx, {}), new Proxy({}, { get: (_, name) => ctx[name] })];
           const seen = await Promise.all(made.map(read));
           const isOne = ctx.std === ctx.std && ctx.memory === ctx.memory && ctx.tool.args === ctx.tool.args;
           return { allowed: false, message: [count, isOne, ...seen].join(' | ') };
         } };",
    );
    bench.world.write("a", "text");
    let state = bench.input(json!({})).unwrap().state;
    let state = state.as_ref().and_then(Value::as_str).map(str::to_owned);
    let second =
        bench.scripts.call(&bench.script, "s", Call { state, ..bench.call(Hook::Input) }).unwrap().answer;
    let HookAnswer::Refuse { message, .. } = second else { panic!("{second:?}") };
    assert_eq!(
        message,
        "2 | true | patch,text,64,feedback history memory result workingDirectory | patch,text,64, | \
         patch,text,64,feedback history memory result workingDirectory | patch,text,64,"
    );
}

#[test]
fn lines_are_logged_within_bounds() {
    let bench = Bench::new(&input(
        "() => { console.log('a', 1, { b: [true] }, null, undefined, new Map([[1, 2]])); console.error(new TypeError('x'));
                 for (let i = 0; i < 1000; i++) console.debug('x'.repeat(1e5)); return { allowed: true }; }",
    ));
    bench.input(json!({})).unwrap();
    let lines = bench.world.lines();
    assert_eq!(lines[0], r#"INFO: a 1 {"b":[true]} null undefined {"$":"map","v":[[1,2]]}"#);
    assert_eq!(lines[1], "ERROR: TypeError: x");
    assert_eq!(lines.len(), 200);
    assert!(lines.iter().all(|line| line.len() < 9000));
    assert_eq!(lines[199], "WARN: further lines of this call are left out");
}

#[test]
fn timers_ring_in_order() {
    let bench = Bench::new(&input(
        "async () => {
           const said = [];
           setTimeout((word) => said.push(word), 20, 'late');
           setTimeout(() => said.push('early'), 1);
           clearTimeout(setTimeout(() => said.push('never'), 1));
           let count = 0;
           const counted = new Promise((go) => {
             const each = setInterval(() => { if (++count === 3) go(clearInterval(each)); }, 1);
           });
           queueMicrotask(() => said.push('first'));
           await new Promise((go) => setTimeout(go, 40));
           await counted;
           await new Promise((go) => setTimeout(go, 5));
           return { allowed: false, message: said.concat(count).join() };
         }",
    ));
    assert_eq!(bench.refusal(json!({})), "first,early,late,3");
}
