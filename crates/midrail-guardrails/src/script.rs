//! Hooks in JavaScript: one that is asked before each tool call, and one that sees each result. The engine runs them;
//! here is what their answers mean, and what is kept for them.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use midrail_core::{
    Changes, Context, Effect, Event, EventKind, Fault, Guardrail, HookAnswer, Missing, Rewrite, Verdict,
};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::read_before_write;
use crate::seconds::Seconds;

/// The settings of a script: the file that holds it, or its text.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// The file, relative to that of the pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The script itself, in place of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How long the hook before a call may take, 1 second unless set.
    pub input_timeout: Seconds,
    /// How long the hook that sees a result may take, 10 minutes unless set.
    pub output_timeout: Seconds,
    /// Megabytes that it may use, 64 unless set.
    pub memory_mb: u32,
    /// A digest of the file. Whoever reads the file sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The files that belong to it: what it imports, and what says whether it is in force. Whoever reads the file sets it.
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
        /// The same fields, read from a map.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            #[serde(default)]
            file: Option<String>,
            #[serde(default)]
            code: Option<String>,
            #[serde(default)]
            input_timeout: Option<Seconds>,
            #[serde(default)]
            output_timeout: Option<Seconds>,
            #[serde(default)]
            memory_mb: Option<u32>,
            #[serde(default)]
            digest: Option<String>,
            #[serde(default)]
            belongs: Vec<String>,
        }

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
                let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
                let default = Script::default();
                Ok(Script {
                    file: fields.file,
                    code: fields.code,
                    input_timeout: fields.input_timeout.unwrap_or(default.input_timeout),
                    output_timeout: fields.output_timeout.unwrap_or(default.output_timeout),
                    memory_mb: fields.memory_mb.unwrap_or(default.memory_mb),
                    digest: fields.digest,
                    belongs: fields.belongs,
                })
            }
        }

        deserializer.deserialize_any(FileOrMap)
    }
}

impl Script {
    /// What does not fit in the settings, by the name of the setting.
    pub fn problems(&self) -> Vec<(&'static str, &'static str)> {
        let mut problems = Vec::new();
        match (&self.file, &self.code) {
            (None, None) => problems.push(("", "a script needs its `file`, or its text as `code`")),
            (Some(_), Some(_)) => problems.push(("/code", "`code` does not go with `file`")),
            (Some(file), None) if file.trim().is_empty() => problems.push(("/file", "the file has no name")),
            (Some(_), None) | (None, Some(_)) => {}
        }
        for (name, timeout) in
            [("/input_timeout", self.input_timeout), ("/output_timeout", self.output_timeout)]
        {
            if timeout.0.is_nan() || timeout.0 <= 0.0 {
                problems.push((name, "in no time at all a hook cannot answer"));
            }
        }
        if !(1..=4_096).contains(&self.memory_mb) {
            problems.push(("/memory_mb", "a script has from 1 to 4096 megabytes"));
        }
        problems
    }
}

/// The slice of a script's own variables, below the guardrail's id.
pub const MODULE: &str = "module";

/// The slice that says what was read of a file: the checksum of the content, by its place. All scripts and all loops of
/// a session share it.
pub fn snapshot_key(place: &str) -> String {
    format!("{SNAPSHOT}{place}")
}

/// What the keys of [`snapshot_key`] begin with.
pub const SNAPSHOT: &str = "snapshot/";

/// Messages of the main conversation that are kept.
pub const HISTORY: u64 = 64;

/// The slice that says how many messages there have been.
pub const HISTORY_COUNT: &str = "history/count";

/// The slice of what the user said last, which may be longer ago than all other messages that are kept.
pub const HISTORY_USER: &str = "history/user";

/// Whether a slice is that of a message.
pub fn is_message(key: &str) -> bool {
    key.starts_with("history/") && key != HISTORY_COUNT
}

/// The slice of a message, by its number. The oldest gives way to the newest.
pub fn history_key(number: u64) -> String {
    "history/".to_owned() + &(number % HISTORY).to_string()
}

/// Characters that are kept of a message.
const MAX_MESSAGE: usize = 4_000;

impl Guardrail for Script {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        // The engine hands it to the script.
        context.state(MODULE)?;
        let end = context.hook()?;
        let verdict = match &end.answer {
            HookAnswer::Pass => Verdict::allow(),
            HookAnswer::Refuse { message, suggestion, request } => {
                // A script can ask a person, and never answers for one.
                let effect = if request.is_some() { Effect::Escalate } else { Effect::Block };
                Verdict { advice: suggestion.clone(), ..Verdict::new(effect, message) }
            }
            HookAnswer::Replace { result, is_error: true } => Verdict {
                // What a later script made of it is what the agent sees.
                retry_message: context.rewrote_last().then(|| result.clone()),
                ..Verdict::new(Effect::Retry, "a script calls the result an error")
            },
            HookAnswer::Replace { .. } => Verdict::new(Effect::Redact, "the result was replaced"),
        };
        match &end.failure {
            None => Ok(verdict),
            Some(why) => Err(Fault::FailedAfter(Box::new(verdict), why.clone())),
        }
    }

    fn rewrites(&self) -> bool {
        true
    }

    fn rewrite(&self, context: &Context<'_>) -> Result<Option<Rewrite>, Fault> {
        context.state(MODULE)?;
        Ok(match &context.hook()?.answer {
            HookAnswer::Replace { result, is_error } => {
                Some(Rewrite { content: result.clone(), is_error: *is_error })
            }
            HookAnswer::Pass | HookAnswer::Refuse { .. } => None,
        })
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if context.succeeded(effect)? {
            for (place, content) in read_before_write::shown(context)? {
                changes.set(snapshot_key(&place), content);
            }
        }
        if let Some(end) = context.hooked() {
            for (place, checksum) in &end.snapshot {
                match checksum {
                    Some(checksum) => changes.set(snapshot_key(place), checksum.as_str()),
                    None => changes.remove(snapshot_key(place)),
                }
            }
            if let Some(state) = &end.state {
                changes.set(context.key(MODULE), state.clone());
            }
        }
        note_message(context, effect, changes)?;
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::BeforeModel, EventKind::AfterModel, EventKind::BeforeTool, EventKind::AfterTool]
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn may_retry(&self, at: EventKind) -> bool {
        at == EventKind::AfterTool
    }

    fn outside(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(self.clone()))
    }

    fn summary(&self) -> Option<String> {
        let name = self.file.as_deref().unwrap_or("a script");
        Some(format!("`{name}` looks at every tool call and at every result."))
    }
}

/// Keeps what was said in the main conversation. That of a sub-agent is its own.
fn note_message(context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Missing> {
    let event = context.event;
    let is_main = event.parent.as_deref().is_none_or(str::is_empty);
    // A call that is refused was made all the same, and a result that is sent back is seen.
    let is_said = match event.kind {
        EventKind::BeforeTool => true,
        EventKind::AfterTool => effect.goes_on() || effect == Effect::Retry,
        _ => effect.goes_on(),
    };
    if !is_main || !is_said {
        return Ok(());
    }
    let Some(message) = message_of(event) else { return Ok(()) };
    let count = context.slice(HISTORY_COUNT)?.and_then(Value::as_u64).unwrap_or(0);
    if event.kind == EventKind::BeforeModel {
        changes.set(HISTORY_USER, message.as_str());
    }
    changes.set(history_key(count), message);
    changes.set(HISTORY_COUNT, count.saturating_add(1));
    Ok(())
}

/// What an event adds to the conversation. It is kept as a text: one is written with every event, and few are read.
pub fn message_of(event: &Event) -> Option<String> {
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
            let content = match event.result.as_ref()?.content.as_ref()? {
                Value::String(text) => Cow::from(text),
                other => Cow::from(other.to_string()),
            };
            ("tool", content, Some(&*tool?.name))
        }
        EventKind::SessionStart
        | EventKind::SessionEnd
        | EventKind::ModelChunk
        | EventKind::BeforeHandoff
        | EventKind::AfterHandoff
        | EventKind::OnError
        | EventKind::BeforeStop
        | EventKind::ApprovalDecided
        | EventKind::Observed
        | EventKind::Restored
        | EventKind::Administered => return None,
    };
    let content = match content.len() <= MAX_MESSAGE {
        true => &*content,
        false => content.char_indices().nth(MAX_MESSAGE).map_or(&*content, |(end, _)| &content[..end]),
    };
    serde_json::to_string(&Message { role, content, tool }).ok()
}

/// A message of the conversation, as scripts see it.
#[derive(Serialize)]
struct Message<'m> {
    role: &'m str,
    content: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'m str>,
}

/// A message of the conversation as it was kept, as scripts see it.
pub fn message_kept(slice: Value) -> Option<Value> {
    match slice {
        Value::String(text) => serde_json::from_str(&text).ok(),
        other => Some(other),
    }
}
