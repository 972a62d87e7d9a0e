//! Runs the hooks of scripts for an event, and gives them access to what they may see. Secrets in what scripts return are replaced by tags;
//! variables with secrets are sealed, because tags would change the state of a script.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use midrail_core::{
    Event, EventKind, Fact, FactKey, Facts, FileState, HookAnswer, HookCall, HookOutcome, Policy, hex,
};
use midrail_guardrails::{
    HISTORY_COUNT_KEY, LAST_USER_MESSAGE_KEY, MAX_HISTORY_MESSAGES, MODULE_STATE, SNAPSHOT_PREFIX, Script,
    feedback_slice_keys, feedback_view, history_key, parse_message, snapshot_key,
};
use midrail_scan::secrets::{self, Mask};
use midrail_store::Store;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::approvals::{check_justification, sentence};
use crate::engine::{Engine, ScriptOutput};
use crate::error::Available;
use crate::files::{Files, Lookup};
use crate::probes::Exec;
use crate::scripts::{self, Call, Hook, Host};
use crate::seal;

/// The event that a hook is run for, and what is known around it.
pub(crate) struct HookContext<'w> {
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

impl HookContext<'_> {
    /// Runs a hook of a script with its stored variables.
    pub(crate) fn run(&self, hook: &HookCall, kept: Option<Value>) -> Fact {
        self.start(hook, kept).map_or_else(|fact| *fact, |started| self.finish(started))
    }

    /// Starts a hook of a script with its stored variables. An error is the fact that needs no call.
    pub(crate) fn start(&self, hook: &HookCall, kept: Option<Value>) -> Result<StartedHook, Box<Fact>> {
        let failed = |why: String| Box::new(Fact::Unavailable(why));
        let settings = self.policy.get(&hook.script).and_then(|entry| entry.guardrail.external_request());
        let Some(settings) = settings.and_then(|settings| settings.downcast::<Script>().ok()) else {
            return Err(failed(format!("`{}` is no script of this policy", hook.script)));
        };
        let (which, within, result) = match self.event.kind {
            EventKind::BeforeTool => (Hook::Input, settings.input_timeout, None),
            EventKind::AfterTool => {
                (Hook::Output, settings.output_timeout, Some(self.result_after(&hook.after)))
            }
            _ => return Err(Box::new(Fact::Hook(HookOutcome::pass()))),
        };
        let opened = kept.map(|kept| self.opened(&hook.script, kept)).transpose();
        let (state, is_sealed) = opened.map_err(|error| failed(error.to_string()))?.unzip();
        let (tool, permission) = (self.event.tool.as_ref(), Arc::default());
        let call = Call {
            hook: which,
            tool: tool.map(|tool| tool.name.clone()).unwrap_or_default(),
            args: tool.map(|tool| Value::Object(tool.args.clone())).unwrap_or_default(),
            result,
            working_directory: self.facts.root.clone().unwrap_or_default(),
            state,
            within: self.engine.script_timeout(within.duration()),
            host: Arc::new(self.hook_host(&hook.script, &permission)),
        };
        let started = self.engine.scripts.begin(source(&hook.script, &settings), self.session, call);
        let call = started.map_err(|error| failed(error.to_string()))?;
        let (permission, began, is_sealed) =
            (PermissionGuard(permission), Instant::now(), is_sealed.unwrap_or(false));
        Ok(StartedHook { script: hook.script.clone(), is_sealed, call, permission, began })
    }

    /// Waits for the answer of a hook that was started.
    pub(crate) fn finish(&self, started: StartedHook) -> Fact {
        started.permission.grant();
        let end = match self.engine.scripts.end(started.call, self.session) {
            Ok(end) => self.redact(&started.script, end, started.is_sealed),
            Err(error) => Err(self.shown(&error.to_string()).into()),
        };
        end.map_or_else(Fact::from, |end| Fact::Hook(with_justified_request(end)))
    }

    /// The result as earlier scripts left it, and whether it is an error.
    fn result_after(&self, after: &[Arc<str>]) -> (String, bool) {
        let result = self.event.result.as_ref();
        let is_error = result
            .is_some_and(|result| result.ok == Some(false) || result.exit_code.is_some_and(|code| code != 0));
        if let Some((script, before)) = after.split_last() {
            let key = FactKey::Hook(HookCall { script: script.clone(), after: before.to_vec() });
            if let Some(Fact::Hook(HookOutcome {
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

    fn hook_host(&self, script: &Arc<str>, permission: &Arc<Permission>) -> HookHost {
        let is_main = self.event.parent.as_deref().is_none_or(str::is_empty);
        HookHost {
            script: script.clone(),
            permission: Arc::clone(permission),
            output: self.engine.script_output.clone(),
            prompt: self.event.prompt.clone(),
            deadline: self.event.deadline,
            store: self.engine.store().clone(),
            files: self.engine.files.clone(),
            root: self.facts.root.as_ref().map(PathBuf::from),
            cwd: self.event.cwd.clone(),
            session: self.session.to_owned(),
            restored: self.restored.cloned(),
            // A sub-agent's conversation is its own.
            history: self.event.history.clone().filter(|_| is_main),
        }
    }
}

/// The answer without a request that has no justification: its reason may come from the agent. The refusal holds.
fn with_justified_request(mut end: HookOutcome) -> HookOutcome {
    let HookAnswer::Refuse { suggestion, request, .. } = &mut end.answer else { return end };
    let Some(asked) = request.take() else { return end };
    match check_justification(&asked.reason) {
        Ok(()) => *request = Some(asked),
        Err(why) => {
            let instead = suggestion.take().map(|text| format!("{} ", sentence(&text))).unwrap_or_default();
            *suggestion = Some(format!("{instead}No approval was requested: {why}."));
        }
    }
    end
}

fn source(id: &Arc<str>, script: &Script) -> scripts::Script {
    let digest = match (&script.digest, &script.code) {
        (Some(digest), _) => digest.clone(),
        (None, code) => hex::encode(&Sha256::digest(code.as_deref().unwrap_or_default())),
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

/// A hook that was started. If its answer is not needed, it has no effect outside.
pub(crate) struct StartedHook {
    script: Arc<str>,
    /// Whether its stored variables are sealed.
    is_sealed: bool,
    call: scripts::StartedCall,
    permission: PermissionGuard,
    began: Instant,
}

impl StartedHook {
    /// Whether it was started recently. Otherwise its time may be up before it could do anything.
    pub(crate) fn is_recent(&self) -> bool {
        self.began.elapsed() < AHEAD
    }
}

/// How long before its answer is needed a hook may be started.
const AHEAD: Duration = Duration::from_millis(50);

/// Whether the answer of a hook is needed. A hook that is started before that is known prints nothing and runs no
/// command until it is. The first decision counts.
type Permission = OnceLock<bool>;

/// Grants the permission. Dropping it without a grant denies the permission.
struct PermissionGuard(Arc<Permission>);

impl PermissionGuard {
    fn grant(&self) {
        self.0.get_or_init(|| true);
    }
}

impl Drop for PermissionGuard {
    fn drop(&mut self) {
        self.0.get_or_init(|| false);
    }
}

/// What a script may see.
struct HookHost {
    script: Arc<str>,
    permission: Arc<Permission>,
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

impl HookHost {
    /// The place of a file inside the working directory, wherever links lead. A script's own paths are those of that folder;
    /// an agent's are those of the one that it is in.
    fn inside(&self, path: &str, is_agents: bool) -> Available<String> {
        match self.place_of(path, self.cwd.as_deref().filter(|_| is_agents)) {
            Fact::Place(place)
                if place.starts_with(['/', '~']) || place == ".." || place.starts_with("../") =>
            {
                Err(format!("`{path}` lies outside of the working directory").into())
            }
            Fact::Place(place) => Ok(place),
            Fact::Unavailable(why) => Err(why.into()),
            _ => Err(format!("where `{path}` leads is not known").into()),
        }
    }

    fn fact(&self, key: &FactKey, cwd: Option<&str>) -> Fact {
        self.files.fact(key, &Lookup { root: self.root.as_deref(), cwd, event: None, key: &[] })
    }

    fn place_of(&self, path: &str, cwd: Option<&str>) -> Fact {
        self.fact(&FactKey::Place(path.to_owned()), cwd)
    }

    fn file_at(&self, place: &str) -> Fact {
        self.fact(&FactKey::File(place.to_owned()), None)
    }

    fn slices(&self, keys: &[&str]) -> Available<Vec<Option<Value>>> {
        if let Some(restored) = &self.restored {
            return Ok(keys.iter().map(|key| restored.get(*key).cloned()).collect());
        }
        let slices = self.store.load(&self.session, keys).map_err(|error| error.to_string())?;
        Ok(slices.into_iter().map(|slice| slice.value).collect())
    }
}

impl Host for HookHost {
    fn read_file(&self, path: &str) -> Available<String> {
        let place = self.inside(path, false)?;
        self.files
            .read(self.root.as_deref(), &place)
            .map_err(|error| format!("`{path}` could not be read: {error}").into())
    }

    fn checksum(&self, path: &str, is_agents: bool) -> Available<Option<String>> {
        let place = self.inside(path, is_agents)?;
        match self.file_at(&place) {
            Fact::File(FileState::File { checksum }) => Ok(Some(bare(&checksum))),
            Fact::File(FileState::Absent) => Ok(None),
            Fact::File(FileState::Special) => Err(format!("`{path}` is no ordinary file").into()),
            Fact::Unavailable(why) => Err(why.into()),
            _ => Err(format!("the state of `{path}` is not known").into()),
        }
    }

    fn exec(&self, command: &str, within: Duration, stop: &AtomicBool) -> Available<Exec> {
        if !self.permission.wait() {
            return Err("not run: the answer is not needed".into());
        }
        self.files.exec(self.root.as_deref(), command, within, stop)
    }

    fn place(&self, path: &str) -> String {
        let place = |cwd| match self.place_of(path, cwd) {
            Fact::Place(place) => place,
            _ => path.to_owned(),
        };
        let (near, far) = (place(self.cwd.as_deref()), place(None));
        // A path that does not exist in the agent's folder may be one of the snapshot.
        let is_absent = near != far
            && matches!(self.file_at(&near), Fact::File(FileState::Absent))
            && !matches!(self.read_before(&near), Ok(Some(_)));
        if is_absent { far } else { near }
    }

    fn read_before(&self, place: &str) -> Available<Option<String>> {
        let found = self.slices(&[&snapshot_key(place)])?.into_iter().next().flatten();
        Ok(found.as_ref().and_then(Value::as_str).map(bare))
    }

    fn all_read(&self) -> Available<BTreeMap<String, String>> {
        let all = match &self.restored {
            Some(restored) => restored.clone(),
            None => {
                self.store.load_prefix(&self.session, SNAPSHOT_PREFIX).map_err(|error| error.to_string())?
            }
        };
        let entry = |(key, value): (String, Value)| {
            Some((key.strip_prefix(SNAPSHOT_PREFIX)?.to_owned(), bare(value.as_str()?)))
        };
        Ok(all.into_iter().filter_map(entry).collect())
    }

    fn history(&self) -> Available<Vec<Value>> {
        if let Some(history) = &self.history {
            return Ok(history.clone());
        }
        let count = self.slices(&[HISTORY_COUNT_KEY])?.into_iter().next().flatten();
        let count = count.as_ref().and_then(Value::as_u64).unwrap_or(0);
        let last: Vec<String> =
            (count.saturating_sub(MAX_HISTORY_MESSAGES)..count).map(history_key).collect();
        let keys: Vec<&str> =
            [LAST_USER_MESSAGE_KEY].into_iter().chain(last.iter().map(String::as_str)).collect();
        let mut messages = self.slices(&keys)?.into_iter().map(|slice| slice.and_then(parse_message));
        let user = messages.next().flatten();
        let mut messages: Vec<Value> = messages.flatten().collect();
        if !messages.iter().any(|message| message["role"] == "user") {
            messages.splice(0..0, user);
        }
        Ok(messages)
    }

    fn feedback(&self) -> Available<Value> {
        let [calls, last] = feedback_slice_keys(self.prompt.as_deref());
        let mut slices = self.slices(&[&calls, &last])?.into_iter();
        let (calls, last) = (slices.next().flatten(), slices.next().flatten());
        let mut view = feedback_view(calls.as_ref(), last.as_ref()).map_err(|missing| missing.to_string())?;
        if let Value::Object(view) = &mut view {
            view.insert("deadline".to_owned(), self.deadline.map(|time| time.to_string()).into());
            view.insert("session".to_owned(), self.session.as_str().into());
            view.insert("prompt".to_owned(), self.prompt.clone().into());
        }
        Ok(view)
    }

    fn log(&self, level: log::Level, text: &str) {
        if !self.permission.wait() {
            return;
        }
        match &self.output {
            Some(output) => output(text),
            None => log::log!(target: "midrail::script", level, "{}: {text}", self.script),
        }
    }
}

/// A checksum as scripts see it: the digits alone.
fn bare(checksum: &str) -> String {
    checksum.strip_prefix("sha256:").unwrap_or(checksum).to_owned()
}

/// The prefix of sealed variables. Unsealed ones are JSON, which starts with a brace.
const SEALED: &str = "sealed:";

/// The most characters of a text of a script.
const MAX_SHOWN: usize = 4_000;

impl HookContext<'_> {
    /// A text of a script without secrets. It is shortened last, because half a secret is not recognized.
    fn shown(&self, text: &str) -> String {
        let text = self.engine.masked_text(self.mask.text(text).trim());
        match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
            None => text,
        }
    }

    /// The outcome of a hook without secrets. Variables that were sealed stay so.
    fn redact(&self, script: &Arc<str>, mut end: HookOutcome, is_sealed: bool) -> Available<HookOutcome> {
        if let HookAnswer::Refuse { message, suggestion, request } = &mut end.answer {
            *message = self.shown(message);
            *suggestion = suggestion.take().map(|text| self.shown(&text));
            if let Some(request) = request {
                request.reason = self.shown(&request.reason);
            }
        }
        for checksum in end.snapshot.values_mut().flatten() {
            *checksum = self.shown(checksum);
        }
        if let Some(state) = &end.state
            && (is_sealed || !self.mask.is_empty() || self.holds_secrets(state))
        {
            match self.sealed(script, state) {
                Ok(sealed) => end.state = Some(sealed),
                Err(why) if end.answer == HookAnswer::Pass => return Err(why),
                Err(why) => {
                    end = HookOutcome {
                        answer: end.answer,
                        failure: Some(why.to_string()),
                        ..HookOutcome::pass()
                    }
                }
            }
        }
        end.failure = end.failure.map(|why| self.shown(&why));
        Ok(end)
    }

    fn holds_secrets(&self, state: &Value) -> bool {
        !secrets::scan_json(state, &self.engine.fingerprint_key).is_empty()
    }

    fn sealed(&self, script: &Arc<str>, state: &Value) -> Available<Value> {
        let text = state.as_str().map_or_else(|| state.to_string(), str::to_owned);
        let sealed = seal::seal(&self.engine.fingerprint_key, &place(script), text.as_bytes());
        sealed.map(|sealed| Value::from(SEALED.to_owned() + &sealed)).ok_or_else(|| {
            format!("the variables of `{script}` hold a secret and could not be sealed, so they are not kept")
                .into()
        })
    }

    /// The variables of a script, and whether they were sealed.
    fn opened(&self, script: &Arc<str>, slice: Value) -> Available<(String, bool)> {
        let text = match slice {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let Some(sealed) = text.strip_prefix(SEALED) else { return Ok((text, false)) };
        let opened = seal::open(&self.engine.fingerprint_key, &place(script), sealed);
        let opened = opened.and_then(|bytes| String::from_utf8(bytes).ok());
        opened.map(|text| (text, true)).ok_or_else(|| {
            format!("the variables of `{script}` were sealed with another key than that of this store").into()
        })
    }
}

/// The place that variables are sealed for.
fn place(script: &Arc<str>) -> String {
    [&**script, "/", MODULE_STATE].concat()
}
