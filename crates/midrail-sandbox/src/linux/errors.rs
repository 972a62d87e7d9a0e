//! The standard error of a command, passed on and remembered: it names the files that were refused.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::error::SandboxError;

/// The last bytes that are remembered.
const MAX_BYTES: usize = 16 * 1024;

/// What a command writes to its standard error.
pub(super) struct ErrorStream {
    /// Where it comes from, and where it is passed on to. `None`: one of them is closed. Then the other one is not kept open: who reads
    /// the errors would wait for what is in the background.
    ends: Option<(File, File)>,
    last: Vec<u8>,
}

impl ErrorStream {
    /// A stream to the standard error of this process, and the end to write to.
    pub(super) fn new() -> Result<(Self, OwnedFd), SandboxError> {
        let failed = |error: io::Error| SandboxError::set_up("read the errors of the command", error);
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        fcntl_setfl(&reader, OFlags::NONBLOCK).map_err(|error| failed(error.into()))?;
        let target = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3);
        let target = target.map_err(|error| failed(error.into()))?;
        let stream = ErrorStream { ends: Some((reader.into(), target.into())), last: Vec::new() };
        Ok((stream, writer))
    }

    /// The file to wait for.
    pub(super) fn file(&self) -> Option<BorrowedFd<'_>> {
        self.ends.as_ref().map(|(source, _)| source.as_fd())
    }

    /// Passes on what has arrived.
    pub(super) fn pass_on(&mut self) {
        let mut bytes = [0; 8192];
        while let Some((source, target)) = &mut self.ends {
            let read = match source.read(&mut bytes) {
                Ok(0) => None,
                Ok(read) => bytes.get(..read),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => None,
            };
            match read.filter(|read| write(target, read).is_ok()) {
                Some(read) => {
                    self.last.extend_from_slice(read);
                    let old = self.last.len().saturating_sub(MAX_BYTES);
                    self.last.drain(..old);
                }
                // A command that goes on writing learns it, as it would without this process in between.
                None => self.ends = None,
            }
        }
    }

    /// What was written last.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.last).into_owned()
    }
}

/// Writes all bytes. The reader may have made the file non-blocking.
fn write(mut target: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match target.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(&target, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
