//! Scripts through the whole engine: files on disk, several processes, and scripts that go wrong.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use midrail::admin::Person;
use midrail::reproduce::{Reproduction, ReproductionResult};
use midrail::store::{AuditFilter, AuditLog, Slices, Urgency};
use midrail::{Effect, Engine, Event, Load, SqliteStore, ToolResult};
use serde_json::json;

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// An engine of the packs and scripts named, as a new process would make it.
pub(crate) fn engine(folder: &Path, packs: &[&str]) -> Arc<Engine> {
    let packs = packs.iter().map(|name| folder.join(name)).collect();
    let loaded = Load { packs, ..Load::default() }.load().unwrap_or_else(|error| panic!("{error}"));
    let store = Arc::new(SqliteStore::open(folder.join("midrail.db")).unwrap());
    let engine = Engine::builder(loaded.policy, &loaded.source).store(store).root(folder);
    Arc::new(engine.build().unwrap())
}

pub(crate) fn call(tool: &str) -> Event {
    Event::before_tool(tool, json!({})).in_session("s")
}

#[test]
fn variables_live_as_long_as_the_session_across_processes() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "guardrails.js",
        "import { limit } from './rules.js';\n\
         const calls = new Map();\n\
         let total = 0;\n\
         export default {\n\
           input: async (ctx) => {\n\
             total += 1;\n\
             calls.set(ctx.tool.name, (calls.get(ctx.tool.name) ?? 0) + 1);\n\
             return calls.get(ctx.tool.name) > limit\n\
               ? { allowed: false, message: `call ${total}` } : { allowed: true };\n\
           },\n\
         };\n",
    );
    write(folder.path(), "rules.js", "export const limit = 2;\n");
    let effects: Vec<(Effect, String)> = ["a", "b", "a", "a", "b", "b"]
        .iter()
        .map(|tool| {
            // Each call in an engine of its own, as hooks of coding agents do.
            let decision = engine(folder.path(), &["guardrails.js"]).decide(call(tool));
            (decision.effect, decision.reason)
        })
        .collect();
    let allowed = (Effect::Allow, String::new());
    assert_eq!(
        effects,
        [
            allowed.clone(),
            allowed.clone(),
            allowed.clone(),
            (Effect::Block, "call 4".to_owned()),
            allowed,
            (Effect::Block, "call 6".to_owned()),
        ]
    );
}

/// An engine that has seen a script pass evaluates the next event as if it did again, and then asks it.
#[test]
fn expected_script_answer_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "guardrails.js",
        "let refused = 0;\n\
         export default { input: (ctx) => {\n\
           const { no, oops } = ctx.tool.args;\n\
           if (oops) throw new Error('it broke');\n\
           if (!no) return { allowed: true };\n\
           refused += 1;\n\
           return { allowed: false, message: `refused ${refused}` };\n\
         } };\n",
    );
    let engine = engine(folder.path(), &["guardrails.js"]);
    let decide = |args| {
        let decision = engine.decide(Event::before_tool("a", args).in_session("s"));
        (decision.effect, decision.reason)
    };
    for round in 1..=3 {
        for _ in 0..3 {
            assert_eq!(decide(json!({})), (Effect::Allow, String::new()));
        }
        assert_eq!(decide(json!({"no": true})), (Effect::Block, format!("refused {round}")));
        assert_eq!(decide(json!({})).0, Effect::Allow);
        let (effect, reason) = decide(json!({"oops": true}));
        assert!(effect == Effect::Block && reason.contains("it broke"), "{effect:?}: {reason}");
    }
    for entry in engine.store().entries(&AuditFilter::default()).unwrap() {
        let record = entry.record().unwrap();
        let (again, then) = (record.replay(&engine.policy()), record.decision);
        assert_eq!((again.effect, again.reason), (then.effect, then.reason), "record {}", entry.seq);
        assert_eq!(again.verdicts, then.verdicts, "record {}", entry.seq);
    }
}

/// A script that was asked for the last events like this is called before it is known whether it will be for this one.
#[test]
fn unneeded_script_call_has_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    let script = "let calls = 0;\n\
                  export default { input: async (ctx) => {\n\
                    calls += 1;\n\
                    console.log(`call ${calls} of ${ctx.tool.args.name}`);\n\
                    await ctx.system.cmd.exec(`echo ${ctx.tool.args.name} >> ran.txt`);\n\
                    return { allowed: false, message: `call ${calls}` };\n\
                  } };\n";
    write(folder.path(), "house.js", script);
    let pack =
        "pack: p\nguardrails:\n  - {id: house, script: house.js, when: \"tool.args.name != 'nobody'\"}\n";
    write(folder.path(), "p.yaml", pack);
    let loaded = Load { packs: vec![folder.path().join("p.yaml")], ..Load::default() }.load().unwrap();
    let (said, received) = std::sync::mpsc::channel();
    let store = Arc::new(SqliteStore::open(folder.path().join("midrail.db")).unwrap());
    let engine = Engine::builder(loaded.policy, &loaded.source).store(store).root(folder.path());
    let engine = engine.on_script_output(move |line| said.send(line.to_owned()).unwrap()).build().unwrap();
    let mut reasons = Vec::new();
    for name in ["ann", "ben", "nobody", "nobody", "cleo", "nobody", "dora"] {
        let decision = engine.decide(Event::before_tool("a", json!({"name": name})).in_session("s"));
        assert_eq!(decision.effect == Effect::Allow, name == "nobody", "{name}: {}", decision.reason);
        reasons.push(decision.reason);
    }
    assert_eq!(reasons, ["call 1", "call 2", "", "", "call 3", "", "call 4"]);
    let lines: Vec<String> = received.try_iter().collect();
    assert_eq!(lines, ["call 1 of ann", "call 2 of ben", "call 3 of cleo", "call 4 of dora"]);
    assert_eq!(fs::read_to_string(folder.path().join("ran.txt")).unwrap(), "ann\nben\ncleo\ndora\n");
}

/// What scripts and their history make of arguments is written as JSON, once or several times over.
#[test]
fn no_secret_is_kept_however_a_script_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "guardrails.js",
        "let last = '';\n\
         const counts = [];\n\
         export default {\n\
           input: (ctx) => {\n\
             counts.push(ctx.history.messages.length);\n\
             last = JSON.stringify([JSON.stringify(ctx.tool.args)]);\n\
             return { allowed: false, message: JSON.stringify(ctx.tool.args), suggestion: last };\n\
           },\n\
           output: (ctx) => { last = JSON.stringify(ctx.result); return { override: false }; },\n\
         };\n",
    );
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq3Zt0kX9dG1yq5Vw2xkP8cR4mJ6hN0sT3vB7aLzQeYuFiD\n\
               wXoC1gHpMrKbSjEnVtAyUxZcOdIfRlGmPqWkJhBvNsTaLeDuCiYgXoFzQrMw8Kp2\n-----END RSA PRIVATE KEY-----\n";
    let args = json!({"path": "k.pem", "content": key, "url": "postgres://ada:q7w!z@db.example.com/x"});
    let result = ToolResult { ok: Some(true), content: Some(args.clone()), ..ToolResult::default() };
    for event in [Event::before_tool("Write", args.clone()), Event::after_tool("Write", args, result)] {
        engine(folder.path(), &["guardrails.js"]).decide(event.in_session("s"));
    }
    let store = SqliteStore::open(folder.path().join("midrail.db")).unwrap();
    let kept = store.load_prefix("s", "").unwrap();
    let entries = store.entries(&AuditFilter::default()).unwrap();
    let texts = kept.values().map(ToString::to_string).chain(entries.into_iter().map(|entry| entry.body));
    for text in texts {
        assert!(!text.contains("MIIEpAIB") && !text.contains("wXoC1gHp"), "{text}");
    }
    // The call was refused and is no part of the conversation. A short secret is hidden only where it was found.
    let history = kept["history/0"].to_string();
    assert!(history.contains("redacted:private-key") && !history.contains("q7w!z"), "{history}");
}

/// What an agent sends is found secret or not as it likes, and changes nothing of what a script knows.
#[test]
fn variables_stay_as_they_are_whatever_is_secret() {
    let source = "let first = null; const tokens = new Map(); let big = 1n;\n\
         export default { input: (ctx) => {\n\
           const { token } = ctx.tool.args;\n\
           first ??= token; big += 1n;\n\
           tokens.set(token, (tokens.get(token) ?? 0) + 1);\n\
           return { allowed: false, message: `${first === token} ${tokens.size} ${tokens.get(token)} ${big}` };\n\
         } };\n";
    for token in ["ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "guardrails.js", "bigint", "tokens", "module"] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "guardrails.js", source);
        let args = json!({"token": token, "url": format!("https://bob:{token}@db.example.com/x")});
        let plain = json!({"token": "none"});
        let said: Vec<String> = [&args, &args, &plain, &args]
            .map(|args| {
                let event = Event::before_tool("Bash", args.clone()).in_session("s");
                engine(folder.path(), &["guardrails.js"]).decide(event).reason
            })
            .into();
        assert_eq!(said, ["true 1 1 2", "true 1 2 3", "false 2 1 4", "true 2 3 5"], "{token}");
        let store = SqliteStore::open(folder.path().join("midrail.db")).unwrap();
        let kept = store.load_prefix("s", "project-script/").unwrap();
        let kept = kept["project-script/module"].as_str().unwrap();
        assert!(
            !kept.contains("ghp_") && kept.starts_with("sealed:") == (token != "tokens"),
            "{token}: {kept}"
        );
    }
}

/// Texts that a script looked up are shown without their secrets, as are those of the event.
#[test]
fn secrets_that_a_script_brings_up_are_hidden() {
    let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let long = format!("{}{token}", "x ".repeat(1_990));
    for body in [
        "return { allowed: false, message: `found ${text}`, suggestion: `leave ${text} alone` };",
        "throw new Error(text);",
        "kept = text; return { allowed: true };",
        "ctx.memory.snapshot.set('a.txt', text); return { allowed: true };",
        "return { allowed: false, message: 'no', request: { reason: `The build needs ${text} to go on` } };",
    ] {
        for content in [&format!("GITHUB_TOKEN={token}"), &long] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), "notes.txt", content);
            let source = "let kept = ''; export default { input: async (ctx) => {\n\
                 const text = await ctx.system.fs.readFile('notes.txt');\n"
                .to_owned();
            write(folder.path(), "guardrails.js", &(source + body + "} };\n"));
            let decision = engine(folder.path(), &["guardrails.js"]).decide(call("build"));
            let store = SqliteStore::open(folder.path().join("midrail.db")).unwrap();
            let kept = store.load_prefix("s", "").unwrap();
            let entries = store.entries(&AuditFilter::default()).unwrap();
            let texts =
                kept.values().map(ToString::to_string).chain(entries.into_iter().map(|entry| entry.body));
            for text in texts.chain([format!("{decision:?}")]) {
                assert!(!text.contains("ghp_a1B2"), "{body}: {text}");
            }
        }
    }
}

/// An agent that goes to another folder does not choose what a script reads by its own paths.
#[test]
fn a_scripts_own_paths_are_those_of_the_project() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("policy.json", "frozen"), ("d/policy.json", "free"), ("a.txt", "v1"), ("d/c.txt", "v1")]
    {
        write(folder.path(), name, text);
    }
    write(
        folder.path(),
        "guardrails.js",
        "export default { input: async (ctx) => {\n\
           const { snapshot } = ctx.memory;\n\
           const all = [...snapshot].map(([key, sum]) => `${key} ${snapshot.get(key) === sum}`);\n\
           const stale = await ctx.std.isFileStale('c.txt');\n\
           return { allowed: false, message: [await ctx.system.fs.readFile('policy.json'), ...all, stale].join() };\n\
         } };\n",
    );
    let cwd = |below: &str| Some(folder.path().join(below).to_string_lossy().into_owned());
    let engine = engine(folder.path(), &["guardrails.js"]);
    for (path, below) in [("a.txt", ""), ("c.txt", "d")] {
        let read = Event::after_tool("Read", json!({"path": path}), ToolResult::ok("v1"));
        engine.decide(Event { cwd: cwd(below), ..read.in_session("s") });
    }
    let report = |below| engine.decide(Event { cwd: cwd(below), ..call("WebFetch") }).reason;
    assert_eq!(report("d"), "frozen,a.txt true,d/c.txt true,false");
    assert_eq!(report(""), "frozen,a.txt true,d/c.txt true,false");
}

#[test]
fn calls_at_the_same_time_count_each_other() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "guardrails.js",
        "let n = 0; const seen = new Set();\n\
         export default { input: async (ctx) => {\n\
           n += 1; seen.add(ctx.tool.args.i);\n\
           await new Promise((resolve) => setTimeout(resolve, 5));\n\
           return ctx.tool.name === 'tell' ? { allowed: false, message: `${n} ${seen.size}` } : { allowed: true };\n\
         } };\n",
    );
    let engine = engine(folder.path(), &["guardrails.js"]);
    std::thread::scope(|scope| {
        for i in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                for j in 0..3 {
                    let event = Event::before_tool("count", json!({"i": format!("{i}-{j}")})).in_session("s");
                    assert_eq!(engine.decide(event).effect, Effect::Allow);
                }
            });
        }
    });
    assert_eq!(engine.decide(call("tell")).reason, "13 13");
}

#[test]
fn history_has_the_messages() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "guardrails.js",
        "export default {\n\
           input: (ctx) => {\n\
             const { messages, lastUserMessage } = ctx.history;\n\
             if (ctx.tool.name === 'tell') {\n\
               return { allowed: false, message: lastUserMessage + ' | ' + messages.slice(-3).map((m) => m.role + ': ' + m.content).join(' | ') };\n\
             }\n\
             return ctx.tool.name === 'bad' ? { allowed: false, message: 'no' } : { allowed: true };\n\
           },\n\
           output: (ctx) => ctx.tool.name === 'patch' ? { override: true, isError: true, result: 'Tests failed' } : { override: false },\n\
         };\n",
    );
    let engine = engine(folder.path(), &["guardrails.js"]);
    let said = |kind| Event { text: Some("never deploy".to_owned()), ..Event::new(kind).in_session("s") };
    engine.decide(said(midrail::EventKind::BeforeModel));
    for _ in 0..40 {
        engine.decide(call("Read"));
        engine.decide(Event::after_tool("Read", json!({}), ToolResult::ok("text")).in_session("s"));
    }
    engine.decide(call("bad"));
    engine.decide(call("patch"));
    engine.decide(Event::after_tool("patch", json!({}), ToolResult::ok("done")).in_session("s"));
    assert_eq!(
        engine.decide(call("tell")).reason,
        "never deploy | assistant: bad {} | assistant: patch {} | tool: Tests failed"
    );
}

#[test]
fn two_engines_that_count_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let script = "let n = 0;\nexport default { input: () => { n += 1; \
                  return { allowed: false, message: String(n) }; } };";
    write(folder.path(), "guardrails.js", script);
    engine(folder.path(), &["guardrails.js"]).decide(call("a"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let engine = engine(folder.path(), &["guardrails.js"]);
            scope.spawn(move || (0..5).for_each(|_| drop(engine.decide(call("a")))));
        }
    });
    assert_eq!(engine(folder.path(), &["guardrails.js"]).decide(call("a")).reason, "22");
}

#[test]
fn commands_of_a_script_run_in_the_folder_with_a_clean_environment() {
    let folder = tempfile::tempdir().unwrap();
    let script = "export default { output: async (ctx) => {\n\
                    const { exitCode, stdout, stderr } = await ctx.system.cmd.exec('pwd; echo no >&2; exit 3');\n\
                    return { override: true, result: `${exitCode} ${stdout.trim()} ${stderr.trim()}` };\n\
                  } };";
    write(folder.path(), "guardrails.js", script);
    let engine = engine(folder.path(), &["guardrails.js"]);
    let event = Event::after_tool("t", json!({}), ToolResult::ok("fine")).in_session("s");
    let decision = engine.decide(event);
    let root = folder.path().canonicalize().unwrap();
    assert_eq!(decision.content.unwrap(), format!("3 {} no", root.display()));
}

#[test]
fn a_replay_needs_no_script() {
    let folder = tempfile::tempdir().unwrap();
    let script = "export default { output: (ctx) => ({ override: true, isError: true, \
                  result: 'key AKIAABCDEFGHIJKLMNOP in ' + ctx.result.content }) };";
    write(folder.path(), "guardrails.js", script);
    write(folder.path(), "p.yaml", "pack: p\nguardrails:\n  - {use: secret-redaction, on: after_tool}\n");
    let engine = engine(folder.path(), &["guardrails.js", "p.yaml"]);
    let event = Event::after_tool("t", json!({}), ToolResult::ok("a file")).in_session("s");
    let decision = engine.decide(event);
    assert_eq!(decision.effect, Effect::Retry);
    let content = decision.content.clone().unwrap();
    assert!(
        content.starts_with("key [redacted:aws-access-key#") && content.ends_with(" in a file"),
        "{content}"
    );

    fs::remove_file(folder.path().join("guardrails.js")).unwrap();
    let entry = engine.store().entry(1).unwrap().unwrap();
    assert!(!entry.body.contains("AKIAABCDEFGHIJKLMNOP"), "{}", entry.body);
    let again = Reproduction::new(engine.store().as_ref()).reproduce(&entry.record().unwrap()).unwrap();
    assert!(matches!(again, Some(ReproductionResult::Same)), "{again:?}");
}

#[test]
fn script_request_escalates_and_its_record_replays_alone() {
    let folder = tempfile::tempdir().unwrap();
    let script = "export default { input: () => ({ allowed: false, message: 'not on Fridays', request: { \
                  reason: 'Release 7 repairs the login, see AKIAABCDEFGHIJKLMNOP', urgency: 'urgent' } }) };";
    write(folder.path(), "guardrails.js", script);
    write(folder.path(), "p.yaml", "pack: p\nscripts: {approver: architect}\n");
    let decide = || engine(folder.path(), &["guardrails.js", "p.yaml"]).decide(call("deploy"));
    let decision = decide();
    assert_eq!((decision.effect, decision.reason.as_str()), (Effect::Escalate, "not on Fridays"));
    let asked = decision.approval.unwrap();
    assert_eq!(decide().approval.unwrap().id, asked.id, "the same call waits for the same answer");

    let engine = engine(folder.path(), &["guardrails.js", "p.yaml"]);
    let row = engine.approvals().get(&asked.id).unwrap();
    assert_eq!((row.approver.as_str(), row.urgency), ("architect", Urgency::Urgent));
    assert_eq!(row.approvers, ["architect", "human_operator"]);
    let reason = row.justification.unwrap();
    assert!(reason.starts_with("Release 7 repairs the login, see [") && !reason.contains("AKIA"), "{reason}");
    let entries = engine.store().entries(&AuditFilter::default()).unwrap();
    assert!(entries.iter().all(|entry| !entry.body.contains("AKIAABCDEFGHIJKLMNOP")));
    let hastened = entries.iter().filter(|entry| entry.body.contains("approval_hastened")).count();
    assert_eq!(hastened, 1, "it is asked for once");

    fs::remove_file(folder.path().join("guardrails.js")).unwrap();
    let record = entries[0].record().unwrap();
    let again = Reproduction::new(engine.store().as_ref()).reproduce(&record).unwrap();
    assert!(matches!(again, Some(ReproductionResult::Same)), "{again:?}");

    let ann = Person::authenticated("ann", ["architect"]);
    engine.approvals().answer(&asked.id, true, &ann, None).unwrap();
    write(folder.path(), "guardrails.js", script);
    assert_eq!(decide().effect, Effect::Allow);
    assert_eq!(decide().effect, Effect::Escalate);
}

#[test]
fn urgent_script_request_notifies_each_role_once() {
    for (urgency, minutes, report) in
        [("urgent", 45, &["reviewer"][..]), ("emergency", 30, &["reviewer", "architect", "human_operator"])]
    {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "export default {{ input: () => ({{ allowed: false, message: 'not on Fridays', suggestion: 'Wait for Monday', \
             request: {{ reason: 'Release 7 repairs the login', urgency: '{urgency}' }} }}) }};"
        );
        write(folder.path(), "guardrails.js", &script);
        let pack = "pack: p\nscripts: {approver: reviewer}\n\
                    approvals: {emergency: {only_for: 'true', wait: 60s, review_within: 24h}}\n";
        write(folder.path(), "p.yaml", pack);
        let engine = engine(folder.path(), &["guardrails.js", "p.yaml"]);
        let decision = engine.decide(call("deploy"));
        let asked = decision.approval.clone().unwrap();
        let row = engine.approvals().get(&asked.id).unwrap();
        assert_eq!(asked.expires, row.deadline(), "{urgency}");
        let lasts = asked.expires.unwrap().duration_since(row.created).as_secs();
        assert!((minutes * 60..minutes * 60 + 60).contains(&lasts), "{urgency}: {lasts}");
        let notices = crate::shared_store::notices(&**engine.store(), "approval");
        assert_eq!(notices.iter().map(|notice| notice.to.as_str()).collect::<Vec<_>>(), report, "{urgency}");
        assert!(notices.iter().all(|notice| notice.message.contains(urgency)), "{notices:#?}");

        let advice = engine.approvals().with_guidance(decision).advice.unwrap();
        assert!(advice.starts_with("Wait for Monday. A person (`reviewer`) has to approve"), "{advice}");
        assert!(!advice.contains("needed for"), "the script has said it: {advice}");
        assert_eq!(advice.contains("passes by itself"), urgency == "emergency", "{advice}");
    }
}

#[test]
fn each_script_of_a_chain_runs_once_for_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let mut pack = "pack: p\nguardrails:\n".to_owned();
    for name in ["one", "two", "three"] {
        let script = format!(
            "export default {{ output: async (ctx) => {{ await ctx.system.cmd.exec('echo {name} >> log'); \
             return {{ override: true, result: ctx.result.content + ' {name}' }}; }} }};"
        );
        write(folder.path(), &format!("{name}.js"), &script);
        pack.push_str(&format!("  - {{id: {name}, script: {name}.js}}\n"));
    }
    write(folder.path(), "p.yaml", &pack);
    let event = Event::after_tool("t", json!({}), ToolResult::ok("zero")).in_session("s");
    let decision = engine(folder.path(), &["p.yaml"]).decide(event);
    assert_eq!(decision.content.as_deref(), Some("zero one two three"), "{}", decision.reason);
    assert_eq!(fs::read_to_string(folder.path().join("log")).unwrap(), "one\ntwo\nthree\n");
}
