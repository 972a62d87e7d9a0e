//! Runs a command that a pack names: in the session's folder, with a clean environment, until a deadline. Nothing that
//! it starts outlives it, unless it leaves the process group on purpose.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use midrail_core::{CommandOutcome, Fact, PackCommand};
use midrail_scan::output_digest::StableDigest;
use midrail_scan::secrets::{self, is_secret_variable};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::Value;

use crate::error::Available;

/// The most bytes of the output that are kept, both streams together.
const KEPT: usize = 32 << 10;

/// The most bytes that are scanned for secrets: twice as many, so that a secret that is cut at its start is not kept.
const SCANNED: usize = 2 * KEPT;

/// How long the rest of the output is read after a command has ended. A pipe holds little, unless a process that left
/// the group continues to write.
const REST: Duration = Duration::from_secs(2);

/// The longest pause between two checks of a command.
const PAUSE: Duration = Duration::from_millis(20);

/// How a command ends. One that cannot be started or is stopped is unavailable.
pub(crate) fn run(
    root: &Path,
    PackCommand { command, timeout_ms }: &PackCommand,
    key: &[u8],
) -> Available<Fact> {
    let started = Instant::now();
    let timeout = Duration::from_millis(*timeout_ms);
    let mut both = [Source { digest: Some(StableDigest::with_key(key)), ..Source::new(SCANNED) }];
    let status = exit_status("it", root, command, timeout, &mut both, None, None)?;
    let [both] = both;
    Ok(Fact::Command(CommandOutcome {
        exit_code: status.code(),
        output: shown(&both, status.signal(), key),
        digest: both.digest.filter(|_| both.bytes.len() > KEPT).map(StableDigest::finish).unwrap_or_default(),
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }))
}

/// The output of a command that was given input.
pub(crate) struct Conversation {
    /// The exit code. `None`: a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// What it printed on standard output. `None`: more than was allowed.
    pub(crate) output: Option<Vec<u8>>,
    /// Both streams, without secrets and cut to size.
    pub(crate) shown: String,
}

/// Gives a command its input and reads its output. It can be stopped from outside.
pub(crate) fn converse(
    root: &Path,
    command: &str,
    timeout: Duration,
    input: &[u8],
    limit: usize,
    stop: &AtomicBool,
    key: &[u8],
) -> Available<Conversation> {
    let mut printed = [Source::new(limit), Source::new(SCANNED)];
    let status = exit_status("it", root, command, timeout, &mut printed, Some(input), Some(stop))?;
    let mut both = Source::new(SCANNED);
    for source in &printed {
        both.is_cut |= source.is_cut;
        both.push(&source.to_vec());
    }
    let [output, _] = printed;
    Ok(Conversation {
        exit_code: status.code(),
        output: (!output.is_cut).then(|| output.to_vec()),
        shown: shown(&both, status.signal(), key),
    })
}

/// Bytes of each stream that a script gets to see.
const SHOWN: usize = 1 << 20;

/// How a command of a script ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Exec {
    pub(crate) exit_code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command of a script. It can be stopped from outside.
pub(crate) fn exec(root: &Path, command: &str, timeout: Duration, stop: &AtomicBool) -> Available<Exec> {
    let mut printed = [Source::new(SHOWN), Source::new(SHOWN)];
    let name = format!("`{command}`");
    let status = exit_status(&name, root, command, timeout, &mut printed, None, Some(stop))?;
    let [stdout, stderr] = printed.map(|source| String::from_utf8_lossy(&source.to_vec()).into_owned());
    // As in shells, a signal is 128 plus its number.
    let exit_code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(-1);
    Ok(Exec { exit_code, stdout, stderr })
}

/// Runs a command and returns how it ended. `name` is the command in errors. One source receives both streams of output,
/// two sources receive one each.
fn exit_status(
    name: &str,
    root: &Path,
    command: &str,
    timeout: Duration,
    sources: &mut [Source],
    input: Option<&[u8]>,
    stop: Option<&AtomicBool>,
) -> Available<ExitStatus> {
    let is_stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let deadline = Instant::now().checked_add(timeout);
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    match run_shell(root, command, sources, input, &|| is_late() || is_stopped()) {
        Ok(Some(status)) => Ok(status),
        Ok(None) if is_stopped() => Err(format!("{name} was stopped").into()),
        Ok(None) => Err(format!("{name} did not end within {timeout:?} and was stopped").into()),
        Err(error) => Err(format!("{name} could not be run: {error}").into()),
    }
}

/// One stream of output, of which the end is kept. The pipe is closed at its end.
struct Source {
    pipe: Option<PipeReader>,
    bytes: VecDeque<u8>,
    is_cut: bool,
    /// The most bytes that are kept.
    limit: usize,
    /// The digest of the whole output, if it is needed.
    digest: Option<StableDigest>,
}

impl Source {
    fn new(limit: usize) -> Self {
        Source { pipe: None, bytes: VecDeque::new(), is_cut: false, limit, digest: None }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        if let Some(over) = self.bytes.len().checked_sub(self.limit).filter(|over| *over > 0) {
            self.bytes.drain(..over);
            self.is_cut = true;
        }
        if let Some(digest) = &mut self.digest {
            digest.push(bytes);
        }
    }

    fn to_vec(&self) -> Vec<u8> {
        self.bytes.iter().copied().collect()
    }

    /// Opens the pipe, and returns the end to write to.
    fn open(&mut self) -> io::Result<PipeWriter> {
        let (reader, writer) = io::pipe()?;
        self.pipe = Some(reader);
        Ok(writer)
    }
}

/// Waits for the end of a command and of its output. `None`: it was over before that, and the command was stopped.
fn run_shell(
    root: &Path,
    command: &str,
    sources: &mut [Source],
    input: Option<&[u8]>,
    is_over: &dyn Fn() -> bool,
) -> io::Result<Option<ExitStatus>> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).current_dir(root).env_clear().envs(environment());
    shell.env("PWD", root).env("NO_COLOR", "1").env("TERM", "dumb");
    let [output, errors @ ..] = &mut *sources else { return Ok(None) };
    let writer = output.open()?;
    match errors {
        [errors, ..] => shell.stderr(errors.open()?),
        [] => shell.stderr(writer.try_clone()?),
    };
    shell.stdout(writer);
    let mut feed = None;
    shell.stdin(match input {
        None => Stdio::null(),
        Some(input) => {
            let (reader, writer) = io::pipe()?;
            rustix::io::ioctl_fionbio(&writer, true)?;
            feed = Some((writer, input));
            Stdio::from(reader)
        }
    });
    shell.process_group(0);
    let mut group = Group { child: shell.spawn()?, is_reaped: false };
    // The shell's ends of the pipe are closed here, or it would never come to its end.
    drop(shell);

    let mut pause = Duration::from_millis(1);
    loop {
        let has_ended = group.has_ended()?;
        let has_moved = write(&mut feed);
        if has_ended {
            // What it left running in its group is stopped with it. What was printed until then is still to be read.
            let status = group.end()?;
            read(sources, Duration::ZERO, REST)?;
            return Ok(Some(status));
        }
        read(sources, pause, PAUSE)?;
        if is_over() {
            group.end()?;
            return Ok(None);
        }
        pause = if has_moved { Duration::from_millis(1) } else { (pause * 2).min(PAUSE) };
    }
}

/// Gives a command as much to read as it takes at once. At the end, or where it reads no more, the pipe is closed.
fn write(feed: &mut Option<(PipeWriter, &[u8])>) -> bool {
    let mut has_moved = false;
    while let Some((pipe, rest)) = feed {
        match pipe.write(rest) {
            Ok(count) if count > 0 && count < rest.len() => *rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            // It has all, or it closed its input: it is free to read nothing.
            _ => *feed = None,
        }
        has_moved = true;
    }
    has_moved
}

/// A process and all that it started.
struct Group {
    child: Child,
    is_reaped: bool,
}

impl Group {
    fn id(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Whether the first process has ended. It is not reaped, so that no other process can get its id meanwhile.
    fn has_ended(&self) -> io::Result<bool> {
        let Some(id) = self.id() else { return Ok(true) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::Pid(id), options)?.is_some())
    }

    /// Stops what is left of the group and reaps its first process.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(id) = self.id() {
            // There may be no process left.
            let _ = kill_process_group(id, Signal::KILL);
        }
        self.is_reaped = true;
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Where all went well it was reaped before, and its number may be another's by now.
        if !self.is_reaped {
            let _ = self.end();
        }
    }
}

/// Takes in what was printed, and waits for more no longer than a moment. A command that never stops printing is read for
/// a while.
fn read(sources: &mut [Source], wait: Duration, at_most: Duration) -> io::Result<()> {
    let started = Instant::now();
    let mut buffer = [0; 16 << 10];
    let mut left = wait;
    while sources.iter().any(|source| source.pipe.is_some()) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        let ready: Vec<bool> = {
            let open = sources.iter().filter_map(|source| source.pipe.as_ref());
            let mut fds: Vec<PollFd<'_>> =
                open.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)).collect();
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error == rustix::io::Errno::INTR => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            fds.iter().map(|fd| !fd.revents().is_empty()).collect()
        };
        let open = sources.iter_mut().filter(|source| source.pipe.is_some());
        for (source, is_ready) in open.zip(ready) {
            let Some(pipe) = source.pipe.as_mut().filter(|_| is_ready) else { continue };
            match pipe.read(&mut buffer)? {
                0 => source.pipe = None,
                count => source.push(buffer.get(..count).unwrap_or_default()),
            }
        }
        left = Duration::ZERO;
        // A command that never stops printing must not keep its deadline from being seen.
        if started.elapsed() > at_most {
            return Ok(());
        }
    }
    thread::sleep(left);
    Ok(())
}

/// The end of an output: as plain text, without secrets, from the start of a line.
fn shown(source: &Source, signal: Option<i32>, key: &[u8]) -> String {
    let mut value = Value::String(plain(&String::from_utf8_lossy(&source.to_vec())));
    let findings = secrets::scan_json(&value, key);
    secrets::mask(&mut value, &findings);
    let Value::String(mut text) = value else { return String::new() };
    if source.is_cut || text.len() > KEPT {
        let from = (text.len().saturating_sub(KEPT)..text.len()).find(|at| text.is_char_boundary(*at));
        let end = text.get(from.unwrap_or(text.len())..).unwrap_or_default();
        let whole = end.split_once('\n').map_or(end, |(_, rest)| rest);
        text = format!("…\n{whole}");
    }
    if let Some(signal) = signal {
        text.push_str(&format!("\n(ended by signal {signal})"));
    }
    text
}

/// Text without what drives a terminal: a secret in colours is a secret, too.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => while chars.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
                Some(']') => while chars.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {},
                _ => {}
            },
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// The variables that a command gets: those that programs need to find each other, the user and their own folders.
/// Whatever looks like a secret, by its name or by what it holds, is not among them; nor is anything of Midrail's.
fn environment() -> Vec<(OsString, OsString)> {
    let is_kept = |(name, value): &(OsString, OsString)| match (name.to_str(), value.to_str()) {
        (Some(name), Some(value)) => is_passed_on(name) && secrets::scan(value).is_empty(),
        _ => false,
    };
    env::vars_os().filter(is_kept).collect()
}

fn is_passed_on(name: &str) -> bool {
    let known =
        PASSED_ON.lines().any(|line| line == name) || FAMILIES.iter().any(|family| name.starts_with(family));
    known && !is_secret_variable(name)
}

/// The variables that a command gets, one on each line.
const PASSED_ON: &str = include_str!("environment.txt");

/// Families of variables, by how their names begin.
const FAMILIES: &[&str] = &["LC_", "CARGO_", "RUSTUP_"];

#[cfg(test)]
mod tests {
    use super::*;

    fn run_in(root: &Path, command: &str, timeout_ms: u64) -> Fact {
        run(root, &PackCommand { command: command.to_owned(), timeout_ms }, b"key").unwrap_or_else(Fact::from)
    }

    fn end(command: &str) -> CommandOutcome {
        let folder = tempfile::tempdir().unwrap();
        match run_in(folder.path(), command, 60_000) {
            Fact::Command(end) => end,
            other => panic!("{command}: {other:?}"),
        }
    }

    fn unavailable(fact: Fact) -> String {
        match fact {
            Fact::Unavailable(why) => why,
            other => panic!("{other:?}"),
        }
    }

    /// Whether a process is there and no zombie.
    fn is_alive(id: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        !status.is_empty() && !status.contains("State:\tZ")
    }

    #[test]
    fn both_streams_and_the_exit_code_are_returned() {
        let end = end("echo out; echo err >&2; echo again; exit 3");
        assert_eq!((end.exit_code, end.output.as_str()), (Some(3), "out\nerr\nagain\n"));
    }

    #[test]
    fn digest_covers_output_that_is_cut() {
        let long =
            |first: &str| format!("echo {first}; seq -f 'line %g of many that are all alike' 5000; exit 1");
        let (one, again, other) =
            (end(&long("a in 0.3s")), end(&long("a in 12.5s")), end(&long("b in 0.3s")));
        assert!(one.output.starts_with('…') && one.output.len() < 2 * KEPT);
        assert!(!one.digest.is_empty());
        assert_eq!(one.digest, again.digest);
        assert_ne!(one.digest, other.digest);
        assert_eq!(end("echo a; exit 1").digest, "");
    }

    #[test]
    fn it_runs_in_the_root_and_reads_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("marker"), "").unwrap();
        let Fact::Command(end) = run_in(folder.path(), "ls; cat; echo done", 60_000) else { panic!() };
        assert_eq!(end.output, "marker\ndone\n");
    }

    /// Waits until a killed process is gone.
    fn wait_until_gone(id: &str) {
        let started = Instant::now();
        while is_alive(id) {
            assert!(started.elapsed() < Duration::from_secs(60), "the process {id} is still there");
            thread::yield_now();
        }
    }

    #[test]
    fn command_out_of_time_is_stopped_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let command = "sleep 300 & echo $! > child; (sleep 300; true) & echo $! > other; echo $$ > own; wait";
        // The files are written long before the deadline.
        let why = unavailable(run_in(folder.path(), command, 2_000));
        assert!(why.contains("did not end within 2s"), "{why}");
        for name in ["child", "other", "own"] {
            wait_until_gone(std::fs::read_to_string(folder.path().join(name)).unwrap().trim());
        }
    }

    #[test]
    fn child_that_keeps_the_pipe_open_does_not_delay() {
        let folder = tempfile::tempdir().unwrap();
        let Fact::Command(stayed) = run_in(folder.path(), "sleep 300 & echo $!", 60_000) else { panic!() };
        wait_until_gone(stayed.output.trim());
        // A process that left the group is out of reach, and is not awaited either.
        let left = end("setsid sleep 300 & echo $!; sleep 0.2");
        let id = left.output.trim();
        assert!(is_alive(id), "the command waited for a child");
        let pid = id.parse().ok().and_then(Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    #[test]
    fn endless_output_is_cut_and_ends_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let why = unavailable(run_in(folder.path(), "yes", 300));
        assert!(why.contains("was stopped"), "{why}");
        let long = end("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done");
        assert!(long.output.len() <= KEPT + 8, "{}", long.output.len());
        assert!(long.output.starts_with("…\nline ") && long.output.ends_with("line 19999\n"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let plain = end("echo key AKIAABCDEFGHIJKLMNOP end");
        assert!(!plain.output.contains("AKIAABCDEFGHIJKLMNOP"), "{}", plain.output);
        assert!(plain.output.starts_with("key ") && plain.output.contains("end"), "{}", plain.output);
        let coloured = end("printf 'key AKIA\\033[1mABCDEFGHIJ\\033[0mKLMNOP end'");
        assert!(!coloured.output.contains("ABCDEFGHIJ"), "{}", coloured.output);
    }

    #[test]
    fn signal_and_missing_command_are_distinguished() {
        let killed = end("kill -9 $$");
        assert_eq!(killed.exit_code, None);
        assert!(killed.output.contains("signal 9"), "{}", killed.output);
        assert_eq!(end("no-such-program-at-all").exit_code, Some(127));
    }

    #[test]
    fn without_a_folder_nothing_runs() {
        let why = unavailable(run_in(Path::new("/no/such/folder"), "true", 1_000));
        assert!(why.contains("could not be run"), "{why}");
    }

    #[test]
    fn the_environment_holds_no_secrets() {
        for (name, is_kept) in [
            ("PATH", true),
            ("HOME", true),
            ("LC_ALL", true),
            ("CARGO_HOME", true),
            ("CARGO_TARGET_DIR", true),
            ("CARGO_REGISTRY_TOKEN", false),
            ("CARGO_REGISTRIES_OURS_TOKEN", false),
            ("GITHUB_TOKEN", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("MIDRAIL_APPROVER_KEY", false),
            ("MIDRAIL_LOG", false),
            ("SSH_AUTH_SOCK", false),
            ("DATABASE_URL", false),
        ] {
            assert_eq!(is_passed_on(name), is_kept, "{name}");
        }
        let end = end("env");
        let is_known = |line: &str| {
            let name = line.split('=').next().unwrap_or_default();
            is_passed_on(name) || ["PWD", "NO_COLOR", "TERM", "SHLVL", "_", "OLDPWD"].contains(&name)
        };
        for line in end.output.lines() {
            assert!(is_known(line), "{line}");
        }
    }
}
