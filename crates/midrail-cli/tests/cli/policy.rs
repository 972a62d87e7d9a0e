//! `midrail policy`: layers, definitions, and plain words.

use serde_json::{Value, json};

use crate::world::World;

const PACK: &str = "\
pack: p
version: 2
lock: true
guardrails:
  - {id: tests-first, require_before: {tool: deploy, requires: test}}
  - {id: careful, tools: rm, effect: warn, mode: shadow, reason: Think twice.}
agents:
  coder:
    allowed_tools: [Read, Write]
    token_budget: 1000
";

#[test]
fn layers_are_shown_with_their_guardrails() {
    let world = World::with_pack(PACK);
    let ended = world.run(&["policy"]).code(0);
    let mut lines = ended.out.lines().skip_while(|line| !line.contains("(builtin-001)"));
    assert_eq!(lines.next().unwrap().split_whitespace().collect::<Vec<_>>()[..2], ["1", "block"]);
    assert_eq!(lines.next().unwrap().trim(), "on before_tool; from low risk; locked");
    for part in [
        "always on  in every policy",
        "(builtin-001)",
        ".midrail/pack.yaml  pack p 2, locked",
        "  61        block   tests-first\n                    on before_tool; tools deploy, test; locked\n",
        "  100       warn    careful\n                    on before_tool; tools rm; shadow; locked\n",
        "revision sha256:",
        "definition  coder",
        "token_budget: 1000",
        "• Before you call deploy, these must have succeeded: test.",
    ] {
        assert!(ended.out.contains(part), "`{part}` is not in:\n{}", ended.out);
    }
}

#[test]
fn external_guardrails_are_shown_with_their_tiers() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - {id: judge, deep: {command: ./judge}}\nrisk_router:\n  require: {high: [judge], \
         critical: [judge]}\n",
    );
    let ended = world
        .run(&["policy"])
        .code(0)
        .says("critical: waits 200 ms for an answer, then halt; always required:\n              judge\n");
    assert!(!ended.out.contains("judge, judge"), "{}", ended.out);
    let row = ended.out.lines().find(|line| line.ends_with(" judge")).unwrap();
    assert!(row.contains("block") && !row.contains("halt"), "{row}");
    let json = world.run(&["policy", "--json"]).code(0).json();
    assert_eq!(json["routing"]["tiers"][3]["require"], json!(["judge"]));
    let judge = json["guardrails"].as_array().unwrap().iter().find(|one| one["id"] == "judge").unwrap();
    assert_eq!(judge["effect"], "block");
}

#[test]
fn prompt_is_plain_text() {
    let world = World::with_pack(PACK);
    let ended = world.run(&["policy", "--prompt"]).code(0);
    assert!(ended.out.starts_with("Guardrails check everything that you do."), "{}", ended.out);
    assert!(ended.out.contains("- Before you call deploy"), "{}", ended.out);
    assert!(ended.out.contains("- As coder, you may call these tools only: Read, Write."), "{}", ended.out);
    assert!(!ended.out.contains("Think twice"), "shadow guardrails stop nothing");
}

#[test]
fn prompt_shows_recipient_action_and_deadline() {
    let world = World::with_pack(
        "pack: p\ndeadline: 2026-11-15T18:00:00Z\nbudgets: {tokens: 500}\nagents:\n  writer:\n    deadline: 90m\n    \
         completion: {files: [a.md], any: [{command: make}, {todos: none_open}]}\n",
    );
    let ended = world.run(&["policy", "--prompt"]).code(0);
    for part in [
        "- As writer: Before you stop, this is required: `a.md`; one of these (a successful run of `make`, or no open item on \
         the to-do list).",
        "- As writer, you have to be finished 1 h 30 min after the run began.",
        "- You have to be finished by 2026-11-15T18:00:00Z.",
        "- You have a budget of 500 tokens.",
    ] {
        assert!(ended.out.contains(part), "`{part}` is not in:\n{}", ended.out);
    }
    let policy = world.run(&["policy", "--json"]).code(0).json();
    assert!(policy.to_string().contains("\"deadline\":5400"), "{policy}");
}

#[test]
fn json_has_the_whole_policy() {
    let world = World::with_pack(PACK);
    let policy = world.run(&["policy", "--json"]).code(0).json();
    assert_eq!(
        (&policy["packs"][0]["layer"], &policy["packs"][1]["layer"]),
        (&json!("default"), &json!("project"))
    );
    let guardrails = policy["guardrails"].as_array().unwrap();
    let first = guardrails.iter().find(|guardrail| guardrail["id"] == "tests-first").unwrap();
    assert_eq!(
        (&first["line"], &first["locked"], &first["effect"]),
        (&json!(5), &json!(true), &json!("block"))
    );
    assert!(first["file"].as_str().unwrap().ends_with("pack.yaml"));
    assert_eq!(policy["definitions"][0]["name"], "coder");
}

#[test]
fn guardrails_are_filtered_by_tool() {
    let world = World::with_pack(PACK);
    let ended = world.run(&["policy", "--for-tool", "rm"]).code(0).says("careful");
    assert!(!ended.out.contains("tests-first"));
}

#[test]
fn alerts_are_shown() {
    let world = World::with_pack(
        "pack: p\nalerts:\n  - {name: many-blocks, condition: 'block_rate > 30% over 10 minute window', action: notify ada}\n",
    );
    world.run(&["policy"]).code(0).says("many-blocks").says("notify ada");
    let policy = world.run(&["policy", "--json"]).code(0).json();
    let mut alerts = policy["alerts"].as_array().unwrap().iter();
    assert!(alerts.any(|alert| alert["name"] == "many-blocks"), "{policy}");
    world.run(&["lint"]).code(0).says("no issues found");
}

#[test]
fn guardrail_without_description_has_a_summary() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - {id: x, tools: deploy}\n  - {id: y, tools: [a, b], effect: escalate}\n  - {id: z, tools: c, effect: warn}\n",
    );
    world
        .run(&["policy", "--prompt"])
        .code(0)
        .says("`x` does not allow deploy.")
        .says("`y` asks a person about a or b.")
        .says("`z` warns about c.");
}

#[test]
fn authorities_and_channels_are_shown() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - {id: x, tools: deploy, bypass: {allowed: true, requires_approval: architect}}\n\
         approvals:\n  order: [reviewer, architect, human_operator]\n  bypass_timeout: 10m\n\
         \u{20} emergency: {only_for: \"tool.name == 'stop'\", wait: 90s, review_within: 12h}\n\
         notify:\n  architect: {webhook: 'http://127.0.0.1:9/x', log: false}\n",
    );
    let ended = world.run(&["policy"]).code(0);
    for part in [
        "  100       block   x\n                    on before_tool; tools deploy; bypass by architect\n",
        "\napprovals\n  order       reviewer < architect < human_operator\n",
        "\n  supervisor  architect, human_operator\n  people      human_operator\n",
        "\n  time        10 min for each to answer",
        "\n  emergency   for `tool.name == 'stop'`: granted without an answer within 1 min\n              30 s, review due within 12 h\n",
        "\nnotices  (all notices are stored: midrail notices)\n",
        "\n  architect\n    webhook http://127.0.0.1:9/x; not in the log\n",
    ] {
        assert!(ended.out.contains(part), "`{part}` is not in:\n{}", ended.out);
    }
    let policy = world.run(&["policy", "--json"]).code(0).json();
    assert_eq!(policy["approvals"]["emergency"]["wait_s"], 90);
    assert_eq!(policy["notify"]["architect"]["log"], false);
    let x = policy["guardrails"].as_array().unwrap().iter().find(|it| it["id"] == "x").unwrap().clone();
    assert_eq!(x["bypass"], json!({"allowed": true, "requires_approval": "architect"}));
    let plain = World::with_pack("pack: p\n").run(&["policy"]).code(0);
    assert!(plain.out.contains("emergency   off: only a person") && !plain.out.contains("\nnotices"));
}

#[test]
fn omitted_default_pack_is_reported() {
    let world = World::with_pack("pack: p\nextends: none\nguardrails: [safety-001]\n");
    let missing = "sensitive-file (safety-002)";
    world.run(&["policy"]).code(0).says("not protected").says(missing);
    world.run(&["lint"]).code(0).says("the default pack is omitted").says(missing);
    world.run(&["lint", "--strict"]).code(1);
    let policy = world.run(&["policy", "--json"]).code(0).json();
    let unprotected: Vec<&str> =
        policy["unprotected"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(unprotected.contains(&missing) && !unprotected.contains(&"destructive-command (safety-001)"));
    let whole = World::with_pack("pack: p\n").run(&["policy", "--json"]).code(0).json();
    assert_eq!(whole["unprotected"], json!([]));
}

#[test]
fn policy_fits_80_columns() {
    let long = "pack: p\nguardrails:\n  - {id: a-guardrail-with-a-long-name-of-its-own, on: [before_tool, after_tool, \
                before_model, after_model], tools: [Read, Edit, Write, MultiEdit, NotebookEdit, WebFetch, WebSearch], \
                effect: escalate, bypass: {allowed: true, requires_approval: architect}}\nagents:\n  coder:\n    \
                allowed_tools: [Read, Write, Edit, MultiEdit, NotebookEdit, WebFetch, WebSearch, Bash, Glob, Grep]\nalerts:\n  - {name: many-blocks, condition: block_rate > 30% over 10 \
                minute window, action: notify the people who look after it}\n";
    for world in [World::new(), World::with_pack(long), World::with_pack("pack: p\nextends: strict\n")] {
        let ended = world.run(&["policy"]).code(0);
        for line in ended.out.lines() {
            // The path of the temporary folder is as long as it is.
            assert!(line.chars().count() <= 80 || line.contains("/project/"), "{line}");
        }
    }
    World::with_pack(long)
        .run(&["policy"])
        .says("notify the people who look after it")
        .says("Glob")
        .says("bypass by architect")
        .says("escalate  a-guardrail-with");
}
