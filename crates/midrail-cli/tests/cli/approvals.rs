//! Requests to people, between real processes: the agent's, and those of the people who answer.

use std::fs;
use std::process::{Child, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::world::{Ended, World};

const PACK: &str = "pack: shop
guardrails:
  - {id: friday, tools: deploy, effect: block, reason: It is Friday, bypass: {allowed: true, requires_approval: architect}}
  - {id: ask, tools: refund, effect: escalate, approver: reviewer}
";

pub(crate) fn call(tool: &str, args: Value) -> Value {
    json!({"kind": "before_tool", "session": "s-1", "agent": {"id": "coder"}, "tool": {"name": tool, "args": args}})
}

/// A world with a key for each role.
fn world() -> World {
    world_of(PACK)
}

pub(crate) fn world_of(pack: &str) -> World {
    let world = World::with_pack(pack);
    for role in ["human_operator", "architect", "reviewer"] {
        let name = format!("{role}-1");
        let add = ["approver", "add", &name, "--role", role];
        let ended = match role {
            "human_operator" => world.run(&add),
            _ => {
                let key = world.read("../keys/human_operator");
                world.feed(&[&add[..], &["--as", "human_operator-1", "--key-fd", "0"]].concat(), key)
            }
        };
        world.write(&format!("../keys/{role}"), ended.code(0).out.lines().next().unwrap());
    }
    world
}

/// Runs a subcommand of an approver, with their key on standard input.
pub(crate) fn with_key(world: &World, role: &str, args: &[&str]) -> Ended {
    let key = world.read(&format!("../keys/{role}"));
    let name = format!("{role}-1");
    let more = ["--as", &name, "--key-fd", "0"];
    let subcommand: &[&str] = if args.first() == Some(&"approver") { &[] } else { &["approvals"] };
    world.feed(&[subcommand, args, &more].concat(), format!("{key}\n"))
}

pub(crate) fn request(world: &World, decision: &Ended, more: &[&str]) -> String {
    let seq = decision.json()["audit"]["seq"].to_string();
    let args = [
        "approvals",
        "request",
        "--json",
        "--decision",
        &seq,
        "--reason",
        "The login outage needs this release",
    ];
    world.run(&[&args, more].concat()).code(0).json()["id"].as_str().unwrap().to_owned()
}

pub(crate) fn check(world: &World, event: &Value) -> Ended {
    world.feed(&["check", "--json"], event.to_string())
}

#[test]
fn approved_call_is_allowed_once() {
    let world = world();
    let deploy = call("deploy", json!({"to": "prod"}));
    let stopped = check(&world, &deploy).code(2);
    let advice = stopped.json()["advice"].as_str().unwrap().to_owned();
    assert!(advice.contains("`midrail approvals request --decision 4 --reason \"…\"`"), "{advice}");
    let id = request(&world, &stopped, &[]);
    world.run(&["approvals", "wait", &id, "--timeout", "1ms"]).code(5).says("? pending");
    world.check(&deploy).code(2).says(&format!("midrail approvals wait {id}"));

    with_key(&world, "reviewer", &["approve", &id]).code(1).complains("is for the role `architect`");
    with_key(&world, "architect", &["approve", &id, "--note", "go"]).code(0).says("✓ approved");
    with_key(&world, "architect", &["approve", &id]).code(1).complains("is approved and cannot be answered");
    world.run(&["approvals", "wait", &id]).code(0).says("✓ approved");
    world.check(&call("deploy", json!({"to": "prod", "force": true}))).code(2);
    check(&world, &deploy).code(0);
    check(&world, &deploy).code(2);
    let shown = world.run(&["approvals", "show", &id, "--json"]).code(0).json();
    assert_eq!((&shown["status"], &shown["decided_by"]), (&json!("used"), &json!("architect-1")));
    assert!(shown["history"].as_array().unwrap().len() >= 4, "{shown}");
    world.run(&["audit", "verify"]).code(0);
    world
        .run(&["audit", "list", "--session", "s-1"])
        .code(0)
        .says("approved by architect-1")
        .says("bypass requested");
}

#[test]
fn denials_and_waits_have_exit_codes() {
    let world = world();
    let held = check(&world, &call("refund", json!({"order": 7}))).code(2);
    let id = held.json()["approval"]["id"].as_str().unwrap().to_owned();
    with_key(&world, "human_operator", &["deny", &id, "--note", "no"]).code(0).says("✗ denied");
    world.run(&["approvals", "wait", &id]).code(3).says("✗ denied");
    world.check(&call("refund", json!({"order": 7}))).code(2).says("denied by human_operator-1");
    world.run(&["approvals", "wait", "nothing"]).code(1).complains("there is no approval `nothing`");

    let world =
        World::with_pack(&PACK.replace("approver: reviewer", "approver: reviewer, approval_timeout: 1s"));
    let held = check(&world, &call("refund", json!({}))).code(2);
    let id = held.json()["approval"]["id"].as_str().unwrap().to_owned();
    world.run(&["approvals", "wait", &id]).code(4).says("– timed out");
    world.run(&["approvals", "show", &id]).code(0).says("this is not a denial");
}

#[test]
fn wrong_key_is_rejected_without_naming_approvers() {
    let world = world();
    let held = check(&world, &call("refund", json!({}))).code(2);
    let id = held.json()["approval"]["id"].as_str().unwrap().to_owned();
    let answer = |name: &str, key: &str| {
        world.feed(&["approvals", "approve", &id, "--as", name, "--key-fd", "0"], key).code(1).err
    };
    let wrong = answer("reviewer-1", "mrk_wrong");
    assert!(wrong.contains("there is no approver `reviewer-1` with this key"), "{wrong}");
    assert_eq!(wrong.replace("reviewer-1", "eve"), answer("eve", "mrk_wrong"));
    assert!(answer("reviewer-1", "").contains("no key was given"));
    world.run(&["approvals", "approve", &id, "--as", "reviewer-1", "--key", "x"]).code(1).complains("--key");
    assert_eq!(world.run(&["approvals", "wait", &id, "--timeout", "0s"]).code, 5);
    world.run(&["approver", "revoke", "reviewer-1"]).code(1).complains("one of them has to authorise this");
    with_key(&world, "architect", &["approver", "revoke", "reviewer-1"]).code(1).complains("first approver");
    with_key(&world, "human_operator", &["approver", "revoke", "reviewer-1"]).code(0);
    with_key(&world, "reviewer", &["approve", &id]).code(1);
}

#[test]
fn approver_key_is_not_stored() {
    let world = world();
    let held = check(&world, &call("refund", json!({}))).code(2);
    let id = held.json()["approval"]["id"].as_str().unwrap().to_owned();
    let key = world.read("../keys/reviewer");
    let noted =
        with_key(&world, "reviewer", &["approve", &id, "--note", &format!("mine is {key}"), "-vv"]).code(0);
    assert!(!noted.out.contains(&key) && !noted.err.contains(&key), "{}\n{}", noted.out, noted.err);
    for entry in fs::read_dir(world.default_store().parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(key.len()).any(|part| part == key.as_bytes()), "{}", path.display());
    }
    let listed = world.run(&["approver", "list"]).code(0).says("reviewer-1").says("architect");
    assert!(!listed.out.contains("mrk_"));
    let add = |more: &[&str]| with_key(&world, "human_operator", &[&["approver", "add"], more].concat());
    add(&["chef", "--role", "cook"]).code(0).complains("does not rank the role `cook`");
    add(&["chef", "--role", "cook"]).code(1).complains("already");
    let added = add(&["zoe", "--role", "reviewer", "--json"]).code(0).json();
    assert!(added["key"].as_str().unwrap().starts_with("mrk_"));
}

#[test]
fn waiting_check_receives_answer_of_another_process() {
    let world = world();
    world.write("event.json", call("refund", json!({"order": 1})).to_string());
    let start = || -> Child {
        let mut command = world.command(&["check", "--json", "--wait", "60s", "event.json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for (subcommand, code) in [("approve", 0), ("deny", 2)] {
        let child = start();
        let pending = || world.run(&["approvals", "list", "--json"]).json_lines();
        let id = (0..500)
            .find_map(|_| pending().first().map(|row| row["id"].as_str().unwrap().to_owned()))
            .unwrap();
        with_key(&world, "reviewer", &[subcommand, &id]).code(0);
        let ended: Ended = child.wait_with_output().unwrap().into();
        ended.code(code);
    }
    // Without an answer in time, the escalation and its exit code stay.
    world.write("event.json", call("refund", json!({"order": 2})).to_string());
    let left = world.run(&["check", "--wait", "200ms", "event.json"]).code(2);
    left.says("? escalate").says("midrail approvals approve ");
    world.run(&["check", "--wait", "soon", "event.json"]).code(1).complains("is not a duration");
}

#[test]
fn only_one_of_two_concurrent_answers_wins() {
    let world = world();
    for order in 0..3 {
        let held = check(&world, &call("refund", json!({"order": order}))).code(2);
        let id = held.json()["approval"]["id"].as_str().unwrap().to_owned();
        let codes = thread::scope(|scope| {
            let yes = scope.spawn(|| with_key(&world, "reviewer", &["approve", &id]).code);
            let no = scope.spawn(|| with_key(&world, "architect", &["deny", &id]).code);
            [yes.join().unwrap(), no.join().unwrap()]
        });
        // A denial wins, also over an earlier approval that is not used yet.
        assert_eq!(codes[1], 0, "{codes:?}");
        check(&world, &call("refund", json!({"order": order}))).code(2);
    }
}

#[test]
fn denial_revokes_an_unused_approval() {
    let world = world();
    let held = |order: u64| {
        let held = check(&world, &call("refund", json!({"order": order}))).code(2);
        held.json()["approval"]["id"].as_str().unwrap().to_owned()
    };
    let id = held(1);
    with_key(&world, "reviewer", &["approve", &id]).code(0);
    world.run(&["approvals", "show", &id]).code(0).says(&format!("midrail approvals deny {id} --as NAME"));
    with_key(&world, "architect", &["deny", &id, "--note", "the shop is closed"])
        .code(0)
        .says("✗ denied")
        .says("the approval by reviewer-1 is revoked");
    world.run(&["approvals", "wait", &id]).code(3).says("by architect-1");
    world.run(&["approvals", "show", &id]).code(0).says("revoked     the approval by reviewer-1");
    world.check(&call("refund", json!({"order": 1}))).code(2).says("approval taken back by architect-1");
    with_key(&world, "architect", &["deny", &id]).code(1).complains("is denied and cannot be answered");

    let ids = [held(2), held(3)];
    for id in &ids {
        with_key(&world, "reviewer", &["approve", id]).code(0);
    }
    check(&world, &call("refund", json!({"order": 2}))).code(0);
    with_key(&world, "human_operator", &["approver", "revoke", "reviewer-1"])
        .code(0)
        .says("reviewer-1 is revoked, with 1 unused approval");
    world.check(&call("refund", json!({"order": 3}))).code(2).says("taken back by human_operator-1");
    world.run(&["audit", "list", "--session", "s-1"]).code(0).says("revoked by human_operator-1");
    world.run(&["audit", "verify"]).code(0);
}

#[test]
fn emergency_without_override_is_reported() {
    let more = "approvals: {emergency: {only_for: \"tool.args.to == 'stage'\", wait: 1s}}\n";
    let world = world_of(&format!("{PACK}{more}"));
    let ask = |decision: Ended, more: &[&str]| {
        let seq = decision.json()["audit"]["seq"].to_string();
        let args =
            ["approvals", "request", "--decision", &seq, "--reason", "The login outage needs this release"];
        world.run(&[&args, more].concat()).code(0)
    };
    let emergency = ["--urgency", "emergency"];
    // One that the packs do not turn it on for.
    let deploy = call("deploy", json!({"to": "prod"}));
    ask(check(&world, &deploy).code(2), &emergency).says("no emergency override, because the packs");
    let row = world.run(&["approvals", "list", "--json"]).code(0).json_lines().pop().unwrap();
    assert_eq!(
        (&row["status"], &row["urgency"], row.get("override_at")),
        (&json!("pending"), &json!("emergency"), None)
    );
    let id = row["id"].as_str().unwrap();
    world.run(&["approvals", "wait", id, "--timeout", "1200ms"]).code(5).says("? pending");
    world.run(&["approvals", "show", id]).code(0).says("no emergency override");
    with_key(&world, "architect", &["deny", id]).code(0);

    // And one that a person has denied.
    let deploy = call("deploy", json!({"to": "stage"}));
    let stopped = check(&world, &deploy).code(2);
    let id = request(&world, &stopped, &[]);
    with_key(&world, "architect", &["deny", &id]).code(0);
    let denied = check(&world, &deploy).code(2);
    let advice = denied.json()["advice"].as_str().unwrap().to_owned();
    assert!(advice.contains("A person denied") && !advice.contains("emergency"), "{advice}");
    ask(denied, &emergency).says("a person denied this action before: only a person can answer");
    let row = world.run(&["approvals", "list", "--json"]).code(0).json_lines().pop().unwrap();
    assert_eq!((row.get("override_at"), &row["denied_before"]), (None, &json!(id)));
    world.run(&["approvals", "wait", row["id"].as_str().unwrap(), "--timeout", "1200ms"]).code(5);
    check(&world, &deploy).code(2);
}

#[test]
fn approval_request_ignores_packs_of_the_agent() {
    let world = world();
    let stopped = check(&world, &call("deploy", json!({}))).code(2);
    let seq = stopped.json()["audit"]["seq"].to_string();
    // Neither a pack of its own, nor the folder that it stands in.
    let lax = "pack: lax\napprovals: {emergency: {only_for: 'true', wait: 0s}}\nguardrails:\n  - {id: friday, tools: deploy, effect: block, bypass: {allowed: true, requires_approval: coder}}\n";
    let pack = world.write("lax/.midrail/pack.yaml", lax);
    let args = [
        "approvals",
        "request",
        "--json",
        "--decision",
        &seq,
        "--reason",
        "The login outage needs it",
        "--urgency",
        "emergency",
    ];
    world.run(&[&args[..], &["--pack", &pack]].concat()).code(1);
    let mut command = world.command(&args);
    command.current_dir(world.project().join("lax"));
    let requested = crate::world::ended(&mut command, Vec::new()).code(0).json();
    assert_eq!(requested["approver"], json!("architect"));
    assert_eq!(requested.get("override_at"), None);
}

/// What differs from run to run is replaced.
fn steady(text: &str, id: &str) -> String {
    let mut out = String::new();
    for word in text.replace(id, "ID").split_inclusive([' ', '\n']) {
        let bare = word.trim_end();
        let is_day = bare.len() == 10 && bare.starts_with("20") && bare.matches('-').count() == 2;
        let is_clock = bare.len() == 9 && bare.ends_with('Z') && bare.matches(':').count() == 2;
        out.push_str(&match (is_day, is_clock) {
            (true, _) => word.replace(bare, "DAY"),
            (_, true) => word.replace(bare, "TIME"),
            _ => word.to_owned(),
        });
    }
    out
}

#[test]
fn list_and_show_print_all_fields() {
    let world = World::with_pack(
        &PACK.replace("requires_approval: architect}", "requires_approval: architect}, approver: architect"),
    );
    let stopped = check(&world, &call("deploy", json!({"to": "prod"}))).code(2);
    world.run(&["approvals", "list"]).code(0).says("no requests are pending");
    let id = request(&world, &stopped, &["--urgency", "urgent"]);
    let list = world.run(&["approvals", "list"]).code(0).out;
    let list = steady(&list.replace("29 min 59 s", "30 min     "), &id);
    let rows: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(
        rows[0],
        ["id", "status", "urgency", "for", "time left", "what", "requested by", "guardrail", "answered by"]
    );
    assert_eq!(
        rows[1],
        ["ID", "? pending", "urgent", "architect", "30 min", "deploy prod", "coder", "friday"],
        "{list}"
    );
    let show = world.run(&["approvals", "show", &id]).code(0).out;
    assert!(!show.contains('\u{1b}'), "colours are off when piped");
    let show = steady(&show, &id);
    for line in [
        "? pending  deploy prod\n",
        "  guardrail   friday: bypass, urgent\n",
        "  blocked     It is Friday\n",
        "  needed for  The login outage needs this release\n",
        "  agent       coder\n",
        "  bound to    the exact action, session and task; any agent",
        "  arguments   {\"to\":\"prod\"}\n",
        "              then human_operator\n",
        "  The session around it\n",
        "  midrail approvals approve ID --as NAME --note \"…\"\n",
    ] {
        assert!(show.contains(line), "`{line}` is not in:\n{show}");
    }
    world.run(&["approvals", "list", "--mine-role", "reviewer"]).code(0).says("no requests are pending");
    world.run(&["approvals", "list", "--mine-role", "human_operator"]).code(0).says(&id);
    world.run(&["approvals", "list", "--state", "denied"]).code(0).says("no requests are denied");
    world.run(&["approvals", "list", "--overdue"]).code(0).says("no review is overdue");
    world.run(&["approvals", "list", "--color", "always"]).code(0).says("\u{1b}[33m? pending");
}

#[test]
fn overdue_review_is_listed_first_until_filed() {
    let more = "approvals: {emergency: {only_for: \"tool.name == 'deploy'\", wait: 1s, review_within: 1s}}\n";
    let world = world();
    world.write(".midrail/pack.yaml", format!("{PACK}{more}"));
    let deploy = call("deploy", json!({"to": "prod"}));
    let id = request(&world, &check(&world, &deploy).code(2), &["--urgency", "emergency"]);
    world.run(&["approvals", "wait", &id, "--timeout", "30s"]).code(0).says("! override");
    check(&world, &deploy).code(0);
    check(&world, &deploy).code(2);
    let is_overdue = |_| world.run(&["approvals", "list", "--overdue", "--json"]).json_lines().pop();
    let row = (0..500).find_map(is_overdue).unwrap();
    assert_eq!((&row["severity"], &row["review_status"]), (&json!("critical"), &json!("overdue")));
    let list = world.run(&["approvals", "list", "--color", "always"]).code(0).out;
    assert!(list.starts_with("\u{1b}[1;31m✗ review overdue by "), "{list}");
    let text = "The release had to go out; it was right, and a runbook follows from it.";
    with_key(&world, "reviewer", &["review", &id, "--text", text]).code(1).complains("cannot review");
    with_key(&world, "architect", &["review", &id, "--text", text]).code(0).says("is filed by architect-1");
    world.run(&["approvals", "list", "--overdue"]).code(0).says("no review is overdue");
    world.run(&["approvals", "show", &id]).code(0).says("filed by architect-1");
}
