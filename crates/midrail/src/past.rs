//! The file system of recorded sessions, as far as their events tell of it: nothing is read from the disk, and nothing
//! is run. A file is there once an agent has read or written it, and never changes behind its back.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use midrail_core::path::{Roots, place};
use midrail_core::{Event, EventKind, Fact, FileState};
use midrail_detect::action;

/// Files that are remembered. Beyond that the memory begins anew.
const MOST_FILES: usize = 200_000;

/// What is known of a past that is gone.
#[derive(Debug, Default)]
pub struct Past {
    /// Files that are there, by root and place.
    files: Mutex<BTreeSet<(String, String)>>,
}

impl Past {
    /// Learns from an event that happened: what a call that went well named is there from now on.
    pub(crate) fn learn(&self, root: Option<&str>, event: &Event) {
        let Some(tool) = event.tool.as_ref().filter(|_| event.kind == EventKind::AfterTool) else { return };
        if event.result.as_ref().is_some_and(|result| result.ok == Some(false)) {
            return;
        }
        let named = action::PATH_ARGS.iter().filter_map(|name| tool.args.get(*name)?.as_str());
        let touched = action::of(event).map(|action| action.writes).unwrap_or_default();
        let roots = Roots { root, aliases: &[] };
        let root = root.unwrap_or_default().to_owned();
        let mut files = self.files();
        for path in named.map(str::to_owned).chain(touched) {
            if files.len() >= MOST_FILES {
                files.clear();
            }
            files.insert((root.clone(), place(&path, event.cwd.as_deref(), roots, None).key));
        }
    }

    /// A path is what it says.
    pub(crate) fn place(&self, root: Option<&Path>, cwd: Option<&str>, path: &str) -> Fact {
        let root = root.map(|root| root.to_string_lossy());
        Fact::Place(place(path, cwd, Roots { root: root.as_deref(), aliases: &[] }, None).key)
    }

    /// Whether a file is there, by what happened before.
    pub(crate) fn probe(&self, root: Option<&Path>, place: &str) -> Fact {
        let root = root.map(|root| root.to_string_lossy().into_owned()).unwrap_or_default();
        let is_there = self.files().contains(&(root, place.to_owned()));
        Fact::File(if is_there { FileState::File { checksum: "past".to_owned() } } else { FileState::Absent })
    }

    /// What nobody wrote down.
    pub(crate) fn gone(&self) -> Fact {
        Fact::Unavailable(GONE.to_owned())
    }

    fn files(&self) -> MutexGuard<'_, BTreeSet<(String, String)>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why something is not known.
pub(crate) const GONE: &str = "it was not recorded, and is looked up for no past event";
