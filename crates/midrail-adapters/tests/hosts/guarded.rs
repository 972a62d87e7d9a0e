//! Payloads of hosts, decided by the engine with the default pack.

use std::sync::{Arc, LazyLock};

use midrail::{Effect, Engine, Files, Load};
use midrail_adapters::hook::Hook;
use midrail_adapters::hosts;
use serde_json::{Value, json};

static ENGINE: LazyLock<Arc<Engine>> = LazyLock::new(|| {
    let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
    let files = Arc::new(Files::simulated(Default::default()));
    Arc::new(Engine::builder(loaded.policy, &loaded.source).files(files).build().unwrap())
});

/// The effect of what a host sends, and the answer.
fn decided(host: &str, hook_event: &str, payload: &Value) -> (Effect, String) {
    let hook =
        Hook::read(hosts::find(host).unwrap(), Some(hook_event), payload.to_string().as_bytes()).unwrap();
    let decisions: Vec<_> = hook.events().unwrap().into_iter().map(|event| ENGINE.decide(event)).collect();
    let effect = decisions.iter().map(|decision| decision.effect).max().unwrap();
    let answer = hook.answer(decisions);
    (effect, format!("{}{}", answer.stdout, answer.stderr))
}

fn codex(session: &str, command: &str) -> (Effect, String) {
    let payload = json!({"session_id": session, "cwd": "/repo", "tool_name": "Bash", "tool_input": {"command": command}});
    decided("codex", "PreToolUse", &payload)
}

#[test]
fn codex_cannot_start_interactive_programs() {
    for command in ["bash", "python3 -i", "ssh host", "sudo sh -i"] {
        let (effect, answer) = codex("typing", command);
        assert_eq!(effect, Effect::Block, "{command}");
        assert!(answer.contains("self-protection") && answer.contains("one by one"), "{answer}");
    }
    for command in ["bash -c 'echo hi'", "python3 -c 'print(1)'", "echo ls | bash"] {
        let (effect, answer) = codex("no-typing", command);
        assert!(effect.allows(), "{command}: {answer}");
    }
}

#[test]
fn hosts_that_report_typed_input_may_open_a_shell() {
    let args = json!({"command": "bash"});
    let payload = json!({"sessionId": "s", "cwd": "/repo", "toolName": "bash", "toolArgs": args});
    let (effect, answer) = decided("copilot-cli", "preToolUse", &payload);
    assert!(effect.allows(), "{answer}");
}

#[test]
fn typed_input_of_copilot_is_a_command() {
    let payload = |input: &str| {
        let args = json!({"shellId": "z", "input": input});
        json!({"sessionId": "s", "cwd": "/repo", "toolName": "write_bash", "toolArgs": args})
    };
    assert_eq!(decided("copilot-cli", "preToolUse", &payload("rm -rf ~{enter}")).0, Effect::Block);
    assert!(decided("copilot-cli", "preToolUse", &payload("ls{enter}")).0.allows());
}

#[test]
fn patches_of_codex_contain_their_files() {
    let patch = "*** Begin Patch\n*** Update File: .codex/hooks.json\n@@\n-a\n+b\n*** End Patch";
    let payload = json!({"session_id": "p", "cwd": "/repo", "tool_name": "apply_patch", "tool_input": {"command": patch}});
    assert_eq!(decided("codex", "PreToolUse", &payload).0, Effect::Block);
}

#[test]
fn tool_of_an_mcp_server_is_recognized_in_every_host() {
    let path = json!({"path": "/repo/.env"});
    let context = json!({"server_name": "fs", "tool_name": "read_text_file"});
    let calls = [
        ("codex", "PreToolUse", json!({"tool_name": "mcp__fs__read_text_file", "tool_input": path})),
        (
            "gemini-cli",
            "BeforeTool",
            json!({"tool_name": "mcp_fs_read_text_file", "tool_input": path, "mcp_context": context}),
        ),
        ("gemini-cli", "BeforeTool", json!({"tool_name": "mcp_fs_read_text_file", "tool_input": path})),
        ("copilot-cli", "preToolUse", json!({"toolName": "fs-read_text_file", "toolArgs": path})),
        ("cursor", "preToolUse", json!({"tool_name": "MCP:read_text_file", "tool_input": path})),
        (
            "cursor",
            "beforeMCPExecution",
            json!({"tool_name": "read_text_file", "mcp_server_name": "fs", "tool_input": path.to_string()}),
        ),
        (
            "opencode",
            "tool.execute.before",
            json!({"input": {"tool": "fs_read_text_file"}, "output": {"args": path}}),
        ),
    ];
    for (host, hook_event, mut payload) in calls {
        payload["cwd"] = json!("/repo");
        let (effect, answer) = decided(host, hook_event, &payload);
        assert_eq!(effect, Effect::Block, "{host}: {answer}");
    }
}

#[test]
fn attached_files_are_decided_as_reads() {
    let attached = json!([{"type": "file", "file_path": "/repo/.env"}]);
    let parts = json!([{"type": "text", "text": "look"}, {"type": "file", "url": "file:///repo/.env"}]);
    let prompts = [
        ("gemini-cli", "BeforeAgent", json!({"prompt": "look at @.env"})),
        ("copilot-cli", "userPromptSubmitted", json!({"prompt": "look at @.env"})),
        ("cursor", "beforeSubmitPrompt", json!({"prompt": "look", "attachments": attached})),
        ("opencode", "chat.message", json!({"output": {"parts": parts}})),
    ];
    for (host, hook_event, mut payload) in prompts {
        payload["cwd"] = json!("/repo");
        let (effect, answer) = decided(host, hook_event, &payload);
        assert_eq!(effect, Effect::Block, "{host}: {answer}");
    }
}

#[test]
fn secret_in_a_result_does_not_reach_the_model() {
    let key = ["AKIA", "IOSFODNN7", "ABCDEFG"].concat();
    let text = format!("key {key}");
    let results = [
        ("codex", "PostToolUse", json!({"tool_name": "Bash", "tool_response": text})),
        (
            "gemini-cli",
            "AfterTool",
            json!({"tool_name": "run_shell_command", "tool_response": {"llmContent": [{"text": text}]}}),
        ),
        (
            "copilot-cli",
            "postToolUse",
            json!({"toolName": "bash", "toolResult": {"resultType": "success", "textResultForLlm": text}}),
        ),
        (
            "copilot-cli",
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_result": {"result_type": "success", "text_result_for_llm": text}}),
        ),
        ("cursor", "beforeReadFile", json!({"file_path": "/repo/a.txt", "content": text})),
        (
            "cursor",
            "postToolUse",
            json!({
                "tool_name": "MCP:search",
                "tool_output": json!({"content": [{"type": "text", "text": text}]}).to_string(),
            }),
        ),
        (
            "opencode",
            "tool.execute.after",
            json!({"input": {"tool": "bash", "args": {}}, "output": {"output": text}}),
        ),
    ];
    for (host, hook_event, mut payload) in results {
        payload["cwd"] = json!("/repo");
        let (effect, answer) = decided(host, hook_event, &payload);
        assert!(
            effect == Effect::Redact || (hook_event == "beforeReadFile" && effect == Effect::Block),
            "{host}: {effect:?}"
        );
        assert!(!answer.contains(&key) && answer.len() > 20, "{host}: {answer}");
    }
}

/// What each host sends for a call of its shell, with these arguments.
fn shell_calls(args: &str) -> Vec<(&'static str, &'static str, String)> {
    let claude = |tool: &str| {
        format!(
            r#"{{"session_id":"s","cwd":"/repo","tool_name":"{tool}","tool_use_id":"c","tool_input":{args}}}"#
        )
    };
    vec![
        ("claude-code", "PreToolUse", claude("Bash")),
        ("codex", "PreToolUse", claude("Bash")),
        ("gemini-cli", "BeforeTool", claude("run_shell_command")),
        (
            "copilot-cli",
            "preToolUse",
            format!(r#"{{"sessionId":"s","cwd":"/repo","toolName":"bash","toolArgs":{args}}}"#),
        ),
        (
            "cursor",
            "preToolUse",
            format!(r#"{{"conversation_id":"s","cwd":"/repo","tool_name":"Shell","tool_input":{args}}}"#),
        ),
        (
            "opencode",
            "tool.execute.before",
            format!(
                r#"{{"cwd":"/repo","input":{{"tool":"bash","sessionID":"s"}},"output":{{"args":{args}}}}}"#
            ),
        ),
    ]
}

#[test]
fn shell_calls_that_cannot_be_read_are_stopped_in_every_host() {
    for args in [
        r#"{"Command":"ls -la"}"#,
        r#"{"command":["ls -la"]}"#,
        r#"{"command":{"a":"ls"}}"#,
        r#"{"command":7}"#,
        r#"{"command":"ls\u0000 -la"}"#,
        r#"{"command":"ls","command":"ls -la"}"#,
        r#"{"x":"ls -la"}"#,
        r#""ls -la""#,
        r#"["ls -la"]"#,
        r#""{\"command\":\"ls\",\"command\":\"ls -la\"}""#,
        r#""{\"Command\":\"ls -la\"}""#,
    ] {
        for (host, hook_event, payload) in shell_calls(args) {
            let host = hosts::find(host).unwrap();
            let hook = match Hook::read(host, Some(hook_event), payload.as_bytes()) {
                Ok(hook) => hook,
                // The answer is a refusal: `bytes_that_are_no_payload_are_refused` and its like check it.
                Err(error) => {
                    assert!(error.to_string().contains("duplicate field"), "{args}: {error}");
                    continue;
                }
            };
            let decisions: Vec<_> =
                hook.events().unwrap().into_iter().map(|event| ENGINE.decide(event)).collect();
            let effect = decisions.iter().map(|decision| decision.effect).max().unwrap();
            assert!(effect >= Effect::Escalate, "{}: {args} is {effect:?}", host.name);
        }
    }
    for (host, hook_event, payload) in shell_calls(r#"{"command":"ls -la","description":"List files"}"#) {
        let payload: Value = serde_json::from_str(&payload).unwrap();
        assert!(decided(host, hook_event, &payload).0.allows(), "{host}");
    }
    // Copilot CLI sends arguments as JSON in a text.
    for (host, hook_event, payload) in shell_calls(r#""{\"command\":\"ls -la\"}""#) {
        let payload: Value = serde_json::from_str(&payload).unwrap();
        assert!(host == "opencode" || decided(host, hook_event, &payload).0.allows(), "{host}");
    }
}

/// The tables of commands know every settings file by its name.
#[test]
fn settings_given_to_an_unknown_program_are_held() {
    for pattern in hosts::ALL.iter().flat_map(|host| host.settings_files) {
        let file = pattern.replace("/**", "/a.json").replace("**/", "/repo/").replace('*', "x");
        let (effect, answer) = codex("named", &format!("./tool --out '{file}'"));
        assert!(effect >= Effect::Escalate || file.starts_with('$'), "{pattern}: {answer}");
    }
}
