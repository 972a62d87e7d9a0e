//! What a process that ends with its event has to know of the policy of its session: a pack that vanishes between two
//! events, with a branch or a stash, takes nothing out of force.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail_core::{Event, OnFault};
use midrail_guardrails::Script;
use midrail_pack::raw::{Guard, Pack};
use midrail_pack::{Layer, PolicySource};
use midrail_store::{NewNotice, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::load::{Load, Loaded};
use crate::places;
use crate::redecide::recorded_policy;
use crate::walk::ROOT;

/// The slice that says which policy last decided an event of a session, and from which files it was read.
pub(crate) const POLICY: &str = "root/policy";

/// The policy that last decided an event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastPolicy {
    /// Its revision.
    pub revision: Arc<str>,
    /// The files of the user and the project that it was read from. What they extend is not among them.
    pub files: Vec<PathBuf>,
    /// The one that was gone already, so that the policy was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<PathBuf>,
}

/// Where a session works and what it was last decided by.
#[derive(Debug, Clone, Default)]
pub struct Standpoint {
    /// Its folder, where it has begun.
    pub folder: Option<PathBuf>,
    /// Its policy, where a process that ended with its event decided it.
    pub policy: Option<LastPolicy>,
}

impl Standpoint {
    /// That of an event's session, in one look at the store. An event of no session has none.
    pub fn of(store: &dyn Store, event: &Event) -> Result<Self, StoreError> {
        let Some(session) = &event.session else { return Ok(Standpoint::default()) };
        let mut slices = store.load(session, &[ROOT, POLICY])?.into_iter().map(|slice| slice.value);
        let folder = slices.next().flatten().and_then(|value| value.as_str().map(PathBuf::from));
        let policy = slices.next().flatten().and_then(|value| LastPolicy::read(&value));
        Ok(Standpoint { folder, policy })
    }
}

impl LastPolicy {
    pub(crate) fn read(slice: &Value) -> Option<Self> {
        LastPolicy::deserialize(slice).ok()
    }

    /// The slice that an event leaves, where it is another than before. `before` is what was read of it.
    pub(crate) fn change(&self, before: Option<&Value>) -> Option<Value> {
        let now = serde_json::to_value(self).ok()?;
        // A session that never had packs of its own has nothing to lose.
        let is_news = before.is_some_and(|before| *before != now);
        (is_news || (before.is_none() && !self.files.is_empty())).then_some(now)
    }

    /// What people are told, at the first event under a policy that is kept for this file.
    pub(crate) fn news(&self, before: Option<&Value>) -> Option<&Path> {
        let told = before.and_then(LastPolicy::read).and_then(|last| last.gone);
        self.gone.as_deref().filter(|gone| told.as_deref() != Some(*gone))
    }

    /// A file of it that is not there any more, so that what it says would not hold any longer. `load` tells where it would
    /// have been found: what was removed with a folder that the agent has left binds nobody here.
    pub fn gone(&self, load: &Load) -> Option<&Path> {
        let named: Vec<PathBuf> = load.packs.iter().map(|path| absolute(path)).collect();
        let folder =
            load.folder.as_ref().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let user = || places::layers(None).into_iter().chain(places::deft(None));
        let counts = |file: &Path| {
            if !named.is_empty() {
                return named.iter().any(|place| file.starts_with(place));
            }
            let Some(place) = file.parent() else { return false };
            let project = place.parent().zip(folder.as_ref());
            project.is_some_and(|(project, folder)| folder.starts_with(project))
                || user().any(|(_, own)| own == place)
        };
        // Only what is gone is worth a closer look.
        self.files.iter().map(PathBuf::as_path).filter(|file| !file.exists()).find(|file| counts(file))
    }

    /// The policy itself, from the store. The organisation's packs are those of `now`: they are no one else's to keep.
    /// `Err` says why it cannot be had.
    pub fn load(
        &self,
        store: &dyn Store,
        now: Option<&PolicySource>,
    ) -> Result<Result<Loaded, String>, StoreError> {
        let (mut policy, mut source) = match recorded_policy(store, &self.revision)? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let before = source.clone();
        self.put_in_place(&mut source);
        if let Some(now) = now {
            let is_organisation = |layer| layer == Layer::Organisation;
            source.0.retain(|pack| !is_organisation(pack.layer));
            let above = now.0.iter().filter(|pack| is_organisation(pack.layer)).cloned();
            source.0.splice(0..0, above);
        }
        source.0.iter_mut().flat_map(|pack| guards(&mut pack.pack)).for_each(stop_without_script);
        if source != before {
            policy = match source.compile() {
                Ok(policy) => policy,
                Err(why) => return Ok(Err(why)),
            };
        }
        Ok(Ok(Loaded { policy, source, documents: Vec::new(), mark: Default::default() }))
    }

    /// The store keeps one text for the same packs in several folders. This puts it in the folder of these files.
    fn put_in_place(&self, source: &mut PolicySource) {
        let found = files(source);
        if found.len() != self.files.len() {
            return;
        }
        for (old, new) in found.iter().zip(&self.files).filter(|(old, new)| old != new) {
            let (Some(old_folder), Some(new_folder)) = (old.parent(), new.parent()) else { continue };
            let moved = |path: &mut String| {
                if let Ok(below) = Path::new(path.as_str()).strip_prefix(old_folder) {
                    *path = new_folder.join(below).to_string_lossy().into_owned();
                }
            };
            for layered in &mut source.0 {
                let is_it = |path: &String| absolute(Path::new(path)) == *old;
                if !is_it(&layered.path) && !layered.base_of.as_ref().is_some_and(is_it) {
                    continue;
                }
                moved(&mut layered.path);
                layered.base_of.iter_mut().for_each(moved);
                for Script { file, belongs, .. } in layered.pack.scripts_mut() {
                    file.iter_mut().chain(belongs).for_each(moved);
                }
            }
        }
    }
}

/// The files of the user and the project that a policy was read from, but for what they extend.
pub(crate) fn files(source: &PolicySource) -> Vec<PathBuf> {
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

/// What a script says is kept nowhere. One that is gone with its pack stops what it would have judged, also where it may
/// fail otherwise.
fn stop_without_script(guard: &mut Guard) {
    let file = guard.script.as_ref().and_then(|script| script.file.as_ref());
    if file.is_some_and(|file| !Path::new(file).exists()) {
        guard.on_error = Some(OnFault::Block);
    }
}

/// What is told of a policy that is kept.
pub(crate) fn message(gone: &Path) -> String {
    format!(
        "`{}` is gone, and without it less would be enforced: the session goes on under the policy that it had. Put the \
         file back, for example by switching back to its branch. A person who means to change the policy edits the file \
         instead of removing it, or begins a new session.",
        gone.display()
    )
}

/// The notice of it.
pub(crate) fn notice(gone: &Path, session: &str) -> NewNotice {
    NewNotice {
        to: "human_operator".to_owned(),
        kind: "policy".to_owned(),
        message: message(gone),
        body: json!({"session": session, "file": gone}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::Policy;
    use midrail_pack::Document;
    use midrail_store::{MemoryStore, Policies};

    fn policy(packs: &[(Layer, &str, &str)]) -> (Policy, PolicySource) {
        let read = |path: &str, text: &str| Document::read(path, text, None).unwrap();
        let documents = packs.iter().flat_map(|(layer, path, text)| {
            read(path, text).into_iter().map(|document| (*layer, document)).collect::<Vec<_>>()
        });
        midrail_pack::policy(&documents.collect::<Vec<_>>()).unwrap()
    }

    fn last(store: &MemoryStore, packs: &[(Layer, &str, &str)]) -> LastPolicy {
        let (policy, source) = policy(packs);
        store.save_policy(policy.revision(), &source.to_json()).unwrap();
        LastPolicy { revision: policy.revision().clone(), files: files(&source), gone: None }
    }

    const OWN: &str = "pack: own\nguardrails: [{id: own, tools: x}]\n";

    #[test]
    fn the_organisations_packs_are_always_those_of_now() {
        let store = MemoryStore::new().unwrap();
        let above = "pack: above\nguardrails: [{id: old, tools: y}]\n";
        let packs =
            [(Layer::Organisation, "/etc/o.yaml", above), (Layer::Project, "/p/.midrail/a.yaml", OWN)];
        let last = last(&store, &packs);
        assert_eq!(last.files, [Path::new("/p/.midrail/a.yaml")]);

        let same = last.load(&store, Some(&policy(&packs).1)).unwrap().unwrap();
        assert_eq!(same.policy.revision(), &last.revision);

        let now = above.replace("old", "new");
        let now = policy(&[(Layer::Organisation, "/etc/o.yaml", &now)]).1;
        let kept = last.load(&store, Some(&now)).unwrap().unwrap().policy;
        let ids = ["old", "new", "own"].map(|id| kept.get(id).is_some());
        assert_eq!(ids, [false, true, true]);
    }

    #[test]
    fn what_was_kept_for_another_folder_is_put_in_this_one() {
        let store = MemoryStore::new().unwrap();
        let pack = "pack: own\nguardrails: [{id: own, script: {file: /one/.midrail/s.js, digest: d}, on_error: allow}]\n";
        let mut last = last(&store, &[(Layer::Project, "/one/.midrail/a.yaml", pack)]);
        last.files = vec!["/two/.midrail/a.yaml".into()];
        let kept = last.load(&store, None).unwrap().unwrap();
        assert_eq!(files(&kept.source), last.files);
        let text = kept.source.to_json();
        assert!(text.contains("/two/.midrail/s.js") && !text.contains("/one/"), "{text}");
        // It is not there, and so what it would say is not known.
        assert_eq!(kept.policy.get("own").unwrap().spec.on_error, OnFault::Block);
    }

    #[test]
    fn people_are_told_once_of_a_file() {
        let mut last = LastPolicy { revision: "r".into(), files: Vec::new(), gone: None };
        assert_eq!(last.change(None), None);
        last.files.push("/p/.midrail/a.yaml".into());
        let before = last.change(None).unwrap();
        assert_eq!((last.change(Some(&before)), last.news(Some(&before))), (None, None));
        last.gone = last.files.first().cloned();
        assert_eq!(last.news(Some(&before)), last.gone.as_deref());
        let after = last.change(Some(&before)).unwrap();
        assert_eq!((last.change(Some(&after)), last.news(Some(&after))), (None, None));
    }
}
