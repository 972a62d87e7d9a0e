//! Files that have to be there, by path or by pattern.

use midrail_core::{Fault, FileState};

use super::part::{Look, State, named};
use crate::settings::Pattern;

impl Look<'_, '_> {
    pub(super) fn files(&self, files: &[String]) -> Result<State, Fault> {
        let mut missing: Vec<&str> = Vec::new();
        for file in files {
            match self.had(self.context.file(&self.place(file)))? {
                Ok(FileState::File { .. }) if !file.ends_with('/') => {}
                Ok(FileState::Special) if file.ends_with('/') => {}
                Ok(_) => missing.push(file),
                Err(why) => {
                    let (are, count) = (if files.len() == 1 { "file" } else { "files" }, files.len());
                    return Ok(State::Incomplete(format!(
                        "No filesystem tells of them: cannot verify the {count} required output {are} ({why})."
                    )));
                }
            }
        }
        let count = missing.len();
        Ok(match count {
            0 => State::Complete,
            1 => State::Incomplete(format!("1 required output file is missing: {}.", named(&missing))),
            _ => State::Incomplete(format!("{count} required output files are missing: {}", named(&missing))),
        })
    }

    pub(super) fn glob(&self, pattern: &Pattern, at_least: u64) -> Result<State, Fault> {
        let Pattern(pattern) = pattern;
        let asked = self.context.count(std::slice::from_ref(pattern));
        Ok(match self.had(asked)? {
            Ok(count) if count >= at_least => State::Complete,
            Ok(count) => State::Incomplete(format!(
                "At least {at_least} {} have to fit `{pattern}`, and {count} {}.",
                if at_least == 1 { "file" } else { "files" },
                if count == 1 { "does" } else { "do" },
            )),
            Err(why) => State::Incomplete(format!(
                "No filesystem tells of them: cannot verify the files that have to fit `{pattern}` ({why})."
            )),
        })
    }
}
