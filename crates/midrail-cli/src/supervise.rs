//! A program behind a proxy of lines: starts it, moves lines between it and the client, waits for approvers, and ends it.

use std::ffi::OsString;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::panic::{self, AssertUnwindSafe};
use std::process::{self, Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use midrail::Decision;
use midrail::pack::diagnostic::visible;
use midrail_adapters::relay::{Decide, PendingApproval, Relay, RelayOutput, Side};
use midrail_adapters::wire::WireError;
use midrail_service::StopSignals;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::commands::check::Lines;
use crate::engines::Engines;
use crate::error::{CliError, CliResult};
use crate::event_engine::refusal;
use crate::exit::Exit;

/// How long the program may take to exit after the client has disconnected.
const LEAVE: Duration = Duration::from_secs(5);
/// A wait without its own timeout: the request times out first.
pub(crate) const LONG: Duration = Duration::from_secs(7 * 24 * 3600);

/// A program to start behind a proxy.
pub(crate) struct Program<'a> {
    /// The program and its arguments.
    pub(crate) command: &'a [OsString],
    /// What it is, in messages: `agent`.
    pub(crate) what: &'static str,
    /// How to name the program, if it cannot be started.
    pub(crate) help: &'static str,
    /// How long a request waits for an approver.
    pub(crate) wait: Duration,
}

/// Runs a program behind a proxy until one side disconnects. `proxy` makes the proxy, which decides with the engines.
pub(crate) fn run<P: Relay>(
    program: &Program<'_>,
    engines: Arc<Engines>,
    proxy: impl FnOnce(Decide) -> P,
) -> CliResult {
    let Some((name, rest)) = program.command.split_first() else {
        return Err(CliError::new(format!("there is no {} to start", program.what)));
    };
    // Before the program is started, so that no signal ends the proxy without it.
    let signals = StopSignals::listen()?;
    // The program has a process group of its own, which is ended as a whole.
    let mut child = Command::new(name)
        .args(rest)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| {
            let name = visible(&name.to_string_lossy()).into_owned();
            CliError::new(format!("could not start the {} `{name}`: {error}", program.what))
                .help(program.help)
        })?;
    let (sender, incoming) = mpsc::channel();
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(CliError::new(format!("the {} has no standard input and output", program.what)));
    };
    end_on_signal(signals, Pid::from_child(&child), sender.clone())?;
    listen(Side::Client, io::stdin(), sender.clone())?;
    listen(Side::Server, stdout, sender.clone())?;
    let judge = engines.clone();
    let session = Session {
        proxy: proxy(Box::new(move |event| judge.decide(event))),
        stdin: Some(stdin),
        sender,
        engines,
        wait: program.wait,
        started: Instant::now(),
    };
    // INVARIANT: after an internal error nothing is forwarded: the program is killed.
    let ended = panic::catch_unwind(AssertUnwindSafe(|| session.run(&incoming)));
    let exit = leave(&mut child, ended.is_err());
    Ok(match ended {
        Ok(None) => exit,
        // As shells report a signal.
        Ok(Some(signal)) => Exit::Of(u8::try_from(signal.saturating_add(128)).unwrap_or(1)),
        Err(_) => Exit::Stopped,
    })
}

/// The proxy between client and program.
struct Session<P> {
    proxy: P,
    /// Absent once the client is gone.
    stdin: Option<ChildStdin>,
    sender: Sender<Incoming>,
    engines: Arc<Engines>,
    wait: Duration,
    started: Instant,
}

impl<P: Relay> Session<P> {
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Forwards until one side has disconnected or a signal ends the proxy, and returns that signal.
    fn run(mut self, incoming: &Receiver<Incoming>) -> Option<i32> {
        let mut until: Option<Instant> = None;
        loop {
            let due = self.proxy.next_tick().map(|due| Duration::from_millis(due.saturating_sub(self.now())));
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let output = match incoming.recv_timeout(due.into_iter().chain(left).min().unwrap_or(LONG)) {
                Ok(Incoming::Line(side, line)) => self.proxy.handle_line(side, &line, self.now()),
                Ok(Incoming::Unreadable(side, error)) => self.proxy.reject_line(side, error),
                Ok(Incoming::Answer(number, decision)) => {
                    self.proxy.apply_answer(number, *decision, self.now())
                }
                Ok(Incoming::End(Side::Client)) => {
                    // The program gets its end of file, as without the proxy.
                    self.stdin = None;
                    until = Instant::now().checked_add(LEAVE);
                    continue;
                }
                Ok(Incoming::Signal(signal)) => {
                    let output = self.proxy.end();
                    self.send(output);
                    return Some(signal);
                }
                Ok(Incoming::End(Side::Server)) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left.is_zero()) => break,
                Err(RecvTimeoutError::Timeout) => self.proxy.tick(self.now()),
            };
            self.send(output);
        }
        let output = self.proxy.end();
        self.send(output);
        None
    }

    fn send(&mut self, output: RelayOutput) {
        for remark in output.remarks {
            // If the terminal is gone, remarks cannot be shown.
            let _ = writeln!(io::stderr(), "midrail: {}", visible(&remark));
        }
        // If the client is gone, its end of file follows.
        let mut stdout = io::stdout().lock();
        let _ = output
            .to_client
            .iter()
            .try_for_each(|line| writeln!(stdout, "{line}"))
            .and_then(|()| stdout.flush());
        if let Some(stdin) = &mut self.stdin {
            let lines =
                output.to_server.iter().try_for_each(|line| stdin.write_all(format!("{line}\n").as_bytes()));
            if lines.and_then(|()| stdin.flush()).is_err() {
                self.stdin = None;
            }
        }
        for hold in output.holds {
            self.hold(hold);
        }
    }

    /// Waits for an approver on a separate thread.
    fn hold(&self, hold: PendingApproval) {
        let (engines, sender, wait, number) =
            (self.engines.clone(), self.sender.clone(), self.wait, hold.number);
        let waiting = thread::Builder::new().name("midrail-hold".to_owned()).spawn(move || {
            let decision = engines.decide_and_wait(hold.event, wait);
            // If the program is gone, the answer is not needed.
            let _ = sender.send(Incoming::Answer(hold.number, Box::new(decision)));
        });
        if let Err(error) = waiting {
            let decision = refusal(&CliError::new(format!("nothing can wait for an approver: {error}")));
            let _ = self.sender.send(Incoming::Answer(number, Box::new(decision)));
        }
    }
}

/// Ends the program and those that it started when a signal ends the proxy. A thread of its own does so, because the proxy may be
/// waiting for a side that does not read.
fn end_on_signal(signals: StopSignals, program: Pid, sender: Sender<Incoming>) -> io::Result<()> {
    let end = move || {
        let signal = signals.wait();
        // Before the program ends, so that its end is not taken for the reason.
        let _ = sender.send(Incoming::Signal(signal));
        // The program may have exited already.
        let _ = kill_process_group(program, Signal::TERM);
        thread::sleep(LEAVE);
        let _ = kill_process_group(program, Signal::KILL);
        process::exit(signal.saturating_add(128));
    };
    thread::Builder::new().name("midrail-signals".to_owned()).spawn(end).map(drop)
}

/// Waits until the program exits, and kills it if it does not.
fn leave(child: &mut Child, at_once: bool) -> Exit {
    let until = Instant::now().checked_add(LEAVE).filter(|_| !at_once);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Exit::from_status(status);
        }
        if until.is_none_or(|until| Instant::now() >= until) {
            // It is gone already, or is gone now, with the programs that it started.
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.kill();
            let _ = child.wait();
            return Exit::Failed;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A word that no other proxy has.
pub(crate) fn nonce() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", time.as_millis(), process::id())
}

/// A message to the proxy.
enum Incoming {
    /// A line of one side.
    Line(Side, Vec<u8>),
    /// A line that is too large.
    Unreadable(Side, WireError),
    /// One side has disconnected.
    End(Side),
    /// The decision of a held call.
    Answer(u64, Box<Decision>),
    /// A signal that ends the proxy.
    Signal(i32),
}

/// Reads the lines of one side until it disconnects.
fn listen(side: Side, pipe: impl Read + Send + 'static, sender: Sender<Incoming>) -> io::Result<()> {
    let read = move || {
        let mut lines = Lines(BufReader::new(pipe));
        while let Ok(Some(line)) = lines.next() {
            let incoming = match line {
                Ok(line) => Incoming::Line(side, line),
                Err(error) => Incoming::Unreadable(side, error),
            };
            if sender.send(incoming).is_err() {
                return;
            }
        }
        // If the proxy has ended, the message is not needed.
        let _ = sender.send(Incoming::End(side));
    };
    thread::Builder::new().name("midrail-lines".to_owned()).spawn(read).map(drop)
}
