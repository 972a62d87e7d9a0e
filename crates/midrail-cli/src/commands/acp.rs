//! `midrail acp`: stands between an editor and an agent that speak the Agent Client Protocol.

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

use self::engines::{Engines, refusal};
use self::pipes::Heard;
use crate::error::CliError;
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

/// How long an agent that is no longer spoken to has to end by itself.
const LEAVE: Duration = Duration::from_secs(5);
/// A wait without an end of its own: that of the request comes first.
const LONG: Duration = Duration::from_secs(7 * 24 * 3600);

pub(crate) fn run(args: &Args, _: &mut Output) -> Result<Exit, CliError> {
    let engines = Arc::new(Engines::new(args.packs.clone(), &args.store)?);
    let here = env::current_dir().ok().map(|here| here.to_string_lossy().into_owned());
    // A pack that cannot be read is told now, and not when the first prompt is refused.
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
    let (tell, heard) = mpsc::channel();
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(CliError::new("the agent has no standard input and output"));
    };
    pipes::listen(Side::Editor, io::stdin(), tell.clone())?;
    pipes::listen(Side::Agent, stdout, tell.clone())?;
    let options = ProxyOptions { cwd: here, keep_asking: args.keep_asking, nonce: nonce() };
    let judge = engines.clone();
    let proxy = Proxy::new(options, Box::new(move |event| judge.decide(event)));
    let between = Between {
        proxy,
        stdin: Some(stdin),
        tell,
        engines,
        wait: args.wait.unwrap_or(LONG),
        begun: Instant::now(),
    };
    // INVARIANT: whatever goes wrong, nothing passes on unjudged: the agent ends with us.
    let ended = panic::catch_unwind(AssertUnwindSafe(|| between.stand(&heard)));
    let code = leave(&mut child, ended.is_err());
    Ok(if ended.is_err() { Exit::Stopped } else { Exit::Agent(code) })
}

/// The proxy between editor and agent.
struct Between {
    proxy: Proxy,
    /// Absent once the editor is gone.
    stdin: Option<ChildStdin>,
    tell: Sender<Heard>,
    engines: Arc<Engines>,
    wait: Duration,
    begun: Instant,
}

impl Between {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn stand(mut self, heard: &Receiver<Heard>) {
        let mut until: Option<Instant> = None;
        loop {
            let due = self.proxy.next_tick().map(|due| Duration::from_millis(due.saturating_sub(self.now())));
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let told = match heard.recv_timeout(due.into_iter().chain(left).min().unwrap_or(LONG)) {
                Ok(Heard::Line(side, line)) => self.proxy.handle_line(side, &line, self.now()),
                Ok(Heard::Unreadable(side, error)) => self.proxy.reject_line(side, error),
                Ok(Heard::Answer(number, decision)) => self.proxy.apply_answer(number, *decision, self.now()),
                Ok(Heard::End(Side::Editor)) => {
                    // The agent learns of it as it would without us.
                    self.stdin = None;
                    until = Instant::now().checked_add(LEAVE);
                    continue;
                }
                Ok(Heard::End(Side::Agent)) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left.is_zero()) => break,
                Err(RecvTimeoutError::Timeout) => self.proxy.tick(self.now()),
            };
            self.give(told);
        }
        let told = self.proxy.end();
        self.give(told);
    }

    fn give(&mut self, told: ProxyOutput) {
        for remark in told.remarks {
            // Nothing is left to tell anyone if the terminal is gone.
            let _ = writeln!(io::stderr(), "midrail: {}", visible(&remark));
        }
        // Who no longer listens is gone, and its end is heard of on the way in.
        let mut stdout = io::stdout().lock();
        let _ = told
            .to_editor
            .iter()
            .try_for_each(|line| writeln!(stdout, "{line}"))
            .and_then(|()| stdout.flush());
        if let Some(stdin) = &mut self.stdin {
            let lines =
                told.to_agent.iter().try_for_each(|line| stdin.write_all(format!("{line}\n").as_bytes()));
            if lines.and_then(|()| stdin.flush()).is_err() {
                self.stdin = None;
            }
        }
        for hold in told.holds {
            self.hold(hold);
        }
    }

    /// Waits for an approver on a separate thread.
    fn hold(&self, hold: PendingApproval) {
        let (engines, tell, wait, number) = (self.engines.clone(), self.tell.clone(), self.wait, hold.number);
        let waiting = thread::Builder::new().name("midrail-hold".to_owned()).spawn(move || {
            let decision = engines.decide_and_wait(hold.event, wait);
            // Nobody waits any longer where the agent is gone.
            let _ = tell.send(Heard::Answer(hold.number, Box::new(decision)));
        });
        if let Err(error) = waiting {
            let decision = refusal(&format!("nothing can wait for an approver: {error}"));
            let _ = self.tell.send(Heard::Answer(number, Box::new(decision)));
        }
    }
}

/// Waits for the agent's end, which is made where it does not come.
fn leave(child: &mut Child, at_once: bool) -> u8 {
    let until = Instant::now().checked_add(LEAVE).filter(|_| !at_once);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            // As shells tell of a signal.
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
