//! quality-001: a call that ought to answer something does, and an answer that looks like an error is not taken for a
//! success.

use std::collections::BTreeMap;

use midrail_core::{Action, ActionType, Context, Effect, EventKind, Fault, Guardrail, Missing, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::commands::{Started, started};
use crate::settings::Pattern;

/// The settings of quality-001.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NonEmptyOutput {
    /// What is asked of single tools, by names or glob patterns. Of several that fit, the longest pattern speaks.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<Pattern, Answers>,
    /// Further texts that say nothing, whatever their case: `n/a`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trivial: Vec<String>,
    /// Whether answers that look like an error are told, though the call is said to have gone well.
    pub errors: bool,
}

impl Default for NonEmptyOutput {
    fn default() -> Self {
        NonEmptyOutput { tools: BTreeMap::new(), trivial: Vec::new(), errors: true }
    }
}

/// What is asked of a tool's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Answers {
    /// Fewer characters than this say nothing. Absent: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_chars: Option<u32>,
    /// Whether it may answer nothing. Absent: as Midrail knows the tool, or not where `min_chars` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_ok: Option<bool>,
}

/// Texts that say nothing.
const TRIVIAL: &[&str] = &[
    "null",
    "none",
    "nil",
    "undefined",
    "nan",
    "[]",
    "{}",
    "()",
    "\"\"",
    "''",
    "[object object]",
    "(no output)",
    "no output",
    "(no content)",
    "<no output>",
    "(empty)",
];

/// Programs that print where they have something to say, and that nobody runs for anything else.
const PRINTERS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "bat", "ls", "tree", "find", "fd", "grep", "egrep", "fgrep", "rg",
    "ag", "ack", "pwd", "whoami", "id", "date", "uname", "hostname", "env", "printenv", "ps", "df", "du",
    "wc", "stat", "file", "which", "jq", "yq", "curl", "wget", "http", "xh", "dig", "nslookup", "pytest",
    "tox", "nox", "jest", "vitest",
];

/// Verbs of programs that do several things, where they print.
const PRINTING_VERBS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "log",
            "show",
            "status",
            "branch",
            "remote",
            "rev-parse",
            "blame",
            "ls-files",
            "reflog",
            "shortlog",
        ],
    ),
    ("cargo", &["test", "tree", "metadata", "search"]),
    ("go", &["test", "list", "version", "env"]),
    ("npm", &["test", "ls", "view", "list"]),
    ("docker", &["ps", "images", "inspect", "logs"]),
    ("kubectl", &["get", "describe", "logs"]),
];

/// Options that make such a program silent.
const SILENCERS: &[&str] =
    &["-q", "--quiet", "--silent", "-o", "--output", "-O", "-exec", "-delete", "--remote-name"];

/// Programs that print what others have written: an error in it is not theirs.
const READERS: &[&str] = &[
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "bat",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "sed",
    "awk",
    "find",
    "fd",
    "jq",
    "yq",
    "diff",
    "git",
    "journalctl",
    "docker",
    "kubectl",
    "gh",
    "echo",
    "printf",
    "ls",
    "sort",
    "uniq",
    "strings",
];

impl NonEmptyOutput {
    fn asked(&self, tool: &str) -> Answers {
        let fitting = self.tools.iter().filter(|(pattern, _)| pattern.fits_name(tool));
        fitting.max_by_key(|(pattern, _)| pattern.0.len()).map(|(_, answers)| *answers).unwrap_or_default()
    }

    fn is_trivial(&self, text: &str, min_chars: u32) -> bool {
        let text = text.trim();
        let says_nothing = |words: &str| text.eq_ignore_ascii_case(words.trim());
        let few = usize::try_from(min_chars).unwrap_or(usize::MAX);
        text.chars().take(few).count() < few.max(1)
            || TRIVIAL.iter().any(|words| says_nothing(words))
            || self.trivial.iter().any(|words| says_nothing(words))
    }
}

impl Guardrail for NonEmptyOutput {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let event = context.event;
        if event.kind == EventKind::BeforeStop {
            let text = text_of(event.output.as_ref().unwrap_or(&Value::Null));
            return Ok(match self.is_trivial(&text, 1) {
                true => Verdict::warn("The output that the agent ends with says nothing.")
                    .advise("End with what was asked for, or say why there is nothing."),
                false => Verdict::allow(),
            });
        }
        if event.kind != EventKind::AfterTool {
            return Ok(Verdict::allow());
        }
        let tool = context.tool()?;
        let result = event.result.as_ref().ok_or_else(|| Missing("the event tells no result".to_owned()))?;
        // Who called it knows that it failed.
        if result.ok == Some(false) || result.exit_code.unwrap_or(0) != 0 {
            return Ok(Verdict::allow());
        }
        let action = context.action()?;
        let programs = started(context, action);
        let content = result.content.as_ref().unwrap_or(&Value::Null);
        let text = text_of(content);
        let Answers { min_chars, empty_ok } = self.asked(tool);
        let ought = match (empty_ok, min_chars) {
            (Some(empty_ok), _) => !empty_ok,
            (None, Some(_)) => true,
            (None, None) => ought_to_answer(action, &programs),
        };
        if ought && self.is_trivial(&text, min_chars.unwrap_or(1)) {
            return Ok(Verdict::warn(format!(
                "'{tool}' is said to have gone well, and answered nothing of use."
            ))
            .advise("Check whether it did what it was called for before you build on it.")
            .with("tool", tool)
            .with("problem", "empty"));
        }
        let sign = if self.errors { error_sign(action.kind, &programs, content, &text) } else { None };
        Ok(match sign {
            Some(sign) => Verdict::warn(format!(
                "'{tool}' is said to have gone well, and its answer looks like an error ({sign})."
            ))
            .advise("Read the answer as an error, and mend its cause before you go on.")
            .with("tool", tool)
            .with("problem", "error-like")
            .with("sign", sign),
            None => Verdict::allow(),
        })
    }

    fn ceiling(&self) -> Effect {
        Effect::Warn
    }
}

/// Whether a call ought to answer something.
fn ought_to_answer(action: &Action, programs: &[Started]) -> bool {
    match action.kind {
        ActionType::FileWrite => false,
        ActionType::FileRead | ActionType::Network | ActionType::Other => true,
        // What goes to a file is not printed; else the last program of the line prints, or does not.
        ActionType::Command => action.writes.is_empty() && programs.last().is_some_and(prints),
    }
}

fn prints(started: &Started) -> bool {
    let args = started.args.as_deref().unwrap_or_default();
    let is_silent = args.iter().any(|arg| {
        let is_short = |text: &str| text.starts_with('-') && !text.starts_with("--");
        SILENCERS.contains(&arg.text.as_str()) || (is_short(&arg.text) && arg.text.contains('q'))
    });
    if is_silent || started.args.is_none() {
        return false;
    }
    let program = started.program.as_str();
    PRINTERS.contains(&program)
        || PRINTING_VERBS
            .iter()
            .any(|(name, verbs)| *name == program && started.verb().is_some_and(|verb| verbs.contains(&verb)))
}

/// How much of an answer is looked at.
const MAX_TEXT: usize = 64 * 1024;
const MAX_DEPTH: usize = 32;

/// Parts of an answer that are about it, and not what it says.
const ASIDE: &[&str] = &[
    "type",
    "interrupted",
    "isImage",
    "isError",
    "is_error",
    "exit_code",
    "exitCode",
    "duration_ms",
    "durationMs",
    "ok",
    "success",
    "status",
    "_meta",
    "noOutputExpected",
];

/// What an answer says, as one text.
fn text_of(content: &Value) -> String {
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
            // An object of nothing but what is about it still says that.
            let is_aside = |key: &String| ASIDE.contains(&key.as_str());
            let has_more = map.keys().any(|key| !is_aside(key));
            map.iter()
                .filter(|(key, _)| !(has_more && is_aside(key)))
                .for_each(|(_, it)| collect(it, depth + 1, text));
        }
    }
}

/// Lines that only a failure begins or ends with.
const STARTS: &[&str] = &[
    "error:",
    "error[",
    "fatal:",
    "fatal error:",
    "panic:",
    "uncaught ",
    "unhandled exception",
    "npm err!",
    "npm error",
    "internal server error",
    "exception in thread",
    "traceback (most recent call last)",
];

/// Texts that stand anywhere in the line of a failure.
const PARTS: &[&str] = &[
    ": command not found",
    ": no such file or directory",
    ": permission denied",
    "' panicked at ",
    "segmentation fault",
    "core dumped",
    "out of memory",
    "is not recognized as an internal or external command",
    "modulenotfounderror:",
];

/// What pages of broken servers say of themselves.
const PAGES: &[&str] = &[
    "500 internal server error",
    "502 bad gateway",
    "503 service unavailable",
    "503 service temporarily unavailable",
    "504 gateway time-out",
    "504 gateway timeout",
];

/// What makes an answer look like an error, if anything does. A file that is read may well speak of errors.
fn error_sign(kind: ActionType, programs: &[Started], content: &Value, text: &str) -> Option<&'static str> {
    let says = |key: &str| content.get(key) == Some(&Value::Bool(true));
    if says("isError") || says("is_error") {
        return Some("it says so itself");
    }
    match kind {
        ActionType::FileRead | ActionType::FileWrite => None,
        ActionType::Network => page_sign(text),
        ActionType::Command => {
            let is_reader = programs.last().is_some_and(|it| READERS.contains(&it.program.as_str()));
            // A reader at the end of a pipe shows what the program before it printed.
            let is_alone = programs.iter().all(|it| READERS.contains(&it.program.as_str()));
            if is_reader && is_alone { own_sign(programs, text) } else { line_sign(text) }
        }
        ActionType::Other => line_sign(text).or_else(|| page_sign(text)),
    }
}

/// The complaint of a reader about its own call: `cat: a: No such file or directory`.
fn own_sign(programs: &[Started], text: &str) -> Option<&'static str> {
    let line = text.trim().lines().next()?.to_ascii_lowercase();
    let is_own = programs.iter().any(|it| line.starts_with(&format!("{}: ", it.program)))
        || line.starts_with("bash: ")
        || line.starts_with("sh: ")
        || line.starts_with("zsh: ");
    let is_alone = text.trim().lines().nth(1).is_none();
    PARTS
        .iter()
        .find(|part| is_own && is_alone && line.contains(*part))
        .copied()
        .map(|part| part.trim_start_matches([':', ' ', '\'']))
}

/// How many lines from the start and from the end are looked at.
const LINES: usize = 5;

fn line_sign(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let first = text.lines().take(LINES);
    let last = text.lines().rev().take(LINES);
    let sign = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        let starts = STARTS.iter().find(|start| line.starts_with(*start));
        starts.or_else(|| PARTS.iter().find(|part| line.contains(*part))).copied()
    };
    first.chain(last).find_map(sign).map(|sign| sign.trim_matches([':', ' ', '\'', '[', '(']))
}

fn page_sign(text: &str) -> Option<&'static str> {
    let end = text.char_indices().nth(1_024).map_or(text.len(), |(at, _)| at);
    let head = text.get(..end).unwrap_or_default().trim_start().to_ascii_lowercase();
    let first = head.lines().next().unwrap_or_default();
    if let Some(rest) = first.strip_prefix("http/") {
        let status = rest.split_whitespace().nth(1).unwrap_or_default();
        return status.starts_with('5').then_some("a status of 5xx");
    }
    // A page says it in its title or heading, a plain answer at its start. An article about it says it elsewhere.
    PAGES.iter().copied().find(|page| {
        first.starts_with(page)
            || head.contains(&format!("<title>{page}"))
            || head.contains(&format!("<h1>{page}"))
    })
}

#[cfg(test)]
#[path = "non_empty_output_tests.rs"]
mod tests;
