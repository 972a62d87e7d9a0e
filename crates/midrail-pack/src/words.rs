//! Effects, kinds of event and scopes in packs: more spellings than on the wire, and no unknown keys.

use midrail_core::{Effect, EventKind, FileScope, Scope};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::scalar::OneOrMany;

/// An effect in the spelling of any dialect.
pub(crate) fn effect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Effect>, D::Error> {
    let Some(word) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    parse_effect(&word).map(Some).map_err(D::Error::custom)
}

/// A required effect.
pub(crate) fn some_effect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Effect, D::Error> {
    parse_effect(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A word that is not an effect.
#[derive(Debug, thiserror::Error)]
#[error("unknown variant `{0}`, expected one of `{known}`", known = Effect::LADDER.map(Effect::as_str).join("`, `"))]
pub(crate) struct UnknownEffect(String);

/// Parses an effect.
pub(crate) fn parse_effect(word: &str) -> Result<Effect, UnknownEffect> {
    word.parse().map_err(|_| UnknownEffect(word.to_owned()))
}

/// The schema of effects in packs: the ladder, and the words of the dialects.
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

/// The schema of kinds of event in packs: those of the wire format, of hosts and of dialects.
pub(crate) struct KindWord;

impl JsonSchema for KindWord {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "KindWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": EventKind::WORDS})
    }
}

/// The scope in a pack: as in the wire format, but without unknown keys.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StrictScope {
    /// The files.
    #[serde(default)]
    files: StrictFileScope,
}

/// The accessible files, as glob patterns. Absent: no limit. Empty: none.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct StrictFileScope {
    /// Files that may be read.
    read: Option<OneOrMany>,
    /// Files that may be changed.
    write: Option<OneOrMany>,
    /// Files that may not be accessed.
    deny: Option<OneOrMany>,
}

/// A scope without unknown keys.
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
    fn words_of_the_schema_can_be_parsed() {
        for word in EffectWord::DIALECTS {
            assert!(word.parse::<Effect>().is_ok(), "{word}");
        }
        for word in EventKind::WORDS {
            assert!(word.parse::<EventKind>().is_ok(), "{word}");
        }
    }
}
