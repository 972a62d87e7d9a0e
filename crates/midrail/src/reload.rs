//! Reloads an engine's policy when the files of its packs change. There is always a policy in force, and invalid packs do
//! not change it.

use parking_lot::Mutex;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use midrail_pack::diagnostic::DiagnosticRecord;
use midrail_pack::{DiagnosticReport, PolicySource};
use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::Engine;
use crate::load::{Load, LoadError, LoadedPolicy, SourceMark};

/// How often the files are checked. A change is applied when two checks in a row see the same files, so that a file that
/// is still being written is not read.
const INTERVAL: Duration = Duration::from_millis(250);

/// After so many checks, approvals that are due are settled: about once a second.
const LOOKS: usize = 4;

/// The result of a change of the packs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reload {
    /// Another policy is in force: the one of this revision.
    Applied(Arc<str>),
    /// The packs cannot be used, for this reason. The policy in force stays.
    Refused(String),
}

/// Reloads of packs since this instance started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(rename = "ReloadsView")]
pub struct ReloadStats {
    /// Reloads that were applied.
    pub applied: u64,
    /// Reloads that were rejected.
    pub refused: u64,
    /// Why the current packs are invalid. Absent: they are valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// Why packs that were read again at once are not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadError {
    /// The reason, in words.
    pub why: String,
    /// The problems with their places, if the packs could be read.
    pub problems: Vec<DiagnosticRecord>,
}

impl ReloadError {
    fn new(why: impl ToString) -> Self {
        ReloadError { why: why.to_string(), problems: Vec::new() }
    }
}

/// Watches the files of an engine's policy, on a thread of its own, until it is dropped or the engine is gone. It also
/// sees to requests that time has changed.
///
/// ```
/// use midrail::{Engine, Load, Reloader};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let load = Load { packs: vec!["midrail:default".into()], ..Load::default() };
/// let loaded = load.load()?;
/// let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).build()?);
/// let reloader = Reloader::start(&engine, load, loaded.mark, |reload| eprintln!("{reload:?}"))?;
/// assert_eq!(reloader.reloads().refused, 0);
/// # Ok(())
/// # }
/// ```
pub struct Reloader {
    reloads: Arc<Mutex<ReloadStats>>,
    watch: Arc<Mutex<Watch>>,
    engine: Weak<Engine>,
    /// The thread ends when this goes.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reloader {
    /// Watches the files that `load` reads. `mark` is that of the policy in force ([`LoadedPolicy::mark`]), so that a change
    /// between its loading and now is seen, too. `listener` is called for every change.
    pub fn start(
        engine: &Arc<Engine>,
        load: Load,
        mark: SourceMark,
        listener: impl Fn(&Reload) + Send + 'static,
    ) -> io::Result<Self> {
        let reloads = Arc::new(Mutex::new(ReloadStats::default()));
        let (stop, stopped) = mpsc::channel();
        let watch = Arc::new(Mutex::new(Watch {
            load,
            mark,
            pending: None,
            files: pack_files(&engine.policy_source()),
        }));
        let (engine, counts, looking) = (Arc::downgrade(engine), reloads.clone(), watch.clone());
        let own = engine.clone();
        let thread = thread::Builder::new().name("midrail-reload".to_owned()).spawn(move || {
            let mut looks = 0_usize;
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let Some(engine) = engine.upgrade() else { return };
                looks = looks.wrapping_add(1);
                if looks.is_multiple_of(LOOKS) {
                    settle(&engine);
                }
                let reload = looking.lock().look(&engine, &counts);
                drop(engine);
                // A listener that fails does not end the watch.
                let _ = catch_unwind(AssertUnwindSafe(|| reload.iter().for_each(&listener)));
            }
        })?;
        Ok(Reloader { reloads, watch, engine: own, stop: Some(stop), thread: Some(thread) })
    }

    /// Reads the files now, whether or not they seem to have changed, and puts their policy in force. The listener is not
    /// called. `Ok(None)`: it is in force already.
    pub fn reload_now(&self) -> Result<Option<Arc<str>>, ReloadError> {
        let Some(engine) = self.engine.upgrade() else { return Ok(None) };
        let mut watch = self.watch.lock();
        watch.read_now(&engine, &self.reloads)
    }

    /// The results of all changes so far.
    pub fn reloads(&self) -> ReloadStats {
        self.reloads.lock().clone()
    }
}

impl Drop for Reloader {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A listener may be the last to hold it, and the thread cannot wait for itself.
        if let Some(thread) = self.thread.take().filter(|it| it.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// A file of the policy in force that is missing, so that less would be enforced.
fn gone(files: &[PathBuf], loaded: &LoadedPolicy) -> Option<PathBuf> {
    let is_still_read = |file: &PathBuf| loaded.source.0.iter().any(|pack| Path::new(&pack.path) == file);
    let is_file = |file: &PathBuf| file.is_absolute() || file.components().count() > 1;
    files.iter().find(|file| is_file(file) && !is_still_read(file) && !file.exists()).cloned()
}

/// The pack files of a policy.
fn pack_files(source: &PolicySource) -> Vec<PathBuf> {
    source.0.iter().map(|pack| PathBuf::from(&pack.path)).collect()
}

/// The files, as they were when they were last read.
struct Watch {
    load: Load,
    mark: SourceMark,
    /// Another state of them, seen once.
    pending: Option<SourceMark>,
    /// The files of the policy that was last read here. The one in force may be another instance's.
    files: Vec<PathBuf>,
}

impl Watch {
    /// Looks at the files once, and puts their policy in force if they changed and have come to rest.
    fn look(&mut self, engine: &Engine, counts: &Mutex<ReloadStats>) -> Option<Reload> {
        let loaded = guarded(|| self.changed()).transpose()?;
        let outcome = loaded.and_then(|loaded| self.judged(loaded));
        match self.put_in_force(engine, counts, outcome) {
            Ok(revision) => revision.map(Reload::Applied),
            Err(refused) => Some(Reload::Refused(refused.why)),
        }
    }

    /// Reads the files, however they are, and puts their policy in force.
    fn read_now(
        &mut self,
        engine: &Engine,
        counts: &Mutex<ReloadStats>,
    ) -> Result<Option<Arc<str>>, ReloadError> {
        let loaded = guarded(|| {
            let (loaded, mark) = self.load.load_and_mark();
            (self.mark, self.pending) = (mark, None);
            loaded.and_then(with_scripts)
        });
        let outcome = loaded.and_then(|loaded| self.judged(loaded));
        self.put_in_force(engine, counts, outcome)
    }

    /// What was read, if it may take the place of what is in force.
    fn judged(&self, loaded: Result<LoadedPolicy, LoadError>) -> Result<LoadedPolicy, ReloadError> {
        let loaded = loaded.map_err(|error| {
            let why = match error.help() {
                Some(help) => format!("{error}\nhelp: {help}"),
                None => error.to_string(),
            };
            let problems = match &error {
                LoadError::Problems(reports) => reports.iter().flat_map(DiagnosticReport::plain).collect(),
                _ => Vec::new(),
            };
            ReloadError { why, problems }
        })?;
        match gone(&self.files, &loaded) {
            None => Ok(loaded),
            Some(file) => Err(ReloadError::new(format!(
                "`{}` is missing, and without it less would be enforced\nhelp: restore it, or restart",
                file.display()
            ))),
        }
    }

    fn put_in_force(
        &mut self,
        engine: &Engine,
        counts: &Mutex<ReloadStats>,
        outcome: Result<LoadedPolicy, ReloadError>,
    ) -> Result<Option<Arc<str>>, ReloadError> {
        let mut counts = counts.lock();
        match outcome {
            Ok(loaded) => {
                counts.last_error = None;
                self.files = pack_files(&loaded.source);
                let before = engine.policy().revision().clone();
                engine.reload(loaded.policy, &loaded.source).map_err(ReloadError::new)?;
                let revision = engine.policy().revision().clone();
                if before == revision {
                    return Ok(None);
                }
                counts.applied += 1;
                count(engine, "reloads_applied");
                log::info!("the packs changed; the policy {revision} is in force");
                Ok(Some(revision))
            }
            Err(refused) => {
                counts.refused += 1;
                count(engine, "reloads_refused");
                counts.last_error = Some(refused.why.clone());
                log::error!(
                    "the packs changed and cannot be used; the policy in force stays: {}",
                    refused.why
                );
                Err(refused)
            }
        }
    }

    /// What the files make now, if they changed since they were last read and not since the last look.
    fn changed(&mut self) -> Option<Result<LoadedPolicy, LoadError>> {
        let now = self.load.mark_as(&self.mark);
        if now == self.mark {
            self.pending = None;
            return None;
        }
        if self.pending.as_ref() != Some(&now) {
            self.pending = Some(now);
            return None;
        }
        // Whatever comes of it, the same files are not read again.
        self.mark = now.clone();
        let (loaded, mark) = self.load.load_and_mark();
        let loaded = loaded.and_then(with_scripts);
        let is_at_rest = self.load.mark_as(&mark) == mark && self.load.mark_as(&now) == now;
        self.mark = mark;
        if is_at_rest {
            self.pending = None;
            return Some(loaded);
        }
        // They are being written after all: neither what was read nor the state before counts as known.
        self.mark = SourceMark::default();
        None
    }
}

/// A script that does not even load would block everything: what is in force stays.
/// A panic while packs are read is an error, and the policy in force stays.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, ReloadError> {
    let read = catch_unwind(AssertUnwindSafe(work));
    read.map_err(|_| ReloadError::new("reading the packs failed unexpectedly"))
}

fn with_scripts(loaded: LoadedPolicy) -> Result<LoadedPolicy, LoadError> {
    match loaded.script_problems(false) {
        problems if problems.is_empty() => Ok(loaded),
        problems => Err(LoadError::Problems(problems)),
    }
}

/// Settles approvals that are due. If it fails, the next decision does it.
fn settle(engine: &Engine) {
    match catch_unwind(AssertUnwindSafe(|| engine.approvals().settle_all())) {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => log::error!("approvals that are due could not be settled: {error}"),
        Err(_) => log::error!("approvals that are due could not be settled"),
    }
}

/// Counts in the store, for all instances.
fn count(engine: &Engine, name: &str) {
    if let Err(error) = engine.store().increment_counter(name, 1) {
        log::error!("a change of the packs could not be counted: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::{Effect, Event, Guardrail, PolicyEntry, Spec, Verdict};
    use serde_json::json;
    use std::fs;
    use std::path::{Path, PathBuf};

    struct Fixture {
        folder: tempfile::TempDir,
        engine: Arc<Engine>,
        watch: Watch,
        counts: Mutex<ReloadStats>,
    }

    impl Fixture {
        fn of(pack: &str) -> Self {
            Fixture::with(&[("p.yaml", pack)], |folder| vec![folder.join("p.yaml")])
        }

        fn with(files: &[(&str, &str)], packs: impl Fn(&Path) -> Vec<PathBuf>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
            let load = Load { packs: packs(folder.path()), ..Load::default() };
            let LoadedPolicy { policy, source, mark, .. } = load.load().unwrap();
            let engine = Arc::new(Engine::builder(policy, &source).build().unwrap());
            let watch = Watch { load, mark, pending: None, files: pack_files(&engine.policy_source()) };
            Fixture { folder, engine, watch, counts: Mutex::default() }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.folder.path().join(name), text).unwrap();
        }

        fn look(&mut self) -> Option<Reload> {
            self.watch.look(&self.engine, &self.counts)
        }

        fn settle(&mut self) -> Option<Reload> {
            assert_eq!(self.look(), None, "a change was taken over at first sight");
            self.look()
        }

        fn effect(&self, tool: &str) -> Effect {
            self.engine.decide(Event::before_tool(tool, json!({}))).effect
        }

        fn counts(&self) -> ReloadStats {
            self.counts.lock().clone()
        }
    }

    const NO_X: &str = "pack: p\nguardrails:\n  - {id: g, tools: x}\n";
    const NO_Y: &str = "pack: p\nguardrails:\n  - {id: g, tools: y}\n";

    #[test]
    fn changed_pack_is_applied_once() {
        let mut fixture = Fixture::of(NO_X);
        assert_eq!((fixture.look(), fixture.look()), (None, None));
        fixture.write("p.yaml", NO_Y);
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        assert_eq!((fixture.effect("x"), fixture.effect("y")), (Effect::Allow, Effect::Block));
        assert_eq!((fixture.look(), fixture.look()), (None, None));
        assert_eq!(fixture.counts(), ReloadStats { applied: 1, ..ReloadStats::default() });
    }

    #[test]
    fn invalid_pack_keeps_the_policy_and_is_counted_once() {
        let mut fixture = Fixture::of(NO_X);
        fixture.write("p.yaml", "pack: p\nguardrail: []\n");
        let Some(Reload::Refused(why)) = fixture.settle() else { panic!("it was not refused") };
        assert!(why.contains("p.yaml:2:1"), "{why}");
        assert_eq!(fixture.effect("x"), Effect::Block);
        assert_eq!((fixture.look(), fixture.look()), (None, None));
        assert_eq!((fixture.counts().refused, fixture.counts().last_error.is_some()), (1, true));
        // As it was before: nothing is new, and nothing is wrong.
        fixture.write("p.yaml", NO_X);
        assert_eq!((fixture.settle(), fixture.effect("x")), (None, Effect::Block));
        assert_eq!(fixture.counts(), ReloadStats { refused: 1, ..ReloadStats::default() });
        fixture.write("p.yaml", NO_Y);
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        let counters = fixture.engine.store().counters().unwrap();
        assert_eq!((counters["reloads_refused"], counters["reloads_applied"]), (1, 1));
    }

    #[test]
    fn packs_can_be_reloaded_now() {
        let mut fixture = Fixture::of(NO_X);
        let engine = fixture.engine.clone();
        assert_eq!(fixture.watch.read_now(&engine, &fixture.counts), Ok(None));
        fixture.write("p.yaml", "pack: p\nguardrail: []\n");
        let refused = fixture.watch.read_now(&engine, &fixture.counts).unwrap_err();
        assert_eq!((refused.problems[0].line, refused.problems[0].column), (2, 1));
        assert_eq!(fixture.effect("x"), Effect::Block);
        fixture.write("p.yaml", NO_Y);
        assert!(fixture.watch.read_now(&engine, &fixture.counts).unwrap().is_some());
        assert_eq!((fixture.effect("x"), fixture.effect("y")), (Effect::Allow, Effect::Block));
        assert_eq!((fixture.look(), fixture.look()), (None, None));
        assert_eq!(fixture.counts(), ReloadStats { applied: 1, refused: 1, last_error: None });
    }

    #[test]
    fn unfinished_file_is_not_read() {
        let mut fixture = Fixture::of(NO_X);
        // What is written first would be a policy of its own, and a weaker one.
        fixture.write("p.yaml", "pack: p\n");
        assert_eq!(fixture.look(), None);
        fixture.write("p.yaml", "pack: p\nguardrails: []\n");
        assert_eq!(fixture.look(), None);
        fixture.write("p.yaml", NO_Y);
        assert_eq!((fixture.look(), fixture.effect("x")), (None, Effect::Block));
        assert!(matches!(fixture.look(), Some(Reload::Applied(_))));
        assert_eq!((fixture.effect("x"), fixture.effect("y")), (Effect::Allow, Effect::Block));
        assert_eq!(fixture.counts().applied, 1);
    }

    #[test]
    fn missing_pack_keeps_the_policy() {
        let mut fixture = Fixture::of(NO_X);
        fs::remove_file(fixture.folder.path().join("p.yaml")).unwrap();
        assert!(matches!(fixture.settle(), Some(Reload::Refused(_))));
        assert_eq!(fixture.effect("x"), Effect::Block);
        fixture.write("p.yaml", NO_Y);
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        assert_eq!((fixture.effect("y"), fixture.counts().last_error), (Effect::Block, None));
    }

    #[test]
    fn extended_packs_are_watched() {
        let files = [("p.yaml", "pack: p\nextends: base.yaml\n"), ("base.yaml", NO_X)];
        let mut fixture = Fixture::with(&files, |folder| vec![folder.join("p.yaml")]);
        assert_eq!(fixture.effect("x"), Effect::Block);
        fixture.write("base.yaml", "pack: [");
        assert!(matches!(fixture.settle(), Some(Reload::Refused(_))));
        assert_eq!(fixture.effect("x"), Effect::Block);
        fixture.write("base.yaml", NO_Y);
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        assert_eq!((fixture.effect("x"), fixture.effect("y")), (Effect::Allow, Effect::Block));
        // Where there was none, a file may come and take the place of a shipped pack.
        fixture.write("p.yaml", "pack: p\nextends: default\n");
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        assert_eq!(fixture.effect("y"), Effect::Allow);
        fixture.write("default", NO_Y);
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        assert_eq!(fixture.effect("y"), Effect::Block);
    }

    #[test]
    fn a_file_that_is_added_to_a_folder_counts() {
        let mut fixture = Fixture::with(&[("p.yaml", NO_X)], |folder| vec![folder.to_owned()]);
        fixture.write("q.yaml", "pack: q\nguardrails:\n  - {id: h, tools: z}\n");
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        assert_eq!((fixture.effect("x"), fixture.effect("z")), (Effect::Block, Effect::Block));
        fixture.write("notes.txt", "no pack");
        assert_eq!((fixture.look(), fixture.look()), (None, None));
    }

    #[test]
    fn a_change_between_loading_and_watching_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.yaml");
        fs::write(&path, NO_X).unwrap();
        let load = Load { packs: vec![path.clone()], ..Load::default() };
        let mark = load.load().unwrap().mark;
        fs::write(&path, NO_Y).unwrap();
        let mut watch = Watch { load, mark, pending: None, files: Vec::new() };
        assert!(watch.changed().is_none());
        assert!(watch.changed().unwrap().is_ok());
    }

    #[test]
    fn registered_guardrails_survive_a_reload() {
        struct NoZ;
        impl Guardrail for NoZ {
            fn check(&self, context: &midrail_core::Context<'_>) -> Result<Verdict, midrail_core::Fault> {
                let is_z = context.event.tool_name() == Some("z");
                Ok(if is_z { Verdict::block("not z") } else { Verdict::allow() })
            }
        }
        let mut fixture = Fixture::of("pack: p\nguardrails:\n  - {id: g, tools: x}\n  - {id: h, tools: w}\n");
        fixture.engine.register(PolicyEntry::new(Spec::new("own"), Arc::new(NoZ)));
        assert!(fixture.engine.unregister("h"));
        fixture.write("p.yaml", "pack: p\nguardrails:\n  - {id: g, tools: y}\n  - {id: h, tools: w}\n");
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        for (tool, effect) in
            [("x", Effect::Allow), ("y", Effect::Block), ("z", Effect::Block), ("w", Effect::Allow)]
        {
            assert_eq!(fixture.effect(tool), effect, "{tool}");
        }
        assert!(fixture.engine.unregister("own"));
        fixture.write("p.yaml", NO_X);
        assert!(matches!(fixture.settle(), Some(Reload::Applied(_))));
        assert_eq!(fixture.effect("z"), Effect::Allow);
    }

    #[test]
    fn thread_applies_changes_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.yaml");
        fs::write(&path, NO_X).unwrap();
        let load = Load { packs: vec![path.clone()], ..Load::default() };
        let LoadedPolicy { policy, source, mark, .. } = load.load().unwrap();
        let engine = Arc::new(Engine::builder(policy, &source).build().unwrap());
        let (sender, reloads) = mpsc::channel();
        let listener = move |reload: &Reload| sender.send(reload.clone()).unwrap();
        let reloader = Reloader::start(&engine, load, mark, listener).unwrap();
        fs::write(&path, NO_Y).unwrap();
        let revision = match reloads.recv().unwrap() {
            Reload::Applied(revision) => revision,
            other => panic!("{other:?}"),
        };
        assert_eq!(*engine.policy().revision(), revision);
        assert_eq!(engine.decide(Event::before_tool("y", json!({}))).effect, Effect::Block);
        fs::write(&path, "pack:").unwrap();
        assert!(matches!(reloads.recv().unwrap(), Reload::Refused(_)));
        assert_eq!((reloader.reloads().applied, reloader.reloads().refused), (1, 1));
        drop(reloader);
        assert!(reloads.recv().is_err(), "the thread is still there");
    }

    /// Many events while the policy changes back and forth: each is decided by one of the two, and never by none.
    #[test]
    fn policy_is_always_in_force() {
        let fixture = Fixture::of(NO_X);
        let other = Load { packs: vec![fixture.folder.path().join("o.yaml")], ..Load::default() };
        fixture.write("o.yaml", "pack: p\nguardrails:\n  - {id: g, tools: [x, y]}\n");
        let engine = fixture.engine.clone();
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..40 {
                    let load = if round % 2 == 0 { &other } else { &fixture.watch.load };
                    let loaded = load.load().unwrap();
                    engine.reload(loaded.policy, &loaded.source).unwrap();
                }
            });
            scope.spawn(|| (0..200).for_each(|_| assert_eq!(fixture.effect("x"), Effect::Block)));
        });
    }
}
