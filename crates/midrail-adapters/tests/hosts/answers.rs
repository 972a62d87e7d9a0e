//! Every answer is valid for its host: it has no field that the host does not know for the event, and no refusal is empty.
//! Hosts allow a call if they do not understand the answer.

use std::collections::BTreeSet;

use midrail::{Decision, Effect, EventKind};
use midrail_adapters::hook::Hook;
use midrail_adapters::host::{HookEvent, HookOutput, HostSpec};
use serde_json::Value;

use crate::{all, decisions, fixture_event, hook_event};

/// The fields of an answer, as paths, that a host takes at a hook_event.
fn allowed(host: &HostSpec, hook_event: &HookEvent) -> &'static [&'static str] {
    use EventKind::{AfterModel, AfterTool, BeforeModel, BeforeStop, BeforeTool, Observed, SessionStart};
    const CONTEXT: &[&str] = &["hookSpecificOutput.hookEventName", "hookSpecificOutput.additionalContext"];
    const BLOCK: &[&str] = &["decision", "reason"];
    const BLOCK_OR_HALT: &[&str] = &["decision", "reason", "continue", "stopReason"];
    let camel = hook_event.name.starts_with(|c: char| c.is_ascii_lowercase());
    match (host.name, hook_event.kind) {
        ("claude-code", BeforeTool) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.permissionDecision",
            "hookSpecificOutput.permissionDecisionReason",
            "hookSpecificOutput.additionalContext",
            "hookSpecificOutput.updatedInput",
            "systemMessage",
            "continue",
            "stopReason",
        ],
        ("claude-code", AfterTool) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.additionalContext",
            "hookSpecificOutput.updatedToolOutput",
            "decision",
            "reason",
            "continue",
            "stopReason",
        ],
        ("claude-code", SessionStart) => {
            &["hookSpecificOutput.hookEventName", "hookSpecificOutput.additionalContext", "systemMessage"]
        }
        ("claude-code", _) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.additionalContext",
            "decision",
            "reason",
            "continue",
            "stopReason",
        ],
        ("codex", BeforeTool) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.permissionDecision",
            "hookSpecificOutput.permissionDecisionReason",
            "hookSpecificOutput.additionalContext",
        ],
        ("codex", AfterTool | BeforeModel) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.additionalContext",
            "decision",
            "reason",
            "continue",
            "stopReason",
        ],
        ("codex", BeforeStop) => BLOCK_OR_HALT,
        ("codex", SessionStart) => CONTEXT,
        ("gemini-cli", AfterTool | BeforeModel) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.additionalContext",
            "decision",
            "reason",
            "continue",
            "stopReason",
        ],
        ("gemini-cli", AfterModel) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.llm_response",
            "decision",
            "reason",
            "continue",
            "stopReason",
        ],
        ("gemini-cli", BeforeTool) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.tool_input",
            "decision",
            "reason",
            "continue",
            "stopReason",
        ],
        ("gemini-cli", BeforeStop) => BLOCK_OR_HALT,
        ("copilot-cli", BeforeTool) if camel => {
            &["permissionDecision", "permissionDecisionReason", "modifiedArgs"]
        }
        ("copilot-cli", BeforeTool) => &[
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.permissionDecision",
            "hookSpecificOutput.permissionDecisionReason",
        ],
        ("copilot-cli", AfterTool) if camel => {
            &["modifiedResult.resultType", "modifiedResult.textResultForLlm", "additionalContext"]
        }
        ("copilot-cli", AfterTool) => &[
            "modifiedResult.resultType",
            "modifiedResult.textResultForLlm",
            "additionalContext",
            "hookSpecificOutput.hookEventName",
            "hookSpecificOutput.additionalContext",
        ],
        ("copilot-cli", BeforeModel | BeforeStop) => BLOCK,
        ("copilot-cli", SessionStart) if camel => &["additionalContext"],
        ("copilot-cli", SessionStart) => CONTEXT,
        ("copilot-cli", Observed) if camel => &["behavior", "message", "interrupt"],
        ("cursor", BeforeTool) => &["permission", "user_message", "agent_message", "updated_input"],
        ("cursor", AfterTool) if hook_event.capabilities.redact => {
            &["additional_context", "updated_mcp_tool_output"]
        }
        ("cursor", AfterTool) if hook_event.capabilities.block => &["permission", "user_message"],
        ("cursor", AfterTool | SessionStart | Observed) => &["additional_context"],
        ("cursor", BeforeModel) => &["continue", "user_message"],
        ("cursor", BeforeStop) => &["followup_message"],
        ("opencode", BeforeTool) => &["args", "notes"],
        ("opencode", BeforeModel | SessionStart) => &["notes"],
        ("opencode", AfterTool) => &["replace", "notes"],
        ("opencode", BeforeStop) => &["continue"],
        _ => &[],
    }
}

/// The paths of an answer's fields, down to what is the agent's own.
fn fields(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (key, value) in value.as_object().unwrap() {
        match value {
            Value::Object(inner) if matches!(key.as_str(), "hookSpecificOutput" | "modifiedResult") => {
                found.extend(inner.keys().map(|name| format!("{key}.{name}")));
            }
            _ => {
                found.insert(key.clone());
            }
        }
    }
    found
}

/// Whether an answer stops something, by its host's own words.
fn refuses(value: &Value) -> bool {
    let own = &value["hookSpecificOutput"];
    let words =
        [&value["decision"], &value["permissionDecision"], &own["permissionDecision"], &value["permission"]];
    let said = words.iter().any(|word| matches!(word.as_str(), Some("block" | "deny" | "ask")));
    let others = ["followup_message", "modifiedResult", "updated_mcp_tool_output", "interrupt"];
    let others = others.iter().any(|key| value.get(*key).is_some());
    let goes_on = value.get("continue");
    said || others || goes_on == Some(&Value::Bool(false)) || goes_on.is_some_and(Value::is_string)
}

/// The texts of a refusal.
fn reasons(value: &Value) -> Vec<&str> {
    let own = &value["hookSpecificOutput"];
    let texts = [
        &value["reason"],
        &value["stopReason"],
        &value["permissionDecisionReason"],
        &own["permissionDecisionReason"],
        &value["user_message"],
        &value["followup_message"],
        &value["message"],
        &value["modifiedResult"]["textResultForLlm"],
        &value["updated_mcp_tool_output"],
        &value["continue"],
    ];
    texts.into_iter().filter_map(Value::as_str).collect()
}

fn check(host: &HostSpec, hook_event: Option<&HookEvent>, answer: &HookOutput, what: &str) {
    assert!(matches!(answer.code, 0 | 2), "{what}");
    if answer.code == 2 {
        assert!(answer.stdout.is_empty(), "{what}: some hosts take this for the reason");
        assert!(!answer.stderr.trim().is_empty(), "{what}: an empty refusal is none");
        return;
    }
    if answer.stdout.is_empty() {
        assert_ne!(host.name, "cursor", "{what}: to a hook that fails closed this is a failure");
        return;
    }
    assert_eq!(answer.stdout.lines().count(), 1, "{what}");
    let value: Value = serde_json::from_str(&answer.stdout).unwrap();
    let allowed = hook_event.map(|hook_event| allowed(host, hook_event)).unwrap_or_default();
    for field in fields(&value) {
        assert!(allowed.contains(&field.as_str()), "{what}: `{field}` is not known there: {value}");
    }
    if let Some(named) = value["hookSpecificOutput"].get("hookEventName") {
        assert_eq!(Some(named.as_str().unwrap()), hook_event.map(|hook_event| hook_event.name), "{what}");
    }
    if refuses(&value) {
        let reasons = reasons(&value);
        assert!(!reasons.is_empty() && reasons.iter().all(|it| !it.trim().is_empty()), "{what}: {value}");
        let halts = value.get("continue") == Some(&Value::Bool(false));
        let denies = value.get("decision").is_some() || value.get("hookSpecificOutput").is_some();
        assert!(host.name != "codex" || !(halts && denies), "{what}: Codex takes neither of the two");
    }
}

#[test]
fn answers_have_only_fields_that_the_host_knows() {
    for (host, name, payload) in all() {
        let hook = Hook::read(host, Some(fixture_event(&name)), payload.to_string().as_bytes()).unwrap();
        let hook_event = hook_event(host, &name, &payload);
        let can = hook_event.map(|hook_event| hook_event.capabilities).unwrap_or_default();
        for (kind, decision) in decisions(hook_event) {
            let answer = hook.answer(vec![decision.clone()]);
            let what = format!("{} {name} {kind}", host.name);
            check(host, hook_event, &answer, &what);
            let stops =
                !decision.effect.allows() && (can.block || (decision.effect == Effect::Halt && can.halt));
            let value = serde_json::from_str(&answer.stdout).unwrap_or(Value::Null);
            assert_eq!(
                answer.code == 2 || refuses(&value),
                stops || withholds_changed_result(host, hook_event, kind),
                "{what}"
            );
        }
        check(
            host,
            hook_event,
            &hook.refuse("the store is locked"),
            &format!("{} {name} failure", host.name),
        );
    }
}

#[test]
fn replaced_result_reaches_the_agent() {
    for (host, name, payload) in all() {
        let hook_event =
            hook_event(host, &name, &payload).filter(|hook_event| hook_event.kind == EventKind::AfterTool);
        let Some(hook_event) = hook_event else { continue };
        let hook = Hook::read(host, Some(fixture_event(&name)), payload.to_string().as_bytes()).unwrap();
        for (kind, decision) in decisions(Some(hook_event)) {
            let text = match kind {
                "redact" if hook_event.capabilities.redact => "the text with ***",
                "error" if hook_event.capabilities.block || hook_event.capabilities.notes => "2 tests failed",
                _ => continue,
            };
            let answer = hook.answer(vec![decision]);
            let is_shown = answer.stdout.contains(text) || answer.stderr.contains(text);
            assert!(is_shown, "{} {name} {kind}: {answer:?}", host.name);
        }
    }
}

/// A changed result is a withheld one to these hosts, and Copilot and Cursor have one word for both.
fn withholds_changed_result(host: &HostSpec, hook_event: Option<&HookEvent>, kind: &str) -> bool {
    let is_result = hook_event
        .is_some_and(|hook_event| hook_event.kind == EventKind::AfterTool && hook_event.capabilities.redact);
    kind == "redact" && is_result && matches!(host.name, "codex" | "gemini-cli" | "copilot-cli" | "cursor")
}

#[test]
fn changed_arguments_reach_the_tool_or_the_call_is_blocked() {
    let mut hosts = BTreeSet::new();
    for (host, name, payload) in all() {
        let Some(hook_event) = hook_event(host, &name, &payload) else { continue };
        if hook_event.kind != EventKind::BeforeTool {
            continue;
        }
        let hook = Hook::read(host, Some(fixture_event(&name)), payload.to_string().as_bytes()).unwrap();
        let args = hook.events().unwrap().remove(0).tool.unwrap().args;
        let answer = |args: Value| {
            let content = Some(args.to_string());
            let answer =
                hook.answer(vec![Decision { effect: Effect::Redact, content, ..Decision::default() }]);
            (serde_json::from_str(&answer.stdout).unwrap_or(Value::Null), answer)
        };
        let mut changed = args.clone();
        changed.insert("limit".to_owned(), 100.into());
        let (value, output) = answer(Value::Object(changed));
        if hook_event.capabilities.redact {
            assert!(output.code == 0 && !refuses(&value), "{} {name}: {output:?}", host.name);
            assert!(output.stdout.contains(r#""limit":100"#), "{} {name}: {output:?}", host.name);
            hosts.insert(host.name);
        } else {
            assert!(output.code == 2 || refuses(&value), "{} {name}: {output:?}", host.name);
        }
        // What is no arguments at all, and arguments that the host would add to the agent's own.
        let (value, output) = answer("[redacted]".into());
        assert!(output.code == 2 || refuses(&value), "{} {name}: {output:?}", host.name);
        if host.name == "gemini-cli" && !args.is_empty() {
            let (value, output) = answer(serde_json::json!({}));
            assert!(output.code == 2 || refuses(&value), "{name}: {output:?}");
        }
    }
    assert_eq!(hosts.len(), 5, "{hosts:?}");
}

#[test]
fn failure_blocks_everything_that_can_be_blocked() {
    for (host, name, payload) in all() {
        let hook = Hook::read(host, Some(fixture_event(&name)), payload.to_string().as_bytes()).unwrap();
        let answer = hook.refuse("the store is locked");
        let value = serde_json::from_str(&answer.stdout).unwrap_or(Value::Null);
        assert!(answer.code == 2 || refuses(&value), "{} {name}: {answer:?}", host.name);
    }
}

#[test]
fn agent_that_had_to_continue_may_stop_after_a_failure() {
    for (host, name, mut payload) in all() {
        let is_stop = host
            .hook_event(fixture_event(&name))
            .is_some_and(|hook_event| hook_event.kind == EventKind::BeforeStop);
        if !is_stop {
            continue;
        }
        let fields = payload.as_object_mut().unwrap();
        fields.insert("stop_hook_active".to_owned(), Value::Bool(true));
        fields.insert("loop_count".to_owned(), Value::from(1));
        let hook = Hook::read(host, Some(fixture_event(&name)), payload.to_string().as_bytes()).unwrap();
        let answer = hook.refuse("the store is locked");
        assert_eq!((answer.code, answer.stdout.as_str()), (0, ""), "{} {name}", host.name);
    }
}
