//! Benchmarks of a hook: a whole process of `midrail check` with a durable record, alternating with a bare program that reads
//! the same JSON and commits one row to SQLite; the same with a script; and the cost that a script adds to each event within one
//! process, without a disk.
//!
//! Run it: `cargo bench -p midrail-cli --bench hook`. `-- one 1000 [NAME …]` runs only the last part, with 1,000 events
//! per run, for use with a profiler. No figure is asserted: timings vary between machines, so compare ratios.
//!
//! The benchmark copies the programs before it runs them, as an installer does. The page cache holds a file that a linker has
//! just written in small pieces, and such a program takes a third longer to start than its copy.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a benchmark")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use midrail::{Effect, Engine, Event, Load, MemoryStore};
use serde_json::json;

const ROUNDS: usize = 200;

const PACK: &str = "pack: p\nguardrails: [read_before_write]\n";

/// A script that counts calls, so that its variables change with every event.
const SCRIPT: &str = r#"const calls = new Map();
export default { input: async (ctx) => {
  calls.set(ctx.tool.name, (calls.get(ctx.tool.name) ?? 0) + 1);
  return ctx.std.argMatches(ctx.tool.args, "path", /\.prod\.env$/) ? { allowed: false, message: "no" } : { allowed: true };
} };
"#;

/// The same script without variables.
const PURE: &str = r#"export default { input: async (ctx) =>
  ctx.std.argMatches(ctx.tool.args, "path", /\.prod\.env$/) ? { allowed: false, message: "no" } : { allowed: true } };
"#;

/// An empty script, which shows the cost of a call.
const EMPTY: &str = "export default { input: () => ({ allowed: true }) };\n";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("machine: {cores} cores, load {}\n", load.trim());
    let args: Vec<String> = std::env::args().collect();
    let only = args.iter().position(|arg| arg == "one");
    if only.is_none() {
        whole_process(folder.path());
    }
    let events = only.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(1_000);
    let names = only.map(|at| &args[args.len().min(at + 2)..]).unwrap_or_default();
    one_process(folder.path(), events, names);
}

fn whole_process(folder: &Path) {
    println!("a whole process with a durable record, {ROUNDS} of each, taken in turn");
    let bare = copied(&bare_program(), folder);
    let program = copied(Path::new(env!("CARGO_BIN_EXE_midrail")), folder);
    let places = [("plain", None), ("default", None), ("script", Some(SCRIPT))];
    for (name, script) in places {
        let packs = folder.join(name).join(".midrail");
        std::fs::create_dir_all(&packs).unwrap();
        if name != "default" {
            std::fs::write(packs.join("p.yaml"), PACK).unwrap();
        }
        if let Some(script) = script {
            std::fs::write(packs.join("guardrails.js"), script).unwrap();
        }
    }
    let midrail = |name: &str| {
        let mut command = Command::new(&program);
        command.args(["check", "--json"]).current_dir(folder.join(name));
        for place in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env(place, folder.join("home").join(place));
        }
        run(command, &event(folder, name))
    };
    let hook = || {
        let mut command = Command::new(&program);
        command
            .args(["hook", "claude-code", "PreToolUse", "--timeout", "330"])
            .current_dir(folder.join("default"));
        for place in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env(place, folder.join("home").join(place));
        }
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": "hook", "cwd": folder.join("default"),
            "tool_name": "Bash", "tool_input": {"command": "cargo test --workspace"}, "tool_use_id": "t",
        });
        run(command, &serde_json::to_vec(&payload).unwrap())
    };
    let baseline = |args: &[&str]| {
        let mut command = Command::new(&bare);
        command.current_dir(folder).args(args);
        run(command, &event(folder, "plain"))
    };
    let runs: [(&str, &dyn Fn() -> Duration); 7] = [
        ("bare, SQLite as it comes", &|| baseline(&["plain.db"])),
        ("bare, log written back at the end", &|| baseline(&["bare.db", "log"])),
        ("bare, log left to the next one", &|| baseline(&["kept.db", "keep-log"])),
        ("midrail check, a small pack", &|| midrail("plain")),
        ("midrail check, the default pack", &|| midrail("default")),
        ("midrail check, with a script", &|| midrail("script")),
        ("midrail hook, the default pack", &hook),
    ];
    let mut times: Vec<Vec<Duration>> = runs.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS + 10 {
        for ((_, run), times) in runs.iter().zip(&mut times) {
            let took = run();
            if round >= 10 {
                times.push(took);
            }
        }
    }
    for times in &mut times {
        times.sort_unstable();
    }
    let medians: Vec<f64> = times.iter().map(|times| times[times.len() / 2].as_secs_f64()).collect();
    for (((name, _), times), median) in runs.iter().zip(&times).zip(&medians) {
        println!(
            "  {name:<36} median {:>8.2?}   least {:>8.2?}   p90 {:>8.2?}   {:.2}, {:.2} and {:.2} times the bare ones",
            times[times.len() / 2],
            times[0],
            times[times.len() * 9 / 10],
            median / medians[0],
            median / medians[1],
            median / medians[2],
        );
    }
    let [_, _, _, plain, _, script, _] = medians[..] else { return };
    println!("  the script adds {:.2} ms\n", (script - plain) * 1e3);
}

/// Builds the bare program with the profile of this benchmark.
fn bare_program() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let build = ["build", "--quiet", "--release", "-p", "midrail-cli", "--example", "bare_hook"];
    assert!(Command::new(cargo).args(build).status().unwrap().success());
    let program = PathBuf::from(env!("CARGO_BIN_EXE_midrail"));
    program.with_file_name("examples").join("bare_hook")
}

/// A copy of a program.
fn copied(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join(program.file_name().unwrap());
    std::fs::write(&copy, std::fs::read(program).unwrap()).unwrap();
    std::fs::set_permissions(&copy, std::fs::metadata(program).unwrap().permissions()).unwrap();
    copy
}

fn event(folder: &Path, name: &str) -> Vec<u8> {
    let cwd = folder.join(name);
    let event = json!({
        "kind": "before_tool", "session": name, "cwd": cwd, "tool": {"name": "Read", "args": {"path": "a.txt"}},
    });
    serde_json::to_vec(&event).unwrap()
}

fn run(mut command: Command, input: &[u8]) -> Duration {
    let started = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    assert!(child.wait().unwrap().success());
    started.elapsed()
}

fn one_process(folder: &Path, events: u32, names: &[String]) {
    println!("one process, in memory: an event on average, in five runs");
    for (name, script) in [
        ("without a script", None),
        ("script that only answers", Some(EMPTY)),
        ("script, no variables", Some(PURE)),
        ("script", Some(SCRIPT)),
    ] {
        if !names.is_empty() && !names.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let packs = folder.join(name.replace([' ', ','], "-"));
        std::fs::create_dir_all(&packs).unwrap();
        std::fs::write(packs.join("p.yaml"), PACK).unwrap();
        if let Some(script) = script {
            std::fs::write(packs.join("guardrails.js"), script).unwrap();
        }
        let loaded = Load { packs: vec![packs], ..Load::default() }.load().unwrap();
        let store = Arc::new(MemoryStore::new().unwrap());
        let engine =
            Engine::builder(loaded.policy, &loaded.source).store(store).root(folder).build().unwrap();
        let event = || Event::before_tool("Read", json!({"path": "a.txt"})).in_session("s");
        let mut line = format!("  {name:<36}");
        for _ in 0..5 {
            let started = Instant::now();
            for _ in 0..events {
                assert_eq!(engine.decide(event()).effect, Effect::Allow);
            }
            line += &format!(" {:>8.1?}", started.elapsed() / events);
        }
        println!("{line}");
    }
}
