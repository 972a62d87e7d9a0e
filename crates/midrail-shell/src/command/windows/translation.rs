//! What a line of PowerShell or cmd does, as it is collected.

use midrail_core::Danger;

use crate::command::hosts::url_host;
use crate::command::invocation::Invocation;

/// Code inside code is followed this far.
pub(super) const DEEPEST: usize = 4;
/// No more shells that are started by others are followed than this.
pub(super) const MOST_STARTED: usize = 8;
/// No more findings of one sort than this.
pub(super) const MOST: usize = 512;

/// What a line of PowerShell or cmd does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Translation {
    /// What it starts, in terms of POSIX programs where there is a counterpart (`Remove-Item -Recurse x`: `rm -r x`),
    /// and unchanged if there is none (`git push --force`).
    pub(crate) invocations: Vec<Invocation>,
    /// What it destroys in ways that have no counterpart elsewhere: `vssadmin delete shadows`.
    pub(crate) dangers: Vec<Danger>,
    /// Files that it reads.
    pub(crate) reads: Vec<String>,
    /// Files that it creates or changes.
    pub(crate) writes: Vec<String>,
    /// Hosts that it talks to.
    pub(crate) hosts: Vec<String>,
    /// The names of files that it fetches from elsewhere, in small letters and without folder.
    pub(crate) fetched: Vec<String>,
    /// It runs code that it fetches from elsewhere.
    pub(crate) runs_downloaded_code: bool,
    /// It runs code that its text does not show.
    pub(crate) is_opaque: bool,
    /// How many shells its commands started: one that starts others without end is given up.
    started: usize,
}

impl Translation {
    /// Whether one more shell that a command starts may be followed.
    pub(super) fn may_start(&mut self) -> bool {
        self.started += 1;
        self.is_opaque |= self.started > MOST_STARTED;
        self.started <= MOST_STARTED
    }

    pub(super) fn host(&mut self, url: &str) {
        if let Some(host) = url_host(url)
            && self.hosts.len() < MOST
            && !self.hosts.iter().any(|known| known == host)
        {
            self.hosts.push(host.to_owned());
        }
    }
}
