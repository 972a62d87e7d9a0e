//! non-empty-output (quality-001): warns about a successful call whose answer is empty or looks like an error.

use std::collections::BTreeMap;

use midrail_core::{Action, ActionType};
use serde_json::Value;

use crate::prelude::*;
use crate::shared::data::ANSWERS;
use crate::shared::outcome::has_failed;
use crate::shared::settings::Pattern;
use crate::shared::started_programs::{StartedProgram, started_programs};

pub(crate) const BUILTIN: Builtin = QUALITY
    .builtin::<NonEmptyOutput>("quality-001", &[EventKind::AfterTool])
    .supports(&[EventKind::AfterTool, EventKind::BeforeStop]);

/// The settings of non-empty-output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NonEmptyOutput {
    /// Requirements by names or glob patterns of tools. The longest matching pattern wins.
    pub tools: BTreeMap<Pattern, AnswerRequirement>,
    /// Further texts that count as empty: `n/a`. Case is ignored.
    pub trivial: Vec<String>,
    /// Whether successful answers that look like an error are reported.
    pub errors: bool,
}

impl Default for NonEmptyOutput {
    fn default() -> Self {
        NonEmptyOutput { tools: BTreeMap::new(), trivial: Vec::new(), errors: true }
    }
}

/// The requirement for the answers of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AnswerRequirement {
    /// Minimum number of characters. Absent: 1.
    pub min_chars: Option<u32>,
    /// Whether the answer may be empty. Absent: built-in knowledge of the tool, or `false` if `min_chars` is set.
    pub empty_ok: Option<bool>,
}

impl NonEmptyOutput {
    fn requirement(&self, tool: &str) -> AnswerRequirement {
        let fitting = self.tools.iter().filter(|(pattern, _)| pattern.matches_name(tool));
        fitting.max_by_key(|(pattern, _)| pattern.0.len()).map(|(_, answers)| *answers).unwrap_or_default()
    }

    fn is_trivial(&self, text: &str, min_chars: u32) -> bool {
        let text = text.trim();
        let is_same = |words: &str| text.eq_ignore_ascii_case(words.trim());
        let few = usize::try_from(min_chars).unwrap_or(usize::MAX);
        text.chars().take(few).count() < few.max(1)
            || ANSWERS.list("trivial").iter().any(|words| is_same(words))
            || self.trivial.iter().any(|words| is_same(words))
    }
}

impl Guardrail for NonEmptyOutput {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let event = context.event;
        if event.kind == EventKind::BeforeStop {
            let text = answer_text(event.output.as_ref().unwrap_or(&Value::Null));
            if !self.is_trivial(&text, 1) {
                return Ok(Verdict::allow());
            }
            return Ok(Verdict::warn("The output of the agent is empty.")
                .advise("Return the requested output, or explain why there is none."));
        }
        if event.kind != EventKind::AfterTool {
            return Ok(Verdict::allow());
        }
        let tool = context.tool()?;
        let result = event.result.as_ref().ok_or_else(|| Missing("the event has no result".to_owned()))?;
        // The caller knows about a failed call.
        if has_failed(event) {
            return Ok(Verdict::allow());
        }
        let action = context.action()?;
        let programs = started_programs(context, action);
        let content = result.content.as_ref().unwrap_or(&Value::Null);
        let text = answer_text(content);
        let AnswerRequirement { min_chars, empty_ok } = self.requirement(tool);
        let should_answer = match (empty_ok, min_chars) {
            (Some(empty_ok), _) => !empty_ok,
            (None, Some(_)) => true,
            (None, None) => should_answer(action, &programs),
        };
        if should_answer && self.is_trivial(&text, min_chars.unwrap_or(1)) {
            return Ok(Verdict::warn(format!("'{tool}' was successful, but its answer is empty."))
                .advise("Check its effect before you rely on it.")
                .with("tool", tool)
                .with("problem", "empty"));
        }
        let sign = if self.errors { error_sign(action.kind, &programs, content, &text) } else { None };
        Ok(match sign {
            Some(sign) => Verdict::warn(format!(
                "'{tool}' was successful, but its answer looks like an error ({sign})."
            ))
            .advise("Treat the answer as an error, and fix its cause before you continue.")
            .with("tool", tool)
            .with("problem", "error-like")
            .with("sign", sign),
            None => Verdict::allow(),
        })
    }

    fn max_effect(&self) -> Effect {
        Effect::Warn
    }
}

/// Whether a call should return an answer.
fn should_answer(action: &Action, programs: &[StartedProgram]) -> bool {
    match action.kind {
        ActionType::FileWrite => false,
        ActionType::FileRead | ActionType::Network | ActionType::Other => true,
        // Output may go to a file; otherwise the last program of the line decides.
        ActionType::Command => action.writes.is_empty() && programs.last().is_some_and(prints),
    }
}

fn prints(started: &StartedProgram) -> bool {
    let args = started.args.as_deref().unwrap_or_default();
    let is_silent = args.iter().any(|arg| {
        let is_short = |text: &str| text.starts_with('-') && !text.starts_with("--");
        ANSWERS.has("silencers", &arg.text) || (is_short(&arg.text) && arg.text.contains('q'))
    });
    if is_silent || started.args.is_none() {
        return false;
    }
    let program = started.program.as_str();
    ANSWERS.has("printers", program)
        || ANSWERS
            .row("printing subcommands", program)
            .is_some_and(|list| started.subcommand().is_some_and(|it| list.contains(&it)))
}

/// Limits of the analysed answer.
const MAX_TEXT: usize = 64 * 1024;
const MAX_DEPTH: usize = 32;

/// The text of an answer.
fn answer_text(content: &Value) -> String {
    let mut text = String::new();
    collect(content, 0, &mut text);
    text
}

fn collect(value: &Value, depth: usize, text: &mut String) {
    if depth > MAX_DEPTH || text.len() > MAX_TEXT {
        return;
    }
    match value {
        Value::Null => {}
        Value::String(part) => {
            let end = part.char_indices().nth(MAX_TEXT).map_or(part.len(), |(at, _)| at);
            text.push_str(part.get(..end).unwrap_or_default());
            text.push('\n');
        }
        Value::Bool(_) | Value::Number(_) => {
            text.push_str(&value.to_string());
            text.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|it| collect(it, depth + 1, text)),
        Value::Object(map) => {
            // An object that has only metadata counts as content.
            let is_metadata = |key: &String| ANSWERS.has("metadata", key);
            let has_more = map.keys().any(|key| !is_metadata(key));
            map.iter()
                .filter(|(key, _)| !(has_more && is_metadata(key)))
                .for_each(|(_, it)| collect(it, depth + 1, text));
        }
    }
}

/// The texts of a section, which are in quotes because of their spaces.
fn quoted_texts(section: &str) -> impl Iterator<Item = &'static str> {
    ANSWERS.list(section).iter().map(|text| text.trim_matches('"'))
}

/// The sign of an error in an answer, if any. Content of files may contain such text.
fn error_sign(
    kind: ActionType,
    programs: &[StartedProgram],
    content: &Value,
    text: &str,
) -> Option<&'static str> {
    let says = |key: &str| content.get(key) == Some(&Value::Bool(true));
    if says("isError") || says("is_error") {
        return Some("`isError` is set");
    }
    match kind {
        ActionType::FileRead | ActionType::FileWrite => None,
        ActionType::Network => page_sign(text),
        ActionType::Command => {
            let is_reader = |it: &StartedProgram| ANSWERS.has("readers", &it.program);
            // A reader at the end of a pipe shows the output of the previous program.
            let is_alone = !programs.is_empty() && programs.iter().all(is_reader);
            if is_alone { own_sign(programs, text) } else { line_sign(text) }
        }
        ActionType::Other => line_sign(text).or_else(|| page_sign(text)),
    }
}

/// The error message of a reader about its own call: `cat: a: No such file or directory`.
fn own_sign(programs: &[StartedProgram], text: &str) -> Option<&'static str> {
    let line = text.trim().lines().next()?.to_ascii_lowercase();
    let is_own = programs.iter().any(|it| line.starts_with(&format!("{}: ", it.program)))
        || line.starts_with("bash: ")
        || line.starts_with("sh: ")
        || line.starts_with("zsh: ");
    let is_alone = text.trim().lines().nth(1).is_none();
    let part = quoted_texts("error parts").find(|part| is_own && is_alone && line.contains(part));
    part.map(|part| part.trim_start_matches([':', ' ', '\'']))
}

/// Number of analysed lines at the start and at the end.
const LINES: usize = 5;

fn line_sign(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let first = text.lines().take(LINES);
    let last = text.lines().rev().take(LINES);
    let sign = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        let start = quoted_texts("error starts").find(|start| line.starts_with(start));
        start.or_else(|| quoted_texts("error parts").find(|part| line.contains(part)))
    };
    first.chain(last).find_map(sign).map(|sign| sign.trim_matches([':', ' ', '\'', '[', '(']))
}

fn page_sign(text: &str) -> Option<&'static str> {
    let end = text.char_indices().nth(1_024).map_or(text.len(), |(at, _)| at);
    let head = text.get(..end).unwrap_or_default().trim_start().to_ascii_lowercase();
    let first = head.lines().next().unwrap_or_default();
    if let Some(rest) = first.strip_prefix("http/") {
        let status = rest.split_whitespace().nth(1).unwrap_or_default();
        return status.starts_with('5').then_some("a 5xx status");
    }
    // An error page has the status in its title or heading, a plain answer at its start.
    ANSWERS.list("error pages").iter().copied().find(|page| {
        first.starts_with(page)
            || head.contains(&format!("<title>{page}"))
            || head.contains(&format!("<h1>{page}"))
    })
}

#[cfg(test)]
mod tests;
