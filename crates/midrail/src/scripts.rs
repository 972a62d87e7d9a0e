//! Guardrails that people write in JavaScript: calls the hooks of a script, within limits of time, memory and reach.
//!
//! Each script has one realm a session, on a thread of its own (`realm.rs`). What a script may see of the world comes
//! through [`Host`] alone. What an answer leads to is none of its business.

mod desk;
mod error;
mod inbox;
mod modules;
mod natives;
mod prelude;
mod realm;
mod scan;
mod state;
#[cfg(test)]
mod tests;
mod turns;
mod types;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use midrail_core::HookEnd;
use serde_json::Value;

pub(crate) use error::ScriptError;
use inbox::{Inbox, Message, Reply, Request};
pub(crate) use types::declarations;

/// Realms that are kept. Beyond, the one that was not used for longest is dropped.
const MAX_REALMS: usize = 64;

/// Realms of one script in one session. Calls at the same time have one each, as they would in processes of their own: in
/// the same one each would see and keep what the others did to its variables.
const MAX_AT_ONCE: usize = 8;

/// How long a realm that is about to be free is waited for before another is made.
const SOON: Duration = Duration::from_millis(1);

/// Threads that did not stop when they were told to, and still run. Beyond, no script is called.
const MAX_STUCK: usize = 4;

/// How long after its time a call is waited for, so that the realm can say itself what was wrong.
const GRACE: Duration = Duration::from_secs(1);

/// The pieces in which that time is waited for.
const PIECES: u32 = 10;

/// How long an answer is waited for without sleep. Longer is no gain: whoever waits so takes from those who share its
/// core.
const AWAKE: Duration = Duration::from_micros(40);

/// How long a call is waited for without sleep that was announced.
const ROUSED: Duration = Duration::from_micros(200);

const NO_TURN: &str =
    "stopped: its time was up before it had its turn; another call of it in this session is busy";

/// Memory of a realm, unless the script's settings say otherwise.
pub(crate) const MEMORY: usize = 64 << 20;

/// Stack of a realm, unless the script's settings say otherwise.
pub(crate) const STACK: usize = 1 << 20;

/// Which function of a script is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Before a tool call.
    Input,
    /// With its result.
    Output,
}

impl Hook {
    /// The name that scripts give it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Hook::Input => "input",
            Hook::Output => "output",
        }
    }
}

/// How a command ended that a script ran.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Exec {
    pub(crate) exit_code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The world of one call, as far as a script may see it. What it answers is bounded by whoever implements it.
pub(crate) trait Host: Send + Sync {
    /// The text of a file.
    fn read_file(&self, path: &str) -> Result<String, String>;
    /// The checksum of a file, by a path as the script or as the agent has it. `None`: there is none.
    fn checksum(&self, path: &str, is_agents: bool) -> Result<Option<String>, String>;
    /// Runs a command and waits for it, no longer than this and no longer than until `stop` is set. It is called on a
    /// thread of its own.
    fn exec(&self, command: &str, within: Duration, stop: &AtomicBool) -> Result<Exec, String>;
    /// The one spelling of a file's path: the key of the snapshot.
    fn place(&self, path: &str) -> String;
    /// The checksum that a file had when it was read, by place. `None`: it was not read.
    fn read_before(&self, place: &str) -> Result<Option<String>, String>;
    /// All files that were read, by place. Asked for only when a script looks at all of them.
    fn all_read(&self) -> Result<BTreeMap<String, String>, String>;
    /// The messages of the conversation. Asked for only when a script looks at them.
    fn history(&self) -> Result<Vec<Value>, String>;
    /// The calls of the prompt so far, and what feedback providers said. Asked for only when a script looks at it.
    fn feedback(&self) -> Result<Value, String>;
    /// A line that the script printed.
    fn log(&self, level: log::Level, text: &str);
}

/// A call of a hook.
pub(crate) struct Call {
    pub(crate) hook: Hook,
    /// The tool's name.
    pub(crate) tool: String,
    pub(crate) args: Value,
    /// The tool's result, and whether it counts as an error.
    pub(crate) result: Option<(String, bool)>,
    pub(crate) working_directory: String,
    /// The script's variables as the session keeps them, as JSON. `None`: as the script begins.
    pub(crate) state: Option<String>,
    /// How long it may take, from now.
    pub(crate) within: Duration,
    pub(crate) host: Arc<dyn Host>,
}

/// A script.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// The guardrail that it is.
    pub(crate) id: Arc<str>,
    /// Its main file.
    pub(crate) path: PathBuf,
    /// Its text, where it is in no file.
    pub(crate) text: Option<String>,
    /// A digest of its text. A realm is made anew when it changes.
    pub(crate) digest: String,
    /// Bytes of memory that it may use.
    pub(crate) memory: usize,
    /// Bytes of stack that it may use.
    pub(crate) stack: usize,
}

impl Script {
    fn failed(&self, why: &str) -> ScriptError {
        ScriptError::of(&modules::label(&self.path), why)
    }
}

/// A call under way.
pub(crate) struct Begun {
    script: Script,
    inbox: Arc<Inbox>,
    answer: mpsc::Receiver<Reply>,
    deadline: Instant,
    only_load: bool,
}

/// All realms of an engine.
#[derive(Default)]
pub(crate) struct Scripts {
    realms: Mutex<Realms>,
    /// Threads that were given up.
    stuck: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Realms {
    by_owner: BTreeMap<Owner, Realm>,
    /// Counts uses, to tell which realm was not used for longest.
    uses: u64,
}

/// A script, a session, and which of its realms.
type Owner = (Arc<str>, String, usize);

/// A realm, seen from outside. Dropping it lets it end once its calls have.
struct Realm {
    path: PathBuf,
    digest: String,
    inbox: Arc<Inbox>,
    last_use: u64,
}

impl Drop for Realm {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

/// Commands of scripts that are under way in this process, and how to stop them.
static COMMANDS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

fn commands() -> MutexGuard<'static, Vec<Arc<AtomicBool>>> {
    COMMANDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command under way.
struct Running(Arc<AtomicBool>);

impl Running {
    fn new(stop: &Arc<AtomicBool>) -> Self {
        commands().push(Arc::clone(stop));
        Running(Arc::clone(stop))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        commands().retain(|stop| !Arc::ptr_eq(stop, &self.0));
    }
}

/// Waits for commands that were told to stop, so that the process does not end before they have.
fn await_commands() {
    let deadline = Instant::now() + GRACE;
    while commands().iter().any(|stop| stop.load(Ordering::Relaxed)) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
}

/// Stops all commands that scripts have started in this process, because it ends.
pub fn stop_commands() {
    for stop in commands().iter() {
        stop.store(true, Ordering::Relaxed);
    }
    await_commands();
}

impl Drop for Scripts {
    /// Commands that were told to stop are stopped before the process can end.
    fn drop(&mut self) {
        self.realms.lock().unwrap_or_else(PoisonError::into_inner).by_owner.clear();
        await_commands();
    }
}

impl Scripts {
    /// Calls a hook of a script, in the realm of a session. [`Scripts::end`] waits for the answer.
    pub(crate) fn begin(&self, script: Script, session: &str, call: Call) -> Result<Begun, ScriptError> {
        let deadline = Instant::now() + call.within;
        self.request(script, session, call, deadline, false)
    }

    /// Waits for the answer to a call.
    pub(crate) fn end(&self, begun: Begun, session: &str) -> Result<HookEnd, ScriptError> {
        let mut begun = begun;
        loop {
            match self.answer(&begun) {
                Ok(Reply::End(end)) => return end,
                // A realm may end before it comes to the call, which then is for the next one.
                Ok(Reply::NotStarted(call)) => {
                    let Begun { script, deadline, only_load, .. } = begun;
                    begun = self.request(script, session, *call, deadline, only_load)?;
                }
                Err(why) => return Err(begun.script.failed(why)),
            }
        }
    }

    /// What is wrong with a script: whether it loads, and whether it exports what it should. A dry run also calls each
    /// hook once, with a tool that nobody knows and without any files.
    pub(crate) fn check(path: &Path, dry_run: bool) -> Vec<ScriptError> {
        let scripts = Scripts::default();
        let id = Arc::from("check");
        let script = Script {
            id,
            path: path.to_owned(),
            text: None,
            digest: String::new(),
            memory: MEMORY,
            stack: STACK,
        };
        let call = |hook, only_load| {
            let call = Call {
                hook,
                tool: "midrail_dry_run".to_owned(),
                args: Value::Object(serde_json::Map::new()),
                result: (hook == Hook::Output).then(|| (String::new(), false)),
                working_directory: "/".to_owned(),
                state: None,
                within: Duration::from_secs(1),
                host: Arc::new(Nowhere),
            };
            let deadline = Instant::now() + call.within;
            let begun = scripts.request(script.clone(), "check", call, deadline, only_load);
            begun.and_then(|begun| scripts.end(begun, "check")).err()
        };
        if let Some(error) = call(Hook::Input, true) {
            return vec![error];
        }
        let hooks = if dry_run { [Hook::Input, Hook::Output].as_slice() } else { &[] };
        hooks.iter().filter_map(|hook| call(*hook, false)).collect()
    }

    fn request(
        &self,
        script: Script,
        session: &str,
        call: Call,
        deadline: Instant,
        only_load: bool,
    ) -> Result<Begun, ScriptError> {
        let mut waiting = call;
        loop {
            if self.stuck.load(Ordering::Relaxed) >= MAX_STUCK {
                return Err(script
                    .failed("not called: too many scripts hang in functions that cannot be interrupted"));
            }
            let Some(inbox) = self.free_realm(&script, session)? else {
                if Instant::now() >= deadline {
                    return Err(script.failed(NO_TURN));
                }
                thread::sleep(SOON);
                continue;
            };
            let (reply, answer) = mpsc::sync_channel(1);
            let request = Request { call: waiting, deadline, only_load, reply };
            waiting = match inbox.push(Message::Call(Box::new(request))) {
                Ok(()) => return Ok(Begun { script, inbox, answer, deadline, only_load }),
                Err(Message::Call(request)) => request.call,
                Err(Message::Ended { .. }) => return Err(script.failed(NO_TURN)),
            };
            if Instant::now() >= deadline {
                return Err(script.failed(NO_TURN));
            }
        }
    }

    /// Waits for an answer.
    fn answer(&self, begun: &Begun) -> Result<Reply, &'static str> {
        // Most hooks answer sooner than a thread that sleeps is woken.
        if let Some(reply) = watch::watch(AWAKE, || begun.answer.try_recv().ok()) {
            return Ok(reply);
        }
        let mut found = begun.answer.recv_timeout(begun.deadline.saturating_duration_since(Instant::now()));
        // In pieces: where the whole process was stopped for a while, the realm gets the rest of it.
        for _ in 0..PIECES {
            if matches!(found, Err(RecvTimeoutError::Timeout)) {
                found = begun.answer.recv_timeout(GRACE / PIECES);
            }
        }
        match found {
            Ok(reply) => Ok(reply),
            Err(RecvTimeoutError::Disconnected) => Err("ended without an answer"),
            Err(RecvTimeoutError::Timeout) => {
                if begun.inbox.give_up(&self.stuck, GRACE) {
                    return Err("stopped: it took too long, in a function that cannot be interrupted");
                }
                Err(NO_TURN)
            }
        }
    }

    /// Wakes those of these scripts that have a realm in a session: they are about to be called.
    pub(crate) fn rouse(&self, scripts: &[Arc<str>], session: &str) {
        if scripts.is_empty() {
            return;
        }
        let realms = self.realms.lock().unwrap_or_else(PoisonError::into_inner);
        for script in scripts {
            if let Some(realm) = realms.by_owner.get(&(Arc::clone(script), session.to_owned(), 0)) {
                realm.inbox.rouse();
            }
        }
    }

    /// A realm of a script in a session that has nothing to do, new where there is none. `None`: all that it may have are
    /// busy.
    fn free_realm(&self, script: &Script, session: &str) -> Result<Option<Arc<Inbox>>, ScriptError> {
        for at in 0..MAX_AT_ONCE {
            let mut found = self.realm(script, session, at)?;
            if at == 0 && found.is_none() {
                // Most calls are over sooner than another realm is made.
                thread::sleep(SOON);
                found = self.realm(script, session, at)?;
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// One of the realms of a script in a session, reserved for a call, unless it is busy. It is made where there is none
    /// that fits.
    fn realm(&self, script: &Script, session: &str, at: usize) -> Result<Option<Arc<Inbox>>, ScriptError> {
        let mut realms = self.realms.lock().unwrap_or_else(PoisonError::into_inner);
        realms.uses += 1;
        let last_use = realms.uses;
        let owner = (Arc::clone(&script.id), session.to_owned(), at);
        if let Some(realm) = realms.by_owner.get_mut(&owner) {
            let fits = realm.path == script.path && realm.digest == script.digest && realm.inbox.is_open();
            if fits {
                realm.last_use = last_use;
                return Ok(realm.inbox.reserve().then(|| Arc::clone(&realm.inbox)));
            }
        }
        realms.by_owner.remove(&owner);
        realms.make_room();
        let inbox = Arc::new(Inbox::default());
        inbox.reserve();
        let (theirs, its_script) = (Arc::clone(&inbox), script.clone());
        thread::Builder::new()
            .name("midrail-script".to_owned())
            // The engine's own frames and the C functions between them come on top.
            .stack_size(script.stack.saturating_add(1 << 20))
            .spawn(move || realm::run(&its_script, &theirs))
            .map_err(|error| {
                ScriptError::of(&modules::label(&script.path), format!("no thread to run in: {error}"))
            })?;
        let realm = Realm {
            path: script.path.clone(),
            digest: script.digest.clone(),
            inbox: Arc::clone(&inbox),
            last_use,
        };
        realms.by_owner.insert(owner, realm);
        Ok(Some(inbox))
    }
}

impl Realms {
    /// Drops realms that nobody is waiting for, until there is room for one more.
    fn make_room(&mut self) {
        self.by_owner.retain(|_, realm| realm.inbox.is_open());
        while self.by_owner.len() >= MAX_REALMS {
            let idle = self.by_owner.iter().filter(|(_, realm)| !realm.inbox.is_busy());
            let Some(owner) = idle.min_by_key(|(_, realm)| realm.last_use).map(|(owner, _)| owner.clone())
            else {
                return;
            };
            self.by_owner.remove(&owner);
        }
    }
}

/// The world of a dry run: there is nothing in it.
struct Nowhere;

impl Host for Nowhere {
    fn read_file(&self, path: &str) -> Result<String, String> {
        Err(format!("there is no file `{path}` in a dry run"))
    }
    fn checksum(&self, _: &str, _: bool) -> Result<Option<String>, String> {
        Ok(None)
    }
    fn exec(&self, _: &str, _: Duration, _: &AtomicBool) -> Result<Exec, String> {
        Ok(Exec::default())
    }
    fn place(&self, path: &str) -> String {
        path.to_owned()
    }
    fn read_before(&self, _: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
    fn all_read(&self) -> Result<BTreeMap<String, String>, String> {
        Ok(BTreeMap::new())
    }
    fn history(&self) -> Result<Vec<Value>, String> {
        Ok(Vec::new())
    }
    fn feedback(&self) -> Result<Value, String> {
        Ok(Value::Object(serde_json::Map::new()))
    }
    fn log(&self, _: log::Level, _: &str) {}
}
