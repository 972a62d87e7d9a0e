//! Scripts before they run: their files and settings, and the errors that their authors see.

use midrail::authoring::run_script;
use midrail::core::HookAnswer;
use midrail::{Effect, Event, Load};
use serde_json::json;

use crate::scripts::{call, engine, write};
use crate::sessions::policy;

#[test]
fn a_script_that_a_pack_names_has_the_settings_of_a_guardrail() {
    let folder = tempfile::tempdir().unwrap();
    let pack =
        "pack: p\nguardrails:\n  - {id: house, script: hooks/house.js, tools: 'deploy*', mode: shadow}\n";
    write(folder.path(), "p.yaml", pack);
    write(
        folder.path(),
        "hooks/house.js",
        "export default { input: () => ({ allowed: false, message: 'no' }) };",
    );
    let engine = engine(folder.path(), &["p.yaml"]);
    let decision = engine.decide(call("deploy_all"));
    assert_eq!((decision.effect, decision.would), (Effect::Allow, Some(Effect::Block)));
    assert_eq!(engine.decide(call("other")).would, None);
}

#[test]
fn a_script_that_is_not_there_is_an_error_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "p.yaml", "pack: p\nguardrails:\n  - {id: house, script: house.js}\n");
    let load = Load { packs: vec![folder.path().join("p.yaml")], ..Load::default() };
    let error = load.load().err().unwrap().to_string();
    assert!(error.contains("p.yaml:3:") && error.contains("house.js"), "{error}");
}

#[test]
fn failing_scripts_block_and_report_the_place() {
    for (script, part) in [
        ("export default { input: () => { throw new Error('oh') } };", "mine.js:1:"),
        ("export default { input: () => { while (true) {} } };", "stopped"),
        ("export default { input: () => new Promise(() => {}) };", "mine.js"),
        ("export default { input: () => { const a = []; for (;;) a.push(new Array(1e6)); } };", "mine.js"),
        ("export default { input: () => ({ get allowed() { throw 1 } }) };", "mine.js"),
        ("export default { input: () => ({ allowed: 'x'.repeat(5e6) }) };", "mine.js"),
        ("export default { input: (ctx) => ctx.system.fs.readFile('../secret') };", "outside"),
        ("Object.prototype.allowed = true; export default { input: () => ({}) };", "mine.js"),
        ("export default { input: 5 };", "mine.js"),
        ("export default { inputs: () => 1 }; syntax error", "mine.js:1:"),
        ("import 'fs'; export default {};", "import"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "mine.js", script);
        for on_error in ["block", "allow"] {
            let pack = format!(
                "pack: p\nguardrails:\n  - {{id: mine, script: {{file: mine.js, input_timeout: 300ms, memory_mb: 16}}, \
                 on_error: {on_error}}}\n"
            );
            write(folder.path(), "p.yaml", &pack);
            let decision = engine(folder.path(), &["p.yaml"]).decide(call("t"));
            let expected = if on_error == "block" { Effect::Block } else { Effect::Allow };
            assert_eq!(decision.effect, expected, "{script}: {}", decision.reason);
            let said = decision.verdicts.iter().find(|said| &*said.guardrail == "mine").unwrap();
            assert!(said.error.as_ref().unwrap().contains(part), "{script}: {:?}", said.error);
        }
    }
}

#[test]
fn authors_run_a_hook_and_see_what_it_prints() {
    let folder = tempfile::tempdir().unwrap();
    let script = "export default { input: (ctx) => { console.log('saw', ctx.tool.name); \
                  return { allowed: false, message: 'no', suggestion: 'yes' }; } };";
    write(folder.path(), "mine.js", script);
    let run = run_script(&folder.path().join("mine.js"), call("deploy")).unwrap();
    assert_eq!(run.printed, ["saw deploy"]);
    let answer = HookAnswer::Refuse { message: "no".into(), suggestion: Some("yes".into()), request: None };
    assert_eq!(run.end.unwrap().answer, answer);
    assert_eq!(run.decision.effect, Effect::Block);
}

#[test]
fn problems_of_scripts_are_found_before_they_run() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "mine.js", "export default {\n  input: 5,\n};\n");
    let loaded = Load { packs: vec![folder.path().join("mine.js")], ..Load::default() }.load().unwrap();
    let problems = loaded.script_problems(false);
    assert_eq!(problems.len(), 1);
    write(folder.path(), "mine.js", "export default { input: (ctx) => ctx.tool.args.path.length };\n");
    assert!(loaded.script_problems(false).is_empty());
    assert_eq!(loaded.script_problems(true).len(), 1);
}

#[test]
fn the_settings_of_scripts_come_from_packs_of_their_layer_or_above() {
    // A configuration in JSON, as another tool writes it.
    let (_, source) = policy("{\"guardrails\": {\"enabled\": false, \"failMode\": \"open\"}}");
    let scripts = &source.0[0].pack.scripts;
    assert_eq!((scripts.enabled, scripts.on_error), (Some(false), Some(midrail::core::OnFault::Allow)));
}

#[test]
fn an_agent_leaves_the_scripts_in_force_alone_wherever_they_lie() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "p.yaml", "pack: p\nguardrails:\n  - {id: house, script: hooks/house.js}\n");
    write(
        folder.path(),
        "hooks/house.js",
        "import './rules.js';\nexport default { input: () => ({ allowed: true }) };",
    );
    write(folder.path(), "hooks/rules.js", "");
    let engine = engine(folder.path(), &["p.yaml"]);
    for file in ["hooks/house.js", "hooks/rules.js", "p.yaml"] {
        let event = Event::before_tool("Write", json!({"file_path": file, "content": ""})).in_session("s");
        let decision = engine.decide(event);
        assert_eq!(
            (decision.effect, decision.by.as_deref()),
            (Effect::Block, Some("self-protection")),
            "{file}"
        );
    }
    let other = Event::before_tool("Write", json!({"file_path": "hooks/other.js"})).in_session("s");
    assert_eq!(engine.decide(other).effect, Effect::Allow);
}

#[test]
fn function_that_is_not_a_hook_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "mine.js", "export default { input: () => ({ allowed: true }), ouput: () => 1 };");
    let loaded = Load { packs: vec![folder.path().join("mine.js")], ..Load::default() }.load().unwrap();
    assert!(loaded.script_problems(false)[0].to_string().contains("`ouput`"));
}

#[test]
fn script_settings_replace_no_pack() {
    let folder = tempfile::tempdir().unwrap();
    let config = r#"{"guardrails": {"enabled": true, "failMode": "closed"}}"#;
    write(folder.path(), ".midrail/config.json", config);
    let loaded = Load { folder: Some(folder.path().to_owned()), ..Load::default() }.load().unwrap();
    assert!(loaded.policy.get("safety-002").is_some());
}
