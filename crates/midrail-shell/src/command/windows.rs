//! A subset of PowerShell and of cmd: their destructive verbs, translated to the programs that the tables of
//! [`super::danger`] know, and those that have no such counterpart.

mod cmd;
mod command;
mod dialect;
mod path;
mod powershell;
#[cfg(test)]
mod tests;
mod translation;
mod verbs;

pub(crate) use self::dialect::{Dialect, dialect};
pub(crate) use self::translation::Translation;

/// What a PowerShell script does.
pub(crate) fn powershell(script: &str) -> Translation {
    let mut out = Translation::default();
    powershell::read(script, 0, &mut out);
    out
}

/// What a line of cmd does.
pub(crate) fn cmd(line: &str) -> Translation {
    let mut out = Translation::default();
    cmd::read(line, 0, &mut out);
    out
}

impl Translation {
    /// Reads a line of cmd inside other code.
    fn read_cmd(&mut self, line: &str, depth: usize) {
        cmd::read(line, depth, self);
    }

    /// Reads a PowerShell script inside other code.
    fn read_powershell(&mut self, script: &str, depth: usize) {
        powershell::read(script, depth, self);
    }
}
