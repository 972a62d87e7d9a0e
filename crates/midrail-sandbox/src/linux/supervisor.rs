//! The process that waits for a sandbox: it restores protected files, keeps the time and ends what is left.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::errors::ErrorStream;
use super::message::{Channel, Message, Orders};
use super::part::{Part, start, start_with_errors};
use super::processes;
use super::watch::Watch;
use crate::error::SandboxError;
use crate::protected::Snapshot;
use crate::sandbox::{Background, Layers};
use crate::sandbox::{Ending, Report};

/// How often a sandbox without mounts is asked whether processes are left in it.
const INTERVAL: Duration = Duration::from_millis(500);

/// What a supervisor does with the report, once the command has ended.
pub(super) type Deliver<'a> = &'a mut dyn FnMut(&Report) -> Result<(), SandboxError>;

/// Runs a command and returns once nothing of it runs any more. `asker` is the process that waits for the report: if it ends
/// before, the command ends.
pub(super) fn run(orders: &Orders, asker: Option<Pid>, deliver: Deliver<'_>) -> Result<Report, SandboxError> {
    let missing = if orders.sandbox.mounts {
        match attempt(orders, Layers::Full, Vec::new(), asker, deliver)? {
            Attempt::Done(report) => return Ok(report),
            Attempt::Unavailable(why) => format!("no mounts: {why}"),
        }
    } else {
        "no mounts: they are switched off".to_owned()
    };
    match attempt(orders, Layers::Partial, vec![missing], asker, deliver)? {
        Attempt::Done(report) => Ok(report),
        Attempt::Unavailable(why) => Err(SandboxError::Unavailable(why)),
    }
}

enum Attempt {
    Done(Report),
    Unavailable(String),
}

/// What a supervisor waits for.
enum Event {
    Message(Message),
    /// The part that was started has ended.
    Gone,
    /// A signal, or the end of the asker.
    Interrupted,
    /// The end of the process that the background lives with.
    SessionEnded,
    Time,
}

fn attempt(
    orders: &Orders,
    layers: Layers,
    missing: Vec<String>,
    asker: Option<Pid>,
    deliver: Deliver<'_>,
) -> Result<Attempt, SandboxError> {
    let failed = |step: &'static str| move |error: rustix::io::Errno| SandboxError::set_up(step, error);
    let protected = orders.sandbox.protected.iter().filter(|path| {
        // Mounts protect what exists. What does not could be created, and a link cannot be mounted.
        let is_mounted = std::fs::symlink_metadata(path).is_ok_and(|data| !data.is_symlink());
        layers == Layers::Partial || !is_mounted
    });
    let snapshot = Snapshot::take(protected.cloned().collect())?;
    rustix::process::set_child_subreaper(Some(Pid::INIT)).map_err(failed("adopt orphans"))?;
    let (channel, messages) = Channel::new(orders)?;
    let part = if layers == Layers::Full { Part::Namespaces } else { Part::Become };
    let (errors, child) = if orders.sandbox.keeps_errors {
        let (errors, writer) = ErrorStream::new()?;
        (Some(errors), start_with_errors(part, &channel, writer))
    } else {
        (None, start(part, &channel))
    };
    let child = child.map_err(|error| SandboxError::set_up("start the sandbox", error))?;
    drop(channel);
    let mut running = Running { errors, ..Running::new(child, messages, asker, orders)? };
    let mut report = Report {
        ending: Ending::Interrupted,
        layers,
        missing,
        restored: Vec::new(),
        network_refused: false,
        lost: Vec::new(),
        errors: String::new(),
    };
    let mut has_started = false;
    let deadline = orders.sandbox.limits.time.and_then(|time| Instant::now().checked_add(time));
    loop {
        match running.next(deadline)? {
            Event::Message(Message::Started { missing }) if !has_started => {
                has_started = true;
                report.missing.extend(missing);
            }
            // Once the command runs, it must not choose the weaker sandbox.
            Event::Message(Message::Unavailable { why }) if !has_started => {
                processes::kill_all();
                return Ok(Attempt::Unavailable(why));
            }
            Event::Message(Message::Failed { why }) => {
                processes::kill_all();
                return Err(SandboxError::SetUp(why));
            }
            Event::Message(Message::Ended { ending, network_refused, lost }) => {
                report.ending = ending;
                report.network_refused = network_refused;
                report.lost = lost;
                break;
            }
            Event::Gone if has_started && layers == Layers::Partial => {
                report.ending = running.ending()?;
                break;
            }
            Event::Message(Message::Done(_) | Message::Started { .. } | Message::Unavailable { .. })
            | Event::Gone => {
                processes::kill_all();
                return Err(SandboxError::SetUp("a part of it ended early".to_owned()));
            }
            Event::Interrupted | Event::SessionEnded => break,
            Event::Time => {
                report.ending = Ending::TimedOut;
                break;
            }
        }
    }
    report.errors = running.errors();
    let goes_on = matches!(orders.sandbox.background, Background::Until(_))
        && matches!(report.ending, Ending::Exit(_) | Ending::Signal(_));
    if !goes_on {
        processes::kill_all();
        report.restored = snapshot.restore()?;
        deliver(&report)?;
        return Ok(Attempt::Done(report));
    }
    let watch = Watch::new(&snapshot).ok();
    report.restored = processes::paused(|| snapshot.restore())?;
    deliver(&report)?;
    running.wait_for_background(&snapshot, watch)?;
    processes::kill_all();
    snapshot.restore()?;
    Ok(Attempt::Done(report))
}

/// A sandbox that runs.
struct Running {
    child: Child,
    child_end: OwnedFd,
    messages: Option<BufReader<File>>,
    signals: SignalFd,
    asker: Option<OwnedFd>,
    session: Option<OwnedFd>,
    errors: Option<ErrorStream>,
}

impl Running {
    fn new(child: Child, messages: File, asker: Option<Pid>, orders: &Orders) -> Result<Self, SandboxError> {
        let watch = |id: Pid| pidfd_open(id, PidfdFlags::empty());
        // The terminal sends its signals to the command too; they end the command, and so this process.
        let mut end = SigSet::empty();
        end.add(Signal::SIGTERM);
        end.add(Signal::SIGHUP);
        let mut blocked = end;
        blocked.add(Signal::SIGINT);
        blocked.add(Signal::SIGQUIT);
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&blocked), None)
            .map_err(|error| SandboxError::set_up("block signals", error))?;
        let signals = SignalFd::with_flags(&end, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(|error| SandboxError::set_up("wait for signals", error))?;
        let child_end = watch(Pid::from_child(&child))
            .map_err(|error| SandboxError::set_up("watch the sandbox", error))?;
        // A process that cannot be watched has ended.
        let asker = asker
            .map(watch)
            .transpose()
            .map_err(|_| SandboxError::SetUp("its parent has ended".to_owned()))?;
        let session = match orders.sandbox.background {
            Background::End => None,
            Background::Until(id) => {
                let id = i32::try_from(id).ok().and_then(Pid::from_raw);
                let id = id.ok_or_else(|| {
                    SandboxError::SetUp("the process to wait for has no valid id".to_owned())
                })?;
                Some(
                    watch(id)
                        .map_err(|error| SandboxError::set_up("watch the process to wait for", error))?,
                )
            }
        };
        Ok(Running {
            child,
            child_end,
            messages: Some(BufReader::new(messages)),
            signals,
            asker,
            session,
            errors: None,
        })
    }

    /// Waits for what happens next.
    fn next(&mut self, deadline: Option<Instant>) -> Result<Event, SandboxError> {
        loop {
            let timeout = deadline.map(|it| it.saturating_duration_since(Instant::now()));
            let none = || self.signals.as_fd();
            let mut files = [
                self.messages.as_ref().map_or_else(none, |it| it.get_ref().as_fd()),
                self.signals.as_fd(),
                self.asker.as_ref().map_or_else(none, AsFd::as_fd),
                self.session.as_ref().map_or_else(none, AsFd::as_fd),
                self.child_end.as_fd(),
                self.errors.as_ref().and_then(ErrorStream::file).unwrap_or_else(none),
            ]
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
            wait(&mut files, timeout)?;
            let [message, signal, asker, session, child, _] = files.map(|file| !file.revents().is_empty());
            self.pass_on_errors();
            if message && let Some(messages) = &mut self.messages {
                let mut line = String::new();
                let read = messages
                    .read_line(&mut line)
                    .map_err(|error| SandboxError::set_up("read a message", error))?;
                if read == 0 {
                    self.messages = None;
                    continue;
                }
                let message = serde_json::from_str(&line)
                    .map_err(|error| SandboxError::set_up("read a message", error))?;
                return Ok(Event::Message(message));
            }
            if signal || self.asker.is_some() && asker {
                return Ok(Event::Interrupted);
            }
            if self.session.is_some() && session {
                return Ok(Event::SessionEnded);
            }
            if child && self.messages.is_none() {
                return Ok(Event::Gone);
            }
            if deadline.is_some_and(|it| it <= Instant::now()) {
                return Ok(Event::Time);
            }
        }
    }

    fn pass_on_errors(&mut self) {
        self.errors.iter_mut().for_each(ErrorStream::pass_on);
    }

    /// What the command wrote to standard error last.
    fn errors(&mut self) -> String {
        self.pass_on_errors();
        self.errors.as_ref().map(ErrorStream::text).unwrap_or_default()
    }

    /// Waits until the session ends or nothing is left in the sandbox. Protected files are restored as soon as they change, or from
    /// time to time where the user has too many watches.
    fn wait_for_background(
        &mut self,
        snapshot: &Snapshot,
        mut watch: Option<Watch>,
    ) -> Result<(), SandboxError> {
        while processes::has_children() {
            let none = || self.signals.as_fd();
            let mut files = [
                self.session.as_ref().map_or_else(none, AsFd::as_fd),
                self.signals.as_fd(),
                self.errors.as_ref().and_then(ErrorStream::file).unwrap_or_else(none),
                watch.as_ref().map_or_else(none, Watch::file),
            ]
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
            wait(&mut files, Some(INTERVAL))?;
            let [session, signal, ..] = files.map(|file| !file.revents().is_empty());
            self.pass_on_errors();
            if session || signal {
                break;
            }
            if watch.as_ref().is_none_or(Watch::has_change) {
                processes::paused(|| {
                    snapshot.restore()?;
                    // What was restored may be another file than the one that was watched.
                    watch = Watch::new(snapshot).ok();
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// How the command ended that a part became.
    fn ending(&mut self) -> Result<Ending, SandboxError> {
        let status =
            self.child.wait().map_err(|error| SandboxError::set_up("wait for the command", error))?;
        Ok(Ending::from_status(status))
    }
}

/// Waits until something can be read.
fn wait(files: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<(), SandboxError> {
    let timeout =
        timeout.map(|it| Timespec::try_from(it).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 }));
    match poll(files, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(SandboxError::set_up("wait for the sandbox", error)),
    }
}
