//! Hooks of a coding agent as their host calls them: a payload on standard input, the answer and the exit code that the
//! host understands, and a no whenever something goes wrong.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::approvals::{with_key, world_of};
use crate::world::{Ended, World};

/// `O_NONBLOCK`.
const NONBLOCK: i32 = if cfg!(target_os = "linux") { 0o4000 } else { 4 };

fn payload(event: &str, more: Value) -> Value {
    let mut payload = json!({"hook_event_name": event, "session_id": "s-1"});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
}

fn call(world: &World, tool: &str, input: Value) -> Ended {
    let payload = payload(
        "PreToolUse",
        json!({"cwd": world.project(), "tool_name": tool, "tool_input": input, "tool_use_id": "t"}),
    );
    world.feed(&["hook", "claude-code"], payload.to_string())
}

fn decision(ended: &Ended) -> String {
    let answer: Value = serde_json::from_str(&ended.out).unwrap_or_default();
    answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn destructive_calls_are_blocked_and_others_allowed_silently() {
    let world = World::new();
    let denied = call(&world, "Bash", json!({"command": "git push --force origin main"})).code(0);
    assert_eq!(decision(&denied), "deny");
    assert!(denied.out.contains("safety-001"), "{}", denied.out);
    let passed = call(&world, "Bash", json!({"command": "ls"})).code(0);
    assert_eq!((passed.out.as_str(), passed.err.as_str()), ("", ""));
}

#[test]
fn shell_call_without_a_readable_command_is_not_allowed() {
    let world = World::new();
    for field in ["toolInput", "input", "arguments", "params", "tool_args", "Tool_Input", "tool_input"] {
        for host in ["claude-code", "codex"] {
            let value = if field == "tool_input" { Value::Null } else { json!({"command": "rm -rf ~"}) };
            let more = json!({"cwd": world.project(), "tool_name": "Bash", field: value});
            let ended = world.feed(&["hook", host], payload("PreToolUse", more).to_string());
            assert!(ended.out.contains("safety-001"), "{host} {field}: {}", ended.out);
        }
    }
}

#[test]
fn agent_start_shows_its_limits() {
    let world = World::new();
    let began = world.feed(&["hook", "claude-code"], payload("SessionStart", json!({})).to_string()).code(0);
    assert!(began.out.contains("Do not access files with credentials"), "{}", began.out);
}

#[test]
fn resumed_halted_run_shows_how_to_lift_it() {
    let world =
        World::with_pack("pack: p\nguardrails:\n  - {id: ends, tools: wipe, effect: halt, reason: enough}\n");
    call(&world, "wipe", json!({})).code(0);
    for (host, source) in [("claude-code", "resume"), ("claude-code", "compact"), ("codex", "resume")] {
        let start = payload("SessionStart", json!({"source": source, "cwd": world.project()}));
        let report = world.feed(&["hook", host], start.to_string()).code(0);
        let answer: Value = serde_json::from_str(&report.out).unwrap();
        let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        for part in ["halted by `ends`: enough", "midrail quarantine lift --run s-1"] {
            assert!(context.contains(part), "{host} {source}: {context}");
        }
    }
    let start = payload("SessionStart", json!({"source": "startup", "cwd": world.project()}));
    let report = world.feed(&["hook", "claude-code"], start.to_string()).code(0);
    assert!(!report.out.contains("halted"), "{}", report.out);
}

#[test]
fn hook_errors_block_in_the_format_of_the_host() {
    // Nothing on standard output, a reason on standard error, exit code 2.
    let is_no = |ended: Ended| {
        let ended = ended.code(2);
        assert!(ended.out.is_empty() && !ended.err.trim().is_empty(), "{:?} {:?}", ended.out, ended.err);
        ended.err
    };
    let world = World::new();
    is_no(world.feed(&["hook", "claude-code", "PreToolUse"], "{\"half\":"));
    is_no(world.feed(&["hook", "claude-code", "PreToolUse"], ""));
    is_no(world.feed(&["hook", "claude-code"], "{}"));
    is_no(world.feed(&["hook", "claude-code", "PreToolUse"], "{\"session_id\":\"s\"}"));
    is_no(world.feed(&["hook", "unknown"], "{}"));
    is_no(world.feed(&["hook", "claude-code", "--nonsense"], "{}"));

    // The store cannot be written.
    let folder = world.path("folder.db");
    fs::create_dir_all(&folder).unwrap();
    let payload = payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    is_no(world.feed(&["hook", "claude-code", "--store", &folder], payload.to_string()));

    // The pack cannot be used.
    world.write(".midrail/pack.yaml", "pack: [");
    let why = is_no(world.feed(&["hook", "claude-code"], payload.to_string()));
    assert!(why.contains("pack.yaml"), "{why}");
}

fn waits_in_vain(event: &str) -> Ended {
    let world = World::new();
    let mut child = world
        .command(&["hook", "claude-code", event, "--timeout", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its standard input stays open, and nothing comes.
    let stdin = child.stdin.take();
    let ended: Ended = child.wait_with_output().unwrap().into();
    drop(stdin);
    assert!(ended.err.contains("longer than"), "{}", ended.err);
    assert!(ended.out.is_empty());
    ended
}

#[test]
fn missing_payload_is_answered_in_time() {
    waits_in_vain("PreToolUse").code(2);
}

#[test]
fn repeated_stop_is_allowed() {
    waits_in_vain("Stop").code(0);
}

#[test]
fn limits_before_a_prompt_are_not_an_injection() {
    let world = World::new();
    let began = world.feed(&["hook", "claude-code"], payload("SessionStart", json!({})).to_string()).code(0);
    let answer: Value = serde_json::from_str(&began.out).unwrap();
    let report = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    world.feed(&["detect", "injection"], format!("<hook_context>{report}</hook_context>\n\nHello")).code(0);
}

#[test]
fn host_asks_its_user_if_no_approver_has_a_key() {
    let world = World::with_pack("pack: shop\nguardrails:\n  - {id: ask, tools: refund, effect: escalate}\n");
    assert_eq!(decision(&call(&world, "refund", json!({}))), "ask");
    // It counts as done when it is done: nothing was denied.
    let done = payload(
        "PostToolUse",
        json!({"cwd": world.project(), "tool_name": "refund", "tool_input": {}, "tool_use_id": "t", "tool_response": "ok"}),
    );
    assert_eq!(world.feed(&["hook", "claude-code"], done.to_string()).code(0).out, "");
    let listed = world.run(&["approvals", "list"]).code(0).out;
    assert!(!listed.contains("ask"), "only the user of the agent is asked: {listed}");
}

#[test]
fn approval_allows_exactly_one_call() {
    let world = world_of(
        "pack: shop\nguardrails:\n  - {id: ask, tools: refund, effect: escalate, approver: reviewer}\n",
    );
    let refund = |amount: u32| {
        let payload = payload(
            "PreToolUse",
            json!({"cwd": world.project(), "tool_name": "refund", "tool_input": {"amount": amount}, "tool_use_id": "t"}),
        );
        world.feed(&["hook", "claude-code", "--wait", "0s"], payload.to_string()).code(0)
    };
    let held = refund(7);
    assert_eq!(decision(&held), "deny");
    let text = held.out.split("midrail approvals approve ").nth(1).unwrap();
    let id: String = text.chars().take_while(|c| !c.is_whitespace()).collect();
    with_key(&world, "reviewer", &["approve", &id]).code(0);
    assert_eq!(decision(&refund(8)), "deny", "other arguments need an approval of their own");
    assert_eq!(decision(&refund(7)), "none");
    assert_eq!(decision(&refund(7)), "deny");
}

const UNFINISHED: &str = "pack: report
guardrails:
  - {id: report, completion: {files: [report.md]}, max_attempts: 2}
";

#[test]
fn early_stop_is_blocked() {
    let world = World::with_pack(UNFINISHED);
    let stop = |is_active: bool| {
        let payload = payload("Stop", json!({"cwd": world.project(), "stop_hook_active": is_active}));
        world.feed(&["hook", "claude-code"], payload.to_string()).code(0).out
    };
    for is_active in [false, true] {
        let answer: Value = serde_json::from_str(&stop(is_active)).unwrap();
        assert_eq!(answer["decision"], "block");
        assert!(answer["reason"].as_str().unwrap().contains("report.md"), "{answer}");
    }
    // Its tries are used up.
    assert_eq!(stop(true), "");
    world.write("report.md", "done");
    assert_eq!(stop(false), "");
}

#[test]
fn waiting_stop_hook_receives_answer_of_another_process() {
    let world = world_of("pack: p\nguardrails:\n  - {use: quality-003, with: {run: ./check, files: []}}\n");
    world.write("check", "#!/bin/sh\necho test one FAILED\nexit 1\n");
    fs::set_permissions(world.path("check"), fs::Permissions::from_mode(0o755)).unwrap();
    let stop = payload("Stop", json!({"cwd": world.project(), "stop_hook_active": false})).to_string();
    for (subcommand, is_allowed) in [("deny", false), ("approve", true)] {
        let mut child = world
            .command(&["hook", "claude-code"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stop.as_bytes()).unwrap();
        let pending = || world.run(&["approvals", "list", "--json"]).json_lines();
        let row = (0..500).find_map(|_| pending().first().cloned()).unwrap();
        assert_eq!((&row["event"], &row["guardrail"]), (&json!("before_stop"), &json!("quality-003")));
        let id = row["id"].as_str().unwrap();
        world.run(&["approvals", "list"]).code(0).says("stopping");
        let answered = with_key(&world, "human_operator", &[subcommand, id]).code(0);
        let ended: Ended = child.wait_with_output().unwrap().into();
        let ended = ended.code(0);
        if is_allowed {
            answered.says("the agent may stop once although work is missing");
            assert_eq!(ended.out, "");
        } else {
            answered.says("the agent has to continue");
            let answer: Value = serde_json::from_str(&ended.out).unwrap();
            assert_eq!(answer["decision"], "block");
            // What was denied stays so; another failure is another question.
            world.write("check", "#!/bin/sh\necho test two FAILED\nexit 1\n");
        }
    }
}

#[test]
fn broken_midrail_does_not_block_stops_forever() {
    let world = World::with_pack("pack: [");
    let stop = |is_active: bool| {
        let payload = payload("Stop", json!({"cwd": world.project(), "stop_hook_active": is_active}));
        world.feed(&["hook", "claude-code"], payload.to_string())
    };
    stop(false).code(2);
    let ended = stop(true).code(0);
    assert!(ended.err.contains("pack.yaml"), "{}", ended.err);
}

#[test]
fn unchecked_result_is_withheld() {
    let world = World::with_pack("pack: [");
    let done = payload(
        "PostToolUse",
        json!({"cwd": world.project(), "tool_name": "Bash", "tool_input": {"command": "env"}, "tool_use_id": "t",
               "tool_response": {"stdout": "the-key", "stderr": "", "interrupted": false}}),
    );
    let ended = world.feed(&["hook", "claude-code"], done.to_string()).code(0);
    let answer: Value = serde_json::from_str(&ended.out).unwrap();
    let output = &answer["hookSpecificOutput"]["updatedToolOutput"];
    assert!(output["stdout"].as_str().unwrap().starts_with("[result withheld]"), "{answer}");
    assert!(!ended.out.contains("the-key"));
}

/// What Claude Code answers its agent in place of a command's output.
fn shown(world: &World) -> String {
    let done = payload(
        "PostToolUse",
        json!({"cwd": world.project(), "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t",
               "tool_response": {"stdout": "key AKIAZQ3DRSTUVWXY2345", "stderr": "", "interrupted": false}}),
    );
    let ended = world.feed(&["hook", "claude-code"], done.to_string()).code(0);
    let answer: Value = serde_json::from_str(&ended.out).unwrap();
    answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"].as_str().unwrap().to_owned()
}

#[test]
fn replaced_result_is_sent_to_the_agent() {
    let scripts = |first: &str, second: &str| {
        let world = World::with_pack(
            "pack: p\nguardrails:\n  - {id: one, script: one.js}\n  - {id: two, script: two.js}\n",
        );
        for (name, answer) in [("one", first), ("two", second)] {
            let script = format!("export default {{ output: (c) => ({answer}) }};");
            world.write(&format!(".midrail/{name}.js"), script);
        }
        shown(&world)
    };
    assert_eq!(scripts("{override: true, result: 'fine'}", "{override: false}"), "fine");
    let error = "{override: true, isError: true, result: '2 failed'}";
    assert!(scripts(error, "{override: false}").starts_with("[error] 2 failed\n(`one`"));
    let louder = "{override: true, result: c.result.content.toUpperCase()}";
    assert!(scripts(error, louder).starts_with("[error] 2 FAILED\n"));
}

#[test]
fn result_of_failed_script_is_withheld() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - secret_redaction\n  - {id: r, on: after_tool, effect: retry, corrective_message: Once more.}\n",
    );
    let report = shown(&world);
    assert!(report.starts_with("[result withheld] Once more.\n"), "{report}");
    assert!(!report.contains("key"), "{report}");
}

#[test]
fn slow_script_fails_as_configured() {
    for on_error in ["block", "allow"] {
        let world = World::with_pack(&format!("pack: p\nscripts: {{on_error: {on_error}}}\n"));
        let (late, pipe) = (world.path("late"), world.path("pipe"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let script = "export default { output: async (c) => { await c.system.cmd.exec('cat pipe; touch late'); return {override: false}; } };";
        world.write(".midrail/guardrails.js", script);
        let done = payload(
            "PostToolUse",
            json!({"cwd": world.project(), "tool_name": "Edit", "tool_input": {"file_path": "a"}, "tool_response": "ok"}),
        );
        let ended = world.feed(&["hook", "claude-code", "--timeout", "3"], done.to_string()).code(0);
        assert_eq!(ended.out.contains("took longer than"), on_error == "block", "{}", ended.out);
        let records = world.run(&["log", "--json"]).code(0).json_lines();
        assert_eq!(records[0]["effect"], on_error, "{records:?}");
        // The command ends with the hook: without its reader, the pipe cannot be opened for writing without blocking.
        let mut open = fs::OpenOptions::new();
        open.write(true).custom_flags(NONBLOCK);
        assert!((0..1_000_000).any(|_| open.open(&pipe).is_err()), "on_error: {on_error}");
        assert!(!fs::exists(&late).unwrap(), "on_error: {on_error}");
    }
}

#[test]
fn alias_event_names_are_checked_alike() {
    let world = World::new();
    let payload = payload(
        "PreToolUse",
        json!({"cwd": world.project(), "tool_name": "Bash", "tool_input": {"command": "git push --force origin main"}}),
    );
    let named = |event: &str| world.feed(&["hook", "claude-code", event], payload.to_string());
    // One that is not known counts for nothing, and one that is another is refused.
    for event in ["pretooluse", "Zork"] {
        assert_eq!(decision(&named(event).code(0)), "deny", "{event}");
    }
    named("PostToolUse").code(2);
}
