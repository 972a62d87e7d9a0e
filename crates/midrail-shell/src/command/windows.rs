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
mod translation;
mod verbs;

pub use self::dialect::{Dialect, dialect};
pub use self::translation::Translation;

/// What a PowerShell script does.
pub fn powershell(script: &str) -> Translation {
    let mut out = Translation::default();
    powershell::read(script, 0, &mut out);
    out
}

/// What a line of cmd does.
pub fn cmd(line: &str) -> Translation {
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
