//! Words and small maps of the wire as packs write them: more words are known, and no slip is passed over.

use midrail_core::{Effect, EventKind, FileScope, Scope};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::scalar::OneOrMany;

/// An effect in the words of the ladder or of any dialect.
pub(crate) fn effect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Effect>, D::Error> {
    let Some(word) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    effect_of(&word).map(Some)
}

/// An effect by its word.
pub(crate) fn some_effect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Effect, D::Error> {
    effect_of(&String::deserialize(deserializer)?)
}

/// The effect that a word stands for.
pub(crate) fn effect_of<E: Error>(word: &str) -> Result<Effect, E> {
    word.parse().map_err(|_| {
        let words: Vec<&str> = Effect::LADDER.iter().map(|effect| effect.as_str()).collect();
        E::custom(format!("unknown variant `{word}`, expected one of `{}`", words.join("`, `")))
    })
}

/// The words for effects in packs: those of the ladder, and those of the dialects.
pub(crate) struct EffectWord;

impl EffectWord {
    const DIALECTS: [&str; 5] = ["pass", "log", "pause", "deny", "stop"];
}

impl JsonSchema for EffectWord {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EffectWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ladder = Effect::LADDER.iter().map(|effect| effect.as_str());
        let words = ladder.chain(Self::DIALECTS).flat_map(|word| [word.to_lowercase(), word.to_uppercase()]);
        let words: std::collections::BTreeSet<String> = words.collect();
        json_schema!({"type": "string", "enum": words})
    }
}

/// The words for kinds of event in packs: those of the wire, and those of the hosts and dialects.
pub(crate) struct KindWord;

impl KindWord {
    const ALIASES: [&str; 17] = [
        "SessionStart",
        "SessionEnd",
        "llm_before",
        "UserPromptSubmit",
        "llm_stream_chunk",
        "pre_execution",
        "tool_call_start",
        "input",
        "PreToolUse",
        "post_execution",
        "tool_call_result",
        "output",
        "PostToolUse",
        "pre_handoff",
        "post_handoff",
        "Stop",
        "SubagentStop",
    ];
}

impl JsonSchema for KindWord {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "KindWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).chain(Self::ALIASES).collect();
        json_schema!({"type": "string", "enum": words})
    }
}

/// The scope of a pack: as on the wire, but a slip in a key is told and not passed over.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StrictScope {
    /// The files.
    #[serde(default)]
    files: StrictFileScope,
}

/// Which files may be touched, as glob patterns. Absent: no limit. Empty: none.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct StrictFileScope {
    /// Files that may be read.
    read: Option<OneOrMany>,
    /// Files that may be changed.
    write: Option<OneOrMany>,
    /// Files that may not be touched at all.
    deny: Option<OneOrMany>,
}

/// A scope, strictly.
pub(crate) fn scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Scope>, D::Error> {
    let Some(StrictScope { files }) = Option::deserialize(deserializer)? else { return Ok(None) };
    let list = |many: Option<OneOrMany>| many.map(|many| many.0);
    let files = FileScope { read: list(files.read), write: list(files.write), deny: list(files.deny) };
    Ok(Some(Scope { files }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_schema_are_those_that_are_read() {
        for word in EffectWord::DIALECTS {
            assert!(word.parse::<Effect>().is_ok(), "{word}");
        }
        for word in KindWord::ALIASES {
            assert!(word.parse::<EventKind>().is_ok(), "{word}");
        }
    }
}
