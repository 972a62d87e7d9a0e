//! Words of other tools and typical mistakes, and what to write in a pack instead.

mod tables;

use midrail_guardrails::{Builtin, CATALOGUE};
use schemars::generate::SchemaSettings;

use crate::hints::tables::{
    CASE, GUARDRAIL, KEYS, KEYS_OF_PACKS, PACK, RULE, SCOPE, SECTION, SHAPES, STEP, TOOL_POLICY, VALUES,
};

/// The map of an unknown key.
#[derive(Default)]
pub(crate) struct Around {
    /// The built-in of a guardrail: `use`.
    pub(crate) uses: Option<String>,
    /// A key without a value.
    pub(crate) empty: Option<String>,
}

/// What to write in place of an unknown key of a map with known keys.
pub(crate) fn key(word: &str, known: &[String], around: &Around) -> Option<String> {
    let has = |key: &str| known.iter().any(|known| known == key);
    // A list of guardrails is also a part of a pack and of a case.
    let is_in = |place: &str| match place {
        SECTION => has(SECTION) && has("tools") && !has(PACK),
        SCOPE => known.len() == 1 && has(SCOPE),
        CASE => has(CASE),
        TOOL_POLICY => has(TOOL_POLICY) && has("rules") && !has(PACK),
        STEP => has(STEP) || has("before_tool"),
        RULE => known == [RULE],
        place => has(place),
    };
    if is_in(GUARDRAIL) {
        if let Some(empty) = around.empty.as_deref().filter(|empty| shape(empty).is_some()) {
            return Some(format!("indent it further, if it belongs to `{empty}:`, which has no value"));
        }
        if let Some(help) = setting(word, around.uses.as_deref()) {
            return Some(help);
        }
        if KEYS_OF_PACKS.contains(&word) {
            return Some(format!(
                "`{word}` is a key of the pack: write it at the start of a line, below `guardrails`"
            ));
        }
        if CATALOGUE
            .iter()
            .any(|builtin| builtin.pack_key.allows_use() && builtin.names().any(|name| name == word))
        {
            return Some(format!("write `use: {word}`, and its settings below `with:`"));
        }
    }
    if let Some(spelling) = respelt(word, known) {
        return Some(format!("did you mean `{spelling}`?"));
    }
    if is_in(PACK) && is_guardrail_key(word) {
        return Some(format!("`{word}` is a key of a guardrail: write it below an item of `guardrails:`"));
    }
    let row = KEYS.iter().find(|(place, words, _)| is_in(place) && words.contains(&word));
    row.map(|(_, _, help)| (*help).to_owned())
}

/// A known key in another spelling: `on-error`, `approvalTimeout`.
fn respelt<'k>(word: &str, known: &'k [String]) -> Option<&'k String> {
    let plain = |word: &str| word.replace(['-', '_', ' '], "").to_lowercase();
    known.iter().find(|known| plain(known) == plain(word))
}

fn is_guardrail_key(word: &str) -> bool {
    [
        "check",
        "effect",
        "reason",
        "advice",
        "when",
        "on",
        "use",
        "with",
        "require_before",
        "completion",
        "priority",
    ]
    .contains(&word)
}

/// Help for a setting of a built-in that is not below `with`.
fn setting(word: &str, uses: Option<&str>) -> Option<String> {
    if let Some(builtin) = uses.and_then(midrail_guardrails::builtin) {
        let has = settings(builtin).iter().any(|setting| setting == word);
        return has
            .then(|| format!("`{word}` is a setting of `{}`: write `with: {{{word}: …}}`", builtin.name));
    }
    if KEYS.iter().any(|(place, words, _)| *place == GUARDRAIL && words.contains(&word)) {
        return None;
    }
    let owners = CATALOGUE.iter().filter(|builtin| builtin.pack_key.allows_use());
    let owners = owners.filter(|builtin| settings(builtin).iter().any(|setting| setting == word));
    // The word may be a part of a name: `tool-allowlist`.
    let mut owners: Vec<&str> = owners.map(|builtin| builtin.name).collect();
    owners.sort_by_key(|name| !name.contains(word));
    let names: Vec<String> = owners.iter().take(4).map(|name| format!("`{name}`")).collect();
    let list = names.join(", ");
    let help = || {
        format!(
            "`{word}` is a setting of built-in guardrails ({list}): write `use: NAME` and `with: {{{word}: …}}`"
        )
    };
    (!names.is_empty()).then(help)
}

/// The names of the settings of a built-in.
fn settings(builtin: &Builtin) -> Vec<String> {
    let inline = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = builtin.settings.schema(&mut inline.into_generator());
    let properties =
        schema.as_ref().and_then(|schema| schema.get("properties")).and_then(|it| it.as_object());
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// The kind of event that a word of another tool means.
pub(crate) fn kind(word: &str) -> Option<&'static str> {
    Some(match word.to_lowercase().replace('-', "_").as_str() {
        "pre_tool" | "tool" | "tool_call" | "tool_use" | "before_call" | "before" | "pre" | "command"
        | "commands" | "calls" | "tools" | "args" | "arguments" => "before_tool",
        "post_tool" | "tool_result" | "tool_results" | "after_call" | "after" | "post" | "result"
        | "results" => "after_tool",
        "prompt" | "prompts" | "user_prompt" | "request" | "before_prompt" | "message" | "messages" => {
            "before_model"
        }
        "response" | "responses" | "answer" | "answers" | "after_prompt" => "after_model",
        "chunk" | "chunks" | "stream" | "streams" => "model_chunk",
        "end" | "finish" | "done" | "complete" | "completion" => "before_stop",
        "begin" | "init" => "session_start",
        "error" | "failure" => "on_error",
        "handoff" | "delegate" | "subagent" => "before_handoff",
        _ => return None,
    })
}

/// Help for a key below `with` that belongs to the guardrail itself.
pub(crate) fn misplaced_setting(word: &str) -> Option<String> {
    if word == "with" {
        return Some("write the settings directly below the first `with:`".to_owned());
    }
    let help = || format!("`{word}` is a key of the guardrail: write it next to `use`, and not below `with`");
    is_key_of_guardrails(word).then(help)
}

/// Whether a word is a key of guardrails, for settings that contain one.
fn is_key_of_guardrails(word: &str) -> bool {
    is_guardrail_key(word)
        || ["tools", "agents", "tasks", "mode", "lock", "approver", "enabled"].contains(&word)
}

/// Help for an unknown built-in: those with a word in common, or all.
pub(crate) fn builtins(word: &str, names: &[&str]) -> String {
    let stems = |word: &str| -> Vec<String> {
        word.split(['-', '_', ' ']).map(|part| part.trim_end_matches('s').to_lowercase()).collect()
    };
    let wanted = stems(word);
    let alike = |name: &&&str| stems(name).iter().any(|stem| stem.len() > 3 && wanted.contains(stem));
    let near: Vec<&str> = names.iter().filter(alike).copied().collect();
    let list = |names: &[&str]| format!("`{}`", names.join("`, `"));
    if near.is_empty() {
        format!("the built-in guardrails are {}", list(names))
    } else {
        format!("built-in guardrails with a similar name are {}", list(&near))
    }
}

/// What to write in place of an unknown value.
pub(crate) fn value(word: &str, known: &[String]) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let fits = |place: &str| known.iter().any(|known| known == place);
    VALUES.iter().find(|(place, words, _)| fits(place) && words.contains(&lower.as_str())).map(|row| row.2)
}

/// How to write the value of a key that needs a list or a map.
pub(crate) fn shape(key: &str) -> Option<&'static str> {
    SHAPES.iter().find(|(name, _)| *name == key).map(|(_, help)| *help)
}

/// The number that a text such as `200k`, `200_000`, `$20` or `20 USD` means.
pub(crate) fn number(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    let rest: String =
        text.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, '.' | '_' | ',' | ' ')).collect();
    let zeros = match rest.to_lowercase().as_str() {
        "k" => "000",
        "m" => "000000",
        "" | "$" | "€" | "usd" | "eur" | "tokens" | "calls" => "",
        _ => return None,
    };
    let is_number = digits.parse::<f64>().is_ok() && (zeros.is_empty() || !digits.contains('.'));
    is_number.then(|| format!("{digits}{zeros}"))
}

/// How to add a missing key.
pub(crate) fn missing(field: &str) -> String {
    match field {
        "pack" => "start with `pack: NAME`".to_owned(),
        "id" => "add `id: NAME`".to_owned(),
        "name" => "add `name: NAME`".to_owned(),
        "tool" => "add `tool: NAME`, the tool that waits".to_owned(),
        "tools" => "add `tools: [NAME, …]`".to_owned(),
        "require_before" => "add `require_before: {tool: NAME, requires: NAME}`".to_owned(),
        "rules" => "add `rules: [{require_before: {tool: NAME, requires: NAME}}]`".to_owned(),
        "condition" => "add `condition: EXPRESSION`, such as `block_rate > 30%`".to_owned(),
        "action" => "add `action: TEXT`, what people should do".to_owned(),
        field => format!("add `{field}:` here"),
    }
}

/// The boolean that a word of older YAML means.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "y" | "enabled" | "1" => Some(true),
        "false" | "no" | "off" | "n" | "disabled" | "never" | "0" => Some(false),
        _ => None,
    }
}

/// Words for a command in place of the call of a tool: `{command: deploy}`.
pub(crate) fn is_command_word(key: &str) -> bool {
    ["command", "cmd", "bash", "shell", "line", "run"].contains(&key)
}

/// Why a step of a test is not an event: it has several kinds, or none.
pub(crate) fn step_without_kind(kinds: &[&str], has_tool: bool, actions: &[&str]) -> String {
    let example = "`{before_tool: NAME, args: {…}, expect: EFFECT}`";
    if let [first, second, ..] = kinds {
        return format!(
            "`{first}` and `{second}` are two kinds of event; write a step for each, and the arguments of a call below \
             `args`: {example}"
        );
    }
    let what = if has_tool { "`tool` is not a kind of event" } else { "this step has no kind of event" };
    let actions = actions.join("`, `");
    format!("{what}; write `before_tool: NAME` or another kind: {example}, or one of `{actions}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_understood() {
        for (text, expected) in [
            ("200k", Some("200000")),
            ("200_000", Some("200000")),
            ("$20", Some("20")),
            ("2.50 EUR", Some("2.50")),
            ("1.5k", None),
            ("80%", None),
            ("many", None),
        ] {
            assert_eq!(number(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn settings_name_their_built_in() {
        let known = vec![GUARDRAIL.to_owned()];
        let with_use = Around { uses: Some("tool-allowlist".to_owned()), ..Around::default() };
        assert_eq!(
            key("allow", &known, &with_use).unwrap(),
            "`allow` is a setting of `tool-allowlist`: write `with: {allow: …}`"
        );
        let without = key("allow", &known, &Around::default()).unwrap();
        assert!(without.contains("`tool-allowlist`") && without.contains("`use: NAME`"), "{without}");
    }

    #[test]
    fn every_shape_and_word_is_listed_once() {
        let mut places: Vec<(&str, &str)> =
            KEYS.iter().flat_map(|(place, words, _)| words.iter().map(move |word| (*place, *word))).collect();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), count);
    }
}
