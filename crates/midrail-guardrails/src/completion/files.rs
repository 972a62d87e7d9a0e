//! Required files, by path or by pattern.

use midrail_core::{Fault, FileState, StopFinding};

use super::checks::{Evaluation, State, named};
use crate::shared::settings::Pattern;

impl Evaluation<'_, '_> {
    pub(super) fn files(&self, files: &[String]) -> Result<State, Fault> {
        let mut missing: Vec<&str> = Vec::new();
        for file in files {
            match self.available(self.context.file(&self.place(file)))? {
                Ok(FileState::File { .. }) if !file.ends_with('/') => {}
                Ok(FileState::Special) if file.ends_with('/') => {}
                Ok(_) => missing.push(file),
                Err(why) => {
                    let (are, count) = (if files.len() == 1 { "file" } else { "files" }, files.len());
                    return Ok(State::lacks(format!(
                        "No filesystem is available: cannot verify the {count} required output {are} ({why})."
                    )));
                }
            }
        }
        let count = missing.len();
        let what = match count {
            0 => return Ok(State::Complete),
            1 => format!("1 required output file is missing: {}.", named(&missing)),
            _ => format!("{count} required output files are missing: {}", named(&missing)),
        };
        Ok(State::Incomplete(what, StopFinding::new(format!("missing: {}", missing.join("\n")))))
    }

    pub(super) fn glob(&self, pattern: &Pattern, at_least: u64) -> Result<State, Fault> {
        let Pattern(pattern) = pattern;
        Ok(match self.available(self.context.count_files(std::slice::from_ref(pattern)))? {
            Ok(count) if count >= at_least => State::Complete,
            Ok(count) => State::lacks(format!(
                "At least {at_least} {} must match `{pattern}`, but {count} {}.",
                if at_least == 1 { "file" } else { "files" },
                if count == 1 { "does" } else { "do" },
            )),
            Err(why) => State::lacks(format!(
                "No filesystem is available: cannot verify the files that must match `{pattern}` ({why})."
            )),
        })
    }
}
