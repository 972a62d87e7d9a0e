//! javascript: hooks in JavaScript before each tool call and for each result. The engine runs them; this file turns
//! their answers into verdicts and stores their state.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use midrail_core::{Event, HookAnswer, Rewrite};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserializer, Serializer};
use serde_json::Value;

use crate::builtin::PackKey;
use crate::prelude::*;
use crate::read_before_write::shown_files;
use crate::shared::durations::Seconds;
use crate::shared::missing_classifier::MissingClassifier;
use crate::shared::text::plain_text;

pub(crate) const BUILTIN: Builtin = Builtin {
    pack_key: PackKey::Script,
    ..Builtin::without_settings::<MissingClassifier>(
        "javascript",
        Category::Compliance,
        94,
        &[EventKind::BeforeTool, EventKind::AfterTool],
    )
    .aliases(&["guardrails.js"])
};

/// The settings of a script: its file, or its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Script {
    /// The file, relative to the pack's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The script itself, instead of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The time limit of the hook before a call. Default: 1 second.
    pub input_timeout: Seconds,
    /// The time limit of the hook for a result. Default: 10 minutes.
    pub output_timeout: Seconds,
    /// The memory limit in megabytes. Default: 64.
    pub memory_mb: u32,
    /// A digest of the file. Set by the loader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its imported files, and the files that determine whether it is in force. Set by the loader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub belongs: Vec<String>,
}

impl Default for Script {
    fn default() -> Self {
        Script {
            file: None,
            code: None,
            input_timeout: Seconds(1.0),
            output_timeout: Seconds(600.0),
            memory_mb: 64,
            digest: None,
            belongs: Vec::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Script {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FileOrMap;

        impl<'de> Visitor<'de> for FileOrMap {
            type Value = Script;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the file of a script, or a map with `file` or `code`")
            }

            fn visit_str<E: Error>(self, file: &str) -> Result<Script, E> {
                Ok(Script { file: Some(file.to_owned()), ..Script::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Script, A::Error> {
                Script::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(FileOrMap)
    }
}

impl Serialize for Script {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Script::serialize(self, serializer)
    }
}

impl Script {
    /// The errors in the settings, by the name of the setting.
    pub fn problems(&self) -> Vec<(&'static str, &'static str)> {
        let mut problems = Vec::new();
        match (&self.file, &self.code) {
            (None, None) => problems.push(("", "a script needs its `file`, or its text as `code`")),
            (Some(_), Some(_)) => problems.push(("/code", "`code` and `file` exclude each other")),
            (Some(file), None) if file.trim().is_empty() => {
                problems.push(("/file", "the file name is empty"))
            }
            (Some(_), None) | (None, Some(_)) => {}
        }
        for (name, timeout) in
            [("/input_timeout", self.input_timeout), ("/output_timeout", self.output_timeout)]
        {
            if timeout.0.is_nan() || timeout.0 <= 0.0 {
                problems.push((name, "the timeout must be longer than zero"));
            }
        }
        if !(1..=4_096).contains(&self.memory_mb) {
            problems.push(("/memory_mb", "the memory limit is between 1 and 4096 megabytes"));
        }
        problems
    }
}

/// The slice with the variables of a script, below the guardrail's id.
pub const MODULE_STATE: &str = "module";

/// The slice with the checksum of a file that was read, by place. All scripts and agent loops of a session share
/// it.
pub fn snapshot_key(place: &str) -> String {
    format!("{SNAPSHOT_PREFIX}{place}")
}

/// The prefix of the keys of [`snapshot_key`].
pub const SNAPSHOT_PREFIX: &str = "snapshot/";

/// Maximum number of stored messages of the main conversation.
pub const MAX_HISTORY_MESSAGES: u64 = 64;

/// The slice with the number of messages so far.
pub const HISTORY_COUNT_KEY: &str = "history/count";

/// The slice with the last user message, which may be older than all other stored messages.
pub const LAST_USER_MESSAGE_KEY: &str = "history/user";

/// Whether a key is that of a message.
pub fn is_message_key(key: &str) -> bool {
    key.starts_with("history/") && key != HISTORY_COUNT_KEY
}

/// The slice of a message by number. The newest replaces the oldest.
pub fn history_key(number: u64) -> String {
    "history/".to_owned() + &(number % MAX_HISTORY_MESSAGES).to_string()
}

/// Maximum length of a stored message.
const MAX_MESSAGE: usize = 4_000;

impl Guardrail for Script {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        // The engine passes it to the script.
        context.state(MODULE_STATE)?;
        let end = context.hook()?;
        let verdict = match &end.answer {
            HookAnswer::Pass => Verdict::allow(),
            HookAnswer::Refuse { message, suggestion, request } => {
                // A script can request an approval but never grant one.
                let effect = if request.is_some() { Effect::Escalate } else { Effect::Block };
                Verdict { advice: suggestion.clone(), ..Verdict::new(effect, message) }
            }
            HookAnswer::Replace { result, is_error: true } => Verdict {
                // If a later script changed the result, the agent sees that.
                retry_message: context.rewrote_last().then(|| result.clone()),
                ..Verdict::new(Effect::Retry, "a script replaced the result by an error")
            },
            HookAnswer::Replace { .. } => Verdict::new(Effect::Redact, "a script replaced the result"),
        };
        match &end.failure {
            None => Ok(verdict),
            Some(why) => Err(Fault::FailedAfter(Box::new(verdict), why.clone())),
        }
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, context: &Context<'_>) -> Result<Option<Rewrite>, Fault> {
        context.state(MODULE_STATE)?;
        Ok(match &context.hook()?.answer {
            HookAnswer::Replace { result, is_error } => {
                Some(Rewrite { content: result.clone(), is_error: *is_error })
            }
            HookAnswer::Pass | HookAnswer::Refuse { .. } => None,
        })
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if context.succeeded(effect)? {
            for (place, content) in shown_files(context)? {
                changes.set(snapshot_key(&place), content);
            }
        }
        if let Some(end) = context.hook_if_run() {
            for (place, checksum) in &end.snapshot {
                match checksum {
                    Some(checksum) => changes.set(snapshot_key(place), checksum.as_str()),
                    None => changes.remove(snapshot_key(place)),
                }
            }
            if let Some(state) = &end.state {
                changes.set(context.key(MODULE_STATE), state.clone());
            }
        }
        store_message(context, effect, changes)?;
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeModel, EventKind::AfterModel, EventKind::BeforeTool, EventKind::AfterTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn can_retry(&self, at: EventKind) -> bool {
        at == EventKind::AfterTool
    }

    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(self.clone()))
    }

    fn summary(&self) -> Option<String> {
        let name = self.file.as_deref().unwrap_or("a script");
        Some(format!("`{name}` checks every tool call and every result."))
    }
}

/// Stores the message of an event of the main conversation, not of sub-agents.
fn store_message(context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Missing> {
    let event = context.event;
    let is_main = event.parent.as_deref().is_none_or(str::is_empty);
    // A refused call is part of the conversation, and so is a result that is sent back.
    let is_visible = match event.kind {
        EventKind::BeforeTool => true,
        EventKind::AfterTool => effect.allows() || effect == Effect::Retry,
        _ => effect.allows(),
    };
    if !is_main || !is_visible {
        return Ok(());
    }
    let Some(message) = message_from_event(event) else { return Ok(()) };
    let key = Key::<u64>::new(HISTORY_COUNT_KEY);
    let count = key.read(context)?.unwrap_or(0);
    if event.kind == EventKind::BeforeModel {
        changes.set(LAST_USER_MESSAGE_KEY, message.as_str());
    }
    changes.set(history_key(count), message);
    key.write(changes, &count.saturating_add(1))
}

/// The message of an event. It is stored as text, because many are written and few are read.
pub fn message_from_event(event: &Event) -> Option<String> {
    let tool = event.tool.as_ref();
    let (role, content, tool) = match event.kind {
        EventKind::BeforeModel => ("user", Cow::from(event.text.as_deref()?), None),
        EventKind::AfterModel => ("assistant", Cow::from(event.text.as_deref()?), None),
        EventKind::BeforeTool => {
            let tool = tool?;
            let args = serde_json::to_string(&tool.args).ok()?;
            ("assistant", Cow::from([&*tool.name, " ", &*args].concat()), Some(&*tool.name))
        }
        EventKind::AfterTool => {
            let content = plain_text(event.result.as_ref()?.content.as_ref()?);
            ("tool", content, Some(&*tool?.name))
        }
        _ => return None,
    };
    let end = content.char_indices().nth(MAX_MESSAGE).map_or(content.len(), |(end, _)| end);
    let content = content.get(..end).unwrap_or(&content);
    serde_json::to_string(&Message { role, content, tool }).ok()
}

/// A message as scripts see it.
#[derive(Serialize)]
struct Message<'m> {
    role: &'m str,
    content: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'m str>,
}

/// Parses a stored message.
pub fn parse_message(slice: Value) -> Option<Value> {
    match slice {
        Value::String(text) => serde_json::from_str(&text).ok(),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hooks_have_one_second_and_ten_minutes() {
        for settings in [json!("guardrails.js"), json!({"file": "guardrails.js", "memory_mb": 8})] {
            let script: Script = serde_json::from_value(settings).unwrap();
            assert_eq!(script.input_timeout.duration().as_secs_f64(), 1.0);
            assert_eq!(script.output_timeout.duration().as_secs_f64(), 600.0);
        }
    }
}
