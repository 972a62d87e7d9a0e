//! The exact action, which the answer of a person is bound to: what is done, where, in which session and task, and with
//! what the files hold that it runs or obeys.

use std::collections::BTreeSet;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::action::Action;
use crate::context::World;
use crate::event::{Event, EventKind};
use crate::facts::{Fact, FactKey, Facts, FileState};
use crate::held::ScriptSource;
use crate::hex;
use crate::path::Place;

/// How many files of one action count, through scripts that run scripts.
const MAX_FILES: usize = 16;

/// A digest of the exact action, as it was when these facts were known.
pub fn action_digest(facts: &Facts, event: &Event, session: &str) -> String {
    digest(facts, event, session, &|key| facts.get(&key))
}

/// The same for the event at hand. What is not known of its files is asked for.
pub(crate) fn current_action_digest(world: &World<'_>) -> String {
    let look = |key: FactKey| {
        let known = world.facts.get(&key);
        if known.is_none() {
            // Asking makes it a need, and the event is decided again.
            let _ = world.fact(key);
        }
        known
    };
    digest(world.facts, world.event, &world.session.id, &look)
}

/// Looks up a fact. `None`: nobody has asked for it yet.
type Look<'l, 'a> = &'l dyn Fn(FactKey) -> Option<&'a Fact>;

fn digest<'a>(facts: &'a Facts, event: &Event, session: &str, look: Look<'_, 'a>) -> String {
    let given = facts.action_digest.clone();
    let of_event =
        given.unwrap_or_else(|| hex::encode(&Sha256::digest(action_text(event, session).as_bytes())));
    // What a call has done already does not change with the files that it ran.
    if event.kind != EventKind::BeforeTool {
        return of_event;
    }
    let Some(Fact::Action(action)) = facts.get(&FactKey::Action) else { return of_event };
    match contents(action, look) {
        // Names follow from the action and from what the files hold, and may be told otherwise in a record.
        Some(contents) if contents.iter().any(Option::is_some) => {
            hex::encode(&Sha256::digest(json!(["files", of_event, contents]).to_string().as_bytes()))
        }
        // Where there are none the event tells everything.
        _ => of_event,
    }
}

/// What the files hold that an action runs or obeys, and those that they run in turn: a checksum each, or nothing where
/// there is no such file. `None`: that was not looked up yet.
fn contents<'a>(action: &'a Action, look: Look<'_, 'a>) -> Option<Vec<Option<&'a str>>> {
    let mut files: Vec<ScriptSource> = Vec::new();
    let mut contents = Vec::new();
    let mut places = BTreeSet::new();
    let mut does = action;
    let mut hooks = action.hooks.as_slice();
    loop {
        let known = files.len();
        let run = does.scripts.iter().chain(hooks).map(|path| (path, true));
        let read = does.feeds.iter().map(|path| (path, false));
        // All are looked up before giving up, so that they are fetched in one go.
        let found: Vec<_> =
            run.chain(read).map(|(path, is_run)| (look_at(path, look), path, is_run)).collect();
        for (place, path, is_run) in found {
            let Some(place) = place? else { continue };
            let place = Place { key: place.to_owned(), inside: false };
            if files.len() < MAX_FILES && places.insert(place.key.clone()) {
                files.extend(ScriptSource::new(path, &place, is_run, false));
            }
        }
        let new = files.get(known..).unwrap_or_default();
        if new.is_empty() {
            return Some(contents);
        }
        let states: Vec<_> = new.iter().map(|file| look(FactKey::File(file.place.clone()))).collect();
        let further = look(FactKey::Script(ScriptSource::encode(&files)));
        for state in states {
            contents.push(match state? {
                Fact::File(FileState::File { checksum }) => Some(checksum.as_str()),
                _ => None,
            });
        }
        let Fact::Script(script) = further? else { return Some(contents) };
        does = script;
        hooks = &[];
    }
}

/// Where a path leads. `None`: that was not looked up yet; and nothing where it cannot be told.
fn look_at<'a>(path: &str, look: Look<'_, 'a>) -> Option<Option<&'a str>> {
    match look(FactKey::Place(path.to_owned()))? {
        Fact::Place(place) => Some(Some(place)),
        _ => Some(None),
    }
}

/// The exact action as a text: what is done, where, in which session and task. Changed arguments are another action;
/// the host's name for the call is no part of it, so that the same call can be tried again.
pub fn action_text(event: &Event, session: &str) -> String {
    let tool = event.tool.as_ref().map(|tool| json!({"name": tool.name, "args": tool.args}));
    // Null and nothing are the same on the wire, and so they are here.
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
    json!({
        "kind": event.kind, "tool": tool, "text": event.text, "handoff": handoff, "result": result,
        "output": event.output, "error": event.error, "cwd": event.cwd, "session": session, "task": event.task_id(),
    })
    .to_string()
}
