//! Tests of scope-004.

use super::*;
use crate::tests::Run;
use midrail_core::{Agent, Event, Task};
use serde_json::json;

fn guardrail(settings: Value) -> DecisionAuthority {
    serde_json::from_value(settings).unwrap()
}

fn one(level: Value) -> DecisionAuthority {
    guardrail(json!({"levels": {"1": level}, "default_level": 1, "outside": "block"}))
}

fn bash(level: Value, line: &str) -> Effect {
    Run::of(one(level)).before("Bash", json!({"command": line})).effect
}

#[test]
fn level_of_the_agent_applies() {
    let settings = json!({"levels": {"1": {"files": {"write": []}}, "free": {}}, "default_level": "1", "outside": "block"});
    let effect = |level: Value| {
        let agent = Agent { autonomy_level: Some(level), ..Agent::default() };
        let event = Event { agent: Some(agent), ..Event::before_tool("Write", json!({"file_path": "a"})) };
        Run::of(guardrail(settings.clone())).decide(&event)
    };
    assert_eq!(effect(json!(1)).effect, Effect::Block);
    assert_eq!(effect(json!("1")).effect, Effect::Block);
    assert_eq!(effect(json!(1.0)).effect, Effect::Block);
    assert_eq!(effect(Value::Null).effect, Effect::Block);
    assert_eq!(effect(json!("free")).effect, Effect::Allow);
    assert!(effect(json!(7)).reason.contains("no autonomy level `7`"));
    assert!(effect(json!([1])).reason.contains("could not be checked"));
}

#[test]
fn without_levels_or_a_default_nothing_is_limited() {
    assert_eq!(
        Run::of(guardrail(json!({}))).before("Write", json!({"file_path": "a"})).effect,
        Effect::Allow
    );
    let some = json!({"levels": {"1": {"files": {"write": []}}}});
    assert_eq!(Run::of(guardrail(some)).before("Write", json!({"file_path": "a"})).effect, Effect::Allow);
}

#[test]
fn all_ready_made_levels_are_there() {
    assert_eq!(READY_MADE.keys().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    assert_eq!(READY_MADE.get("3"), Some(&AutonomyLevel::default()));
}

#[test]
fn settings_are_checked() {
    for wrong in [
        json!({"levels": {"1": {}}, "default_level": 4}),
        json!({"default_level": "low"}),
        json!({"outside": "halt"}),
        json!({"levels": {"1": {"file": {}}}}),
        json!({"levels": {"1": {"files": {"write": ["{"]}}}}),
        json!({"levels": {"1": {"commands": {"allow": [3]}}}}),
        json!({"on_limit": "never"}),
    ] {
        assert!(serde_json::from_value::<DecisionAuthority>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn deny_precedes_ask_and_ask_precedes_allow() {
    let level = || json!({"commands": {"allow": ["pytest", {"ruff": "check *"}], "deny": ["rm", "sudo"], "ask": ["git"]}});
    assert_eq!(bash(level(), "pytest tests/"), Effect::Allow);
    assert_eq!(bash(level(), "ruff check src/"), Effect::Allow);
    assert_eq!(bash(level(), "ruff check"), Effect::Allow);
    assert_eq!(bash(level(), "ruff format src/"), Effect::Block);
    assert_eq!(bash(level(), "git push"), Effect::Escalate);
    assert_eq!(bash(level(), "git push && rm x"), Effect::Block);
    assert_eq!(bash(level(), "ls"), Effect::Block);
}

#[test]
fn programs_are_found_at_any_depth() {
    for line in [
        "/bin/rm x",
        "\\rm x",
        "r''m x",
        "bash -c 'rm x'",
        "echo $(rm x)",
        "echo `rm x`",
        "ls | xargs rm",
        "sudo rm x",
        "env A=1 rm x",
        "find . -exec rm {} ;",
        "eval 'rm x'",
        "true; rm x",
        "A=rm; $A x",
        "python -c 'import os; os.system(\"rm x\")'",
    ] {
        assert_eq!(bash(json!({"commands": {"deny": ["rm"]}}), line), Effect::Block, "{line}");
    }
    for line in ["rmdir x", "echo rm", "cat rm.txt", "git rm x", "ls /bin/rm"] {
        assert_eq!(bash(json!({"commands": {"deny": ["rm"]}}), line), Effect::Allow, "{line}");
    }
}

#[test]
fn unknown_program_escalates_or_is_not_allowed() {
    assert_eq!(bash(json!({"commands": {"deny": ["rm"]}}), "$CMD x"), Effect::Escalate);
    assert_eq!(bash(json!({"commands": {"allow": ["ls"]}}), "$CMD x"), Effect::Block);
}

#[test]
fn options_before_the_subcommand_hide_nothing() {
    let level = || json!({"commands": {"deny": [{"git": "push *"}]}});
    for line in ["git push", "git -C sub push", "git -c a=b --no-pager push origin main"] {
        assert_eq!(bash(level(), line), Effect::Block, "{line}");
    }
    for line in ["git status", "git commit -m push", "git log --grep push"] {
        assert_eq!(bash(level(), line), Effect::Allow, "{line}");
    }
    assert_eq!(bash(level(), "git $VERB"), Effect::Escalate);
    assert_eq!(bash(level(), "git commit -m \"$MESSAGE\""), Effect::Allow);
    // A list of words says the same as one line.
    for (words, effect) in [
        (json!(["bash", "-lc", "git push"]), Effect::Block),
        (json!(["git", "-C", "it's here", "push"]), Effect::Block),
        (json!(["git", "commit", "-m", "x; git push"]), Effect::Allow),
    ] {
        let found = Run::of(one(level())).before("shell", json!({"command": words})).effect;
        assert_eq!(found, effect, "{words}");
    }
}

#[test]
fn scripts_that_the_agent_wrote_are_checked() {
    let run = |content: &str| {
        let mut run = Run::of(one(json!({"commands": {"deny": ["rm"]}, "network": {"deny": ["evil.com"]}})))
            .with_file("a.sh", content)
            .with_slice("written/a.sh", json!(true));
        run.before("Bash", json!({"command": "bash a.sh"})).effect
    };
    assert_eq!(run("rm x"), Effect::Block);
    assert_eq!(run("curl https://evil.com"), Effect::Block);
    assert_eq!(run("echo x"), Effect::Allow);
}

fn fetch(network: Value, url: &str) -> Effect {
    Run::of(one(json!({"network": network}))).before("WebFetch", json!({"url": url})).effect
}

#[test]
fn denied_hosts_include_subdomains_and_allowed_hosts_do_not() {
    let network =
        || json!({"allow": ["api.example.com", "*.example.org"], "deny": ["evil.com", "bad.example.org"]});
    for (url, expected) in [
        ("https://api.example.com/x", Effect::Allow),
        ("https://API.example.com./x", Effect::Allow),
        ("https://v2.api.example.com", Effect::Block),
        ("https://example.com", Effect::Block),
        ("https://a.b.example.org", Effect::Allow),
        ("https://example.org", Effect::Block),
        ("https://bad.example.org", Effect::Block),
        ("https://x.bad.example.org", Effect::Block),
        ("https://api.example.com.evil.com", Effect::Block),
        ("https://api.example.com@evil.com/", Effect::Block),
    ] {
        assert_eq!(fetch(network(), url), expected, "{url}");
    }
    assert_eq!(fetch(json!({"deny": ["evil.com"]}), "https://notevil.com"), Effect::Allow);
    assert_eq!(fetch(json!({"deny": ["evil.com"]}), "https://sub.evil.com"), Effect::Block);
    assert_eq!(fetch(json!({"allow": []}), "https://a.b"), Effect::Block);
}

#[test]
fn disabled_network_blocks_every_contact() {
    let level = || json!({"network": {"enabled": false}});
    assert_eq!(fetch(json!({"enabled": false}), "https://api.example.com"), Effect::Block);
    for line in
        ["curl $URL", "git push", "git -C a fetch", "pip install x", "bash -c 'wget http://a.b'", "npm ci"]
    {
        assert_eq!(bash(level(), line), Effect::Block, "{line}");
    }
    for line in ["git status", "cargo test", "npm test", "git commit -m fetch", "pip list"] {
        assert_eq!(bash(level(), line), Effect::Allow, "{line}");
    }
    assert_eq!(Run::of(one(level())).before("WebSearch", json!({"query": "x"})).effect, Effect::Block);
}

#[test]
fn unknown_host_escalates() {
    let level = || json!({"network": {"allow": ["api.example.com"]}});
    assert_eq!(bash(level(), "curl \"$URL\""), Effect::Escalate);
    assert_eq!(bash(level(), "git push"), Effect::Escalate);
    assert_eq!(bash(level(), "curl --version"), Effect::Allow);
    assert_eq!(bash(level(), "curl https://api.example.com"), Effect::Allow);
    assert_eq!(Run::of(one(level())).before("WebSearch", json!({"query": "x"})).effect, Effect::Escalate);
    assert_eq!(bash(json!({"network": {"deny": ["evil.com"]}}), "curl \"$URL\""), Effect::Escalate);
    assert_eq!(bash(json!({"network": {"deny": ["evil.com"]}}), "git push"), Effect::Allow);
}

fn limited(limits: Value) -> Run {
    Run::of(one(json!({"limits": limits})))
}

fn write(run: &mut Run, file: &str, content: &str) -> Effect {
    run.before("Write", json!({"file_path": file, "content": content})).effect
}

#[test]
fn distinct_files_are_counted() {
    let mut run = limited(json!({"files_modified": 2}));
    assert_eq!(write(&mut run, "a.py", ""), Effect::Allow);
    assert_eq!(write(&mut run, "./x/../a.py", ""), Effect::Allow);
    assert_eq!(run.before("Bash", json!({"command": "echo x > b.py 2>/dev/null"})).effect, Effect::Allow);
    assert_eq!(run.before("Read", json!({"file_path": "c.py"})).effect, Effect::Allow);
    assert_eq!(write(&mut run, "b.py", ""), Effect::Allow);
    let decision = run.before("Bash", json!({"command": "touch c.py"}));
    assert_eq!(decision.effect, Effect::Halt);
    assert!(decision.reason.contains("files modified") && decision.user_message.is_some());
}

#[test]
fn lines_calls_requests_and_turns_are_counted() {
    let mut lines = limited(json!({"lines_changed": 3}));
    assert_eq!(write(&mut lines, "a", "1\n2\n"), Effect::Allow);
    assert_eq!(lines.before("Read", json!({"file_path": "a"})).effect, Effect::Allow);
    let here = "cat > a <<EOF\n1\n2\nEOF";
    assert_eq!(lines.before("Bash", json!({"command": here})).effect, Effect::Halt);
    let mut calls = limited(json!({"tool_calls": 1}));
    assert_eq!(calls.before("Read", json!({"file_path": "a"})).effect, Effect::Allow);
    assert_eq!(calls.before("Read", json!({"file_path": "a"})).effect, Effect::Halt);
    let mut requests = limited(json!({"requests": 1}));
    assert_eq!(requests.before("WebFetch", json!({"url": "https://a.b"})).effect, Effect::Allow);
    assert_eq!(requests.before("Read", json!({"file_path": "a"})).effect, Effect::Allow);
    assert_eq!(requests.before("Bash", json!({"command": "curl https://a.b"})).effect, Effect::Halt);
    let mut turns = limited(json!({"iterations": 1}));
    let turn = Event::new(EventKind::BeforeModel);
    assert_eq!(turns.decide(&turn).effect, Effect::Allow);
    assert_eq!(turns.before("Read", json!({"file_path": "a"})).effect, Effect::Allow);
    assert_eq!(turns.decide(&turn).effect, Effect::Halt);
}

#[test]
fn blocked_actions_do_not_count() {
    let level = json!({"limits": {"tool_calls": 1}, "files": {"deny": ["*.env"]}});
    let mut run = Run::of(one(level));
    assert_eq!(write(&mut run, "a.env", ""), Effect::Block);
    assert_eq!(write(&mut run, "a", ""), Effect::Allow);
    assert_eq!(write(&mut run, "a.env", ""), Effect::Block);
    assert_eq!(write(&mut run, "a", ""), Effect::Halt);
}

#[test]
fn limits_restart_with_a_task_and_can_escalate() {
    let settings =
        json!({"levels": {"1": {"limits": {"tool_calls": 1}}}, "default_level": 1, "on_limit": "block"});
    let mut run = Run::of(guardrail(settings));
    let mut call = |task: &str| {
        let task = Task { id: Some(task.to_owned()), ..Task::default() };
        run.decide(&Event { task: Some(task), ..Event::before_tool("t", json!({})) }).effect
    };
    assert_eq!([call("a"), call("a"), call("b")], [Effect::Allow, Effect::Block, Effect::Allow]);
}
