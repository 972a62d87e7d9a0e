//! Keeps an engine's policy in step with the files of its packs, between two events and without a moment in which
//! nothing is enforced. Packs that are wrong leave the policy as it is.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use midrail_pack::Report;
use midrail_pack::diagnostic::PlainProblem;

use crate::engine::Engine;
use crate::load::{Load, LoadError, Loaded, Mark};

/// How often the files are looked at. A change is taken over when two looks in a row see the same, so that a file that
/// is still being written is not: at half a second, or a little later.
const INTERVAL: Duration = Duration::from_millis(250);

/// At every so many looks it is seen to what has fallen due meanwhile: about once a second.
const LOOKS: usize = 4;

/// What came of a change of the packs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reload {
    /// Another policy is in force: the one of this revision.
    Applied(Arc<str>),
    /// The packs cannot be used, for this reason. The policy in force stays.
    Refused(String),
}

/// What came of all changes so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reloads {
    /// Policies that were put in force.
    pub applied: u64,
    /// Changes that could not be used.
    pub refused: u64,
    /// Why the packs as they are now cannot be used. `None`: they can.
    pub last_error: Option<String>,
}

/// Why packs that were read again at once are not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The reason, in words.
    pub why: String,
    /// What is wrong, each at its place, where it can be told.
    pub problems: Vec<PlainProblem>,
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
    reloads: Arc<Mutex<Reloads>>,
    watch: Arc<Mutex<Watch>>,
    engine: Weak<Engine>,
    /// The thread ends when this goes.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reloader {
    /// Watches the files that `load` reads. `mark` is that of the policy in force ([`Loaded::mark`]), so that a change
    /// between its loading and now is seen, too. `listener` hears of every change.
    pub fn start(
        engine: &Arc<Engine>,
        load: Load,
        mark: Mark,
        listener: impl Fn(&Reload) + Send + 'static,
    ) -> io::Result<Self> {
        let reloads = Arc::new(Mutex::new(Reloads::default()));
        let (stop, stopped) = mpsc::channel();
        let watch = Arc::new(Mutex::new(Watch { load, mark, pending: None, files: engine.pack_files() }));
        let (engine, counts, looking) = (Arc::downgrade(engine), reloads.clone(), watch.clone());
        let own = engine.clone();
        let thread = thread::Builder::new().name("midrail-reload".to_owned()).spawn(move || {
            let mut looks = 0_usize;
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                looks = looks.wrapping_add(1);
                if looks.is_multiple_of(LOOKS) {
                    settle(&engine);
                }
                let look = looking.lock().unwrap_or_else(PoisonError::into_inner).look(&engine, &counts);
                match look {
                    Look::EngineGone => return,
                    Look::Nothing => {}
                    Look::Changed(reload) => {
                        // A listener that fails does not end the watch.
                        let _ = catch_unwind(AssertUnwindSafe(|| listener(&reload)));
                    }
                }
            }
        })?;
        Ok(Reloader { reloads, watch, engine: own, stop: Some(stop), thread: Some(thread) })
    }

    /// Reads the files now, whether or not they seem to have changed, and puts their policy in force. The listener hears
    /// nothing of it: whoever asks does. `Ok(None)`: it is in force already.
    pub fn reload_now(&self) -> Result<Option<Arc<str>>, Refused> {
        let Some(engine) = self.engine.upgrade() else { return Ok(None) };
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.read_now(&engine, &self.reloads)
    }

    /// What came of all changes so far.
    pub fn reloads(&self) -> Reloads {
        self.reloads.lock().unwrap_or_else(PoisonError::into_inner).clone()
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

enum Look {
    Nothing,
    Changed(Reload),
    EngineGone,
}

/// A file of the policy in force that is not there any more, so that what it says would not hold any longer.
fn gone(files: &[PathBuf], loaded: &Loaded) -> Option<PathBuf> {
    let is_still_read = |file: &PathBuf| loaded.source.0.iter().any(|pack| Path::new(&pack.path) == file);
    let is_file = |file: &PathBuf| file.is_absolute() || file.components().count() > 1;
    files.iter().find(|file| is_file(file) && !is_still_read(file) && !file.exists()).cloned()
}

/// The files, as they were when they were last read.
struct Watch {
    load: Load,
    mark: Mark,
    /// Another state of them, seen once.
    pending: Option<Mark>,
    /// The files of the policy that was last read here. The one in force may be another instance's.
    files: Vec<PathBuf>,
}

impl Watch {
    /// Looks at the files once, and puts their policy in force if they changed and have come to rest.
    fn look(&mut self, engine: &Weak<Engine>, counts: &Mutex<Reloads>) -> Look {
        let Some(engine) = engine.upgrade() else { return Look::EngineGone };
        let outcome = match catch_unwind(AssertUnwindSafe(|| self.changed())) {
            Ok(None) => return Look::Nothing,
            Ok(Some(loaded)) => self.judged(loaded),
            Err(_) => Err(failed()),
        };
        match self.put_in_force(&engine, counts, outcome) {
            Ok(None) => Look::Nothing,
            Ok(Some(revision)) => Look::Changed(Reload::Applied(revision)),
            Err(refused) => Look::Changed(Reload::Refused(refused.why)),
        }
    }

    /// Reads the files, however they are, and puts their policy in force.
    fn read_now(&mut self, engine: &Engine, counts: &Mutex<Reloads>) -> Result<Option<Arc<str>>, Refused> {
        let read = catch_unwind(AssertUnwindSafe(|| {
            let (loaded, mark) = self.load.load_and_mark();
            (mark, loaded.and_then(with_scripts))
        }));
        let outcome = match read {
            Ok((mark, loaded)) => {
                (self.mark, self.pending) = (mark, None);
                self.judged(loaded)
            }
            Err(_) => Err(failed()),
        };
        self.put_in_force(engine, counts, outcome)
    }

    /// What was read, if it may take the place of what is in force.
    fn judged(&self, loaded: Result<Loaded, LoadError>) -> Result<Loaded, Refused> {
        let loaded = loaded.map_err(|error| {
            let why = match error.help() {
                Some(help) => format!("{error}\nhelp: {help}"),
                None => error.to_string(),
            };
            let problems = match &error {
                LoadError::Problems(reports) => reports.iter().flat_map(Report::plain).collect(),
                _ => Vec::new(),
            };
            Refused { why, problems }
        })?;
        match gone(&self.files, &loaded) {
            None => Ok(loaded),
            Some(file) => Err(Refused {
                why: format!(
                    "`{}` is gone, and without it less would be enforced\nhelp: put it back, or start anew",
                    file.display()
                ),
                problems: Vec::new(),
            }),
        }
    }

    fn put_in_force(
        &mut self,
        engine: &Engine,
        counts: &Mutex<Reloads>,
        outcome: Result<Loaded, Refused>,
    ) -> Result<Option<Arc<str>>, Refused> {
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(loaded) => {
                counts.last_error = None;
                self.files = loaded.source.0.iter().map(|pack| PathBuf::from(&pack.path)).collect();
                let before = engine.policy().revision().clone();
                engine.reload(loaded.policy, &loaded.source);
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
    fn changed(&mut self) -> Option<Result<Loaded, LoadError>> {
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
        self.mark = Mark::default();
        None
    }
}

/// A script that does not even load would block everything: what is in force stays.
fn with_scripts(loaded: Loaded) -> Result<Loaded, LoadError> {
    match loaded.script_problems(false) {
        problems if problems.is_empty() => Ok(loaded),
        problems => Err(LoadError::Problems(problems)),
    }
}

fn failed() -> Refused {
    Refused { why: "reading them failed in a way that it should not".to_owned(), problems: Vec::new() }
}

/// Puts on record what has become of requests that nobody answered. What fails is seen to by the next decision.
fn settle(engine: &Weak<Engine>) {
    let Some(engine) = engine.upgrade() else { return };
    match catch_unwind(AssertUnwindSafe(|| engine.settle_requests(None))) {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => log::error!("requests that are due could not be seen to: {error}"),
        Err(_) => log::error!("requests that are due could not be seen to"),
    }
}

/// Counts in the store, where everyone who looks at the fleet sees it.
fn count(engine: &Engine, name: &str) {
    if let Err(error) = engine.store().count(name, 1) {
        log::error!("a change of the packs could not be counted: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::{Effect, Entry, Event, Guardrail, Spec, Verdict};
    use serde_json::json;
    use std::fs;
    use std::path::{Path, PathBuf};

    struct World {
        folder: tempfile::TempDir,
        engine: Arc<Engine>,
        watch: Watch,
        counts: Mutex<Reloads>,
    }

    impl World {
        fn of(pack: &str) -> Self {
            World::with(&[("p.yaml", pack)], |folder| vec![folder.join("p.yaml")])
        }

        fn with(files: &[(&str, &str)], packs: impl Fn(&Path) -> Vec<PathBuf>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
            let load = Load { packs: packs(folder.path()), ..Load::default() };
            let Loaded { policy, source, mark, .. } = load.load().unwrap();
            let engine = Arc::new(Engine::builder(policy, &source).build().unwrap());
            let watch = Watch { load, mark, pending: None, files: engine.pack_files() };
            World { folder, engine, watch, counts: Mutex::default() }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.folder.path().join(name), text).unwrap();
        }

        fn look(&mut self) -> Option<Reload> {
            match self.watch.look(&Arc::downgrade(&self.engine), &self.counts) {
                Look::Changed(reload) => Some(reload),
                Look::Nothing => None,
                Look::EngineGone => panic!("the engine is gone"),
            }
        }

        /// Two looks at files that stay as they are.
        fn settle(&mut self) -> Option<Reload> {
            assert_eq!(self.look(), None, "a change was taken over at first sight");
            self.look()
        }

        fn effect(&self, tool: &str) -> Effect {
            self.engine.decide(Event::before_tool(tool, json!({}))).effect
        }

        fn counts(&self) -> Reloads {
            self.counts.lock().unwrap().clone()
        }
    }

    const NO_X: &str = "pack: p\nguardrails:\n  - {id: g, tools: x}\n";
    const NO_Y: &str = "pack: p\nguardrails:\n  - {id: g, tools: y}\n";

    #[test]
    fn a_changed_pack_is_taken_over_once() {
        let mut world = World::of(NO_X);
        assert_eq!((world.look(), world.look()), (None, None));
        world.write("p.yaml", NO_Y);
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        assert_eq!((world.effect("x"), world.effect("y")), (Effect::Allow, Effect::Block));
        assert_eq!((world.look(), world.look()), (None, None));
        assert_eq!(world.counts(), Reloads { applied: 1, ..Reloads::default() });
    }

    #[test]
    fn a_bad_pack_leaves_the_policy_and_is_counted_once() {
        let mut world = World::of(NO_X);
        world.write("p.yaml", "pack: p\nguardrail: []\n");
        let Some(Reload::Refused(why)) = world.settle() else { panic!("it was not refused") };
        assert!(why.contains("p.yaml:2:1"), "{why}");
        assert_eq!(world.effect("x"), Effect::Block);
        assert_eq!((world.look(), world.look()), (None, None));
        assert_eq!((world.counts().refused, world.counts().last_error.is_some()), (1, true));
        // As it was before: nothing is new, and nothing is wrong.
        world.write("p.yaml", NO_X);
        assert_eq!((world.settle(), world.effect("x")), (None, Effect::Block));
        assert_eq!(world.counts(), Reloads { refused: 1, ..Reloads::default() });
        world.write("p.yaml", NO_Y);
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        let counters = world.engine.store().counters().unwrap();
        assert_eq!((counters["reloads_refused"], counters["reloads_applied"]), (1, 1));
    }

    #[test]
    fn packs_can_be_read_at_once() {
        let mut world = World::of(NO_X);
        let engine = world.engine.clone();
        assert_eq!(world.watch.read_now(&engine, &world.counts), Ok(None));
        world.write("p.yaml", "pack: p\nguardrail: []\n");
        let refused = world.watch.read_now(&engine, &world.counts).unwrap_err();
        assert_eq!((refused.problems[0].line, refused.problems[0].column), (2, 1));
        assert_eq!(world.effect("x"), Effect::Block);
        world.write("p.yaml", NO_Y);
        assert!(world.watch.read_now(&engine, &world.counts).unwrap().is_some());
        assert_eq!((world.effect("x"), world.effect("y")), (Effect::Allow, Effect::Block));
        assert_eq!((world.look(), world.look()), (None, None));
        assert_eq!(world.counts(), Reloads { applied: 1, refused: 1, last_error: None });
    }

    #[test]
    fn a_file_that_is_being_written_is_waited_for() {
        let mut world = World::of(NO_X);
        // What is written first would be a policy of its own, and a weaker one.
        world.write("p.yaml", "pack: p\n");
        assert_eq!(world.look(), None);
        world.write("p.yaml", "pack: p\nguardrails: []\n");
        assert_eq!(world.look(), None);
        world.write("p.yaml", NO_Y);
        assert_eq!((world.look(), world.effect("x")), (None, Effect::Block));
        assert!(matches!(world.look(), Some(Reload::Applied(_))));
        assert_eq!((world.effect("x"), world.effect("y")), (Effect::Allow, Effect::Block));
        assert_eq!(world.counts().applied, 1);
    }

    #[test]
    fn a_pack_that_goes_leaves_the_policy() {
        let mut world = World::of(NO_X);
        fs::remove_file(world.folder.path().join("p.yaml")).unwrap();
        assert!(matches!(world.settle(), Some(Reload::Refused(_))));
        assert_eq!(world.effect("x"), Effect::Block);
        world.write("p.yaml", NO_Y);
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        assert_eq!((world.effect("y"), world.counts().last_error), (Effect::Block, None));
    }

    #[test]
    fn what_packs_build_on_is_watched() {
        let files = [("p.yaml", "pack: p\nextends: base.yaml\n"), ("base.yaml", NO_X)];
        let mut world = World::with(&files, |folder| vec![folder.join("p.yaml")]);
        assert_eq!(world.effect("x"), Effect::Block);
        world.write("base.yaml", "pack: [");
        assert!(matches!(world.settle(), Some(Reload::Refused(_))));
        assert_eq!(world.effect("x"), Effect::Block);
        world.write("base.yaml", NO_Y);
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        assert_eq!((world.effect("x"), world.effect("y")), (Effect::Allow, Effect::Block));
        // Where there was none, a file may come and take the place of a shipped pack.
        world.write("p.yaml", "pack: p\nextends: default\n");
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        assert_eq!(world.effect("y"), Effect::Allow);
        world.write("default", NO_Y);
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        assert_eq!(world.effect("y"), Effect::Block);
    }

    #[test]
    fn a_file_that_is_added_to_a_folder_counts() {
        let mut world = World::with(&[("p.yaml", NO_X)], |folder| vec![folder.to_owned()]);
        world.write("q.yaml", "pack: q\nguardrails:\n  - {id: h, tools: z}\n");
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        assert_eq!((world.effect("x"), world.effect("z")), (Effect::Block, Effect::Block));
        world.write("notes.txt", "no pack");
        assert_eq!((world.look(), world.look()), (None, None));
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
    fn what_a_program_did_survives() {
        struct NoZ;
        impl Guardrail for NoZ {
            fn check(&self, context: &midrail_core::Context<'_>) -> Result<Verdict, midrail_core::Fault> {
                let is_z = context.event.tool_name() == Some("z");
                Ok(if is_z { Verdict::block("not z") } else { Verdict::allow() })
            }
        }
        let mut world = World::of("pack: p\nguardrails:\n  - {id: g, tools: x}\n  - {id: h, tools: w}\n");
        world.engine.register(Entry { spec: Spec::new("own"), guardrail: Arc::new(NoZ) });
        assert!(world.engine.unregister("h"));
        world.write("p.yaml", "pack: p\nguardrails:\n  - {id: g, tools: y}\n  - {id: h, tools: w}\n");
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        for (tool, effect) in
            [("x", Effect::Allow), ("y", Effect::Block), ("z", Effect::Block), ("w", Effect::Allow)]
        {
            assert_eq!(world.effect(tool), effect, "{tool}");
        }
        assert!(world.engine.unregister("own"));
        world.write("p.yaml", NO_X);
        assert!(matches!(world.settle(), Some(Reload::Applied(_))));
        assert_eq!(world.effect("z"), Effect::Allow);
    }

    #[test]
    fn the_thread_takes_changes_over_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.yaml");
        fs::write(&path, NO_X).unwrap();
        let load = Load { packs: vec![path.clone()], ..Load::default() };
        let Loaded { policy, source, mark, .. } = load.load().unwrap();
        let engine = Arc::new(Engine::builder(policy, &source).build().unwrap());
        let (told, heard) = mpsc::channel();
        let listener = move |reload: &Reload| told.send(reload.clone()).unwrap();
        let reloader = Reloader::start(&engine, load, mark, listener).unwrap();
        fs::write(&path, NO_Y).unwrap();
        let revision = match heard.recv().unwrap() {
            Reload::Applied(revision) => revision,
            other => panic!("{other:?}"),
        };
        assert_eq!(*engine.policy().revision(), revision);
        assert_eq!(engine.decide(Event::before_tool("y", json!({}))).effect, Effect::Block);
        fs::write(&path, "pack:").unwrap();
        assert!(matches!(heard.recv().unwrap(), Reload::Refused(_)));
        assert_eq!((reloader.reloads().applied, reloader.reloads().refused), (1, 1));
        drop(reloader);
        assert!(heard.recv().is_err(), "the thread is still there");
    }

    /// Many events while the policy changes back and forth: each is decided by one of the two, and never by none.
    #[test]
    fn there_is_no_moment_without_a_policy() {
        let world = World::of(NO_X);
        let other = Load { packs: vec![world.folder.path().join("o.yaml")], ..Load::default() };
        world.write("o.yaml", "pack: p\nguardrails:\n  - {id: g, tools: [x, y]}\n");
        let engine = world.engine.clone();
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..40 {
                    let load = if round % 2 == 0 { &other } else { &world.watch.load };
                    let loaded = load.load().unwrap();
                    engine.reload(loaded.policy, &loaded.source);
                }
            });
            scope.spawn(|| (0..200).for_each(|_| assert_eq!(world.effect("x"), Effect::Block)));
        });
    }
}
