//! `midrail check`: exit codes, the shape of its answer, where it looks for packs and files.

use serde_json::json;

use crate::world::{World, after, before};

const EVERY_EFFECT: &str = "\
pack: effects
guardrails:
  - secret-redaction
  - {id: w, tools: warned, effect: warn, reason: Think twice.}
  - {id: r, tools: retried, effect: retry, corrective_message: Once more.}
  - {id: e, tools: escalated, effect: escalate, approver: lead, reason: People decide this.}
  - {id: b, tools: blocked, effect: block, reason: Never., advice: Do something else.}
  - {id: h, tools: halted, effect: halt, reason: It is over., user_message: The run was ended.}
";

#[test]
fn every_effect_has_its_exit_code() {
    let world = World::with_pack(EVERY_EFFECT);
    for (tool, code, effect) in [
        ("free", 0, "allow"),
        ("warned", 0, "warn"),
        ("retried", 2, "retry"),
        ("escalated", 2, "escalate"),
        ("blocked", 2, "block"),
        ("halted", 2, "halt"),
    ] {
        let ended = world.feed(&["check", "--json"], before(tool, json!({})).to_string()).code(code);
        assert_eq!(ended.json()["effect"], effect, "{tool}");
    }
    let world = World::with_pack(EVERY_EFFECT);
    let secret = after("Bash", json!({}), "key AKIAABCDEFGHIJKLMNOP");
    let ended = world.feed(&["check", "--json"], secret.to_string()).code(0);
    assert_eq!(ended.json()["effect"], "redact");
    assert!(!ended.out.contains("AKIAABCDEFGHIJKLMNOP"));
}

#[test]
fn people_read_a_block_of_lines() {
    let world = World::with_pack(EVERY_EFFECT);
    let ended = world.check(&before("blocked", json!({"path": "a\u{1b}[31m.rs"}))).code(2);
    let expected = "\
✗ block  before_tool blocked a␛[31m.rs
  by          b
  reason      Never.
  advice      Do something else.
  record      1
";
    assert_eq!(ended.out, expected);
    assert_eq!(ended.err, "");
    let ended = world.check(&before("escalated", json!({}))).code(2);
    assert!(ended.out.contains("(escalation): waits for `lead` until "), "{}", ended.out);
    let ended = world.check(&before("free", json!({}))).code(0);
    assert_eq!(ended.out, "✓ allow  before_tool free\n  record      3\n");
}

#[test]
fn verbose_shows_and_logs_more() {
    let world = World::with_pack(EVERY_EFFECT);
    let event = before("blocked", json!({})).to_string();
    let ended = world.feed(&["check", "-v"], event.clone()).code(2);
    assert!(ended.out.contains("guardrail "), "{}", ended.out);
    assert!(ended.out.contains("(builtin-001)"), "{}", ended.out);
    assert_eq!(ended.err, "");
    world
        .feed(&["check", "-vv"], event.clone())
        .complains("DEBUG policy check policy=b tool=blocked effect=block");
    let mut command = world.command(&["check"]);
    let ended = crate::world::ended(command.env("MIDRAIL_LOG", "warn"), event.into());
    assert_eq!(ended.err, "WARN  policy denied tool execution policy=b tool=blocked reason=\"Never.\"\n");
}

#[test]
fn json_output_is_one_decision() {
    let world = World::with_pack(EVERY_EFFECT);
    let ended = world.feed(&["check", "--json"], before("blocked", json!({})).to_string()).code(2);
    assert_eq!(ended.out.lines().count(), 1);
    let decision = ended.json();
    assert_eq!(decision["by"], "b");
    assert_eq!(decision["advice"], "Do something else.");
    assert_eq!(decision["mode"], "enforce");
    assert_eq!(decision["audit"]["seq"], 1);
    assert!(decision["policy"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(decision["verdicts"][0]["guardrail"], "builtin-001");
}

#[test]
fn state_is_kept_between_processes_and_files_are_read_from_disk() {
    let world = World::new();
    world.write("a.txt", "one");
    let write = before("Write", json!({"file_path": "a.txt"}));
    world.check(&write).code(2).says("must be read before writing");
    world.check(&after("Read", json!({"file_path": "a.txt"}), "one")).code(0);
    world.check(&write).code(0);
    world.write("a.txt", "two");
    world.check(&write).code(2).says("changed on disk");
    assert!(world.default_store().is_file());
}

#[test]
fn root_and_cwd_locate_files() {
    let world = World::new();
    world.write("deep/a.txt", "one");
    let write = before("Write", json!({"file_path": "a.txt"}));
    world.check(&write).code(0);
    let deep = world.path("deep");
    world.feed(&["check", "--root", &deep], write.to_string()).code(2);
    let mut with_cwd = write.clone();
    with_cwd["cwd"] = json!(deep);
    world.check(&with_cwd).code(2);
}

#[test]
fn packs_are_named_or_come_from_layers() {
    let world = World::with_pack("pack: p\nguardrails:\n  - {id: here, tools: x, reason: No.}\n");
    let event = before("x", json!({}));
    world.check(&event).code(2).says("here");
    let named = world.write("other.yaml", "pack: q\nguardrails:\n  - {id: named, tools: x, reason: No.}\n");
    world.feed(&["check", "--pack", &named], event.to_string()).code(2).says("named");
    world.feed(&["check", "--pack", "default"], event.to_string()).code(0);
    // Packs further in add to those further out, and take none of them away.
    world.write("inner/.midrail/p.yaml", "pack: r\nguardrails:\n  - {id: inner, tools: y, reason: No.}\n");
    let inside = |tool: &str| {
        let mut event = before(tool, json!({}));
        event["cwd"] = json!(world.path("inner"));
        event
    };
    world.check(&inside("x")).code(2).says("here");
    world.check(&inside("y")).code(2).says("inner");
}

#[test]
fn changing_directory_keeps_the_guardrails() {
    let world = World::with_pack("pack: p\nguardrails:\n  - {id: here, tools: x, reason: No.}\n");
    let at = |cwd: &str| json!({"kind": "before_tool", "session": "s", "cwd": cwd, "tool": {"name": "x"}});
    world.check(&at(&world.path(""))).code(2).says("here");
    world.check(&at("/tmp")).code(2).says("here");
    world.check(&at("/no/such/folder")).code(2).says("here");
}

#[test]
fn environment_selects_an_overlay() {
    let text = "pack: p\nguardrails:\n  - {id: g, tools: x, effect: warn, reason: No.}\nenv:\n  prod:\n    guardrails:\n      - {id: g, effect: block}\n";
    let world = World::with_pack(text);
    let event = before("x", json!({})).to_string();
    world.feed(&["check"], event.clone()).code(0);
    world.feed(&["check", "--env", "prod"], event.clone()).code(2);
    world
        .feed(&["check", "--env", "nope"], event)
        .code(1)
        .complains("no pack has an overlay for the environment `nope`");
}

#[test]
fn event_is_read_from_file_or_standard_input() {
    let world = World::new();
    let path = world.write("event.json", before("x", json!({})).to_string());
    world.run(&["check", &path]).code(0);
    world.feed(&["check", "-"], before("x", json!({})).to_string()).code(0);
}

#[test]
fn command_line_limits_apply_to_events() {
    let world = World::with_pack("pack: p\nguardrails:\n  - completion: {files: [a.txt]}\n");
    let event =
        |kind: &str, time: &str| json!({"kind": kind, "session": "s", "time": time, "tool": {"name": "t"}});
    let check = |args: &[&str], event: &serde_json::Value| {
        let args: Vec<&str> = ["check", "--json"].iter().chain(args).copied().collect();
        world.feed(&args, event.to_string()).json()
    };
    let two_hours = &["--deadline", "2h"][..];
    assert_eq!(check(two_hours, &event("before_tool", "2026-11-15T10:00:00Z"))["effect"], "allow");
    let later = check(two_hours, &event("before_tool", "2026-11-15T11:00:00Z"));
    assert_eq!((&later["effect"], &later["autonomy"]), (&json!("allow"), &json!("strict")));
    assert_eq!(check(two_hours, &event("before_stop", "2026-11-15T11:30:00Z"))["effect"], "retry");
    // The two hours began with the first event, in another process.
    assert_eq!(check(two_hours, &event("before_tool", "2026-11-15T12:00:00Z"))["autonomy"], "halt");
    assert_eq!(check(two_hours, &event("before_stop", "2026-11-15T12:00:00Z"))["effect"], "allow");
    let mut own = event("before_tool", "2026-11-15T12:00:00Z");
    own["deadline"] = json!("2026-11-16T12:00:00Z");
    assert_eq!(
        check(two_hours, &own)["autonomy"],
        "halt",
        "an event cannot loosen limits of the command line"
    );
    // Events that name no session have a beginning, too.
    let unnamed = |time: &str| json!({"kind": "before_tool", "time": time, "tool": {"name": "t"}});
    assert_eq!(check(two_hours, &unnamed("2026-11-15T10:00:00Z"))["effect"], "allow");
    assert_eq!(check(two_hours, &unnamed("2026-11-15T12:00:00Z"))["autonomy"], "halt");

    let mut used = event("before_tool", "2026-11-15T10:00:00Z");
    used["session"] = json!("other");
    used["usage"] = json!({"tokens": 100, "cost": 2.5});
    assert_eq!(check(&["--token-budget", "100"], &used)["autonomy"], "halt");
    assert_eq!(check(&["--cost-budget", "2.50"], &used)["autonomy"], "halt");
    assert_eq!(check(&["--token-budget", "1000", "--time-budget", "1h"], &used)["effect"], "allow");
    let at = &["--deadline", "2026-11-15T09:00:00Z", "--stream"][..];
    assert_eq!(check(at, &used)["autonomy"], "halt");
    for wrong in [["--deadline", "soon"], ["--cost-budget", "-1"], ["--time-budget", "x"]] {
        let args: Vec<&str> = ["check"].iter().chain(&wrong).copied().collect();
        assert_ne!(world.feed(&args, used.to_string()).code, 0, "{wrong:?}");
    }
}

#[test]
fn command_is_checked_without_an_event() {
    let world = World::new();
    world.run(&["check", "--bash", "rm -rf ~"]).code(2).says("✗ block  before_tool Bash rm -rf ~");
    let force = "git push --force origin main";
    world.run(&["check", "--bash", force]).code(2).says("destructive-command (safety-001)");
    world.run(&["check", "--bash", "ls"]).code(0).says("✓ allow");
    let json = world.run(&["check", "--json", "--bash", force]).code(2).json();
    assert_eq!(json["by"], "safety-001");
}

#[test]
fn call_is_checked_without_an_event() {
    let pack = "pack: p\nguardrails:\n  - {id: refunds, tools: refund, check: tool.args.amount <= 100}\n";
    let world = World::with_pack(pack);
    let check = |args: &str| world.run(&["check", "--tool", "refund", "--args", args]);
    check(r#"{"amount": 80}"#).code(0);
    check(r#"{"amount": 800}"#).code(2).says("refunds");
    check(r#"{"amount": "80"}"#).code(2).says("`tool.args.amount` is a text, where a number is needed");
    check(r#"{"amount": null}"#).code(2).says("`tool.args.amount` is null, where a number is needed");
    world.run(&["check", "--tool", "refund"]).code(2).says("`tool.args.amount` is not known");
    for wrong in ["80", "[1]", "{amount: 80}"] {
        check(wrong).code(1).complains("expected a JSON object such as");
    }
    world.run(&["check", "--args", "{}"]).code(1).complains("--tool");
    world.run(&["check", "--tool", "a", "--bash", "b"]).code(1).complains("cannot be used with");
}

#[test]
fn text_in_place_of_an_event_is_explained() {
    World::new()
        .run(&["check", "rm -rf ~"])
        .code(1)
        .complains("there is no file `rm -rf ~`")
        .complains("use `--bash COMMAND`");
}
