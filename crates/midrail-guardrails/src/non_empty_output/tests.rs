//! Tests of quality-001.

use std::sync::Arc;

use super::*;
use crate::tests::Run;
use midrail_core::{Decision, Event, ToolResult};
use serde_json::json;

fn decide_with(settings: Value, tool: &str, args: Value, content: Value) -> Decision {
    let guardrail: NonEmptyOutput = serde_json::from_value(settings).unwrap();
    let result = ToolResult { ok: Some(true), content: Some(content), ..ToolResult::default() };
    Run::on(Arc::new(guardrail), vec![EventKind::AfterTool, EventKind::BeforeStop])
        .decide(&Event::after_tool(tool, args, result))
}

fn effect(tool: &str, args: Value, content: Value) -> Effect {
    decide_with(json!({}), tool, args, content).effect
}

fn bash(line: &str, content: &str) -> Effect {
    effect("Bash", json!({"command": line}), json!(content))
}

#[test]
fn calls_that_should_answer_must_answer() {
    for content in [
        json!(""),
        json!(" \n\t"),
        json!("null"),
        json!("None"),
        json!("undefined"),
        json!([]),
        json!({}),
        Value::Null,
        json!("[]"),
        json!([{"type": "text", "text": ""}]),
        json!({"stdout": "", "stderr": "", "interrupted": false}),
    ] {
        assert_eq!(effect("Read", json!({"file_path": "a"}), content.clone()), Effect::Warn, "{content}");
        assert_eq!(effect("lookup", json!({}), content.clone()), Effect::Warn, "{content}");
        assert_eq!(
            effect("WebFetch", json!({"url": "https://a.b"}), content.clone()),
            Effect::Warn,
            "{content}"
        );
    }
}

#[test]
fn short_answer_is_not_empty() {
    for content in [
        json!("0"),
        json!(0),
        json!(false),
        json!("ok"),
        json!("x"),
        json!({"count": 0}),
        json!([1]),
        json!({"ok": true}),
    ] {
        assert_eq!(effect("lookup", json!({}), content.clone()), Effect::Allow, "{content}");
    }
}

#[test]
fn silent_calls_may_be_silent() {
    assert_eq!(effect("Write", json!({"file_path": "a"}), json!("")), Effect::Allow);
    for line in [
        "mkdir -p a",
        "touch a",
        "git add .",
        "cp a b",
        "rm a",
        "sed -i s/a/b/ c",
        "cat a > b",
        "tsc",
        "cargo fmt",
        "true",
        "grep -q x a",
        "cd src",
        "git commit -qm x",
        "diff a b",
        "curl -sSo a https://example.com",
        "find . -name x -delete",
        "python build.py",
        "cat a | sort > b",
    ] {
        assert_eq!(bash(line, ""), Effect::Allow, "{line}");
    }
}

#[test]
fn printing_programs_must_print() {
    for line in [
        "cat a",
        "ls",
        "git -C . log",
        "git status",
        "pytest",
        "cargo test",
        "a | grep x",
        "curl https://example.com",
    ] {
        assert_eq!(bash(line, " \n"), Effect::Warn, "{line}");
    }
}

#[test]
fn tools_have_their_own_minimum() {
    let settings = || json!({"tools": {"notify*": {"empty_ok": true}, "notify_and_ask": {"min_chars": 5}, "Write": {"empty_ok": false}}});
    let effect =
        |tool: &str, args: Value, content: &str| decide_with(settings(), tool, args, json!(content)).effect;
    assert_eq!(effect("notify_all", json!({}), ""), Effect::Allow);
    assert_eq!(effect("notify_and_ask", json!({}), "yes"), Effect::Warn);
    assert_eq!(effect("notify_and_ask", json!({}), "  certainly "), Effect::Allow);
    assert_eq!(effect("Write", json!({"file_path": "a"}), ""), Effect::Warn);
}

#[test]
fn pack_adds_trivial_texts() {
    assert_eq!(
        decide_with(json!({"trivial": ["n/a"]}), "lookup", json!({}), json!(" N/A ")).effect,
        Effect::Warn
    );
    assert_eq!(effect("lookup", json!({}), json!("n/a")), Effect::Allow);
}

#[test]
fn error_like_answers_are_reported() {
    for (line, content) in [
        ("foo", "bash: foo: command not found"),
        (
            "python a.py",
            "starting\nTraceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x",
        ),
        ("cargo run", "thread 'main' panicked at src/main.rs:1:1:\nboom"),
        ("cargo build 2>&1 | tail -3", "warning: x\nerror: could not compile `a` due to 1 previous error"),
        ("make", "fatal: not a git repository"),
        ("cat missing.txt", "cat: missing.txt: No such file or directory"),
        ("npm run x", "npm ERR! missing script: x"),
    ] {
        let decision = decide_with(json!({}), "Bash", json!({"command": line}), json!(content));
        assert_eq!(decision.effect, Effect::Warn, "{line}");
        assert!(decision.reason.contains("looks like an error"), "{}", decision.reason);
        assert_eq!(
            decide_with(json!({"errors": false}), "Bash", json!({"command": line}), json!(content)).effect,
            Effect::Allow
        );
    }
    let page = "<html>\n<head><title>502 Bad Gateway</title></head>";
    assert_eq!(effect("WebFetch", json!({"url": "https://a.b"}), json!(page)), Effect::Warn);
    assert_eq!(effect("WebFetch", json!({"url": "https://a.b"}), json!("HTTP/1.1 503 x\n\n")), Effect::Warn);
    assert_eq!(effect("lookup", json!({}), json!({"isError": true, "content": "x"})), Effect::Warn);
}

#[test]
fn text_about_errors_is_allowed() {
    assert_eq!(
        effect(
            "Read",
            json!({"file_path": "app.log"}),
            json!("Error: x\nTraceback (most recent call last):")
        ),
        Effect::Allow
    );
    for (line, content) in [
        ("cat app.log", "Error: it broke\nfatal: x"),
        ("grep -r panicked .", "a.rs: thread 'main' panicked at x\nb.rs: y"),
        ("git log", "error: handle the empty list"),
        ("cargo test", "running 3 tests\ntest error_is_told ... ok\ntest result: ok. 3 passed; 0 errors"),
        ("./run", "0 errors, 0 warnings"),
        ("tail -n 50 build.log", "error: old news\nall done"),
    ] {
        assert_eq!(bash(line, content), Effect::Allow, "{line}");
    }
    let article = "How to mend a 502 Bad Gateway in your proxy";
    assert_eq!(effect("WebFetch", json!({"url": "https://a.b"}), json!(article)), Effect::Allow);
    assert_eq!(
        effect("WebFetch", json!({"url": "https://a.b"}), json!("HTTP/1.1 200 OK\n\n502 bad gateway")),
        Effect::Allow
    );
}

#[test]
fn failed_call_is_not_reported_again() {
    let guardrail = Arc::new(NonEmptyOutput::default());
    let mut run = Run::on(guardrail, vec![EventKind::AfterTool]);
    let result = |ok, exit_code| ToolResult { ok, exit_code, ..ToolResult::default() };
    let mut effect = |result| run.decide(&Event::after_tool("lookup", json!({}), result)).effect;
    assert_eq!(effect(result(Some(false), None)), Effect::Allow);
    assert_eq!(effect(result(Some(true), Some(1))), Effect::Allow);
    assert_eq!(effect(result(None, None)), Effect::Warn);
    assert_eq!(
        run.decide(&Event { result: None, ..Event::after_tool("a", json!({}), ToolResult::ok("")) }).effect,
        Effect::Block
    );
}

#[test]
fn output_of_the_agent_can_be_checked() {
    let mut run = Run::on(Arc::new(NonEmptyOutput::default()), vec![EventKind::BeforeStop]);
    let mut stop =
        |output: Option<Value>| run.decide(&Event { output, ..Event::new(EventKind::BeforeStop) }).effect;
    assert_eq!(stop(None), Effect::Warn);
    assert_eq!(stop(Some(json!("All 12 tests pass."))), Effect::Allow);
}
