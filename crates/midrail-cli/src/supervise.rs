//! A program behind a proxy of lines: starts it, moves lines between it and the client, waits for approvers, and ends it.

mod flow;

use std::ffi::OsString;
use std::io::{self, BufReader, Read, Write};
use std::mem;
use std::os::unix::process::CommandExt;
use std::panic::{self, AssertUnwindSafe};
use std::process::{self, Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use midrail::Decision;
use midrail::pack::diagnostic::visible;
use midrail_adapters::mcp::http::upstream::Upstream;
use midrail_adapters::mcp::http::{Link, Received};
use midrail_adapters::relay::{Decide, PendingApproval, Relay, RelayOutput, Side};
use midrail_adapters::wire::WireError;
use midrail_service::StopSignals;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::commands::check::Lines;
use crate::engines::Engines;
use crate::error::{CliError, CliResult};
use crate::event_engine::refusal;
use crate::exit::Exit;

use self::flow::{Budget, Credit, Writer};

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
}

/// How a proxy runs.
pub(crate) struct Setup<P> {
    /// Makes the proxy, which decides with the engines.
    pub(crate) proxy: P,
    pub(crate) engines: Arc<Engines>,
    /// How long a request waits for an approver.
    pub(crate) wait: Duration,
}

/// Runs a program behind a proxy until one side disconnects.
pub(crate) fn run<P: Relay>(program: &Program<'_>, setup: Setup<impl FnOnce(Decide) -> P>) -> CliResult {
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
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(CliError::new(format!("the {} has no standard input and output", program.what)));
    };
    end_on_signal(signals, Some(Pid::from_child(&child)), sender.clone())?;
    listen(Side::Client, io::stdin(), sender.clone())?;
    listen(Side::Server, stdout, sender.clone())?;
    let to_server = Writer::spawn(move |line| {
        stdin.write_all(line.as_bytes())?;
        stdin.write_all(b"\n")?;
        stdin.flush()
    })?;
    let ended = Session::new(setup, to_server, sender, false)?.run_guarded(&incoming);
    let exit = leave(&mut child, ended.is_err());
    Ok(match ended {
        Ok(None) => exit,
        Ok(Some(signal)) => of_signal(signal),
        Err(_) => Exit::Stopped,
    })
}

/// Runs a proxy in front of a server at an address until one side disconnects.
pub(crate) fn run_link<P: Relay>(upstream: Upstream, setup: Setup<impl FnOnce(Decide) -> P>) -> CliResult {
    let signals = StopSignals::listen()?;
    let (sender, incoming) = mpsc::channel();
    end_on_signal(signals, None, sender.clone())?;
    listen(Side::Client, io::stdin(), sender.clone())?;
    let (budget, received) = (Budget::default(), sender.clone());
    let link = Link::new(
        upstream,
        Box::new(move |message| {
            let incoming = match message {
                Received::Line(line) => {
                    let credit = budget.take(line.len());
                    Incoming::Line(Side::Server, line, credit)
                }
                Received::Failed { id, why } => Incoming::Failed(id, why),
                Received::Remark(remark) => Incoming::Remark(remark),
                Received::Closed(why) => {
                    // If the proxy has ended, this is not needed.
                    let _ = received.send(Incoming::Remark(why));
                    Incoming::End(Side::Server)
                }
            };
            let _ = received.send(incoming);
        }),
    );
    let of_lines = link.clone();
    let to_server = Writer::spawn(move |line| {
        of_lines.send(line);
        Ok(())
    })?;
    let ended = Session::new(setup, to_server, sender, true)?.run_guarded(&incoming);
    link.close();
    Ok(match ended {
        Ok(None) => Exit::Good,
        Ok(Some(signal)) => of_signal(signal),
        Err(_) => Exit::Stopped,
    })
}

/// As shells report a signal.
fn of_signal(signal: i32) -> Exit {
    Exit::Of(u8::try_from(signal.saturating_add(128)).unwrap_or(1))
}

/// The proxy between client and program.
struct Session<P> {
    proxy: P,
    to_client: Writer,
    /// Absent once the client is gone.
    to_server: Option<Writer>,
    sender: Sender<Incoming>,
    engines: Arc<Engines>,
    wait: Duration,
    started: Instant,
    /// The session ends once the client is gone and every request has its answer. Programs end by themselves.
    ends_when_idle: bool,
}

impl<P: Relay> Session<P> {
    fn new(
        setup: Setup<impl FnOnce(Decide) -> P>,
        to_server: Writer,
        sender: Sender<Incoming>,
        ends_when_idle: bool,
    ) -> io::Result<Self> {
        let Setup { proxy, engines, wait } = setup;
        // The process ends with the session, and everything is recorded: nothing is released first.
        mem::forget(engines.clone());
        let judge = engines.clone();
        let stdout = io::stdout();
        let to_client = Writer::spawn(move |line| {
            let mut stdout = stdout.lock();
            writeln!(stdout, "{line}")?;
            stdout.flush()
        })?;
        Ok(Session {
            proxy: proxy(Box::new(move |event| judge.decide(event))),
            to_client,
            to_server: Some(to_server),
            sender,
            engines,
            wait,
            started: Instant::now(),
            ends_when_idle,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// INVARIANT: after an internal error nothing is forwarded, and what is behind the proxy is ended.
    fn run_guarded(self, incoming: &Receiver<Incoming>) -> thread::Result<Option<i32>> {
        panic::catch_unwind(AssertUnwindSafe(|| self.run(incoming)))
    }

    /// Forwards until one side has disconnected or a signal ends the proxy, and returns that signal.
    fn run(mut self, incoming: &Receiver<Incoming>) -> Option<i32> {
        let signal = self.forward(incoming);
        let output = self.proxy.end();
        self.send(output, None);
        self.to_client.finish(LEAVE);
        if let Some(to_server) = self.to_server.filter(|_| self.ends_when_idle) {
            to_server.finish(LEAVE);
        }
        signal
    }

    fn forward(&mut self, incoming: &Receiver<Incoming>) -> Option<i32> {
        let mut until: Option<Instant> = None;
        loop {
            // INVARIANT: a program that floods does not keep the proxy of a client that is gone.
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            if is_over || until.is_some() && self.ends_when_idle && self.proxy.is_idle() {
                return None;
            }
            let due = self.proxy.next_tick().map(|due| Duration::from_millis(due.saturating_sub(self.now())));
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let mut credit = None;
            let output = match incoming.recv_timeout(due.into_iter().chain(left).min().unwrap_or(LONG)) {
                Ok(Incoming::Line(side, line, of_line)) => {
                    credit = Some(Arc::new(of_line));
                    self.proxy.handle_line(side, &line, self.now())
                }
                Ok(Incoming::Unreadable(side, error)) => self.proxy.reject_line(side, error),
                Ok(Incoming::Failed(id, why)) => self.proxy.fail_request(&id, &why),
                Ok(Incoming::Remark(remark)) => {
                    RelayOutput { remarks: vec![remark], ..RelayOutput::default() }
                }
                Ok(Incoming::Answer(number, decision)) => {
                    self.proxy.apply_answer(number, *decision, self.now())
                }
                Ok(Incoming::End(Side::Client)) => {
                    until = Instant::now().checked_add(LEAVE);
                    if !self.ends_when_idle {
                        // The program gets its end of file, as without the proxy.
                        self.to_server = None;
                    }
                    continue;
                }
                Ok(Incoming::Signal(signal)) => return Some(signal),
                Ok(Incoming::End(Side::Server)) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.proxy.tick(self.now()),
            };
            self.send(output, credit);
        }
    }

    fn send(&mut self, output: RelayOutput, credit: Option<Arc<Credit>>) {
        for remark in output.remarks {
            // If the terminal is gone, remarks cannot be shown.
            let _ = writeln!(io::stderr(), "midrail: {}", visible(&remark));
        }
        for line in output.to_client {
            self.to_client.send(line, credit.as_ref());
        }
        if let Some(to_server) = &self.to_server {
            for line in output.to_server {
                to_server.send(line, credit.as_ref());
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
fn end_on_signal(signals: StopSignals, program: Option<Pid>, sender: Sender<Incoming>) -> io::Result<()> {
    let end = move || {
        let signal = signals.wait();
        // Before the program ends, so that its end is not taken for the reason.
        let _ = sender.send(Incoming::Signal(signal));
        // The program may have exited already.
        let kill = |with| program.map(|program| kill_process_group(program, with));
        kill(Signal::TERM);
        thread::sleep(LEAVE);
        kill(Signal::KILL);
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
    Line(Side, Vec<u8>, Credit),
    /// A line that is too large.
    Unreadable(Side, WireError),
    /// A request of the client that the server does not answer, and why.
    Failed(Value, String),
    /// A message for standard error.
    Remark(String),
    /// One side has disconnected.
    End(Side),
    /// The decision of a held call.
    Answer(u64, Box<Decision>),
    /// A signal that ends the proxy.
    Signal(i32),
}

/// Reads the lines of one side until it disconnects.
fn listen(side: Side, pipe: impl Read + Send + 'static, sender: Sender<Incoming>) -> io::Result<()> {
    let budget = Budget::default();
    let read = move || {
        let mut lines = Lines(BufReader::new(pipe));
        while let Ok(Some(line)) = lines.next() {
            let incoming = match line {
                Ok(line) => {
                    let credit = budget.take(line.len());
                    Incoming::Line(side, line, credit)
                }
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
