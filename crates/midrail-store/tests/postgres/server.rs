//! A PostgreSQL server for tests: a private one for each test process, in a temporary folder, or the one that
//! `MIDRAIL_TEST_POSTGRES` names. It ends with the process, also if the process is killed.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// The URL of the server that all tests of this process share. `None`: PostgreSQL is not installed, and a message was
/// printed.
pub(crate) fn url() -> Option<String> {
    std::env::var("MIDRAIL_TEST_POSTGRES").ok().or_else(|| own().map(Server::url))
}

/// The private server of this process, for tests that look at its tables.
pub(crate) fn own() -> Option<&'static Server> {
    static OWN: OnceLock<Option<Server>> = OnceLock::new();
    OWN.get_or_init(|| Server::start(&["fsync=off"])).as_ref()
}

/// A name that no other test of any process has.
pub(crate) fn unique(what: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    format!("{what}-{}-{now}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A server of one's own.
pub(crate) struct Server {
    bin: PathBuf,
    folder: PathBuf,
    port: u16,
    user: Option<(u32, u32)>,
    settings: Vec<String>,
    /// A shell that ends the server, and removes its folder, when its input is closed: when this is dropped, and when
    /// this process is killed.
    guard: Child,
}

impl Server {
    /// Makes and starts a server with settings such as `fsync=off`.
    pub(crate) fn start(settings: &[&str]) -> Option<Server> {
        let Some(bin) = binaries() else {
            assert!(
                std::env::var_os("MIDRAIL_REQUIRE_POSTGRES").is_none(),
                "PostgreSQL is required and not installed"
            );
            eprintln!(
                "PostgreSQL is not installed: its tests are skipped (set MIDRAIL_PG_BIN or MIDRAIL_TEST_POSTGRES to use one)"
            );
            return None;
        };
        // Not the folder of the test run: PostgreSQL runs as another user, and sockets have short paths.
        let folder = PathBuf::from("/tmp").join(unique("midrail-pg"));
        fs::create_dir(&folder).unwrap();
        let user = other_user();
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&folder, Some(uid), Some(gid)).unwrap();
        }
        let guard = "trap '' INT TERM; read _; master=$(head -n 1 \"$1/data/postmaster.pid\"); \
             kill -QUIT \"$master\"; while kill -0 \"$master\"; do :; done; rm -rf \"$1\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", guard, "guard"]).arg(&folder).stdin(Stdio::piped());
        let guard = quiet(&mut shell).spawn().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let server = Server { bin, folder, port, user, settings, guard };
        let made = server
            .command("initdb")
            .args(["-U", "midrail", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(server.folder.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server.go();
        Some(server)
    }

    /// The URL of its database.
    pub(crate) fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The URL of one of its databases.
    pub(crate) fn url_of(&self, database: &str) -> String {
        format!("postgres://midrail@127.0.0.1:{}/{database}", self.port)
    }

    /// A new, empty database.
    pub(crate) fn database(&self) -> String {
        let name = unique("db").replace('-', "_");
        self.sql(&format!("CREATE DATABASE {name}"));
        name
    }

    /// Where its files are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Who its files belong to.
    pub(crate) fn user(&self) -> Option<(u32, u32)> {
        self.user
    }

    /// Starts it, and waits until it answers.
    pub(crate) fn go(&self) {
        let mut options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c max_connections=200",
            self.port,
            self.folder.display()
        );
        self.settings.iter().for_each(|setting| options.push_str(&format!(" -c {setting}")));
        let log = self.folder.join("log");
        let started =
            self.ctl(&["-w", "-t", "60", "-l", &log.display().to_string(), "-o", &options, "start"]);
        assert!(started, "{}", fs::read_to_string(log).unwrap_or_default());
    }

    /// Stops it as a crash would: `immediate`; or in order: `fast`.
    pub(crate) fn stop(&self, how: &str) {
        assert!(self.ctl(&["-w", "-t", "60", "-m", how, "stop"]));
    }

    /// Lets every process of it stand still (`STOP`) or go on (`CONT`).
    pub(crate) fn signal(&self, signal: &str) {
        let master = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        let master = master.lines().next().unwrap();
        let script = format!("kill -{signal} {master} $(ps -o pid= --ppid {master})");
        // A process may end between the two.
        let _ = quiet(Command::new("sh").args(["-c", &script])).status().unwrap();
    }

    /// Runs SQL as the owner, with `psql`.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.sql_in("postgres", sql).unwrap()
    }

    /// Runs SQL in one of its databases, and gives what it says, or the error.
    pub(crate) fn sql_in(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self.command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "midrail", "-d", database, "-h"]);
        psql.arg(&self.folder).args(["-p", &self.port.to_string(), "-c", sql]);
        let output = psql.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    fn ctl(&self, arguments: &[&str]) -> bool {
        let mut command = self.command("pg_ctl");
        command.arg("-D").arg(self.folder.join("data")).args(arguments);
        quiet(&mut command).status().unwrap().success()
    }

    fn command(&self, name: &str) -> Command {
        let program = self.bin.join(name);
        let mut command = if program.exists() { Command::new(program) } else { Command::new(name) };
        command.current_dir(&self.folder).env_remove("PGHOST").env_remove("PGPORT").env("LC_ALL", "C");
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

/// Waits until a condition holds. It fails if that takes more than a minute.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        thread::yield_now();
    }
}

fn binaries() -> Option<PathBuf> {
    let has_server = |folder: &PathBuf| folder.join("initdb").exists() && folder.join("pg_ctl").exists();
    if let Some(folder) = std::env::var_os("MIDRAIL_PG_BIN") {
        return Some(PathBuf::from(folder)).filter(has_server);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A name in the path can lead to where all programs are.
    let home = |folder: PathBuf| Some(fs::canonicalize(folder.join("initdb")).ok()?.parent()?.to_owned());
    let found = std::env::split_paths(&path).find(has_server).and_then(home);
    found.or_else(|| {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
        versions.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).find(has_server)
    })
}

/// PostgreSQL refuses to run as root: someone else to run it as.
fn other_user() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let me = fs::metadata("/proc/self").ok()?.uid();
    if me != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody"))
}
