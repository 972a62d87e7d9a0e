//! Adds words to commands of a line: `--dry-run` to every `kubectl apply`. The changed line is analysed again, and is used only if
//! it differs from the first one in nothing but these words.

use midrail_core::{Action, CommandCall};

use super::ast::{Command, CommandKind, List};
use super::command_pattern::{CommandPattern, Fit};
use super::parse;
use super::programs;
use super::proof::option_name;
use super::walk::Walk;

/// The line with the words added to each command that matches a pattern and lacks them. `None`: no command does. `Err`: why they
/// cannot be added.
pub(crate) fn with_words(
    line: &str,
    patterns: &[CommandPattern],
    words: &[String],
) -> Result<Option<String>, &'static str> {
    let before = analyse(line);
    let mut expected = Vec::new();
    for call in &before.commands {
        expected.push(changed(call, patterns, words)?);
    }
    if before.has_more_commands || before.has_unknown_programs {
        return Err("a part of the command is not known");
    }
    if expected.iter().all(Option::is_none) {
        return Ok(None);
    }
    let script = parse::parse(line);
    let mut places = Vec::new();
    collect(&script.list, &mut |command| places.extend(place(command, line, patterns, words)));
    // From the end, so that the places before stay valid.
    places.sort_unstable();
    places.dedup();
    let mut new = line.to_owned();
    let text = words.iter().map(|word| format!(" {word}")).collect::<String>();
    for place in places.into_iter().rev().filter(|place| line.is_char_boundary(*place)) {
        new.insert_str(place, &text);
    }
    let after = analyse(&new);
    let is_right = before.commands.len() == after.commands.len()
        && before.commands.iter().zip(&after.commands).zip(&expected).all(|((before, after), expected)| {
            match expected {
                Some(expected) => after == expected,
                // `sudo` gets the words that its command gets.
                None => after == before || has_more_words(before, after, words),
            }
        });
    if is_right { Ok(Some(new)) } else { Err("the command is not written out in the line") }
}

fn analyse(line: &str) -> Action {
    Walk::with(&[]).line(line, None).0
}

/// The command with the words behind its subcommand. `None`: it does not match, or has them. `Err`: why it cannot be changed.
fn changed(
    call: &CommandCall,
    patterns: &[CommandPattern],
    words: &[String],
) -> Result<Option<CommandCall>, &'static str> {
    let fits = patterns.iter().map(|pattern| (pattern.fit(call), pattern));
    let Some((fit, pattern)) = fits.max_by_key(|(fit, _)| *fit).filter(|(fit, _)| *fit != Fit::No) else {
        return Ok(None);
    };
    // What is not known may be options that revoke the words.
    if fit == Fit::Unknown || call.has_more_args || !call.unknown.is_empty() {
        return Err("a part of the command is not known");
    }
    let options = call.args.iter().position(|arg| arg == "--").unwrap_or(call.args.len());
    let own = call.args.get(..options).unwrap_or_default();
    let at = pattern.end_of_words(call).min(options);
    let found: Vec<usize> = (0..own.len()).filter(|from| is_sequence(own, *from, words)).collect();
    let is_part = |index: usize| found.iter().any(|from| (*from..from + words.len()).contains(&index));
    let program = programs::row(&call.program);
    let subcommand = call.args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
    let names = words.iter().flat_map(|word| program.synonyms_of(option_name(word), subcommand));
    let names: Vec<&str> = names.collect();
    let revokes =
        |(index, arg): (usize, &String)| !is_part(index) && names.iter().any(|name| concerns(arg, name));
    if own.iter().enumerate().any(revokes) {
        return Err("the command has another such option");
    }
    // Behind another option, the words may be its value.
    let is_value = |from: usize| {
        let before = from.checked_sub(1).and_then(|before| own.get(before));
        from != at && before.is_some_and(|before| before.starts_with('-') && !before.contains('='))
    };
    if found.iter().any(|from| !is_value(*from)) {
        return Ok(None);
    }
    let mut args = call.args.clone();
    args.splice(at..at, words.iter().cloned());
    Ok(Some(CommandCall { args, ..call.clone() }))
}

/// Whether the words are at this place.
fn is_sequence(args: &[String], from: usize, words: &[String]) -> bool {
    args.get(from..from + words.len()).is_some_and(|part| part == words)
}

/// Whether an argument sets or revokes an option.
fn concerns(arg: &str, name: &str) -> bool {
    let arg = option_name(arg);
    let (Some(name), Some(arg)) = (name.strip_prefix('-'), arg.strip_prefix('-')) else { return false };
    let bare = name.trim_start_matches('-');
    // Options can be shortened.
    let is_short_for = |part: &str| part.len() > 1 && bare.starts_with(part);
    arg == name
        || arg.strip_prefix("-no-").is_some_and(|rest| bare.starts_with(rest))
        || arg.strip_prefix('-').is_some_and(is_short_for)
}

/// Whether a command is another one with the words added somewhere.
fn has_more_words(before: &CommandCall, after: &CommandCall, words: &[String]) -> bool {
    let added = (0..after.args.len()).filter(|from| is_sequence(&after.args, *from, words));
    added.into_iter().any(|from| {
        let mut args = after.args.clone();
        args.drain(from..from + words.len());
        args == before.args && after.program == before.program
    })
}

/// Visits every command of a list that is written out in it.
fn collect(list: &List<'_>, visit: &mut dyn FnMut(&Command<'_>)) {
    for command in list.iter().flat_map(|item| &item.commands) {
        match &command.kind {
            CommandKind::Simple { .. } => visit(command),
            CommandKind::Group(list) | CommandKind::Subshell(list) => collect(list, visit),
            CommandKind::If { arms, otherwise } => {
                for (test, then) in arms {
                    collect(test, visit);
                    collect(then, visit);
                }
                collect(otherwise, visit);
            }
            CommandKind::While { test, body } => {
                collect(test, visit);
                collect(body, visit);
            }
            CommandKind::For { body, .. } | CommandKind::Repeat { body, .. } => collect(body, visit),
            CommandKind::Case { arms, .. } => arms.iter().for_each(|arm| collect(arm, visit)),
            CommandKind::Function { .. } | CommandKind::Test(_) => {}
        }
    }
}

/// The most places between words that are tried.
const MAX_PLACES: usize = 64;

/// The place in the line at which the words belong to a command.
fn place(command: &Command<'_>, line: &str, patterns: &[CommandPattern], words: &[String]) -> Option<usize> {
    let text = line.get(command.start..command.end)?;
    let expected =
        analyse(text).commands.iter().find_map(|call| changed(call, patterns, words).ok().flatten())?;
    let added = words.iter().map(|word| format!(" {word}")).collect::<String>();
    let ends = text.char_indices().filter(|(at, c)| c.is_whitespace() && *at > 0).map(|(at, _)| at);
    let ends = ends.chain([text.trim_end().len()]).take(MAX_PLACES);
    ends.into_iter()
        .find(|at| {
            let (first, rest) = text.split_at(*at);
            analyse(&format!("{first}{added}{rest}")).commands.contains(&expected)
        })
        .map(|at| command.start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(line: &str) -> Result<Option<String>, &'static str> {
        let patterns =
            [CommandPattern::parse("kubectl apply").unwrap(), CommandPattern::parse("npm publish").unwrap()];
        with_words(line, &patterns, &["--dry-run=server".to_owned()])
    }

    #[test]
    fn words_are_added_to_every_command_that_lacks_them() {
        for (line, expected) in [
            ("kubectl apply -f x", "kubectl apply --dry-run=server -f x"),
            (
                "cd d && kubectl apply -f 'a b' > log; ls",
                "cd d && kubectl apply --dry-run=server -f 'a b' > log; ls",
            ),
            ("sudo kubectl -n x apply -f x", "sudo kubectl -n x apply --dry-run=server -f x"),
            (
                "kubectl apply -f - <<EOF\na: b\nEOF\n",
                "kubectl apply --dry-run=server -f - <<EOF\na: b\nEOF\n",
            ),
            ("npm publish -- x", "npm publish --dry-run=server -- x"),
            ("if true; then npm publish; fi", "if true; then npm publish --dry-run=server; fi"),
            (
                "kubectl apply -f a && kubectl apply -f b",
                "kubectl apply --dry-run=server -f a && kubectl apply --dry-run=server -f b",
            ),
        ] {
            assert_eq!(added(line), Ok(Some(expected.to_owned())), "{line}");
        }
    }

    #[test]
    fn words_never_become_the_value_of_an_option() {
        for (line, expected) in [
            ("kubectl apply -f a --field-manager", "kubectl apply --dry-run=server -f a --field-manager"),
            (
                "kubectl apply -f a --field-manager --dry-run=server",
                "kubectl apply --dry-run=server -f a --field-manager --dry-run=server",
            ),
        ] {
            assert_eq!(added(line), Ok(Some(expected.to_owned())), "{line}");
        }
    }

    #[test]
    fn other_commands_stay() {
        for line in
            ["kubectl get pods", "echo kubectl apply", "kubectl apply -f x --dry-run=server", "npm test"]
        {
            assert_eq!(added(line), Ok(None), "{line}");
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
            "kubectl apply $ARGS",
            "kubectl apply -f a --dry-run=none",
            "kubectl apply -f a --dry-run=server --dry-run=none",
            "npm publish --no-dry-run",
            "X=apply; eval \"kubectl $X\"",
        ] {
            assert!(added(line).is_err(), "{line}: {:?}", added(line));
        }
        let push = [CommandPattern::parse("git push").unwrap()];
        for line in
            ["git push origin main --no-dry-run", "git push --no-dry origin main", "git push --dry-run"]
        {
            let words = with_words(line, &push, &["-n".to_owned()]);
            assert!(words.is_err(), "{line}: {words:?}");
        }
    }
}
