//! What the parts of a sandbox hand on: the orders, in a file in memory, and messages, as lines of JSON in a pipe.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::sandbox::{Command, Ending, Report, Sandbox};

/// The whole sandbox, with resolved paths.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) sandbox: Sandbox,
    pub(super) command: Command,
}

/// What a part of a sandbox reports.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// The command runs. `missing` is what restricts it less than usual.
    Started { missing: Vec<String> },
    /// This machine cannot enforce this kind of sandbox.
    Unavailable { why: String },
    /// A step failed.
    Failed { why: String },
    /// The command ended, or could not be started. `lost` is what it wrote to an empty home.
    Ended { ending: Ending, network_refused: bool, lost: Vec<PathBuf> },
    /// The keeper's result.
    Done(Result<Report, String>),
}

/// The two files that each part inherits.
#[derive(Debug)]
pub(super) struct Channel {
    orders: OwnedFd,
    messages: OwnedFd,
}

impl Channel {
    /// A channel with orders, and the end from which its messages are read.
    pub(super) fn new(orders: &Orders) -> Result<(Self, File), SandboxError> {
        let failed = |error: &dyn std::fmt::Display| SandboxError::set_up("hand on the orders", error);
        let file = memfd_create("midrail-sandbox", MemfdFlags::CLOEXEC).map_err(|error| failed(&error))?;
        let text = serde_json::to_vec(orders).map_err(|error| failed(&error))?;
        let mut file = File::from(file);
        file.write_all(&text).and_then(|()| file.rewind()).map_err(|error| failed(&error))?;
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(&error))?;
        let channel = Channel { orders: file.into(), messages: writer };
        channel.inherit(true).map_err(|error| failed(&error))?;
        Ok((channel, File::from(reader)))
    }

    /// The arguments that tell a part where the channel is.
    pub(super) fn arguments(&self) -> [String; 2] {
        [self.orders.as_raw_fd().to_string(), self.messages.as_raw_fd().to_string()]
    }

    /// Opens the channel that the arguments of this process name, and closes all other files but the streams.
    pub(super) fn open(orders: &str, messages: &str) -> io::Result<Self> {
        let open = |number: &str, write: bool| {
            let number: RawFd = number.parse().map_err(io::Error::other)?;
            let file = File::options().read(!write).write(write).open(format!("/proc/self/fd/{number}"))?;
            Ok::<_, io::Error>(OwnedFd::from(file))
        };
        let channel = Channel { orders: open(orders, false)?, messages: open(messages, true)? };
        let keep = [channel.orders.as_raw_fd(), channel.messages.as_raw_fd()];
        let names: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        for number in names.into_iter().filter(|number| *number > 2 && !keep.contains(number)) {
            // The folder that was just listed is closed already.
            let _ = nix::unistd::close(number);
        }
        Ok(channel)
    }

    /// Whether processes that this one starts inherit the channel.
    pub(super) fn inherit(&self, inherit: bool) -> io::Result<()> {
        let flags = if inherit { FdFlags::empty() } else { FdFlags::CLOEXEC };
        fcntl_setfd(&self.orders, flags)?;
        fcntl_setfd(&self.messages, flags)?;
        Ok(())
    }

    /// Reads the orders.
    pub(super) fn orders(&self) -> io::Result<Orders> {
        let mut text = Vec::new();
        let mut file = File::from(self.orders.try_clone()?);
        file.rewind()?;
        file.read_to_end(&mut text)?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    /// Sends a message.
    pub(super) fn send(&self, message: &Message) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        File::from(self.messages.try_clone()?).write_all(&line)
    }
}
