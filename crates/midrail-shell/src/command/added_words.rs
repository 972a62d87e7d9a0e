//! Adds words to commands of a line: `--dry-run` to every `kubectl apply`. The changed line is analysed again, and is used only if
//! it differs from the first one in nothing but these words.

use midrail_core::{Action, CommandCall};

use super::ast::{Command, CommandKind, List};
use super::command_pattern::{CommandPattern, Fit};
use super::parse;
use super::walk::Walk;

/// The line with the words added to each command that matches a pattern and lacks them. `None`: no command does. `Err`: why they
/// cannot be added.
pub(crate) fn with_words(
    line: &str,
    patterns: &[CommandPattern],
    words: &[String],
) -> Result<Option<String>, &'static str> {
    let before = analyse(line);
    let wanted: Vec<bool> = before.commands.iter().map(|call| lacks(call, patterns, words)).collect();
    if is_uncertain(&before, patterns) {
        return Err("a part of the command is not known");
    }
    if !wanted.contains(&true) {
        return Ok(None);
    }
    let mut changed = line.to_owned();
    let script = parse::parse(line);
    let mut places = Vec::new();
    collect(&script.list, line, patterns, words, &mut places);
    // From the end, so that the places before stay valid.
    places.sort_unstable();
    places.dedup();
    let text = words.iter().map(|word| format!(" {word}")).collect::<String>();
    for place in places.into_iter().rev().filter(|place| line.is_char_boundary(*place)) {
        changed.insert_str(place, &text);
    }
    let after = analyse(&changed);
    let is_right = before.commands.len() == after.commands.len()
        && before.commands.iter().zip(&after.commands).zip(wanted).all(|((before, after), is_wanted)| {
            // `sudo` gets the words that its command gets.
            is_with(before, after, words) || !is_wanted && before == after
        });
    if is_right { Ok(Some(changed)) } else { Err("the command is not written out in the line") }
}

fn analyse(line: &str) -> Action {
    Walk::with(&[]).line(line, None).0
}

fn is_uncertain(action: &Action, patterns: &[CommandPattern]) -> bool {
    let mut fits = action.commands.iter().flat_map(|call| patterns.iter().map(|pattern| pattern.fit(call)));
    action.has_more_commands || action.has_unknown_programs || fits.any(|fit| fit == Fit::Unknown)
}

/// Whether a command matches a pattern and does not have all of the words.
fn lacks(call: &CommandCall, patterns: &[CommandPattern], words: &[String]) -> bool {
    let own = call.args.iter().take_while(|arg| *arg != "--").collect::<Vec<_>>();
    patterns.iter().any(|pattern| pattern.fit(call) == Fit::Yes)
        && !words.iter().all(|word| own.contains(&word))
}

/// Whether a command is another one with the words added before any `--`.
fn is_with(before: &CommandCall, after: &CommandCall, words: &[String]) -> bool {
    let options = before.args.iter().position(|arg| arg == "--").unwrap_or(before.args.len());
    let Some((first, rest)) = before.args.split_at_checked(options) else { return false };
    let args: Vec<String> = first.iter().chain(words).chain(rest).cloned().collect();
    let more = words.len();
    let moved = |places: &[usize]| {
        places.iter().map(|at| if *at < options { *at } else { at + more }).collect::<Vec<_>>()
    };
    let (unknown, splits) = (moved(&before.unknown), moved(&before.splits));
    *after == CommandCall { args, unknown, splits, ..before.clone() }
}

/// The places at which the words are inserted: behind the last word of a command, or before its `--`.
fn collect(
    list: &List<'_>,
    line: &str,
    patterns: &[CommandPattern],
    words: &[String],
    places: &mut Vec<usize>,
) {
    for command in list.iter().flat_map(|item| &item.commands) {
        let mut inner = |list: &List<'_>| collect(list, line, patterns, words, places);
        match &command.kind {
            CommandKind::Simple { .. } => {
                places.extend(place(command, line, patterns, words));
            }
            CommandKind::Group(list) | CommandKind::Subshell(list) => inner(list),
            CommandKind::If { arms, otherwise } => {
                for (test, then) in arms {
                    inner(test);
                    inner(then);
                }
                inner(otherwise);
            }
            CommandKind::While { test, body } => {
                inner(test);
                inner(body);
            }
            CommandKind::For { body, .. } | CommandKind::Repeat { body, .. } => inner(body),
            CommandKind::Case { arms, .. } => arms.iter().for_each(inner),
            CommandKind::Function { .. } | CommandKind::Test(_) => {}
        }
    }
}

fn place(command: &Command<'_>, line: &str, patterns: &[CommandPattern], words: &[String]) -> Option<usize> {
    let text = line.get(command.start..command.end)?;
    if !analyse(text).commands.iter().any(|call| lacks(call, patterns, words)) {
        return None;
    }
    let end = command.start + text.trim_end().len();
    // Words behind `--` are no options.
    let dashes = text.match_indices(" --").map(|(at, _)| at);
    let is_word =
        |at: &usize| text.get(at + 3..).is_none_or(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    Some(dashes.filter(is_word).map(|at| command.start + at).next().unwrap_or(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(line: &str) -> Result<Option<String>, &'static str> {
        let patterns =
            [CommandPattern::parse("kubectl apply").unwrap(), CommandPattern::parse("npm publish").unwrap()];
        with_words(line, &patterns, &["--dry-run=server".to_owned()])
    }

    #[test]
    fn words_are_added_to_every_command_that_lacks_them() {
        for (line, expected) in [
            ("kubectl apply -f x", "kubectl apply -f x --dry-run=server"),
            (
                "cd d && kubectl apply -f 'a b' > log; ls",
                "cd d && kubectl apply -f 'a b' > log --dry-run=server; ls",
            ),
            ("sudo kubectl -n x apply -f x", "sudo kubectl -n x apply -f x --dry-run=server"),
            (
                "kubectl apply -f - <<EOF\na: b\nEOF\n",
                "kubectl apply -f - <<EOF --dry-run=server\na: b\nEOF\n",
            ),
            ("npm publish -- x", "npm publish --dry-run=server -- x"),
            ("if true; then npm publish; fi", "if true; then npm publish --dry-run=server; fi"),
            (
                "kubectl apply -f a && kubectl apply -f b",
                "kubectl apply -f a --dry-run=server && kubectl apply -f b --dry-run=server",
            ),
        ] {
            assert_eq!(changed(line), Ok(Some(expected.to_owned())), "{line}");
        }
    }

    #[test]
    fn other_commands_stay() {
        for line in
            ["kubectl get pods", "echo kubectl apply", "kubectl apply -f x --dry-run=server", "npm test"]
        {
            assert_eq!(changed(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn commands_that_are_not_written_out_are_refused() {
        for line in [
            "bash -c 'kubectl apply -f x'",
            "echo \"$(kubectl apply -f x)\"",
            "f() { kubectl apply -f x; }; f",
            "kubectl $1 -f x",
            "cat list | xargs kubectl",
            "X=apply; eval \"kubectl $X\"",
        ] {
            assert!(changed(line).is_err(), "{line}: {:?}", changed(line));
        }
    }
}
