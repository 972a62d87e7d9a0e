//! `midrail hook`: answers a hook of a coding agent in the format of the host.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::builder::PossibleValuesParser;
use midrail::pack::diagnostic::visible;
use midrail::{Decision, Engine, Event, EventKind};
use midrail_adapters::hook::{self, Hook};
use midrail_adapters::host::{HookOutput, HostSpec};
use midrail_adapters::hosts;
use midrail_adapters::judge;
use midrail_adapters::messages;
use midrail_adapters::setup::{self, LostState};
use midrail_adapters::wire::MAX_EVENT_BYTES;

use crate::commands::run::sandboxes;
use crate::error::{CliError, CliResult};
use crate::event_engine;
use crate::exit::{self, Exit};
use crate::input::{DamageArgs, PackArgs, StoreArgs};
use crate::output::Output;
use crate::paint::Paint;
use crate::time;

/// Answer a hook of a coding agent: payload on standard input, answer on standard output.
///
/// `midrail init` registers it.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = exit::HOOK)]
pub(crate) struct Args {
    /// The coding agent
    #[arg(value_name = "HOST", value_parser = PossibleValuesParser::new(hosts::ALL.iter().map(|host| host.name)))]
    host: String,
    /// The event, as the agent names it [default: from the payload]
    #[arg(value_name = "EVENT")]
    event: Option<String>,
    /// The agent's timeout for hooks, in seconds. Midrail always answers before it [default: the agent's own]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u32>,
    /// Prove with the last line that this program has decided, for the command that `midrail init` writes
    #[arg(long, value_name = "NUMBER", hide = true)]
    proof: Option<u64>,
    /// The command is that of a plugin, which no settings register
    #[arg(long, hide = true)]
    in_plugin: bool,
    /// How long to wait for an approval [default: as long as the agent waits, if there are approvers]
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    wait: Option<Duration>,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    damage: DamageArgs,
}

impl Args {
    /// Reads the arguments that `midrail init` writes: `HOST [EVENT] [--proof NUMBER]`. `None`: there are others, or they are
    /// wrong.
    pub(crate) fn written_by_init(args: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut args = args.map(|arg| arg.into_string().ok());
        let host = hosts::find(&args.next()??)?.name.to_owned();
        let mut read = Args { host, ..Args::default() };
        while let Some(arg) = args.next() {
            match arg? {
                arg if arg == "--proof" && read.proof.is_none() => {
                    read.proof = Some(args.next()??.parse().ok()?)
                }
                arg if !arg.starts_with('-') && read.event.is_none() => read.event = Some(arg),
                _ => return None,
            }
        }
        Some(read)
    }
}

pub(crate) fn run(args: &Args, _: &mut Output) -> CliResult {
    let host = hosts::find(&args.host).ok_or_else(|| CliError::new("there is no such host"))?;
    let timeout = args
        .timeout
        .map_or(host.timeout_for(args.event.as_deref()), |seconds| Duration::from_secs(seconds.into()));
    let reserve = (timeout / 10).min(RESERVE);
    let deadline = Deadline::start(host, args.event.clone(), args.proof, timeout.saturating_sub(reserve));
    // INVARIANT: after any error the host gets an answer that blocks.
    let answer = panic::catch_unwind(AssertUnwindSafe(|| answer(args, host, &deadline)))
        .unwrap_or_else(|_| Answer::refusal(host, args.event.as_deref(), "an internal error"));
    deadline.claim();
    Ok(answer.give(args.proof))
}

fn answer(args: &Args, host: &'static HostSpec, deadline: &Deadline) -> Answer {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_EVENT_BYTES + 1).read_to_end(&mut bytes);
    let named = args.event.as_deref();
    if let Err(error) = read {
        return Answer::refusal(host, named, &format!("the payload could not be read: {error}"));
    }
    let hook = match Hook::read(host, named, &bytes) {
        Ok(hook) => hook,
        Err(error) => return Answer::refusal(host, named, &error.to_string()),
    };
    match hook
        .events()
        .map_err(|error| CliError::from_error(&error))
        .and_then(|events| decide(args, events, deadline))
    {
        Ok((decisions, lost)) => {
            let stopping = decisions.iter().find(|decision| !decision.effect.allows());
            let denial = stopping.map(|decision| decision.reason.clone());
            let mut output = hook.answer(decisions);
            if let Some(field) = host.user_message {
                output = lost.iter().fold(output, |output, text| output.with_user_message(field, text));
            }
            Answer { output, denial }
        }
        Err(failure) => {
            let reason = failure.render(Paint::default());
            Answer { output: hook.refuse(&reason), denial: Some(reason) }
        }
    }
}

/// The decisions, up to the first that stops, and what the user has to know about lost hooks.
fn decide(args: &Args, events: Vec<Event>, deadline: &Deadline) -> CliResult<(Vec<Decision>, Vec<String>)> {
    let mut events = events.into_iter();
    let Some(mut first) = events.next() else { return Ok(Default::default()) };
    let (folder, kind) = (first.cwd.as_ref().map(PathBuf::from), first.kind);
    let mut policy = event_engine::load(&mut first, &args.packs, &args.store, false)?;
    let remark = policy.remark.take();
    let engine = policy.with_sandboxes(sandboxes(&args.store)).engine(None, args.damage)?;
    engine.background().stop_scripts_at(deadline.before_the_end());
    let mut decisions = Vec::new();
    for mut event in std::iter::once(first).chain(events) {
        let begins = hook::is_agent_start(&event);
        let wait = wait(args, &engine, &mut event, deadline)?;
        let decision = match wait {
            Some(at_most) => engine.approvals().try_decide_and_wait(event, at_most)?,
            None => engine.try_decide(event)?,
        };
        let mut decision = messages::for_agent(engine.approvals().with_guidance(decision), &engine.policy());
        if begins {
            decision.feedback.splice(0..0, judge::session_limits(&engine));
        }
        let is_allowed = decision.effect.allows();
        decisions.push(decision);
        if !is_allowed {
            break;
        }
    }
    if kind == EventKind::SessionStart {
        redact_shell(args, &engine)?;
    }
    let mut lost = report_lost_hooks(args, &engine, folder.as_deref(), kind);
    lost.extend(remark);
    if let Some(first) = decisions.first_mut() {
        first.feedback.extend(lost.iter().map(|text| format!("Tell the user: {text}")));
    }
    Ok((decisions, lost))
}

/// Lets the host's shell redact what commands print, if the policy redacts results and the host cannot in all cases.
fn redact_shell(args: &Args, engine: &Engine) -> CliResult<()> {
    let policy = engine.policy();
    let redacts =
        policy.get("secret-redaction").is_some_and(|entry| entry.spec.on.contains(&EventKind::AfterTool));
    let variable = hosts::find(&args.host).and_then(|host| host.environment_file);
    if let Some(file) = variable.and_then(std::env::var_os).filter(|_| redacts) {
        let program = std::env::current_exe()?;
        setup::redact_shell(Path::new(&file), &program)?;
    }
    Ok(())
}

/// Restores and reports hooks that were removed while this session runs.
fn report_lost_hooks(args: &Args, engine: &Engine, folder: Option<&Path>, kind: EventKind) -> Vec<String> {
    let is_boundary = !matches!(kind, EventKind::BeforeTool | EventKind::AfterTool | EventKind::Observed);
    let is_registered = args.proof.is_some() && !args.in_plugin;
    let caller = hosts::find(&args.host).filter(|_| is_registered);
    let lost = setup::find_lost_hooks(folder, caller, is_boundary);
    for it in lost.iter().filter(|it| it.is_new) {
        let is_restored = it.state == LostState::Restored;
        if let Err(error) = engine.admin().report_lost_hooks(&it.to_string(), is_restored) {
            log::error!(error:%; "lost hooks could not be recorded");
        }
    }
    lost.iter().map(ToString::to_string).collect()
}

/// How long to wait for a person.
fn wait(args: &Args, engine: &Engine, event: &mut Event, deadline: &Deadline) -> CliResult<Option<Duration>> {
    let has_approvers = judge::leave_to_approvers(engine, event)?;
    let left = deadline.left().saturating_sub(MARGIN);
    Ok(match args.wait {
        Some(at_most) => Some(at_most.min(left)),
        None if has_approvers => Some(left),
        None => None,
    })
}

/// The time to decide and record after a person or a script has answered.
const MARGIN: Duration = Duration::from_secs(2);

/// The most of the agent's timeout that is reserved for a busy machine.
const RESERVE: Duration = Duration::from_secs(30);

/// What the host receives.
struct Answer {
    output: HookOutput,
    /// The reason, if the action is stopped.
    denial: Option<String>,
}

impl Answer {
    fn refusal(host: &'static HostSpec, named: Option<&str>, reason: &str) -> Self {
        Answer { output: hook::refusal(host, named, reason), denial: Some(reason.to_owned()) }
    }

    /// Sends the answer. A denial that cannot be delivered on standard output goes to standard error, with the exit code
    /// that stops the action.
    fn give(&self, proof: Option<u64>) -> Exit {
        let HookOutput { stdout, stderr, code, .. } = &self.output;
        // If the host has closed this pipe as well, only the exit code is left.
        let _ = io::stderr().write_all(stderr.as_bytes());
        let proof = proof.map(|nonce| setup::proof(nonce) + "\n").unwrap_or_default();
        let written = io::stdout().write_all(format!("{stdout}{proof}").as_bytes());
        let written = written.and_then(|()| io::stdout().flush());
        if let Some(reason) = self.denial.as_ref().filter(|_| !stdout.is_empty())
            && (written.is_err() || discards_output())
        {
            let _ = writeln!(io::stderr(), "{}", visible(reason));
            return Exit::Stopped;
        }
        match code {
            0 if written.is_ok() => Exit::Good,
            _ => Exit::Stopped,
        }
    }
}

/// Whether standard output is the null device. The standard library opens it in place of one that is closed.
#[cfg(unix)]
fn discards_output() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(|stdout| File::from(stdout).metadata());
    let null = fs::metadata("/dev/null");
    stdout.is_ok_and(|stdout| null.is_ok_and(|null| null.rdev() == stdout.rdev() && stdout.rdev() != 0))
}

#[cfg(not(unix))]
fn discards_output() -> bool {
    false
}

/// The time by which an answer is sent. Most hosts continue without one after their timeout.
struct Deadline {
    at: Instant,
    is_answered: Arc<AtomicBool>,
}

impl Deadline {
    fn start(host: &'static HostSpec, event: Option<String>, proof: Option<u64>, within: Duration) -> Self {
        let deadline = Deadline { at: Instant::now() + within, is_answered: Arc::default() };
        let is_answered = deadline.is_answered.clone();
        let watch = move || {
            thread::sleep(within);
            if !is_answered.swap(true, Ordering::SeqCst) {
                let why = format!("it took longer than {:.1} s", within.as_secs_f64());
                // Some hosts read the output as a reason only if the exit code is not 0.
                match Answer::refusal(host, event.as_deref(), &why).give(proof) {
                    Exit::Good => process::exit(0),
                    _ => process::exit(2),
                }
            }
        };
        if let Err(error) = thread::Builder::new().name("midrail-deadline".to_owned()).spawn(watch) {
            log::warn!("the timeout cannot be watched: {error}");
        }
        deadline
    }

    fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// When external answers have to arrive, so that the decision is recorded in time.
    fn before_the_end(&self) -> Instant {
        let left = self.left();
        Instant::now() + left.saturating_sub(MARGIN.min(left / 5))
    }

    /// Takes the right to answer. Where time was up first, that answer is on its way and ends the process.
    fn claim(&self) {
        if self.is_answered.swap(true, Ordering::SeqCst) {
            thread::sleep(Duration::from_secs(5));
        }
    }
}
