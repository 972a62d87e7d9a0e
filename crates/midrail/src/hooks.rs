//! Runs the hooks of scripts for an event, and shows them of the world what they may see.

mod discretion;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use midrail_core::{
    Event, EventKind, Fact, FactKey, Facts, FileState, HookAnswer, HookCall, HookEnd, Policy, hex,
};
use midrail_detect::secrets::Mask;
use midrail_guardrails::{
    HISTORY, HISTORY_COUNT, HISTORY_USER, SNAPSHOT, Script, feedback_keys, feedback_told, history_key,
    message_kept, snapshot_key,
};
use midrail_store::Store;
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::discretion::Discretion;
use crate::approvals::{sentence, substantive};
use crate::engine::{Engine, ScriptOutput};
use crate::files::Files;
use crate::scripts::{self, Call, Exec, Hook, Host};

/// The event that a hook is run for, and what is known around it.
pub(crate) struct Occasion<'w> {
    pub(crate) engine: &'w Engine,
    pub(crate) policy: &'w Policy,
    pub(crate) event: &'w Event,
    pub(crate) session: &'w str,
    pub(crate) facts: &'w Facts,
    /// What was found secret in the event.
    pub(crate) mask: &'w Mask,
    /// The slices of a session that is being put back.
    pub(crate) restored: Option<&'w BTreeMap<String, Value>>,
}

impl Occasion<'_> {
    /// Runs a hook of a script whose variables are kept so.
    pub(crate) fn run(&self, hook: &HookCall, kept: Option<Value>) -> Fact {
        self.begin(hook, kept).map_or_else(|fact| *fact, |begun| self.end(begun))
    }

    /// Calls a hook of a script whose variables are kept so. What can be said without a call comes back at once.
    pub(crate) fn begin(&self, hook: &HookCall, kept: Option<Value>) -> Result<Begun, Box<Fact>> {
        let failed = |why: String| Box::new(Fact::Unavailable(why));
        let settings = self.policy.get(&hook.script).and_then(|entry| entry.guardrail.outside());
        let Some(settings) = settings.and_then(|settings| settings.downcast::<Script>().ok()) else {
            return Err(failed(format!("`{}` is no script of this policy", hook.script)));
        };
        let (which, within, result) = match self.event.kind {
            EventKind::BeforeTool => (Hook::Input, settings.input_timeout, None),
            EventKind::AfterTool => {
                (Hook::Output, settings.output_timeout, Some(self.result_after(&hook.after)))
            }
            _ => return Err(Box::new(Fact::Hook(HookEnd::pass()))),
        };
        let opened = kept.map(|kept| self.discretion().opened(&hook.script, kept)).transpose();
        let (state, is_sealed) = opened.map_err(failed)?.unzip();
        let (tool, leave) = (self.event.tool.as_ref(), Arc::default());
        let call = Call {
            hook: which,
            tool: tool.map(|tool| tool.name.clone()).unwrap_or_default(),
            args: tool.map(|tool| Value::Object(tool.args.clone())).unwrap_or_default(),
            result,
            working_directory: self.facts.root.clone().unwrap_or_default(),
            state,
            within: self.engine.time_for_script(within.duration()),
            host: Arc::new(self.sight(&hook.script, &leave)),
        };
        let begun = self.engine.scripts().begin(source(&hook.script, &settings), self.session, call);
        let call = begun.map_err(|error| failed(error.to_string()))?;
        let (leave, began, is_sealed) = (Asked(leave), Instant::now(), is_sealed.unwrap_or(false));
        Ok(Begun { script: hook.script.clone(), is_sealed, call, leave, began })
    }

    /// What a script answers that was called.
    pub(crate) fn end(&self, begun: Begun) -> Fact {
        begun.leave.grant();
        let end = match self.engine.scripts().end(begun.call, self.session) {
            Ok(end) => self.discretion().of(&begun.script, end, begun.is_sealed),
            Err(error) => Err(self.discretion().told(&error.to_string())),
        };
        match end {
            Ok(end) => Fact::Hook(asking_well(end)),
            Err(why) => Fact::Unavailable(why),
        }
    }

    fn discretion(&self) -> Discretion<'_> {
        Discretion { engine: self.engine, mask: self.mask }
    }

    /// The result as those before left it, and whether it is an error.
    fn result_after(&self, after: &[Arc<str>]) -> (String, bool) {
        let result = self.event.result.as_ref();
        let is_error = result
            .is_some_and(|result| result.ok == Some(false) || result.exit_code.is_some_and(|code| code != 0));
        if let Some((script, before)) = after.split_last() {
            let key = FactKey::Hook(HookCall { script: script.clone(), after: before.to_vec() });
            if let Some(Fact::Hook(HookEnd {
                answer: HookAnswer::Replace { result, is_error: marked },
                ..
            })) = self.facts.get(&key)
            {
                let (_, was_error) = self.result_after(before);
                return (result.clone(), *marked || was_error);
            }
        }
        let content = match result.and_then(|result| result.content.as_ref()) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        (content, is_error)
    }

    fn sight(&self, script: &Arc<str>, leave: &Arc<Leave>) -> Sight {
        let is_main = self.event.parent.as_deref().is_none_or(str::is_empty);
        Sight {
            script: script.clone(),
            leave: Arc::clone(leave),
            output: self.engine.script_output(),
            prompt: self.event.prompt.clone(),
            deadline: self.event.deadline,
            store: self.engine.store().clone(),
            files: self.engine.shared_files(),
            root: self.facts.root.as_ref().map(PathBuf::from),
            cwd: self.event.cwd.clone(),
            session: self.session.to_owned(),
            restored: self.restored.cloned(),
            // A sub-agent's conversation is its own.
            history: self.event.history.clone().filter(|_| is_main),
        }
    }
}

/// An answer whose request, where there is one, tells a person something. One that says nothing is not made, and the refusal
/// stands: what it says may well come from the agent.
fn asking_well(mut end: HookEnd) -> HookEnd {
    let HookAnswer::Refuse { suggestion, request, .. } = &mut end.answer else { return end };
    let Some(asked) = request.take() else { return end };
    match substantive(&asked.reason) {
        Ok(()) => *request = Some(asked),
        Err(why) => {
            let instead = suggestion.take().map(|text| format!("{} ", sentence(&text))).unwrap_or_default();
            *suggestion = Some(format!("{instead}Nobody was asked to let it pass: {why}."));
        }
    }
    end
}

fn source(id: &Arc<str>, script: &Script) -> scripts::Script {
    let digest = match (&script.digest, &script.code) {
        (Some(digest), _) => digest.clone(),
        (None, code) => hex(&Sha256::digest(code.as_deref().unwrap_or_default())),
    };
    let mebibytes = usize::try_from(script.memory_mb).unwrap_or(usize::MAX);
    scripts::Script {
        id: id.clone(),
        path: script.file.as_ref().map_or_else(|| PathBuf::from(format!("{id}.js")), PathBuf::from),
        text: script.code.clone(),
        digest,
        memory: mebibytes.saturating_mul(1 << 20),
        stack: scripts::STACK,
    }
}

/// A hook that was called. Where nobody waits for its end, nothing of it has reached the outside.
pub(crate) struct Begun {
    script: Arc<str>,
    /// Its variables are sealed where they are kept.
    is_sealed: bool,
    call: scripts::Begun,
    leave: Asked,
    began: Instant,
}

impl Begun {
    /// Whether it was called only now. Else its time may be up before it could do anything.
    pub(crate) fn is_recent(&self) -> bool {
        self.began.elapsed() < AHEAD
    }
}

/// How long a hook may be called before its answer is asked for.
const AHEAD: Duration = Duration::from_millis(50);

/// Whether a hook is asked for after all. It may be called before that is known, and then prints nothing and runs no
/// command until it is.
#[derive(Default)]
struct Leave {
    answer: Mutex<Granted>,
    bell: Condvar,
}

#[derive(Default)]
struct Granted {
    is_granted: Option<bool>,
    /// Most scripts never ask, and to ring for nobody takes longer than to decide.
    is_awaited: bool,
}

impl Leave {
    /// The first word counts.
    fn decide(&self, is_granted: bool) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.is_granted.get_or_insert(is_granted);
        if answer.is_awaited {
            self.bell.notify_all();
        }
    }

    /// Waits until it is known. Whoever decides it is in the middle of an event, and never waits for this.
    fn is_granted(&self) -> bool {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(is_granted) = answer.is_granted {
                return is_granted;
            }
            answer.is_awaited = true;
            answer = self.bell.wait(answer).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Whoever may grant the leave. Once they are gone without that, it is denied.
struct Asked(Arc<Leave>);

impl Asked {
    fn grant(&self) {
        self.0.decide(true);
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.decide(false);
    }
}

/// What a script may see of the world.
struct Sight {
    script: Arc<str>,
    leave: Arc<Leave>,
    store: Arc<dyn Store>,
    files: Arc<Files>,
    root: Option<PathBuf>,
    cwd: Option<String>,
    session: String,
    restored: Option<BTreeMap<String, Value>>,
    history: Option<Vec<Value>>,
    output: Option<Arc<ScriptOutput>>,
    prompt: Option<String>,
    deadline: Option<Timestamp>,
}

impl Sight {
    fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The place of a file inside the working directory, wherever links lead. A script's own paths are those of that folder;
    /// an agent's are those of the one that it is in.
    fn inside(&self, path: &str, is_agents: bool) -> Result<String, String> {
        match self.files.place(self.root(), self.cwd.as_deref().filter(|_| is_agents), path) {
            Fact::Place(place)
                if place.starts_with(['/', '~']) || place == ".." || place.starts_with("../") =>
            {
                Err(format!("`{path}` lies outside of the working directory"))
            }
            Fact::Place(place) => Ok(place),
            Fact::Unavailable(why) => Err(why),
            _ => Err(format!("where `{path}` leads is not known")),
        }
    }

    fn slices(&self, keys: &[&str]) -> Result<Vec<Option<Value>>, String> {
        if let Some(restored) = &self.restored {
            return Ok(keys.iter().map(|key| restored.get(*key).cloned()).collect());
        }
        let slices = self.store.load(&self.session, keys).map_err(|error| error.to_string())?;
        Ok(slices.into_iter().map(|slice| slice.value).collect())
    }
}

impl Host for Sight {
    fn read_file(&self, path: &str) -> Result<String, String> {
        let place = self.inside(path, false)?;
        self.files.read(self.root(), &place).map_err(|error| format!("`{path}` could not be read: {error}"))
    }

    fn checksum(&self, path: &str, is_agents: bool) -> Result<Option<String>, String> {
        let place = self.inside(path, is_agents)?;
        match self.files.probe(self.root(), &place) {
            Fact::File(FileState::File { checksum }) => Ok(Some(bare(&checksum))),
            Fact::File(FileState::Absent) => Ok(None),
            Fact::File(FileState::Special) => Err(format!("`{path}` is no ordinary file")),
            Fact::Unavailable(why) => Err(why),
            _ => Err(format!("the state of `{path}` is not known")),
        }
    }

    fn exec(&self, command: &str, within: Duration, stop: &AtomicBool) -> Result<Exec, String> {
        if !self.leave.is_granted() {
            return Err("not run: nobody needs the answer".to_owned());
        }
        self.files.exec(self.root(), command, within, stop)
    }

    fn place(&self, path: &str) -> String {
        let place = |cwd| match self.files.place(self.root(), cwd, path) {
            Fact::Place(place) => place,
            _ => path.to_owned(),
        };
        let (near, far) = (place(self.cwd.as_deref()), place(None));
        // A name that stands for nothing where the agent is may be one that the snapshot gave.
        let is_nothing = near != far
            && matches!(self.files.probe(self.root(), &near), Fact::File(FileState::Absent))
            && !matches!(self.read_before(&near), Ok(Some(_)));
        if is_nothing { far } else { near }
    }

    fn read_before(&self, place: &str) -> Result<Option<String>, String> {
        let found = self.slices(&[&snapshot_key(place)])?.into_iter().next().flatten();
        Ok(found.as_ref().and_then(Value::as_str).map(bare))
    }

    fn all_read(&self) -> Result<BTreeMap<String, String>, String> {
        let all = match &self.restored {
            Some(restored) => restored.clone(),
            None => self.store.load_prefix(&self.session, SNAPSHOT).map_err(|error| error.to_string())?,
        };
        let entry = |(key, value): (String, Value)| {
            Some((key.strip_prefix(SNAPSHOT)?.to_owned(), bare(value.as_str()?)))
        };
        Ok(all.into_iter().filter_map(entry).collect())
    }

    fn history(&self) -> Result<Vec<Value>, String> {
        if let Some(history) = &self.history {
            return Ok(history.clone());
        }
        let count = self.slices(&[HISTORY_COUNT])?.into_iter().next().flatten();
        let count = count.as_ref().and_then(Value::as_u64).unwrap_or(0);
        let last: Vec<String> = (count.saturating_sub(HISTORY)..count).map(history_key).collect();
        let keys: Vec<&str> = [HISTORY_USER].into_iter().chain(last.iter().map(String::as_str)).collect();
        let mut messages = self.slices(&keys)?.into_iter().map(|slice| slice.and_then(message_kept));
        let user = messages.next().flatten();
        let mut messages: Vec<Value> = messages.flatten().collect();
        if !messages.iter().any(|message| message["role"] == "user") {
            messages.splice(0..0, user);
        }
        Ok(messages)
    }

    fn feedback(&self) -> Result<Value, String> {
        let [calls, last] = feedback_keys(self.prompt.as_deref());
        let mut slices = self.slices(&[&calls, &last])?.into_iter();
        let (calls, last) = (slices.next().flatten(), slices.next().flatten());
        let mut told = feedback_told(calls.as_ref(), last.as_ref());
        if let Value::Object(told) = &mut told {
            told.insert("deadline".to_owned(), self.deadline.map(|time| time.to_string()).into());
            told.insert("session".to_owned(), self.session.as_str().into());
            told.insert("prompt".to_owned(), self.prompt.clone().into());
        }
        Ok(told)
    }

    fn log(&self, level: log::Level, text: &str) {
        if !self.leave.is_granted() {
            return;
        }
        match &self.output {
            Some(hear) => hear(text),
            None => log::log!(target: "midrail::script", level, "{}: {text}", self.script),
        }
    }
}

/// A checksum as scripts have it: the digits alone.
fn bare(checksum: &str) -> String {
    checksum.strip_prefix("sha256:").unwrap_or(checksum).to_owned()
}
