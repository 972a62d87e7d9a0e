//! Guardrails in JavaScript: calls the hooks of a script within limits of time and memory.
//!
//! Each script has one realm for each session, on a thread of its own (`realm.rs`). It sees the outside only through
//! [`Host`].

#[cfg(feature = "scripts")]
mod activity;
mod call;
mod commands;
mod inbox;
#[cfg(feature = "scripts")]
mod modules;
#[cfg(feature = "scripts")]
mod natives;
#[cfg(feature = "scripts")]
mod prelude;
#[cfg(feature = "scripts")]
mod realm;
#[cfg(feature = "scripts")]
mod scan;
#[cfg(test)]
#[cfg(feature = "scripts")]
mod tests;
#[cfg(feature = "scripts")]
mod turns;

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use midrail_core::HookOutcome;
use serde_json::Value;

pub(crate) use call::{Call, Hook, Host, STACK, Script, ScriptError};
use commands::await_commands;
pub use commands::stop_script_commands;
use inbox::{Inbox, Message, Reply, Request, watch};

/// The TypeScript types of a script and of its `ctx`.
pub(crate) const TYPES: &str = include_str!("../../../schema/guardrails.d.ts");

/// The most realms. Beyond it, the least recently used one is dropped.
const MAX_REALMS: usize = 64;

/// The most realms of one script in one session. Concurrent calls have one each, so that they do not see each other's
/// variables.
const MAX_AT_ONCE: usize = 8;

/// How long to wait for a busy realm before another is created.
const SOON: Duration = Duration::from_millis(1);

/// The most threads that cannot be stopped. Beyond it, no script is called.
const MAX_STUCK: usize = 4;

/// How long after its timeout a call is waited for, so that the realm can report the problem itself.
const GRACE: Duration = Duration::from_secs(1);

/// The pieces in which that time is waited for.
const PIECES: u32 = 10;

/// How long an answer is awaited without sleeping. Longer would take time from other threads of the core.
const AWAKE: Duration = Duration::from_micros(40);

const NO_TURN: &str =
    "stopped: its time was up before it had its turn; another call of it in this session is busy";

/// A running call.
pub(crate) struct StartedCall {
    script: Script,
    inbox: Arc<Inbox>,
    answer: mpsc::Receiver<Reply>,
    deadline: Instant,
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
    /// Counts uses, to find the least recently used realm.
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

impl Drop for Scripts {
    /// Waits for stopped commands, so that they end before the process does.
    fn drop(&mut self) {
        self.realms.lock().by_owner.clear();
        await_commands();
    }
}

impl Scripts {
    /// Calls a hook of a script, in the realm of a session. [`Scripts::end`] waits for the answer.
    pub(crate) fn begin(
        &self,
        script: Script,
        session: &str,
        call: Call,
    ) -> Result<StartedCall, ScriptError> {
        let deadline = Instant::now() + call.within;
        self.request(script, session, call, deadline)
    }

    /// Waits for the answer to a call.
    pub(crate) fn end(&self, started: StartedCall, session: &str) -> Result<HookOutcome, ScriptError> {
        let mut started = started;
        loop {
            match self.answer(&started) {
                Ok(Reply::End(end)) => return *end,
                // A realm may end before it starts the call, which then goes to the next realm.
                Ok(Reply::NotStarted(call)) => {
                    let StartedCall { script, deadline, .. } = started;
                    started = self.request(script, session, *call, deadline)?;
                }
                Err(why) => return Err(started.script.failed(why)),
            }
        }
    }

    /// What is wrong with a script: whether it loads, and whether it exports what it should. A dry run also calls each
    /// hook once, with an unknown tool and without any files.
    pub(crate) fn check(path: &Path, dry_run: bool) -> Vec<ScriptError> {
        let scripts = Scripts::default();
        let id = Arc::from("check");
        let script = Script {
            id,
            path: path.to_owned(),
            text: None,
            digest: String::new(),
            memory: call::MEMORY,
            stack: STACK,
        };
        let call = |hook| {
            let call = Call {
                hook,
                tool: "midrail_dry_run".to_owned(),
                args: Value::Object(serde_json::Map::new()),
                result: (hook == Hook::Output).then(|| (String::new(), false)),
                working_directory: "/".to_owned(),
                state: None,
                within: Duration::from_secs(1),
                host: Arc::new(EmptyHost),
            };
            let started = scripts.begin(script.clone(), "check", call);
            started.and_then(|started| scripts.end(started, "check")).err()
        };
        if let Some(error) = call(Hook::Load) {
            return vec![error];
        }
        let hooks = if dry_run { [Hook::Input, Hook::Output].as_slice() } else { &[] };
        hooks.iter().filter_map(|hook| call(*hook)).collect()
    }

    fn request(
        &self,
        script: Script,
        session: &str,
        call: Call,
        deadline: Instant,
    ) -> Result<StartedCall, ScriptError> {
        if cfg!(not(feature = "scripts")) {
            return Err(script.failed("not called: this build lacks the Cargo feature `scripts`"));
        }
        let mut waiting = call;
        loop {
            if self.stuck.load(Ordering::Relaxed) >= MAX_STUCK {
                return Err(script
                    .failed("not called: too many scripts hang in functions that cannot be interrupted"));
            }
            if let Some(inbox) = self.free_realm(&script, session)? {
                let (reply, answer) = mpsc::sync_channel(1);
                let request = Request { call: waiting, deadline, reply };
                waiting = match inbox.push(Message::Call(Box::new(request))) {
                    Ok(()) => return Ok(StartedCall { script, inbox, answer, deadline }),
                    Err(Message::Call(request)) => request.call,
                    Err(Message::Ended { .. }) => return Err(script.failed(NO_TURN)),
                };
            } else {
                thread::sleep(SOON);
            }
            if Instant::now() >= deadline {
                return Err(script.failed(NO_TURN));
            }
        }
    }

    /// Waits for an answer.
    fn answer(&self, started: &StartedCall) -> Result<Reply, &'static str> {
        // Most hooks answer sooner than a thread that sleeps is woken.
        if let Some(reply) = watch(AWAKE, || started.answer.try_recv().ok()) {
            return Ok(reply);
        }
        let mut found =
            started.answer.recv_timeout(started.deadline.saturating_duration_since(Instant::now()));
        // In pieces: where the whole process was stopped for a while, the realm gets the rest of it.
        for _ in 0..PIECES {
            if matches!(found, Err(RecvTimeoutError::Timeout)) {
                found = started.answer.recv_timeout(GRACE / PIECES);
            }
        }
        match found {
            Ok(reply) => Ok(reply),
            Err(RecvTimeoutError::Disconnected) => Err("ended without an answer"),
            Err(RecvTimeoutError::Timeout) => {
                if started.inbox.give_up(&self.stuck, GRACE) {
                    return Err("stopped: it took too long, in a function that cannot be interrupted");
                }
                Err(NO_TURN)
            }
        }
    }

    /// Wakes the realms of scripts that will probably be called.
    pub(crate) fn prewarm(&self, scripts: &[Arc<str>], session: &str) {
        if scripts.is_empty() {
            return;
        }
        let realms = self.realms.lock();
        for script in scripts {
            if let Some(realm) = realms.by_owner.get(&(Arc::clone(script), session.to_owned(), 0)) {
                realm.inbox.prewarm();
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
        let mut realms = self.realms.lock();
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
            .spawn(move || run(&its_script, &theirs))
            .map_err(|error| script.failed(&format!("no thread to run in: {error}")))?;
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

#[cfg(feature = "scripts")]
use realm::run;

/// Ends at once, because this build has no JavaScript engine.
#[cfg(not(feature = "scripts"))]
fn run(_: &Script, inbox: &Inbox) {
    inbox.end();
}

impl Realms {
    /// Drops idle realms until there is room for one more.
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

/// The host of a dry run.
struct EmptyHost;

impl Host for EmptyHost {}
