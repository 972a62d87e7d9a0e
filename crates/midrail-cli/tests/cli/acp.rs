//! The proxy for editors as a process: a toy agent behind it, and conversations of real agents where they are at hand.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::{Ended, World};

const PATH: &str = "/usr/bin:/bin";

/// Runs an agent of a few lines of shell with some lines from the editor.
fn played(world: &World, args: &[&str], agent: &str, lines: &[Value]) -> Ended {
    world.write("agent.sh", agent);
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let args: Vec<&str> = ["acp"].iter().chain(args).chain(&["--", "/bin/sh", "agent.sh"]).copied().collect();
    let mut command = world.command(&args);
    command.env("PATH", PATH);
    crate::world::ended(&mut command, input.into_bytes())
}

fn prompt(id: u64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [
        {"type": "text", "text": text}]}})
}

/// An agent that tells what it was sent and ends its turn.
const ECHO: &str = r#"while read -r line; do
  printf '%s\n' "$line" >> heard.jsonl
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id"
done
echo ending >&2
exit 7
"#;

#[test]
fn exit_code_and_stderr_of_the_agent_are_passed_on() {
    let world = World::new();
    let ended = played(&world, &[], ECHO, &[prompt(1, "hello")]).code(7).complains("ending");
    assert_eq!(
        ended.json_lines(),
        [json!({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}})]
    );
    world.run(&["audit", "verify"]).code(0);
}

#[test]
fn a_blocked_prompt_does_not_reach_the_agent() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - {id: no-evil, on: before_model, when: 'text contains \"evil\"', effect: block, reason: not here}\n",
    );
    let ended =
        played(&world, &[], ECHO, &[prompt(1, "something evil"), prompt(2, "something good")]).code(7);
    assert!(!world.read("heard.jsonl").contains("evil"), "{}", world.read("heard.jsonl"));
    let lines = ended.json_lines();
    let answer =
        |id: u64| lines.iter().find(|line| line["id"] == id).unwrap()["result"]["stopReason"].clone();
    assert_eq!((answer(1), answer(2)), (json!("refusal"), json!("end_turn")));
    assert!(ended.out.contains("not here"), "{}", ended.out);
}

#[test]
fn agent_that_does_not_start_and_unreadable_pack_are_reported() {
    World::new()
        .run(&["acp", "--", "/no/such/agent"])
        .code(1)
        .complains("could not start the agent `/no/such/agent`");
    World::with_pack("pack: [").run(&["acp", "--", "/bin/true"]).code(1);
    World::new().run(&["acp"]).code(1);
}

#[test]
fn invalid_message_is_answered_with_an_error() {
    let world = World::new();
    world.write("agent.sh", "cat > heard\n");
    let mut command = world.command(&["acp", "--", "/bin/sh", "agent.sh"]);
    let input = b"{\"jsonrpc\": oops}\n\xff\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n".to_vec();
    let ended = crate::world::ended(command.env("PATH", PATH), input).code(0);
    assert_eq!(world.read("heard"), "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n");
    let codes: Vec<Value> = ended.json_lines().iter().map(|line| line["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!(-32700), json!(-32700)]);
}

/// Each policy that a session works under is that of its own folder.
#[test]
fn session_uses_the_packs_of_its_directory() {
    let world = World::new();
    let pack =
        "pack: p\nguardrails:\n  - {id: no-prompts, on: before_model, effect: block, reason: closed}\n";
    world.write("other/.midrail/pack.yaml", pack);
    let agent = r#"read -r line
printf '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}\n'
read -r line
printf '%s' "$line" > heard
"#;
    let begin =
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": world.path("other")}});
    world.write("agent.sh", agent);
    // The prompt follows the answer, as editors do.
    let script = format!(
        "(echo '{begin}'; while ! grep -q sessionId out; do :; done; echo '{}') | {} acp -- /bin/sh agent.sh > out",
        prompt(2, "hello"),
        env!("CARGO_BIN_EXE_midrail")
    );
    world.write("out", "");
    let mut command = std::process::Command::new("/bin/sh");
    let with_env = world.command(&[]);
    command.args(["-c", &script]).current_dir(world.project()).env_clear().env("PATH", PATH);
    command.envs(with_env.get_envs().filter_map(|(key, value)| Some((key, value?))));
    crate::world::ended(&mut command, Vec::new());
    assert!(world.read("out").contains("closed"), "{}", world.read("out"));
    assert_eq!(world.read("heard"), "");
}

/// Conversations that were recorded with real agents, where `MIDRAIL_PAYLOADS` names the folder of such records: lines
/// that begin with `->` are the editor's, with `<-` the agent's. Under a policy that allows everything they pass as they
/// are.
#[test]
fn recorded_conversations_pass_unchanged() {
    let Some(folder) = std::env::var_os("MIDRAIL_PAYLOADS") else { return };
    let mut count = 0;
    for entry in fs::read_dir(Path::new(&folder).join("acp")).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().ends_with(".rpc.jsonl") {
            continue;
        }
        pass_unchanged(&fs::read_to_string(&path).unwrap(), &path);
        count += 1;
    }
    assert!(count > 0, "there is no conversation");
}

fn pass_unchanged(talk: &str, path: &Path) {
    use midrail::{Decision, Event, EventKind};
    use midrail_adapters::acp::{Proxy, ProxyOptions};
    use midrail_adapters::relay::{Relay, Side};
    let decide = |event: Event| {
        let content = (event.kind == EventKind::ModelChunk).then(|| event.text.unwrap_or_default());
        Decision { content, ..Decision::default() }
    };
    let mut proxy = Proxy::new(ProxyOptions::default(), Box::new(decide));
    let (mut sent, mut came) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (now, line) in (0_u64..).zip(talk.lines()) {
        let (from, line) = line.split_at(3);
        let side = if from == "-> " { Side::Client } else { Side::Server };
        match side {
            Side::Client => sent.0.push(line.to_owned()),
            Side::Server => sent.1.push(line.to_owned()),
        }
        let report = proxy.handle_line(side, line.as_bytes(), now);
        assert!(
            report.remarks.is_empty() && report.holds.is_empty(),
            "{}: {:?}",
            path.display(),
            report.remarks
        );
        came.0.extend(report.to_server);
        came.1.extend(report.to_client);
    }
    came.1.extend(proxy.end().to_client);
    assert_eq!(sent, came, "{}", path.display());
}

/// An agent that asks for permission once, keeps the answer, and ends.
const ASKS: &str = r#"read -r line
printf '{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","kind":"execute","rawInput":{"command":"make deploy"}},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}\n'
read -r answer
printf '%s' "$answer" > answer.json
"#;

/// The editor stays until the agent has its answer, or until the editor gets a request.
fn run_agent(world: &World, args: &str) -> (String, String) {
    world.write("agent.sh", ASKS);
    world.write("out", "");
    let script = format!(
        "(echo '{}'; until [ -s answer.json ] || grep -q request_permission out; do :; done) | {} acp {args} -- /bin/sh agent.sh > out",
        prompt(2, "hello"),
        env!("CARGO_BIN_EXE_midrail")
    );
    let mut command = std::process::Command::new("/bin/sh");
    let with_env = world.command(&[]);
    command.args(["-c", &script]).current_dir(world.project()).env_clear().env("PATH", PATH);
    command.envs(with_env.get_envs().filter_map(|(key, value)| Some((key, value?))));
    crate::world::ended(&mut command, Vec::new());
    (fs::read_to_string(world.path("answer.json")).unwrap_or_default(), world.read("out"))
}

#[test]
fn user_decides_unless_there_are_approvers() {
    let pack =
        "pack: p\nguardrails:\n  - {id: deploys, tools: bash, effect: escalate, reason: think twice}\n";
    let world = World::with_pack(pack);
    let (answer, out) = run_agent(&world, "");
    assert!(
        answer.is_empty() && out.contains("session/request_permission") && out.contains("think twice"),
        "{out}"
    );
    let world = World::with_pack(pack);
    world.run(&["approver", "add", "ada", "--role", "orchestrator"]).code(0);
    // No approver answers in time.
    let (answer, out) = run_agent(&world, "--wait 100ms");
    assert!(answer.contains("\"optionId\":\"no\""), "{answer} {out}");
    assert!(!out.contains("session/request_permission"), "{out}");
    world.run(&["approvals", "list"]).code(0).says("deploys");
}

/// A proxy that is ended by a signal ends its agent, also one that ignores the end of its input.
#[test]
fn signal_ends_the_agent_with_the_proxy() {
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let world = World::new();
        // The agent never reads, and writes its process id.
        world.write(
            "agent.sh",
            "sleep 987 & echo $! > child; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.1; done\n",
        );
        let mut command = world.command(&["acp", "--", "/bin/sh", "agent.sh"]);
        command.env("PATH", PATH).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut proxy = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        let pid = loop {
            if let Ok(pid) = fs::read_to_string(world.path("pid")) {
                break pid.trim().to_owned();
            }
            assert!(proxy.try_wait().unwrap().is_none(), "the proxy ended");
        };
        let kill = |args: [&str; 2]| {
            let status =
                std::process::Command::new("kill").args(args).stderr(std::process::Stdio::null()).status();
            status.unwrap().success()
        };
        assert!(kill([&format!("-{signal}"), &proxy.id().to_string()]));
        assert_eq!(proxy.wait().unwrap().code(), Some(code), "{signal}");
        assert!((0..1_000_000).any(|_| !kill(["-0", &pid])), "the agent runs without its guardrails");
        let child = fs::read_to_string(world.path("child")).unwrap().trim().to_owned();
        assert!((0..10_000).any(|_| has_ended(&child)), "a program of the agent runs without its guardrails");
    }
}

/// Whether a process has ended, also one that no process has waited for.
fn has_ended(pid: &str) -> bool {
    let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
    let state = String::from_utf8_lossy(&state).trim().to_owned();
    state.is_empty() || state.starts_with('Z')
}
