//! Calls that a decision contains: each host gets a command that runs in a sandbox, once, and for nothing else.

use std::process::Command;

use serde_json::{Value, json};

use crate::run::is_available;
use crate::world::{Ended, World, ended};

/// What `$TOOL` runs is not known, and so neither is what the script does.
const WIPE: &str = "${TOOL:-true}\necho x > here\necho gone > \"$LETTER\" || echo refused\n";

/// A project with code that was not read, and something to lose.
fn project() -> World {
    let world = World::new();
    world.write("wipe.sh", WIPE);
    world.write("../precious/letter", "a letter");
    world
}

fn asked(world: &World, host: &str, payload: &Value) -> Value {
    let args: Vec<&str> = ["hook"].into_iter().chain(host.split(' ')).collect();
    let answer = world.feed(&args, payload.to_string()).code(0);
    serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{host}: {} {}", answer.out, answer.err))
}

/// The command that Claude Code gets for a line.
fn contained(world: &World, line: &str) -> String {
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s-1", "cwd": world.project(), "tool_name": "Bash",
        "tool_input": {"command": line}, "tool_use_id": "t"
    });
    let answer = asked(world, "claude-code", &payload);
    let command = &answer["hookSpecificOutput"]["updatedInput"]["command"];
    // The user's own permission rules decide about the new command.
    assert!(answer["hookSpecificOutput"].get("permissionDecision").is_none(), "{answer}");
    command.as_str().unwrap_or_else(|| panic!("{line} is not contained: {answer}")).to_owned()
}

/// Runs a line as the agent's shell does.
fn shell(world: &World, line: &str) -> Ended {
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(world.project()).env_clear();
    command.envs(world.command(&[]).get_envs().filter_map(|(key, value)| Some((key, value?))));
    let letter = world.project().join("../precious/letter").canonicalize().unwrap();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("LETTER", letter);
    ended(&mut command, Vec::new())
}

#[test]
fn code_that_was_not_read_changes_only_the_project() {
    if !is_available() {
        return;
    }
    let world = project();
    let line = contained(&world, "sh wipe.sh && echo 'it'\\''s done'");
    let result = shell(&world, &line);
    assert_eq!(result.code, 0, "{}", result.err);
    assert!(result.out.ends_with("it's done\n"), "{}", result.out);
    assert_eq!(world.read("here"), "x\n");
    assert_eq!(world.read("../precious/letter"), "a letter");
}

#[test]
fn grant_is_for_one_run_of_one_command() {
    if !is_available() {
        return;
    }
    let world = project();
    let line = contained(&world, "sh wipe.sh");
    let other = line.replace("wipe.sh", "other.sh");
    assert!(shell(&world, &other).code(125).err.contains("was granted for another command"));
    shell(&world, &line).code(0);
    assert!(shell(&world, &line).code(125).err.contains("was used already"));
    let unknown = world.run(&["run", "--box", "0123456789abcdef", "--", "true"]).code(125);
    assert!(unknown.err.contains("never granted"), "{}", unknown.err);
    // An option cannot widen what was granted.
    let line = contained(&world, "sh wipe.sh");
    let wider = line.replace(" --box ", " --network all --box ");
    assert!(shell(&world, &wider).code != 0);
}

#[test]
fn every_host_that_can_change_a_call_contains_it() {
    if !is_available() {
        return;
    }
    let world = project();
    let (cwd, line) = (world.project(), "sh wipe.sh");
    for (host, payload, place) in [
        (
            "gemini-cli",
            json!({"hook_event_name": "BeforeTool", "session_id": "g", "cwd": cwd, "tool_name": "run_shell_command", "tool_input": {"command": line}}),
            "/hookSpecificOutput/tool_input/command",
        ),
        (
            "copilot-cli preToolUse",
            json!({"sessionId": "c", "cwd": cwd, "toolName": "bash", "toolArgs": {"command": line}}),
            "/modifiedArgs/command",
        ),
        (
            "cursor",
            json!({"hook_event_name": "preToolUse", "conversation_id": "u", "cwd": cwd, "workspace_roots": [cwd], "tool_name": "Shell", "tool_input": {"command": line}}),
            "/updated_input/command",
        ),
    ] {
        let answer = asked(&world, host, &payload);
        let command = answer.pointer(place).and_then(Value::as_str);
        let command = command.unwrap_or_else(|| panic!("{host}: {answer}"));
        shell(&world, command).code(0);
        assert_eq!(world.read("../precious/letter"), "a letter", "{host}");
    }
}

#[test]
fn host_that_cannot_change_a_call_runs_it_as_before() {
    let world = project();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "x", "cwd": world.project(), "tool_name": "Bash",
        "tool_input": {"command": "sh wipe.sh"}
    });
    let answer = world.feed(&["hook", "codex"], payload.to_string()).code(0);
    assert!(!answer.out.contains("--box") && !answer.out.contains("deny"), "{}", answer.out);
}

#[test]
fn required_sandbox_is_asked_of_an_agent_whose_host_cannot_start_it() {
    let world =
        World::with_pack("pack: p\nguardrails:\n  - {use: safety-001, with: {unknown: require_box}}\n");
    world.write("wipe.sh", WIPE);
    let call = |line: &str| {
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": "x", "cwd": world.project(), "tool_name": "Bash",
            "tool_input": {"command": line}
        });
        world.feed(&["hook", "codex"], payload.to_string()).code(0).out
    };
    let sent_back = call("sh wipe.sh");
    assert!(sent_back.contains("deny") && sent_back.contains("midrail run -- COMMAND"), "{sent_back}");
    assert_eq!(call("midrail run -- sh wipe.sh"), "");
}

#[test]
fn boxes_of_a_pack_apply() {
    if !is_available() {
        return;
    }
    let world = World::with_pack(
        "pack: p\nboxes:\n  default: {deny_write: [kept], limits: {time: 1s}}\nguardrails:\n  - {use: safety-001, with: {unknown: contain}}\n",
    );
    world.write("kept/a", "as it was");
    world.write("../precious/letter", "a letter");
    world.write("wipe.sh", "${TOOL:-true}\necho changed > kept/a\n");
    shell(&world, &contained(&world, "sh wipe.sh"));
    assert_eq!(world.read("kept/a"), "as it was");
    world.write("slow.sh", "${TOOL:-true}\nsleep 30\n");
    shell(&world, &contained(&world, "sh slow.sh")).code(124);
}

#[test]
fn a_read_only_box_changes_nothing() {
    if !is_available() {
        return;
    }
    let world = World::with_pack(
        "pack: p\nboxes:\n  default: {read_only: true, write: [out]}\nguardrails:\n  - {use: safety-001, with: {unknown: contain}}\n",
    );
    world.write("out/a", "");
    world.write("../precious/letter", "a letter");
    world.write(
        "change.sh",
        "${TOOL:-true}\necho x > here || echo kept\necho x > out/a && echo x > /tmp/scratch; rm -rf change.sh out\n",
    );
    let run = shell(&world, &contained(&world, "sh change.sh; ls /tmp/scratch; cat change.sh | wc -l"));
    assert!(run.out.contains("kept") && run.out.contains("3\n"), "{}{}", run.out, run.err);
    assert!(!world.project().join("here").exists() && world.project().join("change.sh").exists());
    assert!(!std::path::Path::new("/tmp/scratch").exists());
}

/// What reading a pipe gives: its end if no process holds it open to write, else an error, because that would wait.
fn read_pipe(pipe: &std::path::Path) -> Result<usize, std::io::ErrorKind> {
    use std::os::unix::fs::OpenOptionsExt;
    const NONBLOCK: i32 = 0o4000;
    let mut pipe = std::fs::File::options().read(true).custom_flags(NONBLOCK).open(pipe).unwrap();
    std::io::Read::read(&mut pipe, &mut [0]).map_err(|error| error.kind())
}

/// The test stands for the coding agent: what goes on with the session runs until the test ends.
#[test]
fn a_box_ends_the_background_with_the_call() {
    if !is_available() {
        return;
    }
    for (background, expected) in [("end", Ok(0)), ("session", Err(std::io::ErrorKind::WouldBlock))] {
        let world = World::with_pack(&format!(
            "pack: p\nboxes:\n  default: {{background: {background}}}\nguardrails:\n  - {{use: safety-001, with: {{unknown: contain}}}}\n"
        ));
        world.write("../precious/letter", "a letter");
        world.write(
            "serve.sh",
            "${TOOL:-true}\nmkfifo pipe\n(exec 3<> pipe; touch ready; exec sleep 120) > /dev/null 2>&1 &\n\
             while ! test -e ready; do sleep 0.01; done\n",
        );
        shell(&world, &contained(&world, "sh serve.sh")).code(0);
        assert!(world.project().join("ready").exists());
        assert_eq!(read_pipe(&world.project().join("pipe")), expected, "background: {background}");
    }
}

/// What goes to the empty home does not vanish without a word.
#[test]
fn files_of_an_empty_home_are_reported() {
    if !is_available() {
        return;
    }
    let world = project();
    world.write("install.sh", "${TOOL:-true}\nmkdir -p ~/programs && echo x > ~/programs/tool\n");
    let line = contained(&world, "sh install.sh");
    let run = shell(&world, &line).code(0);
    if run.err.contains("weaker") {
        return;
    }
    let advice =
        "midrail: `~/programs` went to an empty home and is gone with the sandbox; write to the project";
    assert!(run.err.contains(advice), "{}", run.err);
    assert!(!world.project().join("../programs").exists());
    result(&world, &line);
    let records = world.run(&["audit", "export"]).code(0).json_lines();
    let mut outcomes = records.iter().map(|record| &record["body"]["event"]["result"]["box"]["lost"]);
    assert!(outcomes.any(|lost| *lost == json!(["~/programs"])), "{records:?}");
}

/// The result of a call, as Claude Code reports it.
fn result(world: &World, command: &str) -> Ended {
    let payload = json!({
        "hook_event_name": "PostToolUse", "session_id": "s-1", "cwd": world.project(), "tool_name": "Bash",
        "tool_input": {"command": command}, "tool_use_id": "t", "tool_response": {"stdout": "", "stderr": "no"},
    });
    world.feed(&["hook", "claude-code"], payload.to_string()).code(0)
}

/// The agent learns what was refused, guardrails know it with the result, and every third refusal is a strike.
#[test]
fn refusals_are_reported_recorded_and_counted() {
    if !is_available() {
        return;
    }
    let world = project();
    world.write("refused.sh", "${TOOL:-true}\nmkdir -p sub/.claude\ncat \"$LETTER\"\n");
    let letter = world.project().join("../precious/letter").canonicalize().unwrap();
    for count in 1..=3 {
        let line = contained(&world, "sh refused.sh");
        let run = shell(&world, &line);
        assert_ne!(run.code, 0);
        let advice =
            format!("midrail: the sandbox probably refused `{}`; ask the user to run", letter.display());
        assert!(run.err.contains(&advice), "{}", run.err);
        assert!(!world.project().join("sub/.claude").exists());
        let answer = result(&world, &line);
        assert_eq!(answer.out.contains("refused something to 3 calls"), count == 3, "{}", answer.out);
    }
    let records = world.run(&["audit", "export"]).code(0).json_lines();
    let outcomes = records.iter().map(|record| &record["body"]["event"]["result"]["box"]);
    let outcome = outcomes.into_iter().find(|outcome| outcome.is_object());
    let outcome = outcome.unwrap_or_else(|| panic!("{records:?}"));
    assert_eq!(outcome["refused"], json!([letter]));
    assert_eq!(outcome["changed"], json!(["sub/.claude"]));
}

#[test]
fn doctor_reports_what_enforces_the_sandbox() {
    let report = World::new().run(&["doctor", "--json"]).json();
    let message = report["sandbox"][0]["message"].as_str().unwrap().to_owned();
    let wanted = if is_available() { "contained commands run" } else { "commands are not contained" };
    assert!(message.starts_with(wanted), "{message}");
    World::new().run(&["doctor"]).says("Sandbox");
}
