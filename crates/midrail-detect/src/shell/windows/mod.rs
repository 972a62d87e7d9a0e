//! A subset of PowerShell and of cmd: their destructive verbs, translated to the programs that the tables of
//! [`super::danger`] know, and those that have no such counterpart.

mod cmd;
mod command;
mod dangers;
mod dialect;
mod path;
mod powershell;
#[cfg(test)]
mod tests;
mod verbs;

use midrail_core::Danger;

use super::invocation::Invocation;

pub use self::dialect::{Dialect, dialect};

/// Code inside code is followed this far.
const DEEPEST: usize = 4;
/// No more shells that are started by others are followed than this.
const MOST_STARTED: usize = 8;
/// No more findings of one sort than this.
const MOST: usize = 512;

/// What a line of PowerShell or cmd does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Translated {
    /// What it starts, in terms of POSIX programs where there is a counterpart (`Remove-Item -Recurse x`: `rm -r x`),
    /// and as it stands where there is none (`git push --force`).
    pub invocations: Vec<Invocation>,
    /// What it destroys in ways that have no counterpart elsewhere: `vssadmin delete shadows`.
    pub dangers: Vec<Danger>,
    /// Files that it reads.
    pub reads: Vec<String>,
    /// Files that it creates or changes.
    pub writes: Vec<String>,
    /// Hosts that it talks to.
    pub hosts: Vec<String>,
    /// The names of files that it fetches from elsewhere, in small letters and without folder.
    pub fetched: Vec<String>,
    /// It runs code that it fetches from elsewhere.
    pub runs_downloaded_code: bool,
    /// It runs code that its text does not tell.
    pub is_opaque: bool,
    /// How many shells its commands started: one that starts others without end is given up.
    started: usize,
}

/// What a PowerShell script does.
pub fn powershell(script: &str) -> Translated {
    let mut out = Translated::default();
    powershell::read(script, 0, &mut out);
    out
}

/// What a line of cmd does.
pub fn cmd(line: &str) -> Translated {
    let mut out = Translated::default();
    cmd::read(line, 0, &mut out);
    out
}

impl Translated {
    /// Whether one more shell that a command starts may be followed.
    fn may_start(&mut self) -> bool {
        self.started += 1;
        self.is_opaque |= self.started > MOST_STARTED;
        self.started <= MOST_STARTED
    }

    fn host(&mut self, url: &str) {
        let Some((_, rest)) = url.split_once("://") else {
            return;
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        let host = authority.rsplit('@').next().unwrap_or("").split(':').next().unwrap_or("");
        if !host.is_empty() && self.hosts.len() < MOST && !self.hosts.iter().any(|known| known == host) {
            self.hosts.push(host.to_owned());
        }
    }
}
