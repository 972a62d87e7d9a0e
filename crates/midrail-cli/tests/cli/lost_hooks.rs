//! Hooks that were removed or disabled while a session runs, hooks in a plugin, and tests with the host itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::init::{on_path, program, run};
use crate::world::{World, ended};

/// Runs git in the project.
fn git(world: &World, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let done = Command::new("git").args(identity).args(args).current_dir(world.project()).output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn payload(world: &World, event: &str) -> Vec<u8> {
    let payload = json!({
        "session_id": "s", "cwd": world.project(), "hook_event_name": event, "prompt": "hello",
        "tool_name": "Read", "tool_input": {"file_path": "a"},
    });
    payload.to_string().into_bytes()
}

fn hook(world: &World, event: &str) -> Value {
    let ended = ended(&mut on_path(world, &["hook", "claude-code"]), payload(world, event));
    let ended = ended.code(0);
    if ended.out.is_empty() { Value::Null } else { ended.json() }
}

#[test]
fn hooks_of_a_user_that_were_removed_are_registered_again() {
    let world = World::new();
    let settings = world.project().parent().unwrap().join(".claude/settings.json");
    run(&world, &["init", "--yes", "--agent", "claude-code"]).code(0);
    let before = fs::read_to_string(&settings).unwrap();
    assert_eq!(hook(&world, "UserPromptSubmit"), Value::Null);
    for change in ["{}", "", "{\"model\": \"opus\"}"] {
        fs::write(&settings, change).unwrap();
        let answer = hook(&world, "PreToolUse");
        assert!(answer["systemMessage"].as_str().unwrap().contains("are registered again"), "{answer}");
        let agent = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(agent.starts_with("Tell the user: Midrail's hooks for Claude Code were removed"), "{agent}");
        assert!(fs::read_to_string(&settings).unwrap().contains("hook claude-code PreToolUse"), "{change}");
        assert_eq!(hook(&world, "PreToolUse"), Value::Null, "reported once");
    }
    fs::remove_file(&settings).unwrap();
    hook(&world, "Stop");
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    let records = run(&world, &["audit", "list", "--json"]).code(0).json_lines();
    let restored = records.iter().filter(|it| it["reason"].to_string().contains("registered again"));
    assert!(restored.count() >= 4 || run(&world, &["notices"]).out.contains("registered again"));
    // Other changes of the user stay.
    run(&world, &["uninstall", "--yes"]).code(0);
    assert_eq!(hook(&world, "PreToolUse"), Value::Null);
    assert!(!settings.exists());
}

/// A hook as its registration calls it.
fn registered_hook(world: &World, event: &str, more: &[&str]) -> String {
    let args = [&["hook", "claude-code", event, "--proof", "1"], more].concat();
    ended(&mut on_path(world, &args), payload(world, event)).code(0).out
}

#[test]
fn changed_hooks_are_registered_again() {
    let world = World::new();
    let settings = world.project().parent().unwrap().join(".claude/settings.json");
    run(&world, &["init", "--yes", "--agent", "claude-code"]).code(0);
    let before = fs::read_to_string(&settings).unwrap();
    let first = "\"type\": \"command\"";
    for changed in [
        before.replacen(first, &format!("{first}, \"async\": true"), 1),
        before.replacen(first, &format!("{first}, \"if\": \"Bash(x)\""), 1),
        before.replace("exit 2\"", "exit 2 || true\""),
        before.replace(env!("CARGO_BIN_EXE_midrail"), "/tmp/evil/midrail"),
        before.replace("\"timeout\": 330", "\"timeout\": 0.001"),
        before.replace("--timeout 330", "--timeout 330 --pack x"),
    ] {
        assert_ne!(changed, before);
        fs::write(&settings, &changed).unwrap();
        let answer = hook(&world, "PreToolUse");
        assert!(answer["systemMessage"].to_string().contains("are registered again"), "{changed}: {answer}");
        fs::write(&settings, &before).unwrap();
        hook(&world, "PreToolUse");
    }
    // Timeouts belong to the user.
    fs::write(&settings, before.replace("330", "20")).unwrap();
    assert_eq!(hook(&world, "PreToolUse"), Value::Null);
}

#[test]
fn lost_list_of_registrations_is_noticed() {
    let world = World::new();
    let home = world.project().parent().unwrap().to_owned();
    run(&world, &["init", "--yes", "--agent", "claude-code"]).code(0);
    let settings = home.join(".claude/settings.json");
    let before = fs::read_to_string(&settings).unwrap();
    let list = home.join("state/midrail/registrations.json");
    for damage in ["[]", "", "{", "null"] {
        fs::write(&settings, &before).unwrap();
        fs::write(&list, damage).unwrap();
        // The settings still have the hooks: the list is complete again, and protects them.
        assert!(!registered_hook(&world, "Stop", &[]).contains("not protected"), "{damage}");
        fs::write(&settings, "{}").unwrap();
        let answer = registered_hook(&world, "PreToolUse", &[]);
        assert!(answer.contains("are registered again"), "{damage}: {answer}");
        // Both are lost: the host still calls the hook that it has in memory.
        fs::write(&settings, "{}").unwrap();
        fs::write(&list, damage).unwrap();
        let answer = registered_hook(&world, "Stop", &[]);
        assert!(answer.contains("the next session is not protected"), "{damage}: {answer}");
        assert_eq!(registered_hook(&world, "Stop", &["--in-plugin"]), "midrail:48\n");
    }
    fs::write(&settings, &before).unwrap();
    registered_hook(&world, "Stop", &[]);
    run(&world, &["uninstall", "--yes"]).code(0);
    assert!(!list.exists());
}

#[test]
fn packs_of_a_folder_below_only_add_to_the_session() {
    let world = World::new();
    let call = |folder: &str, command: &str| {
        let payload = json!({
            "session_id": "s", "cwd": world.path(folder), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": command},
        });
        ended(&mut on_path(&world, &["hook", "claude-code"]), payload.to_string().into_bytes()).code(0).out
    };
    assert_eq!(call(".", "ls"), "");
    let destructive = "mkfs.ext4 /dev/sda1";
    for pack in
        ["extends: none", "guardrails: [{id: safety-001, use: safety-001, effect: warn}]", "broken: ["]
    {
        world.write("sub/.midrail/pack.yaml", format!("pack: mine\n{pack}\n"));
        let answer = call("sub", destructive);
        assert!(answer.contains("\"deny\"") && answer.contains("are not used in this session"), "{answer}");
    }
    let rule =
        "guardrails: [{id: frozen, when: action.programs contains 'ls', effect: block, reason: Frozen.}]";
    world.write("sub/.midrail/pack.yaml", format!("pack: mine\n{rule}\n"));
    assert!(call("sub", "ls").contains("Frozen."));
    assert!(call("sub", destructive).contains("\"deny\""));
    assert_eq!(call(".", "ls"), "");
}

#[test]
fn branch_without_hooks_is_reported() {
    let world = World::new();
    git(&world, &["init", "-q"]);
    git(&world, &["commit", "-q", "--allow-empty", "-m", "old"]);
    git(&world, &["branch", "old"]);
    run(&world, &["init", "--project", "--yes", "--agent", "claude-code"]).code(0);
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-q", "-m", "hooks"]);
    assert_eq!(hook(&world, "PreToolUse"), Value::Null);
    git(&world, &["checkout", "-q", "old"]);
    for (event, is_reported) in [("PreToolUse", true), ("PreToolUse", false), ("UserPromptSubmit", true)] {
        let answer = hook(&world, event);
        let message = answer["systemMessage"].as_str().unwrap_or_default();
        assert_eq!(message.contains("the next session is not protected"), is_reported, "{event}: {answer}");
    }
    // Nothing was written to the branch.
    assert!(!world.project().join(".claude").exists());
    run(&world, &["doctor", "--agent", "claude-code"]).code(1).says("Claude Code is not protected");
    git(&world, &["checkout", "-q", "-"]);
    assert_eq!(hook(&world, "UserPromptSubmit")["systemMessage"], Value::Null);
    // Hooks of the user protect every branch.
    git(&world, &["checkout", "-q", "old"]);
    run(&world, &["init", "--yes", "--agent", "claude-code"]).code(0);
    assert_eq!(hook(&world, "UserPromptSubmit")["systemMessage"], Value::Null);
    run(&world, &["doctor", "--agent", "claude-code"]).code(0);
}

#[test]
fn setting_that_disables_hooks_is_reported() {
    let world = World::new();
    run(&world, &["init", "--yes", "--agent", "claude-code"]).code(0);
    world.write(".claude/settings.local.json", "{\"disableAllHooks\": true}");
    let answer = hook(&world, "UserPromptSubmit");
    assert!(answer["systemMessage"].as_str().unwrap().contains("`disableAllHooks` in"), "{answer}");
    assert_eq!(hook(&world, "PreToolUse"), Value::Null);
    world.write(".claude/settings.local.json", "{\"env\": {\"CLAUDE_CODE_SIMPLE\": \"1\"}}");
    let answer = hook(&world, "UserPromptSubmit");
    assert!(answer["systemMessage"].as_str().unwrap().contains("a variable in `env` in"), "{answer}");
    run(&world, &["doctor", "--agent", "claude-code"]).code(1).says("not protected: a variable in `env`");
}

#[test]
fn plugin_has_the_same_hooks() {
    let world = World::new();
    let folder = world.path("plugin");
    for (agent, hooks, manifest) in [
        ("claude-code", "hooks/hooks.json", ".claude-plugin/plugin.json"),
        ("gemini-cli", "hooks/hooks.json", "gemini-extension.json"),
        ("copilot-cli", "hooks/hooks.json", "plugin.json"),
        ("opencode", "midrail.js", "package.json"),
        ("cursor", "hooks.json", "hooks.json"),
    ] {
        let dir = format!("{folder}/{agent}");
        run(&world, &["init", "--plugin", &dir, "--agent", agent, "--yes"]).code(0).says(&dir);
        let hooks = fs::read_to_string(format!("{dir}/{hooks}")).unwrap();
        assert!(hooks.contains("midrail hook") || hooks.contains("\"midrail\""), "{hooks}");
        let manifest: Value =
            serde_json::from_str(&fs::read_to_string(format!("{dir}/{manifest}")).unwrap()).unwrap();
        assert!(manifest["name"] == "midrail" || agent == "cursor");
        run(&world, &["init", "--plugin", &dir, "--agent", agent]).code(0).says("nothing to do");
    }
    run(&world, &["init", "--plugin", &folder, "--agent", "codex", "--yes"])
        .code(1)
        .complains("has no plugins");
    run(&world, &["init", "--plugin", &folder]).code(1).complains("a plugin is for one agent");
}

/// Real agents are run by `scripts/compat`; these programs show that a failure is noticed.
#[test]
fn host_that_runs_a_blocked_call_is_not_protected() {
    let world = World::new();
    let version = "[ \"$1\" = --version ] && { echo '2.1.325 (Claude Code)'; exit 0; }";
    program(&world, "claude", version);
    run(&world, &["init", "--yes", "--agent", "claude-code"]).code(0);
    let test = |body: &str| {
        program(&world, "claude", &format!("{version}\n{body}"));
        run(&world, &["doctor", "--live", "--agent", "claude-code"])
    };
    test("echo 'pack: p' > .midrail/live-test.yaml").code(1).says("✗ Claude Code itself ran a call");
    test("exit 1").code(1).says("the host did not use the scripted model");
    // The test uses neither the user's home nor other settings.
    let settings = world.project().parent().unwrap().join(".claude/settings.json");
    let own = fs::read_to_string(&settings).unwrap().replacen('{', "{\"apiKeyHelper\": \"x\",", 1);
    fs::write(&settings, own).unwrap();
    let look = "grep -q apiKeyHelper $HOME/.claude/settings.json && touch .midrail/live-test.yaml
        grep -q 'hook claude-code PreToolUse' $HOME/.claude/settings.json || touch .midrail/live-test.yaml
        [ -e $HOME/mine ] && touch .midrail/live-test.yaml";
    fs::write(settings.parent().unwrap().with_file_name("mine"), "").unwrap();
    test(look).code(1).says("the host did not use the scripted model");
}

/// What a shell prints that reads a file of the session, as Claude Code's does.
fn printed(shell: &str, file: &str, command: &str) -> (i32, String) {
    let script = format!(". '{file}'\n{command}");
    let done = Command::new(shell).args(["-c", &script]).output().unwrap();
    (done.status.code().unwrap(), String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
fn failing_command_prints_no_secret() {
    let world = World::new();
    let file = world.path("session-env.sh");
    let payload = json!({"session_id": "s", "cwd": world.project(), "hook_event_name": "SessionStart"});
    let start = |host: &str| {
        let mut command = on_path(&world, &["hook", host]);
        command.env("CLAUDE_ENV_FILE", &file);
        ended(&mut command, payload.to_string().into_bytes()).code(0);
    };
    start("codex");
    assert!(!Path::new(&file).exists(), "other hosts have no such file");
    start("claude-code");
    let once = fs::read_to_string(&file).unwrap();
    start("claude-code");
    assert_eq!(fs::read_to_string(&file).unwrap(), once);
    let secret = ["AKIA", "Q3EGZXV7TNW2KD5L"].concat();
    for shell in ["bash", "zsh"] {
        if Command::new(shell).arg("-c").arg("true").status().is_err() {
            eprintln!("{shell} is not installed: not tested");
            continue;
        }
        let (code, out) = printed(shell, &file, &format!("echo k={secret}; echo e={secret} >&2; exit 3"));
        assert_eq!(code, 3, "{shell}");
        assert!(!out.contains(&secret) && out.contains("e=[redacted:aws-access-key#"), "{shell}: {out}");
        // Commands are not changed: pipes and files have the original.
        let (code, out) = printed(shell, &file, &format!("echo {secret} | wc -c; false"));
        assert_eq!((code, out.trim()), (1, "21"), "{shell}");
        // The shell is as it was: jobs, traps, and programs that replace it.
        let (code, out) = printed(shell, &file, "sleep 0.1 & wait; echo done");
        assert_eq!((code, out.as_str()), (0, "done\n"), "{shell}");
        let long = |out: &str| out.lines().count() == 20_000 && out.ends_with("\n20000\n");
        for command in ["trap 'exit 5' EXIT; seq 1 20000", "exec sh -c 'seq 1 20000; exit 5'"] {
            let (code, out) = printed(shell, &file, command);
            assert!(code == 5 && long(&out), "{shell} {command}: {code}");
        }
        let (code, out) = printed(shell, &file, "kill -9 $$");
        assert_eq!((code, out.as_str()), (137, ""), "{shell}");
        let (_, out) = printed(shell, &file, "env | grep -c MIDRAIL_REDACTED");
        assert_eq!(out, "0\n", "{shell}");
        // A process in the background does not hold the shell.
        let (code, out) = printed(shell, &file, "sleep 3 & echo started; exit 4");
        assert_eq!((code, out.as_str()), (4, "started\n"), "{shell}");
    }
    // Without the program nothing runs.
    let broken = once.replace(env!("CARGO_BIN_EXE_midrail"), "/nowhere/midrail");
    world.write("broken.sh", broken);
    let (code, out) = printed("bash", &world.path("broken.sh"), &format!("echo {secret}; exit 3"));
    assert!(code == 127 && out.is_empty(), "{code} {out}");
    // A pack that does not redact results.
    world.write(".midrail/pack.yaml", "pack: p\nextends: none\n");
    fs::remove_file(&file).unwrap();
    start("claude-code");
    assert!(!Path::new(&file).exists());
}
