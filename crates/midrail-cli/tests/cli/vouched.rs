//! Calls about which the user is not asked, and runs without an installation.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::run::is_available;
use crate::world::{Ended, World, ended};

const PACK: &str = "pack: mine\nvouch: {reads: ['**'], commands: [git commit, frob check]}\n";

/// A world in which the user vouches for calls.
fn vouching() -> World {
    let world = World::new();
    world.write("../config/midrail/pack.yaml", PACK);
    world.write("src/a.rs", "fn main() {}\n");
    world.write(".git/HEAD", "ref: refs/heads/main\n");
    fs::create_dir_all(world.project().join(".git/objects")).unwrap();
    fs::create_dir_all(world.project().join(".git/refs")).unwrap();
    world
}

fn payload(world: &World, command: &str, mode: &str, more: &Value) -> Value {
    let mut input = json!({"command": command});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({
        "session_id": "s", "cwd": world.project(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": input, "tool_use_id": "t", "permission_mode": mode,
    })
}

fn hook(world: &World, host: &str, payload: &Value) -> Ended {
    world.feed(&["hook", host, "PreToolUse"], payload.to_string()).code(0)
}

#[test]
fn host_does_not_ask() {
    let world = vouching();
    let plain = json!({});
    for (command, mode, more, is_vouched) in [
        ("grep -rn main src | head", "default", &plain, true),
        ("sed -n 1,3p src/a.rs", "default", &plain, true),
        ("git commit -m done", "default", &plain, true),
        ("git commit -m done && git push", "default", &plain, false),
        ("cat /etc/hostname", "default", &plain, false),
        ("grep -rn main src", "plan", &plain, false),
        ("grep -rn main src", "default", &json!({"dangerouslyDisableSandbox": true}), false),
        ("grep -rn main src", "default", &json!({"dangerouslyDisableSandbox": false}), true),
    ] {
        let answer = hook(&world, "claude-code", &payload(&world, command, mode, more));
        let allows = answer.out.contains(r#""permissionDecision":"allow""#);
        assert_eq!(allows, is_vouched, "{command} {mode} {more}: {}", answer.out);
    }
    let log = world.run(&["log", "--vouched"]).code(0);
    assert_eq!(log.out.matches("vouched for: ").count(), 4, "{}", log.out);
    let json = world.run(&["log", "--vouched", "--json"]).code(0).json_lines();
    assert!(json.iter().all(|line| line["vouched"] == true && line["grounds"].is_string()), "{json:?}");
    // Another program that has no such answer receives none.
    let codex = hook(&world, "codex", &payload(&world, "ls src", "default", &plain));
    assert_eq!(codex.out, "");
}

/// The operating system enforces what the analysis of a line says.
#[test]
fn line_that_is_not_simple_runs_in_a_sandbox_without_a_question() {
    if !is_available() {
        return;
    }
    let world = vouching();
    world.write(
        "../config/midrail/pack.yaml",
        "pack: mine\nvouch: {reads: ['**'], edits: ['src/**'], contained: true}\n",
    );
    let contained = |line: &str| {
        let answer = hook(&world, "claude-code", &payload(&world, line, "default", &json!({}))).json();
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["permissionDecision"], "allow", "{line}: {answer}");
        let mut command = std::process::Command::new("bash");
        command
            .args(["-c", output["updatedInput"]["command"].as_str().unwrap()])
            .current_dir(world.project());
        command
            .env_clear()
            .envs(world.command(&[]).get_envs().filter_map(|(key, value)| Some((key, value?))));
        ended(command.env("PATH", std::env::var_os("PATH").unwrap()), Vec::new())
    };
    let run = contained("for f in src/*.rs; do wc -l < $f; done");
    assert_eq!((run.code, run.out.trim()), (0, "1"), "{}", run.err);
    let run = contained("cd src && sed -i s/main/run/ a.rs && grep -c run *.rs > count");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(
        (world.read("src/a.rs"), world.read("src/count")),
        ("fn run() {}\n".to_owned(), "1\n".to_owned())
    );
    // Hosts that ask all the same run the line as it is.
    let codex = hook(
        &world,
        "codex",
        &payload(&world, "for f in src/*.rs; do wc -l < $f; done", "default", &json!({})),
    );
    assert_eq!(codex.out, "");
}

/// A pack of the project decides nothing about what its user is asked.
#[test]
fn project_cannot_vouch_for_itself() {
    let world = World::with_pack(PACK);
    let answer = hook(&world, "claude-code", &payload(&world, "git commit -m done", "default", &json!({})));
    assert_eq!(answer.out, "");
    world.run(&["lint"]).code(0).says("cannot vouch for itself [vouch-of-project]");
}

#[test]
fn report_counts_questions_by_their_grounds() {
    let world = vouching();
    let call = |command: &str| {
        json!({"kind": "before_tool", "session": "s", "cwd": "/repo", "tool": {"name": "Bash", "args": {"command": command}}})
            .to_string()
    };
    // A replay knows no repository, so it vouches for no command of git.
    let lines = ["frob check a", "frob check b", "echo done", "git push"].map(call).join("\n");
    world.write("events.jsonl", lines);
    let report = world.run(&["replay", "--report", "events.jsonl"]).code(0);
    assert!(report.out.contains("3 of 4 calls (75.0%) would be made without a question"), "{}", report.out);
    assert!(report.out.contains("2  `frob check` is listed"), "{}", report.out);
    let json = world.run(&["replay", "--report", "events.jsonl", "--json"]).code(0).json();
    assert_eq!(json["vouched"], 3);
    assert_eq!(json["grounds"][0], json!(["`frob check` is listed", 2]));
}

/// A program that reads its hooks as Claude Code does, calls the one for a tool, and ends with 7.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys
settings = json.load(open(sys.argv[sys.argv.index("--settings") + 1]))
assert settings["disableAllHooks"] is False
hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
for command in sys.argv[3:]:
    payload = {"session_id": "s", "cwd": os.getcwd(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
               "tool_input": {"command": command}, "tool_use_id": command, "permission_mode": "default"}
    subprocess.run(["sh", "-c", hook], input=json.dumps(payload), text=True, capture_output=True)
sys.exit(7)
"#;

/// Runs `midrail try` with such a program on the search path.
fn try_agent(world: &World, name: &str, agent: &str, args: &[&str]) -> Ended {
    let program = world.write(&format!("../bin/{name}"), agent);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = world.project().parent().unwrap().join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = world.command(&[&["try"], args].concat());
    ended(command.env("PATH", path), Vec::new())
}

#[test]
fn trial_reports_what_happened_and_leaves_nothing() {
    let world = vouching();
    let run = try_agent(&world, "claude", AGENT, &["claude", "grep -rn main src", "rm -rf ~", "echo x > x"]);
    let run = run.code(7);
    assert!(run.out.contains("Midrail decided 3 calls"), "{}", run.out);
    assert!(run.out.contains("block Bash rm -rf ~"), "{}", run.out);
    assert!(
        run.out.contains("1  made without a question") && run.out.contains("1 × it only reads"),
        "{}",
        run.out
    );
    let trials = world.default_store().parent().unwrap().join("trials");
    assert_eq!(fs::read_dir(trials).unwrap().count(), 0);
    assert!(!world.project().join(".claude").exists() && !world.project().join("../.claude").exists());
}

/// Protection that is absent is an error.
#[test]
fn trial_without_a_call_of_a_hook_is_reported() {
    let world = World::new();
    let run = try_agent(&world, "claude", "#!/bin/sh\nexit 0\n", &["claude"]).code(1);
    assert!(run.out.contains("called no hook of Midrail, so this run was not protected"), "{}", run.out);
}

#[test]
fn trial_is_refused_where_hooks_cannot_be_given_or_are_installed() {
    let world = World::new();
    try_agent(&world, "codex", "#!/bin/sh\n", &["codex"])
        .code(1)
        .complains("reads hooks from its own settings only")
        .complains("midrail init --agent codex");
    try_agent(&world, "claude", "#!/bin/sh\n", &["no-such-agent"])
        .code(1)
        .complains("there is no such agent");
    world.run(&["init", "--agent", "claude-code", "--yes"]);
    try_agent(&world, "claude", "#!/bin/sh\n", &["claude"]).code(1).complains("already has Midrail's hooks");
}
