//! The usual name of a command that has several: `npm install` for `npm i`, `docker compose` for `docker-compose`, `pip` for `pip3.11`.

use super::invocation::Arg;
use super::options::Arguments;
use super::programs;
use crate::tables::COMMAND_NAMES;
use crate::words::shell::VERSIONED_PROGRAMS;

/// How many names of one command are replaced: `yarn workspace a npm publish`.
const MAX_NAMES: usize = 3;

/// Gives a command its usual name.
pub(super) fn rename(program: &mut String, args: &mut Vec<Arg>) {
    if let Some(name) = without_version(program) {
        *program = name.to_owned();
    }
    for _ in 0..MAX_NAMES {
        let Some((usual, places)) = usual_name(program, args) else { return };
        let mut at = 0;
        args.retain(|_| {
            at += 1;
            !places.contains(&(at - 1))
        });
        let mut words = usual.split(' ');
        *program = words.next().unwrap_or_default().to_owned();
        let first = places.first().copied().unwrap_or(0);
        args.splice(first..first, words.map(Arg::known));
    }
}

/// The name of a program without its version: `pip` for `pip3.11`.
fn without_version(program: &str) -> Option<&str> {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    (name.len() < program.len() && VERSIONED_PROGRAMS.contains(name)).then_some(name)
}

/// The usual name of a command, and the places of the words that it replaces.
fn usual_name(program: &str, args: &[Arg]) -> Option<(&'static str, Vec<usize>)> {
    let names = COMMAND_NAMES.get(program)?;
    let given = Arguments::parse(programs::row(program), args, &[]);
    let is_it =
        |(word, operand): (&&str, &&Arg)| *word == "*" || (operand.is_known() && *word == operand.text);
    let is_named =
        |words: &[&str]| given.operands.len() >= words.len() && words.iter().zip(&given.operands).all(is_it);
    let row = names.iter().find(|row| is_named(row.words))?;
    Some((row.usual, given.places.iter().copied().take(row.words.len()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(line: &str) -> String {
        let mut words = line.split(' ');
        let mut program = words.next().unwrap().to_owned();
        let mut args: Vec<Arg> = words.map(Arg::known).collect();
        rename(&mut program, &mut args);
        args.iter().fold(program, |line, arg| format!("{line} {}", arg.text))
    }

    #[test]
    fn commands_have_one_name() {
        for (line, usual) in [
            ("npm i left-pad", "npm install left-pad"),
            ("npm --silent i left-pad", "npm --silent install left-pad"),
            ("docker-compose -f x down", "docker compose -f x down"),
            ("docker --context x image push y", "docker --context x push y"),
            ("yarn workspace a npm publish", "npm publish"),
            ("pip3.11 install x", "pip install x"),
            ("uv pip install x", "pip install x"),
            ("python3.12 -m pytest", "python -m pytest"),
            ("k -n x delete pod y", "kubectl -n x delete pod y"),
        ] {
            assert_eq!(renamed(line), usual);
        }
        for line in ["npm info i", "npm run i", "base64 x", "git2 push", "docker image ls", "npm"] {
            assert_eq!(renamed(line), line);
        }
    }

    #[test]
    fn rows_end() {
        for (program, names) in COMMAND_NAMES.entries() {
            for row in *names {
                let name = [&[*program], row.words].concat().join(" ");
                assert_ne!(name, row.usual);
                let once = renamed(&name.replace('*', "x"));
                assert_eq!(renamed(&once), once, "{name}");
            }
        }
    }
}
