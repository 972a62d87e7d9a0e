//! An agent loop with guardrails: Midrail decides every tool call before it runs, and checks its result.
//!
//! Run it: `cargo run -p midrail --example agent_loop`

use std::error::Error;
use std::sync::Arc;

use midrail::{Engine, Load};
use serde_json::{Value, json};

/// Tool calls that a model might request.
fn calls_of_the_model() -> Vec<(&'static str, Value)> {
    vec![
        ("write_file", json!({"path": "notes.txt", "content": "overwritten"})),
        ("read_file", json!({"path": "notes.txt"})),
        ("write_file", json!({"path": "notes.txt", "content": "read, then written"})),
        ("read_file", json!({"path": ".env"})),
    ]
}

/// The tools of this agent, over a folder.
fn run_tool(
    folder: &std::path::Path,
    tool: &str,
    args: &serde_json::Map<String, Value>,
) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let path = folder.join(text("path"));
    match tool {
        "read_file" => Ok(std::fs::read_to_string(path)?.into()),
        "write_file" => {
            std::fs::write(path, text("content"))?;
            Ok(json!("written"))
        }
        _ => Err(format!("there is no tool `{tool}`").into()),
    }
}

/// The agent loop.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("midrail-agent-loop-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("notes.txt"), "what a person wrote")?;

    let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load()?;
    let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).root(&folder).build()?);
    let session = engine.session("run-1");

    let mut answers = Vec::new();
    for (tool, args) in calls_of_the_model() {
        let outcome = session.call(tool, args, |permit| run_tool(&folder, permit.tool(), permit.args()));
        let answer = match outcome {
            Ok(value) => value.to_string(),
            Err(why) => format!("error: {why}"),
        };
        println!("{tool}: {answer}");
        answers.push(answer);
    }

    let kept = std::fs::read_to_string(folder.join("notes.txt"))?;
    std::fs::remove_dir_all(&folder)?;
    assert!(answers.first().is_some_and(|answer| answer.contains("must be read before writing")));
    assert!(answers.last().is_some_and(|answer| answer.contains("contains credentials")));
    assert_eq!(kept, "read, then written");
    Ok(())
}
