//! Recorded sessions of agents, decided with the default pack: how many calls are stopped, and each of them.
//!
//! Run it: `cargo run -p midrail --example recorded_sessions -- [--first-folder] FILE.jsonl…`. Each line of a file is a session:
//! `{"id": …, "prompt": …, "calls": [{"tool": …, "args": …, "ok": …, "output": …, "cwd": …}]}`, where `cwd` is the folder after
//! the call. Nothing is read from the disk, and nothing is run. The folder of a session is unknown; with `--first-folder` it is the
//! first one that a call reports.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;

use midrail::core::Effect;
use midrail::files::RecordedFiles;
use midrail::replay::{Replay, ReplayStep, start_time};
use midrail::{Engine, Files, Load, ManualClock};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A recorded session.
#[derive(Deserialize)]
struct Recording {
    id: String,
    prompt: Option<String>,
    calls: Vec<RecordedCall>,
}

/// A recorded call with its result.
#[derive(Deserialize)]
struct RecordedCall {
    tool: String,
    args: Map<String, Value>,
    ok: Option<bool>,
    exit_code: Option<i64>,
    output: Option<String>,
    cwd: Option<String>,
}

/// The names that agents give to the tools of these recordings.
fn tool_name(name: &str) -> &str {
    match name {
        "run" => "execute_bash",
        "read" | "edit" => "str_replace_editor",
        "run_ipython" => "execute_ipython_cell",
        "browse" | "browse_interactive" => "browser",
        other => other,
    }
}

/// The events of a session, in order.
fn events(recording: &Recording, has_folder: bool) -> Vec<Value> {
    let mut folder = recording.calls.iter().find_map(|call| call.cwd.clone()).filter(|_| has_folder);
    let mut events = vec![json!({"kind": "session_start", "session": recording.id, "cwd": folder})];
    if let Some(prompt) = &recording.prompt {
        events.push(json!({"kind": "before_model", "session": recording.id, "cwd": folder, "text": prompt}));
    }
    for (n, call) in recording.calls.iter().enumerate() {
        let mut args = call.args.clone();
        if call.tool == "read" {
            args.insert("command".to_owned(), "view".into());
        }
        let tool = json!({"name": tool_name(&call.tool), "args": args, "call_id": n.to_string()});
        events.push(
            json!({"kind": "before_tool", "session": recording.id, "cwd": folder, "tool": tool, "call": n}),
        );
        let result = json!({
            "ok": call.ok.unwrap_or(true), "content": call.output, "exit_code": call.exit_code.filter(|code| *code >= 0),
        });
        events.push(
            json!({"kind": "after_tool", "session": recording.id, "cwd": folder, "tool": tool, "result": result}),
        );
        if has_folder && call.cwd.is_some() {
            folder.clone_from(&call.cwd);
        }
    }
    events
}

/// What was decided about the sessions of a file.
#[derive(Default)]
struct Count {
    calls: u32,
    stopped: u32,
}

fn measure(path: &str, has_folder: bool, output: &mut dyn Write) -> Result<Count, Box<dyn Error>> {
    let mut count = Count::default();
    for line in BufReader::new(File::open(path)?).lines() {
        let recording: Recording = serde_json::from_str(&line?)?;
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load()?;
        let clock = Arc::new(ManualClock::at(start_time()));
        let engine = Engine::builder(loaded.policy, &loaded.source)
            .clock(clock.clone())
            .files(Arc::new(Files::Recorded(RecordedFiles::default())));
        let replay = Replay::new(Arc::new(engine.build()?), clock);
        for (n, event) in events(&recording, has_folder).iter().enumerate() {
            let step = replay.line(n, &serde_json::to_vec(event)?)?;
            let ReplayStep::Decided(event, decision) = step else { continue };
            if event.kind != midrail::EventKind::BeforeTool {
                continue;
            }
            count.calls += 1;
            if decision.effect >= Effect::Retry {
                count.stopped += 1;
                let stop = json!({
                    "session": recording.id, "call": n, "effect": decision.effect, "by": decision.by,
                    "reason": decision.reason, "args": event.tool.as_ref().map(|tool| &tool.args),
                });
                writeln!(output, "{stop}")?;
            }
        }
    }
    Ok(count)
}

/// Decides the sessions of the files that are named.
pub fn main() -> Result<(), Box<dyn Error>> {
    let (flags, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    if files.is_empty() {
        println!("no recordings are named: nothing was measured");
    }
    for file in files {
        let count =
            measure(&file, flags.iter().any(|flag| flag == "--first-folder"), &mut std::io::stdout())?;
        let share = 100.0 * f64::from(count.stopped) / f64::from(count.calls.max(1));
        eprintln!("{file}: {} of {} calls stopped ({share:.2} of 100)", count.stopped, count.calls);
    }
    Ok(())
}
