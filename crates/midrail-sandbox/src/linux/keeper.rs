//! A process that waits for a sandbox instead of the one that asked for it, because the sandbox outlives its command.

use std::io::{BufRead, BufReader};

use rustix::process::getppid;

use super::message::{Channel, Message, Orders};
use super::part::{Part, release_streams, start};
use super::supervisor;
use crate::error::SandboxError;
use crate::sandbox::Report;

/// Starts a keeper and waits for the report about the command.
pub(super) fn run(orders: &Orders) -> Result<Report, SandboxError> {
    let (channel, messages) = Channel::new(orders)?;
    let mut keeper =
        start(Part::Keeper, &channel).map_err(|error| SandboxError::set_up("start the keeper", error))?;
    drop(channel);
    let mut line = String::new();
    let read = BufReader::new(messages).read_line(&mut line);
    let message = read.ok().and_then(|_| serde_json::from_str(&line).ok());
    match message {
        Some(Message::Done(result)) => result.map_err(SandboxError::SetUp),
        _ => {
            // A keeper without a report may have left a command that runs. Its parts end with it.
            let _ = keeper.kill();
            let _ = keeper.wait();
            Err(SandboxError::SetUp("its keeper ended early".to_owned()))
        }
    }
}

/// Waits for a sandbox, and reports once when its command has ended.
pub(super) fn keep(channel: &Channel, orders: &Orders) -> u8 {
    let mut has_reported = false;
    let result = supervisor::run(orders, getppid(), &mut |report| {
        has_reported = true;
        let sent = channel.send(&Message::Done(Ok(report.clone())));
        sent.and_then(|()| release_streams()).map_err(|error| SandboxError::set_up("report the end", error))
    });
    match result {
        Ok(_) => 0,
        Err(error) => {
            if !has_reported {
                // Without a reader, no process waits for it.
                let _ = channel.send(&Message::Done(Err(error.to_string())));
            }
            1
        }
    }
}
