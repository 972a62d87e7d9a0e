//! A place of its own for each test: a home, a project, and the program in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fs, thread};

use serde_json::Value;

/// A temporary home with a project in it.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// The exit code and the output of the program.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = World { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.project()).unwrap();
        world
    }

    /// A world whose project has a pack.
    pub(crate) fn with_pack(text: &str) -> Self {
        let world = World::new();
        world.write(".midrail/pack.yaml", text);
        world
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.project().join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap()
    }

    /// The store that is used where none is named.
    pub(crate) fn default_store(&self) -> PathBuf {
        self.folder.path().join("state/midrail/midrail.db")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_midrail"));
        let home = self.folder.path();
        command
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"));
        if self.clock().exists() {
            command.env("MIDRAIL_TEST_CLOCK", self.clock());
        }
        command
    }

    /// The clock of all processes stands at a time from now on.
    pub(crate) fn stand_at(&self, time: jiff::Timestamp) {
        // In one step, so that no process reads half of it.
        let new = self.clock().with_extension("new");
        fs::write(&new, time.to_string()).unwrap();
        fs::rename(&new, self.clock()).unwrap();
    }

    /// Moves that clock on.
    pub(crate) fn seconds(&self, seconds: i64) {
        let now: jiff::Timestamp = fs::read_to_string(self.clock()).unwrap().parse().unwrap();
        self.stand_at(now + jiff::SignedDuration::from_secs(seconds));
    }

    fn clock(&self) -> PathBuf {
        self.folder.path().join("clock")
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.feed(args, "")
    }

    /// Runs the program with something on its standard input.
    pub(crate) fn feed(&self, args: &[&str], input: impl Into<Vec<u8>>) -> Ended {
        ended(&mut self.command(args), input.into())
    }

    /// Decides an event.
    pub(crate) fn check(&self, event: &Value) -> Ended {
        self.feed(&["check"], event.to_string())
    }
}

pub(crate) fn ended(command: &mut Command, input: Vec<u8>) -> Ended {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The program may stop reading before all is written.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.into()
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let ended = Ended {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        };
        assert!(
            !ended.err.contains("panicked") && !ended.err.contains("error: internal error"),
            "{}",
            ended.err
        );
        ended
    }
}

impl Ended {
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(self.out.contains(part), "`{part}` is not in:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn complains(self, part: &str) -> Self {
        assert!(self.err.contains(part), "`{part}` is not in:\n{}", self.err);
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error} in:\n{}\n{}", self.out, self.err))
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A tool call that is about to happen.
pub(crate) fn before(tool: &str, args: Value) -> Value {
    serde_json::json!({"kind": "before_tool", "session": "s-1", "tool": {"name": tool, "args": args}})
}

/// A tool call that went well.
pub(crate) fn after(tool: &str, args: Value, content: &str) -> Value {
    serde_json::json!({
        "kind": "after_tool", "session": "s-1", "tool": {"name": tool, "args": args},
        "result": {"ok": true, "content": content},
    })
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
