//! The parts of a sandbox: how one starts another, and why one fails.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command as Process};

use super::message::Channel;
use crate::sandbox::STAGE;

/// Which part a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Waits for the end of a sandbox that outlives its command.
    Keeper,
    /// Enters the namespaces.
    Namespaces,
    /// The first process in the namespaces.
    Init,
    /// Becomes the command, without namespaces.
    Become,
}

impl Part {
    pub(super) const ALL: [(&'static str, Part); 4] = [
        ("keeper", Part::Keeper),
        ("namespaces", Part::Namespaces),
        ("init", Part::Init),
        ("become", Part::Become),
    ];

    fn name(self) -> &'static str {
        Part::ALL.iter().find(|(_, part)| *part == self).map_or("", |(name, _)| name)
    }
}

/// Why a part ends before the command starts.
#[derive(Debug)]
pub(super) enum Failure {
    /// The kernel does not permit this kind of sandbox.
    Unavailable(String),
    /// A step failed.
    Failed(String),
}

/// A failed step and its cause.
pub(super) fn failed(step: &str, error: impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("{step}: {error}"))
}

/// Starts a part of a sandbox as a child of this process.
pub(super) fn start(part: Part, channel: &Channel) -> io::Result<Child> {
    process(part, channel).spawn()
}

/// The same, with another standard error.
pub(super) fn start_with_errors(part: Part, channel: &Channel, errors: OwnedFd) -> io::Result<Child> {
    process(part, channel).stderr(errors).spawn()
}

fn process(part: Part, channel: &Channel) -> Process {
    let mut process = Process::new("/proc/self/exe");
    process.arg(STAGE).arg(part.name()).args(channel.arguments());
    process
}

/// Frees the streams, so that a reader of them sees their end when the command and its children have ended.
pub(super) fn release_streams() -> io::Result<()> {
    let null = fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
