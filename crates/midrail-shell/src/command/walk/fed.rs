//! Files whose content decides what the line does.

use super::super::programs::{self, Tag};
use super::super::snippet::Language;
use super::state::Walk;

impl Walk {
    /// Lists the files that feed something which obeys them.
    pub(super) fn list_fed(&mut self) {
        if self.analysis.programs.iter().any(|program| obeys(program)) {
            let is_script = |path: &&String| self.seen.get(4).is_some_and(|seen| seen.contains(*path));
            self.analysis.feeds = self.analysis.reads.iter().filter(|it| !is_script(it)).cloned().collect();
        }
    }
}

/// Whether a program does what it reads.
fn obeys(program: &str) -> bool {
    let row = programs::row(program);
    row.tags.contains(&Tag::Shell)
        || row.tags.contains(&Tag::ObeysInput)
        || row.client.is_some()
        || Language::of_program(program).is_some_and(|language| language != Language::Awk)
}
