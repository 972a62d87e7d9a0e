//! Files whose content decides what the line does.

use super::super::snippet::Language;
use super::flow::SHELLS;
use super::{Walk, databases};

/// Programs, beside shells, interpreters and clients of databases, that run what they read, or do something to the things
/// that it names.
const OBEYING: &[&str] = &[
    ".",
    "at",
    "batch",
    "crontab",
    "docker",
    "docker-compose",
    "eval",
    "gxargs",
    "kubectl",
    "mapfile",
    "nerdctl",
    "oc",
    "parallel",
    "podman",
    "pssh",
    "read",
    "readarray",
    "rm",
    "source",
    "ssh",
    "su",
    "sudo",
    "xargs",
];

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
    SHELLS.contains(&program)
        || OBEYING.contains(&program)
        || databases::client(program).is_some()
        || Language::of_program(program).is_some_and(|language| language != Language::Awk)
}
