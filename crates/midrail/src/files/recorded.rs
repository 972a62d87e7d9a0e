//! The file system of recorded sessions, derived from their events: nothing is read from the disk and nothing is run. A
//! file exists once an agent has read or written it, and no other program changes it.

use std::collections::BTreeSet;
use std::path::Path;

use midrail_core::path::{Roots, resolve};
use midrail_core::{Event, EventKind, Fact, FactKey, FileState};
use midrail_shell::action;
use parking_lot::Mutex;

use super::lookup::Lookup;
use crate::error::Available;
use crate::session_slices::session_id;

/// The most files that are remembered. Beyond it, all are forgotten.
const MAX_FILES: usize = 200_000;

/// Why a fact is unavailable.
pub(crate) const NOT_RECORDED: &str = "it was not recorded, and past events are not looked up";

/// The files of recorded sessions.
#[derive(Debug, Default)]
pub struct RecordedFiles {
    /// Existing files, by session and place.
    files: Mutex<BTreeSet<(String, String)>>,
}

impl RecordedFiles {
    /// Learns from an event: a file that a successful call named exists from now on.
    pub(crate) fn learn(&self, root: Option<&str>, event: &Event) {
        let Some(tool) = event.tool.as_ref().filter(|_| event.kind == EventKind::AfterTool) else { return };
        if event.result.as_ref().is_some_and(|result| result.ok == Some(false)) {
            return;
        }
        let named = action::PATH_ARGS.iter().filter_map(|name| tool.args.get(*name)?.as_str());
        let written = action::derive(event).map(|action| action.writes).unwrap_or_default();
        let roots = Roots { root, aliases: &[] };
        let session = session_id(event);
        let mut files = self.files.lock();
        for path in named.map(str::to_owned).chain(written) {
            if files.len() >= MAX_FILES {
                files.clear();
            }
            files.insert((session.clone(), resolve(&path, event.cwd.as_deref(), roots, None).key));
        }
    }

    /// A fact, as far as it follows from the events so far.
    pub(crate) fn fact(&self, key: &FactKey, lookup: &Lookup<'_>) -> Available<Fact> {
        match key {
            FactKey::Place(path) => Ok(plain_place(lookup.root, lookup.cwd, path)),
            FactKey::File(place) => {
                let session = session_id(lookup.event.ok_or(NOT_RECORDED)?);
                let exists = self.files.lock().contains(&(session, place.clone()));
                let file = FileState::File { checksum: "past".to_owned() };
                Ok(Fact::File(if exists { file } else { FileState::Absent }))
            }
            FactKey::Script(_) => Ok(Fact::Script(Box::default())),
            _ => Err(NOT_RECORDED.into()),
        }
    }
}

/// The place of a path, without following links.
pub(crate) fn plain_place(root: Option<&Path>, cwd: Option<&str>, path: &str) -> Fact {
    let root = root.map(|root| root.to_string_lossy());
    Fact::Place(resolve(path, cwd, Roots { root: root.as_deref(), aliases: &[] }, None).key)
}
