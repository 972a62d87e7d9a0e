//! The checks of `vouch`. No decision reads it yet.

use crate::compile::compiler::Compiler;

impl Compiler<'_> {
    pub(super) fn vouch(&mut self) {
        let Some(vouch) = &self.pack.vouch else { return };
        for (i, command) in vouch.commands.iter().enumerate() {
            if command.text().trim().is_empty() {
                let help = "write the program and its first words, such as `cargo test`";
                self.issue(format!("/vouch/commands/{i}"), "this command is empty", help);
            }
        }
        for (key, patterns) in vouch.texts() {
            for (i, pattern) in patterns.iter().enumerate() {
                let at = format!("/vouch/{key}/{i}");
                if pattern.trim().is_empty() {
                    self.issue(&at, "this pattern is empty", "leave it out");
                }
                self.pattern(&at, pattern);
            }
        }
    }
}
