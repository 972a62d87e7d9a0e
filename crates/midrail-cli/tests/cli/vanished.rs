//! Packs that vanish in the middle of a session, as they do with a stash or another branch: each event is a process of its
//! own, and none of them decides by less than the one before.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{Ended, World, before};

const NO_DEPLOY: &str = "pack: p\nguardrails:\n  - {id: no-deploy, tools: deploy, reason: not from here}\n";

fn git(world: &World, args: &[&str]) {
    let ended = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(world.project())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(ended.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// A repository with one commit, and then a pack.
fn repository() -> World {
    let world = World::new();
    world.write("readme", "hello");
    git(&world, &["init", "-q"]);
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "first"]);
    world.write(".midrail/pack.yaml", NO_DEPLOY);
    world
}

fn hook(world: &World, session: &str, event: &str, more: Value) -> Ended {
    let mut payload = json!({"hook_event_name": event, "session_id": session, "cwd": world.project()});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.feed(&["hook", "claude-code"], payload.to_string())
}

/// The answer of a hook to a call.
fn deploy(world: &World, session: &str) -> Ended {
    let call = json!({"tool_name": "deploy", "tool_input": {}, "tool_use_id": "t"});
    hook(world, session, "PreToolUse", call).code(0)
}

fn is_denied(ended: &Ended) -> bool {
    ended.out.contains("\"deny\"") && ended.out.contains("no-deploy")
}

fn in_session(session: &str, tool: &str) -> Value {
    let mut event = before(tool, json!({}));
    event["session"] = json!(session);
    event
}

#[test]
fn hook_keeps_the_session_policy_after_git_stash() {
    let world = repository();
    assert!(is_denied(&deploy(&world, "s-1")));
    git(&world, &["stash", "-u", "-q"]);
    assert!(!world.project().join(".midrail").exists());
    let denied = deploy(&world, "s-1");
    assert!(is_denied(&denied), "{}", denied.out);

    // Another session has what is there.
    assert!(!is_denied(&deploy(&world, "s-2")));
    assert!(is_denied(&deploy(&world, "s-1")));

    // One notice is sent, and every record replays with its policy.
    let notices = world.run(&["notices", "--json"]).code(0);
    assert_eq!(
        notices.out.matches("is missing, and without it less would be enforced").count(),
        1,
        "{}",
        notices.out
    );
    world.run(&["audit", "replay"]).code(0);

    // It is back, and then gone for good.
    git(&world, &["stash", "pop", "-q"]);
    assert!(is_denied(&deploy(&world, "s-1")));
    git(&world, &["clean", "-fdxq"]);
    assert!(is_denied(&deploy(&world, "s-1")));
    for source in ["resume", "compact"] {
        hook(&world, "s-1", "SessionStart", json!({"source": source})).code(0);
        assert!(is_denied(&deploy(&world, "s-1")), "{source}");
    }
    hook(&world, "s-1", "SessionStart", json!({"source": "startup"})).code(0);
    assert!(!is_denied(&deploy(&world, "s-1")));
}

#[test]
fn check_keeps_the_session_policy_on_another_branch() {
    let world = repository();
    git(&world, &["switch", "-qc", "work"]);
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "a pack"]);
    world.check(&in_session("s-1", "look")).code(0);
    git(&world, &["switch", "-q", "main"]);
    let first = world.feed(&["check", "--json"], in_session("s-1", "look").to_string()).code(0).json();
    let report = first["feedback"][0].as_str().unwrap_or_default();
    for part in ["pack.yaml` is missing", "edit the file", "start a new session"] {
        assert!(report.contains(part), "`{part}` is not in {first}");
    }
    let next = world.feed(&["check", "--json"], in_session("s-1", "look").to_string()).code(0).json();
    assert!(!next.to_string().contains("is missing"), "{next}");
    world.check(&in_session("s-1", "deploy")).code(2).says("not from here");
    world.check(&in_session("s-2", "deploy")).code(0);
    // An event without a session has no earlier policy.
    world.check(&json!({"kind": "before_tool", "tool": {"name": "deploy"}})).code(0);
}

#[test]
fn changed_pack_applies_to_the_running_session() {
    let world = World::with_pack(NO_DEPLOY);
    world.check(&in_session("s-1", "deploy")).code(2);
    world.write(".midrail/pack.yaml", NO_DEPLOY.replace("tools: deploy", "tools: publish"));
    world.check(&in_session("s-1", "deploy")).code(0);
    world.check(&in_session("s-1", "publish")).code(2);
    // The last policy in force is kept, also next to packs that still exist.
    world.write(".midrail/second.yaml", "pack: q\nguardrails:\n  - {id: no-send, tools: send}\n");
    world.check(&in_session("s-1", "send")).code(2);
    fs::remove_file(world.path(".midrail/pack.yaml")).unwrap();
    world.check(&in_session("s-1", "deploy")).code(0);
    world.check(&in_session("s-1", "publish")).code(2);
    world.check(&in_session("s-1", "send")).code(2);
}

#[test]
fn removed_named_packs_stay_in_force() {
    let world = World::new();
    world.write("rules/a.yaml", NO_DEPLOY);
    world.write("rules/b.yaml", "pack: q\nguardrails:\n  - {id: no-send, tools: send}\n");
    let check =
        |pack: &str, tool: &str| world.feed(&["check", "--pack", pack], in_session("s-1", tool).to_string());
    check("rules", "deploy").code(2);
    fs::remove_file(world.path("rules/a.yaml")).unwrap();
    check("rules", "deploy").code(2).says("not from here");
    // Packs that are named replace it.
    check("rules/b.yaml", "deploy").code(0);
}

#[test]
fn removed_pack_stays_in_force_per_folder() {
    let world = World::new();
    for folder in ["one", "two"] {
        world.write(&format!("{folder}/.midrail/pack.yaml"), NO_DEPLOY);
    }
    let check = |folder: &str| {
        let mut event = in_session(folder, "deploy");
        event["cwd"] = json!(world.path(folder));
        world.check(&event)
    };
    check("one").code(2);
    check("two").code(2);
    fs::remove_dir_all(world.path("two/.midrail")).unwrap();
    check("two").code(2).says("not from here");
    check("two").code(2).says("not from here");
    check("one").code(2);
    fs::remove_dir_all(world.path("one/.midrail")).unwrap();
    check("one").code(2).says("not from here");
}

#[test]
fn pack_of_a_left_folder_does_not_apply() {
    let world = World::with_pack("pack: q\nguardrails:\n  - {id: no-send, tools: send}\n");
    world.write("tree/.midrail/pack.yaml", NO_DEPLOY);
    let check = |folder: &str, tool: &str| {
        let mut event = in_session("s-1", tool);
        event["cwd"] = json!(world.path(folder));
        world.check(&event)
    };
    check("", "deploy").code(0);
    check("tree", "deploy").code(2);
    fs::remove_file(world.path("tree/.midrail/pack.yaml")).unwrap();
    check("tree", "deploy").code(2).says("not from here");
    fs::remove_dir_all(world.path("tree")).unwrap();
    check("", "deploy").code(0);
    check("", "send").code(2);
}

#[test]
fn removed_user_pack_stays_in_force() {
    let world = World::new();
    let pack = world.write("../config/midrail/pack.yaml", NO_DEPLOY);
    world.check(&in_session("s-1", "deploy")).code(2);
    fs::remove_file(pack).unwrap();
    world.check(&in_session("s-1", "deploy")).code(2).says("not from here");
    world.check(&in_session("s-2", "deploy")).code(0);
}

#[test]
fn missing_script_blocks() {
    let script = "export default { input: () => ({ allowed: true }) };\n";
    for settings in ["", "pack: p\nscripts: {on_error: allow}\n"] {
        let world = World::new();
        if !settings.is_empty() {
            world.write(".midrail/pack.yaml", settings);
        }
        world.write(".midrail/guardrails.js", script);
        world.check(&in_session("s-1", "deploy")).code(0);
        fs::remove_file(world.path(".midrail/guardrails.js")).unwrap();
        world.check(&in_session("s-1", "deploy")).code(2).says("project-script").says("guardrails.js");
        world.check(&in_session("s-1", "deploy")).code(2);
        world.check(&json!({"kind": "session_end", "session": "s-1"})).code(0);
        world.check(&in_session("s-2", "deploy")).code(0);
        world.write(".midrail/guardrails.js", script);
        world.check(&in_session("s-1", "deploy")).code(0);
        world.run(&["audit", "replay"]).code(0);
    }
}

#[test]
fn unavailable_policy_blocks() {
    let world = World::with_pack(NO_DEPLOY);
    world.check(&in_session("s-1", "look")).code(0);
    let store = rusqlite::Connection::open(world.default_store()).unwrap();
    store.execute_batch("DROP TRIGGER policies_stay; DELETE FROM policies").unwrap();
    drop(store);
    fs::remove_dir_all(world.path(".midrail")).unwrap();
    world.check(&in_session("s-1", "look")).code(2).says("pack.yaml` is missing").says("start a new session");
    let call = json!({"tool_name": "look", "tool_input": {}, "tool_use_id": "t"});
    hook(&world, "s-1", "PreToolUse", call).code(2).complains("is missing");
    world.check(&in_session("s-2", "look")).code(0);
}
