//! Cedar and Rego on the rules that `cargo bench` measures with Midrail: `--case ENGINE/RULE --times N`.
//!
//! Both engines keep no state, so each decision reads the request and the history from JSON. `kept` keeps the parsed history
//! between decisions, as a service that rarely changes its data would.

#[path = "../../performance/runner.rs"]
mod runner;

use std::hint::black_box;
use std::str::FromStr;

use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
use serde_json::{Value, json};

fn main() {
    let Some((case, times)) = runner::requested() else {
        eprintln!("use: compare --case ENGINE/RULE --times N");
        std::process::exit(2);
    };
    let case = match case.split_once('/') {
        Some(("cedar", rule)) => cedar(rule),
        Some(("rego", rule)) => rego(rule),
        _ => panic!("no case {case}"),
    };
    runner::run(times, case);
}

const COMMAND: &str =
    r#"{"command": "cargo test --workspace case_100000 2>&1 | tail -40", "description": "Run tests"}"#;

/// The paths of past reads. The last one is the file that is written.
fn history(rule: &str) -> Vec<String> {
    let count = if rule.contains("2000") { 2_000 } else { 20 };
    (1..count)
        .map(|number| format!("/repo/src/file_{number:06}.rs"))
        .chain(["/repo/src/main.rs".into()])
        .collect()
}

fn cedar(rule: &str) -> Box<dyn FnMut(u64)> {
    let policies =
        |rule: &str| PolicySet::from_str(&format!("permit(principal, action, resource);\n{rule}")).unwrap();
    let authorizer = Authorizer::new();
    let request = |action: &str, context: &str| {
        let uid = |text: &str| EntityUid::from_str(text).unwrap();
        let context = Context::from_json_str(context, None).unwrap();
        let action = uid(&format!("Action::\"{action}\""));
        Request::new(uid("Session::\"s-1\""), action, uid("Project::\"repo\""), context, None).unwrap()
    };
    if rule == "rm-rf" {
        let policies = policies(
            r#"forbid(principal, action == Action::"shell", resource) when { context.command like "*rm -rf*" };"#,
        );
        return Box::new(move |_| {
            let request = request("shell", black_box(COMMAND));
            let answer = authorizer.is_authorized(&request, &policies, &Entities::empty());
            assert_eq!(answer.decision(), Decision::Allow);
        });
    }
    let policies = policies(
        r#"forbid(principal, action == Action::"write", resource) unless { principal.read.contains(context.path) };"#,
    );
    let entities =
        json!([{"uid": {"type": "Session", "id": "s-1"}, "attrs": {"read": history(rule)}, "parents": []}])
            .to_string();
    let read = |text: &str| Entities::from_json_str(text, None).unwrap();
    let kept = rule.ends_with("kept").then(|| read(&entities));
    Box::new(move |_| {
        let request = request("write", black_box(r#"{"path": "/repo/src/main.rs"}"#));
        let answer = match &kept {
            Some(entities) => authorizer.is_authorized(&request, &policies, entities),
            None => authorizer.is_authorized(&request, &policies, &read(black_box(&entities))),
        };
        assert_eq!(answer.decision(), Decision::Allow);
    })
}

fn rego(rule: &str) -> Box<dyn FnMut(u64)> {
    let mut engine = regorus::Engine::new();
    let head = "package guard\nimport rego.v1\ndefault allow := false\nallow if not forbidden\n";
    let compile = |mut engine: regorus::Engine, rule: &str| {
        engine.add_policy("guard.rego".into(), format!("{head}{rule}\n")).unwrap();
        engine.compile_with_entrypoint(&"data.guard.allow".into()).unwrap()
    };
    let (policy, input) = if rule == "rm-rf" {
        let policy = compile(engine, r#"forbidden if contains(input.command, "rm -rf")"#);
        (policy, COMMAND.to_owned())
    } else {
        let calls: Vec<Value> =
            history(rule).iter().map(|path| json!({"tool": "read", "path": path})).collect();
        let is_kept = rule.ends_with("kept");
        let mut input = json!({"tool": "write", "path": "/repo/src/main.rs"});
        if is_kept {
            engine.add_data_json(&json!({"history": calls}).to_string()).unwrap();
        } else {
            input["history"] = calls.into();
        }
        let place = if is_kept { "data" } else { "input" };
        let rule = format!(
            "forbidden if {{ input.tool == \"write\"; not was_read }}\n\
             was_read if {{ some call in {place}.history; call.tool == \"read\"; call.path == input.path }}"
        );
        (compile(engine, &rule), input.to_string())
    };
    Box::new(move |_| {
        let input = regorus::Value::from_json_str(black_box(&input)).unwrap();
        assert_eq!(policy.eval_with_input(input).unwrap(), regorus::Value::from(true));
    })
}
