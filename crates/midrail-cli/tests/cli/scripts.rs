//! Guardrails in JavaScript, and the subcommands for their authors.

use serde_json::json;

use crate::world::{World, after, before};

const REFUSES: &str = "export default { input: () => ({ allowed: false, message: 'NAME says no' }) };";

fn refuses(name: &str) -> String {
    REFUSES.replace("NAME", name)
}

#[test]
fn scripts_of_project_and_user_both_run() {
    let world = World::with_pack("pack: p\n");
    world.write(
        ".midrail/guardrails.js",
        "export default { output: (ctx) => ({ override: true, result: ctx.result.content + ' project' }) };",
    );
    world.write(
        "../config/midrail/guardrails.js",
        "export default { output: (ctx) => ({ override: true, result: ctx.result.content + ' user' }) };",
    );
    let shown = || world.feed(&["check", "--json"], after("t", json!({}), "zero").to_string()).code(0).json();
    assert_eq!(shown()["content"], "zero project user");
    // A project does not switch the user's script off.
    world.write(".midrail/pack.yaml", "pack: p\nscripts: {enabled: false}\n");
    assert_eq!(shown()["content"], "zero user");
    let off = "pack: p\nguardrails:\n  - {id: user-script, enabled: false, effect: block}\n";
    world.write(".midrail/pack.yaml", off);
    world.run(&["lint"]).code(1).says("is the id of a script");
}

#[test]
fn scripts_of_packs_run_last_unless_they_have_a_priority() {
    let adds = |name: &str| {
        format!(
            "export default {{ output: (ctx) => ({{ override: true, result: ctx.result.content + ' {name}' }}) }};"
        )
    };
    let world = World::new();
    world.write(".midrail/guardrails.js", adds("project"));
    world.write("../config/midrail/guardrails.js", adds("user"));
    world.write(".midrail/a.js", adds("a"));
    world.write(".midrail/b.js", adds("b"));
    for (a, b, order) in [
        ("", "", "r project user a b"),
        ("priority: 95, ", "", "r project user b a"),
        ("", "priority: 10, ", "r b project user a"),
        ("priority: 80, ", "priority: 70, ", "r b a project user"),
    ] {
        let pack =
            format!("pack: p\nguardrails:\n  - {{id: a, {a}script: a.js}}\n  - {{id: b, {b}script: b.js}}\n");
        world.write(".midrail/pack.yaml", pack);
        let shown = world.feed(&["check", "--json"], after("t", json!({}), "r").to_string()).code(0).json();
        assert_eq!(shown["content"], order);
    }
}

#[test]
fn deft_scripts_run_if_a_pack_enables_them() {
    let world = World::with_pack("pack: p\n");
    world.write(".deft/guardrails.js", refuses("deft"));
    world.check(&before("t", json!({}))).code(0);
    world.write(".midrail/pack.yaml", "pack: p\nscripts: {deft: true}\n");
    world.check(&before("t", json!({}))).code(2).says("deft says no");
    world.write(".deft/config.json", r#"{"guardrails": {"enabled": false}, "other": 1}"#);
    world.check(&before("t", json!({}))).code(0);
    world.write(".deft/config.json", r#"{"guardrails": {"failMode": "open"}}"#);
    world.write(".deft/guardrails.js", "export default { input: () => { throw 1 } };");
    world.check(&before("t", json!({}))).code(0);
}

#[test]
fn authors_run_a_hook_and_print_the_types() {
    let world = World::new();
    world.write("mine.js", "export default { input: (ctx) => { console.log('args', ctx.tool.args); return { allowed: false, message: 'no', suggestion: 'ask' }; } };");
    let event = world.write("event.json", before("deploy", json!({"to": "prod"})).to_string());
    let run = world.run(&["script", "run", "mine.js", "--event", &event]).code(2);
    run.says("console").says("refuses  no").says("suggests ask").says("leads to block");
    let json = world.run(&["script", "run", "mine.js", "--event", &event, "--json"]).code(2).json();
    assert_eq!(json["answer"]["answer"]["refuse"]["message"], "no");
    world.run(&["script", "types"]).code(0).says("export interface InputContext");
    let stop = world.write("stop.json", r#"{"kind":"before_stop"}"#);
    world.run(&["script", "run", "mine.js", "--event", &stop]).code(1).complains("no hook runs for events");
}

#[test]
fn shadow_report_shows_would_be_blocks() {
    let world = World::with_pack(
        "pack: p\nextends: none\nguardrails:\n  - {id: careful, tools: 'deploy*', effect: block, mode: shadow, reason: not today}\n",
    );
    for tool in ["deploy", "deploy", "read"] {
        world.check(&before(tool, json!({}))).code(0);
    }
    let report = world.run(&["shadow", "report"]).code(0);
    report.says("2 of 3 decisions would have been stricter").says("careful").says("not today");
    let json = world.run(&["shadow", "report", "--examples", "1", "--json"]).code(0).json();
    assert_eq!(json["guardrails"][0]["stopped"], 2);
    assert_eq!(json["guardrails"][0]["examples"].as_array().unwrap().len(), 1);
    let none = world.run(&["shadow", "report", "--guardrail", "other"]).code(1);
    none.complains("unknown guardrail `other`").complains("careful");
    let near = world.run(&["shadow", "report", "--guardrail", "carefull"]).code(1);
    near.complains("did you mean `careful`?");
    let silent = world.run(&["shadow", "report", "--guardrail", "self-protection"]).code(0);
    silent.says("`self-protection` was never evaluated in shadow mode");
    let one = world.run(&["shadow", "report", "--guardrail", "careful"]).code(0);
    one.says("2 of 2 decisions would have been stricter with `careful`");
}
