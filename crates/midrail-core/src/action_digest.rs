//! The digest of the exact action that an approval is bound to: what is done, where, in which session and task, and the content of
//! the files that it runs or obeys.

use std::collections::BTreeSet;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::action::Action;
use crate::event::{Event, EventKind};
use crate::facts::{Fact, FactKey, Facts, FileState};
use crate::hex;
use crate::inputs::Inputs;
use crate::modify::changed_arguments;
use crate::path::Place;
use crate::script_source::ScriptSource;

/// The number of files of one action that are included, through scripts that run scripts.
const MAX_FILES: usize = 16;

/// A digest of the exact action, as it was when these facts were known.
pub fn action_digest(facts: &Facts, event: &Event, session: &str) -> String {
    digest(facts, event, session, &|key| facts.get(&key))
}

/// The same for the current event. Unknown facts about its files are requested.
pub(crate) fn current_action_digest(inputs: &Inputs<'_>) -> String {
    let lookup = |key: FactKey| {
        let known = inputs.known_fact(&key);
        if known.is_none() {
            // Reading it records a need, and the event is evaluated again.
            let _ = inputs.fact(key);
        }
        known
    };
    let digest = digest(inputs.facts, inputs.arrived, &inputs.session.id, &lookup);
    // A call that guardrails changed is another one than the same call as the agent wrote it.
    if inputs.is_modified() {
        sha256(&json!(["modified", digest, changed_arguments(&inputs.modifications)]).to_string())
    } else {
        digest
    }
}

/// Looks up a fact. `None`: it was not fetched yet.
type Lookup<'l, 'a> = &'l dyn Fn(FactKey) -> Option<&'a Fact>;

fn digest<'a>(facts: &'a Facts, event: &Event, session: &str, lookup: Lookup<'_, 'a>) -> String {
    let recorded = facts.action_digest.clone();
    let event_digest = recorded.unwrap_or_else(|| sha256(&action_text(event, session)));
    // The files that a finished call ran do not change what it did.
    if event.kind != EventKind::BeforeTool {
        return event_digest;
    }
    let Some(action) = facts.action() else { return event_digest };
    match contents(action, lookup) {
        // File names follow from the action and the contents, and may be spelt differently in a record.
        Some(contents) if contents.iter().any(Option::is_some) => {
            sha256(&json!(["files", event_digest, contents]).to_string())
        }
        _ => event_digest,
    }
}

fn sha256(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes()))
}

/// The checksums of the files that an action runs or obeys, and of those that they run in turn; nothing for a file that does not
/// exist. `None`: a fact was not fetched yet.
fn contents<'a>(action: &'a Action, lookup: Lookup<'_, 'a>) -> Option<Vec<Option<&'a str>>> {
    let mut files: Vec<ScriptSource> = Vec::new();
    let mut contents = Vec::new();
    let mut places = BTreeSet::new();
    let mut action = action;
    let mut hooks = action.hooks.as_slice();
    loop {
        let known = files.len();
        let run = action.scripts.iter().chain(hooks).map(|path| (path, true));
        let read = action.feeds.iter().map(|path| (path, false));
        // Look up all of them before returning, so that they are fetched in one round.
        let found: Vec<_> = run
            .chain(read)
            .map(|(path, is_run)| (lookup(FactKey::Place(path.clone())), path, is_run))
            .collect();
        for (place, path, is_run) in found {
            let Fact::Place(place) = place? else { continue };
            let place = Place { key: place.clone(), inside: false };
            if files.len() < MAX_FILES && places.insert(place.key.clone()) {
                files.extend(ScriptSource::new(path, &place, is_run, false));
            }
        }
        let new = files.get(known..).unwrap_or_default();
        if new.is_empty() {
            return Some(contents);
        }
        let states: Vec<_> = new.iter().map(|file| lookup(FactKey::File(file.place.clone()))).collect();
        let further = lookup(FactKey::Script(ScriptSource::encode(&files)));
        for state in states {
            contents.push(match state? {
                Fact::File(FileState::File { checksum }) => Some(checksum.as_str()),
                _ => None,
            });
        }
        let Fact::Script(script) = further? else { return Some(contents) };
        action = script;
        hooks = &[];
    }
}

/// The exact action as a text: what is done, where, in which session and task. Changed arguments are another action; the id of
/// the call is not part of it, so that the same call can be retried.
pub fn action_text(event: &Event, session: &str) -> String {
    let tool = event.tool.as_ref().map(|tool| json!({"name": tool.name, "args": tool.args}));
    // On the wire, null and absent are the same.
    let handoff = event.handoff.as_ref().map(|handoff| {
        let context = handoff.context.as_ref().filter(|context| !context.is_null());
        let receiver = handoff.receiver.as_ref().filter(|receiver| !receiver.is_null());
        json!([handoff.to, context, handoff.artifacts, handoff.rationale, receiver, handoff.extra])
    });
    let result = event.result.as_ref().map(|result| {
        json!([
            result.ok,
            result.content.as_ref().filter(|content| !content.is_null()),
            result.exit_code,
            result.extra
        ])
    });
    let mut action = json!({
        "kind": event.kind, "tool": tool, "text": event.text, "handoff": handoff, "result": result,
        "output": event.output, "error": event.error, "cwd": event.cwd, "session": session, "task": event.task_id(),
    });
    // A dependency may enable `preserve_order` of serde_json. Otherwise this does nothing.
    action.sort_all_objects();
    action.to_string()
}
