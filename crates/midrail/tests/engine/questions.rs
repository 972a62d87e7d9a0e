//! How many questions are left: recorded commands of agents, where the corpora are at hand.
//!
//! A host asks about every command but those that its own list of reading commands allows. Such a command needs no question if
//! it is vouched for; if it is contained, the question is about less.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use midrail::core::ToolResult;
use midrail::pack::{Layer, PackDocument, PolicySource};
use midrail::sandboxes::{SandboxStarter, Sandboxes};
use midrail::{Decision, Effect, Engine, Event};
use serde_json::{Value, json};

/// What a user who wants few questions writes.
const PACK: &str = "pack: mine\n\
    vouch: {reads: ['**'], edits: ['**'], builds: true, contained: true}\n";

/// Commands that hosts allow by themselves, where the line has no expansions and no redirections but those to nowhere.
const ALLOWED_BY_HOSTS: &[&str] = &[
    "basename",
    "cat",
    "cd",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "file",
    "find",
    "grep",
    "head",
    "hostname",
    "id",
    "ls",
    "nl",
    "printf",
    "ps",
    "pwd",
    "realpath",
    "rg",
    "sed -n",
    "sleep",
    "sort",
    "stat",
    "strings",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "type",
    "uname",
    "uniq",
    "wc",
    "which",
    "whoami",
    "git branch",
    "git diff",
    "git log",
    "git show",
    "git status",
];

/// Commands of the tools of SWE-agent, which are no commands of a shell.
const NO_COMMANDS: &[&str] = &[
    "connect_sendline",
    "connect_start",
    "create",
    "decompile",
    "disassemble",
    "edit",
    "find_file",
    "goto",
    "insert",
    "open",
    "scroll_down",
    "scroll_up",
    "search_dir",
    "search_file",
    "set_cursors",
    "submit",
];

/// What a line needs that no sandbox has, or why no one is known that it does its work in.
fn category(line: &str) -> &'static str {
    let has = |words: &[&str]| {
        let parts = |char: char| char.is_whitespace() || ";&|(){}'\"".contains(char);
        words.iter().any(|word| match word.contains(' ') {
            true => line.contains(word),
            false => line.split(parts).any(|part| part == *word),
        })
    };
    match () {
        () if has(&["sudo"]) => "the rights of root",
        () if has(&["git push", "git pull", "git fetch", "ssh", "git clone"]) => {
            "credentials for a repository"
        }
        () if has(&[
            "kill",
            "pkill",
            "killall",
            "ps",
            "lsof",
            "ss",
            "netstat",
            "fuser",
            "pgrep",
            "systemctl",
            "docker",
        ]) =>
        {
            "other processes"
        }
        () if has(&["git config", "git init", "git remote"]) => "settings of git",
        () if has(&["find /", "ls /", "du", "/outputs", "/Documents", "/var", "/data"])
            || line.contains(" /var/") =>
        {
            "files outside of the project"
        }
        () if has(&["curl", "wget", "nc"]) || line.contains("http.server") => "the network",
        () => "something else",
    }
}

/// Whether a host allows a line by its own list: every command is on it, and the shell expands and writes nothing.
fn is_allowed_by_host(line: &str) -> bool {
    let line = line.replace("2>/dev/null", "").replace("2>&1", "").replace(">/dev/null", "");
    let mut parts = vec![String::new()];
    let mut quote = None;
    for char in line.trim().chars() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (Some('"') | None, '$' | '`') | (None, '<' | '>' | '\n' | '{' | '(' | '\\') => return false,
            (None, '|' | '&' | ';') => parts.push(String::new()),
            _ => parts.last_mut().unwrap().push(char),
        }
    }
    let is_listed = |part: &str| {
        ALLOWED_BY_HOSTS.iter().any(|allowed| part == *allowed || part.starts_with(&format!("{allowed} ")))
    };
    !line.contains(" -exec")
        && !line.contains(" -delete")
        && parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).all(is_listed)
}

fn corpora() -> Option<PathBuf> {
    let folder =
        std::env::var_os("MIDRAIL_TEST_CORPORA").map_or(PathBuf::from("/work/shared/corpora"), PathBuf::from);
    let found = folder.is_dir().then_some(folder);
    if found.is_none() {
        eprintln!("skipped: no corpora here; set MIDRAIL_TEST_CORPORA to their folder");
    }
    found
}

fn records(folder: &Path, prefix: &str) -> Vec<(String, Value)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut records = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if name.starts_with(prefix) && file.extension().is_some_and(|it| it == "jsonl") {
            let text = fs::read_to_string(&file).unwrap();
            records.extend(text.lines().map(|line| (name.clone(), serde_json::from_str(line).unwrap())));
        }
    }
    records
}

/// A project in a repository, and an engine with sandboxes.
fn project() -> (tempfile::TempDir, PathBuf, Engine) {
    // In a temporary folder, more is allowed than elsewhere.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = dir.path().canonicalize().unwrap().join("workspace");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/a.rs"), "fn main() {}\n").unwrap();
    assert!(Command::new("git").args(["init", "-q"]).current_dir(&root).status().unwrap().success());
    let default = fs::read_to_string("../../packs/default.yaml").unwrap();
    let documents: Vec<(Layer, PackDocument)> =
        [(Layer::Default, "default.yaml", default.as_str()), (Layer::User, "mine.yaml", PACK)]
            .into_iter()
            .flat_map(|(layer, name, text)| {
                PackDocument::read(name, text, None)
                    .unwrap()
                    .into_iter()
                    .map(move |document| (layer, document))
            })
            .collect();
    let source = PolicySource::from_documents(&documents);
    let policy = source.compile().unwrap();
    let starter = SandboxStarter {
        command: ["midrail", "run", "--box"].map(str::to_owned).to_vec(),
        shell: "bash".to_owned(),
    };
    let sandboxes = Sandboxes::new(move |_| Some(starter.clone()));
    let engine = Engine::builder(policy, &source).sandboxes(sandboxes).build().unwrap();
    (dir, root, engine)
}

fn decide(engine: &Engine, root: &Path, session: &str, tool: &str, args: Value) -> Decision {
    let event = Event {
        cwd: Some(root.to_string_lossy().into_owned()),
        ..Event::before_tool(tool, args).in_session(session)
    };
    engine.decide(event)
}

/// What became of a command.
fn outcome(decision: &Decision) -> &'static str {
    match (decision.effect, decision.vouched) {
        (Effect::Allow, true) => "vouched",
        (Effect::Contain, true) => "vouched in a sandbox",
        (Effect::Contain, false) => "contained",
        (Effect::Allow | Effect::Warn | Effect::Redact, false) => "asked",
        _ => "stopped",
    }
}

fn print(title: &str, counts: &BTreeMap<&'static str, usize>) {
    eprintln!("{title}: {counts:?} of {}", counts.values().sum::<usize>());
}

#[test]
fn recorded_sessions_need_few_questions() {
    let Some(folder) = corpora() else { return };
    let (_dir, root, engine) = project();
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let (mut allowed, mut with_network) = (0, 0);
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    let shown = std::env::var("MIDRAIL_TEST_SHOW").ok();
    for (at, (_, record)) in records(&folder, "trace-").iter().enumerate() {
        let session = format!("s-{at}");
        for call in record["calls"].as_array().unwrap() {
            let args = &call["args"];
            let here = |text: &Value| {
                Value::from(text.as_str().unwrap_or_default().replace("/workspace", &root.to_string_lossy()))
            };
            let (tool, args) = match (call["tool"].as_str().unwrap(), args["command"].as_str()) {
                ("edit", Some("create")) => {
                    ("Write", json!({"file_path": here(&args["path"]), "content": here(&args["file_text"])}))
                }
                ("edit", _) => (
                    "Edit",
                    json!({"file_path": here(&args["path"]), "old_string": args["old_str"], "new_string": here(&args["new_str"])}),
                ),
                ("run", Some(_)) if args["is_input"] != true => {
                    ("Bash", json!({"command": here(&args["command"])}))
                }
                ("swe-agent", Some(_)) => ("Bash", json!({"command": here(&args["command"])})),
                _ => continue,
            };
            let decision = decide(&engine, &root, &session, tool, args.clone());
            let result = ToolResult::ok(call["output"].as_str().unwrap_or_default());
            let cwd = Some(root.to_string_lossy().into_owned());
            let after = Event { cwd, ..Event::after_tool(tool, args.clone(), result).in_session(&session) };
            if decision.effect.allows() {
                engine.decide(after);
            }
            let Some(line) = args["command"].as_str().map(str::trim) else { continue };
            let first = line.split_whitespace().next().unwrap_or_default();
            if first.is_empty() || (call["tool"] == "swe-agent" && NO_COMMANDS.contains(&first)) {
                continue;
            }
            if is_allowed_by_host(line) {
                allowed += 1;
                continue;
            }
            let outcome = outcome(&decision);
            *counts.entry(outcome).or_default() += 1;
            match outcome {
                "asked" => *asked.entry(category(line)).or_default() += 1,
                "contained" if ["curl", "wget", "git clone"].iter().any(|it| line.contains(it)) => {
                    with_network += 1
                }
                _ => {}
            }
            if shown.as_deref() == Some(outcome) {
                let by = decision.verdicts.iter().filter(|it| it.effect != Some(Effect::Allow));
                let by: Vec<_> = by.map(|it| (&it.guardrail, &it.reason)).collect();
                eprintln!("{outcome} {line:?} {:?} {by:?}", decision.grounds);
            }
        }
    }
    eprintln!("{allowed} commands are allowed by the host");
    print("commands that the host asks about", &counts);
    eprintln!("{with_network} of those that are contained have the network");
    print("asked about", &asked);
    let total = |outcomes: &[&str]| outcomes.iter().filter_map(|it| counts.get(it)).sum::<usize>();
    let answered = total(&["vouched", "vouched in a sandbox", "contained"]);
    assert!(answered * 100 >= (answered + total(&["asked"])) * 80, "{answered} are vouched for or contained");
}

#[test]
fn hostile_commands_are_not_vouched_for() {
    let Some(folder) = corpora() else { return };
    let (_dir, root, engine) = project();
    let mut counts: BTreeMap<(String, String), BTreeMap<&'static str, usize>> = BTreeMap::new();
    let mut vouched = BTreeSet::new();
    for (at, (file, record)) in records(&folder, "cmd-").iter().enumerate() {
        let label = record["label"].as_str().unwrap_or_default();
        if !["block", "ask"].contains(&label) {
            continue;
        }
        let decision =
            decide(&engine, &root, &format!("s-{at}"), "Bash", json!({"command": record["command"]}));
        let outcome = outcome(&decision);
        *counts.entry((file.clone(), label.to_owned())).or_default().entry(outcome).or_default() += 1;
        if decision.vouched {
            vouched.insert((outcome, label.to_owned(), record["command"].to_string(), file.clone()));
        }
    }
    for ((file, label), counts) in &counts {
        print(&format!("{file} {label}"), counts);
    }
    for it in &vouched {
        eprintln!("{it:?}");
    }
    assert!(vouched.iter().all(|(_, label, ..)| label != "block"));
}
