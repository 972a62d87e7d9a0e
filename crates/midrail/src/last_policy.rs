//! The policy that last decided in a session. A pack that disappears between two events, for example when a branch is
//! switched, does not weaken the session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail_core::{Event, OnFault};
use midrail_guardrails::Script;
use midrail_pack::raw::{Guard, Pack};
use midrail_pack::{Layer, PolicySource};
use midrail_store::{NewNotice, Result, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::admin::event::notice;
use crate::load::{Load, LoadedPolicy};
use crate::paths;
pub use crate::session_slices::session_folder;
use crate::session_slices::{LAST_POLICY, ROOT};
use crate::stored_policy::{StoredPolicyError, stored_policy};

/// The policy that last decided an event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastPolicy {
    /// Its revision.
    pub revision: Arc<str>,
    /// The pack files of the user and the project. Files that they extend are not included.
    pub files: Vec<PathBuf>,
    /// The file that was already missing, so that this policy was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<PathBuf>,
}

/// The folder and the last policy of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionContext {
    /// Its folder. `None`: the session has not started.
    pub folder: Option<PathBuf>,
    /// Its last policy, if a one-shot process decided it.
    pub policy: Option<LastPolicy>,
}

impl SessionContext {
    /// Loads the context of an event's session with one access to the store. It is empty for an event without a session.
    pub fn load(store: &dyn Store, event: &Event) -> Result<Self> {
        let Some(session) = &event.session else { return Ok(SessionContext::default()) };
        let mut slices = store.load(session, &[ROOT, LAST_POLICY])?.into_iter().map(|slice| slice.value);
        let folder = slices.next().flatten().and_then(|value| value.as_str().map(PathBuf::from));
        let policy = slices.next().flatten().and_then(|value| LastPolicy::read(&value));
        Ok(SessionContext { folder, policy })
    }
}

impl LastPolicy {
    fn read(slice: &Value) -> Option<Self> {
        LastPolicy::deserialize(slice).ok()
    }

    /// The new value of the slice, if it differs from the stored one.
    pub(crate) fn change(&self, stored: Option<&Value>) -> Option<Value> {
        let now = serde_json::to_value(self).ok()?;
        let is_changed = match stored {
            Some(stored) => *stored != now,
            // A session that never had packs of its own has nothing to lose.
            None => !self.files.is_empty(),
        };
        is_changed.then_some(now)
    }

    /// The missing file, if the stored slice does not name it yet.
    pub(crate) fn newly_missing(&self, stored: Option<&Value>) -> Option<&Path> {
        let reported = stored.and_then(LastPolicy::read).and_then(|last| last.gone);
        self.gone.as_deref().filter(|gone| reported.as_deref() != Some(*gone))
    }

    /// A file of the policy that no longer exists, so that less would be enforced. Files of folders that `load` does not
    /// read are ignored.
    pub fn missing_file(&self, load: &Load) -> Option<&Path> {
        let named: Vec<PathBuf> = load.packs.iter().map(|path| absolute(path)).collect();
        let folder =
            load.folder.as_ref().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let user = || paths::layers(None).into_iter().chain(paths::deft(None));
        let is_read = |file: &Path| {
            if !named.is_empty() {
                return named.iter().any(|place| file.starts_with(place));
            }
            let Some(place) = file.parent() else { return false };
            let project = place.parent().zip(folder.as_ref());
            project.is_some_and(|(project, folder)| folder.starts_with(project))
                || user().any(|(_, own)| own == place)
        };
        self.files.iter().map(PathBuf::as_path).filter(|file| !file.exists()).find(|file| is_read(file))
    }

    /// Loads the policy from the store, with the current packs of the organisation from `now`.
    pub fn load(
        &self,
        store: &dyn Store,
        now: Option<&PolicySource>,
    ) -> Result<LoadedPolicy, StoredPolicyError> {
        let (mut policy, mut source) = stored_policy(store, &self.revision)?;
        let before = source.clone();
        self.relocate(&mut source);
        if let Some(now) = now {
            source.0.retain(|pack| pack.layer != Layer::Organisation);
            let organisation = now.0.iter().filter(|pack| pack.layer == Layer::Organisation).cloned();
            source.0.splice(0..0, organisation);
        }
        source.0.iter_mut().flat_map(|pack| guards(&mut pack.pack)).for_each(block_without_script);
        if source != before {
            policy = source.compile().map_err(|error| StoredPolicyError::compile(&self.revision, error))?;
        }
        Ok(LoadedPolicy { policy, source, documents: Vec::new(), mark: Default::default() })
    }

    /// Moves the packs to the folder of these files. The store has one text for the same packs in several folders.
    fn relocate(&self, source: &mut PolicySource) {
        let found = own_files(source);
        if found.len() != self.files.len() {
            return;
        }
        for (old, new) in found.iter().zip(&self.files).filter(|(old, new)| old != new) {
            let (Some(old_folder), Some(new_folder)) = (old.parent(), new.parent()) else { continue };
            let relocate = |path: &mut String| {
                if let Ok(below) = Path::new(path.as_str()).strip_prefix(old_folder) {
                    *path = new_folder.join(below).to_string_lossy().into_owned();
                }
            };
            let is_old = |path: &String| absolute(Path::new(path)) == *old;
            for layered in &mut source.0 {
                if !is_old(&layered.path) && !layered.base_of.as_ref().is_some_and(is_old) {
                    continue;
                }
                relocate(&mut layered.path);
                layered.base_of.iter_mut().for_each(relocate);
                for Script { file, belongs, .. } in layered.pack.scripts_mut() {
                    file.iter_mut().chain(belongs).for_each(relocate);
                }
                for (_, cedar) in layered.pack.cedar_mut() {
                    cedar.belongs.iter_mut().for_each(relocate);
                }
            }
        }
    }
}

/// The pack files of the user and the project, without those that they extend.
pub(crate) fn own_files(source: &PolicySource) -> Vec<PathBuf> {
    let own = source.0.iter().filter(|pack| {
        pack.layer != Layer::Organisation && pack.base_of.is_none() && !pack.path.starts_with("midrail:")
    });
    let mut files: Vec<PathBuf> = own.map(|pack| absolute(Path::new(&pack.path))).collect();
    // One file may hold several packs.
    files.dedup();
    files
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn guards(pack: &mut Pack) -> impl Iterator<Item = &mut Guard> {
    let agents = pack.agents.values_mut().flat_map(|agent| {
        let sections = agent.sections.values_mut().flat_map(|section| &mut section.guardrails);
        agent.guardrails.iter_mut().chain(sections)
    });
    pack.guardrails.iter_mut().chain(agents)
}

/// A script that is missing blocks, whatever its `on_error` says: the store does not hold its text.
fn block_without_script(guard: &mut Guard) {
    let file = guard.script.as_ref().and_then(|script| script.file.as_ref());
    if file.is_some_and(|file| !Path::new(file).exists()) {
        guard.on_error = Some(OnFault::Block);
    }
}

/// The message about a missing pack file.
pub(crate) fn message(missing: &Path) -> String {
    format!(
        "`{}` is missing, and without it less would be enforced: the session keeps the policy that it had. Restore the \
         file, for example by switching back to its branch. To change the policy, edit the file instead of removing it, \
         or start a new session.",
        missing.display()
    )
}

/// The notice about a missing pack file.
pub(crate) fn missing_pack_notice(missing: &Path, session: &str) -> NewNotice {
    notice("human_operator", "policy", message(missing), json!({"session": session, "file": missing}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::Policy;
    use midrail_pack::PackDocument;
    use midrail_store::{MemoryStore, Policies};

    fn policy(packs: &[(Layer, &str, &str)]) -> (Policy, PolicySource) {
        let read = |path: &str, text: &str| PackDocument::read(path, text, None).unwrap();
        let documents = packs.iter().flat_map(|(layer, path, text)| {
            read(path, text).into_iter().map(|document| (*layer, document)).collect::<Vec<_>>()
        });
        midrail_pack::compile_policy(&documents.collect::<Vec<_>>()).unwrap()
    }

    fn last(store: &MemoryStore, packs: &[(Layer, &str, &str)]) -> LastPolicy {
        let (policy, source) = policy(packs);
        store.save_policy(policy.revision(), &source.to_json()).unwrap();
        LastPolicy { revision: policy.revision().clone(), files: own_files(&source), gone: None }
    }

    const OWN: &str = "pack: own\nguardrails: [{id: own, tools: x}]\n";

    #[test]
    fn organisation_packs_are_the_current_ones() {
        let store = MemoryStore::new().unwrap();
        let above = "pack: above\nguardrails: [{id: old, tools: y}]\n";
        let packs =
            [(Layer::Organisation, "/etc/o.yaml", above), (Layer::Project, "/p/.midrail/a.yaml", OWN)];
        let last = last(&store, &packs);
        assert_eq!(last.files, [Path::new("/p/.midrail/a.yaml")]);

        let same = last.load(&store, Some(&policy(&packs).1)).unwrap();
        assert_eq!(same.policy.revision(), &last.revision);

        let now = above.replace("old", "new");
        let now = policy(&[(Layer::Organisation, "/etc/o.yaml", &now)]).1;
        let kept = last.load(&store, Some(&now)).unwrap().policy;
        let ids = ["old", "new", "own"].map(|id| kept.get(id).is_some());
        assert_eq!(ids, [false, true, true]);
    }

    #[test]
    fn packs_move_to_the_folder_of_the_session() {
        let store = MemoryStore::new().unwrap();
        let pack = "pack: own\nguardrails: [{id: own, script: {file: /one/.midrail/s.js, digest: d}, on_error: allow}]\n";
        let mut last = last(&store, &[(Layer::Project, "/one/.midrail/a.yaml", pack)]);
        last.files = vec!["/two/.midrail/a.yaml".into()];
        let kept = last.load(&store, None).unwrap();
        assert_eq!(own_files(&kept.source), last.files);
        let text = kept.source.to_json();
        assert!(text.contains("/two/.midrail/s.js") && !text.contains("/one/"), "{text}");
        // The script does not exist, so it blocks.
        assert_eq!(kept.policy.get("own").unwrap().spec.on_error, OnFault::Block);
    }

    #[test]
    fn missing_file_is_reported_once() {
        let mut last = LastPolicy { revision: "r".into(), files: Vec::new(), gone: None };
        assert_eq!(last.change(None), None);
        last.files.push("/p/.midrail/a.yaml".into());
        let before = last.change(None).unwrap();
        assert_eq!((last.change(Some(&before)), last.newly_missing(Some(&before))), (None, None));
        last.gone = last.files.first().cloned();
        assert_eq!(last.newly_missing(Some(&before)), last.gone.as_deref());
        let after = last.change(Some(&before)).unwrap();
        assert_eq!((last.change(Some(&after)), last.newly_missing(Some(&after))), (None, None));
    }
}
