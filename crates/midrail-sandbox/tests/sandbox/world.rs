//! A machine in a temporary folder: a project, a home, a folder that is neither, a server and a process of others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use midrail_sandbox::{Background, Command, Layers, Limits, Network, Report, Sandbox};

/// What must not be read.
pub(crate) const SECRET: &str = "hunter2";

/// The machine of one attempt.
pub(crate) struct World {
    dir: tempfile::TempDir,
    victim: Child,
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("box").tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = dir.path().to_owned();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("project/src/main.c", "int main() { return 0; }");
        write("project/.env", SECRET);
        write("project/keys/id", SECRET);
        write("project/.git/config", "[core]\n");
        write("project/.git/HEAD", "ref: refs/heads/main\n");
        write("project/.git/hooks/pre-push", "true");
        write("project/.git/objects/info/alternates", "");
        write("project/.git/refs/heads/main", "");
        write("home/.ssh/id_rsa", SECRET);
        write("home/.bashrc", "true");
        write("home/tools/tool", "#!/bin/sh\necho tool\n");
        fs::set_permissions(root.join("home/tools/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        write("outside/file", SECRET);
        write("outside/folder/file", SECRET);
        let connections = Arc::new(AtomicUsize::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let unix = UnixListener::bind(root.join("outside/socket")).unwrap();
        let name = SocketAddr::from_abstract_name(format!("box-{port}")).unwrap();
        let hidden = UnixListener::bind_addr(&name).unwrap();
        fn count<T>(
            accept: impl Fn() -> std::io::Result<T> + Send + 'static,
            connections: &Arc<AtomicUsize>,
        ) {
            let connections = Arc::clone(connections);
            thread::spawn(move || {
                while accept().is_ok() {
                    connections.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        count(move || listener.accept(), &connections);
        count(move || unix.accept(), &connections);
        count(move || hidden.accept(), &connections);
        let victim = Process::new("sleep")
            .arg("600")
            .env("PASSWORD", SECRET)
            .current_dir(root.join("project"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        World { dir, victim, port, connections }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The sandbox of most attempts: the project to write, without its protected and hidden files.
    pub(crate) fn sandbox(&self, layers: Layers) -> Sandbox {
        let mut read: Vec<PathBuf> =
            ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt"].map(PathBuf::from).into();
        read.push(self.path("home/tools"));
        read.push(own_path().parent().unwrap().to_owned());
        Sandbox {
            scratch: Vec::new(),
            keeps_errors: false,
            dir: self.path("project"),
            home: self.path("home"),
            read,
            write: vec![self.path("project")],
            protected: [".git/hooks", ".git/config", ".midrail"]
                .map(|it| self.path("project").join(it))
                .into(),
            hidden: [".env", "keys"].map(|it| self.path("project").join(it)).into(),
            network: Network::None,
            limits: Limits::default(),
            background: Background::End,
            mounts: layers == Layers::Full,
        }
    }

    /// The environment that attempts use to name things.
    pub(crate) fn env(&self) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        [
            ("HOME", self.path("home").into_os_string()),
            ("OUT", self.path("outside").into_os_string()),
            ("PROJECT", self.path("project").into_os_string()),
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
            ("PORT", self.port.to_string().into()),
            ("VICTIM", self.victim.id().to_string().into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .into()
    }

    /// A line of the shell.
    pub(crate) fn line(&self, line: &str) -> Command {
        Command { program: "/bin/bash".into(), args: vec!["-c".into(), line.into()], env: self.env() }
    }

    /// Runs a command in a sandbox, in a process of its own that has a file of others open for writing.
    pub(crate) fn run(&self, sandbox: &Sandbox, command: &Command) -> Run {
        let case = self.path("case");
        fs::write(&case, serde_json::to_vec(&(sandbox, command)).unwrap()).unwrap();
        let script = r#"exec 9>>"$OUT/file" 8<"$OUT/file"; exec "$0" case "$1""#;
        let output = Process::new("/bin/bash")
            .args(["-c", script])
            .args([own_path().as_os_str(), case.as_os_str()])
            .env("OUT", self.path("outside"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = fs::read(self.path("report")).unwrap_or_default();
        let _ = fs::remove_file(self.path("report"));
        let report = serde_json::from_slice::<Result<Report, String>>(&text)
            .unwrap_or_else(|_| Err(format!("no report: {}", String::from_utf8_lossy(&output.stderr))));
        Run { report, output }
    }

    /// Runs a line without a sandbox.
    pub(crate) fn run_outside(&self, line: &str) -> Output {
        let script = r#"exec 9>>"$OUT/file" 8<"$OUT/file"; exec /bin/bash -c "$0""#;
        Process::new("/bin/bash")
            .args(["-c", script, line])
            .env_clear()
            .envs(self.env())
            .current_dir(self.path("project"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Everything that an attempt must not change: files with their modes, connections, and the process of others.
    pub(crate) fn state(&mut self) -> BTreeMap<String, String> {
        let mut state = BTreeMap::new();
        for place in ["home", "outside"] {
            record(&self.path(place), true, &mut state);
        }
        // A restored file is as it was but for its time.
        for place in [".git/hooks", ".git/config", ".midrail"] {
            record(&self.path("project").join(place), false, &mut state);
        }
        state.insert("connections".to_owned(), self.connections.load(Ordering::SeqCst).to_string());
        let ended = self.victim.try_wait().unwrap();
        state.insert("victim".to_owned(), format!("{ended:?}"));
        state
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// What a run in a sandbox gave.
pub(crate) struct Run {
    pub(crate) report: Result<Report, String>,
    pub(crate) output: Output,
}

impl Run {
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

fn record(path: &Path, with_time: bool, state: &mut BTreeMap<String, String>) {
    let Ok(data) = fs::symlink_metadata(path) else { return };
    let content = if data.is_symlink() {
        fs::read_link(path).unwrap().display().to_string()
    } else if data.is_file() {
        fs::read_to_string(path).unwrap_or_default()
    } else {
        String::new()
    };
    let modified = if with_time && data.is_file() { data.mtime() } else { 0 };
    state
        .insert(path.display().to_string(), format!("{:o} {} {modified} {content}", data.mode(), data.uid()));
    if data.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            record(&entry.path(), with_time, state);
        }
    }
}

/// Runs the case in a file and writes the report next to it.
pub(crate) fn run_case(case: &Path) {
    let (sandbox, command): (Sandbox, Command) = serde_json::from_slice(&fs::read(case).unwrap()).unwrap();
    let report = sandbox.run(&command).map_err(|error| error.to_string());
    serde_json::to_writer(File::create(case.with_file_name("report")).unwrap(), &report).unwrap();
}

fn own_path() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Whether the machine has what a sandbox needs.
pub(crate) fn is_available(layers: Layers) -> bool {
    let world = World::new();
    let run = world.run(&world.sandbox(layers), &world.line("true"));
    match run.report {
        Ok(report) if report.layers == layers => true,
        other => {
            println!("skipped: a {layers:?} sandbox is not available here: {other:?}");
            false
        }
    }
}

/// Runs all tests again as a user without privileges.
pub(crate) fn rerun_unprivileged(filter: &str) -> Vec<String> {
    if fs::metadata("/proc/self").is_ok_and(|data| data.uid() != 0) {
        return Vec::new();
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("sandbox");
    fs::copy(own_path(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    println!("== without privileges");
    let status = Process::new(program)
        .arg(filter)
        .uid(65534)
        .gid(65534)
        .current_dir("/")
        .env("TMPDIR", "/tmp")
        .status()
        .unwrap();
    if status.success() { Vec::new() } else { vec!["without privileges".to_owned()] }
}
