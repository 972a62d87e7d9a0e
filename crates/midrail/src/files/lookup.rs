//! What facts about files are looked up for, and how the content of scripts becomes a fact.

use std::io;
use std::path::Path;

use midrail_core::{Danger, Event, Fact, FactKey, ScriptSource, hex};
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

/// Cuts a text before the line that exceeds the limit, and returns the lines of the rest that may destroy something.
fn split_long(text: &str) -> (String, String) {
    let mut end = MAX_PROJECT_SCRIPT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    let head = head.rfind('\n').and_then(|at| head.get(..=at)).unwrap_or(head);
    let rest = text.get(head.len()..).unwrap_or_default();
    let mut lines = String::new();
    for line in rest.lines().filter(|line| command::mentions_destruction(line)) {
        if lines.len() + line.len() >= MAX_PROJECT_SCRIPT {
            break;
        }
        lines.push_str(line);
        lines.push('\n');
    }
    (head.to_owned(), lines)
}

/// What an event does through the content of files. `read` returns a text and whether it is cut.
pub(super) fn scripts(
    lookup: &Lookup<'_>,
    files: &[ScriptSource],
    mut read: impl FnMut(&ScriptSource) -> io::Result<Option<(String, bool)>>,
) -> Available<Fact> {
    let event = lookup.event.ok_or("no event runs these scripts")?;
    let mut known = Vec::new();
    let mut is_cut = None;
    let mut rests = Vec::new();
    let mut whole = Vec::new();
    for held in files {
        let text = if held.is_fetched {
            None
        } else {
            match read(held) {
                Ok(Some((text, _))) if held.is_project && text.len() > MAX_PROJECT_SCRIPT => {
                    let (head, rest) = split_long(&text);
                    if !rest.is_empty() {
                        rests.push(command::File { path: held.path.clone(), text: Some(rest) });
                    }
                    whole.push(command::File { path: held.path.clone(), text: Some(text) });
                    Some(head)
                }
                Ok(Some((text, _))) if held.is_project => Some(text),
                Ok(Some((text, has_more))) => {
                    if has_more && held.is_run {
                        is_cut = Some(held.path.clone());
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
    if let Some(command) = is_cut {
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
    use serde_json::json;

    use super::*;

    fn dangers(script: &str) -> Vec<String> {
        let event = Event::before_tool("Bash", json!({"command": "bash wipe.sh"}));
        let lookup = Lookup { root: None, cwd: None, event: Some(&event), key: &[] };
        let file = ScriptSource {
            path: "wipe.sh".to_owned(),
            place: "wipe.sh".to_owned(),
            is_run: true,
            is_fetched: false,
            is_project: true,
        };
        let found = scripts(&lookup, &[file], |_| Ok(Some((script.to_owned(), false))));
        match found {
            Ok(Fact::Script(action)) => action.dangers.into_iter().map(|danger| danger.origin).collect(),
            other => panic!("{other:?}"),
        }
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
