//! Tests of file-ownership.

use super::*;
use crate::tests::Run;
use midrail_core::{Agent, Event, ToolResult};
use serde_json::Value;
use serde_json::json;

fn by(agent: &str, at: &str, event: Event) -> Event {
    Event {
        agent: Some(Agent { id: Some(agent.into()), ..Agent::default() }),
        time: Some(format!("2026-11-15T{at}Z").parse().unwrap()),
        cwd: Some("/repo".into()),
        ..event
    }
}

fn write(agent: &str, at: &str, file: &str) -> Event {
    by(agent, at, Event::before_tool("Write", json!({"file_path": file})))
}

fn bash(agent: &str, at: &str, command: &str) -> Event {
    by(agent, at, Event::before_tool("Bash", json!({"command": command})))
}

fn run(settings: Value) -> Run {
    Run::of(serde_json::from_value::<FileOwnership>(settings).unwrap())
}

#[test]
fn file_of_another_agent_is_locked_until_the_lock_expires() {
    let mut run = run(json!({"expires": "10m"}));
    assert_eq!(run.decide(&write("ann", "10:00:00", "src/a.rs")).effect, Effect::Allow);
    let decision = run.decide(&write("bob", "10:09:59", "./src/x/../a.rs"));
    assert_eq!(decision.effect, Effect::Block);
    for part in ["`ann`", "since 2026-11-15T10:00:00Z", "until 2026-11-15T10:10:00Z"] {
        assert!(decision.reason.contains(part), "{}", decision.reason);
    }
    assert_eq!(decision.metadata["holder"], json!("ann"));
    assert_eq!(run.decide(&write("bob", "10:09:59", "src/b.rs")).effect, Effect::Allow);
    assert_eq!(run.decide(&write("bob", "10:10:00", "src/a.rs")).effect, Effect::Allow);
    assert_eq!(run.decide(&write("ann", "10:10:01", "src/a.rs")).effect, Effect::Block);
}

#[test]
fn each_write_renews_the_lock() {
    let mut run = run(json!({"expires": "10m"}));
    run.decide(&write("ann", "10:00:00", "a"));
    run.decide(&write("ann", "10:08:00", "a"));
    let decision = run.decide(&write("bob", "10:15:00", "a"));
    assert!(decision.reason.contains("since 2026-11-15T10:00:00Z"), "{}", decision.reason);
    assert_eq!(decision.effect, Effect::Block);
}

#[test]
fn writes_of_commands_and_scripts_count() {
    let mut run = run(json!({})).with_file("fix.sh", "echo x > a\n");
    run.decide(&write("ann", "10:00:00", "a"));
    for command in ["echo x > a", "sed -i s/x/y/ a", "bash -c 'cp b a'", "rm a"] {
        assert_eq!(run.decide(&bash("bob", "10:01:00", command)).effect, Effect::Block, "{command}");
    }
    assert_eq!(run.decide(&bash("bob", "10:01:00", "cat a; ls > /dev/null")).effect, Effect::Allow);
    assert_eq!(run.decide(&bash("bob", "10:01:00", "sh fix.sh")).effect, Effect::Allow);
    run.set(&midrail_core::written_key("fix.sh"), json!(true));
    assert_eq!(run.decide(&bash("bob", "10:01:00", "sh fix.sh")).effect, Effect::Block);
}

#[test]
fn own_lock_is_renewed() {
    let mut run = run(json!({"expires": "10m"}));
    let lock = |agent, at| by(agent, at, Event::before_tool("lock_file", json!({"path": "a"})));
    for at in ["10:00:00", "10:05:00"] {
        assert_eq!(run.decide(&lock("ann", at)).effect, Effect::Allow, "{at}");
    }
    // It lasts from the second time on, and is one lock: released once, it is gone.
    assert_eq!(run.decide(&lock("bob", "10:14:59")).effect, Effect::Block);
    let unlock = Event::after_tool("unlock_file", json!({"path": "a"}), ToolResult::ok("done"));
    run.decide(&by("ann", "10:14:59", unlock));
    assert_eq!(run.decide(&lock("bob", "10:14:59")).effect, Effect::Allow);
    assert_eq!(run.decide(&write("ann", "10:15:00", "a")).effect, Effect::Block);
}

#[test]
fn patterns_and_folders_take_no_locks() {
    let mut run = run(json!({})).with_file("notes", "x");
    for command in [
        "git restore :/",
        "cd sub && git restore ':!docs'",
        "git submodule update",
        "mkdir -p out && tar -xf a.tar -C lib",
        "cp a.rs dir/ 2> /dev/null; cp -t into b.rs",
        "git ls-files | xargs sed -i s/a/b/",
        "git clone https://host/x copy",
        "cp -r lib copy && rsync -a lib/ backup/",
    ] {
        assert_eq!(run.decide(&bash("ann", "10:00:00", command)).effect, Effect::Allow, "{command}");
    }
    let list = run.slice(LockList::KEY).cloned().unwrap_or_default();
    let locked: Vec<&String> = list.as_object().unwrap().keys().collect();
    assert_eq!(locked, ["dir/a.rs", "into/b.rs"]);
}

#[test]
fn names_of_the_repository_are_resolved() {
    let mut run = run(json!({})).with_git("main", "abc");
    if let Some(git) = &mut run.git {
        git.aliases.insert("sw".into(), "switch".into());
        git.aliases.insert("lg".into(), "log --all".into());
    }
    run.decide(&write("ann", "10:00:00", "a"));
    assert_eq!(run.decide(&bash("bob", "10:00:01", "git sw feat")).effect, Effect::Block);
    assert_eq!(run.decide(&bash("bob", "10:00:01", "git lg && git other")).effect, Effect::Allow);
}

#[test]
fn patch_in_a_command_line_names_its_files() {
    let mut run = run(json!({}));
    run.decide(&write("ann", "10:00:00", "a.rs"));
    let patch =
        |file: &str| format!("git apply <<'EOF'\n--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-x\n+y\nEOF\n");
    assert_eq!(run.decide(&bash("bob", "10:00:01", &patch("b.rs"))).effect, Effect::Allow);
    assert_eq!(run.decide(&bash("bob", "10:00:01", &patch("a.rs"))).effect, Effect::Block);
    assert_eq!(run.decide(&bash("bob", "10:00:01", "git apply b.patch")).effect, Effect::Block);
}

#[test]
fn blocked_call_takes_no_lock() {
    let mut run = run(json!({}));
    run.decide(&write("ann", "10:00:00", "a"));
    // Stopped for `a`, so it does not get `b` either.
    assert_eq!(run.decide(&bash("bob", "10:00:01", "cp b a > c")).effect, Effect::Block);
    assert_eq!(run.decide(&write("ann", "10:00:02", "c")).effect, Effect::Allow);
}

#[test]
fn agent_shares_locks_with_its_sub_agents() {
    let mut run = run(json!({}));
    run.decide(&write("lead", "10:00:00", "a"));
    let helper = Event { parent: Some("lead".into()), ..write("helper", "10:00:01", "a") };
    assert_eq!(run.decide(&helper).effect, Effect::Allow);
    assert_eq!(run.decide(&write("lead", "10:00:02", "a")).effect, Effect::Allow);
    assert_eq!(run.decide(&write("other", "10:00:03", "a")).effect, Effect::Block);
}

#[test]
fn same_agent_in_another_session_is_another_holder() {
    let mut run = run(json!({}));
    let event = |session: &str| write("coder", "10:00:00", "a").in_session(session);
    assert_eq!(run.decide(&event("one")).effect, Effect::Allow);
    assert_eq!(run.decide(&event("two")).effect, Effect::Block);
    let child = Event { parent: Some("one".into()), ..event("three") };
    assert_eq!(run.decide(&child).effect, Effect::Allow);
}

#[test]
fn hand_off_and_session_end_release_locks() {
    let mut run = run(json!({}));
    run.decide(&write("ann", "10:00:00", "a"));
    run.decide(&write("cat", "10:00:00", "c"));
    run.decide(&by("ann", "10:01:00", Event::new(EventKind::AfterHandoff)));
    assert_eq!(run.decide(&write("bob", "10:01:01", "a")).effect, Effect::Allow);
    assert_eq!(run.decide(&write("bob", "10:01:01", "c")).effect, Effect::Block);
    run.decide(&by("ann", "10:02:00", Event::new(EventKind::SessionEnd)));
    assert_eq!(run.decide(&write("dan", "10:02:01", "a")).effect, Effect::Allow);
    assert_eq!(run.decide(&write("dan", "10:02:01", "c")).effect, Effect::Allow);
}

#[test]
fn expired_and_reacquired_lock_is_not_released_by_its_first_holder() {
    let mut run = run(json!({"expires": 60}));
    let ann = |event: Event| event.in_session("one");
    let bob = |event: Event| event.in_session("two");
    run.decide(&ann(write("ann", "10:00:00", "a")));
    run.decide(&bob(write("bob", "10:05:00", "a")));
    run.decide(&ann(by("ann", "10:05:01", Event::new(EventKind::SessionEnd))));
    assert_eq!(run.decide(&ann(write("ann", "10:05:02", "a"))).effect, Effect::Block);
}

#[test]
fn explicit_locks_come_from_a_tool() {
    let mut run = run(json!({"acquire": "explicit", "files": ["src/**"]}));
    let decision = run.decide(&write("ann", "10:00:00", "src/a.rs"));
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.advice.unwrap().contains("`lock_file`"));
    assert_eq!(run.decide(&write("ann", "10:00:00", "notes.md")).effect, Effect::Allow);

    let tool =
        |name: &str, agent| by(agent, "10:00:01", Event::before_tool(name, json!({"path": "src/a.rs"})));
    assert_eq!(run.decide(&tool("lock_file", "ann")).effect, Effect::Allow);
    assert_eq!(run.decide(&tool("lock_file", "bob")).effect, Effect::Block);
    assert_eq!(run.decide(&write("ann", "10:00:02", "src/a.rs")).effect, Effect::Allow);
    assert_eq!(run.decide(&write("bob", "10:00:02", "src/a.rs")).effect, Effect::Block);

    let unlock = Event::after_tool("unlock_file", json!({"path": "src/a.rs"}), ToolResult::ok("done"));
    run.decide(&by("ann", "10:00:03", unlock));
    assert_eq!(run.decide(&tool("lock_file", "bob")).effect, Effect::Allow);
}

#[test]
fn devices_and_temporary_files_have_no_lock() {
    let mut run = run(json!({}));
    let remote = |agent| {
        let args = json!({"path": "a", "content": "x"});
        by(agent, "10:00:00", Event::before_tool("mcp__github__create_or_update_file", args))
    };
    for event in [remote("ann"), remote("bob"), bash("ann", "10:00:00", "ls > /dev/null; ls > /tmp/x")] {
        assert_eq!(run.decide(&event).effect, Effect::Allow);
    }
    assert_eq!(run.decide(&bash("bob", "10:00:00", "ls > /dev/null; ls > /tmp/x")).effect, Effect::Allow);
    assert_eq!(
        run.decide(&by("ann", "10:00:00", Event::before_tool("Read", json!({})))).effect,
        Effect::Allow
    );
    assert_eq!(
        run.decide(&by("ann", "10:00:00", Event::before_tool("Write", json!({})))).effect,
        Effect::Block
    );
}
