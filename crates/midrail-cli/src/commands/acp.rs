//! `midrail acp`: a proxy between an editor and an agent that use the Agent Client Protocol.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::{self, Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, thread};

use midrail::pack::diagnostic::visible;
use midrail::{Decision, Effect, Engine, Event, Reloader, SqliteStore, paths};
use midrail_adapters::acp::{PendingApproval, Proxy, ProxyOptions, ProxyOutput, Side};
use midrail_adapters::wire::WireError;
use midrail_adapters::{hook, messages};
use midrail_service::StopSignals;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::commands::check::Lines;
use crate::error::{CliError, CliResult};
use crate::event_engine::{leave_to_approvers, refusal, session_limits, watched};
use crate::exit::{self, Exit};
use crate::input::{DamageArgs, PackArgs, StoreArgs};
use crate::output::Output;
use crate::time;

/// Start an ACP agent behind a proxy that checks its tool calls.
///
/// Put `midrail acp --` before the agent's command in the editor's settings.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::ACP)]
pub(crate) struct Args {
    /// The agent and its arguments, as in `midrail acp -- gemini --acp`
    #[arg(value_name = "AGENT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    agent: Vec<std::ffi::OsString>,
    /// How long to wait for an approver [default: until the request times out]
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    wait: Option<Duration>,
    /// Hide options that allow something permanently, so that the agent keeps asking
    #[arg(long)]
    keep_asking: bool,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    damage: DamageArgs,
}

/// How long the agent may take to exit after the editor has disconnected.
const LEAVE: Duration = Duration::from_secs(5);
/// A wait without its own timeout: the request times out first.
const LONG: Duration = Duration::from_secs(7 * 24 * 3600);

pub(crate) fn run(args: &Args, _: &mut Output) -> CliResult {
    let engines = Arc::new(Engines::new(args.packs.clone(), &args.store, args.damage)?);
    let here = env::current_dir().ok().map(|here| here.to_string_lossy().into_owned());
    // An invalid pack is reported now, not with the first prompt.
    engines.of(here.as_deref())?;
    let Some((program, rest)) = args.agent.split_first() else {
        return Err(CliError::new("there is no agent to start"));
    };
    // The agent has a process group of its own, which is ended as a whole.
    // Before the agent is started, so that no signal ends the proxy without the agent.
    let signals = StopSignals::listen()?;
    let mut child = Command::new(program)
        .args(rest)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| {
            let name = visible(&program.to_string_lossy()).into_owned();
            CliError::new(format!("could not start the agent `{name}`: {error}"))
                .help("give the agent's command behind `--`, as in `midrail acp -- gemini --acp`")
        })?;
    let (sender, incoming) = mpsc::channel();
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(CliError::new("the agent has no standard input and output"));
    };
    end_on_signal(signals, Pid::from_child(&child), sender.clone())?;
    listen(Side::Editor, io::stdin(), sender.clone())?;
    listen(Side::Agent, stdout, sender.clone())?;
    let options = ProxyOptions { cwd: here, keep_asking: args.keep_asking, nonce: nonce() };
    let judge = engines.clone();
    let proxy = Proxy::new(options, Box::new(move |event| judge.decide(event)));
    let session = ProxySession {
        proxy,
        stdin: Some(stdin),
        sender,
        engines,
        wait: args.wait.unwrap_or(LONG),
        started: Instant::now(),
    };
    // INVARIANT: after an internal error nothing is forwarded: the agent is killed.
    let ended = panic::catch_unwind(AssertUnwindSafe(|| session.run(&incoming)));
    let exit = leave(&mut child, ended.is_err());
    Ok(match ended {
        Ok(None) => exit,
        // As shells report a signal.
        Ok(Some(signal)) => Exit::Of(u8::try_from(signal.saturating_add(128)).unwrap_or(1)),
        Err(_) => Exit::Stopped,
    })
}

/// The proxy between editor and agent.
struct ProxySession {
    proxy: Proxy,
    /// Absent once the editor is gone.
    stdin: Option<ChildStdin>,
    sender: Sender<Incoming>,
    engines: Arc<Engines>,
    wait: Duration,
    started: Instant,
}

impl ProxySession {
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
                Ok(Incoming::End(Side::Editor)) => {
                    // The agent gets its end of file, as without the proxy.
                    self.stdin = None;
                    until = Instant::now().checked_add(LEAVE);
                    continue;
                }
                Ok(Incoming::Signal(signal)) => {
                    let output = self.proxy.end();
                    self.send(output);
                    return Some(signal);
                }
                Ok(Incoming::End(Side::Agent)) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left.is_zero()) => break,
                Err(RecvTimeoutError::Timeout) => self.proxy.tick(self.now()),
            };
            self.send(output);
        }
        let output = self.proxy.end();
        self.send(output);
        None
    }

    fn send(&mut self, output: ProxyOutput) {
        for remark in output.remarks {
            // If the terminal is gone, remarks cannot be shown.
            let _ = writeln!(io::stderr(), "midrail: {}", visible(&remark));
        }
        // If the editor is gone, its end of file follows.
        let mut stdout = io::stdout().lock();
        let _ = output
            .to_editor
            .iter()
            .try_for_each(|line| writeln!(stdout, "{line}"))
            .and_then(|()| stdout.flush());
        if let Some(stdin) = &mut self.stdin {
            let lines =
                output.to_agent.iter().try_for_each(|line| stdin.write_all(format!("{line}\n").as_bytes()));
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
            // If the agent is gone, the answer is not needed.
            let _ = sender.send(Incoming::Answer(hold.number, Box::new(decision)));
        });
        if let Err(error) = waiting {
            let decision = refusal(&CliError::new(format!("nothing can wait for an approver: {error}")));
            let _ = self.sender.send(Incoming::Answer(number, Box::new(decision)));
        }
    }
}

/// Ends the agent and the programs that it started when a signal ends the proxy. A thread of its own does so, because the proxy may be waiting for a side
/// that does not read.
fn end_on_signal(signals: StopSignals, agent: Pid, sender: Sender<Incoming>) -> io::Result<()> {
    let end = move || {
        let signal = signals.wait();
        // Before the agent ends, so that its end is not taken for the reason.
        let _ = sender.send(Incoming::Signal(signal));
        // The agent may have exited already.
        let _ = kill_process_group(agent, Signal::TERM);
        thread::sleep(LEAVE);
        let _ = kill_process_group(agent, Signal::KILL);
        process::exit(signal.saturating_add(128));
    };
    thread::Builder::new().name("midrail-signals".to_owned()).spawn(end).map(drop)
}

/// Waits until the agent exits, and kills it if it does not.
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
fn nonce() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", time.as_millis(), process::id())
}

/// More projects than one editor has open.
const MAX_PROJECTS: usize = 64;

/// The engines, by the folder of their project.
struct Engines {
    packs: PackArgs,
    store: Arc<SqliteStore>,
    damage: DamageArgs,
    engines: Mutex<BTreeMap<PathBuf, (Arc<Engine>, Reloader)>>,
}

impl Engines {
    fn new(packs: PackArgs, store: &StoreArgs, damage: DamageArgs) -> CliResult<Self> {
        let store = Arc::new(SqliteStore::open(store.path()?)?);
        Ok(Engines { packs, store, damage, engines: Mutex::default() })
    }

    /// The engine of the project that a folder belongs to.
    fn of(&self, folder: Option<&str>) -> CliResult<Arc<Engine>> {
        let folder =
            folder.map(PathBuf::from).filter(|folder| folder.is_dir()).or_else(|| env::current_dir().ok());
        let folder = folder.ok_or_else(|| CliError::new("there is no folder to work in"))?;
        let project = paths::project(&folder).unwrap_or(folder);
        let mut engines = self.engines.lock();
        if let Some((engine, _)) = engines.get(&project) {
            return Ok(engine.clone());
        }
        if engines.len() >= MAX_PROJECTS {
            engines.pop_first();
        }
        let watched = watched(&self.packs, Some(project.clone()), None, &self.store, self.damage)?;
        let engine = watched.0.clone();
        engines.insert(project, watched);
        Ok(engine)
    }

    /// Decides an event. What cannot be decided is refused.
    fn decide(&self, event: Event) -> Decision {
        self.with(event, |engine, event| engine.decide(event))
    }

    /// Decides an event with the answer of an approver, where one comes in time.
    fn decide_and_wait(&self, event: Event, at_most: Duration) -> Decision {
        self.with(event, |engine, event| engine.approvals().decide_and_wait(event, at_most))
    }

    fn with(&self, event: Event, decide: impl FnOnce(&Engine, Event) -> Decision) -> Decision {
        // INVARIANT: an internal error is a no.
        let decided = panic::catch_unwind(AssertUnwindSafe(|| self.try_with(event, decide)));
        match decided {
            Ok(Ok(decision)) => decision,
            Ok(Err(failure)) if failure.help.is_some() => refusal(&failure),
            Ok(Err(failure)) => refusal(&failure.help("run `midrail lint` in the directory of the session")),
            Err(_) => refusal(&CliError::new("an internal error")),
        }
    }

    fn try_with(
        &self,
        mut event: Event,
        decide: impl FnOnce(&Engine, Event) -> Decision,
    ) -> CliResult<Decision> {
        let engine = self.of(event.cwd.as_deref())?;
        let begins = hook::is_agent_start(&event);
        let has_approvers = leave_to_approvers(&engine, &mut event)?;
        let mut decision = decide(&engine, event);
        if has_approvers && decision.effect == Effect::Escalate && decision.approval.is_none() {
            // No approver was asked, and the user of the editor may not decide.
            decision.effect = Effect::Block;
        }
        let mut decision = messages::for_agent(engine.approvals().with_guidance(decision), &engine.policy());
        if begins {
            decision.feedback.splice(0..0, session_limits(&engine));
        }
        Ok(decision)
    }
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
    thread::Builder::new().name("midrail-acp".to_owned()).spawn(read).map(drop)
}
