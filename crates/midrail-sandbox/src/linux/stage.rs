//! The parts of a sandbox: what each does.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command as Process};

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, set_dumpable_behavior, set_parent_process_death_signal, wait,
};

use super::lost::Home;
use super::message::{Channel, Message, Orders};
use super::part::{Failure, Part, failed, release_streams, start};
use super::restrictions::restrict;
use super::{capabilities, keeper, loopback, mounts};
use crate::sandbox::{Background, Command, Ending, Network};

/// Runs this process as the part that its arguments name.
pub(crate) fn stage(arguments: impl Iterator<Item = OsString>) -> u8 {
    let arguments: Option<Vec<String>> = arguments.map(|it| it.into_string().ok()).collect();
    let Some([name, orders, messages]) = arguments.as_deref() else { return 1 };
    let Some((_, part)) = Part::ALL.iter().find(|(it, _)| it == name) else { return 1 };
    let Ok(channel) = Channel::open(orders, messages) else { return 1 };
    let orders = match channel.orders() {
        Ok(orders) => orders,
        Err(error) => return report(&channel, failed("read the orders", error)),
    };
    let end = match part {
        Part::Keeper => return keeper::keep(&channel, &orders),
        Part::Namespaces => namespaces(&channel),
        Part::Init => init(&channel, &orders),
        Part::Become => become_command(&channel, &orders).map(|never| match never {}),
    };
    match end {
        Ok(()) => 0,
        Err(failure) => report(&channel, failure),
    }
}

fn report(channel: &Channel, failure: Failure) -> u8 {
    let message = match failure {
        Failure::Unavailable(why) => Message::Unavailable { why },
        Failure::Failed(why) => Message::Failed { why },
    };
    // Without a reader, the end of this process is the message.
    let _ = channel.send(&message);
    1
}

/// Ends this process when its parent ends.
fn die_with_parent() -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| failed("follow the parent", error))
}

/// Signals of the terminal are for the command. The parts end with their parent.
fn block_signals() -> Result<(), Failure> {
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None)
        .map_err(|error| failed("block signals", error))
}

/// Enters the namespaces, starts the first process in them and waits for it.
fn namespaces(channel: &Channel) -> Result<(), Failure> {
    die_with_parent()?;
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // Root keeps its user namespace: in one of its own it could not reach files of other users.
    let as_root = uid == 0 && unshare(CloneFlags::CLONE_NEWPID).is_ok();
    if !as_root {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID)
            .map_err(|error| Failure::Unavailable(format!("no user namespaces ({error})")))?;
        let map = |file: &str, text: String| {
            fs::write(file, text)
                .map_err(|error| Failure::Unavailable(format!("no user namespaces: {file}: {error}")))
        };
        map("/proc/self/setgroups", "deny".to_owned())?;
        map("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        map("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
        capabilities::pass_on().map_err(|error| failed("pass capabilities on", error))?;
    }
    channel.inherit(true).map_err(|error| failed("hand on the orders", error))?;
    let mut init = start(Part::Init, channel).map_err(|error| failed("start the first process", error))?;
    channel.inherit(false).map_err(|error| failed("keep the orders", error))?;
    block_signals()?;
    release_streams().map_err(|error| failed("free the streams", error))?;
    init.wait().map_err(|error| failed("wait for the first process", error))?;
    Ok(())
}

/// Mounts what the command may see, restricts this process, starts the command and waits for all processes.
fn init(channel: &Channel, orders: &Orders) -> Result<(), Failure> {
    die_with_parent()?;
    let sandbox = &orders.sandbox;
    let mut flags = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    if sandbox.network == Network::None {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).map_err(|error| Failure::Unavailable(format!("no namespaces ({error})")))?;
    if sandbox.network == Network::None {
        loopback::bring_up().map_err(|error| failed("start the loopback interface", error))?;
    }
    mounts::build(sandbox)?;
    rustix::process::chdir(&sandbox.dir).map_err(|error| failed("enter the folder", error))?;
    let missing = restrict(sandbox, true)?;
    channel.inherit(false).map_err(|error| failed("keep the orders", error))?;
    // The command must not reach the files of this process: its messages are believed.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| failed("hide the first process", error))?;
    let home = Home::new(&sandbox.home);
    let child = match process(&orders.command).spawn() {
        Ok(child) => child,
        Err(error) => return ended(channel, not_started(&orders.command, &error), Vec::new()),
    };
    block_signals()?;
    release_streams().map_err(|error| failed("free the streams", error))?;
    channel.send(&Message::Started { missing }).map_err(|error| failed("report the start", error))?;
    let ending = wait_for(&child)?;
    ended(channel, ending, home.lost())?;
    if matches!(sandbox.background, Background::Until(_)) {
        while !matches!(wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
    }
    // The kernel ends what is left in the namespace when its first process ends.
    Ok(())
}

/// Waits for the command. Orphans become children of this process, so their ends are collected too.
fn wait_for(child: &Child) -> Result<Ending, Failure> {
    let id = Pid::from_child(child);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == id => {
                return Ok(match status.exit_status() {
                    Some(code) => Ending::Exit(code),
                    None => Ending::Signal(status.terminating_signal().unwrap_or_default()),
                });
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("wait for the command", error)),
        }
    }
}

/// Restricts this process and becomes the command.
fn become_command(channel: &Channel, orders: &Orders) -> Result<Infallible, Failure> {
    die_with_parent()?;
    rustix::process::chdir(&orders.sandbox.dir).map_err(|error| failed("enter the folder", error))?;
    let missing = restrict(&orders.sandbox, false)?;
    channel.inherit(false).map_err(|error| failed("keep the orders", error))?;
    channel.send(&Message::Started { missing }).map_err(|error| failed("report the start", error))?;
    let error = process(&orders.command).exec();
    ended(channel, not_started(&orders.command, &error), Vec::new())?;
    Err(failed("start the command", error))
}

fn process(command: &Command) -> Process {
    let mut process = Process::new(&command.program);
    process.args(&command.args).env_clear().envs(command.env.iter().map(|(name, value)| (name, value)));
    process
}

fn ended(channel: &Channel, ending: Ending, lost: Vec<PathBuf>) -> Result<(), Failure> {
    let message = Message::Ended { ending, network_refused: loopback::has_refused(), lost };
    channel.send(&message).map_err(|error| failed("report the end", error))
}

/// Why a command was not started, with the exit codes of shells.
fn not_started(command: &Command, error: &io::Error) -> Ending {
    let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    Ending::NotStarted { code, why: format!("{}: {error}", command.program.display()) }
}
