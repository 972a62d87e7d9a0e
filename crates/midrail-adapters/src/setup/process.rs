//! Other programs, run with a limit of time.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

/// How much of its output is read.
const LARGEST: u64 = 1 << 20;

/// Runs a program with an input. It has its own group of processes, all of which end with it.
pub(super) fn run(command: &mut Command, input: &str, limit: Duration) -> Result<Ended, String> {
    let mut child = start(command)?;
    let input = input.to_owned();
    if let Some(mut stdin) = child.stdin.take() {
        // It may not read at all.
        thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    let out = collect(child.stdout.take());
    let err = collect(child.stderr.take());
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                end(&mut child);
                return Err(format!("it did not end within {} s", limit.as_secs()));
            }
            Err(error) => {
                end(&mut child);
                return Err(error.to_string());
            }
        }
    };
    // What it started and left behind may hold its output open.
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
    let out = out.recv_timeout(left()).unwrap_or_default();
    let err = err.recv_timeout(left()).unwrap_or_default();
    Ok(Ended { code: status.code(), out, err })
}

/// Sends lines of JSON to a program, and waits for the answer with an id.
pub(super) fn converse(
    command: &mut Command,
    requests: &[Value],
    id: u64,
    limit: Duration,
) -> Result<Value, String> {
    let mut child = start(command)?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        end(&mut child);
        return Err("it takes no input".to_owned());
    };
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let answers = BufReader::new(stdout.take(64 * LARGEST)).lines().map_while(Result::ok);
        let answers = answers.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        for answer in answers.filter(|answer| answer.get("id").and_then(Value::as_u64).is_some()) {
            if send.send(answer).is_err() {
                return;
            }
        }
    });
    let answer = (|| {
        let deadline = Instant::now() + limit;
        for request in requests {
            writeln!(stdin, "{request}").and_then(|()| stdin.flush()).map_err(|error| error.to_string())?;
            // One at a time: the next makes sense only after the answer to the last.
            let Some(expected) = request.get("id").and_then(Value::as_u64) else { continue };
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                let answer =
                    receive.recv_timeout(left).map_err(|_| "it did not answer in time".to_owned())?;
                match answer.get("id").and_then(Value::as_u64) {
                    Some(given) if given == id => return Ok(answer),
                    Some(given) if given == expected => break,
                    _ => {}
                }
            }
        }
        Err("it did not answer".to_owned())
    })();
    drop(stdin);
    end(&mut child);
    answer
}

fn start(command: &mut Command) -> Result<Child, String> {
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| format!("it could not be started: {error}"))
}

fn collect(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            drop(stream.take(LARGEST).read_to_end(&mut bytes));
        }
        drop(send.send(String::from_utf8_lossy(&bytes).into_owned()));
    });
    receive
}

fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill());
    drop(child.wait());
}
