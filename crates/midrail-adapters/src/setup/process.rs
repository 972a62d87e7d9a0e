//! Runs other programs with a time limit.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Why a program gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("could not be started: {0}")]
    Start(#[source] io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("did not finish within {0} s")]
    Timeout(u64),
    #[error("did not answer in time")]
    NoAnswer,
    #[error("{0}")]
    Refused(String),
}

/// The output of a program.
#[derive(Debug)]
pub(crate) struct ProcessOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// How much output is read.
const MAX_OUTPUT: u64 = 1 << 20;

/// Runs a program with an input. Its process group ends with it.
pub(crate) fn run(
    command: &mut Command,
    input: &str,
    limit: Duration,
) -> Result<ProcessOutput, ProcessError> {
    let mut child = start(command)?;
    let input = input.to_owned();
    if let Some(mut stdin) = child.stdin.take() {
        // The program might not read its input.
        thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let deadline = Instant::now() + limit;
    let status = loop {
        let ended = match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
                continue;
            }
            Ok(None) => ProcessError::Timeout(limit.as_secs()),
            Err(error) => error.into(),
        };
        kill(&mut child);
        return Err(ended);
    };
    // A process that it left behind may keep its output open.
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
    let stdout = stdout.recv_timeout(left()).unwrap_or_default();
    let stderr = stderr.recv_timeout(left()).unwrap_or_default();
    Ok(ProcessOutput { code: status.code(), stdout, stderr })
}

/// Sends requests as lines of JSON, and returns the answer with an id.
pub(crate) fn converse(
    command: &mut Command,
    requests: &[Value],
    id: u64,
    limit: Duration,
) -> Result<Value, ProcessError> {
    let mut child = start(command)?;
    let answer = exchange(&mut child, requests, id, Instant::now() + limit);
    kill(&mut child);
    answer
}

fn exchange(
    child: &mut Child,
    requests: &[Value],
    id: u64,
    deadline: Instant,
) -> Result<Value, ProcessError> {
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(ProcessError::NoAnswer);
    };
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout.take(64 * MAX_OUTPUT)).lines().map_while(Result::ok);
        let answers = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        let _ = answers.map(|answer| send.send(answer)).find(Result::is_err);
    });
    let id_of = |message: &Value| message.get("id").and_then(Value::as_u64);
    for request in requests {
        writeln!(stdin, "{request}").and_then(|()| stdin.flush())?;
        // Each request depends on the answer to the one before.
        let Some(expected) = id_of(request) else { continue };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = receive.recv_timeout(left).map_err(|_| ProcessError::NoAnswer)?;
            match id_of(&answer) {
                Some(given) if given == id => return Ok(answer),
                Some(given) if given == expected => break,
                _ => {}
            }
        }
    }
    Err(ProcessError::NoAnswer)
}

fn start(command: &mut Command) -> Result<Child, ProcessError> {
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(ProcessError::Start)
}

fn collect(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            drop(stream.take(MAX_OUTPUT).read_to_end(&mut bytes));
        }
        drop(send.send(String::from_utf8_lossy(&bytes).into_owned()));
    });
    receive
}

fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill());
    drop(child.wait());
}
