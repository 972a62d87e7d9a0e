//! Scripts as people write them, and as they should not: each call ends in an answer or an error, and the next one works.

mod answers;
mod context;
mod hostile;
mod realms;
mod scan;
mod seed;
mod state;
mod types;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

use midrail_core::{HookAnswer, HookOutcome, HookRequest};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::call::MEMORY;
use super::{Call, Hook, Host, STACK, Script, ScriptError, Scripts};
use crate::error::Available;
use crate::probes::Exec;

impl Scripts {
    /// Calls a hook and waits for the answer.
    fn call(&self, script: &Script, session: &str, call: Call) -> Result<HookOutcome, ScriptError> {
        self.begin(script.clone(), session, call).and_then(|begun| self.end(begun, session))
    }
}

/// A made-up world.
#[derive(Default)]
struct TestHost {
    files: Mutex<BTreeMap<String, String>>,
    read: Mutex<BTreeMap<String, String>>,
    history: Vec<Value>,
    lines: Mutex<Vec<String>>,
    /// Commands that are held until they are let go.
    gate: AtomicBool,
    /// Commands that were stopped.
    stopped: AtomicBool,
}

fn sha(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl TestHost {
    fn write(&self, path: &str, text: &str) {
        self.files.lock().unwrap().insert(path.to_owned(), text.to_owned());
    }
    fn note_read(&self, path: &str) {
        let checksum = sha(&self.files.lock().unwrap()[path]);
        self.read.lock().unwrap().insert(path.to_owned(), checksum);
    }
    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl Host for TestHost {
    fn read_file(&self, path: &str) -> Available<String> {
        self.files.lock().unwrap().get(path).cloned().ok_or_else(|| format!("no file `{path}`").into())
    }
    fn checksum(&self, path: &str, _: bool) -> Available<Option<String>> {
        if path.starts_with("../") {
            return Err(format!("`{path}` lies outside of the working directory").into());
        }
        Ok(self.files.lock().unwrap().get(&self.place(path)).map(|text| sha(text)))
    }
    fn exec(&self, command: &str, within: Duration, stop: &AtomicBool) -> Available<Exec> {
        if command == "wait" {
            let until = Instant::now() + within;
            while !self.gate.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) || Instant::now() > until {
                    self.stopped.store(true, Ordering::Relaxed);
                    return Err("stopped".into());
                }
                thread::yield_now();
            }
        }
        let exit_code = i32::from(command == "false");
        Ok(Exec { exit_code, stdout: format!("ran {command}"), stderr: String::new() })
    }
    fn place(&self, path: &str) -> String {
        path.trim_start_matches("./").to_owned()
    }
    fn read_before(&self, place: &str) -> Available<Option<String>> {
        Ok(self.read.lock().unwrap().get(place).cloned())
    }
    fn all_read(&self) -> Available<BTreeMap<String, String>> {
        Ok(self.read.lock().unwrap().clone())
    }
    fn feedback(&self) -> Available<Value> {
        Ok(serde_json::json!({"calls": 3, "last": null}))
    }
    fn history(&self) -> Available<Vec<Value>> {
        Ok(self.history.clone())
    }
    fn log(&self, level: log::Level, text: &str) {
        self.lines.lock().unwrap().push(format!("{level}: {text}"));
    }
}

/// Variables as they are kept.
fn text_of(state: Option<Value>) -> Option<String> {
    state.map(|state| state.as_str().map_or_else(|| state.to_string(), str::to_owned))
}

/// A script in a folder, with its realms.
struct Bench {
    folder: TempDir,
    scripts: Scripts,
    world: Arc<TestHost>,
    script: Script,
}

impl Bench {
    fn new(source: &str) -> Self {
        Bench::in_world(TestHost::default(), source)
    }

    fn in_world(world: TestHost, source: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".midrail").join("guardrails.js");
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, source).unwrap();
        let script = Script {
            id: "script".into(),
            path,
            text: None,
            digest: sha(source),
            memory: MEMORY,
            stack: STACK,
        };
        Bench { folder, scripts: Scripts::default(), world: Arc::new(world), script }
    }

    /// Adds a file next to the script.
    fn file(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(".midrail").join(name)
    }

    fn rewrite(&mut self, source: &str) {
        fs::write(&self.script.path, source).unwrap();
        self.script.digest = sha(source);
    }

    fn call(&self, hook: Hook) -> Call {
        Call {
            hook,
            tool: "patch".to_owned(),
            args: json!({}),
            result: (hook == Hook::Output).then(|| ("done".to_owned(), false)),
            working_directory: "/repo".to_owned(),
            state: None,
            within: Duration::from_secs(30),
            host: self.world.clone(),
        }
    }

    fn input(&self, args: Value) -> Result<HookOutcome, ScriptError> {
        self.scripts.call(&self.script, "s", Call { args, ..self.call(Hook::Input) })
    }

    fn output(&self) -> Result<HookOutcome, ScriptError> {
        self.scripts.call(&self.script, "s", self.call(Hook::Output))
    }

    /// Calls `input` with little time.
    fn brief(&self) -> Result<HookOutcome, ScriptError> {
        let call = Call { within: Duration::from_millis(150), ..self.call(Hook::Input) };
        self.scripts.call(&self.script, "s", call)
    }

    /// What `input` refuses with.
    fn refusal(&self, args: Value) -> String {
        match self.input(args).unwrap().answer {
            HookAnswer::Refuse { message, .. } => message,
            other => panic!("not refused: {other:?}"),
        }
    }
}

/// A script whose `input` refuses with a text.
fn script_returning(expression: &str) -> String {
    format!(
        "export default {{ input: async (ctx) => ({{ allowed: false, message: String({expression}) }}) }};"
    )
}

/// A script whose `input` is this.
fn input(body: &str) -> String {
    format!("export default {{ input: {body} }};")
}
