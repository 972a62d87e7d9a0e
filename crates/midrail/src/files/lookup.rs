//! What facts about files are looked up for, and how the content of scripts becomes a fact.

use std::io;
use std::path::Path;

use midrail_core::{Danger, Event, Fact, FactKey, OpaqueCode, OpaqueKind, ScriptSource, hex};
use midrail_shell::{action, command};
use sha2::{Digest, Sha256};

use crate::error::{Available, Unavailable};

/// What a fact is looked up for.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'l> {
    /// The folder of the session.
    pub(crate) root: Option<&'l Path>,
    /// The folder that relative paths start from.
    pub(crate) cwd: Option<&'l str>,
    /// The event that runs scripts.
    pub(crate) event: Option<&'l Event>,
    /// The key of the fingerprints that replace secrets in the output of commands.
    pub(crate) key: &'l [u8],
}

/// The longest text of a file that is only read on the way to something that runs.
const MAX_FEED: usize = 1 << 15;

pub(super) fn no_probe(key: &FactKey) -> Unavailable {
    Unavailable::new(format!("no probe answers `{key:?}`"))
}

/// The longest part of a script of the project that is analysed as a whole. Of the rest, lines that may destroy are tried one by one.
const MAX_PROJECT_SCRIPT: usize = 1 << 16;

/// No more of a script is read than this many bytes.
pub(super) const MAX_SCRIPT: usize = 1 << 20;

/// The text of a script: not more of it than is read, and whether there is more.
pub(super) fn readable(content: &[u8]) -> (String, bool) {
    let head = content.get(..MAX_SCRIPT).unwrap_or(content);
    // Shells pass over such bytes.
    let text: Vec<u8> = head.iter().copied().filter(|byte| *byte != 0).collect();
    (String::from_utf8_lossy(&text).into_owned(), content.len() > MAX_SCRIPT)
}

/// Cuts a text before the line that exceeds the limit, and returns the lines of the rest that may destroy something, and
/// whether there are more of them.
fn split_long(text: &str) -> (String, String, bool) {
    let mut end = MAX_PROJECT_SCRIPT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    let head = head.rfind('\n').and_then(|at| head.get(..=at)).unwrap_or(head);
    let rest = text.get(head.len()..).unwrap_or_default();
    let mut lines = String::new();
    let mut has_more = false;
    for line in rest.lines().filter(|line| command::mentions_destruction(line)) {
        has_more = lines.len() + line.len() >= MAX_PROJECT_SCRIPT;
        if has_more {
            break;
        }
        lines.push_str(line);
        lines.push('\n');
    }
    (head.to_owned(), lines, has_more)
}

/// What an event does through the content of files. `read` returns a text and whether it is cut.
pub(super) fn scripts(
    lookup: &Lookup<'_>,
    files: &[ScriptSource],
    mut read: impl FnMut(&ScriptSource) -> io::Result<Option<(String, bool)>>,
) -> Available<Fact> {
    let event = lookup.event.ok_or("no event runs these scripts")?;
    let mut known = Vec::new();
    // What was not read is not known: the files that are longer, and the first of them that the agent wrote.
    let mut unread = Vec::new();
    let mut cut = None;
    let mut rests = Vec::new();
    let mut whole = Vec::new();
    for held in files {
        let text = if held.is_fetched {
            None
        } else {
            match read(held) {
                Ok(Some((text, has_more))) if held.is_project && text.len() > MAX_PROJECT_SCRIPT => {
                    let (head, rest, has_more_lines) = split_long(&text);
                    if has_more || has_more_lines {
                        unread.push(held.path.clone());
                    }
                    if !rest.is_empty() {
                        rests.push(command::File { path: held.path.clone(), text: Some(rest) });
                    }
                    whole.push(command::File { path: held.path.clone(), text: Some(text) });
                    Some(head)
                }
                Ok(Some((text, _))) if held.is_project => Some(text),
                Ok(Some((text, has_more))) => {
                    if has_more {
                        unread.push(held.path.clone());
                        cut = Some(held.path.clone());
                    }
                    Some(text).filter(|text| held.is_run || (!has_more && text.len() <= MAX_FEED))
                }
                Ok(None) => None,
                Err(error) => return Err(Unavailable::new(format!("`{}`: {error}", held.place))),
            }
        };
        if text.is_some() || held.is_fetched {
            known.push(command::File { path: held.path.clone(), text });
        }
    }
    let mut action = action::with_files(event, &known);
    if !rests.is_empty() {
        action.dangers.extend(action::with_files(event, &rests).dangers);
    }
    whole.extend(known);
    for danger in &mut action.dangers {
        danger.origin = origin(danger, &whole).unwrap_or_default();
    }
    let unread =
        unread.into_iter().map(|what| OpaqueCode { kind: OpaqueKind::Script, what, start: 0, end: 0 });
    action.opaque.extend(unread);
    if let Some(command) = cut {
        action.is_partial = true;
        let reason = "the script is longer than is looked into".to_owned();
        action.dangers.push(Danger { rule: "opaque".to_owned(), reason, command, ..Danger::default() });
    }
    Ok(Fact::Script(Box::new(action)))
}

/// The file and line that contain the command of a danger, or else its program and last word.
fn origin(danger: &Danger, files: &[command::File]) -> Option<String> {
    let command = danger.command.trim_end_matches('…');
    let mut words = command.split_whitespace();
    let program = words.next()?;
    let last = words.next_back().unwrap_or(program).trim_matches(['"', '\'']);
    let find = |fits: &dyn Fn(&str) -> bool| {
        files.iter().find_map(|file| {
            let line = file.text.as_deref()?.lines().position(fits)?;
            Some(format!("{}:{}", file.path, line + 1))
        })
    };
    find(&|line| line.contains(command))
        .or_else(|| find(&|line| line.contains(program) && line.contains(last)))
}

pub(super) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(&Sha256::digest(content)))
}

#[cfg(test)]
mod tests {
    use midrail_core::Action;
    use serde_json::json;

    use super::*;

    fn action(script: &str, is_run: bool, is_project: bool) -> Action {
        let event = Event::before_tool("Bash", json!({"command": "bash wipe.sh"}));
        let lookup = Lookup { root: None, cwd: None, event: Some(&event), key: &[] };
        let (path, place) = ("wipe.sh".to_owned(), "wipe.sh".to_owned());
        let file = ScriptSource { path, place, is_run, is_fetched: false, is_project };
        match scripts(&lookup, &[file], |_| Ok(Some(readable(script.as_bytes())))) {
            Ok(Fact::Script(action)) => *action,
            other => panic!("{other:?}"),
        }
    }

    fn dangers(script: &str) -> Vec<String> {
        action(script, true, true).dangers.into_iter().map(|danger| danger.origin).collect()
    }

    /// The files of which a part was not read.
    fn unread(action: &Action) -> Vec<&str> {
        let parts = action.opaque.iter().filter(|part| part.end == 0);
        parts.map(|part| part.what.as_str()).collect()
    }

    #[test]
    fn what_is_not_read_of_a_script_is_not_known() {
        let line = "echo step\n";
        let whole = line.repeat(MAX_SCRIPT / line.len() - 1);
        let long = format!("{whole}{line}{line}rm -rf ~\n");
        for (is_run, is_project) in [(true, true), (true, false), (false, false)] {
            assert_eq!(unread(&action(&whole, is_run, is_project)), Vec::<&str>::new());
            let action = action(&long, is_run, is_project);
            assert_eq!(unread(&action), ["wipe.sh"], "{is_run} {is_project}");
            // Scripts of the project are not searched for what is not known.
            assert_eq!(action.is_partial, !is_project);
            assert_eq!(action.dangers.iter().any(|danger| danger.rule == "opaque"), !is_project);
        }
        // More lines than are tried.
        let many =
            format!("{}{}", "echo step\n".repeat(MAX_PROJECT_SCRIPT / 5), "rm -f a b c\n".repeat(8_000));
        assert_eq!(unread(&action(&many, true, true)), ["wipe.sh"]);
    }

    #[test]
    fn bytes_behind_the_limit_are_not_read() {
        assert_eq!(readable(b"a\0b"), ("ab".to_owned(), false));
        let (text, has_more) = readable(&vec![b'x'; MAX_SCRIPT]);
        assert_eq!((text.len(), has_more), (MAX_SCRIPT, false));
        let (text, has_more) = readable(&vec![b'x'; MAX_SCRIPT + 1]);
        assert_eq!((text.len(), has_more), (MAX_SCRIPT, true));
        // What is left out does not make room for more.
        let (text, has_more) = readable(&[vec![0; MAX_SCRIPT], b"rm -rf ~".to_vec()].concat());
        assert_eq!((text.as_str(), has_more), ("", true));
    }

    #[test]
    fn lines_of_long_scripts_are_tried() {
        let long = "echo step\n".repeat(MAX_PROJECT_SCRIPT / 5);
        assert_eq!(dangers(&long), Vec::<String>::new());
        assert_eq!(
            dangers(&format!("{long}rm -rf ~\n")),
            [format!("wipe.sh:{}", MAX_PROJECT_SCRIPT / 5 + 1)]
        );
        assert_eq!(dangers(&format!("rm -rf ~\n{long}")), ["wipe.sh:1"]);
        assert_eq!(dangers(&format!("cat <<E\n{long}E\nrm -rf ~\n")).len(), 1);
        assert_eq!(dangers(&format!("{long}rm -rf \"$OUT\"/build\necho rm\n")).len(), 1);
    }
}
