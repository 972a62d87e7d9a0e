//! `midrail acp`: a proxy between an editor and an agent that use the Agent Client Protocol.

mod engines;
mod pipes;

use std::env;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::panic::{self, AssertUnwindSafe};
use std::process::{self, Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use midrail::pack::diagnostic::visible;
use midrail_adapters::acp::{PendingApproval, Proxy, ProxyOptions, ProxyOutput, Side};

use self::engines::Engines;
use self::pipes::Incoming;
use crate::error::{CliError, CliResult};
use crate::event_engine::refusal;
use crate::exit::{self, Exit};
use crate::input::{PackArgs, StoreArgs};
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
}

/// How long the agent may take to exit after the editor has disconnected.
const LEAVE: Duration = Duration::from_secs(5);
/// A wait without its own timeout: the request times out first.
const LONG: Duration = Duration::from_secs(7 * 24 * 3600);

pub(crate) fn run(args: &Args, _: &mut Output) -> CliResult {
    let engines = Arc::new(Engines::new(args.packs.clone(), &args.store)?);
    let here = env::current_dir().ok().map(|here| here.to_string_lossy().into_owned());
    // An invalid pack is reported now, not with the first prompt.
    engines.of(here.as_deref())?;
    let Some((program, rest)) = args.agent.split_first() else {
        return Err(CliError::new("there is no agent to start"));
    };
    let mut child =
        Command::new(program).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(
            |error| {
                let name = visible(&program.to_string_lossy()).into_owned();
                CliError::new(format!("could not start the agent `{name}`: {error}"))
                    .help("give the agent's command behind `--`, as in `midrail acp -- gemini --acp`")
            },
        )?;
    let (sender, incoming) = mpsc::channel();
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(CliError::new("the agent has no standard input and output"));
    };
    pipes::listen(Side::Editor, io::stdin(), sender.clone())?;
    pipes::listen(Side::Agent, stdout, sender.clone())?;
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
    let code = leave(&mut child, ended.is_err());
    Ok(if ended.is_err() { Exit::Stopped } else { Exit::Agent(code) })
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

    fn run(mut self, incoming: &Receiver<Incoming>) {
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
                Ok(Incoming::End(Side::Agent)) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left.is_zero()) => break,
                Err(RecvTimeoutError::Timeout) => self.proxy.tick(self.now()),
            };
            self.send(output);
        }
        let output = self.proxy.end();
        self.send(output);
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

/// Waits until the agent exits, and kills it if it does not.
fn leave(child: &mut Child, at_once: bool) -> u8 {
    let until = Instant::now().checked_add(LEAVE).filter(|_| !at_once);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            // As shells report a signal.
            let code = status.code().or_else(|| status.signal()?.checked_add(128));
            return code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        }
        if until.is_none_or(|until| Instant::now() >= until) {
            // It is gone already, or is gone now.
            let _ = child.kill();
            let _ = child.wait();
            return 1;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A word that no other proxy has.
fn nonce() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", time.as_millis(), process::id())
}
