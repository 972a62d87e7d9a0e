//! What is lost in a container: nothing where it is thrown away afterwards, and what lies behind its mounts.

use super::super::danger;
use super::super::invocation::Invocation;
use super::super::options::{Arguments, find_run};
use super::super::scope::join;
use super::state::Walk;
use crate::words::shell::CONTAINER_ACCESS;

/// How a container that is thrown away sees this machine.
pub(super) struct Container {
    /// Folders of this machine, or volumes, each with its place in the container.
    mounts: Vec<(String, String)>,
    folder: String,
}

/// The container of `docker run --rm`, if everything that it can reach is known.
pub(super) fn thrown_away(invocation: &Invocation) -> Option<Container> {
    if invocation.family() != "docker" {
        return None;
    }
    // What `compose run` mounts is in a file of its own.
    let (args, run) = find_run(invocation, "run")?;
    // What follows the image belongs to the program inside.
    let sorted = Arguments::before_command(invocation.row(), run, args, run.values);
    if !sorted.has(&["--rm"]) || sorted.has(CONTAINER_ACCESS) || sorted.has_value(CONTAINER_ACCESS) {
        return None;
    }
    let mut mounts = Vec::new();
    for volume in sorted.values_of(&["-v", "--volume"]) {
        let mut fields = volume.text.split(':');
        let (here, there) = (fields.next()?, fields.next()?);
        if !volume.is_known() || !there.starts_with('/') {
            return None;
        }
        mounts.push((here.to_owned(), join("", there)));
    }
    let folder = sorted.values_of(&["-w", "--workdir"]).next();
    Some(Container { mounts, folder: folder.map_or_else(|| "/".to_owned(), |folder| folder.text.clone()) })
}

impl Container {
    /// What a path in the container is here. `None`: nothing. `Err`: it may be anything that is mounted.
    fn seen_from_here(&self, path: &str) -> Result<Option<String>, ()> {
        if path.starts_with('~') || path.contains('$') {
            return if self.mounts.is_empty() { Ok(None) } else { Err(()) };
        }
        let path = join(&self.folder, path);
        for (here, there) in &self.mounts {
            let rest = path.strip_prefix(there.as_str());
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/') || there == "/") {
                // A volume has a name; a folder has a path.
                let is_folder = here.starts_with(['.', '/', '~']);
                return if is_folder { Ok(Some(format!("{here}{rest}"))) } else { Err(()) };
            }
            let folder = path.trim_end_matches(['*', '/']);
            if there.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')) {
                return Err(());
            }
        }
        Ok(None)
    }
}

impl Walk {
    /// Puts what was found in a container from some finding on in terms of this machine.
    pub(super) fn leave(&mut self, container: &Container, from: usize) {
        let inside = self.analysis.dangers.split_off(from.min(self.analysis.dangers.len()));
        for mut finding in inside {
            let places: Result<Vec<Option<String>>, ()> =
                finding.targets.iter().map(|path| container.seen_from_here(path)).collect();
            if let Ok(places) = places
                && !finding.targets.is_empty()
            {
                finding.targets = places.into_iter().flatten().collect();
                if finding.targets.is_empty() {
                    self.reported.remove(&(finding.rule, finding.command, finding.start));
                    continue;
                }
                finding.is_inside = finding.targets.iter().all(|place| danger::is_expendable(place));
                finding.harmless_inside = true;
            }
            self.analysis.dangers.push(finding);
        }
    }
}
