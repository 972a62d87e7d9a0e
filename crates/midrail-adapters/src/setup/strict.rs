//! What an agent itself takes of a file. Most pass over a whole file, and all hooks in it, for one thing that they do not
//! read; so such a file guards nothing, however well our hooks stand in it.

use serde_json::Value;

use super::agent::Host;
use super::files::place;
use super::jsonc::{self, Flaw};

/// How an agent reads its JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reads {
    /// Comments.
    pub(super) comments: bool,
    /// A comma behind the last of a list.
    pub(super) commas: bool,
    /// The mark of an encoding at the very beginning.
    pub(super) mark: bool,
    /// The only names that may stand at the top.
    pub(super) only: Option<&'static [&'static str]>,
    /// What may stand under `hooks`.
    pub(super) shape: Shape,
}

/// What an agent wants of every hook in a file, whoever put it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// It passes over what it does not know.
    Any,
    /// Lists of groups, each with a list of hooks that have a type.
    Groups,
    /// Lists of hooks that have a command.
    Commands,
}

/// Plain JSON and nothing else.
pub(super) const PLAIN: Reads =
    Reads { comments: false, commas: false, mark: false, only: None, shape: Shape::Any };

/// Why an agent does not take a text that is JSON in the widest sense. A text that holds nothing is no settings yet.
pub(super) fn check(text: &str, host: &Host) -> Result<(), Flaw> {
    let reads = host.reads;
    let title = host.title;
    let whole = jsonc::value(text)?;
    let flaw = |place, what: String, help: &str| {
        let what = format!("{what}, and {title} does not read such a file");
        Err(Flaw {
            place,
            what,
            help: Some(format!("{help}, then run this again; the file was left as it is")),
        })
    };
    if !reads.mark && text.starts_with('\u{feff}') {
        return flaw(
            Some((1, 1)),
            "begins with a byte order mark".to_owned(),
            "save it as UTF-8 without one",
        );
    }
    let Found { comment, comma } = look(text);
    let text = text.trim_start_matches('\u{feff}');
    let at = |offset| Some(place(text, offset));
    if let Some(offset) = comment.filter(|_| !reads.comments) {
        return flaw(at(offset), "holds a comment".to_owned(), "take the comments out");
    }
    if let Some(offset) = comma.filter(|_| !reads.commas) {
        let what = "holds a comma behind the last of a list".to_owned();
        return flaw(at(offset), what, "take the comma out");
    }
    let names = whole.as_object().into_iter().flat_map(|fields| fields.keys());
    if let Some(only) = reads.only
        && let Some(name) = names.into_iter().find(|name| !only.contains(&name.as_str()))
    {
        let quoted = Value::from(name.as_str()).to_string();
        let what = format!("holds `{name}` beside `{}`", only.join("`, `"));
        let place = text.find(&quoted).and_then(at);
        return flaw(place, what, &format!("take `{name}` out"));
    }
    // What is no object is told by who puts hooks in.
    let events = whole.get("hooks").and_then(Value::as_object).into_iter().flatten();
    for (event, list) in events {
        let wrong = match reads.shape {
            Shape::Any => None,
            Shape::Groups => wrong_groups(list),
            Shape::Commands => wrong_commands(list),
        };
        if let Some(wrong) = wrong {
            let quoted = Value::from(event.as_str()).to_string();
            let what = format!("`hooks.{event}` {wrong}");
            return flaw(text.find(&quoted).and_then(at), what, "mend it");
        }
    }
    Ok(())
}

fn wrong_groups(list: &Value) -> Option<&'static str> {
    let Some(groups) = list.as_array() else { return Some("is no array") };
    groups.iter().find_map(|group| {
        if group.get("matcher").is_some_and(|matcher| !matcher.is_string()) {
            return Some("has a `matcher` that is no text");
        }
        let Some(handlers) = group.get("hooks").and_then(Value::as_array) else {
            return Some("has a group without a list of `hooks`");
        };
        handlers.iter().find_map(|handler| {
            let Some(kind) = handler.get("type").and_then(Value::as_str) else {
                return Some("has a hook without a `type`");
            };
            let has_command = handler.get("command").is_some_and(Value::is_string);
            (kind == "command" && !has_command).then_some("has a hook without a `command`")
        })
    })
}

fn wrong_commands(list: &Value) -> Option<&'static str> {
    let Some(handlers) = list.as_array() else { return Some("is no array") };
    let is_right = |handler: &Value| {
        handler.get("command").is_some_and(Value::is_string)
            // Hooks that ask a model have a prompt in place of a command.
            || (handler.get("type").is_some_and(|kind| kind == "prompt")
                && handler.get("prompt").is_some_and(Value::is_string))
    };
    (!handlers.iter().all(is_right)).then_some("has an entry that is no object with a `command`")
}

/// The first comment and the first comma too many, by their offsets behind a mark.
struct Found {
    comment: Option<usize>,
    comma: Option<usize>,
}

fn look(text: &str) -> Found {
    let text = text.trim_start_matches('\u{feff}');
    let mut found = Found { comment: None, comma: None };
    // A comma that nothing has followed yet.
    let mut open = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                open = None;
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' => {
                found.comment.get_or_insert(at);
                let is_block = chars.next().is_some_and(|(_, c)| c == '*');
                let mut last = ' ';
                for (_, c) in chars.by_ref() {
                    if (is_block && last == '*' && c == '/') || (!is_block && c == '\n') {
                        break;
                    }
                    last = c;
                }
            }
            ',' => open = Some(at),
            ']' | '}' => {
                if let Some(at) = open.take() {
                    found.comma.get_or_insert(at);
                }
            }
            c if c.is_whitespace() => {}
            _ => open = None,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::setup::{Agent, InstallScope};

    #[test]
    fn a_flaw_is_told_with_its_place() {
        for (agent, text, place, what) in [
            (Agent::ClaudeCode, "{\n  \"u\": \"http://x,]\", // c\n  \"b\": 1}", (2, 22), "holds a comment"),
            (Agent::Cursor, "{\"a\": [1, 2 /* c */ , ]}", (1, 21), "holds a comma"),
            (Agent::Codex, "{\n  \"hooks\": {}, \"x\": 1}", (2, 16), "holds `x` beside `hooks`"),
            (
                Agent::ClaudeCode,
                "{\"hooks\": {\"Stop\": [{}]}}",
                (1, 12),
                "a group without a list of `hooks`",
            ),
            (
                Agent::Codex,
                "{\"hooks\": {\"Stop\": [{\"hooks\": [{}]}]}}",
                (1, 12),
                "a hook without a `type`",
            ),
            (Agent::Cursor, "{\"hooks\": {\"stop\": [1]}}", (1, 12), "no object with a `command`"),
        ] {
            let flaw = agent.host().installed(InstallScope::Project, text, "midrail").unwrap_err();
            assert_eq!(flaw.place, Some(place), "{flaw:?}");
            assert!(flaw.what.contains(what), "{flaw:?}");
        }
    }
}
