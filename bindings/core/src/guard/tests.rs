use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::*;

fn guard() -> Guard {
    Guard::open(r#"{"packs": ["midrail:default"], "store": ":memory:"}"#).unwrap()
}

fn decide(guard: &Guard, event: Value) -> Value {
    serde_json::from_str(&guard.decide(event.to_string().as_bytes())).unwrap()
}

fn call(tool: &str, args: Value) -> Value {
    json!({"kind": "before_tool", "session": "s", "tool": {"name": tool, "args": args}})
}

#[test]
fn a_destructive_command_is_blocked() {
    let guard = guard();
    assert_eq!(decide(&guard, call("Bash", json!({"command": "rm -rf /etc"})))["effect"], "block");
    assert_eq!(decide(&guard, call("Bash", json!({"command": "ls"})))["effect"], "allow");
}

#[test]
fn what_is_not_an_event_is_blocked() {
    for event in ["", "{", "[]", r#"{"kind": "other"}"#, r#"{"kind": "before_tool", "toool": {}}"#] {
        let decision: Value = serde_json::from_str(&guard().decide(event.as_bytes())).unwrap();
        assert_eq!((&decision["effect"], &decision["by"]), (&json!("block"), &json!("midrail")), "{event}");
    }
}

#[test]
fn options_that_do_not_exist_are_errors() {
    assert!(matches!(Guard::open(r#"{"pack": "x"}"#), Err(GuardError::Options(_))));
    assert!(matches!(
        Guard::open(r#"{"packs": ["/no/such.yaml"], "store": ":memory:"}"#),
        Err(GuardError::Load(_))
    ));
}

/// Merges only what was approved before, and counts the calls of its hooks.
struct ReviewBeforeMerge(AtomicUsize);

impl Function for ReviewBeforeMerge {
    fn call(&self, call: String, _: Duration) -> Result<String, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let call: Value = serde_json::from_str(&call).map_err(|error| error.to_string())?;
        let answer = match (call["hook"].as_str(), call["event"]["tool"]["name"].as_str()) {
            (Some("on_result"), Some("approve")) => json!({"approved": true}),
            (Some("on_result"), _) => call["state"].clone(),
            (_, Some("merge")) if call["state"]["approved"] != true => {
                json!({"effect": "block", "reason": "approve it first"})
            }
            (_, Some("fail")) => return Err("boom".to_owned()),
            (_, Some("nonsense")) => json!(7),
            _ => json!({"effect": "allow"}),
        };
        Ok(answer.to_string())
    }
}

fn guarded() -> Guard {
    let guard = guard();
    let spec = r#"{"id": "review", "tools": ["approve", "merge", "fail", "nonsense"], "key": "pr", "observes": true}"#;
    guard.register(spec, Arc::new(ReviewBeforeMerge(AtomicUsize::new(0)))).unwrap();
    guard
}

#[test]
fn a_function_keeps_state_for_each_key() {
    let guard = guarded();
    assert_eq!(decide(&guard, call("merge", json!({"pr": 7})))["reason"], "approve it first");
    let mut approved = call("approve", json!({"pr": 7}));
    approved["kind"] = json!("after_tool");
    approved["result"] = json!({"ok": true, "content": "yes"});
    decide(&guard, approved);
    assert_eq!(decide(&guard, call("merge", json!({"pr": 7})))["effect"], "allow");
    assert_eq!(decide(&guard, call("merge", json!({"pr": 8})))["effect"], "block");
    assert_eq!(decide(&guard, call("merge", json!({})))["effect"], "allow");
}

#[test]
fn a_function_that_fails_blocks() {
    let guard = guarded();
    for tool in ["fail", "nonsense"] {
        let decision = decide(&guard, call(tool, json!({"pr": 1})));
        assert_eq!((&decision["effect"], &decision["by"]), (&json!("block"), &json!("review")), "{tool}");
    }
}

#[test]
fn a_function_is_called_once_for_each_decision() {
    let guard = guard();
    let function = Arc::new(ReviewBeforeMerge(AtomicUsize::new(0)));
    guard.register(r#"{"id": "review"}"#, function.clone()).unwrap();
    for _ in 0..3 {
        decide(&guard, call("merge", json!({"pr": 7})));
    }
    assert_eq!(function.0.load(Ordering::Relaxed), 3);
}

/// Learns nothing.
struct FailsOnResults;

impl Function for FailsOnResults {
    fn call(&self, call: String, _: Duration) -> Result<String, String> {
        if call.contains("on_result") {
            Err("boom".to_owned())
        } else {
            Ok(r#"{"effect": "allow"}"#.to_owned())
        }
    }
}

#[test]
fn a_result_that_a_function_cannot_learn_from_is_withheld() {
    let guard = guard();
    guard.register(r#"{"id": "learner", "observes": true}"#, Arc::new(FailsOnResults)).unwrap();
    let mut event = call("lookup", json!({}));
    assert_eq!(decide(&guard, event.clone())["effect"], "allow");
    event["kind"] = json!("after_tool");
    event["result"] = json!({"ok": true, "content": "yes"});
    let decision = decide(&guard, event);
    assert_eq!((&decision["effect"], &decision["by"]), (&json!("block"), &json!("learner")));
}

#[test]
fn built_in_ids_are_taken() {
    let function = Arc::new(ReviewBeforeMerge(AtomicUsize::new(0)));
    for id in ["safety-001", "destructive_command", " "] {
        assert!(guard().register(&json!({"id": id}).to_string(), function.clone()).is_err(), "{id}");
    }
}

#[test]
fn a_store_in_a_file_keeps_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        json!({"store": folder.path().join("m.db"), "packs": ["midrail:default"], "cwd": folder.path()});
    let decision =
        decide(&Guard::open(&options.to_string()).unwrap(), call("Bash", json!({"command": "ls"})));
    assert_eq!(decision["audit"]["seq"], 1);
    let decision =
        decide(&Guard::open(&options.to_string()).unwrap(), call("Bash", json!({"command": "ls"})));
    assert_eq!(decision["audit"]["seq"], 2);
}

#[test]
fn a_conversation_is_decided_up_to_what_stops_it() {
    let guard = guard();
    let function = Arc::new(Names(AtomicUsize::new(0)));
    guard.register(r#"{"id": "names", "on": ["before_model"]}"#, function.clone()).unwrap();
    let prompt = |text: &str| json!({"kind": "before_model", "session": "s", "text": text}).to_string();
    let decide = |texts: &[&str], new: usize| -> Vec<String> {
        let events: Vec<String> = texts.iter().map(|text| prompt(text)).collect();
        let decided = guard.decide_conversation(&events, new);
        let decided = decided.iter().map(|decision| serde_json::from_str::<Value>(decision).unwrap());
        decided.map(|decision| decision["effect"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(decide(&["one", "one", "stop", "two"], 4), ["allow", "allow", "block"]);
    assert_eq!(function.0.load(Ordering::Relaxed), 3, "each message is a decision of its own");
    assert_eq!(decide(&["one"], 0), ["allow"]);
    assert_eq!(guard.decide_conversation(&["{".to_owned()], 0).len(), 1);
    assert!(guard.decide_conversation(&[prompt("one"), "{".to_owned()], 0)[0].contains("\"block\""));
}

/// Stops one word, and counts its calls.
struct Names(AtomicUsize);

impl Function for Names {
    fn call(&self, call: String, _: Duration) -> Result<String, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let is_stopped = call.contains("stop");
        Ok(json!({"effect": if is_stopped { "block" } else { "allow" }, "reason": ""}).to_string())
    }
}
