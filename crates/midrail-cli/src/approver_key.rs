//! An approver's key: entered on the terminal without echo, or read from a file descriptor. It is never an argument
//! and never in the environment, where other processes could read it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};

use midrail::Engine;
use midrail::admin::Person;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::error::{CliError, CliResult};

/// The longest key, in bytes.
const MAX_KEY: u64 = 4_096;

/// An approver, and where their key is read from.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Signer {
    /// The approver; the terminal prompts for their key
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: String,
    /// Read the key from this file descriptor instead, such as 3 with `3< key.txt`
    #[arg(long, value_name = "N")]
    pub(crate) key_fd: Option<u32>,
}

/// An optional approver.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OptionalSigner {
    /// The approver; the terminal prompts for their key
    #[arg(long = "as", value_name = "NAME", id = "signer")]
    signer: Option<String>,
    /// Read the key from this file descriptor instead, such as 3 with `3< key.txt`
    #[arg(long, value_name = "N", requires = "signer")]
    key_fd: Option<u32>,
}

impl OptionalSigner {
    /// The approver, authenticated by their key, if one is named.
    pub(crate) fn read(&self, engine: &Engine) -> CliResult<Option<Person>> {
        self.signer().map(|signer| read(&signer, engine)).transpose()
    }

    /// The approver, if one is named.
    pub(crate) fn signer(&self) -> Option<Signer> {
        let name = self.signer.clone()?;
        Some(Signer { name, key_fd: self.key_fd })
    }
}

/// The approver, authenticated by their key.
pub(crate) fn read(signer: &Signer, engine: &Engine) -> CliResult<Person> {
    let key = match signer.key_fd {
        Some(fd) => from_descriptor(fd)?,
        None => from_terminal(&signer.name)?,
    };
    Ok(engine.admin().authenticate(&signer.name, &key)?)
}

fn from_descriptor(fd: u32) -> CliResult<String> {
    let cannot =
        |error| CliError::new(format!("could not read a key from the file descriptor {fd}: {error}"));
    let file = File::open(format!("/dev/fd/{fd}")).map_err(cannot)?;
    first_line(file).map_err(cannot)
}

fn from_terminal(name: &str) -> CliResult<String> {
    let cannot = |error: std::io::Error| {
        CliError::new(format!("the key cannot be entered, because there is no terminal: {error}"))
            .help("give the key by a file descriptor: `--key-fd 3 3< FILE`")
    };
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").map_err(cannot)?;
    let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
    write!(terminal, "key of {shown}: ").map_err(cannot)?;
    let hidden = HiddenInput::new(&terminal).map_err(|error| cannot(error.into()))?;
    let key = first_line(&terminal);
    drop(hidden);
    let _ = writeln!(terminal);
    key.map_err(cannot)
}

fn first_line(from: impl Read) -> std::io::Result<String> {
    let mut line = String::new();
    BufReader::new(from.take(MAX_KEY)).read_line(&mut line)?;
    let key = line.trim();
    if key.is_empty() {
        return Err(std::io::Error::other("no key was given"));
    }
    Ok(key.to_owned())
}

/// A terminal without echo, until this is dropped.
struct HiddenInput<'t> {
    terminal: &'t File,
    before: Termios,
}

impl<'t> HiddenInput<'t> {
    fn new(terminal: &'t File) -> rustix::io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &modes)?;
        Ok(HiddenInput { terminal, before })
    }
}

impl Drop for HiddenInput<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}
