//! Programs that wait for what is typed into them, and do it: shells, interpreters, databases, other machines. Where a host
//! does not ask about what is typed, the command line that opens one is the last that is seen.

use midrail_core::{Confidence, Danger, Severity};

use super::invocation::{Arg, Input, Invocation};
use super::shell_options::{ShellOptions, is_standard_input};
use crate::tables::{PROMPTS, Prompt};
use crate::words::shell::{END_OPTIONS, PROMPT_SHELLS};

/// The rule of the danger that is made of it.
pub const RULE: &str = "midrail-typing";

/// What a command line opens that waits for what is typed into it.
pub fn danger(command: &str) -> Option<Danger> {
    let all = super::invocations(command);
    let open = all.iter().find(|it| is_open(it, &all))?;
    Some(Danger {
        rule: RULE.to_owned(),
        severity: Severity::High,
        confidence: Confidence::High,
        reason: format!("`{}` waits for typed input, and Midrail does not see what is typed.", open.program),
        safer: "Run the commands one by one, or give them to it on the command line (`-c`) or in a file."
            .to_owned(),
        command: command.get(open.start..open.end).unwrap_or(command).to_owned(),
        start: open.start,
        end: open.end,
        ..Danger::default()
    })
}

fn is_open(it: &Invocation, all: &[Invocation]) -> bool {
    let is_typed = match &it.input {
        Input::Inherited => true,
        // `cat | sh` hands on what is typed into `cat`.
        Input::Program(name) => all.iter().any(|other| other.program == *name && hands_on(other)),
        Input::Text(_) | Input::File(_) => false,
    };
    is_typed && !it.has_more_args && waits(it)
}

fn hands_on(it: &Invocation) -> bool {
    let names = it.args.iter().filter(|arg| !arg.text.starts_with('-') || arg.text == "-");
    let files = names.filter(|arg| arg.text != "-" && arg.text != "/dev/stdin").count();
    it.input == Input::Inherited && (it.program == "tee" || (it.program == "cat" && files == 0))
}

fn waits(it: &Invocation) -> bool {
    let name = it.program.strip_suffix(".exe").unwrap_or(&it.program);
    // `python3.12` is a python.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if PROMPT_SHELLS.contains(name) {
        return shell_waits(it);
    }
    PROMPTS.get(name).or_else(|| PROMPTS.get(plain)).is_some_and(|prompt| prompt.waits(it))
}

impl Prompt {
    fn waits(&self, it: &Invocation) -> bool {
        let mut operands = 0_usize;
        let mut words = it.args.iter().map(|arg| arg.text.as_str());
        while let Some(word) = words.next() {
            match word {
                "-i" if self.operands == Some(1) && !self.ends.contains(&"-i") => return true,
                // Its work comes from what is typed.
                _ if operands == 0 && is_input(word) => return true,
                "--version" | "--help" => return false,
                "--" => {}
                _ if self.is_end(word) => return false,
                _ if self.values.contains(&word) => {
                    words.next();
                }
                _ if word.starts_with('-') => {}
                // A forge answers with a greeting, and has no shell.
                _ if operands == 0 && word.starts_with("git@") => return false,
                _ => operands = operands.saturating_add(1),
            }
            if self.operands.is_some_and(|most| operands >= most) {
                return false;
            }
        }
        true
    }

    fn is_end(&self, word: &str) -> bool {
        let named = word.split_once('=').map_or(word, |(name, _)| name);
        let is_one =
            |end: &&str| match end.strip_prefix('-').filter(|it| it.len() == 1 && !it.starts_with('-')) {
                // Short options can share a dash, `-Sc`, and are followed by their value, `-cprint(1)`.
                Some(letter) => {
                    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
                    letters.is_some_and(|rest| {
                        rest.starts_with(letter) || is_bundle(rest) && rest.ends_with(letter)
                    })
                }
                None => named == *end,
            };
        self.ends.iter().any(is_one)
    }
}

fn is_bundle(letters: &str) -> bool {
    letters.len() <= 4 && letters.chars().all(|c| c.is_ascii_alphabetic())
}

/// Whether the work of a program comes from what is typed.
fn is_input(file: &str) -> bool {
    file == "-" || is_standard_input(file)
}

fn shell_waits(it: &Invocation) -> bool {
    let mut args = it.args.as_slice();
    if it.program == "busybox" {
        match args.split_first() {
            Some((shell, rest)) if PROMPT_SHELLS.contains(shell.text.as_str()) => args = rest,
            _ => return false,
        }
    }
    let options = ShellOptions::parse(args);
    let before = args.get(..options.end).unwrap_or(args).iter();
    let ends = |arg: &Arg| END_OPTIONS.iter().any(|end| arg.text.eq_ignore_ascii_case(end));
    if options.runs_text || before.clone().any(ends) {
        return false;
    }
    let is_file = args.get(options.end).is_some_and(|file| !is_input(&file.text));
    options.reads_input || options.is_interactive || !is_file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interactive_programs_are_found() {
        for line in [
            "bash",
            "sh -i",
            "bash --norc -i",
            "zsh -l",
            "bash -s",
            "sudo bash",
            "exec bash",
            "env FOO=1 sh",
            "cd /tmp && bash",
            "python3",
            "python3.12 -q",
            "python3 -i x.py",
            "python3 -",
            "node",
            "node -i",
            "irb",
            "psql",
            "psql -h db -U me shop",
            "mysql -u root -p",
            "sqlite3 a.db",
            "ssh host",
            "ssh -p 22 -i key me@host",
            "cat | bash",
            "cat - | python3",
            "bash -c bash",
            "bash -o pipefail",
            "redis-cli -h cache",
            "/bin/sh",
            "(bash)",
            "true; perl",
            "docker exec -it web bash",
        ] {
            assert!(danger(line).is_some(), "{line}");
        }
    }

    #[test]
    fn programs_with_work_on_the_line_are_not_interactive() {
        for line in [
            "bash script.sh",
            "bash -c 'ls'",
            "bash -lc 'ls'",
            "bash -x script.sh",
            "bash -o pipefail script.sh",
            "bash --version",
            "python3 -c 'print(1)'",
            "python3 x.py",
            "python3 -m pytest -i",
            "python3 -Sc 'print(1)'",
            "python3 --version",
            "python3 -V",
            "node app.js",
            "node -e '1'",
            "node --version",
            "node -v",
            "psql -c 'select 1'",
            "psql -f a.sql",
            "ssh host ls",
            "ssh -p 22 host uptime",
            "ssh -T git@example.org",
            "ssh -N -L 1:h:2 host",
            "echo ls | bash",
            "bash < a.sh",
            "bash <<< ls",
            "python3 - <<'X'\nprint(1)\nX",
            "cat a.sh | bash",
            "mysql -e 'select 1'",
            "sqlite3 a.db 'select 1'",
            "ls",
            "cat",
            "perl -pe 's/a/b/' f",
            "perl -ne print f",
            "ruby a.rb",
            "redis-cli PING",
            "git commit -m 'bash'",
            "node --test",
            "find . -name '*.sh' | xargs bash",
            "php -r '1;'",
            "which bash",
            "bun test",
            "deno test",
        ] {
            assert!(danger(line).is_none(), "{line}");
        }
    }
}
