//! Whole processes: `midrail hook` alternating with a bare program that reads the same JSON and commits one row to SQLite, and an MCP
//! server alone, behind a bare pipe and behind `midrail mcp wrap`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use wait4::Wait4;

use crate::callgrind;
use crate::events::{FILE, payload};
use crate::figures::{Figures, More, Row, Spread, Table};

/// Processes of each kind that are measured, after a few that are not.
const ROUNDS: usize = 100;
const WARM: usize = 5;

/// Measures hook processes and the bare program, taken in turn.
pub(crate) fn hooks(counts: bool) -> Table {
    let folder = tempfile::Builder::new().prefix("midrail-bench-").tempdir_in("/tmp").unwrap();
    let folder = folder.path();
    let project = folder.join("project");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/main.rs"), FILE).unwrap();
    let program = copied(Path::new(env!("CARGO_BIN_EXE_midrail")), folder);
    let bare = copied(&bare_program(), folder);
    let hook = |event: &'static str| {
        let args = ["hook", "claude-code", event].map(str::to_owned).to_vec();
        (program.clone(), args, payload(event, &project).to_string())
    };
    let store = folder.join("bare.db").display().to_string();
    let processes = [
        (
            "bare program",
            (bare, vec![store, "keep-log".to_owned()], payload("PreToolUse", &project).to_string()),
        ),
        ("hook before a call", hook("PreToolUse")),
        ("hook after a call, result of 3 KB", hook("PostToolUse")),
        ("hook of a prompt", hook("UserPromptSubmit")),
    ];
    let prepare = |command: &mut Command| {
        command.current_dir(&project).env_clear().env("PATH", callgrind::PATH).env("HOME", folder);
        command.env("XDG_CONFIG_HOME", folder.join("config")).env("XDG_STATE_HOME", folder.join("state"));
    };
    let note = format!(
        "Whole processes with a durable record in SQLite and the default pack, {ROUNDS} of each, taken in turn with a bare program that \
         reads the same JSON and commits it as one row."
    );
    Table { title: "Hook process".to_owned(), note, rows: rows("hook", &processes, ROUNDS, counts, prepare) }
}

/// A program, its arguments and its input.
type Process = (PathBuf, Vec<String>, String);

/// A server that answers each call at once, without a further process.
const SERVER: &str = r#"while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  case "$line" in
    *tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"add","description":"Adds two numbers.","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"The sum is 3."}],"structuredContent":{"sum":3}}}\n' "$id" ;;
  esac
done
"#;

/// Calls of one process.
const CALLS: u64 = 100;
/// Processes of each kind with so many calls.
const PROXY_ROUNDS: usize = 20;

/// Measures an MCP server alone, behind a bare pipe and behind the proxy, and the start of each.
pub(crate) fn proxy(counts: bool) -> Table {
    let folder = tempfile::Builder::new().prefix("midrail-bench-").tempdir_in("/tmp").unwrap();
    let folder = folder.path();
    let project = folder.join("project");
    fs::create_dir_all(project.join(".midrail")).unwrap();
    fs::write(project.join(".midrail/pack.yaml"), "pack: p\nextends: default\nmcp: {first_seen: pin}\n")
        .unwrap();
    fs::write(project.join("server.sh"), SERVER).unwrap();
    let program = copied(Path::new(env!("CARGO_BIN_EXE_midrail")), folder);
    let call = |id: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"a":1,"b":2}}}}}}"#
        )
    };
    let list = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{}}"#.to_owned();
    let calls: String = [list].into_iter().chain((1..=CALLS).map(call)).map(|line| line + "\n").collect();
    let shell = |script: &str| (PathBuf::from("/bin/sh"), vec!["-c".to_owned(), script.to_owned()]);
    let wrapped = |server: &str| {
        let args = ["mcp", "wrap", "--server", "toy", "--", "/bin/sh", "-c", server];
        (program.clone(), args.map(str::to_owned).to_vec())
    };
    let with = |(program, args): (PathBuf, Vec<String>), input: &str| (program, args, input.to_owned());
    let processes = [
        ("start of a server", with(shell("exit 0"), "")),
        ("the same behind the proxy", with(wrapped("exit 0"), "")),
        ("100 calls, server alone", with(shell(". ./server.sh"), &calls)),
        ("100 calls, bare pipe", with(shell("cat | . ./server.sh | cat"), &calls)),
        ("100 calls, proxy", with(wrapped(". ./server.sh"), &calls)),
    ];
    let prepare = |command: &mut Command| {
        command.current_dir(&project).env_clear().env("PATH", callgrind::PATH).env("HOME", folder);
        command.env("XDG_CONFIG_HOME", folder.join("config")).env("XDG_STATE_HOME", folder.join("state"));
    };
    let note = format!(
        "Whole processes, {PROXY_ROUNDS} of each, taken in turn: a server on standard input and output that is a shell script, behind two \
         `cat` and behind `midrail mcp wrap`, with two durable records for each call. Instructions are those of the first process."
    );
    Table {
        title: "MCP proxy".to_owned(),
        note,
        rows: rows("mcp", &processes, PROXY_ROUNDS, counts, prepare),
    }
}

/// Processes of each kind of sandbox.
const SANDBOX_ROUNDS: usize = 50;

/// Measures a shell that does nothing, alone and in a sandbox of each kind.
pub(crate) fn sandbox(counts: bool) -> Table {
    let folder = tempfile::Builder::new().prefix("midrail-bench-").tempdir_in("/tmp").unwrap();
    let folder = folder.path();
    let (home, project) = (folder.join("home"), folder.join("project"));
    fs::create_dir_all(&home).unwrap();
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::write(project.join("main.rs"), FILE).unwrap();
    let program = copied(Path::new(env!("CARGO_BIN_EXE_midrail")), folder);
    let run = |options: &[&str]| {
        let args = ["run"].iter().chain(options).chain(&["--", "sh", "-c", "true"]);
        (program.clone(), args.map(|arg| (*arg).to_owned()).collect(), String::new())
    };
    let shell = (PathBuf::from("/bin/sh"), ["-c", "true"].map(str::to_owned).to_vec(), String::new());
    let processes = [
        ("shell", shell),
        ("sandbox without mounts", run(&["--no-mounts"])),
        ("sandbox with mounts", run(&[])),
    ];
    let prepare = |command: &mut Command| {
        command.current_dir(&project).env_clear().env("PATH", callgrind::PATH).env("HOME", &home);
    };
    let note = format!(
        "`sh -c true` and `midrail run -- sh -c true`, {SANDBOX_ROUNDS} of each, taken in turn. Processor time is that of all processes; \
         instructions are those of the first one. Where a machine permits no mounts, the last two rows are alike."
    );
    Table {
        title: "Sandbox".to_owned(),
        note,
        rows: rows("sandbox", &processes, SANDBOX_ROUNDS, counts, prepare),
    }
}

/// Measures processes that are taken in turn.
fn rows(
    group: &str,
    processes: &[(&str, Process)],
    rounds: usize,
    counts: bool,
    prepare: impl Fn(&mut Command),
) -> Vec<Row> {
    let mut times: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); processes.len()];
    for round in 0..WARM + rounds {
        for ((_, (program, args, input)), (processor, elapsed)) in processes.iter().zip(&mut times) {
            let mut command = Command::new(program);
            command.args(args);
            prepare(&mut command);
            let (used, took) = run(command, input);
            if round >= WARM {
                processor.push(used);
                elapsed.push(took);
            }
        }
    }
    let rows = processes.iter().zip(times).map(|((label, (program, args, input)), (processor, elapsed))| {
        let instructions = counts.then(|| {
            callgrind::count(input.as_bytes(), |command| {
                command.arg(program).args(args);
                prepare(command);
            })
        });
        let figures = Figures {
            instructions,
            more: More::Elapsed(Spread::new(elapsed, 0.1)),
            time: Spread::new(processor, 0.1),
        };
        Row {
            label: (*label).to_owned(),
            case: format!("{group}/{label}"),
            program: None,
            figures: Some(figures),
        }
    });
    rows.collect()
}

/// Runs a process, and returns its processor time and the elapsed time in nanoseconds.
fn run(mut command: Command, input: &str) -> (f64, f64) {
    let started = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let used = child.wait4().unwrap();
    assert!(used.status.success());
    ((used.rusage.utime + used.rusage.stime).as_nanos() as f64, started.elapsed().as_nanos() as f64)
}

/// Builds the bare program with the profile of this benchmark.
fn bare_program() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_midrail")).parent().unwrap();
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let build = ["build", "--quiet", "--profile", profile, "-p", "midrail-cli", "--example", "bare_hook"];
    assert!(cargo().args(build).status().unwrap().success());
    folder.join("examples/bare_hook")
}

/// Builds the program with the other engines, in a workspace of its own. `None`: it could not be built.
pub(crate) fn compare_program() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_midrail")).parent()?.parent()?.join("compare");
    let build = [
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--manifest-path",
        "benches/compare/Cargo.toml",
        "--target-dir",
    ];
    let status = cargo().args(build).arg(&target).status().ok()?;
    status.success().then(|| target.join("release/compare"))
}

/// The output of the benchmark of the service. `Err`: why it failed, with its output until then.
pub(crate) fn service(postgres: Option<&str>) -> Result<String, String> {
    let mut command = cargo();
    command.args(["bench", "--quiet", "-p", "midrail-service", "--bench", "service"]);
    if let Some(url) = postgres {
        command.env(crate::cases::POSTGRES, url);
    }
    let output = match command.stderr(Stdio::inherit()).output() {
        Ok(output) => output,
        Err(error) => return Err(format!("cargo could not be started: {error}")),
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{}\n{text}", output.status)) }
}

/// A copy of a program. The page cache holds a file that a linker has just written in small pieces, and such a program takes a third
/// longer to start than its copy.
fn copied(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join(program.file_name().unwrap());
    fs::write(&copy, fs::read(program).unwrap()).unwrap();
    fs::set_permissions(&copy, fs::metadata(program).unwrap().permissions()).unwrap();
    copy
}

/// The cargo that runs the benchmark, in the repository.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}
