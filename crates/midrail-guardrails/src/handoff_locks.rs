//! handoff-locks (handoff-004): blocks a hand-off that includes files locked by a third agent.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::prelude::*;
use crate::shared::handoff::{extra, receiver, texts};
use crate::shared::locks::{Lock, absolute};
use crate::shared::objections::all;

pub(crate) const BUILTIN: Builtin = Builtin::without_settings::<HandoffLocks>(
    "handoff-004",
    Category::Compliance,
    20,
    &[EventKind::BeforeHandoff],
);

/// Uses the locks of file-ownership. It has no settings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HandoffLocks;

/// Maximum number of files per hand-off.
const MAX_FILES: usize = 1_000;

/// Fields of a structured artifact that contain its path.
const PATHS: &[&str] = &["path", "file", "file_path", "filename"];

/// The files that a hand-off names.
fn files<'a>(context: &Context<'a>) -> Result<BTreeSet<&'a str>, Missing> {
    let Some(handoff) = &context.event.handoff else { return Ok(BTreeSet::new()) };
    let artifacts = handoff.artifacts.iter().flatten().filter_map(|artifact| match artifact {
        Value::String(text) => Some(text.as_str()),
        other => PATHS.iter().find_map(|name| other.get(*name)?.as_str()),
    });
    let listed = extra(handoff, &["files", "paths"]).map(texts).unwrap_or_default();
    // A URL or a sentence is not a path.
    let is_path = |text: &&str| {
        !text.trim().is_empty() && !text.contains("://") && !text.contains('\n') && text.len() < 4_096
    };
    let files: BTreeSet<&str> = artifacts.chain(listed).filter(is_path).collect();
    let is_small = files.len() <= MAX_FILES;
    is_small.then_some(files).ok_or_else(|| Missing("the hand-off names too many files".to_owned()))
}

impl Guardrail for HandoffLocks {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let to = receiver(context).unwrap_or_default();
        let paths: Vec<_> = files(context)?.into_iter().map(|file| (file, absolute(context, file))).collect();
        let locks: Vec<_> =
            all(paths.into_iter().map(|(file, path)| Ok((file, Lock::for_path(context, &path?.1)?))))?;
        let is_taken = |lock: &Lock| !lock.is_own(context) && lock.actor != to;
        let taken: Vec<(&str, Lock)> =
            locks.into_iter().filter_map(|(file, lock)| Some((file, lock.filter(is_taken)?))).collect();
        let Some((file, lock)) = taken.first() else { return Ok(Verdict::allow()) };
        let others = match taken.len() {
            1 => String::new(),
            count => format!(" {} more files of the hand-off are locked by other agents.", count - 1),
        };
        let list: Vec<&str> = taken.iter().take(20).map(|(file, _)| *file).collect();
        Ok(Verdict::block(format!("File '{file}' is locked by {}.{others}", lock.holder()))
            .advise("Wait until it is released, or remove it from the hand-off.")
            .with("files", list)
            .with("holder", lock.actor.as_str()))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do not hand over files that a third agent has locked.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Agent, Event, EventKind, lock_key};
    use serde_json::json;
    use std::sync::Arc;

    fn effect(holder: &str, until: &str, handoff: Value) -> Effect {
        let mut run = Run::on(Arc::new(HandoffLocks), vec![EventKind::BeforeHandoff]);
        let lock = json!({"actor": holder, "session": "s", "since": "2026-11-15T09:00:00Z", "until": until});
        run.set(&lock_key("src/a.rs"), lock);
        let event = Event {
            handoff: serde_json::from_value(handoff).unwrap(),
            time: Some("2026-11-15T10:00:00Z".parse().unwrap()),
            agent: Some(Agent { id: Some("ann".into()), ..Agent::default() }),
            ..Event::new(EventKind::BeforeHandoff)
        };
        run.decide(&event).effect
    }

    #[test]
    fn lock_of_a_third_agent_blocks() {
        let later = "2026-11-15T11:00:00Z";
        for named in [
            json!({"artifacts": ["src/a.rs"]}),
            json!({"artifacts": [{"path": "./src/a.rs"}]}),
            json!({"context": {"files": ["src/b.rs", "src/a.rs"]}}),
            json!({"files": "src/a.rs"}),
        ] {
            let mut handoff = named.clone();
            handoff["to"] = json!("bob");
            assert_eq!(effect("cat", later, handoff.clone()), Effect::Block, "{named}");
            assert_eq!(effect("ann", later, handoff.clone()), Effect::Allow, "{named}");
            assert_eq!(effect("bob", later, handoff.clone()), Effect::Allow, "{named}");
            assert_eq!(effect("cat", "2026-11-15T10:00:00Z", handoff), Effect::Allow, "{named}");
        }
        assert_eq!(
            effect(
                "cat",
                later,
                json!({"to": "bob", "artifacts": ["src/c.rs", "https://x.example/src/a.rs", 3]})
            ),
            Effect::Allow
        );
        assert_eq!(effect("cat", later, json!(null)), Effect::Allow);
    }
}
